//! The requests in the loop, their states and who works on them.

use super::{Store, json, now_ms, to_json, utc};
use crate::{Error, Result};
use redline_schemas::{Difficulty, Modality, ParticipantId, RequestId, RequestManifest, ReviewState, RevisionId, Status, Transcript, Utc};
use rusqlite::{Connection, OptionalExtension, Row, params};
use serde::Serialize;
use std::collections::HashSet;

/// A request in the loop.
#[derive(Debug, Clone, Serialize)]
pub struct Item {
    /// The request.
    pub request: RequestId,
    /// Who recorded it, and corrects its transcript.
    pub requestor: ParticipantId,
    /// How it was asked.
    pub modality: Modality,
    /// How much work it asks for.
    pub difficulty: Difficulty,
    /// Where it stands.
    pub state: ReviewState,
    /// Counts every step; a step that names an older one is refused.
    pub version: i64,
    /// The last revision handed in.
    pub revision: Option<RevisionId>,
    /// Rejected: kept, but left out of releases.
    pub rejected: bool,
    /// Whether the accepted revision lies beside the request as `transcript.oracle.json`.
    pub exported: bool,
    /// Who works on it.
    pub claim: Option<Claim>,
    /// When it last changed.
    pub updated_utc: Utc,
}

/// Somebody works on a request, for a while.
#[derive(Debug, Clone, Serialize)]
pub struct Claim {
    /// Who.
    pub participant: ParticipantId,
    /// Until when, unless it is renewed.
    pub until_utc: Utc,
}

const COLUMNS: &str = "i.request, i.requestor, i.modality, i.difficulty, i.state, i.version, i.revision, i.rejected, \
    i.exported IS i.revision AND i.revision IS NOT NULL, i.updated_ms, c.participant, c.until_ms \
    FROM items i LEFT JOIN claims c ON c.request = i.request AND c.until_ms > ?1";

fn item(r: &Row<'_>) -> Result<Item> {
    let text = |i: usize| r.get::<_, String>(i);
    let revision: Option<String> = r.get(6)?;
    let claim: Option<String> = r.get(10)?;
    Ok(Item {
        request: text(0)?.parse()?,
        requestor: text(1)?.parse()?,
        modality: text(2)?.parse()?,
        difficulty: text(3)?.parse()?,
        state: text(4)?.parse()?,
        version: r.get(5)?,
        revision: revision.map(RevisionId::new).transpose()?,
        rejected: r.get(7)?,
        exported: r.get(8)?,
        updated_utc: utc(r.get(9)?),
        claim: match claim {
            Some(p) => Some(Claim { participant: p.parse()?, until_utc: utc(r.get(11)?) }),
            None => None,
        },
    })
}

pub(super) fn collect(db: &Connection, filter: &str, values: &[&dyn rusqlite::ToSql]) -> Result<Vec<Item>> {
    let mut q = db.prepare_cached(&format!("SELECT {COLUMNS} {filter}"))?;
    let mut rows = q.query(values)?;
    let mut out = Vec::new();
    while let Some(r) = rows.next()? {
        out.push(item(r)?);
    }
    Ok(out)
}

/// The request's row, in the caller's transaction.
pub(crate) fn get(db: &Connection, request: &RequestId) -> Result<Item> {
    collect(db, "WHERE i.request = ?2", &[&now_ms(), &request.as_str()])?
        .pop()
        .ok_or_else(|| Error::NotFound("no such request in the correction loop".into()))
}

/// Moves a request to a state and counts the step.
pub(crate) fn set_state(db: &Connection, request: &RequestId, state: ReviewState, revision: Option<&RevisionId>) -> Result<()> {
    db.prepare_cached(
        "UPDATE items SET state = ?2, revision = coalesce(?3, revision), version = version + 1, updated_ms = ?4 WHERE request = ?1",
    )?
    .execute(params![request.as_str(), state.as_str(), revision.map(RevisionId::as_str), now_ms()])?;
    Ok(())
}

