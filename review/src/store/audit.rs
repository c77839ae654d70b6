//! Who did what: append-only.

use super::{Store, now_ms, utc};
use crate::Result;
use redline_schemas::Utc;
use rusqlite::{Connection, params};
use serde::Serialize;

/// A line of the audit log.
#[derive(Debug, Clone, Serialize)]
pub struct AuditEntry {
    /// Its running number.
    pub id: i64,
    /// When.
    pub at_utc: Utc,
    /// Who; `-` when nobody was known.
    pub participant: String,
    /// What was done, e.g. `accept`, `denied`.
    pub action: String,
    /// The request, edit or participant concerned.
    pub subject: Option<String>,
    /// More about it.
    pub detail: Option<String>,
}

/// Adds a line, in the caller's transaction.
pub(crate) fn note(db: &Connection, participant: &str, action: &str, subject: Option<&str>, detail: Option<&str>) -> Result<()> {
    db.prepare_cached("INSERT INTO audit (at_ms, participant, action, subject, detail) VALUES (?1, ?2, ?3, ?4, ?5)")?.execute(params![
        now_ms(),
        participant,
        action,
        subject,
        detail
    ])?;
    Ok(())
}

impl Store {
    /// Adds a line to the audit log.
    pub fn audit(&self, participant: &str, action: &str, subject: Option<&str>, detail: Option<&str>) -> Result<()> {
        let (p, a) = (participant.to_owned(), action.to_owned());
        let (s, d) = (subject.map(str::to_owned), detail.map(str::to_owned));
        self.write(move |db| note(db, &p, &a, s.as_deref(), d.as_deref()))
    }

    /// The last `limit` lines, newest first; only those before `before`, when given.
    pub fn audit_log(&self, before: Option<i64>, limit: u32) -> Result<Vec<AuditEntry>> {
        self.read(|db| {
            let mut q = db.prepare_cached(
                "SELECT id, at_ms, participant, action, subject, detail FROM audit WHERE id < ?1 ORDER BY id DESC LIMIT ?2",
            )?;
            let rows = q.query_map(params![before.unwrap_or(i64::MAX), limit], |r| {
                Ok(AuditEntry {
                    id: r.get(0)?,
                    at_utc: utc(r.get(1)?),
                    participant: r.get(2)?,
                    action: r.get(3)?,
                    subject: r.get(4)?,
                    detail: r.get(5)?,
                })
            })?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }
}
