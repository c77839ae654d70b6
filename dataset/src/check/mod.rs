//! `redline check`: finds what is wrong in a corpus.
//!
//! Every rule has an id, a severity and a hint ([`RULES`]). A broken file is a finding and never
//! stops the check; what can be read is checked, in parallel.
//!
//! ```no_run
//! use redline_dataset::check::{Options, check};
//! let corpus = redline_schemas::Corpus::open("corpus")?;
//! let report = check(&corpus, &Options::default(), &|_, _| {})?;
//! assert!(report.passed(), "{} errors", report.errors);
//! # Ok::<_, redline_dataset::Error>(())
//! ```

mod durations;
mod embedded;
mod files;
mod finding;
mod look;
mod manifests;
mod metrics;
mod personal;
mod protocol;
mod reviews;
mod rule;
mod runs;
mod session;
mod streams;
mod words;

pub use finding::Finding;
pub use look::Context;
pub(crate) use look::{CHECK, look};
pub use rule::{RULES, Rule, Severity, markdown};

use crate::pack::{Common, Engine, Here, SessionInfo, SessionKind, Task};
use crate::{Error, Result};
use arrow::array::AsArray as _;
use finding::Findings;
use look::{Looked, Read};
use redline_schemas::{Corpus, CorpusManifest, EditId, ModelId, Participant, ParticipantId, ParticipantsManifest, RequestId, RunId};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

/// What to check.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Options {
    /// Hash every file that has a recorded hash.
    pub hashes: bool,
    /// Decode all media to the end; takes about as long as an eighth of the recordings.
    pub decode: bool,
    /// Names of people to look for.
    pub names: Vec<String>,
}

impl Default for Options {
    fn default() -> Self {
        Self { hashes: true, decode: false, names: Vec::new() }
    }
}

/// What was found.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// Models looked at.
    pub models: u64,
    /// Requests looked at.
    pub requests: u64,
    /// Edits looked at.
    pub edits: u64,
    /// Agents' runs looked at.
    pub runs: u64,
    /// Findings of severity error.
    pub errors: u64,
    /// Findings of severity warning.
    pub warnings: u64,
    /// Findings of severity info.
    pub infos: u64,
    /// Errors first; then by file.
    pub findings: Vec<Finding>,
}

impl Report {
    /// Whether there is no error.
    #[must_use]
    pub fn passed(&self) -> bool {
        self.errors == 0
    }
}

/// What of a folder's files names a person, a place or a device (RL701 to RL706), as [`check`] would find it.
pub(crate) fn personal(dir: &Path) -> Result<Vec<Finding>> {
    let mut f = Findings::new(dir);
    personal::Patterns::new(&[])?.folder(&mut f, dir);
    Ok(f.into_list())
}

/// Checks a corpus. `progress` gets the folders done and their number.
///
/// Fails only when the corpus's own folder cannot be listed.
pub fn check(corpus: &Corpus, options: &Options, progress: &dyn Fn(u64, u64)) -> Result<Report> {
    check_by(corpus, options, &Here, progress)
}

