use std::path::PathBuf;

/// What can go wrong with a recording.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No screen, microphone, input or permission.
    #[error("{what}: {reason}\n\nhint: {hint}")]
    Device {
        /// What could not be used.
        what: String,
        /// Why.
        reason: String,
        /// What to do.
        hint: &'static str,
    },
    /// Another recorder writes there.
    #[error("{}: another recorder is at work here (process {pid}): stop it first", path.display())]
    Busy {
        /// The lock.
        path: PathBuf,
        /// Its holder.
        pid: u32,
    },
    /// Another recorder films the screen.
    #[error("the screen {screen} is being recorded already (process {pid}): stop that recording first")]
    ScreenBusy {
        /// The screen's name.
        screen: String,
        /// Who records it.
        pid: u32,
    },
    /// An option that cannot be carried out.
    #[error("{0}")]
    Options(String),
    /// There is nothing in the folder that could be mended.
    #[error("{}: {reason}", path.display())]
    Unrecoverable {
        /// The session's folder.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// A corpus file.
    #[error(transparent)]
    Schemas(#[from] redline_schemas::Error),
    /// A media file.
    #[error(transparent)]
    Media(#[from] redline_media::Error),
}

/// A result with this crate's error.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// The system's error behind it, if there is one.
    #[must_use]
    pub fn io_kind(&self) -> Option<std::io::ErrorKind> {
        match self {
            Self::Schemas(redline_schemas::Error::Io { source, .. }) => Some(source.kind()),
            Self::Media(e) => e.io_kind(),
            _ => None,
        }
    }

    /// Whether the disk refused: full, over quota or not writable.
    #[must_use]
    pub fn is_storage(&self) -> bool {
        use std::io::ErrorKind as K;
        matches!(self.io_kind(), Some(K::StorageFull | K::QuotaExceeded | K::ReadOnlyFilesystem | K::PermissionDenied))
    }
}
