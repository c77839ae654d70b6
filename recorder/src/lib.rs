//! placeholder
pub mod audio_fit;
pub mod clock_watch;
