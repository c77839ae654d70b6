//! Who rates which edit.

use crate::store::rating::{Row, scatter};
use redline_schemas::{EditId, ParticipantId};
use std::collections::{BTreeMap, BTreeSet};

/// Ratings wanted of each edit, by different people.
pub const RATERS_PER_EDIT: usize = 5;

/// An edit that wants raters.
#[derive(Debug, Clone)]
pub struct Candidate {
    /// The edit.
    pub edit: EditId,
    /// Who made it, and so does not rate it.
    pub maker: ParticipantId,
    /// People whose rating is there already.
    pub rated: BTreeSet<ParticipantId>,
}

/// Edits and the raters that they get, beyond the tasks there are: whoever has the fewest comes first, so that all get
/// about equally many; chance, the same for the same seed, decides among those.
pub(super) fn plan(seed: &str, mut edits: Vec<Candidate>, raters: &[ParticipantId], given: &[Row]) -> Vec<(EditId, ParticipantId)> {
    let mut load: BTreeMap<&ParticipantId, usize> = raters.iter().map(|r| (r, 0)).collect();
    for t in given {
        load.entry(&t.rater).and_modify(|n| *n += 1);
    }
    for e in &mut edits {
        e.rated.extend(given.iter().filter(|t| t.edit == e.edit).map(|t| t.rater.clone()));
    }
    // Those with the least choice first, or there may be nobody left for them.
    let choice = |e: &Candidate| raters.iter().filter(|r| **r != e.maker && !e.rated.contains(*r)).count();
    edits.sort_by_cached_key(|e| (choice(e), scatter(&["edit", seed, e.edit.as_str()])));
    let mut out = Vec::new();
    for e in edits {
        let mut free: Vec<&ParticipantId> = raters.iter().filter(|r| **r != e.maker && !e.rated.contains(*r)).collect();
        let wanted = RATERS_PER_EDIT.saturating_sub(e.rated.len()).min(free.len());
        free.sort_by_cached_key(|r| (load.get(r).copied(), scatter(&["rater", seed, e.edit.as_str(), r.as_str()])));
        for r in free.into_iter().take(wanted) {
            load.entry(r).and_modify(|n| *n += 1);
            out.push((e.edit.clone(), r.clone()));
        }
    }
    out
}