/// Takes or renews the claim; refused while somebody else holds it.
pub(crate) fn claim(db: &Connection, i: &Item, who: &ParticipantId, minutes: u32) -> Result<()> {
    if let Some(c) = i.claim.as_ref().filter(|c| c.participant != *who) {
        let until = c.until_utc.format("%H:%M");
        return Err(Error::Claimed(format!("{} works on it until {until} UTC; take another one or wait", c.participant)));
    }
    let until = now_ms() + i64::from(minutes) * 60_000;
    db.prepare_cached("INSERT OR REPLACE INTO claims (request, participant, until_ms) VALUES (?1, ?2, ?3)")?.execute(params![
        i.request.as_str(),
        who.as_str(),
        until
    ])?;
    Ok(())
}

/// Gives the claim back.
pub(crate) fn unclaim(db: &Connection, request: &RequestId, who: Option<&ParticipantId>) -> Result<bool> {
    let n = db
        .prepare_cached("DELETE FROM claims WHERE request = ?1 AND participant = coalesce(?2, participant)")?
        .execute(params![request.as_str(), who.map(ParticipantId::as_str)])?;
    Ok(n > 0)
}

/// The automatic transcript that correction began with.
pub(crate) fn original(db: &Connection, request: &RequestId) -> Result<Option<Transcript>> {
    let text: Option<String> =
        db.prepare_cached("SELECT transcript FROM originals WHERE request = ?1")?.query_row([request.as_str()], |r| r.get(0)).optional()?;
    text.map(|t| json(&t, "an automatic transcript")).transpose()
}

/// Keeps the automatic transcript that correction begins with; the first one stays.
pub(crate) fn keep_original(db: &Connection, request: &RequestId, t: &Transcript) -> Result<()> {
    db.prepare_cached("INSERT OR IGNORE INTO originals (request, transcript) VALUES (?1, ?2)")?
        .execute(params![request.as_str(), to_json(t)?])?;
    Ok(())
}

