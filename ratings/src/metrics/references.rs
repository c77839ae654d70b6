//! Which edits are measured, and which one each is compared with.

use redline_schemas::{Corpus, EditId, EditManifest, RequestId, Status, Utc};
use std::collections::BTreeMap;
use std::path::PathBuf;

pub(super) fn finished(s: Status) -> bool {
    matches!(s, Status::Complete | Status::Recovered)
}

/// The final model of a finished edit; the error says why there is none.
pub(super) fn final_step(corpus: &Corpus, e: &EditManifest) -> Result<PathBuf, &'static str> {
    if !finished(e.status) {
        return Err("it is not finished, or rejected");
    }
    let file = e.final_model.as_ref().ok_or("it has no final model")?;
    let path = corpus.edit_dir(&e.id).path().join(&file.path);
    let is_step = path.extension().is_some_and(|x| x.eq_ignore_ascii_case("step") || x.eq_ignore_ascii_case("stp"));
    if is_step { Ok(path) } else { Err("its final model is no STEP file") }
}

/// Request → its requestor's own finished edit; of several the last one.
pub(super) fn references(corpus: &Corpus) -> redline_schemas::Result<BTreeMap<RequestId, EditId>> {
    let mut found: BTreeMap<RequestId, (Utc, EditId)> = BTreeMap::new();
    for id in corpus.edit_ids()? {
        // A manifest that can't be read fails its own edit only.
        let Ok(e) = corpus.edit(&id) else { continue };
        let own = corpus.request(&e.request).is_ok_and(|r| r.participant == e.participant);
        if own && final_step(corpus, &e).is_ok() {
            let this = (e.session.clock.started_utc, id);
            let last = found.entry(e.request).or_insert_with(|| this.clone());
            if *last < this {
                *last = this;
            }
        }
    }
    Ok(found.into_iter().map(|(r, (_, e))| (r, e)).collect())
}