/// The same with the sessions and models looked at by an engine.
pub fn check_by(corpus: &Corpus, options: &Options, engine: &dyn Engine, progress: &dyn Fn(u64, u64)) -> Result<Report> {
    let root = corpus.root();
    let mut f = Findings::new(root);
    let schemas = manifests::Schemas::get()?;
    let patterns = personal::Patterns::new(&options.names)?;

    let manifest: Option<CorpusManifest> = schemas.read(&mut f, &corpus.manifest_path(), "corpus");
    let people: Option<ParticipantsManifest> = schemas.read(&mut f, &corpus.participants_path(), "participants");
    for path in [corpus.manifest_path(), corpus.participants_path()] {
        if path.symlink_metadata().is_ok_and(|m| m.is_file()) {
            patterns.file(&mut f, &path);
        }
    }
    let people = people.map(|p| by_id(&mut f, corpus, p)).unwrap_or_default();

    let models = ids(&mut f, &root.join("models"), |n| ModelId::new(n).ok());
    let requests = ids(&mut f, &root.join("requests"), |n| RequestId::new(n).ok());
    let edits = ids(&mut f, &root.join("edits"), |n| EditId::new(n).ok());
    let runs = ids(&mut f, &root.join("runs"), |n| RunId::new(n).ok());
    let mut context = Context {
        options: options.clone(),
        people,
        models: models.iter().cloned().collect(),
        requests: requests.iter().cloned().collect(),
        tasks: BTreeMap::new(),
        labels: manifest.as_ref().map(|m| m.failure_labels.clone()).unwrap_or_default(),
        ..Context::default()
    };
    match corpus.task_ids() {
        Ok(ids) => {
            let known = context.known(corpus)?;
            let tasks = ids.into_iter().filter_map(|id| Some((id.clone(), runs::task(&mut f, &id, &known)?))).collect();
            context.tasks = tasks;
        }
        Err(e) => f.add(rule::UNREADABLE, &root.join("tasks"), e.to_string()),
    }
    let mut report = Report {
        models: models.len() as u64,
        requests: requests.len() as u64,
        edits: edits.len() as u64,
        runs: runs.len() as u64,
        errors: 0,
        warnings: 0,
        infos: 0,
        findings: Vec::new(),
    };
    let session = |id: &str, kind| SessionInfo { id: id.into(), kind, started_utc: chrono::DateTime::UNIX_EPOCH };
    // One at a time: decoding a video to its end takes a while.
    let tasks: Vec<Task> = requests
        .iter()
        .map(|id| session(id.as_str(), SessionKind::Request))
        .chain(edits.iter().map(|id| session(id.as_str(), SessionKind::Edit)))
        .chain(runs.iter().map(|id| session(id.as_str(), SessionKind::Run)))
        .map(|s| Task::new(CHECK, vec![s], Vec::new()))
        .chain(models.iter().map(|id| Task::new(CHECK, Vec::new(), vec![id.clone()])))
        .collect();
    let total = tasks.len() as u64;
    let mut done = 0;
    let (mut m, mut r, mut e) = (Vec::new(), Vec::new(), Vec::new());
    let common = Arc::new(Common { check: Some(context), ..Common::default() });
    let parts = if tasks.is_empty() { Box::new(std::iter::empty()) } else { engine.parts(corpus, &common, tasks)? };
    for part in parts {
        let part = part?;
        let rows = part.batch.columns().first().and_then(|c| c.as_string_opt::<i32>());
        for row in rows.into_iter().flatten().flatten() {
            let other = |e| Error::Refused(format!("findings of another version: {e}"));
            let Looked { read, findings } = serde_json::from_str(row).map_err(other)?;
            report.findings.extend(findings);
            match read {
                Read::Model(x) => m.push(*x),
                Read::Request(x) => r.push(*x),
                Read::Edit(x) => e.push(*x),
                Read::Nothing => {}
            }
        }
        done += 1;
        progress(done, total);
    }
    if done != total {
        return Err(Error::Refused(format!("{done} of {total} folders were looked at")));
    }
    metrics::references(&mut f, corpus, &r, &e);
    if let Some(manifest) = &manifest {
        let people = common.check.as_ref().map(|c| &c.people);
        let people = people.unwrap_or(const { &BTreeMap::new() });
        protocol::check(&mut f, &protocol::Whole { corpus, manifest, people, models: m, requests: r, edits: e });
    }
    let mut findings = report.findings;
    findings.extend(f.into_list());
    findings.sort_by(|a, b| (a.severity, &a.file, a.rule.id, a.line).cmp(&(b.severity, &b.file, b.rule.id, b.line)));
    let of = |s| findings.iter().filter(|f| f.severity == s).count() as u64;
    (report.errors, report.warnings, report.infos) = (of(Severity::Error), of(Severity::Warning), of(Severity::Info));
    Ok(Report { findings, ..report })
}

fn by_id(f: &mut Findings, corpus: &Corpus, people: ParticipantsManifest) -> BTreeMap<ParticipantId, Participant> {
    let mut by = BTreeMap::new();
    for p in people.participants {
        let id = p.id.clone();
        if by.insert(id.clone(), p).is_some() {
            f.add(rule::DUPLICATE, &corpus.participants_path(), format!("participant {id} is listed twice"));
        }
    }
    by
}

/// The ids in one of the corpus's folders; whatever else lies there is a finding.
fn ids<T: Ord>(f: &mut Findings, dir: &Path, id: impl Fn(&str) -> Option<T>) -> Vec<T> {
    let entries = match std::fs::read_dir(dir) {
        Ok(e) => e,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Vec::new(),
        Err(e) => {
            f.add(rule::UNREADABLE, dir, format!("could not list: {e}"));
            return Vec::new();
        }
    };
    let mut ids = BTreeSet::new();
    for e in entries.flatten() {
        let name = e.file_name();
        let path = e.path();
        match (e.file_type(), name.to_str().and_then(&id)) {
            (Ok(t), _) if t.is_symlink() => f.add(rule::LINK, &path, "a symbolic link"),
            (Ok(t), Some(id)) if t.is_dir() => drop(ids.insert(id)),
            (Ok(t), None) if t.is_dir() => f.add(rule::STRAY, &path, "its name is no valid id"),
            _ => f.add(rule::STRAY, &path, "not a folder"),
        }
    }
    ids.into_iter().collect()
}
