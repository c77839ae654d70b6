//! Progress, time, agreement and how much was corrected.

use crate::{Flow, Result};
use redline_schemas::ReviewState;
use serde::Serialize;
use std::collections::BTreeMap;

/// Figures of the whole loop.
#[derive(Debug, Clone, Serialize)]
pub struct Stats {
    /// Requests in each state; rejected ones are counted apart.
    pub states: BTreeMap<&'static str, u64>,
    /// Rejected requests.
    pub rejected: u64,
    /// All requests together.
    pub all: Figures,
    /// By requestor.
    pub by_participant: BTreeMap<String, Figures>,
    /// By modality.
    pub by_modality: BTreeMap<String, Figures>,
    /// By difficulty.
    pub by_difficulty: BTreeMap<String, Figures>,
    /// By reviewer.
    pub by_reviewer: BTreeMap<String, Reviewer>,
}

/// Figures of a group of requests. Shares and means are absent where there is nothing to divide by.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Figures {
    /// Requests, without rejected ones.
    pub requests: u64,
    /// Those accepted after a correction was handed in.
    pub accepted: u64,
    /// Share of the accepted whose text was changed.
    pub share_corrected: Option<f64>,
    /// Mean Levenshtein distance of the accepted to the automatic text, characters.
    pub mean_char_edits: Option<f64>,
    /// The same, words.
    pub mean_word_edits: Option<f64>,
    /// Mean length of the automatic text of the accepted, characters.
    pub mean_automatic_chars: Option<f64>,
    /// Mean number of hand-ins of the accepted.
    pub mean_rounds: Option<f64>,
    /// Agreement: share of first hand-ins that the reviewer accepted, of those decided.
    pub share_accepted_at_once: Option<f64>,
    /// Mean time that people worked on a request, of those worked on, seconds.
    pub mean_active_s: Option<f64>,
    #[serde(skip)]
    sums: Sums,
}

/// Figures of a reviewer.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Reviewer {
    /// Corrections accepted.
    pub accepted: u64,
    /// Corrections returned.
    pub returned: u64,
}

#[derive(Debug, Clone, Default)]
struct Sums {
    changed: u64,
    chars: u64,
    words: u64,
    automatic: u64,
    rounds: u64,
    decided: u64,
    at_once: u64,
    worked_on: u64,
    active_ms: i64,
}

struct Line {
    state: ReviewState,
    rejected: bool,
    /// Changed, characters, words, automatic characters, number: of the last revision.
    last: Option<(bool, u64, u64, u64, u64)>,
    first_accepted: Option<bool>,
    active_ms: Option<i64>,
}

impl Figures {
    fn add(&mut self, l: &Line) {
        self.requests += 1;
        let s = &mut self.sums;
        if let (ReviewState::Accepted, Some((changed, chars, words, automatic, rounds))) = (l.state, l.last) {
            self.accepted += 1;
            s.changed += u64::from(changed);
            s.chars += chars;
            s.words += words;
            s.automatic += automatic;
            s.rounds += rounds;
        }
        if let Some(yes) = l.first_accepted {
            s.decided += 1;
            s.at_once += u64::from(yes);
        }
        if let Some(ms) = l.active_ms {
            s.worked_on += 1;
            s.active_ms += ms;
        }
    }

    fn close(&mut self) {
        let ratio = |a: f64, b: u64| (b > 0).then(|| a / b as f64);
        let s = &self.sums;
        self.share_corrected = ratio(s.changed as f64, self.accepted);
        self.mean_char_edits = ratio(s.chars as f64, self.accepted);
        self.mean_word_edits = ratio(s.words as f64, self.accepted);
        self.mean_automatic_chars = ratio(s.automatic as f64, self.accepted);
        self.mean_rounds = ratio(s.rounds as f64, self.accepted);
        self.share_accepted_at_once = ratio(s.at_once as f64, s.decided);
        self.mean_active_s = ratio(s.active_ms as f64 / 1e3, s.worked_on);
    }
}

const LINES: &str = "SELECT i.requestor, i.modality, i.difficulty, i.state, i.rejected, \
    r.changed, r.char_edits, r.word_edits, r.auto_chars, r.number, d.accepted, \
    (SELECT sum(active_ms) FROM effort e WHERE e.request = i.request) \
    FROM items i LEFT JOIN revisions r ON r.id = i.revision \
    LEFT JOIN revisions f ON f.request = i.request AND f.number = 1 LEFT JOIN decisions d ON d.revision = f.id";

impl Flow {
    /// Counts everything anew.
    pub fn stats(&self) -> Result<Stats> {
        self.store.read(|db| {
            let mut out = Stats {
                states: ReviewState::ALL.iter().map(|s| (s.as_str(), 0)).collect(),
                rejected: 0,
                all: Figures::default(),
                by_participant: BTreeMap::new(),
                by_modality: BTreeMap::new(),
                by_difficulty: BTreeMap::new(),
                by_reviewer: BTreeMap::new(),
            };
            let mut q = db.prepare_cached(LINES)?;
            let mut rows = q.query([])?;
            while let Some(r) = rows.next()? {
                let changed: Option<bool> = r.get(5)?;
                let last = match changed {
                    Some(changed) => Some((changed, r.get(6)?, r.get(7)?, r.get(8)?, r.get(9)?)),
                    None => None,
                };
                let line = Line {
                    state: r.get::<_, String>(3)?.parse()?,
                    rejected: r.get(4)?,
                    last,
                    first_accepted: r.get(10)?,
                    active_ms: r.get(11)?,
                };
                if line.rejected {
                    out.rejected += 1;
                    continue;
                }
                *out.states.entry(line.state.as_str()).or_default() += 1;
                out.all.add(&line);
                out.by_participant.entry(r.get(0)?).or_default().add(&line);
                out.by_modality.entry(r.get(1)?).or_default().add(&line);
                out.by_difficulty.entry(r.get(2)?).or_default().add(&line);
            }
            let groups = [&mut out.by_participant, &mut out.by_modality, &mut out.by_difficulty];
            groups.into_iter().flat_map(BTreeMap::values_mut).chain([&mut out.all]).for_each(Figures::close);
            let mut q = db.prepare_cached("SELECT reviewer, accepted, count(*) FROM decisions GROUP BY 1, 2")?;
            let mut rows = q.query([])?;
            while let Some(r) = rows.next()? {
                let reviewer = out.by_reviewer.entry(r.get(0)?).or_default();
                let n = r.get(2)?;
                if r.get(1)? { reviewer.accepted = n } else { reviewer.returned = n }
            }
            Ok(out)
        })
    }
}
