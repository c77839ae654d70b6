//! `models`.

use super::{Bool, Id, Image, Int, Text, table};
use redline_schemas::ModelManifest;

table! {
    /// One row an input model.
    "models", sorted by ["model_id"] {
        /// The model.
        model_id: Id,
        /// A name for people.
        name: Text,
        /// Whether it has a feature history; otherwise it is a dumb solid.
        parametric: Bool,
        /// Whether it is an assembly; otherwise a single part.
        assembly: Bool,
        /// Solids; absent when the STEP file could not be read.
        bodies: Option<Int> ["solids"],
        /// Faces of its boundary representation.
        faces: Option<Int> ["faces"],
        /// Edges of its boundary representation.
        edges: Option<Int> ["edges"],
        /// Vertices of its boundary representation.
        vertices: Option<Int> ["vertices"],
        /// Path of the STEP file.
        step_path: Text,
        /// SHA-256 of the STEP file.
        step_sha256: Text,
        /// Size of the STEP file.
        step_bytes: Int ["bytes"],
        /// Path of the CAD program's own file.
        native_path: Option<Text>,
        /// Isometric view from the top right.
        view_toprightiso: Option<Image>,
        /// View from above.
        view_top: Option<Image>,
        /// View from below.
        view_bottom: Option<Image>,
        /// View from the front.
        view_front: Option<Image>,
        /// View from the back.
        view_back: Option<Image>,
        /// View from the left.
        view_left: Option<Image>,
        /// View from the right.
        view_right: Option<Image>,
        /// Where it comes from.
        source: Option<Text>,
    }
}

/// Appends a model; its paths get its folder in front.
pub(crate) fn append(b: &mut Builder, m: &ModelManifest) {
    let place = |p: &str| format!("models/{}/{p}", m.id);
    let view = |name: &str| m.views.get(name).map(|p| place(p));
    let count = |f: fn(&redline_schemas::TopologyCounts) -> u64| m.counts.as_ref().map(|c| f(c) as i64);
    b.append(Row {
        model_id: m.id.as_str(),
        name: &m.name,
        parametric: m.parametric,
        assembly: m.assembly,
        bodies: count(|c| c.bodies),
        faces: count(|c| c.faces),
        edges: count(|c| c.edges),
        vertices: count(|c| c.vertices),
        step_path: &place(&m.step.path),
        step_sha256: &m.step.sha256,
        step_bytes: m.step.bytes as i64,
        native_path: m.native.as_ref().map(|n| place(&n.path)).as_deref(),
        view_toprightiso: view("toprightiso").as_deref(),
        view_top: view("top").as_deref(),
        view_bottom: view("bottom").as_deref(),
        view_front: view("front").as_deref(),
        view_back: view("back").as_deref(),
        view_left: view("left").as_deref(),
        view_right: view("right").as_deref(),
        source: m.source.as_deref(),
    });
}
