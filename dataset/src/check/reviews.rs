//! What people said of others' work: the history of corrections, and ratings.

use super::finding::Findings;
use super::rule::{HISTORY, HISTORY_MISSING, ID, OWN_REVIEW, PARTICIPANT, RATING};
use super::session::Known;
use redline_schemas::{Correction, EditManifest, Ratings, RequestManifest, RevisionHistory, SessionDir};
use std::collections::BTreeSet;

/// `revisions.json`, against the accepted text's own word.
pub(super) fn history(f: &mut Findings, dir: &SessionDir, r: &RequestManifest, accepted: Option<&Correction>, known: &Known<'_>) {
    let path = dir.revisions_path();
    if path.symlink_metadata().is_err() {
        if accepted.is_some() {
            f.add(HISTORY_MISSING, dir.path(), "its text was accepted, but no revisions.json says how it came about");
        }
        return;
    }
    let Some(h) = known.schemas.read::<RevisionHistory>(f, &path, "revisions") else { return };
    if h.request != r.id {
        f.add(HISTORY, &path, format!("it belongs to request {}", h.request));
    }
    for (i, v) in h.revisions.iter().enumerate() {
        let (n, revision) = (i + 1, &v.revision);
        if revision.number as usize != n || revision.request != r.id {
            f.add(HISTORY, &path, format!("revision {n} is number {} of request {}", revision.number, revision.request));
        }
        if v.decision.as_ref().is_some_and(|d| d.revision != revision.id) {
            f.add(HISTORY, &path, format!("the decision on revision {n} belongs to another one"));
        }
        if v.decision.as_ref().is_some_and(|d| d.reviewer == revision.author) {
            f.add(OWN_REVIEW, &path, format!("{} decided on an own correction", revision.author));
        }
        let people = [Some(&revision.author), v.decision.as_ref().map(|d| &d.reviewer)];
        for p in people.into_iter().flatten().filter(|p| !known.people.contains_key(*p)) {
            f.add(PARTICIPANT, &path, format!("participant {p} is not known"));
        }
    }
    let last = h.revisions.iter().rev().find(|v| v.decision.as_ref().is_some_and(|d| d.accepted));
    if let Some(c) = accepted
        && last.is_none_or(|v| v.revision.id != c.revision)
    {
        f.add(HISTORY, &path, format!("revision {}, which was accepted, is not the last accepted one in it", c.revision));
    }
}

/// `ratings.json`.
pub(super) fn ratings(f: &mut Findings, dir: &SessionDir, e: &EditManifest, known: &Known<'_>) {
    let path = dir.ratings_path();
    if path.symlink_metadata().is_err() {
        return;
    }
    let Some(all) = known.schemas.read::<Ratings>(f, &path, "ratings") else { return };
    if all.edit != e.id {
        f.add(ID, &path, format!("it belongs to edit {}", all.edit));
    }
    let mut seen = BTreeSet::new();
    for r in &all.ratings {
        if !known.people.contains_key(&r.rater) {
            f.add(PARTICIPANT, &path, format!("participant {} is not known", r.rater));
        }
        if r.rater == e.participant {
            f.add(RATING, &path, format!("{} rated an own edit", r.rater));
        }
        if !seen.insert(&r.rater) {
            f.add(RATING, &path, format!("{} rated it twice", r.rater));
        }
    }
}
