use crate::{ParticipantId, RequestId, RevisionId, Tool, Utc, Word};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where a request's transcript stands in the correction loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ReviewState {
    /// The automatic transcript waits for its requestor.
    Transcribed,
    /// The requestor corrects.
    InCorrection,
    /// A different expert decides.
    InReview,
    /// Sent back with a comment.
    Returned,
    /// Accepted: the oracle transcript.
    Accepted,
}
crate::corpus::names!(ReviewState, Transcribed => "transcribed", InCorrection => "in-correction", InReview => "in-review", Returned => "returned", Accepted => "accepted");

/// A corrected text; immutable.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Revision {
    /// Its id.
    pub id: RevisionId,
    /// The request.
    pub request: RequestId,
    /// 1 for the first hand-in.
    pub number: u32,
    /// The revision it builds on; absent: the automatic transcript.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<RevisionId>,
    /// Who wrote it.
    pub author: ParticipantId,
    /// When.
    pub created_utc: Utc,
    /// The text, segments one a line.
    pub text: String,
    /// The words with the times known when it was handed in.
    pub words: Vec<Word>,
}

/// What a reviewer decided on a revision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReviewDecision {
    /// The revision.
    pub revision: RevisionId,
    /// Who; never the revision's author.
    pub reviewer: ParticipantId,
    /// When.
    pub created_utc: Utc,
    /// Accepted or returned.
    pub accepted: bool,
    /// Needed when returned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
}

/// A revision, what was measured on it, and what became of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReviewedRevision {
    /// The revision.
    #[serde(flatten)]
    pub revision: Revision,
    /// Whether its text differs from the automatic one.
    pub changed: bool,
    /// Levenshtein distance to the automatic text, characters.
    pub char_edit_distance: u64,
    /// Levenshtein distance to the automatic text, words.
    pub word_edit_distance: u64,
    /// The decision on it; absent while it waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<ReviewDecision>,
}

/// `requests/<id>/revisions.json`: how the oracle transcript came about, written with every decision.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RevisionHistory {
    /// [`crate::FORMAT_VERSION`].
    pub format_version: u32,
    /// The request.
    pub request: RequestId,
    /// First to last.
    pub revisions: Vec<ReviewedRevision>,
    /// Who wrote this file.
    pub tool: Tool,
}
