//! What waits to be aligned again, and how that went.

use super::{Store, now_ms, utc};
use crate::{Error, Result};
use redline_schemas::{RequestId, Utc};
use rusqlite::{Connection, OptionalExtension, params};
use serde::Serialize;

/// Where a re-alignment stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RealignmentState {
    /// Waits for its turn, or for its next attempt.
    Queued,
    /// Runs.
    Running,
    /// The transcript beside the request has the new times.
    Done,
    /// Given up after several attempts; can be asked for again.
    Failed,
}

/// A request's re-alignment.
#[derive(Debug, Clone, Serialize)]
pub struct Realignment {
    /// Where it stands.
    pub state: RealignmentState,
    /// Attempts made.
    pub attempts: u32,
    /// Why the last attempt failed.
    pub error: Option<String>,
    /// When the next attempt is due.
    pub next_utc: Utc,
    /// When this last changed.
    pub updated_utc: Utc,
}

/// Queues a request, from the first attempt on.
pub(crate) fn queue(db: &Connection, request: &RequestId) -> Result<()> {
    let now = now_ms();
    db.prepare_cached(
        "INSERT OR REPLACE INTO realignments (request, state, attempts, error, next_ms, updated_ms) VALUES (?1, 'queued', 0, NULL, ?2, ?2)",
    )?
    .execute(params![request.as_str(), now])?;
    Ok(())
}

/// A request's re-alignment, in the caller's transaction.
pub(crate) fn get(db: &Connection, request: &RequestId) -> Result<Option<Realignment>> {
    let mut q = db.prepare_cached("SELECT state, attempts, error, next_ms, updated_ms FROM realignments WHERE request = ?1")?;
    let row = q.query_row([request.as_str()], |r| Ok((r.get::<_, String>(0)?, r.get(1)?, r.get(2)?, r.get(3)?, r.get(4)?))).optional()?;
    row.map(|(state, attempts, error, next, updated)| {
        let state = match state.as_str() {
            "queued" => RealignmentState::Queued,
            "running" => RealignmentState::Running,
            "done" => RealignmentState::Done,
            "failed" => RealignmentState::Failed,
            _ => return Err(Error::Invalid(format!("review.sqlite: “{state}” is no state of a re-alignment"))),
        };
        Ok(Realignment { state, attempts, error, next_utc: utc(next), updated_utc: utc(updated) })
    })
    .transpose()
}

impl Store {
    /// A request's re-alignment.
    pub fn realignment(&self, request: &RequestId) -> Result<Option<Realignment>> {
        self.read(|db| get(db, request))
    }

    /// Puts back what was running when the process ended.
    pub fn resume_realignments(&self) -> Result<()> {
        self.write(|db| {
            db.execute("UPDATE realignments SET state = 'queued', updated_ms = ?1 WHERE state = 'running'", [now_ms()])?;
            Ok(())
        })
    }

    /// Takes the next one that is due.
    pub fn next_realignment(&self) -> Result<Option<RequestId>> {
        self.write(|db| {
            let now = now_ms();
            let id: Option<String> = db
                .query_row(
                    "SELECT request FROM realignments WHERE state = 'queued' AND next_ms <= ?1 ORDER BY next_ms LIMIT 1",
                    [now],
                    |r| r.get(0),
                )
                .optional()?;
            let Some(id) = id else { return Ok(None) };
            db.execute(
                "UPDATE realignments SET state = 'running', attempts = attempts + 1, updated_ms = ?2 WHERE request = ?1",
                params![id, now],
            )?;
            Ok(Some(RequestId::new(id)?))
        })
    }

    /// Notes how an attempt ended: done, tried again after `retry_ms`, or given up.
    pub fn end_realignment(&self, request: &RequestId, error: Option<String>, retry_ms: Option<i64>) -> Result<()> {
        let request = request.clone();
        self.write(move |db| {
            let state = match (&error, retry_ms) {
                (None, _) => "done",
                (Some(_), Some(_)) => "queued",
                (Some(_), None) => "failed",
            };
            let now = now_ms();
            // Only while it runs: somebody may have queued it anew with another text.
            db.execute(
                "UPDATE realignments SET state = ?2, error = ?3, next_ms = ?4, updated_ms = ?5 WHERE request = ?1 AND state = 'running'",
                params![request.as_str(), state, error, now + retry_ms.unwrap_or(0), now],
            )?;
            Ok(())
        })
    }
}
