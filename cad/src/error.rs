use std::path::PathBuf;

/// What can go wrong with a CAD file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file could not be read.
    #[error("{}: could not read: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's own word.
        source: std::io::Error,
    },
    /// The file is not a STEP file, or is damaged.
    #[error("{}: not a readable STEP file ({message}): export it again from the CAD program as STEP AP214 or AP242", path.display())]
    NotStep {
        /// The file.
        path: PathBuf,
        /// The reader's own word.
        message: String,
    },
    /// The file was read, but holds no solid and no surface.
    #[error("{}: the STEP file holds no solid and no surface", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
}

/// A result with this crate's error.
pub type Result<T, E = Error> = std::result::Result<T, E>;
