//! What the protocol asks of the corpus as a whole.

use super::finding::Findings;
use super::rule::{CELL, CONSENT, NO_CONSENT_TEXT, OFF_PROTOCOL, PER_MODEL, PER_REQUEST, SAME_EDITOR};
use redline_schemas::{
    Cell, Corpus, CorpusManifest, Difficulty, EditManifest, Modality, ModelId, ModelManifest, Participant, ParticipantId, RequestId,
    RequestManifest, Status,
};
use std::collections::{BTreeMap, BTreeSet};

/// All that could be read.
pub(super) struct Whole<'a> {
    pub corpus: &'a Corpus,
    pub manifest: &'a CorpusManifest,
    pub people: &'a BTreeMap<ParticipantId, Participant>,
    pub models: Vec<ModelManifest>,
    pub requests: Vec<RequestManifest>,
    pub edits: Vec<EditManifest>,
}

/// Rejected sessions stay in the corpus, but count for nothing.
fn counts(status: Status) -> bool {
    matches!(status, Status::Complete | Status::Recovered)
}

pub(super) fn check(f: &mut Findings, w: &Whole<'_>) {
    consent(f, w);
    off_protocol(f, w);
    cells(f, w);
    per_model(f, w);
    per_request(f, w);
}

fn consent(f: &mut Findings, w: &Whole<'_>) {
    let text = w.manifest.consent.as_ref();
    if text.is_none() {
        f.add(NO_CONSENT_TEXT, &w.corpus.manifest_path(), "no consent text that participants agree to");
    }
    let active: BTreeSet<&ParticipantId> = w
        .requests
        .iter()
        .filter(|r| r.status != Status::Rejected)
        .map(|r| &r.participant)
        .chain(w.edits.iter().filter(|e| e.status != Status::Rejected).map(|e| &e.participant))
        .collect();
    let path = w.corpus.participants_path();
    // A program has no consent to give.
    for p in active.into_iter().filter_map(|id| w.people.get(id)).filter(|p| p.agent.is_none()) {
        match (&p.consent, text) {
            // Without a text there is nothing to agree to; NO_CONSENT_TEXT says so.
            (None, Some(_)) => f.add(CONSENT, &path, format!("{} has sessions, but gave no consent", p.id)),
            (Some(c), Some(t)) if c.version != t.version => {
                f.add(CONSENT, &path, format!("{} agreed to version {} of the text; version {} is in force", p.id, c.version, t.version));
            }
            _ => {}
        }
    }
}

fn off_protocol(f: &mut Findings, w: &Whole<'_>) {
    let p = &w.manifest.protocol;
    for r in &w.requests {
        let path = w.corpus.request_dir(&r.id).request_json();
        if !p.modalities.contains(&r.modality) {
            f.add(OFF_PROTOCOL, &path, format!("modality {} is not in the protocol", r.modality));
        }
        if !p.difficulties.iter().any(|d| d.difficulty == r.difficulty) {
            f.add(OFF_PROTOCOL, &path, format!("difficulty {} is not in the protocol", r.difficulty));
        }
    }
}

fn describe(c: &Cell) -> String {
    let mut s = c.modality.to_string();
    let add = |s: &mut String, t: &str| {
        s.push_str(" × ");
        s.push_str(t);
    };
    if let Some(d) = c.difficulty {
        add(&mut s, d.as_str());
    }
    if let Some(p) = c.parametric {
        add(&mut s, if p { "parametric" } else { "dumb" });
    }
    if let Some(a) = c.assembly {
        add(&mut s, if a { "assembly" } else { "single" });
    }
    s
}

/// Cells that the protocol counts; without any, every modality × difficulty is wanted at least once.
fn cells(f: &mut Findings, w: &Whole<'_>) {
    let p = &w.manifest.protocol;
    let every = |&modality: &Modality| {
        p.difficulties.iter().map(move |d| Cell { modality, difficulty: Some(d.difficulty), parametric: None, assembly: None, wanted: 1 })
    };
    let wanted: Vec<Cell> = if p.cells.is_empty() { p.modalities.iter().flat_map(every).collect() } else { p.cells.clone() };
    let models: BTreeMap<&ModelId, &ModelManifest> = w.models.iter().map(|m| (&m.id, m)).collect();
    let fits = |c: &Cell, modality: Modality, difficulty: Difficulty, m: Option<&&ModelManifest>| {
        c.modality == modality
            && c.difficulty.is_none_or(|d| d == difficulty)
            && c.parametric.is_none_or(|x| m.is_some_and(|m| m.parametric == x))
            && c.assembly.is_none_or(|x| m.is_some_and(|m| m.assembly == x))
    };
    for c in &wanted {
        let model = |r: &RequestManifest| r.model.as_ref().and_then(|m| models.get(m));
        let have = w.requests.iter().filter(|r| counts(r.status) && fits(c, r.modality, r.difficulty, model(r))).count();
        if (have as u64) < u64::from(c.wanted) {
            f.add(CELL, &w.corpus.manifest_path(), format!("{}: {have} of {} requests", describe(c), c.wanted));
        }
    }
}

fn per_model(f: &mut Findings, w: &Whole<'_>) {
    let mut n: BTreeMap<&ModelId, u64> = w.models.iter().map(|m| (&m.id, 0)).collect();
    for r in w.requests.iter().filter(|r| counts(r.status)) {
        if let Some(n) = r.model.as_ref().and_then(|m| n.get_mut(m)) {
            *n += 1;
        }
    }
    let wanted = u64::from(w.manifest.protocol.requests_per_model);
    for (m, have) in n.into_iter().filter(|(_, n)| *n != wanted) {
        f.add(PER_MODEL, &w.corpus.model_dir(m), format!("{have} requests, {wanted} wanted"));
    }
}

fn per_request(f: &mut Findings, w: &Whole<'_>) {
    let mut by: BTreeMap<&RequestId, Vec<&ParticipantId>> = BTreeMap::new();
    let human = |p: &ParticipantId| w.people.get(p).is_none_or(|p| p.agent.is_none());
    for e in w.edits.iter().filter(|e| counts(e.status) && human(&e.participant)) {
        by.entry(&e.request).or_default().push(&e.participant);
    }
    let wanted = w.manifest.protocol.edits_per_request as usize;
    for r in w.requests.iter().filter(|r| counts(r.status)) {
        let editors = by.get(&r.id).map_or(&[][..], Vec::as_slice);
        let path = w.corpus.request_dir(&r.id).path().to_path_buf();
        if editors.len() < wanted {
            f.add(PER_REQUEST, &path, format!("{} of {wanted} edits", editors.len()));
        }
        let different: BTreeSet<_> = editors.iter().collect();
        if different.len() < editors.len() {
            f.add(SAME_EDITOR, &path, format!("{} edits by {} people", editors.len(), different.len()));
        } else if wanted > 0 && editors.len() >= wanted && !editors.contains(&&r.participant) {
            f.add(SAME_EDITOR, &path, format!("none of its edits is by its requestor, {}", r.participant));
        }
    }
}
