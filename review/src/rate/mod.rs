//! Rating edits blind: who rates what, in which order, and what they think of it.
//!
//! A rater never learns who made an edit, nor its id, which may hold the maker's: a task has a key of its own, and
//! that is all that pages see.

mod plan;

pub use plan::{Candidate, RATERS_PER_EDIT};

use crate::flow::MAX_COMMENT_CHARS;
use crate::store::rating::{self, Row};
use crate::store::{note, now_ms, utc};
use crate::{Error, Flow, Person, Result};
use redline_schemas::{
    EditId, EditManifest, FORMAT_VERSION, MAX_SCORE, MIN_SCORE, ParticipantId, Rating, Ratings, RequestManifest, Role, Status, Tool, fsio,
    step,
};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Makes pictures of STEP files; brought in from outside, so that this crate needs no CAD kernel.
pub trait Viewer: Send + Sync {
    /// View name → picture; the same views for every file. May take seconds the first time.
    fn views(&self, step: &Path) -> Result<BTreeMap<String, PathBuf>, String>;
}

/// What a rater sends.
#[derive(Debug, Clone, Deserialize)]
pub struct Scores {
    /// How well the edit does what was asked, 1 to 7.
    pub instruction_following: u8,
    /// How good the model is, 1 to 7.
    pub quality: u8,
    /// A remark.
    #[serde(default)]
    pub comment: Option<String>,
}

/// A task with what it is about: for the server, never for the page.
pub struct Task {
    /// Its row.
    pub row: Row,
    /// The edit.
    pub edit: EditManifest,
    /// What was asked.
    pub request: RequestManifest,
}

/// How far rating has come.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Progress {
    /// Edits that can be rated: finished, with a STEP file, of a finished request.
    pub edits: usize,
    /// Those with all their raters.
    pub complete: usize,
    /// Ratings by people that there are.
    pub ratings: usize,
    /// Raters that are missing, because there are too few people with the role who did not make the edit.
    pub raters_missing: usize,
    /// Tasks given out and done, by rater.
    pub raters: BTreeMap<ParticipantId, RaterProgress>,
    /// Edits that can't be rated, and why.
    pub left_out: Vec<(EditId, &'static str)>,
}

/// One rater's tasks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct RaterProgress {
    /// Given out.
    pub assigned: usize,
    /// Done.
    pub done: usize,
}

fn finished(s: Status) -> bool {
    matches!(s, Status::Complete | Status::Recovered)
}

