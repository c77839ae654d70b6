//! What programs measured of an edit's final model.

use super::finding::Findings;
use super::rule::{ID, METRICS, STALE_METRICS};
use super::session::Known;
use redline_schemas::{Corpus, EditId, EditManifest, EditMetrics, ModelComparison, ParticipantId, RequestId, RequestManifest, SessionDir};
use std::collections::BTreeMap;
use std::path::Path;

/// `metrics.json`.
pub(super) fn check(f: &mut Findings, dir: &SessionDir, e: &EditManifest, known: &Known<'_>) {
    let path = dir.metrics_path();
    if path.symlink_metadata().is_err() {
        return;
    }
    let Some(m) = known.schemas.read::<EditMetrics>(f, &path, "metrics") else { return };
    if m.edit != e.id {
        f.add(ID, &path, format!("it belongs to edit {}", m.edit));
    }
    match &e.final_model {
        None => f.add(STALE_METRICS, &path, "the edit has no final model"),
        Some(r) if r.sha256 != m.model_sha256 => f.add(STALE_METRICS, &path, format!("{} is another file now", r.path)),
        Some(_) => {}
    }
    if m.reference.is_none() && m.comparison.is_some() {
        f.add(METRICS, &path, "a comparison with nothing");
    }
    if let Some(c) = &m.comparison {
        ranges(f, &path, c);
    }
}

/// What edits are compared with is to be the requestor's own edit of the same request, as it was when it was compared.
///
/// For the whole corpus: the other edit may have been looked at elsewhere.
pub(super) fn references(f: &mut Findings, corpus: &Corpus, requests: &[RequestManifest], edits: &[EditManifest]) {
    let asker: BTreeMap<&RequestId, &ParticipantId> = requests.iter().map(|r| (&r.id, &r.participant)).collect();
    let by_id: BTreeMap<&EditId, &EditManifest> = edits.iter().map(|e| (&e.id, e)).collect();
    for e in edits {
        let dir = corpus.edit_dir(&e.id);
        // One that cannot be read was found before.
        let Ok(Some(m)) = dir.metrics() else { continue };
        let Some(r) = &m.reference else { continue };
        let requestor = asker.get(&e.request);
        match by_id.get(r) {
            Some(other) if *r != e.id && other.request == e.request && requestor.is_none_or(|p| **p == other.participant) => {
                if other.final_model.as_ref().map(|m| m.sha256.as_str()) != m.reference_sha256.as_deref() {
                    let message = format!("edit {r}, which it is compared with, has another final model now");
                    f.add(STALE_METRICS, &dir.metrics_path(), message);
                }
            }
            _ => {
                let message = format!("edit {r}, which it is compared with, is not the requestor’s own edit of this request");
                f.add(METRICS, &dir.metrics_path(), message);
            }
        }
    }
}

fn ranges(f: &mut Findings, path: &Path, c: &ModelComparison) {
    let mut within = |name: &str, value: Option<f64>, low: f64, high: f64| {
        if let Some(v) = value.filter(|v| !v.is_finite() || *v < low || *v > high) {
            f.add(METRICS, path, format!("{name} is {v}, not from {low} to {high}"));
        }
    };
    within("chamfer_mm", Some(c.chamfer_mm), 0.0, f64::MAX);
    within("chamfer_relative", Some(c.chamfer_relative), 0.0, f64::MAX);
    within("iou", c.iou, 0.0, 1.0);
    within("image_similarity", c.image_similarity, -1.0, 1.0);
}
