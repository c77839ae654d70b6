use std::path::PathBuf;

/// What can go wrong with a corpus's files. Every variant names the file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Reading or writing failed.
    #[error("{}: {action}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What was tried, as "could not …".
        action: &'static str,
        /// The system's own word.
        source: std::io::Error,
    },
    /// The file is not valid JSON of the expected shape.
    #[error("{}{}: {message}", path.display(), line.map(|l| format!(":{l}")).unwrap_or_default())]
    Parse {
        /// The file.
        path: PathBuf,
        /// The line (from 1), for JSON Lines.
        line: Option<u64>,
        /// What is wrong, and what to do.
        message: String,
    },
    /// The manifest has a format version that this build does not read.
    #[error("{}: format version {found}, but this redline reads version {wanted}: use the redline that wrote it", path.display())]
    Version {
        /// The file.
        path: PathBuf,
        /// The version in the file.
        found: u64,
        /// The version that this build reads.
        wanted: u32,
    },
    /// A name that may not be used as an id (or could leave its folder).
    #[error("“{id}” is not a valid id: 1 to 64 letters, digits, “_”, “-” or “.”, not starting with “.” or “-”")]
    BadId {
        /// The refused text.
        id: String,
    },
    /// Something that must not exist yet exists.
    #[error("{}: already exists; nothing is written over it: take another name, or remove it first", path.display())]
    Exists {
        /// The file or folder.
        path: PathBuf,
    },
    /// Not a corpus, or no such thing in it.
    #[error("{}: {message}", path.display())]
    Missing {
        /// The file or folder.
        path: PathBuf,
        /// What is missing, and what to do.
        message: String,
    },
    /// A value outside what the format allows.
    #[error("{0}")]
    Value(String),
}

/// A result with this crate's error.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// Shorthand for [`Error::Io`], for `map_err`.
    pub fn io(path: impl Into<PathBuf>, action: &'static str) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { path, action, source }
    }
}
