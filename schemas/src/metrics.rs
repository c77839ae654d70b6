use crate::{EditId, Tool, Utc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// `edits/<id>/metrics.json`: what programs measured of an edit's final model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EditMetrics {
    /// [`crate::FORMAT_VERSION`].
    pub format_version: u32,
    /// The edit.
    pub edit: EditId,
    /// SHA-256 of the model that was measured.
    pub model_sha256: String,
    /// Whether it is made of closed solids without broken geometry.
    pub valid: bool,
    /// Why not, for people.
    #[serde(default)]
    pub problems: Vec<String>,
    /// The requestor's own edit of the same request that it is compared with; absent: there is none, or it is this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<EditId>,
    /// SHA-256 of the reference's model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference_sha256: Option<String>,
    /// Against the reference; absent without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comparison: Option<ModelComparison>,
    /// Why there is no comparison although there is a reference.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_compared: Option<String>,
    /// The CAD kernel.
    pub kernel: String,
    /// SHA-256 of the network that made the pictures' features; absent where none was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image_model_sha256: Option<String>,
    /// When.
    pub measured_utc: Utc,
    /// Who wrote this file.
    pub tool: Tool,
}

/// A model against another one, where both lie.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ModelComparison {
    /// Mean distance from one's surface to the other's, both ways, millimetres.
    pub chamfer_mm: f64,
    /// The same as a share of the reference's diagonal.
    pub chamfer_relative: f64,
    /// Common volume over joint volume on a grid of 64³, 0 to 1; absent when one of the two has no inside.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iou: Option<f64>,
    /// Why there is no IoU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_iou: Option<String>,
    /// Mean cosine of the views' features, −1 to 1; absent without a feature model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image_similarity: Option<f64>,
}

impl EditMetrics {
    /// Name → value of every metric; validity as 0 or 1.
    #[must_use]
    pub fn values(&self) -> BTreeMap<String, f64> {
        let mut all = BTreeMap::from([("valid".to_owned(), f64::from(u8::from(self.valid)))]);
        if let Some(c) = &self.comparison {
            all.insert("chamfer_mm".into(), c.chamfer_mm);
            all.insert("chamfer_relative".into(), c.chamfer_relative);
            all.extend(c.iou.map(|v| ("iou".into(), v)));
            all.extend(c.image_similarity.map(|v| ("image_similarity".into(), v)));
        }
        all
    }
}
