//! The figures that papers on such datasets give, for any corpus.
//!
//! Words a request, time to produce a request, duration of an edit against its guide time, and
//! events an edit, each by modality and difficulty; totals; how much was corrected.

mod measure;
mod plots;

pub use measure::{Group, Measure, Summary};
pub use plots::{Plots, draw};

use crate::Result;
use crate::pack::{Scope, SessionKind};
use measure::Values;
use redline_schemas::time::seconds;
use redline_schemas::{
    Corpus, Difficulty, EditId, EditManifest, EventStream, GuideTime, Modality, ModelId, Participant, ParticipantId, RequestId,
    RequestManifest, Status, Streams, Transcript, TranscriptKind, fsio,
};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// The longest typed text that is counted, bytes.
const MAX_TEXT_BYTES: u64 = 4 << 20;

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

fn counts(status: Status) -> bool {
    matches!(status, Status::Complete | Status::Recovered)
}

fn streams(s: &Streams) -> impl Iterator<Item = &EventStream> {
    [&s.input, &s.strokes, &s.selections, &s.commands, &s.text].into_iter().flatten()
}

impl Stats {
    /// Reads a corpus's manifests and transcripts (streams are not read: their counts are in the manifests).
    pub fn of(corpus: &Corpus) -> Result<Self> {
        let counted = Counted {
            requests: corpus.request_ids()?,
            edits: corpus.edit_ids()?,
            models: corpus.model_ids()?.into_iter().collect(),
            people: corpus.participants()?.participants.into_iter().map(|p| (p.id.clone(), p)).collect(),
        };
        counted.stats(corpus)
    }

    /// The same of a part of a corpus, such as a release.
    pub fn of_scopes(corpus: &Corpus, scopes: &[&Scope]) -> Result<Self> {
        let mut counted = Counted::default();
        for scope in scopes {
            for s in &scope.sessions {
                match s.kind {
                    SessionKind::Request => counted.requests.push(RequestId::new(&s.id)?),
                    SessionKind::Edit => counted.edits.push(EditId::new(&s.id)?),
                }
            }
            counted.models.extend(scope.models.iter().cloned());
            counted.people.extend(scope.participants.iter().map(|p| (p.id.clone(), p.clone())));
        }
        counted.stats(corpus)
    }
}

/// What is counted.
#[derive(Default)]
struct Counted {
    requests: Vec<RequestId>,
    edits: Vec<EditId>,
    models: BTreeSet<ModelId>,
    people: BTreeMap<ParticipantId, Participant>,
}

impl Counted {
    fn stats(self, corpus: &Corpus) -> Result<Stats> {
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
        for id in self.requests {
            let r = corpus.request(&id)?;
            cells.insert(id, (r.modality, r.difficulty));
            if !t.take(r.status) {
                continue;
            }
            t.requests += 1;
            let s = seconds(r.session.duration_ns);
            t.request_hours += s / 3600.0;
            t.streams(&r.session.streams);
            values.put("request_seconds", r.modality, r.difficulty, s);
            if let Some(words) = words(corpus, &r, &mut loops)? {
                t.words += words;
                values.put("words_per_request", r.modality, r.difficulty, words as f64);
            }
        }
        for id in self.edits {
            let e = corpus.edit(&id)?;
            if !t.take(e.status) {
                continue;
            }
            t.streams(&e.session.streams);
            if agents.contains(&e.participant) {
                t.agent_edits += 1;
                continue;
            }
            t.edits += 1;
            let s = seconds(duration_ns(&e));
            t.edit_hours += s / 3600.0;
            // An edit of a request that is gone has no modality: it is counted, but in no group.
            let Some(&(modality, difficulty)) = cells.get(&e.request) else { continue };
            values.put("edit_seconds", modality, difficulty, s);
            let events: u64 = streams(&e.session.streams).map(|s| s.count).sum();
            values.put("events_per_edit", modality, difficulty, events as f64);
            let commands = e.session.streams.commands.as_ref().map_or(0, |s| s.count);
            values.put("commands_per_edit", modality, difficulty, commands as f64);
        }
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

    fn streams(&mut self, s: &Streams) {
        self.events += streams(s).map(|s| s.count).sum::<u64>();
        self.commands += s.commands.as_ref().map_or(0, |s| s.count);
        self.renders += s.renders.as_ref().map_or(0, |s| s.count);
    }
}

/// From the first to the last moment of editing; the session's length where that is not known.
fn duration_ns(e: &EditManifest) -> i64 {
    match (e.started_ns, e.stopped_ns) {
        (Some(a), Some(b)) if b >= a => b.saturating_sub(a),
        _ => e.session.duration_ns,
    }
}

/// Words of a request: of its accepted transcript, else of the automatic one, else of its typed text.
fn words(corpus: &Corpus, r: &RequestManifest, loops: &mut Loops) -> Result<Option<u64>> {
    let dir = corpus.request_dir(&r.id);
    let automatic = dir.transcript(TranscriptKind::Automatic)?;
    let oracle = dir.transcript(TranscriptKind::Oracle)?;
    loops.automatic += u64::from(automatic.is_some());
    if let Some(o) = &oracle {
        loops.see(o);
    }
    if let Some(t) = oracle.or(automatic) {
        return Ok(Some(t.words().count() as u64));
    }
    let path = dir.text();
    if !path.is_file() {
        return Ok(None);
    }
    let text = fsio::read_limited(&path, MAX_TEXT_BYTES)?;
    Ok(Some(String::from_utf8_lossy(&text).split_whitespace().count() as u64))
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
    fn see(&mut self, oracle: &Transcript) {
        let Some(c) = &oracle.correction else { return };
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
