//! What a program would measure of the edits' results: they are blocks from one corner, so it can be worked out.

use crate::{Chance, Result, started, step};
use redline_schemas::{EditId, EditMetrics, FORMAT_VERSION, ModelComparison, SessionDir, Tool, fsio};

/// Depth and height of every block, millimetres.
const DEPTH: f64 = 22.0;
const HEIGHT: f64 = 6.0;

fn length(edit: u64) -> f64 {
    12.0 + Chance::new(edit + 2_000_000).below(90) as f64
}

/// The result of edit `i`, a STEP file.
pub(crate) fn block(i: u64) -> String {
    step::cuboid("block", [length(i), DEPTH, HEIGHT])
}

/// Writes `metrics.json` of edit `i`; `reference` is the requestor's own edit, by number and id.
pub(crate) fn write(dir: &SessionDir, edit: &EditId, i: u64, reference: Option<(u64, EditId)>) -> Result<()> {
    let sha256 = |i: u64| fsio::sha256_bytes(block(i).as_bytes());
    let comparison = reference.as_ref().map(|(own, _)| comparison(length(i), length(*own)));
    let m = EditMetrics {
        format_version: FORMAT_VERSION,
        edit: edit.clone(),
        model_sha256: sha256(i),
        valid: true,
        problems: Vec::new(),
        reference_sha256: reference.as_ref().map(|(own, _)| sha256(*own)),
        reference: reference.map(|(_, id)| id),
        comparison,
        not_compared: None,
        kernel: "none: worked out".into(),
        image_model_sha256: None,
        measured_utc: started(i),
        tool: Tool::redline(),
    };
    Ok(fsio::write_json(&dir.metrics_path(), &m)?)
}

fn comparison(model: f64, reference: f64) -> ModelComparison {
    let (short, long) = (model.min(reference), model.max(reference));
    let gap = long - short;
    let area = |x: f64| 2.0 * (x * (DEPTH + HEIGHT) + DEPTH * HEIGHT);
    // The short block's end lies in the long one: as far as the nearest wall, or as the other end.
    let most = gap.min(HEIGHT / 2.0);
    let of_short = DEPTH * HEIGHT * most - (DEPTH + HEIGHT) * most * most + 4.0 / 3.0 * most.powi(3);
    // What the long block has more of sides, and its end.
    let of_long = (DEPTH + HEIGHT) * gap * gap + DEPTH * HEIGHT * gap;
    let chamfer_mm = (of_short / area(short) + of_long / area(long)) / 2.0;
    let diagonal = (reference * reference + DEPTH * DEPTH + HEIGHT * HEIGHT).sqrt();
    ModelComparison { chamfer_mm, chamfer_relative: chamfer_mm / diagonal, iou: Some(short / long), no_iou: None, image_similarity: None }
}
