use std::path::PathBuf;

/// What can go wrong with the bridge.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The loopback port could not be opened, or the service thread not started.
    #[error("the CAD bridge could not start: {0}")]
    Start(std::io::Error),
    /// The file that tells plug-ins where the bridge is could not be written.
    #[error("{}: could not write the bridge's address for plug-ins: {source}", path.display())]
    Discovery {
        /// The file.
        path: PathBuf,
        /// The system's own word.
        source: std::io::Error,
    },
    /// An event could not be stored.
    #[error(transparent)]
    Store(#[from] redline_schemas::Error),
    /// A message that the protocol does not allow.
    #[error("{0}")]
    Protocol(String),
}

/// A result with this crate's error.
pub type Result<T, E = Error> = std::result::Result<T, E>;
