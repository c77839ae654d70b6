//! Forced alignment: a given text and its sound, to the time of every word.
//!
//! [`ForcedAligner`] is the one trait. [`PhoneAligner`] is the default: a small phone recogniser
//! (CTC) places the words robustly, a phone HMM then finds their edges, and neither needs a
//! network. [`align_text`] does whole recordings: it cuts them at pauses, keeps every
//! word, and reports what did not fit.

pub mod normalise;

mod conformer;
mod ctc;
mod forced_decoding;
mod hama;
mod hmm;
mod lexicon;
mod linalg;
mod pauses;
mod phone_aligner;
mod phones;
mod realign;
mod recording;
mod spelling;

pub use forced_decoding::ForcedDecoding;
pub use phone_aligner::{AlignerFiles, PhoneAligner};
pub use realign::{GUARD, realign};
pub use recording::{Alignment, Problem, ProblemKind, TextSegment, align_text};

use crate::Result;
use redline_schemas::{Aligner, Timing};

/// The sample rate that aligners take, Hz.
pub const SAMPLE_RATE: u32 = 16_000;

/// When a word was said.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AlignedWord {
    /// Its first sample in the piece, at 16 kHz.
    pub start: usize,
    /// The sample after its last.
    pub end: usize,
    /// How well the sound fits, 0 to 1; 0 for a word that was not found.
    pub score: f32,
    /// How the times came about.
    pub timing: Timing,
}

/// A method that finds given words in a piece of sound.
pub trait ForcedAligner: Send + Sync {
    /// Name, version and model hash, as transcripts record them.
    fn describe(&self) -> Aligner;

    /// The longest piece it takes, samples.
    fn longest(&self) -> usize;

    /// Times of `words` in `audio` (16 kHz, mono, −1 to 1): as many as words, in order, not
    /// decreasing, inside the piece. A word that cannot be found is `Interpolated`.
    fn align(&self, audio: &[f32], words: &[&str]) -> Result<Vec<AlignedWord>>;
}

/// Gives words without a place one between their neighbours, and makes the order right.
///
/// `placed` holds start and end where they are known.
pub(crate) fn interpolate(placed: &mut [Option<AlignedWord>], len: usize) -> Vec<AlignedWord> {
    let mut out: Vec<AlignedWord> = Vec::with_capacity(placed.len());
    let mut floor = 0;
    let mut i = 0;
    while i < placed.len() {
        if let Some(w) = placed[i] {
            let start = w.start.clamp(floor, len);
            let end = w.end.clamp(start, len);
            floor = end;
            out.push(AlignedWord { start, end, ..w });
            i += 1;
            continue;
        }
        let run = placed[i..].iter().take_while(|w| w.is_none()).count();
        let ceiling = placed.get(i + run).copied().flatten().map_or(len, |w| w.start).clamp(floor, len);
        for k in 0..run {
            let at = |k: usize| floor + (ceiling - floor) * k / run;
            out.push(AlignedWord { start: at(k), end: at(k + 1), score: 0.0, timing: Timing::Interpolated });
        }
        floor = ceiling;
        i += run;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(start: usize, end: usize) -> Option<AlignedWord> {
        Some(AlignedWord { start, end, score: 1.0, timing: Timing::Aligned })
    }

    #[test]
    fn missing_words_lie_between_their_neighbours() {
        let out = interpolate(&mut [None, word(100, 200), None, None, word(300, 400), None], 500);
        let spans: Vec<_> = out.iter().map(|w| (w.start, w.end)).collect();
        assert_eq!(spans, [(0, 100), (100, 200), (200, 250), (250, 300), (300, 400), (400, 500)]);
        assert_eq!(out[2].timing, Timing::Interpolated);
    }

    #[test]
    fn wrong_order_and_overlong_words_are_put_right() {
        let out = interpolate(&mut [word(100, 300), word(50, 900)], 500);
        assert_eq!((out[1].start, out[1].end), (300, 500));
    }
}
