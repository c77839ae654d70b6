//! The phone HMM's acoustic model: a phonetically tied mixture of CMU Sphinx.
//!
//! Every phone has a codebook of 128 Gaussians in each of three streams, and three states that
//! weigh them. Only the context-independent states are used.

use super::super::phones::Phone;
use super::mfcc::{CEPSTRA, Frame, STREAMS};
use crate::{Error, Result, cache};
use redline_schemas::fsio;
use std::path::Path;

const PHONES: usize = 42;
const DENSITIES: usize = 128;
/// States of a phone.
pub(super) const STATES: usize = 3;
/// Words of the weights' scale: 1024 steps of log base 1.0001.
const WEIGHT_STEP: f32 = 0.102_4;
const VARIANCE_FLOOR: f32 = 1e-4;
const MAX_BYTES: u64 = 64 << 20;

/// The model's own order of phones, in which silence and noises stand too.
const NAMES: [&str; PHONES] = [
    "+NSN+", "+SPN+", "AA", "AE", "AH", "AO", "AW", "AY", "B", "CH", "D", "DH", "EH", "ER", "EY", "F", "G", "HH", "IH", "IY", "JH", "K",
    "L", "M", "N", "NG", "OW", "OY", "P", "R", "S", "SH", "SIL", "T", "TH", "UH", "UW", "V", "W", "Y", "Z", "ZH",
];

/// A phone of the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Unit(pub usize);

impl Unit {
    /// Noise that is no speech.
    pub const NOISE: Self = Self(0);
    /// Silence.
    pub const SILENCE: Self = Self(32);

    pub fn of(phone: Phone) -> Self {
        Self(NAMES.iter().position(|n| *n == phone.name()).unwrap_or(1))
    }
}

/// One stream of one codebook.
struct Codebook {
    /// `cepstrum × density`, so that the inner loop runs over densities.
    means: Vec<f32>,
    /// Half the inverse variances, likewise.
    precisions: Vec<f32>,
    /// Log of the norm of each density.
    norms: Vec<f32>,
}

/// The acoustic model.
pub(in super::super) struct AcousticModel {
    /// `unit × stream`.
    codebooks: Vec<Codebook>,
    /// Weights: `unit × stream × state × density`.
    weights: Vec<f32>,
}

impl AcousticModel {
    /// Reads `<stem>.means`, `<stem>.variances` and `<stem>.sendump`.
    pub fn read(stem: &Path) -> Result<Self> {
        let read = |name: &str| -> Result<Vec<u8>> { Ok(fsio::read_limited(&cache::existing(&stem.with_extension(name))?, MAX_BYTES)?) };
        let bad = |name: &str| Error::ModelUnusable {
            path: stem.with_extension(name),
            message: "not this file of the CMU Sphinx en-us model; fetch it again with `redline model-fetch`".into(),
        };
        let means = gaussians(&read("means")?).ok_or_else(|| bad("means"))?;
        let variances = gaussians(&read("variances")?).ok_or_else(|| bad("variances"))?;
        let weights = mixture_weights(&read("sendump")?).ok_or_else(|| bad("sendump"))?;
        let codebooks = means
            .chunks_exact(DENSITIES * CEPSTRA)
            .zip(variances.chunks_exact(DENSITIES * CEPSTRA))
            .map(|(m, v)| {
                let v: Vec<f32> = v.iter().map(|v| v.max(VARIANCE_FLOOR)).collect();
                let norm = |row: &[f32]| -0.5 * row.iter().map(|v| (v * 2.0 * std::f32::consts::PI).ln()).sum::<f32>();
                Codebook {
                    means: by_cepstrum(m),
                    norms: v.chunks_exact(CEPSTRA).map(norm).collect(),
                    precisions: by_cepstrum(&v.iter().map(|v| 0.5 / v).collect::<Vec<_>>()),
                }
            })
            .collect();
        Ok(Self { codebooks, weights })
    }

    /// Log likelihoods of a unit's states.
    pub(super) fn score(&self, unit: Unit, frame: &Frame) -> [f32; STATES] {
        let mut out = [0.0; STATES];
        let mut density = [0.0_f32; DENSITIES];
        for (stream, x) in frame.iter().enumerate() {
            let book = &self.codebooks[unit.0 * STREAMS + stream];
            density.copy_from_slice(&book.norms);
            for ((x, m), p) in x.iter().zip(book.means.chunks_exact(DENSITIES)).zip(book.precisions.chunks_exact(DENSITIES)) {
                for ((d, m), p) in density.iter_mut().zip(m).zip(p) {
                    *d -= (x - m) * (x - m) * p;
                }
            }
            let best = density.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            // Densities far from the best add nothing, and their exponentials cost most.
            let near = density.iter().enumerate().filter(|(_, d)| **d > best - 10.0);
            let mut sums = [0.0; STATES];
            let at = (unit.0 * STREAMS + stream) * STATES * DENSITIES;
            for (i, d) in near {
                let likelihood = (d - best).exp();
                for (state, sum) in sums.iter_mut().enumerate() {
                    *sum += likelihood * self.weights[at + state * DENSITIES + i];
                }
            }
            out.iter_mut().zip(sums).for_each(|(o, s)| *o += best + s.ln());
        }
        out
    }
}

fn by_cepstrum(by_density: &[f32]) -> Vec<f32> {
    (0..CEPSTRA).flat_map(|c| by_density[c..].iter().step_by(CEPSTRA).copied()).collect()
}

fn i32_at(bytes: &[u8], at: usize) -> Option<i32> {
    Some(i32::from_le_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

/// A file of means or variances: a text header, a byte-order mark, sizes, floats.
fn gaussians(bytes: &[u8]) -> Option<Vec<f32>> {
    const END: &[u8] = b"endhdr\n";
    let header = bytes.get(..256.min(bytes.len()))?.windows(END.len()).position(|w| w == END)? + END.len();
    let sizes: Vec<i32> = (0..8).map(|i| i32_at(bytes, header + 4 * i)).collect::<Option<_>>()?;
    let cepstra = CEPSTRA as i32;
    let total = PHONES * STREAMS * DENSITIES * CEPSTRA;
    if sizes != [0x1122_3344, PHONES as i32, STREAMS as i32, DENSITIES as i32, cepstra, cepstra, cepstra, total as i32] {
        return None;
    }
    let floats = bytes.get(header + 32..header + 32 + 4 * total)?;
    Some(floats.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect())
}

/// Weights of the context-independent states, which come first in the file.
fn mixture_weights(bytes: &[u8]) -> Option<Vec<f32>> {
    let mut at = 0;
    // Strings with their lengths, until a length of 0.
    for _ in 0..64 {
        let n = usize::try_from(i32_at(bytes, at)?).ok().filter(|n| *n < 256)?;
        at += 4 + n;
        if n == 0 {
            break;
        }
    }
    let (rows, senones) = (usize::try_from(i32_at(bytes, at)?).ok()?, usize::try_from(i32_at(bytes, at + 4)?).ok()?);
    let data = bytes.get(at + 8..)?;
    if rows != DENSITIES || senones < PHONES * STATES || data.len() < STREAMS * DENSITIES * senones {
        return None;
    }
    let mut out = Vec::with_capacity(PHONES * STREAMS * STATES * DENSITIES);
    for unit in 0..PHONES {
        for stream in 0..STREAMS {
            for state in 0..STATES {
                out.extend(
                    (0..DENSITIES)
                        .map(|d| (-WEIGHT_STEP * f32::from(data[(stream * DENSITIES + d) * senones + unit * STATES + state])).exp()),
                );
            }
        }
    }
    Some(out)
}
