use std::path::PathBuf;

/// What can go wrong in the correction loop.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A corpus file could not be read or written.
    #[error(transparent)]
    Corpus(#[from] redline_schemas::Error),
    /// The database said no.
    #[error("review.sqlite: {}", plainly(.0))]
    Database(rusqlite::Error),
    /// The database could not be opened or is of another version.
    #[error("{}: {message}", path.display())]
    Open {
        /// The database.
        path: PathBuf,
        /// What is wrong, and what to do.
        message: String,
    },
    /// The thread that writes is gone; nothing was saved.
    #[error("review.sqlite: the writer has stopped; nothing was saved, start `redline review serve` again")]
    Closed,
    /// No such thing, or not for this person to know.
    #[error("{0}")]
    NotFound(String),
    /// The person may not do this.
    #[error("{0}")]
    Forbidden(String),
    /// Somebody else works on it.
    #[error("{0}")]
    Claimed(String),
    /// What was sent builds on something that is no longer current: merge, then save again.
    #[error("{0}")]
    Stale(String),
    /// The step is not possible in this state.
    #[error("{0}")]
    State(String),
    /// What was sent makes no sense.
    #[error("{0}")]
    Invalid(String),
}

/// A result with this crate's error.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// Whether the disk is full or may not be written.
    #[must_use]
    pub fn is_storage(&self) -> bool {
        use rusqlite::ErrorCode as C;
        let Self::Database(rusqlite::Error::SqliteFailure(failure, _)) = self else { return false };
        matches!(failure.code, C::DiskFull | C::ReadOnly | C::PermissionDenied)
    }
}

/// Not `#[from]`: that would make it the error's source, whose own source is SQLite's number, and people would
/// read the cause twice and then a number.
impl From<rusqlite::Error> for Error {
    fn from(e: rusqlite::Error) -> Self {
        Self::Database(e)
    }
}

/// A database error for people: what is wrong and what to do, without SQLite's numbers.
pub(crate) fn plainly(e: &rusqlite::Error) -> String {
    use rusqlite::ErrorCode as C;
    let rusqlite::Error::SqliteFailure(failure, said) = e else { return e.to_string() };
    let text = match failure.code {
        C::DatabaseBusy | C::DatabaseLocked => "another program holds it; close that program, then try again",
        C::DiskFull => "the disk is full",
        C::ReadOnly | C::PermissionDenied | C::AuthorizationForStatementDenied => "it may not be written",
        C::CannotOpen => "it cannot be opened: is its folder there, and may it be written?",
        C::SystemIoFailure => "the disk could not be read or written",
        C::DatabaseCorrupt | C::NotADatabase => "it is damaged; restore it from a copy or from `redline review export`",
        C::OutOfMemory => "there is no memory left",
        // The words of a rule of ours, or what the tables do not allow.
        C::ConstraintViolation => match said {
            Some(said) => return said.strip_prefix("FOREIGN KEY constraint failed").map_or_else(|| said.clone(), |_| UNLINKED.into()),
            None => "a rule of its tables forbids it",
        },
        _ => return said.clone().unwrap_or_else(|| "an error without a name".into()),
    };
    text.to_owned()
}

/// SQLite names neither row nor table here.
const UNLINKED: &str = "a row names another one that is not there";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_error_says_its_cause_once_and_no_number() {
        let db = rusqlite::Connection::open_in_memory().unwrap();
        db.execute_batch(
            "PRAGMA foreign_keys = ON; CREATE TABLE a (id INTEGER PRIMARY KEY, n INTEGER NOT NULL); CREATE TABLE b (a INTEGER REFERENCES a (id));
             CREATE TRIGGER t BEFORE INSERT ON a WHEN NEW.n = 7 BEGIN SELECT RAISE(ABORT, 'not seven'); END;",
        )
        .unwrap();
        for (sql, want) in [
            ("INSERT INTO a VALUES (1, 7)", "review.sqlite: not seven"),
            ("INSERT INTO b VALUES (5)", "review.sqlite: a row names another one that is not there"),
            ("INSERT INTO a VALUES (1, NULL)", "review.sqlite: NOT NULL constraint failed: a.n"),
        ] {
            let e = Error::from(db.execute(sql, []).unwrap_err());
            assert_eq!(e.to_string(), want);
            assert!(std::error::Error::source(&e).is_none(), "nothing more to be printed after it");
        }
        let nowhere = rusqlite::Connection::open("/nowhere/at/all.sqlite").unwrap_err();
        assert!(!plainly(&nowhere).contains("nowhere"), "whoever reports it names the file");
    }
}
