//! Placeholder.

mod clock;
pub mod clock_watch;
mod error;
mod keys;
mod options;
pub mod screen;

pub use clock::{SessionClock, monotonic_ns};
pub use error::{Error, Result};
pub use keys::{Chord, KeyPolicy};
pub use options::{CaptureBackend, Microphone, RecordOptions, Source, parse_region};
