//! Where somebody speaks: Silero's probabilities, and the stretches made of them.

use crate::audio::RATE;
use crate::{Error, Result, cache};
use std::path::Path;
use whisper_rs::{WhisperVadContext, WhisperVadContextParams};

/// Samples for which the model gives one probability.
pub const WINDOW: usize = 512;

/// A window at least this likely to hold speech begins a stretch.
pub const ENTER: f32 = 0.5;
/// A window less likely than this may end one.
pub const LEAVE: f32 = 0.35;
/// Windows of silence that end a stretch (0.32 s).
pub const MIN_SILENCE: u64 = 10;
/// Windows of speech below which a stretch is noise (0.1 s).
pub const MIN_SPEECH: u64 = 3;
/// Windows after which a stretch without any pause is cut at its least likely window.
const LONGEST: u64 = 26 * RATE as u64 / WINDOW as u64;

/// The voice activity model.
pub struct Vad {
    inner: WhisperVadContext,
}

impl Vad {
    /// Loads a model; see [`cache::VOICE_ACTIVITY`].
    pub fn load(path: &Path) -> Result<Self> {
        let path = cache::existing(path)?;
        let unusable = |message: &str| Error::ModelUnusable { path: path.clone(), message: message.into() };
        let name = path.to_str().filter(|p| !p.contains('\0')).ok_or_else(|| unusable("its path is not UTF-8: move it"))?;
        let mut params = WhisperVadContextParams::new();
        params.set_n_threads(1);
        let inner = WhisperVadContext::new(name, params)
            .map_err(|_| unusable("not a voice activity model: get it anew with `redline model-fetch`"))?;
        Ok(Self { inner })
    }

    /// One probability for each (begun) window of the block. The model starts without memory.
    pub fn probabilities(&mut self, block: &[f32]) -> Result<Vec<f32>> {
        if block.is_empty() {
            return Ok(Vec::new());
        }
        self.inner.detect_speech(block).map_err(|e| Error::Engine(format!("voice activity failed ({e})")))?;
        Ok(self.inner.probabilities().to_vec())
    }
}

/// A stretch of speech, in windows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stretch {
    /// First window.
    pub start: u64,
    /// The window after the last.
    pub end: u64,
}

/// Makes stretches of probabilities as they come.
#[derive(Debug, Default)]
pub struct StretchFinder {
    at: u64,
    start: Option<u64>,
    last_speech: u64,
    probs: Vec<f32>,
}

impl StretchFinder {
    /// The first window of the stretch that is open, if one is.
    #[must_use]
    pub fn open_since(&self) -> Option<u64> {
        self.start
    }

    /// Windows seen.
    #[must_use]
    pub fn seen(&self) -> u64 {
        self.at
    }

    /// Takes the next window's probability; a stretch that it ends, if any.
    pub fn push(&mut self, p: f32) -> Option<Stretch> {
        let now = self.at;
        self.at += 1;
        let Some(start) = self.start else {
            if p >= ENTER {
                self.start = Some(now);
                self.last_speech = now;
                self.probs = vec![p];
            }
            return None;
        };
        self.probs.push(p);
        if p >= LEAVE {
            self.last_speech = now;
        } else if now - self.last_speech >= MIN_SILENCE {
            return self.close(start);
        }
        if now + 1 - start >= LONGEST { Some(self.cut(start)) } else { None }
    }

    /// The stretch that is still open at the end of the audio.
    pub fn finish(&mut self) -> Option<Stretch> {
        self.start.and_then(|s| self.close(s))
    }

    fn close(&mut self, start: u64) -> Option<Stretch> {
        self.start = None;
        let s = Stretch { start, end: self.last_speech + 1 };
        (s.end - s.start >= MIN_SPEECH).then_some(s)
    }

    /// Cuts a stretch that grows too long where speech is least likely, in its last third.
    fn cut(&mut self, start: u64) -> Stretch {
        let from = self.probs.len() * 2 / 3;
        let least = (from..self.probs.len()).min_by(|a, b| self.probs[*a].total_cmp(&self.probs[*b])).unwrap_or(from);
        let end = start + least as u64;
        self.probs.drain(..least);
        self.start = Some(end);
        Stretch { start, end }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(probs: &[f32]) -> Vec<(u64, u64)> {
        let mut f = StretchFinder::default();
        let mut out: Vec<_> = probs.iter().filter_map(|p| f.push(*p)).collect();
        out.extend(f.finish());
        out.iter().map(|s| (s.start, s.end)).collect()
    }

    #[test]
    fn a_pause_ends_a_stretch_and_a_breath_does_not() {
        let mut p = vec![0.0; 5];
        p.extend([0.9; 10]);
        p.extend([0.1; 5]);
        p.extend([0.9; 10]);
        p.extend([0.1; 30]);
        p.extend([0.9; 4]);
        assert_eq!(find(&p), [(5, 30), (60, 64)]);
    }

    #[test]
    fn a_click_is_no_speech() {
        assert_eq!(find(&[0.0, 0.9, 0.9, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]), []);
        assert_eq!(find(&[0.4; 100]), []);
        assert_eq!(find(&[]), []);
    }

    #[test]
    fn speech_without_a_pause_is_cut_at_its_quietest() {
        let mut p = vec![0.9; 2000];
        p[700] = 0.4;
        let s = find(&p);
        assert_eq!(s[0], (0, 700));
        assert_eq!(s.last().unwrap().1, 2000);
        assert!(s.windows(2).all(|w| w[0].1 == w[1].0) && s.iter().all(|s| s.1 - s.0 <= LONGEST), "{s:?}");
    }
}
