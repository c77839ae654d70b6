use std::path::{Path, PathBuf};

fn list(paths: &[PathBuf]) -> String {
    paths.iter().map(|p| p.display().to_string()).collect::<Vec<_>>().join(", ")
}

/// What can go wrong with a media file. Every variant names the file and says what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file could not be opened, read or written.
    #[error("{}: {action}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What was tried, as "could not …".
        action: &'static str,
        /// The system's own word.
        source: std::io::Error,
    },
    /// The file has no content.
    #[error("{}: the file is empty (0 bytes): copy or record it again", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// The file is no video or audio file that is read here.
    #[error("{}: not a media file that Redline reads ({reason}): give an MP4, MOV, Matroska, WebM, AVI, FLAC, WAV, Ogg or MP3 file", path.display())]
    NotMedia {
        /// The file.
        path: PathBuf,
        /// What it is instead, as far as known.
        reason: String,
    },
    /// The file ends before its content does.
    #[error("{}: the file is cut off ({detail}): copy it again from its source", path.display())]
    Truncated {
        /// The file.
        path: PathBuf,
        /// What is missing.
        detail: String,
    },
    /// The file is whole in length, but its content cannot be decoded.
    #[error("{}: damaged: {detail}; copy it again from its source, or re-encode what is left of it", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Where and how.
        detail: String,
    },
    /// The wanted kind of stream is not in the file.
    #[error("{}: there is no {kind} in it", path.display())]
    NoStream {
        /// The file.
        path: PathBuf,
        /// `video` or `audio`.
        kind: &'static str,
    },
    /// The file uses something that this build cannot do.
    #[error("{}: {what}", path.display())]
    Unsupported {
        /// The file.
        path: PathBuf,
        /// What, and what to do.
        what: String,
    },
    /// No font was found.
    #[error(
        "no font to write with (looked for {}): install one (Debian: fonts-dejavu-core) or name a TrueType file with --font",
        list(looked_at)
    )]
    NoFont {
        /// Where one was looked for.
        looked_at: Vec<PathBuf>,
    },
    /// Encoding or writing a media file failed for a reason that is not the disk's.
    #[error("{}: {action}: {reason}", path.display())]
    Write {
        /// The file being written.
        path: PathBuf,
        /// What was tried, as "could not …".
        action: &'static str,
        /// The library's own word.
        reason: String,
    },
}

/// A result with this crate's error.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// Shorthand for [`Error::Io`], for `map_err`.
    pub fn io(path: impl Into<PathBuf>, action: &'static str) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { path, action, source }
    }

    /// An FFmpeg error while writing `path`: [`Error::Io`] when the system refused, so that a full
    /// or read-only disk is told apart, else [`Error::Write`].
    pub fn write(path: &Path, action: &'static str) -> impl FnOnce(ffmpeg_next::Error) -> Self + use<> {
        let path = path.to_path_buf();
        move |e| match e {
            ffmpeg_next::Error::Other { errno } => Self::Io { path, action, source: std::io::Error::from_raw_os_error(errno) },
            e => Self::Write { path, action, reason: e.to_string() },
        }
    }

    /// An FFmpeg error while reading `path`: [`Error::Io`] when the system refused, else [`Error::Damaged`].
    pub fn read(path: &Path, doing: &str) -> impl FnOnce(ffmpeg_next::Error) -> Self + use<> {
        let (path, doing) = (path.to_path_buf(), doing.to_owned());
        move |e| match e {
            ffmpeg_next::Error::Other { errno } if errno != ffmpeg_next::error::EINVAL => {
                Self::Io { path, action: "could not read", source: std::io::Error::from_raw_os_error(errno) }
            }
            e => Self::Damaged { path, detail: format!("{doing}: {e}") },
        }
    }

    /// The system's error behind it, if there is one.
    #[must_use]
    pub fn io_kind(&self) -> Option<std::io::ErrorKind> {
        match self {
            Self::Io { source, .. } => Some(source.kind()),
            _ => None,
        }
    }
}
