//! What the report says, as data. The page shows nothing that is not in it.

use super::{Aggregate, Agreement, DimensionMedian, Outcome, PassRate, Run, agreement, load};
use crate::Result;
use redline_schemas::{
    CheckResult, Corpus, Dimension, DimensionScores, ParticipantId, RunAgent, RunId, RunStop, TaskFamily, TaskId, Tool, Utc,
};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// The report on a corpus's runs.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// The corpus's name.
    pub corpus: String,
    /// When it was made.
    pub created_utc: Utc,
    /// One for each agent and version: runs of different agents are never put together.
    pub agents: Vec<AgentReport>,
    /// How far the first two scorers agree; empty where no run has two.
    pub agreement: BTreeMap<Dimension, Agreement>,
    /// The tasks, and what they ask.
    pub tasks: BTreeMap<TaskId, TaskRow>,
    /// Every run that is counted.
    pub runs: Vec<RunRow>,
    /// Runs that are not.
    pub left_out: Vec<LeftOutRun>,
    /// Who made it.
    pub tool: Tool,
}

/// A task as its runs have it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TaskRow {
    /// Its family.
    pub family: TaskFamily,
    /// What the agent was told.
    pub prompt: String,
    /// Where it began.
    pub start_state: String,
    /// Steps of the reference path.
    pub reference_steps: u32,
}

/// What one agent did.
#[derive(Debug, Clone, Serialize)]
pub struct AgentReport {
    /// The agent.
    pub agent: RunAgent,
    /// The headline.
    pub pass_rate: Aggregate<PassRate>,
    /// Medians of the scores.
    pub dimensions: BTreeMap<Dimension, Aggregate<DimensionMedian>>,
    /// What went wrong, the most frequent first.
    pub labels: Vec<LabelCount>,
}

/// Runs that somebody gave a failure label.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LabelCount {
    label: String,
    n: usize,
    runs: Vec<RunId>,
    by_task: BTreeMap<TaskId, Vec<RunId>>,
}

impl LabelCount {
    fn all(runs: &[&Run]) -> Vec<Self> {
        let mut by: BTreeMap<&str, Vec<&Run>> = BTreeMap::new();
        for r in runs {
            let labels: BTreeSet<&str> = r.scores.iter().flat_map(|s| s.labels.iter().map(String::as_str)).collect();
            for l in labels {
                by.entry(l).or_default().push(r);
            }
        }
        let one = |(label, runs): (&str, Vec<&Run>)| {
            let mut by_task = BTreeMap::<_, Vec<RunId>>::new();
            for r in &runs {
                by_task.entry(r.manifest.task.clone()).or_default().push(r.manifest.id.clone());
            }
            Self { label: label.to_owned(), n: runs.len(), runs: runs.iter().map(|r| r.manifest.id.clone()).collect(), by_task }
        };
        let mut all: Vec<Self> = by.into_iter().map(one).collect();
        all.sort_by(|a, b| b.n.cmp(&a.n).then_with(|| a.label.cmp(&b.label)));
        all
    }

    /// The label.
    #[must_use]
    pub fn label(&self) -> &str {
        &self.label
    }

    /// How many runs have it.
    #[must_use]
    pub fn n(&self) -> usize {
        self.n
    }

    /// Which.
    #[must_use]
    pub fn runs(&self) -> &[RunId] {
        &self.runs
    }

    /// Which of each task.
    #[must_use]
    pub fn by_task(&self) -> &BTreeMap<TaskId, Vec<RunId>> {
        &self.by_task
    }
}

/// A run that counts for nothing.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LeftOutRun {
    /// The run.
    pub run: RunId,
    /// Why.
    pub reason: &'static str,
}

/// A run's row.
#[derive(Debug, Clone, Serialize)]
pub struct RunRow {
    /// The run.
    pub run: RunId,
    /// Its folder, relative to the corpus.
    pub folder: String,
    /// The task.
    pub task: TaskId,
    /// Its family.
    pub family: TaskFamily,
    /// The agent.
    pub agent: RunAgent,
    /// The program that was worked in, and its version.
    pub application: String,
    /// Width and height of the screen, theme, locale.
    pub environment: String,
    /// Its number among the runs of this task by this agent, from 1.
    pub repetition: u32,
    /// How it came out.
    pub outcome: Outcome,
    /// What the agent said; it counts for nothing.
    pub claimed_success: Option<bool>,
    /// What was seen of the checks; empty: nobody looked.
    pub checks: Vec<CheckResult>,
    /// Why it ended.
    pub stop: Option<RunStop>,
    /// Steps in which something was done.
    pub steps: usize,
    /// Steps of the reference path.
    pub reference_steps: u32,
    /// Its length, seconds.
    pub seconds: f64,
    /// Who scored it, in the order of scoring; the report counts the first.
    pub scores: Vec<ScorerRow>,
    /// What the agent saw and did.
    pub screenshots: Vec<StepRow>,
    /// Where the video lies, relative to the corpus.
    pub video: Option<String>,
}

