//! `strokes`.

use super::{Float, Id, Int, Label, Time, Utc, table};
use redline_schemas::{StrokeEvent, StrokeKind, time};

table! {
    /// One row a point or change of a stroke drawn over the screen.
    "strokes", sorted by ["session_id", "t_ns"] {
        /// The request or edit during which it was drawn.
        session_id: Id,
        /// What the session is: request, edit, run.
        session: Label,
        /// Session time.
        t_ns: Time ["ns"],
        /// The same moment as wall-clock time.
        utc: Utc,
        /// What happened: begin, point, end, vanish.
        kind: Label,
        /// The stroke's number in the session, from 1.
        stroke: Int,
        /// On the screen, from the left.
        x: Option<Float> ["screen pixels"],
        /// On the screen, from the top.
        y: Option<Float> ["screen pixels"],
        /// In the video, from the left.
        vx: Option<Float> ["video pixels"],
        /// In the video, from the top.
        vy: Option<Float> ["video pixels"],
        /// pen, arrow (begin only).
        tool: Option<Label>,
        /// As #rrggbb (begin only).
        colour: Option<Label>,
        /// Line width (begin only).
        width: Option<Float> ["screen pixels"],
        /// Why it vanished: faded, erased, undone, cleared (vanish only).
        reason: Option<Label>,
    }
}

/// Appends a stroke's event.
pub(crate) fn append(b: &mut Builder, s: &crate::pack::SessionInfo, e: &StrokeEvent) {
    b.append(Row {
        session_id: &s.id,
        session: s.kind.as_str(),
        t_ns: e.t_ns,
        utc: time::utc_micros(s.started_utc, e.t_ns),
        kind: match e.kind {
            StrokeKind::Begin => "begin",
            StrokeKind::Point => "point",
            StrokeKind::End => "end",
            StrokeKind::Vanish => "vanish",
        },
        stroke: i64::from(e.stroke),
        x: e.x,
        y: e.y,
        vx: e.vx,
        vy: e.vy,
        tool: e.tool.as_deref(),
        colour: e.colour.as_deref(),
        width: e.width,
        reason: e.reason.as_deref(),
    });
}
