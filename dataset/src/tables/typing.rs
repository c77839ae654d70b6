//! `typing`.

use super::{Id, Int, Label, Text, Time, Utc, table};
use redline_schemas::{TextEvent, TextKind, time};

table! {
    /// One row a change of a typed request's text.
    "typing", sorted by ["session_id", "t_ns"] {
        /// The request or edit during which it was typed.
        session_id: Id,
        /// What the session is: request, edit, run.
        session: Label,
        /// Session time.
        t_ns: Time ["ns"],
        /// The same moment as wall-clock time.
        utc: Utc,
        /// What happened: insert, delete.
        kind: Label,
        /// Where, from the text's start.
        pos: Int ["characters"],
        /// The inserted text (insert only).
        text: Option<Text>,
        /// How much was deleted (delete only).
        len: Option<Int> ["characters"],
    }
}

/// Appends a change of the text.
pub(crate) fn append(b: &mut Builder, s: &crate::pack::SessionInfo, e: &TextEvent) {
    b.append(Row {
        session_id: &s.id,
        session: s.kind.as_str(),
        t_ns: e.t_ns,
        utc: time::utc_micros(s.started_utc, e.t_ns),
        kind: match e.kind {
            TextKind::Insert => "insert",
            TextKind::Delete => "delete",
        },
        pos: e.pos as i64,
        text: e.text.as_deref(),
        len: e.len.map(|l| l as i64),
    });
}
