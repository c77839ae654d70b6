use std::path::PathBuf;

/// What can go wrong between sound and words.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A model file is not there.
    #[error("{}: no such model; get the models with `redline model-fetch`, or name a file with --whisper-model", path.display())]
    ModelMissing {
        /// The file.
        path: PathBuf,
    },
    /// A model file is there but cannot be used.
    #[error("{}: {message}", path.display())]
    ModelUnusable {
        /// The file.
        path: PathBuf,
        /// What is wrong, and what to do.
        message: String,
    },
    /// No cache folder is known.
    #[error("no cache folder: set REDLINE_CACHE, XDG_CACHE_HOME or HOME")]
    NoCache,
    /// A file of the corpus.
    #[error(transparent)]
    Corpus(#[from] redline_schemas::Error),
    /// The audio could not be decoded.
    #[error("{}: {message}", path.display())]
    Audio {
        /// The file.
        path: PathBuf,
        /// What is wrong, and what to do.
        message: String,
    },
    /// The speech engine refused.
    #[error("speech engine: {0}")]
    Engine(String),
    /// A file of another program that cannot be read as what it should be.
    #[error("{0}")]
    Foreign(String),
    /// More audio than an aligner takes at once.
    #[error("a piece of {samples} samples is longer than the {max} that this aligner takes: cut it at a pause")]
    TooLong {
        /// Samples given.
        samples: usize,
        /// Samples taken at most.
        max: usize,
    },
    /// The run was asked to stop.
    #[error("stopped")]
    Stopped,
}

/// A result with this crate's error.
pub type Result<T, E = Error> = std::result::Result<T, E>;
