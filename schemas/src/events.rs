//! One line of each stream. Flat on purpose: a line is a table's row.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An event with a place on the session's clock.
pub trait Timed {
    /// Nanoseconds since the session's start.
    fn t_ns(&self) -> i64;
}

macro_rules! timed {
    ($($t:ty),*) => { $(impl Timed for $t { fn t_ns(&self) -> i64 { self.t_ns } })* };
}
timed!(InputEvent, StrokeEvent, SelectionEvent, CommandEvent, TextEvent, RenderEvent, MarkEvent, VideoTime, AudioTime);

/// What an input event is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum InputKind {
    /// The pointer moved to `x`, `y`.
    Move,
    /// `button` went down at `x`, `y`.
    Press,
    /// `button` went up at `x`, `y`.
    Release,
    /// The wheel turned by `dx`, `dy` at `x`, `y`.
    Wheel,
    /// `key` went down.
    KeyPress,
    /// `key` went up.
    KeyRelease,
}

/// One line of `input.jsonl`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct InputEvent {
    /// Session time of arrival.
    pub t_ns: i64,
    /// What happened.
    pub kind: InputKind,
    /// Pointer, screen pixels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub x: Option<f64>,
    /// Pointer, screen pixels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub y: Option<f64>,
    /// Pointer, video pixels; may lie outside the picture.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vx: Option<f64>,
    /// Pointer, video pixels; may lie outside the picture.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vy: Option<f64>,
    /// `left`, `middle`, `right` or the button's number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub button: Option<String>,
    /// Wheel steps, positive to the right.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dx: Option<f64>,
    /// Wheel steps, positive away from the user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dy: Option<f64>,
    /// The key's name; `char` for a plain typed character whose identity is not kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

impl InputEvent {
    /// An event without details.
    #[must_use]
    pub fn new(t_ns: i64, kind: InputKind) -> Self {
        Self { t_ns, kind, x: None, y: None, vx: None, vy: None, button: None, dx: None, dy: None, key: None }
    }
}

/// What happens to a stroke.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StrokeKind {
    /// The pen went down; carries tool, colour and width.
    Begin,
    /// The pen moved.
    Point,
    /// The pen went up.
    End,
    /// The stroke left the screen, see `reason`.
    Vanish,
}

/// One line of `strokes.jsonl`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StrokeEvent {
    /// Session time.
    pub t_ns: i64,
    /// What happened.
    pub kind: StrokeKind,
    /// The stroke's number in the session, from 1.
    pub stroke: u32,
    /// Screen pixels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub x: Option<f64>,
    /// Screen pixels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub y: Option<f64>,
    /// Video pixels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vx: Option<f64>,
    /// Video pixels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vy: Option<f64>,
    /// `pen` or `arrow` (begin only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// `#rrggbb` (begin only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub colour: Option<String>,
    /// Width, screen pixels (begin only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub width: Option<f64>,
    /// Why it vanished: `faded`, `erased`, `undone`, `cleared` (vanish only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// How a selection changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SelectionKind {
    /// `entity` was added.
    Added,
    /// `entity` was removed.
    Removed,
    /// Nothing is selected any more.
    Cleared,
    /// The pointer rests on `entity` (highlighted, not selected).
    Preselected,
}

/// A thing in a CAD document that can be selected.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Entity {
    /// `face`, `edge`, `vertex`, `body`, `component`, `feature`, `sketch` or `other`.
    pub kind: String,
    /// Persistent id or sub-element name, e.g. `Face7`.
    pub id: String,
    /// Body or component path, outermost first, joined by `/`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The document's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub document: Option<String>,
}

/// One line of `selections.jsonl`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SelectionEvent {
    /// Session time.
    pub t_ns: i64,
    /// What changed.
    pub kind: SelectionKind,
    /// What it changed for; absent for `cleared`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entity: Option<Entity>,
    /// Picked point in the model, millimetres.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub point: Option<[f64; 3]>,
    /// Picked point in the viewport, pixels from its top left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub viewport: Option<[f64; 2]>,
    /// The whole selection after the change.
    #[serde(default)]
    pub set: Vec<Entity>,
    /// The plug-in's running number, for "never lost or doubled".
    pub seq: u64,
    /// Bound on the error of `t_ns` from the clock sync with the CAD program.
    #[serde(default)]
    pub error_ns: i64,
}

