use crate::{EditId, FileRef, ImportedFrom, ParticipantId, Rejection, RequestId, Session, Status, Tool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `edits/<id>/edit.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EditManifest {
    /// [`crate::FORMAT_VERSION`].
    pub format_version: u32,
    /// The edit's id, equal to its folder's name.
    pub id: EditId,
    /// The request carried out.
    pub request: RequestId,
    /// Who carried it out.
    pub participant: ParticipantId,
    /// Where it stands.
    pub status: Status,
    /// Set when `status` is `rejected`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rejection: Option<Rejection>,
    /// The recording.
    pub session: Session,
    /// Session time at which editing began (after the request was shown).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_ns: Option<i64>,
    /// Session time at which editing ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped_ns: Option<i64>,
    /// The result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub final_model: Option<FileRef>,
    /// What an agent used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<AgentUsage>,
    /// Set when it was not recorded by Redline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imported_from: Option<ImportedFrom>,
    /// Who wrote this file.
    pub tool: Tool,
}

/// What an agent used for an edit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AgentUsage {
    /// Tokens, in and out.
    pub tokens: u64,
    /// Cost in US dollars.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
}
