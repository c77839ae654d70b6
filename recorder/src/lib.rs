//! The recorder: screen, microphone, mouse and keys on one monotonic clock, into a session's folder.
//!
//! ```no_run
//! # use redline_recorder::{RecordOptions, Recording, SessionManifest};
//! # fn go(corpus: redline_schemas::Corpus, manifest: SessionManifest) -> redline_recorder::Result<()> {
//! let dir = corpus.request_dir(&redline_schemas::RequestId::generate());
//! let recording = Recording::start(&corpus, dir, manifest, &RecordOptions::default(), None)?;
//! std::thread::sleep(std::time::Duration::from_secs(5));
//! let finished = recording.stop()?;
//! println!("{}", finished.path.display());
//! # Ok(()) }
//! ```
//!
//! Everything is written while it comes, so that a crash costs less than a second; [`recover`]
//! finishes what a crash left.

pub mod audio;
pub mod audio_fit;
pub mod bin;
mod clock;
pub mod clock_watch;
pub mod control;
pub mod doctor;
mod error;
mod finalise;
pub mod grid;
pub mod hotkeys;
mod input;
mod keys;
pub mod level;
pub mod live;
pub mod lock;
mod manifest;
mod marks;
mod options;
mod recording;
mod recover;
mod redact;
mod runtime_dir;
pub mod screen;
mod shared;
pub mod sinks;
pub mod steps;
mod strokes;
pub mod sync;
pub mod typing;
mod video;

pub use clock::{SessionClock, monotonic_ns};
pub use error::{Error, Result};
pub use keys::{Chord, KeyPolicy};
pub use manifest::SessionManifest;
pub use options::{CaptureBackend, Microphone, RecordOptions, Source, parse_region};
pub use recording::{Finished, Prepared, Progress, Recording, corpus_lock};
pub use recover::{Recovered, recover, unfinished};
pub use shared::StopReason;
