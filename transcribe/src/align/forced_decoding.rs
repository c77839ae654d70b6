//! The net for other languages: Whisper is made to decode the given text, and its attention tells where.

use super::{AlignedWord, ForcedAligner, SAMPLE_RATE, interpolate};
use crate::Result;
use crate::engine::{Engine, Token};
use redline_schemas::{Aligner, Timing};

/// Tokens that fit into one window beside Whisper's own.
const MOST_TOKENS: usize = 200;

/// Forced decoding with a Whisper model. Less exact than [`super::PhoneAligner`], but it speaks
/// Whisper's languages; its words are always `Inferred`.
pub struct ForcedDecoding<'e> {
    engine: &'e Engine,
    language: String,
    threads: usize,
}

impl<'e> ForcedDecoding<'e> {
    /// An aligner for a language, by Whisper's code.
    #[must_use]
    pub fn new(engine: &'e Engine, language: &str, threads: usize) -> Self {
        Self { engine, language: language.into(), threads }
    }

    /// Every word with its tokens as heard; fewer words when the window is full.
    pub fn tokens(&self, audio: &[f32], words: &[&str]) -> Result<Vec<Vec<Token>>> {
        let mut all = Vec::new();
        let mut counts = Vec::new();
        for w in words {
            let t = self.engine.tokens(&format!(" {w}"), MOST_TOKENS)?;
            if all.len() + t.len() > MOST_TOKENS {
                break;
            }
            counts.push(t.len());
            all.extend(t);
        }
        let heard = self.engine.hearer(self.threads)?.hear_given(audio, &self.language, &all)?;
        let mut tokens = heard.tokens.into_iter();
        Ok(counts.into_iter().map(|n| tokens.by_ref().take(n).collect()).collect())
    }
}

impl ForcedAligner for ForcedDecoding<'_> {
    fn describe(&self) -> Aligner {
        let model = self.engine.model();
        Aligner { name: "forced-decoding".into(), version: model.engine.clone(), sha256: Some(model.sha256.clone()) }
    }

    fn longest(&self) -> usize {
        30 * SAMPLE_RATE as usize
    }

    fn align(&self, audio: &[f32], words: &[&str]) -> Result<Vec<AlignedWord>> {
        let heard = self.tokens(audio, words)?;
        let mut placed: Vec<Option<AlignedWord>> = vec![None; words.len()];
        // Attention says where a token ends; a word starts where the one before it ended.
        let mut before = onset(audio);
        for (place, tokens) in placed.iter_mut().zip(&heard) {
            let Some(end) = tokens.last().and_then(|t| t.end) else { continue };
            let end = usize::try_from(end).unwrap_or(audio.len());
            let logprob = tokens.iter().map(|t| t.logprob).sum::<f32>() / tokens.len() as f32;
            *place = Some(AlignedWord { start: before.min(end), end, score: logprob.exp().clamp(0.0, 1.0), timing: Timing::Inferred });
            before = end;
        }
        Ok(interpolate(&mut placed, audio.len()))
    }
}

/// The first sample of a 10 ms step that is louder than a twentieth of the loudest.
fn onset(audio: &[f32]) -> usize {
    const STEP: usize = 160;
    let loudness: Vec<f32> = audio.chunks(STEP).map(|c| c.iter().fold(0.0, |m: f32, s| m.max(s.abs()))).collect();
    let most = loudness.iter().copied().fold(0.0, f32::max);
    loudness.iter().position(|l| *l > most / 20.0).unwrap_or(0) * STEP
}
