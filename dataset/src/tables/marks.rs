//! `marks`.

use super::{Id, Label, Text, Time, Utc, table};
use redline_schemas::{MarkEvent, MarkKind, time};

table! {
    /// One row something that happened to the recording itself: marks, pauses, gaps, cuts.
    "marks", sorted by ["session_id", "t_ns"] {
        /// The request or edit.
        session_id: Id,
        /// What the session is: request, edit, run.
        session: Label,
        /// Session time, of the span's start where it is one.
        t_ns: Time ["ns"],
        /// The same moment as wall-clock time.
        utc: Utc,
        /// What happened: mark, pause, gap, cut, discontinuity, resize.
        kind: Label,
        /// End of the span; absent for a moment.
        until_ns: Option<Time> ["ns"],
        /// The stream concerned; absent for all.
        stream: Option<Label>,
        /// For people.
        note: Option<Text>,
    }
}

/// Appends a mark.
pub(crate) fn append(b: &mut Builder, s: &crate::pack::SessionInfo, e: &MarkEvent) {
    b.append(Row {
        session_id: &s.id,
        session: s.kind.as_str(),
        t_ns: e.t_ns,
        utc: time::utc_micros(s.started_utc, e.t_ns),
        kind: match e.kind {
            MarkKind::Mark => "mark",
            MarkKind::Pause => "pause",
            MarkKind::Gap => "gap",
            MarkKind::Cut => "cut",
            MarkKind::Discontinuity => "discontinuity",
            MarkKind::Resize => "resize",
        },
        until_ns: e.until_ns,
        stream: e.stream.as_deref(),
        note: e.note.as_deref(),
    });
}
