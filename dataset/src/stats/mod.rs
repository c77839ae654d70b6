//! The figures that papers on such datasets give, for any corpus.
//!
//! Words a request, time to produce a request, duration of an edit against its guide time, and
//! events an edit, each by modality and difficulty; totals; how much was corrected.

pub(crate) mod figures;
mod measure;
mod plots;

pub use measure::{Group, Measure, Summary};
pub use plots::{Plots, draw};

use crate::pack::{Common, Engine, FIGURES, Here, Scope, SessionInfo, SessionKind, Task};
use crate::{Error, Result};
use arrow::array::AsArray;
use figures::{Counts, EditFigures, RequestFigures, counts};
use measure::Values;
use redline_schemas::time::seconds;
use redline_schemas::{Corpus, Correction, Difficulty, GuideTime, Modality, ModelId, Participant, ParticipantId, RequestId, Status};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Everything that is counted and measured.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Stats {
    /// The corpus's name.
    pub corpus: String,
    /// Sums.
    pub totals: Totals,
    /// The correction loop's figures.
    pub corrections: Corrections,
    /// Guide times of the protocol.
    pub guide_times: Vec<GuideTime>,
    /// What is measured, each in groups.
    pub measures: Vec<Measure>,
}

/// Sums over the corpus; rejected and unfinished sessions count only where their field says so.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Totals {
    /// People and programs.
    pub participants: u64,
    /// Programs among them.
    pub agents: u64,
    /// Models.
    pub models: u64,
    /// Requests.
    pub requests: u64,
    /// Edits by people.
    pub edits: u64,
    /// Edits by programs.
    pub agent_edits: u64,
    /// Requests and edits that were rejected.
    pub rejected: u64,
    /// Requests and edits that are not whole.
    pub unfinished: u64,
    /// Hours of requests.
    pub request_hours: f64,
    /// Hours of edits by people.
    pub edit_hours: f64,
    /// Words of all requests.
    pub words: u64,
    /// Events of all streams.
    pub events: u64,
    /// Commands of CAD programs among them.
    pub commands: u64,
    /// Pictures and states of models.
    pub renders: u64,
}

/// How the automatic transcripts fared.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Corrections {
    /// Requests with an automatic transcript.
    pub automatic: u64,
    /// Requests with an accepted one.
    pub accepted: u64,
    /// Accepted ones that differ from the automatic one.
    pub changed: u64,
    /// Their share of the accepted ones; absent without any.
    pub changed_share: Option<f64>,
    /// Edit distance of accepted texts to automatic ones, characters.
    pub char_edit_distance: Option<Summary>,
    /// The same, words.
    pub word_edit_distance: Option<Summary>,
    /// All character edits by all characters of the automatic texts.
    pub char_edit_rate: Option<f64>,
    /// Revisions until acceptance.
    pub rounds: Option<Summary>,
}

impl Stats {
    /// Reads a corpus's manifests and transcripts (streams are not read: their counts are in the manifests).
    pub fn of(corpus: &Corpus) -> Result<Self> {
        Self::of_by(corpus, &Here)
    }

    /// The same, read by an engine.
    pub fn of_by(corpus: &Corpus, engine: &dyn Engine) -> Result<Self> {
        let session = |id: &str, kind| SessionInfo { id: id.into(), kind, started_utc: chrono::DateTime::UNIX_EPOCH };
        let counted = Counted {
            requests: corpus.request_ids()?.iter().map(|id| session(id.as_str(), SessionKind::Request)).collect(),
            edits: corpus.edit_ids()?.iter().map(|id| session(id.as_str(), SessionKind::Edit)).collect(),
            models: corpus.model_ids()?.into_iter().collect(),
            people: corpus.participants()?.participants.into_iter().map(|p| (p.id.clone(), p)).collect(),
        };
        counted.stats(corpus, engine)
    }

    /// The same of a part of a corpus, such as a release.
    pub fn of_scopes(corpus: &Corpus, scopes: &[&Scope], engine: &dyn Engine) -> Result<Self> {
        let mut counted = Counted::default();
        for scope in scopes {
            for s in &scope.sessions {
                match s.kind {
                    SessionKind::Request => counted.requests.push(s.clone()),
                    SessionKind::Edit => counted.edits.push(s.clone()),
                    // `redline run report` is about these.
                    SessionKind::Run => {}
                }
            }
            counted.models.extend(scope.models.iter().cloned());
            counted.people.extend(scope.people.participants.iter().map(|p| (p.id.clone(), p.clone())));
        }
        counted.stats(corpus, engine)
    }
}

/// What is counted.
#[derive(Default)]
struct Counted {
    requests: Vec<SessionInfo>,
    edits: Vec<SessionInfo>,
    models: BTreeSet<ModelId>,
    people: BTreeMap<ParticipantId, Participant>,
}

