//! What goes into a release: consented, complete, not rejected; and into which split.

use crate::Result;
use crate::pack::{People, Scope, SessionKind};
use redline_schemas::{
    Corpus, CorpusManifest, EditManifest, FileRef, ModelId, Participant, ParticipantId, RequestId, RequestManifest, Session, Status,
    TranscriptKind, fsio,
};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

/// Name of the one split of a corpus that is for evaluation only.
pub const EVALUATION_SPLIT: &str = "test";

/// Why something was left out.
#[derive(Debug, Clone, Serialize, PartialEq, Eq)]
pub struct LeftOut {
    /// `request`, `edit`, `rating`, `run` or `score`.
    pub kind: &'static str,
    /// Its id.
    pub id: String,
    /// Why.
    pub reason: &'static str,
}

/// A split and what is in it.
#[derive(Debug, Default)]
pub(super) struct Part {
    pub name: String,
    pub scope: Scope,
}

/// What goes into a release.
#[derive(Debug, Default)]
pub(super) struct Selection {
    pub parts: Vec<Part>,
    pub left_out: Vec<LeftOut>,
    /// Files to copy, as paths inside corpus and release, with their hashes where known.
    pub files: BTreeMap<PathBuf, Option<String>>,
    pub requests: u64,
    pub edits: u64,
    pub runs: u64,
    pub models: u64,
    pub participants: u64,
}

/// Models, participants and consented raters of a split.
#[derive(Default)]
struct Used {
    models: BTreeSet<ModelId>,
    persons: BTreeSet<ParticipantId>,
    raters: BTreeSet<ParticipantId>,
}

/// Consent counts when it is to the text in force, as in the check's rule.
fn consented(m: &CorpusManifest, p: &Participant) -> bool {
    let in_force = m.consent.as_ref().map(|c| &c.version);
    p.agent.is_some() || p.consent.as_ref().is_some_and(|c| in_force.is_none_or(|v| *v == c.version))
}

/// Why a session is left out.
fn reason(m: &CorpusManifest, status: Status, who: Option<&Participant>) -> Option<&'static str> {
    match (status, who) {
        (Status::Rejected, _) => Some("rejected"),
        (Status::Recording, _) => Some("its recording has not ended"),
        (_, None) => Some("its participant is unknown"),
        (_, Some(p)) if !consented(m, p) => Some("its participant has not consented to the text in force"),
        _ => None,
    }
}

pub(super) fn select(corpus: &Corpus, manifest: &CorpusManifest) -> Result<Selection> {
    let people: BTreeMap<ParticipantId, Participant> = corpus.participants()?.participants.into_iter().map(|p| (p.id.clone(), p)).collect();
    let mut s = Selection::default();
    let mut part_of: BTreeMap<RequestId, String> = BTreeMap::new();
    let mut parts: BTreeMap<String, Scope> = split_names(manifest).into_iter().map(|n| (n, Scope::default())).collect();
    let mut used: BTreeMap<String, Used> = BTreeMap::new();

    for id in corpus.request_ids()? {
        let m: RequestManifest = corpus.request(&id)?;
        if let Some(reason) = reason(manifest, m.status, people.get(&m.participant)) {
            s.left_out.push(LeftOut { kind: "request", id: id.to_string(), reason });
            continue;
        }
        let name = split_of(manifest, m.model.as_ref().map_or(id.as_str(), |m| m.as_str()));
        let dir = corpus.request_dir(&id);
        let Used { models, persons, .. } = used.entry(name.clone()).or_default();
        models.extend(m.model.clone());
        persons.insert(m.participant.clone());
        for kind in TranscriptKind::ALL {
            if let Some(c) = dir.transcript(*kind)?.and_then(|t| t.correction) {
                persons.extend([c.corrected_by, c.accepted_by]);
            }
        }
        for r in dir.revisions()?.into_iter().flat_map(|h| h.revisions) {
            persons.insert(r.revision.author);
            persons.extend(r.decision.map(|d| d.reviewer));
        }
        let folder = PathBuf::from("requests").join(&id);
        session_files(&mut s.files, &folder, &m.session);
        render_files(&mut s.files, &folder, &dir)?;
        parts.entry(name.clone()).or_default().add(id.as_str(), SessionKind::Request, m.status, m.session.clock.started_utc);
        part_of.insert(id, name);
        s.requests += 1;
    }
    for id in corpus.edit_ids()? {
        let m: EditManifest = corpus.edit(&id)?;
        let why = reason(manifest, m.status, people.get(&m.participant));
        let Some(name) = part_of.get(&m.request).filter(|_| why.is_none()) else {
            s.left_out.push(LeftOut { kind: "edit", id: id.to_string(), reason: why.unwrap_or("its request is left out") });
            continue;
        };
        let dir = corpus.edit_dir(&id);
        let Used { persons, raters, .. } = used.entry(name.clone()).or_default();
        persons.insert(m.participant.clone());
        for r in dir.ratings()?.into_iter().flat_map(|r| r.ratings) {
            if people.get(&r.rater).is_some_and(|p| consented(manifest, p)) {
                persons.insert(r.rater.clone());
                raters.insert(r.rater);
            } else {
                s.left_out.push(LeftOut { kind: "rating", id: format!("{id} by {}", r.rater), reason: "its rater has not consented" });
            }
        }
        let folder = PathBuf::from("edits").join(&id);
        session_files(&mut s.files, &folder, &m.session);
        render_files(&mut s.files, &folder, &dir)?;
        s.files.extend(m.final_model.as_ref().map(|f| file(&folder, f)));
        parts.entry(name.clone()).or_default().add(id.as_str(), SessionKind::Edit, m.status, m.session.clock.started_utc);
        s.edits += 1;
    }

    for id in corpus.run_ids()? {
        let m = corpus.run(&id)?;
        if let Some(reason) = reason(manifest, m.status, people.get(&m.operator)) {
            s.left_out.push(LeftOut { kind: "run", id: id.to_string(), reason });
            continue;
        }
        // All runs of a task are in one split.
        let name = split_of(manifest, m.task.as_str());
        let folder = PathBuf::from("runs").join(&id);
        let run = crate::runs::Run::load(corpus.run_dir(&id), m)?;
        let Used { persons, raters, .. } = used.entry(name.clone()).or_default();
        persons.insert(run.manifest.operator.clone());
        for x in &run.scores {
            if people.get(&x.scorer).is_some_and(|p| consented(manifest, p)) {
                persons.insert(x.scorer.clone());
                raters.insert(x.scorer.clone());
            } else {
                s.left_out.push(LeftOut { kind: "score", id: format!("{id} by {}", x.scorer), reason: "its scorer has not consented" });
            }
        }
        session_files(&mut s.files, &folder, &run.manifest.session);
        s.files.extend(run.steps.iter().map(|e| (folder.join(&e.screenshot), Some(e.sha256.clone()))));
        let m = &run.manifest;
        parts.entry(name).or_default().add(id.as_str(), SessionKind::Run, m.status, m.session.clock.started_utc);
        s.runs += 1;
    }

    let names = new_names(&used.values().flat_map(|u| u.persons.iter().cloned()).collect(), &corpus.names_key()?);
    s.participants = names.len() as u64;
    let mut all_models = BTreeSet::new();
    for (name, mut scope) in parts {
        let Used { models, persons, raters } = used.remove(&name).unwrap_or_default();
        if scope.sessions.is_empty() {
            continue;
        }
        all_models.extend(models.iter().cloned());
        scope.models = models.into_iter().collect();
        let participants = persons.iter().filter_map(|p| people.get(p).cloned()).collect();
        scope.people = Arc::new(People { participants, names: names.clone(), raters: Some(raters) });
        scope.sort();
        s.parts.push(Part { name, scope });
    }
    for id in &all_models {
        let (m, folder) = (corpus.model(id)?, PathBuf::from("models").join(id));
        s.files.extend([Some(&m.step), m.native.as_ref()].into_iter().flatten().map(|f| file(&folder, f)));
        s.files.extend(m.views.values().map(|v| (folder.join(v), None)));
    }
    s.models = all_models.len() as u64;
    Ok(s)
}

