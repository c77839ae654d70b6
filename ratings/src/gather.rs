//! Edits with all that is said of them, out of a corpus.

use crate::{Result, Score, accepted, median};
use redline_schemas::time::seconds;
use redline_schemas::{Corpus, Difficulty, EditId, Modality, ParticipantId, Rating, RequestId, Status};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Who made an edit.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case", tag = "kind", content = "model")]
pub enum Maker {
    /// The one who asked.
    Requestor,
    /// Another person.
    Editor,
    /// A program, by the name of its language model.
    Program(String),
}

impl std::fmt::Display for Maker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Requestor => f.pad("requestor"),
            Self::Editor => f.pad("other people"),
            Self::Program(m) => f.pad(m),
        }
    }
}

/// An edit that may be rated.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Rated {
    /// The edit.
    pub edit: EditId,
    /// The request that it carries out.
    pub request: RequestId,
    /// How it was asked.
    pub modality: Modality,
    /// How much work was asked for.
    pub difficulty: Difficulty,
    /// What made it.
    pub maker: Maker,
    /// Who made it.
    pub participant: ParticipantId,
    /// Whether it came to a model; one that did not can't be rated.
    pub has_result: bool,
    /// Seconds of editing, where they are known.
    pub seconds: Option<f64>,
    /// Tokens that an agent used.
    pub tokens: Option<u64>,
    /// What an agent cost, US dollars.
    pub cost_usd: Option<f64>,
    /// Ratings by people: the figures are theirs.
    pub ratings: Vec<Rating>,
    /// Name → value of what programs say: `chamfer_mm`, `iou`, `<judge>/quality` and so on.
    pub metrics: BTreeMap<String, f64>,
}

impl Rated {
    /// The median of a score, 1 to 7; absent without ratings.
    #[must_use]
    pub fn median(&self, score: Score) -> Option<f64> {
        median(self.ratings.iter().map(|r| score.of(r)))
    }

    /// Whether both medians reach [`crate::ACCEPTED_FROM`]; absent without ratings.
    #[must_use]
    pub fn accepted(&self) -> Option<bool> {
        Some(accepted(self.median(Score::InstructionFollowing)?, self.median(Score::Quality)?))
    }
}

/// All finished edits of requests that take part. A maker's own rating does not count, nor a rater's second one.
pub fn gather(corpus: &Corpus) -> Result<Vec<Rated>> {
    let people = corpus.participants()?.participants;
    let model_of: BTreeMap<&ParticipantId, &str> =
        people.iter().filter_map(|p| p.agent.as_ref().map(|a| (&p.id, a.model.as_str()))).collect();
    let takes_part = |s: Status| matches!(s, Status::Complete | Status::Recovered);
    let mut out = Vec::new();
    for id in corpus.edit_ids()? {
        let e = corpus.edit(&id)?;
        let r = corpus.request(&e.request)?;
        if !takes_part(e.status) || !takes_part(r.status) {
            continue;
        }
        let dir = corpus.edit_dir(&id);
        let mut seen = BTreeSet::from([e.participant.clone()]);
        let (mut ratings, mut metrics) = (Vec::new(), BTreeMap::new());
        for rating in dir.ratings()?.into_iter().flat_map(|r| r.ratings) {
            if !seen.insert(rating.rater.clone()) {
                tracing::warn!("edit {id}: a second or own rating by {} does not count", rating.rater);
            } else if model_of.contains_key(&rating.rater) {
                for s in Score::ALL {
                    metrics.insert(format!("{}/{}", rating.rater, s.as_str()), s.of(&rating));
                }
            } else {
                ratings.push(rating);
            }
        }
        if let Some(m) = dir.metrics()? {
            if e.final_model.as_ref().is_some_and(|f| f.sha256 == m.model_sha256) {
                metrics.extend(m.values());
            } else {
                tracing::warn!("edit {id}: its metrics are of another final model and do not count; `redline rate metrics` measures it");
            }
        }
        let maker = match model_of.get(&e.participant) {
            Some(model) => Maker::Program((*model).to_owned()),
            None if e.participant == r.participant => Maker::Requestor,
            None => Maker::Editor,
        };
        let span = e.started_ns.zip(e.stopped_ns).map(|(a, b)| b - a).or(Some(e.session.duration_ns)).filter(|d| *d > 0);
        out.push(Rated {
            edit: id,
            request: e.request,
            modality: r.modality,
            difficulty: r.difficulty,
            maker,
            participant: e.participant,
            // A model that people rated there was, even if its file did not come along.
            has_result: e.final_model.is_some() || !ratings.is_empty(),
            seconds: span.map(seconds),
            tokens: e.usage.map(|u| u.tokens),
            cost_usd: e.usage.and_then(|u| u.cost_usd),
            ratings,
            metrics,
        });
    }
    Ok(out)
}