impl Flow {
    /// Why an edit can't be rated; `None` when it can.
    fn unratable(&self, e: &EditManifest) -> Result<Option<&'static str>> {
        let step = e.final_model.as_ref().map(|f| self.corpus.edit_dir(&e.id).path().join(&f.path));
        Ok(match step {
            _ if !finished(e.status) => Some("it is not finished, or rejected"),
            None => Some("it has no final model"),
            Some(p) if !p.is_file() => Some("its final model is not there"),
            Some(p) if step::is_cut_off(&p)? => Some("its final model is cut off"),
            _ if !finished(self.corpus.request(&e.request)?.status) => Some("its request is not finished, or rejected"),
            _ => None,
        })
    }

    /// Gives every edit that can be rated its raters, and takes unfinished tasks from people who are raters no more.
    pub fn assign_ratings(&self) -> Result<Progress> {
        let people = self.corpus.participants()?.participants;
        let programs: BTreeSet<&ParticipantId> = people.iter().filter(|p| p.agent.is_some()).map(|p| &p.id).collect();
        let raters: Vec<ParticipantId> =
            people.iter().filter(|p| p.agent.is_none() && p.roles.contains(&Role::Rater)).map(|p| p.id.clone()).collect();
        let (mut candidates, mut left_out) = (Vec::new(), Vec::new());
        for id in self.corpus.edit_ids()? {
            let e = self.corpus.edit(&id)?;
            if let Some(why) = self.unratable(&e)? {
                left_out.push((id, why));
                continue;
            }
            let given = self.corpus.edit_dir(&id).ratings()?.into_iter().flat_map(|r| r.ratings).map(|r| r.rater);
            candidates.push(Candidate { edit: id, maker: e.participant, rated: given.filter(|r| !programs.contains(r)).collect() });
        }
        let (mut all, for_plan) = (candidates.clone(), raters.clone());
        let rows = self.store.write(move |db| {
            let seed = rating::seed(db)?;
            rating::drop_unfinished_of_others(db, &for_plan)?;
            let rows = rating::all(db)?;
            for t in plan::plan(&seed, candidates, &for_plan, &rows) {
                rating::insert(db, &seed, &t.0, &t.1)?;
            }
            rating::all(db)
        })?;
        let mut progress = BTreeMap::new();
        progress.extend(raters.into_iter().map(|r| (r, RaterProgress::default())));
        let mut missing = 0;
        let (mut complete, mut ratings) = (0, 0);
        for c in &mut all {
            ratings += c.rated.len();
            complete += usize::from(c.rated.len() >= RATERS_PER_EDIT);
            c.rated.extend(rows.iter().filter(|r| r.edit == c.edit).map(|r| r.rater.clone()));
            missing += RATERS_PER_EDIT.saturating_sub(c.rated.len());
        }
        for r in &rows {
            let p: &mut RaterProgress = progress.entry(r.rater.clone()).or_default();
            p.assigned += 1;
            p.done += usize::from(r.scores.is_some());
        }
        Ok(Progress { edits: all.len(), complete, ratings, raters_missing: missing, raters: progress, left_out })
    }

    /// The person's own tasks, in the person's own order.
    pub fn rating_tasks(&self, who: &Person) -> Result<Vec<Row>> {
        if !who.is(Role::Rater) {
            return Err(Error::Forbidden("only raters rate edits".into()));
        }
        let rows = self.store.read(|db| rating::of(db, &who.id))?;
        let mut out = Vec::new();
        for r in rows {
            // Rejected since: not shown, but kept.
            if self.corpus.edit(&r.edit).map_err(Error::from).and_then(|e| self.unratable(&e)).is_ok_and(|why| why.is_none()) {
                out.push(r);
            }
        }
        Ok(out)
    }

    /// One task of the person; another's is not found, like one that there is not.
    pub fn rating_task(&self, who: &Person, key: &str) -> Result<Task> {
        if !who.is(Role::Rater) {
            return Err(Error::Forbidden("only raters rate edits".into()));
        }
        let none = || Error::NotFound("no such task".into());
        let row = self.store.read(|db| rating::by_key(db, key))?.filter(|r| r.rater == who.id).ok_or_else(none)?;
        let edit = self.corpus.edit(&row.edit)?;
        if edit.participant == who.id {
            return Err(Error::Forbidden("nobody rates an own edit".into()));
        }
        if self.unratable(&edit)?.is_some() {
            return Err(none());
        }
        let request = self.corpus.request(&edit.request)?;
        Ok(Task { row, edit, request })
    }

    /// Keeps scores, and writes the edit's `ratings.json` anew. Sent again, they replace the earlier ones.
    pub fn rate(&self, who: &Person, key: &str, scores: Scores, active_ms: i64) -> Result<()> {
        let task = self.rating_task(who, key)?;
        for s in [scores.instruction_following, scores.quality] {
            if !(MIN_SCORE..=MAX_SCORE).contains(&s) {
                return Err(Error::Invalid(format!("a score is {MIN_SCORE} to {MAX_SCORE}, not {s}")));
            }
        }
        let comment = scores.comment.map(|c| c.trim().to_owned()).filter(|c| !c.is_empty());
        if comment.as_ref().is_some_and(|c| c.chars().count() > MAX_COMMENT_CHARS) {
            return Err(Error::Invalid(format!("the comment is longer than {MAX_COMMENT_CHARS} characters")));
        }
        let (corpus, edit, rater) = (self.corpus.clone(), task.edit.id, who.id.clone());
        // One writer: two raters of an edit never write its file at the same time.
        self.store.write(move |db| {
            let now = now_ms();
            let scores = Scores { comment, ..scores };
            rating::done(db, &edit, &rater, &scores, active_ms.clamp(0, 24 * 3_600_000), now)?;
            note(db, rater.as_str(), "rate", Some(edit.as_str()), None)?;
            let dir = corpus.edit_dir(&edit);
            let mut all = dir.ratings()?.map_or_else(Vec::new, |r| r.ratings);
            for r in rating::of_edit(db, &edit)? {
                let Some((s, at)) = r.scores else { continue };
                let rating = Rating {
                    rater: r.rater,
                    instruction_following: s.instruction_following,
                    quality: s.quality,
                    comment: s.comment,
                    rated_utc: Some(utc(at)),
                };
                match all.iter_mut().find(|x| x.rater == rating.rater) {
                    Some(x) => *x = rating,
                    None => all.push(rating),
                }
            }
            // By name: the order tells nothing.
            all.sort_by(|a, b| a.rater.cmp(&b.rater));
            let file = Ratings { format_version: FORMAT_VERSION, edit, ratings: all, tool: Tool::redline() };
            Ok(fsio::write_json(&dir.ratings_path(), &file)?)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::corpus_with_request;
    use redline_schemas::{Participant, ParticipantsManifest};

    fn edit(flow: &Flow, id: &str, request: &str, maker: &str) {
        let dir = flow.corpus.edit_dir(&EditId::new(id).unwrap());
        std::fs::create_dir_all(dir.path()).unwrap();
        let mut m = serde_json::to_value(flow.corpus.request(&request.parse().unwrap()).unwrap()).unwrap();
        std::fs::write(dir.path().join("final.step"), "ISO-10303-21;\nEND-ISO-10303-21;\n").unwrap();
        let file = dir.file_ref(&dir.path().join("final.step")).unwrap();
        for (k, v) in [("id", id.into()), ("request", request.into()), ("participant", maker.into())] {
            m[k] = serde_json::Value::String(v);
        }
        m["final_model"] = serde_json::to_value(file).unwrap();
        fsio::write_json(&dir.edit_json(), &m).unwrap();
    }

    fn people(flow: &Flow, raters: &[&str]) {
        let person = |id: &&str| Participant {
            id: ParticipantId::new(*id).unwrap(),
            roles: vec![Role::Rater],
            created_utc: chrono::Utc::now(),
            consent: None,
            agent: None,
        };
        let all = ParticipantsManifest { format_version: FORMAT_VERSION, participants: raters.iter().map(person).collect() };
        flow.corpus.write_participants(&all).unwrap();
    }

    fn person(id: &str) -> Person {
        Person { id: ParticipantId::new(id).unwrap(), roles: vec![Role::Rater] }
    }

    #[test]
    fn five_raters_an_edit_balanced_never_the_maker_in_an_order_of_their_own() {
        let (_dir, corpus, request) = corpus_with_request("P01", "one");
        let flow = Flow::open(corpus).unwrap();
        for i in 0..12 {
            edit(&flow, &format!("E{i:02}"), request.as_str(), if i % 2 == 0 { "R1" } else { "P09" });
        }
        people(&flow, &["R1", "R2", "R3", "R4", "R5", "R6", "R7"]);
        let p = flow.assign_ratings().unwrap();
        assert_eq!((p.edits, p.complete, p.ratings, p.raters_missing), (12, 0, 0, 0));
        let counts: Vec<usize> = p.raters.values().map(|r| r.assigned).collect();
        assert_eq!(counts.iter().sum::<usize>(), 60);
        // 60 tasks for 7 people, of whom one may take only 6 edits: nobody is more than one apart from another, but for R1.
        let others = &counts[1..];
        assert!(counts[0] <= 6 && others.iter().max().unwrap() - others.iter().min().unwrap() <= 1, "{counts:?}");
        assert_eq!(flow.assign_ratings().unwrap(), p, "asked again, nothing changes");

        let orders: Vec<Vec<EditId>> =
            ["R2", "R3"].iter().map(|r| flow.rating_tasks(&person(r)).unwrap().into_iter().map(|t| t.edit).collect()).collect();
        let common = |o: &[EditId], other: &[EditId]| o.iter().filter(|e| other.contains(e)).cloned().collect::<Vec<_>>();
        assert_ne!(common(&orders[0], &orders[1]), common(&orders[1], &orders[0]), "each has an own order");
        let sorted = |o: &[EditId]| o.is_sorted();
        assert!(!sorted(&orders[0]) && !sorted(&orders[1]));
        assert!(flow.rating_tasks(&person("R1")).unwrap().iter().all(|t| t.edit.as_str()[1..].parse::<u32>().unwrap() % 2 == 1));

        // A rater who leaves gives the open tasks back; those done stay.
        let leaver = flow.rating_tasks(&person("R2")).unwrap();
        let s = Scores { instruction_following: 6, quality: 5, comment: Some("  ".into()) };
        flow.rate(&person("R2"), &leaver[0].key, s, 10).unwrap();
        people(&flow, &["R1", "R3", "R4", "R5", "R6", "R7"]);
        let p = flow.assign_ratings().unwrap();
        assert_eq!((p.raters[&person("R2").id].assigned, p.raters[&person("R2").id].done, p.ratings), (1, 1, 1));
        assert_eq!(p.raters.values().map(|r| r.assigned).sum::<usize>() + p.raters_missing, 60);
    }

    #[test]
    fn scores_are_kept_beside_the_edit_and_the_rules_hold() {
        let (_dir, corpus, request) = corpus_with_request("P01", "one");
        let flow = Flow::open(corpus).unwrap();
        edit(&flow, "E1", request.as_str(), "P09");
        people(&flow, &["R1", "R2"]);
        assert_eq!(flow.assign_ratings().unwrap().raters_missing, 3);
        let key = flow.rating_tasks(&person("R1")).unwrap()[0].key.clone();
        assert!(!key.contains("E1") && !key.contains("R1") && key.len() == 32);
        let s = |i, q| Scores { instruction_following: i, quality: q, comment: Some(" good hole ".into()) };
        for bad in [s(0, 1), s(1, 8)] {
            assert!(matches!(flow.rate(&person("R1"), &key, bad, 0), Err(Error::Invalid(_))));
        }
        assert!(matches!(flow.rate(&person("R2"), &key, s(1, 1), 0), Err(Error::NotFound(_))), "another's task");
        let stranger = Person { roles: vec![Role::Reviewer], ..person("R1") };
        assert!(matches!(flow.rate(&stranger, &key, s(1, 1), 0), Err(Error::Forbidden(_))));
        flow.rate(&person("R1"), &key, s(2, 3), 5).unwrap();
        flow.rate(&person("R1"), &key, s(6, 7), 5).unwrap();
        let key2 = flow.rating_tasks(&person("R2")).unwrap()[0].key.clone();
        flow.rate(&person("R2"), &key2, s(1, 1), 5).unwrap();
        let all = flow.corpus.edit_dir(&EditId::new("E1").unwrap()).ratings().unwrap().unwrap().ratings;
        let got: Vec<_> = all.iter().map(|r| (r.rater.as_str(), r.instruction_following, r.quality, r.comment.as_deref())).collect();
        assert_eq!(got, [("R1", 6, 7, Some("good hole")), ("R2", 1, 1, Some("good hole"))]);
    }
}
