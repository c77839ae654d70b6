//! Tasks of raters, and their scores.

use super::{damaged, now_ms};
use crate::Result;
use crate::rate::Scores;
use redline_schemas::fsio::sha256_bytes;
use redline_schemas::{EditId, ParticipantId};
use rusqlite::{Connection, OptionalExtension as _, Row as Sql, params};

/// One rater's task for one edit.
#[derive(Debug, Clone)]
pub struct Row {
    /// The edit.
    pub edit: EditId,
    /// The rater.
    pub rater: ParticipantId,
    /// What pages know it by.
    pub key: String,
    /// The scores, and when they came; absent: to be done.
    pub scores: Option<(Scores, i64)>,
}

const COLUMNS: &str = "edit, rater, key, instruction, quality, comment, done_ms";

/// A number that looks like chance, the same for the same words.
pub(crate) fn scatter(words: &[&str]) -> String {
    sha256_bytes(words.join("\u{1f}").as_bytes())
}

/// Chance of this corpus, made once.
pub(crate) fn seed(db: &Connection) -> Result<String> {
    let kept: Option<String> = db.query_row("SELECT seed FROM rate_seed", [], |r| r.get(0)).optional()?;
    if let Some(s) = kept {
        return Ok(s);
    }
    let mut bytes = [0_u8; 16];
    getrandom::fill(&mut bytes).map_err(|e| crate::Error::State(format!("the system gives no random numbers: {e}")))?;
    let seed: String = bytes.iter().map(|b| format!("{b:02x}")).collect();
    db.execute("INSERT INTO rate_seed (one, seed) VALUES (1, ?1)", [&seed])?;
    Ok(seed)
}

pub(crate) fn insert(db: &Connection, seed: &str, edit: &EditId, rater: &ParticipantId) -> Result<()> {
    let of = |what: &str| scatter(&[what, seed, rater.as_str(), edit.as_str()]);
    let (key, place) = (&of("key")[..32], &of("place")[..16]);
    db.prepare_cached("INSERT INTO rate_tasks (edit, rater, key, place, assigned_ms) VALUES (?1, ?2, ?3, ?4, ?5)")?.execute(params![
        edit.as_str(),
        rater.as_str(),
        key,
        place,
        now_ms()
    ])?;
    Ok(())
}

/// Takes unfinished tasks from everybody but these.
pub(crate) fn drop_unfinished_of_others(db: &Connection, raters: &[ParticipantId]) -> Result<()> {
    let mut q = db.prepare("SELECT DISTINCT rater FROM rate_tasks WHERE done_ms IS NULL")?;
    let open: Vec<String> = q.query_map([], |r| r.get(0))?.collect::<Result<_, _>>()?;
    for r in open.iter().filter(|r| !raters.iter().any(|x| x.as_str() == r.as_str())) {
        db.execute("DELETE FROM rate_tasks WHERE rater = ?1 AND done_ms IS NULL", [r])?;
    }
    Ok(())
}

fn row(r: &Sql<'_>) -> rusqlite::Result<Result<Row>> {
    let (edit, rater): (String, String) = (r.get(0)?, r.get(1)?);
    let done: Option<(u8, u8, i64)> = match (r.get(3)?, r.get(4)?, r.get(6)?) {
        (Some(i), Some(q), Some(at)) => Some((i, q, at)),
        _ => None,
    };
    let comment: Option<String> = r.get(5)?;
    let (Ok(edit), Ok(rater)) = (EditId::new(edit), ParticipantId::new(rater)) else { return Ok(Err(damaged("a rating task"))) };
    let scores = done.map(|(instruction_following, quality, at)| (Scores { instruction_following, quality, comment }, at));
    Ok(Ok(Row { edit, rater, key: r.get(2)?, scores }))
}

fn select(db: &Connection, rest: &str, value: &[&str]) -> Result<Vec<Row>> {
    let mut q = db.prepare_cached(&format!("SELECT {COLUMNS} FROM rate_tasks {rest}"))?;
    let rows = q.query_map(rusqlite::params_from_iter(value), row)?;
    rows.map(|r| r?).collect()
}

pub(crate) fn all(db: &Connection) -> Result<Vec<Row>> {
    select(db, "ORDER BY edit, rater", &[])
}

/// A rater's tasks, in the rater's order.
pub(crate) fn of(db: &Connection, rater: &ParticipantId) -> Result<Vec<Row>> {
    select(db, "WHERE rater = ?1 ORDER BY place, key", &[rater.as_str()])
}

pub(crate) fn of_edit(db: &Connection, edit: &EditId) -> Result<Vec<Row>> {
    select(db, "WHERE edit = ?1 ORDER BY rater", &[edit.as_str()])
}

pub(crate) fn by_key(db: &Connection, key: &str) -> Result<Option<Row>> {
    Ok(select(db, "WHERE key = ?1", &[key])?.pop())
}

pub(crate) fn done(db: &Connection, edit: &EditId, rater: &ParticipantId, s: &Scores, active_ms: i64, now: i64) -> Result<()> {
    db.execute(
        "UPDATE rate_tasks SET instruction = ?3, quality = ?4, comment = ?5, active_ms = active_ms + ?6, done_ms = ?7
         WHERE edit = ?1 AND rater = ?2",
        params![edit.as_str(), rater.as_str(), s.instruction_following, s.quality, s.comment, active_ms, now],
    )?;
    Ok(())
}
