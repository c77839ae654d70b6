//! The loop's state in `review.sqlite`: one writer that commits in groups, many readers (WAL).

mod audit;
mod drafts;
pub(crate) mod items;
mod migrations;
mod people;
pub(crate) mod rating;
mod realignments;
mod revisions;
pub mod transfer;

pub use audit::AuditEntry;
pub use drafts::Draft;
pub use items::{Claim, Item};
pub use people::{INVITE_DAYS, Login, SESSION_DAYS};
pub use realignments::{Realignment, RealignmentState};
pub use revisions::Round;

pub(crate) use audit::note;
pub(crate) use drafts::{drop_draft, save as save_draft, seq as draft_seq};
pub(crate) use realignments::queue as queue_realignment;
pub(crate) use revisions::{decide as insert_decision, get as revision, insert as insert_revision};

use crate::error::plainly;
use crate::{Error, Result};
use redline_schemas::Utc;
use rusqlite::{Connection, OpenFlags};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Writes that share one commit at most: more would make the first one wait.
const GROUP: usize = 64;

/// How long to wait for another process that writes.
const BUSY: Duration = Duration::from_secs(5);

type Finish = Box<dyn FnOnce(Result<()>) + Send>;
type Job = Box<dyn FnOnce(Option<&Connection>) -> Finish + Send>;

/// The open database. Clones share it.
#[derive(Clone)]
pub struct Store {
    inner: Arc<Inner>,
}

struct Inner {
    path: PathBuf,
    jobs: Sender<Job>,
    readers: Mutex<Vec<Connection>>,
}

impl Store {
    /// Opens the database, makes it when there is none, and brings its tables up to date.
    pub fn open(path: &Path) -> Result<Self> {
        let wrong = |message: String| Error::Open { path: path.into(), message };
        let mut db = connect(path, true).map_err(|e| wrong(plainly(&e)))?;
        migrate(&mut db, path)?;
        let (jobs, inbox) = channel();
        std::thread::Builder::new()
            .name("review-writer".into())
            .spawn(move || write_jobs(&db, &inbox))
            .map_err(|e| wrong(format!("could not start the writer: {e}")))?;
        Ok(Self { inner: Arc::new(Inner { path: path.into(), jobs, readers: Mutex::default() }) })
    }

    /// Runs `f` in a transaction of the one writer; returns after the commit reached the disk.
    ///
    /// Writes that come at the same time share a commit, each undone on its own when it fails.
    pub fn write<T: Send + 'static>(&self, f: impl FnOnce(&Connection) -> Result<T> + Send + 'static) -> Result<T> {
        let (tx, rx) = sync_channel(1);
        let job: Job = Box::new(move |db| {
            let result = db.map_or(Err(Error::Closed), |db| in_savepoint(db, f));
            Box::new(move |committed| {
                // Nobody waits any more when the request was given up.
                let _ = tx.send(committed.and(result));
            })
        });
        self.inner.jobs.send(job).map_err(|_| Error::Closed)?;
        rx.recv().map_err(|_| Error::Closed)?
    }

    /// Runs `f` on a reader, inside one snapshot.
    pub fn read<T>(&self, f: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
        let pooled = self.inner.readers.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut db = match pooled {
            Some(db) => db,
            None => connect(&self.inner.path, false)?,
        };
        let snapshot = db.transaction()?;
        let result = f(&snapshot);
        snapshot.finish()?;
        self.inner.readers.lock().unwrap_or_else(PoisonError::into_inner).push(db);
        result
    }
}

