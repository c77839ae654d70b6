//! The replay page: a session's video, words and events, moving together.
//!
//! [`Replay::load`] reads a session into what the page shows; [`serve`] serves it on loopback.

mod replay;
mod server;

pub use replay::{Item, Replay, ReplayVideo, ReplayWord, Track, What};
pub use server::{Server, serve};

/// What can go wrong with a replay.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The session can't be read.
    #[error(transparent)]
    Schemas(#[from] redline_schemas::Error),
    /// The page can't be served.
    #[error("{action}: {source}")]
    Serve {
        /// What was tried, as "could not …".
        action: &'static str,
        /// The system's own word.
        source: std::io::Error,
    },
}

/// A result with this crate's error.
pub type Result<T, E = Error> = std::result::Result<T, E>;
