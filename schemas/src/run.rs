use crate::{Action, ParticipantId, Rejection, RunId, Session, Status, TaskFamily, TaskId, Timed, Tool, Utc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `runs/<id>/run.json`: one try of an agent at a task.
///
/// What the task said is kept here too, so that a task which is changed later does not change its runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunManifest {
    /// [`crate::FORMAT_VERSION`].
    pub format_version: u32,
    /// The run's id, equal to its folder's name.
    pub id: RunId,
    /// The task.
    pub task: TaskId,
    /// The task's family.
    pub family: TaskFamily,
    /// What the agent was told, to the letter.
    pub prompt: String,
    /// The state that the program was in when the run began.
    pub start_state: String,
    /// Steps of the reference path.
    pub reference_steps: u32,
    /// Who acted.
    pub agent: RunAgent,
    /// The person who ran it.
    pub operator: ParticipantId,
    /// The program that was worked in.
    pub application: Application,
    /// What it looked like.
    pub environment: Environment,
    /// Where it stands.
    pub status: Status,
    /// Set when `status` is `rejected`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rejection: Option<Rejection>,
    /// The recording.
    pub session: Session,
    /// Why it ended; absent until somebody said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<RunStop>,
    /// Whether the agent said that it succeeded. Kept to be compared with the verification; it never counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claimed_success: Option<bool>,
    /// Who wrote this file.
    pub tool: Tool,
}

/// An agent.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct RunAgent {
    /// Its name.
    pub name: String,
    /// Its version, or that of its language model.
    pub version: String,
}

/// The program that an agent works in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Application {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
}

/// What the screen looked like during a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Environment {
    /// Width and height of what was recorded, screen pixels; the recorder fills it in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolution: Option<(u32, u32)>,
    /// The program's theme, such as `light`.
    pub theme: String,
    /// The program's locale, such as `en_GB`.
    pub locale: String,
}

/// Why a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RunStop {
    /// The agent was done, or said so.
    Done,
    /// Time or steps were used up.
    Limit,
    /// The operator had to step in.
    Intervention,
}
crate::corpus::names!(RunStop, Done => "done", Limit => "limit", Intervention => "intervention");

/// One line of `steps.jsonl`: what the agent saw, and what it then did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StepEvent {
    /// Session time of the screenshot: the middle of taking it.
    pub t_ns: i64,
    /// Half of the time that it took: the bound of `t_ns`'s error.
    pub half_ns: i64,
    /// The step's number, from 1.
    pub step: u32,
    /// Path of the screenshot inside the run's folder.
    pub screenshot: String,
    /// SHA-256 of the screenshot.
    pub sha256: String,
    /// What was done; absent in the last line, which shows the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<Action>,
    /// The operator's note.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

impl Timed for StepEvent {
    fn t_ns(&self) -> i64 {
        self.t_ns
    }
}

/// `runs/<id>/verification.json`: what the operator saw of the task's checks, whatever the agent said.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Verification {
    /// [`crate::FORMAT_VERSION`].
    pub format_version: u32,
    /// The run.
    pub run: RunId,
    /// The person who looked.
    pub by: ParticipantId,
    /// When.
    pub verified_utc: Utc,
    /// One for each of the task's checks.
    #[schemars(length(min = 1))]
    pub checks: Vec<CheckResult>,
    /// Who wrote this file.
    pub tool: Tool,
}

impl Verification {
    /// Whether every check held. Without checks nothing was verified.
    #[must_use]
    pub fn passed(&self) -> bool {
        !self.checks.is_empty() && self.checks.iter().all(|c| c.passed)
    }
}

/// What was seen of a check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CheckResult {
    /// The check's name in the task.
    pub name: String,
    /// Whether it held.
    pub passed: bool,
    /// What was seen instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// The highest score of a dimension; the lowest is 0.
pub const MAX_RUN_SCORE: u8 = 3;

/// What a run is scored in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Dimension {
    /// Saw what was on the screen.
    VisualPerception,
    /// Understood where things are in space.
    SpatialReasoning,
    /// Hit what it meant to hit.
    ActionExecution,
    /// Noticed what went wrong, and got out of it.
    ErrorRecovery,
    /// Took no more steps than were needed.
    ExecutionEfficiency,
}
crate::corpus::names!(Dimension,
    VisualPerception => "visual_perception", SpatialReasoning => "spatial_reasoning", ActionExecution => "action_execution",
    ErrorRecovery => "error_recovery", ExecutionEfficiency => "execution_efficiency");

/// A score in each dimension, each from 0 to [`MAX_RUN_SCORE`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DimensionScores {
    /// [`Dimension::VisualPerception`].
    #[schemars(range(min = 0, max = 3))]
    pub visual_perception: u8,
    /// [`Dimension::SpatialReasoning`].
    #[schemars(range(min = 0, max = 3))]
    pub spatial_reasoning: u8,
    /// [`Dimension::ActionExecution`].
    #[schemars(range(min = 0, max = 3))]
    pub action_execution: u8,
    /// [`Dimension::ErrorRecovery`].
    #[schemars(range(min = 0, max = 3))]
    pub error_recovery: u8,
    /// [`Dimension::ExecutionEfficiency`].
    #[schemars(range(min = 0, max = 3))]
    pub execution_efficiency: u8,
}

impl DimensionScores {
    /// The score in a dimension.
    #[must_use]
    pub fn get(&self, d: Dimension) -> u8 {
        match d {
            Dimension::VisualPerception => self.visual_perception,
            Dimension::SpatialReasoning => self.spatial_reasoning,
            Dimension::ActionExecution => self.action_execution,
            Dimension::ErrorRecovery => self.error_recovery,
            Dimension::ExecutionEfficiency => self.execution_efficiency,
        }
    }
}

/// `runs/<id>/scores/<scorer>.json`: one person's scores. Each has a file of their own, so that nobody sees another's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunScores {
    /// [`crate::FORMAT_VERSION`].
    pub format_version: u32,
    /// The run.
    pub run: RunId,
    /// Who scored it, equal to the file's name.
    pub scorer: ParticipantId,
    /// The scores.
    pub scores: DimensionScores,
    /// What went wrong, in labels of the corpus's list.
    #[serde(default)]
    pub labels: Vec<String>,
    /// The scorer's remark.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// When.
    pub scored_utc: Utc,
    /// Who wrote this file.
    pub tool: Tool,
}
