//! `steps`.

use super::{Float, Id, Image, Int, Json, Label, Text, Time, Utc, table};
use redline_schemas::{RunManifest, StepEvent, time};

table! {
    /// One row a step of a run: what the agent saw, and what it then did.
    "steps", sorted by ["run_id", "t_ns"] {
        /// The run.
        run_id: Id,
        /// The step's number, from 1.
        step: Int,
        /// Session time of the screenshot.
        t_ns: Time ["ns"],
        /// The same moment as wall-clock time.
        utc: Utc,
        /// Bound on the error of `t_ns`.
        error_ns: Time ["ns"],
        /// What the agent saw.
        screenshot: Image,
        /// SHA-256 of the screenshot.
        sha256: Text,
        /// What was done: move, click, double_click, drag, scroll, key, type, wait; absent in the last row, which shows the end.
        action: Option<Label>,
        /// All of the action.
        action_json: Option<Json>,
        /// Where it began, on the screen.
        x: Option<Float> ["pixels"],
        /// Where it began, on the screen.
        y: Option<Float> ["pixels"],
        /// The operator's note.
        note: Option<Text>,
    }
}

/// Appends a step.
pub(crate) fn append(b: &mut Builder, m: &RunManifest, e: &StepEvent) {
    let screenshot = format!("runs/{}/{}", m.id, e.screenshot);
    let json = e.action.as_ref().and_then(|a| serde_json::to_string(a).ok());
    let place = e.action.as_ref().and_then(redline_schemas::Action::place);
    b.append(Row {
        run_id: m.id.as_str(),
        step: i64::from(e.step),
        t_ns: e.t_ns,
        utc: time::utc_micros(m.session.clock.started_utc, e.t_ns),
        error_ns: e.half_ns,
        screenshot: &screenshot,
        sha256: &e.sha256,
        action: e.action.as_ref().map(redline_schemas::Action::kind),
        action_json: json.as_deref(),
        x: place.map(|p| p.0),
        y: place.map(|p| p.1),
        note: e.note.as_deref(),
    });
}
