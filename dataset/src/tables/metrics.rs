//! `metrics`.

use super::{Float, Id, Label, table};
use redline_schemas::EditMetrics;

table! {
    /// One row one automatic metric of an edit.
    "metrics", sorted by ["edit_id", "metric"] {
        /// The edit.
        edit_id: Id,
        /// The request that it carries out.
        request_id: Id,
        /// `valid` (1 or 0), and against the requestor's own edit `chamfer_mm`, `chamfer_relative` (to its diagonal), `iou` and
        /// `image_similarity`; a metric that can't be measured has no row.
        metric: Label,
        /// Its value.
        value: Float,
        /// The edit that it is compared with; absent for `valid`, and where that edit is not packed.
        reference_edit_id: Option<Id>,
    }
}

/// Appends the metrics of an edit; `reference` is its published reference.
pub(crate) fn append(b: &mut Builder, request: &str, m: &EditMetrics, reference: Option<&str>) {
    for (metric, value) in m.values() {
        let reference_edit_id = reference.filter(|_| metric != "valid");
        b.append(Row { edit_id: m.edit.as_str(), request_id: request, metric: &metric, value, reference_edit_id });
    }
}
