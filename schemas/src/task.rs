use crate::{TaskId, Tool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a task asks of an agent that works in a program's window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TaskFamily {
    /// Turn the view until something is seen.
    Orientation,
    /// Find the way through documents, trees, menus.
    Navigation,
    /// Select something, read something off.
    SelectionInspection,
    /// Make or change something.
    CreationModification,
    /// Several of these, one after the other.
    Workflow,
    /// Get out of a state that something went wrong in.
    Recovery,
}
crate::corpus::names!(TaskFamily,
    Orientation => "orientation", Navigation => "navigation", SelectionInspection => "selection_inspection",
    CreationModification => "creation_modification", Workflow => "workflow", Recovery => "recovery");

/// `tasks/<id>.json`: what runs are made of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TaskManifest {
    /// [`crate::FORMAT_VERSION`].
    pub format_version: u32,
    /// The task's id, equal to its file's name.
    pub id: TaskId,
    /// Its family.
    pub family: TaskFamily,
    /// What the agent is told, to the letter.
    pub prompt: String,
    /// The state that the program is brought into before each run.
    pub start_state: String,
    /// Steps of a short way to the goal, as the task's author counts them.
    #[schemars(range(min = 1))]
    pub reference_steps: u32,
    /// What the operator looks at after each run; all must hold.
    #[schemars(length(min = 1))]
    pub checks: Vec<TaskCheck>,
    /// Who wrote this file.
    pub tool: Tool,
}

/// Something that must hold after a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TaskCheck {
    /// Its short name.
    pub name: String,
    /// What must be seen.
    pub expects: String,
}
