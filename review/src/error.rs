use std::path::PathBuf;

/// What can go wrong in the correction loop.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A corpus file could not be read or written.
    #[error(transparent)]
    Corpus(#[from] redline_schemas::Error),
    /// The database said no.
    #[error("review.sqlite: {0}")]
    Database(#[from] rusqlite::Error),
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
