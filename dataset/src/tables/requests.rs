//! `requests`.

use super::{Audio, Float, Id, Int, Label, Text, Time, Utc, Video, table};
use redline_schemas::{Alignment, RequestManifest, Session, time};

table! {
    /// One row a request: one instruction on one model by one participant.
    "requests", sorted by ["request_id"] {
        /// The request; `session_id` in the tables of events.
        request_id: Id,
        /// Who asks.
        participant_id: Id,
        /// About which model; absent for a video imported without one.
        model_id: Option<Id>,
        /// How: text, interactive, draw-temp, draw-static.
        modality: Label,
        /// How much editing work it asks for: easy, medium, hard.
        difficulty: Label,
        /// Where it stands: recording, complete, recovered, rejected.
        status: Label,
        /// The instruction in words: the oracle transcript where there is one, else the typed text, else the automatic transcript.
        instruction: Option<Text>,
        /// Where the instruction comes from: oracle, typed, automatic.
        instruction_source: Option<Label>,
        /// UTC at session time 0.
        started_utc: Utc,
        /// Session time at which recording ended.
        duration_ns: Time ["ns"],
        /// How the streams came onto one clock: measured, container, estimated.
        alignment: Label,
        /// The screen recording.
        video: Option<Video>,
        /// Width of the video.
        video_width: Option<Int> ["pixels"],
        /// Height of the video.
        video_height: Option<Int> ["pixels"],
        /// Frame rate of the video.
        video_fps: Option<Float> ["frames/s"],
        /// Frames in the video.
        video_frames: Option<Int> ["frames"],
        /// Session time of the video's first frame: add it to a time in the video to get `t_ns`.
        video_first_t_ns: Option<Time> ["ns"],
        /// SHA-256 of the video.
        video_sha256: Option<Text>,
        /// The microphone's recording.
        audio: Option<Audio>,
        /// Nominal sample rate of the audio.
        audio_sample_rate: Option<Int> ["Hz"],
        /// Session time of the audio's first sample.
        audio_first_t_ns: Option<Time> ["ns"],
        /// Deviation of the microphone's rate from the nominal one, in the audio's first piece.
        audio_drift_ppm: Option<Float> ["ppm"],
        /// SHA-256 of the audio.
        audio_sha256: Option<Text>,
        /// A remark of the participant.
        note: Option<Text>,
        /// File name of the original, when it was not recorded by Redline.
        imported_from: Option<Text>,
    }
}

/// What a request says, and where that comes from.
pub(crate) struct Instruction {
    pub text: String,
    pub source: &'static str,
}

/// Appends a request under the participant's published name.
pub(crate) fn append(b: &mut Builder, r: &RequestManifest, participant: &str, instruction: Option<&Instruction>) {
    let m = MediaColumns::new(&format!("requests/{}", r.id), &r.session);
    b.append(Row {
        request_id: r.id.as_str(),
        participant_id: participant,
        model_id: r.model.as_ref().map(|m| m.as_str()),
        modality: r.modality.as_str(),
        difficulty: r.difficulty.as_str(),
        status: r.status.as_str(),
        instruction: instruction.map(|i| i.text.as_str()),
        instruction_source: instruction.map(|i| i.source),
        started_utc: time::utc_micros(r.session.clock.started_utc, 0),
        duration_ns: r.session.duration_ns,
        alignment: alignment(r.session.clock.alignment),
        video: m.video.as_deref(),
        video_width: m.width,
        video_height: m.height,
        video_fps: m.fps,
        video_frames: m.frames,
        video_first_t_ns: m.video_first_t_ns,
        video_sha256: m.video_sha256,
        audio: m.audio.as_deref(),
        audio_sample_rate: m.sample_rate,
        audio_first_t_ns: m.audio_first_t_ns,
        audio_drift_ppm: m.drift_ppm,
        audio_sha256: m.audio_sha256,
        note: r.note.as_deref(),
        imported_from: r.imported_from.as_ref().map(|i| i.name.as_str()),
    });
}

/// The media columns that requests and edits share.
pub(super) struct MediaColumns<'a> {
    pub video: Option<String>,
    pub width: Option<i64>,
    pub height: Option<i64>,
    pub fps: Option<f64>,
    pub frames: Option<i64>,
    pub video_first_t_ns: Option<i64>,
    pub video_sha256: Option<&'a str>,
    pub audio: Option<String>,
    pub sample_rate: Option<i64>,
    pub audio_first_t_ns: Option<i64>,
    pub drift_ppm: Option<f64>,
    pub audio_sha256: Option<&'a str>,
}

impl<'a> MediaColumns<'a> {
    pub(super) fn new(folder: &str, s: &'a Session) -> Self {
        let (v, a) = (s.streams.video.as_ref(), s.streams.audio.as_ref());
        Self {
            video: v.map(|v| format!("{folder}/{}", v.file.path)),
            width: v.map(|v| i64::from(v.width)),
            height: v.map(|v| i64::from(v.height)),
            fps: v.map(|v| f64::from(v.grid.fps_num) / f64::from(v.grid.fps_den.max(1))),
            frames: v.map(|v| v.frames as i64),
            video_first_t_ns: v.map(|v| v.grid.first_t_ns),
            video_sha256: v.map(|v| v.file.sha256.as_str()),
            audio: a.map(|a| format!("{folder}/{}", a.file.path)),
            sample_rate: a.map(|a| i64::from(a.clock.sample_rate)),
            audio_first_t_ns: a.and_then(|a| a.clock.t_ns_of_sample(0.0)),
            drift_ppm: a.and_then(|a| a.clock.pieces.first()).map(|p| p.ppm),
            audio_sha256: a.map(|a| a.file.sha256.as_str()),
        }
    }
}

pub(super) fn alignment(a: Alignment) -> &'static str {
    match a {
        Alignment::Measured => "measured",
        Alignment::Container => "container",
        Alignment::Estimated => "estimated",
    }
}
