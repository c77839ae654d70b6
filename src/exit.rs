//! Exit codes, and how an error gets one. Documented in `docs/exit-codes.md`.

use std::fmt;

/// Why the process ended; its number is the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// Something failed that has no code of its own.
    Failed = 1,
    // 2 is clap's: the command line was not understood.
    /// `check` or `verify` found errors.
    Findings = 3,
    /// No display, microphone, permission or program that the task needs.
    Device = 4,
    /// An input file is missing, damaged, of a wrong version or of a wrong kind.
    Input = 5,
    /// A speech or alignment model is missing.
    Model = 6,
    /// The disk is full or may not be written.
    Storage = 7,
    /// Another Redline works there.
    Busy = 8,
}

/// An error that carries its exit code.
#[derive(Debug)]
pub struct Coded {
    /// The code.
    pub exit: Exit,
    source: anyhow::Error,
}

impl fmt::Display for Coded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#}", self.source)
    }
}

impl std::error::Error for Coded {}

/// Gives an error its exit code.
pub trait WithExit<T> {
    /// The error, with `exit`.
    fn exit(self, exit: Exit) -> anyhow::Result<T>;
}

impl<T, E: Into<anyhow::Error>> WithExit<T> for Result<T, E> {
    fn exit(self, exit: Exit) -> anyhow::Result<T> {
        self.map_err(|e| Coded { exit, source: e.into() }.into())
    }
}

/// The code for an error: the one it carries, else by what the corpus format said of it.
pub fn code_of(e: &anyhow::Error) -> Exit {
    if let Some(c) = e.chain().find_map(|c| c.downcast_ref::<Coded>()) {
        return c.exit;
    }
    use redline_schemas::Error as S;
    let storage = |e: &std::io::Error| {
        matches!(
            e.kind(),
            std::io::ErrorKind::StorageFull
                | std::io::ErrorKind::ReadOnlyFilesystem
                | std::io::ErrorKind::PermissionDenied
                | std::io::ErrorKind::QuotaExceeded
        )
    };
    let schemas = |e: &S| match e {
        S::Io { source, .. } if storage(source) => Exit::Storage,
        _ => Exit::Input,
    };
    #[cfg(any(feature = "recorder", feature = "dataset"))]
    let media = |e: &redline_media::Error| match e {
        redline_media::Error::Io { source, .. } if storage(source) => Exit::Storage,
        redline_media::Error::Write { .. } | redline_media::Error::NoFont { .. } => Exit::Failed,
        _ => Exit::Input,
    };
    for c in e.chain() {
        if let Some(e) = c.downcast_ref::<S>() {
            return schemas(e);
        }
        #[cfg(any(feature = "recorder", feature = "dataset"))]
        if let Some(e) = c.downcast_ref::<redline_media::Error>() {
            return media(e);
        }
        // Its transparent variants hide what they carry from the chain.
        #[cfg(feature = "dataset")]
        match c.downcast_ref::<redline_dataset::Error>() {
            Some(redline_dataset::Error::Schemas(e)) => return schemas(e),
            Some(redline_dataset::Error::Media(e)) => return media(e),
            Some(redline_dataset::Error::Busy(_)) => return Exit::Busy,
            Some(redline_dataset::Error::Refused(_)) => return Exit::Input,
            _ => {}
        }
        #[cfg(feature = "publish")]
        match c.downcast_ref::<redline_publish::Error>() {
            Some(redline_publish::Error::Dataset(redline_dataset::Error::Schemas(e))) => return schemas(e),
            Some(redline_publish::Error::Dataset(_) | redline_publish::Error::Address { .. } | redline_publish::Error::Refused(_)) => {
                return Exit::Input;
            }
            Some(e) if e.is_denied() => return Exit::Storage,
            _ => {}
        }
        if c.downcast_ref::<std::io::Error>().is_some_and(storage) {
            return Exit::Storage;
        }
    }
    Exit::Failed
}