/// What a CAD program did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CommandKind {
    /// A command began.
    Started,
    /// A command was completed.
    Ended,
    /// A command was given up.
    Cancelled,
    /// The camera changed.
    Camera,
    /// The document was saved.
    Saved,
    /// The document changed without a known command (e.g. from a script).
    Changed,
}

/// One line of `commands.jsonl`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CommandEvent {
    /// Session time.
    pub t_ns: i64,
    /// What happened.
    pub kind: CommandKind,
    /// The program's id of the command, e.g. `PartDesign_Fillet`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command_id: Option<String>,
    /// The command's name as people see it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Parameters, the camera or other details, as the program gives them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parameters: Option<serde_json::Value>,
    /// The plug-in's running number.
    pub seq: u64,
    /// Bound on the error of `t_ns`.
    #[serde(default)]
    pub error_ns: i64,
}

/// How typed text changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TextKind {
    /// `text` was inserted at `pos`.
    Insert,
    /// `len` characters were deleted from `pos` on.
    Delete,
}

/// One line of `text.jsonl`. Positions count Unicode scalar values.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TextEvent {
    /// Session time.
    pub t_ns: i64,
    /// What happened.
    pub kind: TextKind,
    /// Where, in characters from the text's start.
    pub pos: u64,
    /// The inserted text (insert only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Deleted characters (delete only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub len: Option<u64>,
}

/// What a picture or model file of a session is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RenderKind {
    /// The viewport as the user saw it.
    Render,
    /// The model after a command.
    State,
    /// The model at the end.
    Final,
}

/// One line of `renders.jsonl`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RenderEvent {
    /// Session time at which the picture or state was true.
    pub t_ns: i64,
    /// What it is.
    pub kind: RenderKind,
    /// Path inside the session's folder.
    pub path: String,
    /// SHA-256 of the file.
    pub sha256: String,
    /// `seq` of the command it followed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after_command: Option<u64>,
    /// The plug-in's running number.
    pub seq: u64,
    /// Bound on the error of `t_ns`.
    #[serde(default)]
    pub error_ns: i64,
}

/// What happened to the session itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MarkKind {
    /// The participant marked a moment.
    Mark,
    /// Recording was paused until `until_ns`.
    Pause,
    /// A stream had nothing to record until `until_ns` (device lost, disk full, …).
    Gap,
    /// The span up to `until_ns` was cut from every stream on request.
    Cut,
    /// The clock jumped or the recorder stalled; `note` says how.
    Discontinuity,
    /// The captured area or the screen changed.
    Resize,
}

/// One line of `marks.jsonl`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MarkEvent {
    /// Session time (of the span's start, where it is one).
    pub t_ns: i64,
    /// What happened.
    pub kind: MarkKind,
    /// End of the span; absent for a moment or while it lasts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until_ns: Option<i64>,
    /// The stream concerned, e.g. `audio`; absent for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream: Option<String>,
    /// For people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The captured area from `t_ns` on, screen pixels (resize only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub area: Option<crate::coords::Rect>,
}

/// One line of `video_times.jsonl`: the raw times of a captured picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VideoTime {
    /// The picture's time: the middle between asking for it and having it.
    pub t_ns: i64,
    /// Half of the time that the capture took: the bound of `t_ns`'s error.
    pub half_ns: i64,
    /// The slot (frame number) it went into; absent when it was dropped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slot: Option<i64>,
}

/// One line of `audio_clock.jsonl`: a raw time stamp of the microphone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AudioTime {
    /// Session time at which the callback's first sample was captured, as the device says.
    pub t_ns: i64,
    /// Session time at which the callback ran.
    pub callback_ns: i64,
    /// The callback's first sample, counted from the file's start.
    pub sample: u64,
    /// Samples in the callback.
    pub samples: u32,
}
