use crate::{Difficulty, Modality, ModelId, ParticipantId, RequestId, Session, Tool, Utc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where a session stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// Being recorded, or the recorder died: `redline recover` mends it.
    Recording,
    /// Whole.
    Complete,
    /// Mended after a crash; `marks.jsonl` says what is missing.
    Recovered,
    /// Kept, but left out of releases; see `rejection`.
    Rejected,
}
crate::corpus::names!(Status, Recording => "recording", Complete => "complete", Recovered => "recovered", Rejected => "rejected");

/// Why a request or an edit is left out of releases.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Rejection {
    /// Who said so.
    pub by: ParticipantId,
    /// When.
    pub at_utc: Utc,
    /// Why.
    pub reason: String,
    /// The status before, for a rejection that is taken back; absent: `complete`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub was: Option<Status>,
}

/// `requests/<id>/request.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RequestManifest {
    /// [`crate::FORMAT_VERSION`].
    pub format_version: u32,
    /// The request's id, equal to its folder's name.
    pub id: RequestId,
    /// Who asks.
    pub participant: ParticipantId,
    /// About which model; absent for a video imported without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelId>,
    /// How.
    pub modality: Modality,
    /// How much work it asks for.
    pub difficulty: Difficulty,
    /// Where it stands.
    pub status: Status,
    /// Set when `status` is `rejected`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rejection: Option<Rejection>,
    /// The recording.
    pub session: Session,
    /// A remark of the participant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Set when it was not recorded by Redline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imported_from: Option<ImportedFrom>,
    /// Who wrote this file.
    pub tool: Tool,
}

/// Where an imported session comes from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ImportedFrom {
    /// File name without folders.
    pub name: String,
    /// SHA-256 of the original.
    pub sha256: String,
}
