//! `ratings`.

use super::{Bool, Id, Int, Text, Utc, table};
use redline_schemas::Rating;

table! {
    /// One row one rater's scores for an edit.
    "ratings", sorted by ["edit_id", "rater_id"] {
        /// The edit.
        edit_id: Id,
        /// The request that it carries out.
        request_id: Id,
        /// Who rated it.
        rater_id: Id,
        /// Whether the rater is a program instead of a person.
        rater_is_agent: Bool,
        /// How well the edit does what was asked.
        instruction_following: Int ["score, 1 to 7"],
        /// How good the resulting model is.
        quality: Int ["score, 1 to 7"],
        /// The rater's remark.
        comment: Option<Text>,
        /// When it was rated; absent where it was not kept.
        rated_utc: Option<Utc>,
    }
}

/// Appends a rating under the rater's published name.
pub(crate) fn append(b: &mut Builder, edit: &str, request: &str, rater: &str, is_agent: bool, r: &Rating) {
    b.append(Row {
        edit_id: edit,
        request_id: request,
        rater_id: rater,
        rater_is_agent: is_agent,
        instruction_following: i64::from(r.instruction_following),
        quality: i64::from(r.quality),
        comment: r.comment.as_deref(),
        rated_utc: r.rated_utc.map(|t| t.timestamp_micros()),
    });
}
