use std::time::Duration;

/// Why the virtual desktop is not there.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A program is not installed, or may not be run.
    #[error("could not start {program} ({source}): install the package {package}, or run make setup")]
    Missing {
        /// The program.
        program: String,
        /// Debian's package.
        package: String,
        /// The system's own word.
        source: std::io::Error,
    },
    /// A program ran, but failed.
    #[error("{program} failed: {message}")]
    Failed {
        /// The program.
        program: String,
        /// Its own word.
        message: String,
    },
    /// Something did not come up in time.
    #[error("{what} was not there after {} s", patience.as_secs())]
    Late {
        /// What was awaited.
        what: String,
        /// For how long.
        patience: Duration,
    },
    /// The folder or pipe that the desktop needs could not be made.
    #[error("could not make what the virtual desktop needs: {0}")]
    Folder(std::io::Error),
}

/// A result with this crate's error.
pub type Result<T, E = Error> = std::result::Result<T, E>;
