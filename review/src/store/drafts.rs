//! Unfinished corrections: saved on every pause, never over a newer one.

use super::{Store, json, now_ms, to_json, utc};
use crate::{Error, Result};
use redline_schemas::{ParticipantId, RequestId, RevisionId, Utc, Word};
use rusqlite::{Connection, OptionalExtension, params};
use serde::Serialize;

/// An unfinished correction.
#[derive(Debug, Clone, Serialize)]
pub struct Draft {
    /// The revision it builds on; absent: the automatic transcript.
    pub base: Option<RevisionId>,
    /// Counts the saves, from 1.
    pub seq: i64,
    /// The text, segments one a line.
    pub text: String,
    /// Its words.
    pub words: Vec<Word>,
    /// When it was saved.
    pub updated_utc: Utc,
}

/// The author's draft, in the caller's transaction.
pub(crate) fn get(db: &Connection, request: &RequestId, author: &ParticipantId) -> Result<Option<Draft>> {
    let mut q = db.prepare_cached("SELECT base, seq, text, words, updated_ms FROM drafts WHERE request = ?1 AND author = ?2")?;
    let row = q
        .query_row(params![request.as_str(), author.as_str()], |r| {
            Ok((r.get::<_, Option<String>>(0)?, r.get(1)?, r.get(2)?, r.get::<_, String>(3)?, r.get(4)?))
        })
        .optional()?;
    row.map(|(base, seq, text, words, updated)| {
        Ok(Draft { base: base.map(RevisionId::new).transpose()?, seq, text, words: json(&words, "a draft")?, updated_utc: utc(updated) })
    })
    .transpose()
}

/// The number of the author's last save, 0 when there is no draft.
pub(crate) fn seq(db: &Connection, request: &RequestId, author: &ParticipantId) -> Result<i64> {
    let mut q = db.prepare_cached("SELECT seq FROM drafts WHERE request = ?1 AND author = ?2")?;
    Ok(q.query_row(params![request.as_str(), author.as_str()], |r| r.get(0)).optional()?.unwrap_or(0))
}

/// Saves a draft over save number `after` of the same author; the new number.
pub(crate) fn save(
    db: &Connection,
    request: &RequestId,
    author: &ParticipantId,
    base: Option<&RevisionId>,
    after: i64,
    text: &str,
    words: &[Word],
) -> Result<i64> {
    let have = seq(db, request, author)?;
    if have != after {
        return Err(Error::Stale(format!("this builds on save {after}, but save {have} is the last one: merge the two, then save again")));
    }
    db.prepare_cached(
        "INSERT OR REPLACE INTO drafts (request, author, base, seq, text, words, updated_ms) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    )?
    .execute(params![request.as_str(), author.as_str(), base.map(RevisionId::as_str), after + 1, text, to_json(&words)?, now_ms()])?;
    Ok(after + 1)
}

/// Removes a draft that was handed in. A late save of the same page names a save that is gone and is refused.
pub(crate) fn drop_draft(db: &Connection, request: &RequestId, author: &ParticipantId) -> Result<()> {
    db.prepare_cached("DELETE FROM drafts WHERE request = ?1 AND author = ?2")?.execute([request.as_str(), author.as_str()])?;
    Ok(())
}

impl Store {
    /// The author's draft.
    pub fn draft(&self, request: &RequestId, author: &ParticipantId) -> Result<Option<Draft>> {
        self.read(|db| get(db, request, author))
    }
}
