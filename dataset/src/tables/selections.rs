//! `selections`.

use super::{Float, Id, Int, Json, Label, Text, Time, Utc, table};
use redline_schemas::{SelectionEvent, SelectionKind, time};

table! {
    /// One row a change of the selection in the CAD program.
    "selections", sorted by ["session_id", "t_ns"] {
        /// The request or edit during which it happened.
        session_id: Id,
        /// What the session is: request, edit, run.
        session: Label,
        /// Session time.
        t_ns: Time ["ns"],
        /// The same moment as wall-clock time.
        utc: Utc,
        /// What changed: added, removed, cleared, preselected.
        kind: Label,
        /// What was selected: face, edge, vertex, body, component, feature, sketch, other.
        entity_kind: Option<Label>,
        /// Persistent id or name of the sub-element, e.g. Face7.
        entity_id: Option<Text>,
        /// Body or component path, outermost first, joined by `/`.
        entity_path: Option<Text>,
        /// The document's name.
        document: Option<Text>,
        /// Picked point in the model.
        point_x: Option<Float> ["mm"],
        /// Picked point in the model.
        point_y: Option<Float> ["mm"],
        /// Picked point in the model.
        point_z: Option<Float> ["mm"],
        /// Picked point in the viewport, from its left.
        viewport_x: Option<Float> ["viewport pixels"],
        /// Picked point in the viewport, from its top.
        viewport_y: Option<Float> ["viewport pixels"],
        /// Entities selected after the change.
        selected: Int ["entities"],
        /// The whole selection after the change, a list of entities.
        selection: Json,
        /// The plug-in's running number.
        seq: Int,
        /// Bound on the error of `t_ns`.
        error_ns: Time ["ns"],
    }
}

/// Appends a change of the selection.
pub(crate) fn append(b: &mut Builder, s: &crate::pack::SessionInfo, e: &SelectionEvent) {
    let (n, p, v) = (e.entity.as_ref(), e.point, e.viewport);
    b.append(Row {
        session_id: &s.id,
        session: s.kind.as_str(),
        t_ns: e.t_ns,
        utc: time::utc_micros(s.started_utc, e.t_ns),
        kind: match e.kind {
            SelectionKind::Added => "added",
            SelectionKind::Removed => "removed",
            SelectionKind::Cleared => "cleared",
            SelectionKind::Preselected => "preselected",
        },
        entity_kind: n.map(|n| n.kind.as_str()),
        entity_id: n.map(|n| n.id.as_str()),
        entity_path: n.and_then(|n| n.path.as_deref()),
        document: n.and_then(|n| n.document.as_deref()),
        point_x: p.map(|p| p[0]),
        point_y: p.map(|p| p[1]),
        point_z: p.map(|p| p[2]),
        viewport_x: v.map(|v| v[0]),
        viewport_y: v.map(|v| v[1]),
        selected: e.set.len() as i64,
        selection: &serde_json::to_string(&e.set).unwrap_or_default(),
        seq: e.seq as i64,
        error_ns: e.error_ns,
    });
}
