//! The default aligner: phone recogniser, then edges.

use super::conformer::{Conformer, FRAME_SAMPLES, LogProbs, TOKENS};
use super::ctc::{self, Emissions, Placed};
use super::hmm::{AcousticModel, Link, find_edges};
use super::lexicon::{Lexicon, Pronunciations};
use super::pauses::{FAR, LEAST_MARGIN, LEAST_PAUSE, Loudness, WEAK};
use super::phones::Phone;
use super::{AlignedWord, ForcedAligner, interpolate};
use crate::{Error, Result, cache};
use redline_schemas::{Aligner, Timing, fsio};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// The longest piece the recogniser sees at once, samples: attention grows with its square.
const CHUNK: usize = 20 * 16_000;
/// Two minutes of words at once: more needs much memory for the search.
const LONGEST: usize = 120 * 16_000;
/// A recogniser's peak comes after the phone's onset by this much on average, samples.
const START_LAG: usize = 960;
/// A last phone goes on this long after its peak's first frame, samples.
const END_LAG: usize = 960;
/// How far a word may lie from its peaks, samples.
const SLACK: usize = 5600;
/// A phone sounds at its peak, give or take this much, samples.
const PEAK_SLACK: usize = 480;
/// A word that fits worse than this is there in name only.
const DOUBTFUL: f32 = 0.2;

/// Where the default aligner's files lie.
#[derive(Debug, Clone)]
pub struct AlignerFiles {
    /// `asr_waveform.hama`: the phone recogniser's weights.
    pub recogniser: PathBuf,
    /// `cmudict.dict`: the pronouncing dictionary.
    pub dictionary: PathBuf,
    /// The phone HMM's acoustic model: `sphinx-en-us`, to which `.means`, `.variances` and `.sendump` are added. Without it words keep the recogniser's rough edges.
    pub acoustic_model: Option<PathBuf>,
}

impl AlignerFiles {
    /// The files in a models folder.
    pub fn in_folder(dir: &Path) -> Result<Self> {
        let file = |name: &str| cache::existing(&dir.join(name));
        let acoustic_model = Some(dir.join("sphinx-en-us")).filter(|stem| stem.with_extension("means").is_file());
        Ok(Self { recogniser: file("asr_waveform.hama")?, dictionary: file("cmudict.dict")?, acoustic_model })
    }

    /// The files in the cache, where `redline model-fetch` puts them.
    pub fn cached() -> Result<Self> {
        Self::in_folder(&cache::models_dir().ok_or(Error::NoCache)?)
    }
}

/// The default aligner. English; other languages get their letters by English rules.
pub struct PhoneAligner {
    recogniser: Conformer,
    acoustic_model: Option<AcousticModel>,
    lexicon: Lexicon,
    sha256: String,
    /// Pronunciations by written word: texts repeat themselves.
    said: Mutex<HashMap<String, Pronunciations>>,
}

impl PhoneAligner {
    /// Loads the models.
    pub fn load(files: &AlignerFiles) -> Result<Self> {
        Ok(Self {
            recogniser: Conformer::read(&files.recogniser)?,
            acoustic_model: files.acoustic_model.as_deref().map(AcousticModel::read).transpose()?,
            lexicon: Lexicon::read(&files.dictionary)?,
            sha256: fsio::sha256_file(&files.recogniser)?,
            said: Mutex::default(),
        })
    }

    fn pronounce(&self, word: &str) -> Pronunciations {
        let mut said = self.said.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(known) = said.get(word) {
            return known.clone();
        }
        let p = self.lexicon.pronounce(word);
        said.insert(word.into(), p.clone());
        p
    }

    /// The recogniser over audio of any length, in chunks cut where it is quiet.
    fn log_probs(&self, audio: &[f32]) -> Result<LogProbs> {
        let mut all = LogProbs { frames: 0, values: Vec::new() };
        let mut at = 0;
        while at < audio.len() {
            let end = if audio.len() - at <= CHUNK { audio.len() } else { quiet_cut(audio, at + CHUNK / 2, at + CHUNK) };
            let mut part = self.recogniser.run(&audio[at..end])?;
            // Chunks are whole frames but for the last; the recogniser adds one frame at the end.
            let whole = (end - at).div_ceil(FRAME_SAMPLES).min(part.frames);
            part.values.truncate(whole * TOKENS);
            all.values.extend(part.values);
            all.frames += whole;
            at = end;
        }
        Ok(all)
    }
}

