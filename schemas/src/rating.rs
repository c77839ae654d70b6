use crate::{EditId, ParticipantId, Tool, Utc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The lowest score.
pub const MIN_SCORE: u8 = 1;
/// The highest score.
pub const MAX_SCORE: u8 = 7;

/// `edits/<id>/ratings.json`: what raters think of an edit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ratings {
    /// [`crate::FORMAT_VERSION`].
    pub format_version: u32,
    /// The edit.
    pub edit: EditId,
    /// One a rater.
    pub ratings: Vec<Rating>,
    /// Who wrote this file.
    pub tool: Tool,
}

/// One rater's scores for an edit, each from [`MIN_SCORE`] to [`MAX_SCORE`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Rating {
    /// Who; a person or a program, never the edit's own participant.
    pub rater: ParticipantId,
    /// How well the edit does what was asked.
    #[schemars(range(min = 1, max = 7))]
    pub instruction_following: u8,
    /// How good the resulting model is.
    #[schemars(range(min = 1, max = 7))]
    pub quality: u8,
    /// The rater's remark.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// When; absent where it was not kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rated_utc: Option<Utc>,
}
