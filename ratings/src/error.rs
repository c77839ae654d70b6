use std::path::PathBuf;

/// What can go wrong with ratings.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file of the corpus.
    #[error(transparent)]
    Corpus(#[from] redline_schemas::Error),
    /// A model.
    #[error(transparent)]
    Cad(#[from] redline_cad::Error),
    /// What was given can't be taken.
    #[error("{}: {message}", path.display())]
    Refused {
        /// The file or folder.
        path: PathBuf,
        /// What is wrong, and what to do.
        message: String,
    },
}

/// A result with this crate's error.
pub type Result<T, E = Error> = std::result::Result<T, E>;
