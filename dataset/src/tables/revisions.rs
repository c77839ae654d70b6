//! `revisions`.

use super::{Bool, Id, Int, Label, Text, Utc, table};
use redline_schemas::{ParticipantId, ReviewedRevision};

table! {
    /// One row a corrected text that a requestor handed in, and what a reviewer decided on it.
    "revisions", sorted by ["request_id", "revision"] {
        /// The request.
        request_id: Id,
        /// Its number for this request, from 1.
        revision: Int,
        /// The revision's own id.
        revision_id: Id,
        /// Id of the revision that it builds on; absent: the automatic transcript.
        base_id: Option<Id>,
        /// Who wrote it.
        corrected_by: Id,
        /// When it was handed in.
        created_utc: Utc,
        /// The text, segments one a line.
        text: Text,
        /// Words in it.
        words: Int ["words"],
        /// Whether the text differs from the automatic one.
        changed: Bool,
        /// Levenshtein distance to the automatic text.
        char_edit_distance: Int ["characters"],
        /// Levenshtein distance to the automatic text.
        word_edit_distance: Int ["words"],
        /// What became of it: accepted, returned; absent while it waits.
        decision: Option<Label>,
        /// Who decided, never the one who wrote it.
        decided_by: Option<Id>,
        /// When it was decided.
        decided_utc: Option<Utc>,
        /// What the reviewer said.
        comment: Option<Text>,
    }
}

/// Appends a revision; `publish` gives a participant's published name.
pub(crate) fn append(b: &mut Builder, r: &ReviewedRevision, publish: &dyn Fn(&ParticipantId) -> String) {
    let (v, d) = (&r.revision, r.decision.as_ref());
    b.append(Row {
        request_id: v.request.as_str(),
        revision: i64::from(v.number),
        revision_id: v.id.as_str(),
        base_id: v.base.as_ref().map(|b| b.as_str()),
        corrected_by: &publish(&v.author),
        created_utc: v.created_utc.timestamp_micros(),
        text: &v.text,
        words: v.text.split_whitespace().count() as i64,
        changed: r.changed,
        char_edit_distance: r.char_edit_distance as i64,
        word_edit_distance: r.word_edit_distance as i64,
        decision: d.map(|d| if d.accepted { "accepted" } else { "returned" }),
        decided_by: d.map(|d| publish(&d.reviewer)).as_deref(),
        decided_utc: d.map(|d| d.created_utc.timestamp_micros()),
        comment: d.and_then(|d| d.comment.as_deref()),
    });
}
