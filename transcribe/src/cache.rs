//! Where models lie on this machine, and what they are called.

use crate::{Error, Result};
use std::path::{Path, PathBuf};

/// The speech model used unless another is given.
pub const DEFAULT_WHISPER: &str = "ggml-base-q8_0.bin";

/// The small English model that tests use.
pub const TINY_ENGLISH_WHISPER: &str = "ggml-tiny.en-q8_0.bin";

/// The voice activity model.
pub const VOICE_ACTIVITY: &str = "silero-vad.bin";

/// The cache folder: `$REDLINE_CACHE`, else `$XDG_CACHE_HOME/redline`, else `~/.cache/redline`.
///
/// `None` when the environment names no home either.
#[must_use]
pub fn cache_dir() -> Option<PathBuf> {
    let var = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    var("REDLINE_CACHE").or_else(|| Some(var("XDG_CACHE_HOME").or_else(|| Some(var("HOME")?.join(".cache")))?.join("redline")))
}

/// The folder that `redline model-fetch` fills.
#[must_use]
pub fn models_dir() -> Option<PathBuf> {
    cache_dir().map(|d| d.join("models"))
}

/// A model of the cache by its file name; an error that says how to get it when it is not there.
pub fn cached_model(name: &str) -> Result<PathBuf> {
    let dir = models_dir().ok_or(Error::NoCache)?;
    existing(&dir.join(name))
}

/// `path` when it is a file, else [`Error::ModelMissing`].
pub fn existing(path: &Path) -> Result<PathBuf> {
    if path.is_file() { Ok(path.into()) } else { Err(Error::ModelMissing { path: path.into() }) }
}
