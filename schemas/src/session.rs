use crate::Utc;
use crate::coords::{Rect, ScreenMap};
use crate::time::{AudioClock, FrameGrid};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One run of the recorder (or an import): its clock, its picture and its streams.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Session {
    /// The clock that every stream is stamped on.
    pub clock: Clock,
    /// Session time at which recording ended.
    pub duration_ns: i64,
    /// What was captured of the screen; absent without video.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub screen: Option<Screen>,
    /// What was recorded.
    pub streams: Streams,
}

impl Session {
    /// A session that begins now; the recorder fills it in.
    #[must_use]
    pub fn begun() -> Self {
        let clock = Clock {
            name: String::new(),
            started_utc: chrono::Utc::now(),
            origin_ns: None,
            alignment: Alignment::Measured,
            discontinuities: Vec::new(),
        };
        Self { clock, duration_ns: 0, screen: None, streams: Streams::default() }
    }
}

/// The session's clock.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Clock {
    /// The clock's name, e.g. `CLOCK_MONOTONIC`; `file` for imports.
    pub name: String,
    /// UTC at `t_ns = 0`.
    pub started_utc: Utc,
    /// The clock's own reading at `t_ns = 0`, so that programs which read the same clock can be mapped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin_ns: Option<i64>,
    /// Whether streams were aligned by measurement or by guess.
    pub alignment: Alignment,
    /// Jumps of the monotonic clock against wall time (suspend, a clock set by hand).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub discontinuities: Vec<Discontinuity>,
}

/// How the streams came onto the clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Alignment {
    /// Every stream was stamped on one clock while recording.
    Measured,
    /// Streams come from one container, whose time stamps relate them.
    Container,
    /// A start time was guessed, as in data published elsewhere.
    Estimated,
}

/// A jump between the monotonic clock and wall time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Discontinuity {
    /// When it was noticed.
    pub t_ns: i64,
    /// Wall time passed minus monotonic time passed since the check before.
    pub wall_minus_monotonic_ns: i64,
    /// Most likely cause.
    pub cause: DiscontinuityCause,
}

/// Why wall and monotonic time parted, or why nothing was recorded for a while.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DiscontinuityCause {
    /// The machine slept: boot time went on, monotonic time did not.
    Suspend,
    /// Somebody or NTP set the wall clock.
    WallClockSet,
    /// The recorder itself was stopped or starved (both clocks went on).
    Stall,
}

/// What was captured of the screen.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Screen {
    /// Screen to video pixels, over time.
    pub map: ScreenMap,
    /// All monitors at the start, screen pixels.
    #[serde(default)]
    pub monitors: Vec<Monitor>,
    /// What the area is: `monitor`, `window` or `region`.
    pub source: String,
    /// The window's title, only when a window was chosen by name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The capture back end, e.g. `x11-shm`.
    pub backend: String,
}

/// A monitor.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Monitor {
    /// The system's name for it.
    pub name: String,
    /// Its place, physical pixels.
    pub area: Rect,
    /// Scaling factor of the desktop on it.
    pub scale: f64,
    /// Whether it is the primary one.
    pub primary: bool,
}

/// The streams of a session. A stream that was not recorded is absent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Streams {
    /// Screen video.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub video: Option<VideoStream>,
    /// Microphone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audio: Option<AudioStream>,
    /// Mouse, wheel, keys: `input.jsonl` of [`crate::InputEvent`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<EventStream>,
    /// Drawing: `strokes.jsonl` of [`crate::StrokeEvent`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strokes: Option<EventStream>,
    /// CAD selections: `selections.jsonl` of [`crate::SelectionEvent`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selections: Option<EventStream>,
    /// CAD commands: `commands.jsonl` of [`crate::CommandEvent`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commands: Option<EventStream>,
    /// Typing: `text.jsonl` of [`crate::TextEvent`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<EventStream>,
    /// Renders and model states: `renders.jsonl` of [`crate::RenderEvent`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub renders: Option<EventStream>,
    /// Marks, pauses, gaps, cuts: `marks.jsonl` of [`crate::MarkEvent`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub marks: Option<EventStream>,
}

/// A file of the session, by name inside its folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileRef {
    /// Path relative to the manifest's folder, with `/`.
    pub path: String,
    /// Size, bytes.
    pub bytes: u64,
    /// SHA-256, lower-case hexadecimal.
    pub sha256: String,
}

/// `video.mp4` on the clock.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct VideoStream {
    /// The file.
    pub file: FileRef,
    /// Codec name, e.g. `h264`.
    pub codec: String,
    /// Width, pixels.
    pub width: u32,
    /// Height, pixels.
    pub height: u32,
    /// Frames on the clock: frame `i` of the file ↔ session time.
    pub grid: FrameGrid,
    /// Frames in the file.
    pub frames: u64,
    /// Slots in which no new picture was captured in time, so that the last one was repeated.
    pub repeated_slots: u64,
    /// Slots of pauses: nothing was captured in them on purpose, and the last picture stands.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub paused_slots: u64,
    /// Captured pictures that were not used (two in one slot, or a full queue).
    pub dropped_frames: u64,
    /// Mean and largest distance of a picture's capture time from its slot, nanoseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capture_error_ns: Option<(i64, i64)>,
    /// Whether the video file also carries the audio, for watching.
    #[serde(default)]
    pub has_audio: bool,
}

// Recordings without pauses look as they did before pauses were counted.
#[allow(clippy::trivially_copy_pass_by_ref)] // The signature is serde’s.
fn is_zero(n: &u64) -> bool {
    *n == 0
}

/// `audio.flac` on the clock.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AudioStream {
    /// The file.
    pub file: FileRef,
    /// Codec name, e.g. `flac`.
    pub codec: String,
    /// Channels in the file.
    pub channels: u16,
    /// Samples (per channel) ↔ session time.
    pub clock: AudioClock,
    /// The device's name; absent for imports.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// Largest absolute sample, 0 to 1; 0 means that nothing but silence came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak: Option<f32>,
}

/// A JSON Lines stream on the clock.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EventStream {
    /// The file.
    pub file: FileRef,
    /// Lines.
    pub count: u64,
    /// Time of the first line; absent when there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_t_ns: Option<i64>,
    /// Time of the last line; absent when there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_t_ns: Option<i64>,
    /// Events that came but could not be kept; 0 unless something went wrong.
    #[serde(default)]
    pub lost: u64,
}

/// Who wrote a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Tool {
    /// Program name.
    pub name: String,
    /// Program version.
    pub version: String,
}

impl Tool {
    /// This build of Redline.
    #[must_use]
    pub fn redline() -> Self {
        Self { name: "redline".into(), version: env!("CARGO_PKG_VERSION").into() }
    }
}
