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
mod manifests;
mod personal;
mod protocol;
mod reviews;
mod rule;
mod session;
mod streams;
mod words;

pub use finding::Finding;
pub use rule::{RULES, Rule, Severity, markdown};

use crate::Result;
use finding::Findings;
use rayon::prelude::*;
use redline_schemas::{Corpus, CorpusManifest, EditId, ModelId, Participant, ParticipantId, ParticipantsManifest, RequestId};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// What to check.
#[derive(Debug, Clone)]
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

/// A folder to check.
enum Item {
    Model(ModelId),
    Request(RequestId),
    Edit(EditId),
}

/// What came out of it.
enum Read {
    Model(Box<redline_schemas::ModelManifest>),
    Request(Box<redline_schemas::RequestManifest>),
    Edit(Box<redline_schemas::EditManifest>),
    Nothing,
}

/// Checks a corpus. `progress` gets the folders done and their number, from any thread.
///
/// Fails only when the corpus's own folder cannot be listed.
pub fn check(corpus: &Corpus, options: &Options, progress: &(dyn Fn(u64, u64) + Sync)) -> Result<Report> {
    let root = corpus.root();
    let mut f = Findings::new(root);
    let schemas = manifests::Schemas::compile()?;
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
    let known = session::Known {
        corpus,
        schemas: &schemas,
        people: &people,
        models: &models.iter().cloned().collect(),
        requests: &requests.iter().cloned().collect(),
        personal: &patterns,
        options,
    };
    let items: Vec<Item> = requests
        .into_iter()
        .map(Item::Request)
        .chain(edits.into_iter().map(Item::Edit))
        .chain(models.into_iter().map(Item::Model))
        .collect();
    let (done, total) = (AtomicU64::new(0), items.len() as u64);
    let results: Vec<(Read, Vec<Finding>)> = items
        .par_iter()
        .map(|item| {
            let mut f = Findings::new(root);
            let read = match item {
                Item::Model(id) => session::model(&mut f, id, &known).map(|m| Read::Model(Box::new(m))),
                Item::Request(id) => session::request(&mut f, id, &known).map(|m| Read::Request(Box::new(m))),
                Item::Edit(id) => session::edit(&mut f, id, &known).map(|m| Read::Edit(Box::new(m))),
            };
            progress(done.fetch_add(1, Ordering::Relaxed) + 1, total);
            (read.unwrap_or(Read::Nothing), f.into_list())
        })
        .collect();

    let count = |is: fn(&Item) -> bool| items.iter().filter(|i| is(i)).count() as u64;
    let (models, requests, edits) =
        (count(|i| matches!(i, Item::Model(_))), count(|i| matches!(i, Item::Request(_))), count(|i| matches!(i, Item::Edit(_))));
    let mut findings = Vec::new();
    let (mut m, mut r, mut e) = (Vec::new(), Vec::new(), Vec::new());
    for (read, list) in results {
        findings.extend(list);
        match read {
            Read::Model(x) => m.push(*x),
            Read::Request(x) => r.push(*x),
            Read::Edit(x) => e.push(*x),
            Read::Nothing => {}
        }
    }
    if let Some(manifest) = &manifest {
        protocol::check(&mut f, &protocol::Whole { corpus, manifest, people: &people, models: m, requests: r, edits: e });
    }
    findings.extend(f.into_list());
    findings.sort_by(|a, b| (a.severity, &a.file, a.rule.id, a.line).cmp(&(b.severity, &b.file, b.rule.id, b.line)));
    let of = |s| findings.iter().filter(|f| f.severity == s).count() as u64;
    let (errors, warnings, infos) = (of(Severity::Error), of(Severity::Warning), of(Severity::Info));
    Ok(Report { models, requests, edits, errors, warnings, infos, findings })
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
