//! `edits`.

use super::requests::{MediaColumns, alignment};
use super::{Audio, Float, Id, Int, Label, Text, Time, Utc, Video, table};
use redline_schemas::{EditManifest, time};

table! {
    /// One row an edit: one participant's carrying out of one request.
    "edits", sorted by ["edit_id"] {
        /// The edit; `session_id` in the tables of events.
        edit_id: Id,
        /// The request carried out.
        request_id: Id,
        /// Who carried it out.
        participant_id: Id,
        /// Where it stands: recording, complete, recovered, rejected.
        status: Label,
        /// UTC at session time 0.
        started_utc: Utc,
        /// Session time at which recording ended.
        duration_ns: Time ["ns"],
        /// Session time at which editing began, after the request was shown.
        editing_started_ns: Option<Time> ["ns"],
        /// Session time at which editing ended.
        editing_stopped_ns: Option<Time> ["ns"],
        /// How the streams came onto one clock: measured, container, estimated.
        alignment: Label,
        /// The screen recording.
        video: Option<Video>,
        /// Frame rate of the video.
        video_fps: Option<Float> ["frames/s"],
        /// Frames in the video.
        video_frames: Option<Int> ["frames"],
        /// Session time of the video's first frame.
        video_first_t_ns: Option<Time> ["ns"],
        /// The microphone's recording.
        audio: Option<Audio>,
        /// Path of the resulting model.
        final_model_path: Option<Text>,
        /// SHA-256 of the resulting model.
        final_model_sha256: Option<Text>,
        /// Tokens that an agent used, in and out.
        tokens: Option<Int> ["tokens"],
        /// What an agent cost.
        cost_usd: Option<Float> ["US dollars"],
        /// File name of the original, when it was not recorded by Redline.
        imported_from: Option<Text>,
    }
}

/// Appends an edit under the participant's published name.
pub(crate) fn append(b: &mut Builder, e: &EditManifest, participant: &str) {
    let folder = format!("edits/{}", e.id);
    let m = MediaColumns::new(&folder, &e.session);
    b.append(Row {
        edit_id: e.id.as_str(),
        request_id: e.request.as_str(),
        participant_id: participant,
        status: e.status.as_str(),
        started_utc: time::utc_micros(e.session.clock.started_utc, 0),
        duration_ns: e.session.duration_ns,
        editing_started_ns: e.started_ns,
        editing_stopped_ns: e.stopped_ns,
        alignment: alignment(e.session.clock.alignment),
        video: m.video.as_deref(),
        video_fps: m.fps,
        video_frames: m.frames,
        video_first_t_ns: m.video_first_t_ns,
        audio: m.audio.as_deref(),
        final_model_path: e.final_model.as_ref().map(|f| format!("{folder}/{}", f.path)).as_deref(),
        final_model_sha256: e.final_model.as_ref().map(|f| f.sha256.as_str()),
        tokens: e.usage.map(|u| u.tokens as i64),
        cost_usd: e.usage.and_then(|u| u.cost_usd),
        imported_from: e.imported_from.as_ref().map(|i| i.name.as_str()),
    });
}