fn connect(path: &Path, write: bool) -> rusqlite::Result<Connection> {
    let mode = if write { OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE } else { OpenFlags::SQLITE_OPEN_READ_WRITE };
    let db = Connection::open_with_flags(path, mode | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    db.busy_timeout(BUSY)?;
    // FULL: a commit that was reported is on the disk, also after a power cut.
    db.execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA trusted_schema = OFF;")?;
    if !write {
        db.execute_batch("PRAGMA query_only = ON;")?;
    }
    db.set_prepared_statement_cache_capacity(64);
    Ok(db)
}

fn migrate(db: &mut Connection, path: &Path) -> Result<()> {
    let tx = db.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    let done: usize = tx.query_row("PRAGMA user_version", [], |r| r.get(0))?;
    if done > migrations::STEPS.len() {
        let message = format!("version {done}, but this redline knows {}: use the redline that wrote it", migrations::STEPS.len());
        return Err(Error::Open { path: path.into(), message });
    }
    for step in migrations::STEPS.iter().skip(done) {
        tx.execute_batch(step)?;
    }
    tx.pragma_update(None, "user_version", migrations::STEPS.len())?;
    tx.commit()?;
    Ok(())
}

fn in_savepoint<T>(db: &Connection, f: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
    db.execute_batch("SAVEPOINT job")?;
    let result = f(db);
    db.execute_batch(if result.is_ok() { "RELEASE job" } else { "ROLLBACK TO job; RELEASE job" })?;
    result
}

fn write_jobs(db: &Connection, inbox: &Receiver<Job>) {
    while let Ok(first) = inbox.recv() {
        let begun = db.execute_batch("BEGIN IMMEDIATE");
        // Outside a transaction a savepoint would commit on its own: then nothing may run.
        let open = begun.is_ok().then_some(db);
        let mut finish = vec![first(open)];
        while finish.len() < GROUP
            && let Ok(job) = inbox.try_recv()
        {
            finish.push(job(open));
        }
        let committed = begun.and_then(|()| db.execute_batch("COMMIT")).map_err(|e| plainly(&e));
        if committed.is_err() && !db.is_autocommit() {
            let _ = db.execute_batch("ROLLBACK");
        }
        for f in finish {
            f(committed.clone().map_err(|e| Error::State(format!("review.sqlite: nothing was saved: {e}"))));
        }
    }
}

/// Now, in milliseconds since 1970: the database's unit of time.
#[must_use]
pub fn now_ms() -> i64 {
    chrono::Utc::now().timestamp_millis()
}

/// A database time for people and files.
#[must_use]
pub fn utc(ms: i64) -> Utc {
    chrono::DateTime::from_timestamp_millis(ms).unwrap_or(chrono::DateTime::UNIX_EPOCH)
}

/// A value that was stored by this crate and does not parse: the file was changed by hand.
fn damaged(what: &str) -> Error {
    Error::Invalid(format!("review.sqlite: {what} is damaged; restore it from a copy or from `redline review export`"))
}

fn json<T: serde::de::DeserializeOwned>(text: &str, what: &str) -> Result<T> {
    serde_json::from_str(text).map_err(|_| damaged(what))
}

fn to_json<T: serde::Serialize>(value: &T) -> Result<String> {
    serde_json::to_string(value).map_err(|e| Error::Invalid(e.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_of_one_group_fail_alone() {
        let dir = tempfile::tempdir().unwrap();
        let s = Store::open(&dir.path().join("r.sqlite")).unwrap();
        let threads: Vec<_> = (0..40)
            .map(|i| {
                let s = s.clone();
                std::thread::spawn(move || {
                    s.write(move |db| {
                        db.execute("INSERT INTO audit (at_ms, participant, action) VALUES (?1, 'p', 'x')", [i])?;
                        if i % 2 == 0 { Err(Error::State("no".into())) } else { Ok(()) }
                    })
                    .is_ok()
                })
            })
            .collect();
        let good = threads.into_iter().map(|t| t.join().unwrap()).filter(|ok| *ok).count();
        let rows: usize = s.read(|db| Ok(db.query_row("SELECT count(*) FROM audit WHERE at_ms % 2 = 1", [], |r| r.get(0))?)).unwrap();
        let all: usize = s.read(|db| Ok(db.query_row("SELECT count(*) FROM audit", [], |r| r.get(0))?)).unwrap();
        assert_eq!((good, rows, all), (20, 20, 20));
    }

    #[test]
    fn a_newer_database_is_refused_and_an_old_one_is_migrated_once() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("r.sqlite");
        drop(Store::open(&path).unwrap());
        drop(Store::open(&path).unwrap());
        Connection::open(&path).unwrap().pragma_update(None, "user_version", 99).unwrap();
        let e = Store::open(&path).err().unwrap().to_string();
        assert!(e.contains("99"), "{e}");
    }

    #[test]
    fn readers_cannot_write() {
        let dir = tempfile::tempdir().unwrap();
        let s = Store::open(&dir.path().join("r.sqlite")).unwrap();
        assert!(s.read(|db| Ok(db.execute("DELETE FROM items", [])?)).is_err());
    }
}
