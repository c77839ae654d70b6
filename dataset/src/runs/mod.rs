//! Agents' runs: what they come to, and how far two who scored them agree.
//!
//! The report's rules are in its types: a [`Cell`] is made of runs and always has its n and the runs behind it; an
//! [`Aggregate`] can only be made together with its breakdown; a [`Median`] only of three runs or more; a [`PassRate`]
//! counts verifications, and never looks at what an agent said of itself.

mod aggregate;
mod agreement;
mod csv;
mod page;
mod report;

pub use aggregate::{Aggregate, Cell, DimensionMedian, MIN_RUNS, Measure, Median, Outcome, PassRate};
pub use agreement::{Agreement, agreement, weighted_kappa};
pub use csv::csv;
pub use page::html;
pub use report::{AgentReport, LabelCount, LeftOutRun, Report, RunRow, ScorerRow, StepRow};

use crate::{Error, Result};
use redline_schemas::{Corpus, Dimension, MAX_RUN_SCORE, RunManifest, RunScores, SessionDir, Status, StepEvent, Verification, jsonl};

/// A run, and what people said of it.
#[derive(Debug, Clone)]
pub struct Run {
    /// Its manifest.
    pub manifest: RunManifest,
    /// Its folder.
    pub dir: SessionDir,
    /// What the agent saw and did.
    pub steps: Vec<StepEvent>,
    /// What the operator saw; absent until somebody looked.
    pub verification: Option<Verification>,
    /// Scores, in the order in which they were given.
    pub scores: Vec<RunScores>,
}

impl Run {
    /// How it came out. A run that nobody verified did not pass, whatever its agent says.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        match &self.verification {
            None => Outcome::Unverified,
            Some(v) if v.passed() => Outcome::Passed,
            Some(_) => Outcome::Failed,
        }
    }

    /// The scores that the report counts: those that were given first. Later ones are for the agreement.
    #[must_use]
    pub fn first_scores(&self) -> Option<&RunScores> {
        self.scores.first()
    }

    /// Steps in which something was done.
    #[must_use]
    pub fn acted(&self) -> usize {
        self.steps.iter().filter(|s| s.action.is_some()).count()
    }

    /// A score that cannot be is no part of any number.
    fn refuse_impossible(&self) -> Result<()> {
        for s in &self.scores {
            if let Some(d) = Dimension::ALL.iter().find(|d| s.scores.get(**d) > MAX_RUN_SCORE) {
                let path = self.dir.scores_path(s.scorer.as_str());
                return Err(Error::Refused(format!(
                    "{}: {d} is {}, but scores go from 0 to {MAX_RUN_SCORE}: remove the file and score again",
                    path.display(),
                    s.scores.get(*d)
                )));
            }
        }
        Ok(())
    }

    /// Reads a run's files.
    pub fn load(dir: SessionDir, manifest: RunManifest) -> Result<Self> {
        let steps = if dir.steps().exists() { jsonl::read_all(&dir.steps())?.0 } else { Vec::new() };
        Ok(Self { steps, verification: dir.verification()?, scores: dir.run_scores()?, manifest, dir })
    }
}

/// The corpus's runs, sorted by id (and so by time), and those that count for nothing, with the reason.
pub fn load(corpus: &Corpus) -> Result<(Vec<Run>, Vec<LeftOutRun>)> {
    let (mut runs, mut out) = (Vec::new(), Vec::new());
    for id in corpus.run_ids()? {
        let m = corpus.run(&id)?;
        match m.status {
            Status::Recording => out.push(LeftOutRun { run: id, reason: "its recording has not ended" }),
            Status::Rejected => out.push(LeftOutRun { run: id, reason: "rejected" }),
            Status::Complete | Status::Recovered => {
                let run = Run::load(corpus.run_dir(&id), m)?;
                run.refuse_impossible()?;
                runs.push(run);
            }
        }
    }
    Ok((runs, out))
}