/// The figures of sessions, in their order.
fn each<T: DeserializeOwned>(corpus: &Corpus, sessions: &[SessionInfo], engine: &dyn Engine, mut take: impl FnMut(T)) -> Result<()> {
    let tasks = Task::of_sessions(FIGURES, sessions);
    if tasks.is_empty() {
        return Ok(());
    }
    let expected = sessions.len();
    let mut n = 0;
    for part in engine.parts(corpus, &Arc::new(Common::default()), tasks)? {
        let part = part?;
        let rows = part.batch.columns().first().and_then(|c| c.as_string_opt::<i32>());
        for row in rows.into_iter().flatten().flatten() {
            take(serde_json::from_str(row).map_err(|e| Error::Refused(format!("figures of another version: {e}")))?);
            n += 1;
        }
    }
    if n == expected { Ok(()) } else { Err(Error::Refused(format!("the figures of {n} sessions came back, not of {expected}"))) }
}

impl Counted {
    fn stats(self, corpus: &Corpus, engine: &dyn Engine) -> Result<Stats> {
        let manifest = corpus.manifest()?;
        let agents: BTreeSet<_> = self.people.values().filter(|p| p.agent.is_some()).map(|p| &p.id).collect();
        let mut t = Totals {
            participants: self.people.len() as u64,
            agents: agents.len() as u64,
            models: self.models.len() as u64,
            ..Totals::default()
        };
        let mut values = Values::default();
        let mut loops = Loops::default();
        let mut cells: BTreeMap<RequestId, (Modality, Difficulty)> = BTreeMap::new();
        each(corpus, &self.requests, engine, |r: RequestFigures| {
            cells.insert(r.id, (r.modality, r.difficulty));
            if !t.take(r.status) {
                return;
            }
            t.requests += 1;
            let s = seconds(r.duration_ns);
            t.request_hours += s / 3600.0;
            t.lines(r.counts);
            values.put("request_seconds", r.modality, r.difficulty, s);
            loops.automatic += u64::from(r.automatic);
            if let Some(c) = &r.correction {
                loops.see(c);
            }
            if let Some(words) = r.words {
                t.words += words;
                values.put("words_per_request", r.modality, r.difficulty, words as f64);
            }
        })?;
        each(corpus, &self.edits, engine, |e: EditFigures| {
            if !t.take(e.status) {
                return;
            }
            t.lines(e.counts);
            if agents.contains(&e.participant) {
                t.agent_edits += 1;
                return;
            }
            t.edits += 1;
            let s = seconds(e.duration_ns);
            t.edit_hours += s / 3600.0;
            // An edit of a request that is gone has no modality: it is counted, but in no group.
            let Some(&(modality, difficulty)) = cells.get(&e.request) else { return };
            values.put("edit_seconds", modality, difficulty, s);
            values.put("events_per_edit", modality, difficulty, e.counts.events as f64);
            values.put("commands_per_edit", modality, difficulty, e.counts.commands as f64);
        })?;
        Ok(Stats {
            corpus: manifest.name,
            totals: t,
            corrections: loops.sum(),
            guide_times: manifest.protocol.difficulties,
            measures: values.measures(),
        })
    }
}

impl Totals {
    /// Whether a session counts; tells those that do not.
    fn take(&mut self, status: Status) -> bool {
        match status {
            Status::Rejected => self.rejected += 1,
            Status::Recording => self.unfinished += 1,
            Status::Complete | Status::Recovered => {}
        }
        counts(status)
    }

    fn lines(&mut self, c: Counts) {
        self.events += c.events;
        self.commands += c.commands;
        self.renders += c.renders;
    }
}

#[derive(Default)]
struct Loops {
    automatic: u64,
    accepted: u64,
    changed: u64,
    chars: Vec<f64>,
    words: Vec<f64>,
    rounds: Vec<f64>,
    automatic_chars: u64,
}

impl Loops {
    fn see(&mut self, c: &Correction) {
        self.accepted += 1;
        self.changed += u64::from(c.changed);
        self.chars.push(c.char_edit_distance as f64);
        self.words.push(c.word_edit_distance as f64);
        self.rounds.push(f64::from(c.rounds));
        self.automatic_chars += c.automatic_chars;
    }

    fn sum(self) -> Corrections {
        let share = |n: f64, of: u64| (of > 0).then(|| n / of as f64);
        Corrections {
            automatic: self.automatic,
            accepted: self.accepted,
            changed: self.changed,
            changed_share: share(self.changed as f64, self.accepted),
            char_edit_rate: share(self.chars.iter().sum(), self.automatic_chars),
            char_edit_distance: Summary::of(self.chars),
            word_edit_distance: Summary::of(self.words),
            rounds: Summary::of(self.rounds),
        }
    }
}