impl Store {
    /// All requests known to the loop.
    pub fn known(&self) -> Result<HashSet<String>> {
        self.read(|db| {
            let mut q = db.prepare_cached("SELECT request FROM items")?;
            let rows = q.query_map([], |r| r.get(0))?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }

    /// Takes requests into the loop; those that are in it stay as they are.
    pub fn add(&self, requests: Vec<(RequestManifest, bool)>) -> Result<()> {
        self.write(move |db| {
            for (m, accepted) in &requests {
                let state = if *accepted { ReviewState::Accepted } else { ReviewState::Transcribed };
                db.prepare_cached(
                    "INSERT OR IGNORE INTO items (request, requestor, modality, difficulty, state, rejected, added_ms, updated_ms) \
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?7)",
                )?
                .execute(params![
                    m.id.as_str(),
                    m.participant.as_str(),
                    m.modality.as_str(),
                    m.difficulty.as_str(),
                    state.as_str(),
                    m.status == Status::Rejected,
                    now_ms()
                ])?;
            }
            Ok(())
        })
    }

    /// One request.
    pub fn item(&self, request: &RequestId) -> Result<Item> {
        self.read(|db| get(db, request))
    }

    /// A participant's own requests, the longest waiting first.
    pub fn own(&self, who: &ParticipantId) -> Result<Vec<Item>> {
        self.read(|db| collect(db, "WHERE i.requestor = ?2 ORDER BY i.updated_ms LIMIT 2000", &[&now_ms(), &who.as_str()]))
    }

    /// What waits for a reviewer other than its author, the longest waiting first.
    pub fn reviewable(&self, who: &ParticipantId, limit: u32) -> Result<Vec<Item>> {
        self.read(|db| {
            let filter = "WHERE i.state = 'in-review' AND i.rejected = 0 AND i.requestor <> ?2 ORDER BY i.updated_ms LIMIT ?3";
            collect(db, filter, &[&now_ms(), &who.as_str(), &limit])
        })
    }

    /// All requests, or those in one state, newest change first.
    pub fn items(&self, state: Option<ReviewState>, limit: u32) -> Result<Vec<Item>> {
        self.read(|db| {
            let state = state.map(ReviewState::as_str);
            collect(db, "WHERE ?2 IS NULL OR i.state = ?2 ORDER BY i.updated_ms DESC LIMIT ?3", &[&now_ms(), &state, &limit])
        })
    }

    /// The automatic transcript that correction began with, when it has begun.
    pub fn original(&self, request: &RequestId) -> Result<Option<Transcript>> {
        self.read(|db| original(db, request))
    }

    /// Accepted requests whose transcript is not beside them yet.
    pub fn unexported(&self) -> Result<Vec<RequestId>> {
        self.read(|db| {
            let mut q = db.prepare_cached(
                "SELECT request FROM items WHERE state = 'accepted' AND revision IS NOT NULL AND exported IS NOT revision",
            )?;
            let ids: Vec<String> = q.query_map([], |r| r.get(0))?.collect::<Result<_, _>>()?;
            Ok(ids.into_iter().map(RequestId::new).collect::<Result<_, _>>()?)
        })
    }

    /// Accepted requests whose accepted revision lies beside them.
    pub fn exported(&self) -> Result<Vec<RequestId>> {
        self.read(|db| {
            let mut q =
                db.prepare_cached("SELECT request FROM items WHERE state = 'accepted' AND exported IS revision AND revision IS NOT NULL")?;
            let ids: Vec<String> = q.query_map([], |r| r.get(0))?.collect::<Result<_, _>>()?;
            Ok(ids.into_iter().map(RequestId::new).collect::<Result<_, _>>()?)
        })
    }

    /// Notes that the accepted revision lies beside its request.
    pub fn set_exported(&self, request: &RequestId, revision: &RevisionId) -> Result<()> {
        let (request, revision) = (request.clone(), revision.clone());
        self.write(move |db| {
            db.execute("UPDATE items SET exported = ?2 WHERE request = ?1", [request.as_str(), revision.as_str()])?;
            Ok(())
        })
    }

    /// Marks a request as rejected (or not any more).
    pub fn set_rejected(&self, request: &RequestId, rejected: bool) -> Result<()> {
        let request = request.clone();
        self.write(move |db| set_rejected(db, &request, rejected))
    }

    /// Adds to the time that somebody spent on a request.
    pub fn spend(&self, request: &RequestId, who: &ParticipantId, active_ms: i64) -> Result<()> {
        let (request, who) = (request.clone(), who.clone());
        self.write(move |db| spend(db, &request, &who, active_ms))
    }
}

/// Marks a request as rejected (or not any more). Nobody works on a rejected one.
pub(crate) fn set_rejected(db: &Connection, request: &RequestId, rejected: bool) -> Result<()> {
    db.prepare_cached("UPDATE items SET rejected = ?2, version = version + 1, updated_ms = ?3 WHERE request = ?1 AND rejected <> ?2")?
        .execute(params![request.as_str(), rejected, now_ms()])?;
    if rejected {
        unclaim(db, request, None)?;
    }
    Ok(())
}

/// The longest stretch of work that one message may report.
const MAX_STRETCH_MS: i64 = 5 * 60_000;

pub(crate) fn spend(db: &Connection, request: &RequestId, who: &ParticipantId, active_ms: i64) -> Result<()> {
    let active_ms = active_ms.clamp(0, MAX_STRETCH_MS);
    if active_ms > 0 {
        db.prepare_cached(
            "INSERT INTO effort (request, participant, active_ms) VALUES (?1, ?2, ?3) \
             ON CONFLICT DO UPDATE SET active_ms = active_ms + excluded.active_ms",
        )?
        .execute(params![request.as_str(), who.as_str(), active_ms])?;
    }
    Ok(())
}