fn file(folder: &std::path::Path, f: &FileRef) -> (PathBuf, Option<String>) {
    (folder.join(&f.path), Some(f.sha256.clone()))
}

fn session_files(files: &mut BTreeMap<PathBuf, Option<String>>, folder: &std::path::Path, s: &Session) {
    files.extend(s.streams.video.as_ref().map(|v| file(folder, &v.file)));
    files.extend(s.streams.audio.as_ref().map(|a| file(folder, &a.file)));
}

fn render_files(files: &mut BTreeMap<PathBuf, Option<String>>, folder: &std::path::Path, dir: &redline_schemas::SessionDir) -> Result<()> {
    if dir.renders().exists() {
        for r in redline_schemas::jsonl::Reader::<redline_schemas::RenderEvent>::open(&dir.renders())? {
            let r = r?;
            files.insert(folder.join(&r.path), Some(r.sha256));
        }
    }
    Ok(())
}

/// New names in an order that only the corpus's key tells, so that they can't be computed from the old ones.
fn new_names(people: &BTreeSet<ParticipantId>, key: &str) -> BTreeMap<ParticipantId, String> {
    let mut drawn: Vec<(String, &ParticipantId)> =
        people.iter().map(|p| (fsio::sha256_bytes(format!("{key}\n{p}").as_bytes()), p)).collect();
    drawn.sort();
    let width = people.len().to_string().len().max(2);
    drawn.into_iter().enumerate().map(|(i, (_, p))| (p.clone(), format!("P{:0width$}", i + 1))).collect()
}

fn split_names(m: &CorpusManifest) -> Vec<String> {
    if m.splits.is_empty() { vec![EVALUATION_SPLIT.into()] } else { m.splits.iter().map(|s| s.name.clone()).collect() }
}

/// The split of a model (with all its requests): by its id's hash, so that it never changes when models are added.
fn split_of(m: &CorpusManifest, model: &str) -> String {
    let Some(last) = m.splits.last() else { return EVALUATION_SPLIT.into() };
    let hash = fsio::sha256_bytes(model.as_bytes());
    let place = u64::from_str_radix(hash.get(..13).unwrap_or_default(), 16).unwrap_or_default() as f64 / (1_u64 << 52) as f64;
    let total: f64 = m.splits.iter().map(|s| s.share.max(0.0)).sum();
    let mut end = 0.0;
    for s in &m.splits {
        end += s.share.max(0.0) / total.max(f64::MIN_POSITIVE);
        if place < end {
            return s.name.clone();
        }
    }
    last.name.clone()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_depend_on_the_key_alone() {
        let people: BTreeSet<ParticipantId> = (0..40).map(|i| ParticipantId::new(format!("U{i:02}")).unwrap()).collect();
        let names = new_names(&people, "a");
        assert_eq!(names, new_names(&people, "a"));
        assert_ne!(names, new_names(&people, "b"));
        let published: BTreeSet<_> = names.values().cloned().collect();
        assert_eq!(published, (1..=40).map(|i| format!("P{i:02}")).collect());
    }
}