/// One person's scores.
#[derive(Debug, Clone, Serialize)]
pub struct ScorerRow {
    /// Who.
    pub scorer: ParticipantId,
    /// The scores.
    pub scores: DimensionScores,
    /// What went wrong.
    pub labels: Vec<String>,
    /// The remark.
    pub comment: Option<String>,
}

/// A step's row.
#[derive(Debug, Clone, Serialize)]
pub struct StepRow {
    /// Its number.
    pub step: u32,
    /// When, seconds into the run.
    pub seconds: f64,
    /// The screenshot, relative to the corpus.
    pub path: String,
    /// What was done.
    pub action: Option<String>,
    /// The operator's note.
    pub note: Option<String>,
}

impl Report {
    /// Of a corpus as it is now.
    pub fn of(corpus: &Corpus) -> Result<Self> {
        let (runs, left_out) = load(corpus)?;
        Ok(Self { left_out, ..Self::of_runs(corpus.manifest()?.name, &runs) })
    }

    /// Of given runs.
    #[must_use]
    pub fn of_runs(corpus: String, runs: &[Run]) -> Self {
        let mut by: BTreeMap<&RunAgent, Vec<&Run>> = BTreeMap::new();
        for r in runs {
            by.entry(&r.manifest.agent).or_default().push(r);
        }
        let agent = |(agent, runs): (&RunAgent, Vec<&Run>)| AgentReport {
            agent: agent.clone(),
            pass_rate: Aggregate::over((), &runs),
            dimensions: Dimension::ALL.iter().map(|&d| (d, Aggregate::over(d, &runs))).collect(),
            labels: LabelCount::all(&runs),
        };
        let mut nth: BTreeMap<(&RunAgent, &TaskId), u32> = BTreeMap::new();
        let rows = runs.iter().map(|r| {
            let n = nth.entry((&r.manifest.agent, &r.manifest.task)).or_default();
            *n += 1;
            row(r, *n)
        });
        let task = |r: &Run| {
            let m = &r.manifest;
            let t = TaskRow {
                family: m.family,
                prompt: m.prompt.clone(),
                start_state: m.start_state.clone(),
                reference_steps: m.reference_steps,
            };
            (m.task.clone(), t)
        };
        Self {
            corpus,
            created_utc: chrono::Utc::now(),
            runs: rows.collect(),
            tasks: runs.iter().map(task).collect(),
            agents: by.into_iter().map(agent).collect(),
            agreement: agreement(runs),
            left_out: Vec::new(),
            tool: Tool::redline(),
        }
    }
}

fn row(r: &Run, repetition: u32) -> RunRow {
    let m = &r.manifest;
    let folder = format!("runs/{}", m.id);
    let seconds = redline_schemas::time::seconds;
    let size = m.environment.resolution.map_or_else(|| "unknown size".to_owned(), |(w, h)| format!("{w} × {h}"));
    RunRow {
        run: m.id.clone(),
        task: m.task.clone(),
        family: m.family,
        agent: m.agent.clone(),
        application: format!("{} {}", m.application.name, m.application.version),
        environment: format!("{size}, {}, {}", m.environment.theme, m.environment.locale),
        repetition,
        outcome: r.outcome(),
        claimed_success: m.claimed_success,
        checks: r.verification.as_ref().map(|v| v.checks.clone()).unwrap_or_default(),
        stop: m.stop,
        steps: r.acted(),
        reference_steps: m.reference_steps,
        seconds: seconds(m.session.duration_ns),
        scores: r
            .scores
            .iter()
            .map(|s| ScorerRow { scorer: s.scorer.clone(), scores: s.scores, labels: s.labels.clone(), comment: s.comment.clone() })
            .collect(),
        screenshots: r
            .steps
            .iter()
            .map(|s| StepRow {
                step: s.step,
                seconds: seconds(s.t_ns),
                path: format!("{folder}/{}", s.screenshot),
                action: s.action.as_ref().map(ToString::to_string),
                note: s.note.clone(),
            })
            .collect(),
        video: m.session.streams.video.as_ref().map(|v| format!("{folder}/{}", v.file.path)),
        folder,
    }
}
