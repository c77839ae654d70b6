//! Audio cut at its pauses into pieces that a speech model takes whole.

use crate::Result;
use crate::audio::{AudioReader, RATE};
use crate::vad::{Stretch, StretchFinder, Vad, WINDOW};
use std::collections::VecDeque;

/// Pauses up to this long stay inside a piece, samples.
pub const MERGE_PAUSE: u64 = RATE as u64 * 12 / 10;
/// The longest piece, samples; Whisper's window is 30 s.
pub const LONGEST: u64 = RATE as u64 * 28;
/// Sound kept before and after speech, samples.
pub const PADDING: u64 = RATE as u64 / 5;

/// Samples whose probabilities are computed at once.
const BLOCK: usize = WINDOW * 940;
/// Samples that only warm the model up at the head of a block.
const LEAD: usize = WINDOW * 30;

/// A stretch of audio between pauses.
#[derive(Debug, Clone, PartialEq)]
pub struct Piece {
    /// Its first sample in the recording, at 16 kHz.
    pub start: u64,
    /// Its samples, mono, 16 kHz.
    pub audio: Vec<f32>,
    /// Where somebody speaks, as samples of the recording.
    pub speech: Vec<(u64, u64)>,
}

impl Piece {
    /// Samples of speech.
    #[must_use]
    pub fn speech_samples(&self) -> u64 {
        self.speech.iter().map(|(a, b)| b - a).sum()
    }
}

/// Reads a file piece by piece; memory is bounded by the longest piece.
pub struct Pieces<'a> {
    reader: AudioReader,
    vad: &'a mut Vad,
    /// Samples from `first` on.
    held: Vec<f32>,
    first: u64,
    /// Samples whose probabilities are known.
    judged: u64,
    ended: bool,
    finder: StretchFinder,
    open: Vec<(u64, u64)>,
    ready: VecDeque<Piece>,
    /// The end of the last piece given out; the next does not reach before it.
    given: u64,
}

impl<'a> Pieces<'a> {
    /// Pieces of a file.
    pub fn new(reader: AudioReader, vad: &'a mut Vad) -> Self {
        Self {
            reader,
            vad,
            held: Vec::new(),
            first: 0,
            judged: 0,
            ended: false,
            finder: StretchFinder::default(),
            open: Vec::new(),
            ready: VecDeque::new(),
            given: 0,
        }
    }

    /// The reader, for what it knows of the file.
    #[must_use]
    pub fn reader(&self) -> &AudioReader {
        &self.reader
    }

    /// The next piece; `None` after the last.
    pub fn next_piece(&mut self) -> Result<Option<Piece>> {
        loop {
            if let Some(p) = self.ready.pop_front() {
                return Ok(Some(p));
            }
            if self.ended {
                return Ok(None);
            }
            self.fill()?;
            self.judge()?;
            self.forget();
        }
    }

    fn end(&self) -> u64 {
        self.first + self.held.len() as u64
    }

    fn fill(&mut self) -> Result<()> {
        while self.end() - self.judged < BLOCK as u64 {
            match self.reader.next_block()? {
                Some(b) => self.held.extend_from_slice(&b),
                None => {
                    self.ended = true;
                    break;
                }
            }
        }
        Ok(())
    }

    fn judge(&mut self) -> Result<()> {
        let lead = self.judged.saturating_sub(LEAD as u64).max(self.first);
        let upto = if self.ended { self.end() } else { self.judged + BLOCK as u64 };
        let block = &self.held[(lead - self.first) as usize..(upto - self.first) as usize];
        let probs = self.vad.probabilities(block)?;
        let skip = ((self.judged - lead) / WINDOW as u64) as usize;
        self.judged = upto;
        for p in probs.into_iter().skip(skip) {
            if let Some(s) = self.finder.push(p) {
                self.take(s);
            }
            // A pause too long to stay inside a piece ends the one that is open.
            let now = self.finder.seen() * WINDOW as u64;
            if self.finder.open_since().is_none() && self.open.last().is_some_and(|(_, e)| now > e + MERGE_PAUSE) {
                self.close(u64::MAX);
            }
        }
        if self.ended {
            if let Some(s) = self.finder.finish() {
                self.take(s);
            }
            self.close(u64::MAX);
        }
        Ok(())
    }

    fn take(&mut self, s: Stretch) {
        let (start, end) = (s.start * WINDOW as u64, (s.end * WINDOW as u64).min(self.end()));
        if let (Some((first, _)), Some((_, last))) = (self.open.first(), self.open.last())
            && (start.saturating_sub(*last) > MERGE_PAUSE || end - first > LONGEST)
        {
            self.close(start);
        }
        self.open.push((start, end));
    }

    /// Makes a piece of the open stretches; its padding ends before `limit`, where speech goes on.
    fn close(&mut self, limit: u64) {
        let speech = std::mem::take(&mut self.open);
        let (Some((start, _)), Some((_, end))) = (speech.first().copied(), speech.last().copied()) else { return };
        let start = start.saturating_sub(PADDING).max(self.given).max(self.first);
        let end = (end + PADDING).min(self.end()).min(limit.max(end));
        let audio = self.held[(start - self.first) as usize..(end - self.first) as usize].to_vec();
        self.given = end;
        self.ready.push_back(Piece { start, audio, speech });
    }

    /// Lets go of samples that no piece and no block needs any more.
    fn forget(&mut self) {
        let speech = self.open.first().map(|(s, _)| *s).or(self.finder.open_since().map(|w| w * WINDOW as u64));
        let keep = speech.unwrap_or(self.judged).min(self.judged.saturating_sub(LEAD as u64)).saturating_sub(PADDING);
        // Whole windows, so that a block's head stays on the grid of probabilities.
        let keep = keep / WINDOW as u64 * WINDOW as u64;
        if keep > self.first {
            self.held.drain(..(keep - self.first) as usize);
            self.first = keep;
        }
    }
}