/// Replaces the rough edges of the words that were found by the HMM's.
fn refine(
    model: &AcousticModel,
    audio: &[f32],
    noisy: bool,
    ways: &[Vec<Vec<Phone>>],
    placed: &[Option<Placed>],
    out: &mut [Option<AlignedWord>],
) {
    let found: Vec<usize> = (0..placed.len()).filter(|i| placed[*i].is_some()).collect();
    let chain = found
        .iter()
        .filter_map(|&i| {
            let p = placed[i].as_ref()?;
            Some(Link {
                phones: ways[i].get(p.way).cloned().unwrap_or_default(),
                from: (p.first * FRAME_SAMPLES).saturating_sub(SLACK),
                to: p.last * FRAME_SAMPLES + SLACK,
                core: (p.first * FRAME_SAMPLES + PEAK_SLACK, (p.last * FRAME_SAMPLES).saturating_sub(PEAK_SLACK)),
            })
        })
        .collect();
    let Some(edges) = find_edges(model, audio, &chain, noisy) else {
        tracing::debug!("no path for the phone HMM; the recogniser's rough times stay");
        return;
    };
    for (i, (start, end)) in found.into_iter().zip(edges) {
        if let Some(w) = &mut out[i] {
            (w.start, w.end) = (start, end);
        }
    }
}

/// Takes the quiet beside a pause out of the words around it.
fn leave_pauses(loudness: &Loudness, samples: usize, ways: &[Vec<Vec<Phone>>], placed: &[Option<Placed>], out: &mut [Option<AlignedWord>]) {
    let found: Vec<(usize, &Placed)> = placed.iter().enumerate().filter_map(|(i, p)| Some((i, p.as_ref()?))).collect();
    let phones = |i: usize, p: &Placed| ways[i].get(p.way).map_or(&[][..], Vec::as_slice);
    let least_cut = |p: Option<&Phone>| if p.is_some_and(|p| WEAK.contains(p)) { FAR } else { 0 };
    for k in 0..=found.len() {
        let (before, after) = (k.checked_sub(1).and_then(|b| found.get(b)), found.get(k));
        let from = before.map_or(0, |(_, p)| p.last * FRAME_SAMPLES);
        let to = after.map_or(samples, |(_, p)| p.first * FRAME_SAMPLES);
        let least = if before.is_some() && after.is_some() { LEAST_PAUSE } else { LEAST_MARGIN };
        let quiet = loudness.quiet(from, to, least);
        if let (Some((i, p)), Some((start, _))) = (before, quiet.first().copied())
            && let Some(w) = &mut out[*i]
            && w.end > start + least_cut(phones(*i, p).last())
        {
            w.end = start.max(w.start);
        }
        if let (Some((i, p)), Some((_, end))) = (after, quiet.last().copied())
            && let Some(w) = &mut out[*i]
            && end > w.start + least_cut(phones(*i, p).first())
        {
            w.start = end.min(w.end);
        }
    }
}

/// The quietest whole frame between two samples.
fn quiet_cut(audio: &[f32], from: usize, to: usize) -> usize {
    let energy = |f: usize| audio[(f.saturating_sub(1)) * FRAME_SAMPLES..(f + 1) * FRAME_SAMPLES].iter().map(|s| s * s).sum::<f32>();
    let frames = from / FRAME_SAMPLES..to / FRAME_SAMPLES;
    frames.min_by(|a, b| energy(*a).total_cmp(&energy(*b))).map_or(to, |f| f * FRAME_SAMPLES)
}

impl ForcedAligner for PhoneAligner {
    fn describe(&self) -> Aligner {
        Aligner {
            name: if self.acoustic_model.is_some() { "phone-ctc-hmm".into() } else { "phone-ctc".into() },
            version: env!("CARGO_PKG_VERSION").into(),
            sha256: Some(self.sha256.clone()),
        }
    }

    fn longest(&self) -> usize {
        LONGEST
    }

    fn align(&self, audio: &[f32], words: &[&str]) -> Result<Vec<AlignedWord>> {
        if audio.len() > LONGEST {
            return Err(Error::TooLong { samples: audio.len(), max: LONGEST });
        }
        let ways: Vec<_> = words.iter().map(|w| self.pronounce(w).ways).collect();
        let emissions = Emissions::new(&self.log_probs(audio)?);
        let placed = ctc::align(&emissions, &ways);
        let mut out: Vec<Option<AlignedWord>> =
            placed.iter().zip(&ways).map(|(p, ways)| p.as_ref().map(|p| peak_times(p, ways.is_empty()))).collect();
        let loudness = Loudness::of(audio);
        if let Some(model) = &self.acoustic_model {
            refine(model, audio, loudness.noisy, &ways, &placed, &mut out);
        }
        leave_pauses(&loudness, audio.len(), &ways, &placed, &mut out);
        Ok(interpolate(&mut out, audio.len()))
    }
}

fn peak_times(p: &Placed, wildcard: bool) -> AlignedWord {
    let start = (p.first * FRAME_SAMPLES).saturating_sub(START_LAG);
    let end = p.last * FRAME_SAMPLES + END_LAG;
    let score = (p.score / 3.0).exp().clamp(0.0, 1.0);
    let timing = if wildcard || score < DOUBTFUL { Timing::Inferred } else { Timing::Aligned };
    AlignedWord { start, end, score: if wildcard { 0.0 } else { score }, timing }
}
