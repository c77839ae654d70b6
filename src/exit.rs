//! Exit codes, and how an error gets one. Documented in `docs/exit-codes.md`.

use std::fmt;

/// Why the process ended; its number is the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
#[allow(dead_code)] // A build without some stages never returns their codes.
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
        f.write_str(&told(&self.source))
    }
}

impl std::error::Error for Coded {}

/// An error and its causes for people. Many errors name their cause in their own words: it is not said again.
pub fn told(e: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in e.chain().map(ToString::to_string) {
        if text.is_empty() {
            text = cause;
        } else if !text.contains(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    text
}

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
        // A full disk is no fault of what was read.
        return if c.exit == Exit::Input && code_of(&c.source) == Exit::Storage { Exit::Storage } else { c.exit };
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
            Some(
                redline_publish::Error::Dataset(_)
                | redline_publish::Error::Address { .. }
                | redline_publish::Error::TooLarge { .. }
                | redline_publish::Error::Refused(_),
            ) => {
                return Exit::Input;
            }
            Some(e) if e.is_denied() => return Exit::Storage,
            _ => {}
        }
        #[cfg(feature = "review")]
        match c.downcast_ref::<redline_review::Error>() {
            Some(redline_review::Error::Corpus(e)) => return schemas(e),
            Some(e) if e.is_storage() => return Exit::Storage,
            Some(_) => return Exit::Input,
            None => {}
        }
        #[cfg(feature = "ratings")]
        if let Some(redline_ratings::Error::Corpus(e)) = c.downcast_ref::<redline_ratings::Error>() {
            return schemas(e);
        }
        if c.downcast_ref::<std::io::Error>().is_some_and(storage) {
            return Exit::Storage;
        }
    }
    Exit::Failed
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::Context as _;

    #[test]
    fn a_cause_is_said_once() {
        let missing = std::io::Error::new(std::io::ErrorKind::NotFound, "no such file");
        let inner = redline_schemas::Error::Io { path: "a.json".into(), action: "could not open", source: missing };
        let e = Err::<(), _>(inner).context("not imported").exit(Exit::Input).context("b").unwrap_err();
        assert_eq!(told(&e), "b: not imported: a.json: could not open: no such file");
        assert_eq!(code_of(&e), Exit::Input);
    }

    #[test]
    fn a_full_disk_is_one_whatever_was_done() {
        let full = || redline_schemas::Error::Io {
            path: "a.json".into(),
            action: "could not write",
            source: std::io::Error::new(std::io::ErrorKind::StorageFull, "full"),
        };
        assert_eq!(code_of(&Err::<(), _>(full()).exit(Exit::Input).unwrap_err()), Exit::Storage);
        assert_eq!(code_of(&Err::<(), _>(full()).exit(Exit::Device).unwrap_err()), Exit::Device);
        #[cfg(feature = "review")]
        {
            let damaged = redline_schemas::Error::Parse { path: "edit.json".into(), line: None, message: "not JSON".into() };
            assert_eq!(code_of(&redline_review::Error::from(damaged).into()), Exit::Input);
            assert_eq!(code_of(&redline_review::Error::from(full()).into()), Exit::Storage);
        }
    }
}
