//! The net for other languages: Whisper is made to decode the given text, and its attention tells where.

use super::{AlignedWord, ForcedAligner, SAMPLE_RATE, interpolate};
use crate::engine::{Engine, Token};
use crate::{Error, Result};
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
        if audio.len() > self.longest() {
            return Err(Error::TooLong { samples: audio.len(), max: self.longest() });
        }
        let heard = self.tokens(audio, words)?;
        let mut placed: Vec<Option<AlignedWord>> = vec![None; words.len()];
        // Attention says where a token ends; a word starts where the one before it ended, unless a
        // pause lies between.
        let sounding = sounding(audio);
        let mut before = sounding.first().map_or(0, |s| s.0);
        for (place, tokens) in placed.iter_mut().zip(&heard) {
            let Some(end) = tokens.last().and_then(|t| t.end) else { continue };
            let end = usize::try_from(end).unwrap_or(audio.len());
            let (start, end) = out_of_pauses(before.min(end), end, &sounding);
            let logprob = tokens.iter().map(|t| t.logprob).sum::<f32>() / tokens.len() as f32;
            *place = Some(AlignedWord { start, end, score: logprob.exp().clamp(0.0, 1.0), timing: Timing::Inferred });
            before = end;
        }
        Ok(interpolate(&mut placed, audio.len()))
    }
}

/// Stretches that are louder than a twentieth of the loudest, with less than 200 ms of quiet inside.
fn sounding(audio: &[f32]) -> Vec<(usize, usize)> {
    const STEP: usize = 160;
    const PAUSE: usize = 20 * STEP;
    let loudness: Vec<f32> = audio.chunks(STEP).map(|c| c.iter().fold(0.0, |m: f32, s| m.max(s.abs()))).collect();
    let most = loudness.iter().copied().fold(0.0, f32::max);
    let mut out: Vec<(usize, usize)> = Vec::new();
    for (i, _) in loudness.iter().enumerate().filter(|(_, l)| **l > most / 20.0) {
        let (start, end) = (i * STEP, ((i + 1) * STEP).min(audio.len()));
        match out.last_mut() {
            Some(last) if start - last.1 < PAUSE => last.1 = end,
            _ => out.push((start, end)),
        }
    }
    out
}

/// A word's part in the stretch that holds most of it.
fn out_of_pauses(start: usize, end: usize, sounding: &[(usize, usize)]) -> (usize, usize) {
    let overlap = |(a, b): &(usize, usize)| end.min(*b).saturating_sub(start.max(*a));
    match sounding.iter().max_by_key(|s| overlap(s)).filter(|s| overlap(s) > 0) {
        Some((a, b)) => (start.max(*a), end.min(*b)),
        None => (start, end),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stay_out_of_pauses() {
        let mut audio = vec![0.0; 32_000];
        audio[4_000..8_000].fill(0.5);
        audio[9_600..12_800].fill(0.3);
        audio[24_000..30_400].fill(0.4);
        let s = sounding(&audio);
        assert_eq!(s, [(4_000, 12_800), (24_000, 30_400)]);
        assert_eq!(out_of_pauses(12_000, 28_000, &s), (24_000, 28_000));
        assert_eq!(out_of_pauses(6_000, 13_000, &s), (6_000, 12_800));
        assert_eq!(out_of_pauses(14_000, 16_000, &s), (14_000, 16_000), "a word in a pause stays where it is");
        assert_eq!(sounding(&[]), []);
    }
}
