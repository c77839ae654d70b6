//! What to record, and how.

use crate::Error;
use crate::keys::{Chord, KeyPolicy};
use redline_schemas::coords::Rect;
use std::str::FromStr;

/// What of the screen is recorded.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Source {
    /// The primary monitor.
    #[default]
    PrimaryMonitor,
    /// A monitor by name or by number (from 1).
    Monitor(String),
    /// The place on the screen of a window, by number (`0x…`) or part of its title; it is followed when it moves.
    Window(String),
    /// A fixed place, screen pixels.
    Region(Rect),
}

/// How the screen is read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CaptureBackend {
    /// Shared memory where it works, else xcap.
    #[default]
    Auto,
    /// X11 shared memory only.
    Shm,
    /// xcap only.
    Xcap,
}

impl FromStr for CaptureBackend {
    type Err = Error;
    fn from_str(s: &str) -> Result<Self, Error> {
        match s {
            "auto" => Ok(Self::Auto),
            "shm" => Ok(Self::Shm),
            "xcap" => Ok(Self::Xcap),
            _ => Err(Error::Options(format!("“{s}” is none of auto, shm, xcap"))),
        }
    }
}

/// Which microphone.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Microphone {
    /// The system's default one.
    #[default]
    Default,
    /// By part of its name.
    Named(String),
    /// None: no audio is recorded.
    Off,
}

/// Settings of a recording.
#[derive(Debug, Clone)]
pub struct RecordOptions {
    /// What of the screen.
    pub source: Source,
    /// Whether video is recorded; without it, the pointer still gets its place in the source's area.
    pub video: bool,
    /// How it is read.
    pub backend: CaptureBackend,
    /// Which microphone.
    pub microphone: Microphone,
    /// Frames per second.
    pub fps: u32,
    /// Largest height of the video; smaller areas are not enlarged.
    pub height: u32,
    /// x264's speed preset.
    pub preset: String,
    /// What is kept of the keyboard.
    pub keys: KeyPolicy,
    /// Keys that stop the recording.
    pub stop_chord: Option<Chord>,
    /// Whether the mouse pointer is drawn into the picture.
    pub cursor: bool,
}

impl RecordOptions {
    /// The rate at which published requests are recorded.
    pub const DEFAULT_FPS: u32 = 30;
    /// The height at which published requests are recorded.
    pub const DEFAULT_HEIGHT: u32 = 720;
    /// Rates beyond this cost more than any screen shows.
    pub const MAX_FPS: u32 = 120;

    /// Refuses settings that cannot work.
    pub fn validate(&self) -> Result<(), Error> {
        if !(1..=Self::MAX_FPS).contains(&self.fps) {
            return Err(Error::Options(format!("{} frames per second: choose 1 to {}", self.fps, Self::MAX_FPS)));
        }
        if !(64..=4320).contains(&self.height) {
            return Err(Error::Options(format!("height {}: choose 64 to 4320", self.height)));
        }
        Ok(())
    }
}

impl Default for RecordOptions {
    fn default() -> Self {
        Self {
            source: Source::default(),
            video: true,
            backend: CaptureBackend::default(),
            microphone: Microphone::default(),
            fps: Self::DEFAULT_FPS,
            height: Self::DEFAULT_HEIGHT,
            preset: redline_media::EncodeSettings::DEFAULT_PRESET.into(),
            keys: KeyPolicy::default(),
            stop_chord: None,
            cursor: true,
        }
    }
}

/// Parses `WIDTHxHEIGHT+X+Y`; X and Y may be negative (`+-1920`).
pub fn parse_region(s: &str) -> Result<Rect, Error> {
    let parse = || -> Option<Rect> {
        let (size, place) = s.split_once('+')?;
        let (w, h) = size.split_once('x')?;
        let (x, y) = place.split_once('+')?;
        let r = Rect { x: x.parse().ok()?, y: y.parse().ok()?, width: w.parse().ok()?, height: h.parse().ok()? };
        ((16..=16_384).contains(&r.width) && (16..=16_384).contains(&r.height)).then_some(r)
    };
    parse().ok_or_else(|| {
        Error::Options(format!("“{s}” is no region: write WIDTHxHEIGHT+X+Y, such as 1280x720+0+0 (16 to 16384 pixels a side)"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regions() {
        assert_eq!(parse_region("1280x720+-1920+30").unwrap(), Rect { x: -1920, y: 30, width: 1280, height: 720 });
        for bad in ["", "1280x720", "0x0+0+0", "ax5+0+0", "1280x720+1", "99999x720+0+0"] {
            assert!(parse_region(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn absurd_rates_are_refused() {
        assert!(RecordOptions::default().validate().is_ok());
        assert!(RecordOptions { fps: 0, ..Default::default() }.validate().is_err());
        assert!(RecordOptions { height: 10, ..Default::default() }.validate().is_err());
    }
}
