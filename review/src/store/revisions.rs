//! Handed-in texts and the decisions on them: written once.

use super::{Store, json, now_ms, to_json, utc};
use crate::text::Distance;
use crate::{Error, Result};
use redline_schemas::{RequestId, ReviewDecision, Revision, RevisionId};
use rusqlite::{Connection, Row, params};
use serde::Serialize;

/// A revision, what was measured on it, and what became of it.
#[derive(Debug, Clone, Serialize)]
pub struct Round {
    /// The revision.
    #[serde(flatten)]
    pub revision: Revision,
    /// Whether it differs from the automatic text.
    pub changed: bool,
    /// Characters changed against the automatic text.
    pub char_edits: u64,
    /// Words changed against the automatic text.
    pub word_edits: u64,
    /// Characters of the automatic text.
    pub automatic_chars: u64,
    /// The decision on it, when there is one.
    pub decision: Option<ReviewDecision>,
}

const COLUMNS: &str = "r.id, r.request, r.number, r.base, r.author, r.created_ms, r.text, r.words, r.changed, r.char_edits, \
    r.word_edits, r.auto_chars, d.reviewer, d.created_ms, d.accepted, d.comment \
    FROM revisions r LEFT JOIN decisions d ON d.revision = r.id";

fn round(r: &Row<'_>) -> Result<Round> {
    let id = RevisionId::new(r.get::<_, String>(0)?)?;
    let base: Option<String> = r.get(3)?;
    let reviewer: Option<String> = r.get(12)?;
    let decision = match reviewer {
        Some(reviewer) => Some(ReviewDecision {
            revision: id.clone(),
            reviewer: reviewer.parse()?,
            created_utc: utc(r.get(13)?),
            accepted: r.get(14)?,
            comment: r.get(15)?,
        }),
        None => None,
    };
    Ok(Round {
        revision: Revision {
            id,
            request: r.get::<_, String>(1)?.parse()?,
            number: r.get(2)?,
            base: base.map(RevisionId::new).transpose()?,
            author: r.get::<_, String>(4)?.parse()?,
            created_utc: utc(r.get(5)?),
            text: r.get(6)?,
            words: json(&r.get::<_, String>(7)?, "a revision")?,
        },
        changed: r.get(8)?,
        char_edits: r.get(9)?,
        word_edits: r.get(10)?,
        automatic_chars: r.get(11)?,
        decision,
    })
}

/// One revision, in the caller's transaction.
pub(crate) fn get(db: &Connection, id: &RevisionId) -> Result<Round> {
    let mut q = db.prepare_cached(&format!("SELECT {COLUMNS} WHERE r.id = ?1"))?;
    let mut rows = q.query([id.as_str()])?;
    rows.next()?.map(round).unwrap_or_else(|| Err(Error::NotFound("no such revision".into())))
}

/// All revisions of a request, first to last.
pub(crate) fn of(db: &Connection, request: &RequestId) -> Result<Vec<Round>> {
    let mut q = db.prepare_cached(&format!("SELECT {COLUMNS} WHERE r.request = ?1 ORDER BY r.number"))?;
    let mut rows = q.query([request.as_str()])?;
    let mut out = Vec::new();
    while let Some(r) = rows.next()? {
        out.push(round(r)?);
    }
    Ok(out)
}

/// Adds a revision.
pub(crate) fn insert(db: &Connection, r: &Revision, d: &Distance) -> Result<()> {
    db.prepare_cached(
        "INSERT INTO revisions (id, request, number, base, author, created_ms, text, words, changed, char_edits, word_edits, auto_chars) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
    )?
    .execute(params![
        r.id.as_str(),
        r.request.as_str(),
        r.number,
        r.base.as_ref().map(RevisionId::as_str),
        r.author.as_str(),
        r.created_utc.timestamp_millis(),
        r.text,
        to_json(&r.words)?,
        d.changed,
        d.chars,
        d.words,
        d.automatic_chars,
    ])?;
    Ok(())
}

/// Adds a decision.
pub(crate) fn decide(db: &Connection, request: &RequestId, d: &ReviewDecision) -> Result<()> {
    db.prepare_cached(
        "INSERT INTO decisions (revision, request, reviewer, created_ms, accepted, comment) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?
    .execute(params![d.revision.as_str(), request.as_str(), d.reviewer.as_str(), now_ms(), d.accepted, d.comment])?;
    Ok(())
}

impl Store {
    /// One revision.
    pub fn revision(&self, id: &RevisionId) -> Result<Round> {
        self.read(|db| get(db, id))
    }

    /// All revisions of a request, first to last.
    pub fn revisions(&self, request: &RequestId) -> Result<Vec<Round>> {
        self.read(|db| of(db, request))
    }
}
