//! `runs`.

use super::requests::MediaColumns;
use super::{Bool, Float, Id, Int, Label, Text, Time, Utc, Video, table};
use crate::runs::Run;
use redline_schemas::time;

table! {
    /// One row a run: one try of an agent at a task.
    "runs", sorted by ["run_id"] {
        /// The run; `session_id` in the tables of events.
        run_id: Id,
        /// The task.
        task_id: Id,
        /// The task's family: orientation, navigation, selection_inspection, creation_modification, workflow, recovery.
        family: Label,
        /// What the agent was told, to the letter.
        prompt: Text,
        /// The state that the program was in when the run began.
        start_state: Text,
        /// Steps of the reference path.
        reference_steps: Int ["steps"],
        /// The agent.
        agent: Label,
        /// Its version.
        agent_version: Label,
        /// The person who ran it.
        operator_id: Id,
        /// The program that was worked in.
        application: Label,
        /// Its version.
        application_version: Label,
        /// Width of the recorded screen.
        width: Option<Int> ["pixels"],
        /// Height of the recorded screen.
        height: Option<Int> ["pixels"],
        /// The program's theme.
        theme: Label,
        /// The program's locale.
        locale: Label,
        /// Where it stands: complete, recovered, rejected.
        status: Label,
        /// UTC at session time 0.
        started_utc: Utc,
        /// Session time at which recording ended.
        duration_ns: Time ["ns"],
        /// How it came out, from the operator's verification alone: passed, failed, unverified.
        outcome: Label,
        /// Checks that held; absent when nobody looked.
        checks_passed: Option<Int> ["checks"],
        /// Checks that did not; absent when nobody looked.
        checks_failed: Option<Int> ["checks"],
        /// Whether the agent said that it succeeded; it counts for nothing.
        claimed_success: Option<Bool>,
        /// Why it ended: done, limit, intervention.
        stop_reason: Option<Label>,
        /// Steps in which something was done.
        steps: Int ["steps"],
        /// The screen recording.
        video: Option<Video>,
        /// Frame rate of the video.
        video_fps: Option<Float> ["frames/s"],
        /// Frames in the video.
        video_frames: Option<Int> ["frames"],
        /// Session time of the video's first frame.
        video_first_t_ns: Option<Time> ["ns"],
    }
}

/// Appends a run under the operator's published name.
pub(crate) fn append(b: &mut Builder, r: &Run, operator: &str) {
    let m = &r.manifest;
    let folder = format!("runs/{}", m.id);
    let media = MediaColumns::new(&folder, &m.session);
    let checks = |held: bool| r.verification.as_ref().map(|v| v.checks.iter().filter(|c| c.passed == held).count() as i64);
    b.append(Row {
        run_id: m.id.as_str(),
        task_id: m.task.as_str(),
        family: m.family.as_str(),
        prompt: &m.prompt,
        start_state: &m.start_state,
        reference_steps: i64::from(m.reference_steps),
        agent: &m.agent.name,
        agent_version: &m.agent.version,
        operator_id: operator,
        application: &m.application.name,
        application_version: &m.application.version,
        width: m.environment.resolution.map(|r| i64::from(r.0)),
        height: m.environment.resolution.map(|r| i64::from(r.1)),
        theme: &m.environment.theme,
        locale: &m.environment.locale,
        status: m.status.as_str(),
        started_utc: time::utc_micros(m.session.clock.started_utc, 0),
        duration_ns: m.session.duration_ns,
        outcome: r.outcome().as_str(),
        checks_passed: checks(true),
        checks_failed: checks(false),
        claimed_success: m.claimed_success,
        stop_reason: m.stop.map(|s| s.as_str()),
        steps: r.acted() as i64,
        video: media.video.as_deref(),
        video_fps: media.fps,
        video_frames: media.frames,
        video_first_t_ns: media.video_first_t_ns,
    });
}
