use crate::{FileRef, ModelId, Utc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The names of a model's seven views.
pub const VIEWS: [&str; 7] = ["toprightiso", "top", "bottom", "front", "back", "left", "right"];

/// `models/<id>/model.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ModelManifest {
    /// [`crate::FORMAT_VERSION`].
    pub format_version: u32,
    /// The model's id.
    pub id: ModelId,
    /// A name for people.
    pub name: String,
    /// When it was added.
    pub created_utc: Utc,
    /// The STEP file.
    pub step: FileRef,
    /// The CAD program's own file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub native: Option<FileRef>,
    /// Whether it has a feature history; otherwise it is a dumb solid.
    pub parametric: bool,
    /// Whether it is an assembly; otherwise a single part.
    pub assembly: bool,
    /// Counts of what it is made of; absent when the STEP could not be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counts: Option<TopologyCounts>,
    /// View name → path inside the model's folder.
    #[serde(default)]
    pub views: BTreeMap<String, String>,
    /// Where it comes from, for the dataset card.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
}

/// What a boundary representation is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TopologyCounts {
    /// Solids.
    pub bodies: u64,
    /// Faces.
    pub faces: u64,
    /// Edges.
    pub edges: u64,
    /// Vertices.
    pub vertices: u64,
}
