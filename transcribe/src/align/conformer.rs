//! The phone recogniser: a four-block conformer over log-mel frames with a CTC output.
//!
//! 16 kHz audio → 80 log-mel bands every 10 ms → a strided convolution (20 ms a frame) → four
//! blocks of half feed-forward, self-attention, convolution, half feed-forward → log
//! probabilities of 191 tokens (IPA phones, a word boundary, CTC's blank).
//! Attention grows with the square of the length: give it pieces of at most 20 s.

use super::hama::Package;
use super::linalg::{MatMul, add, add_bias, gelu, layer_norm, log_softmax_rows, sigmoid, silu, softmax_rows};
use crate::{Error, Result};
use std::path::Path;

const FFT: usize = 400;
const HOP: usize = 160;
const BINS: usize = 201;
const MELS: usize = 80;
const WIDTH: usize = 144;
const INNER: usize = 576;
const HEADS: usize = 4;
const HEAD: usize = WIDTH / HEADS;
const TAPS: usize = 31;
const BLOCKS: usize = 4;

/// Tokens of the output layer.
pub(super) const TOKENS: usize = 191;
/// Samples at 16 kHz from one output frame to the next.
pub(super) const FRAME_SAMPLES: usize = 320;
/// The longest audio that is taken at once, samples.
pub(super) const MAX_SAMPLES: usize = 30 * 16_000;

struct Norm {
    weight: Vec<f32>,
    bias: Vec<f32>,
}

struct Linear {
    weight: Vec<f32>,
    bias: Vec<f32>,
    /// Whether the weight is stored output × input.
    transposed: bool,
}

struct FeedForward {
    norm: Norm,
    up: Linear,
    down: Linear,
}

struct Block {
    first: FeedForward,
    attention_norm: Norm,
    qkv: Linear,
    attention_out: Linear,
    convolution_norm: Norm,
    gate: Linear,
    /// `taps × channels`.
    depthwise: Vec<f32>,
    depthwise_bias: Vec<f32>,
    convolution_out: Linear,
    second: FeedForward,
    norm: Norm,
}

/// The recogniser's weights.
pub(super) struct Conformer {
    cosines: Vec<f32>,
    sines: Vec<f32>,
    mel: Vec<f32>,
    stem: Linear,
    blocks: Vec<Block>,
    output: Linear,
}

/// Log probabilities, one row of [`TOKENS`] a frame.
pub(super) struct LogProbs {
    pub frames: usize,
    pub values: Vec<f32>,
}

impl LogProbs {
    pub fn row(&self, frame: usize) -> &[f32] {
        &self.values[frame * TOKENS..(frame + 1) * TOKENS]
    }
}

impl Linear {
    fn run(&self, x: &[f32], out: &mut Vec<f32>) {
        let n = self.bias.len();
        let k = self.weight.len() / n;
        let m = x.len() / k;
        out.clear();
        out.resize(m * n, 0.0);
        let mm = MatMul::new(m, k, n);
        if self.transposed { mm.transposed() } else { mm }.run(x, &self.weight, out);
        add_bias(out, &self.bias);
    }
}

impl FeedForward {
    fn add_half(&self, x: &mut [f32], a: &mut Vec<f32>, b: &mut Vec<f32>) {
        layer_norm(x, &self.norm.weight, &self.norm.bias, a);
        self.up.run(a, b);
        silu(b);
        self.down.run(b, a);
        add(x, a, 0.5);
    }
}

fn transpose(rows: usize, cols: usize, x: &[f32]) -> Vec<f32> {
    let mut out = vec![0.0; x.len()];
    for r in 0..rows {
        for c in 0..cols {
            out[c * rows + r] = x[r * cols + c];
        }
    }
    out
}

impl Conformer {
    /// Reads `asr_waveform.hama`.
    pub fn read(path: &Path) -> Result<Self> {
        let mut p = Package::read(path, 2)?;
        let stem_weight = p.take("onnx::Conv_801", &[WIDTH, MELS, 3])?;
        // Output × band × tap becomes output × (tap, band): three frames in a row are one input.
        let mut stem = vec![0.0; stem_weight.len()];
        for o in 0..WIDTH {
            for band in 0..MELS {
                for tap in 0..3 {
                    stem[(o * 3 + tap) * MELS + band] = stem_weight[(o * MELS + band) * 3 + tap];
                }
            }
        }
        let blocks = (0..BLOCKS).map(|i| read_block(&mut p, i)).collect::<Result<_>>()?;
        Ok(Self {
            cosines: p.take("stft_real_kernel", &[BINS, 1, FFT])?,
            sines: p.take("stft_imag_kernel", &[BINS, 1, FFT])?,
            mel: p.take("mel_fb", &[BINS, MELS])?,
            stem: Linear { weight: stem, bias: p.take("onnx::Conv_802", &[WIDTH])?, transposed: true },
            output: Linear {
                weight: p.take("acoustic_model.model.proj.weight", &[TOKENS, WIDTH, 1])?,
                bias: p.take("acoustic_model.model.proj.bias", &[TOKENS])?,
                transposed: true,
            },
            blocks,
        })
    }

    /// Log probabilities of the tokens, one row every [`FRAME_SAMPLES`].
    pub fn run(&self, audio: &[f32]) -> Result<LogProbs> {
        if audio.len() > MAX_SAMPLES {
            return Err(Error::TooLong { samples: audio.len(), max: MAX_SAMPLES });
        }
        let (steps, mel) = self.log_mel(audio);
        let frames = (steps - 1) / 2 + 1;
        let mut padded = vec![0.0; (steps + 3) * MELS];
        padded[MELS..MELS + mel.len()].copy_from_slice(&mel);
        let windows: Vec<f32> = (0..frames).flat_map(|f| padded[2 * f * MELS..(2 * f + 3) * MELS].iter().copied()).collect();
        let mut x = Vec::new();
        self.stem.run(&windows, &mut x);
        gelu(&mut x);
        let (mut a, mut b, mut c) = (Vec::new(), Vec::new(), Vec::new());
        for block in &self.blocks {
            block.first.add_half(&mut x, &mut a, &mut b);
            block.attention(&mut x, frames, &mut a, &mut b);
            block.convolution(&mut x, frames, &mut a, &mut b, &mut c);
            block.second.add_half(&mut x, &mut a, &mut b);
            layer_norm(&x, &block.norm.weight, &block.norm.bias, &mut a);
            std::mem::swap(&mut x, &mut a);
        }
        self.output.run(&x, &mut a);
        log_softmax_rows(&mut a, TOKENS);
        Ok(LogProbs { frames, values: a })
    }

    /// Steps of 10 ms, and their log-mel bands.
    fn log_mel(&self, audio: &[f32]) -> (usize, Vec<f32>) {
        const PAD: usize = FFT / 2;
        // The mirror at the ends needs more samples than it is wide.
        let mut samples: Vec<f32> = audio.iter().map(|s| if s.is_finite() { s.clamp(-1.0, 1.0) } else { 0.0 }).collect();
        samples.resize(samples.len().max(PAD + 2), 0.0);
        let n = samples.len();
        let mut padded = Vec::with_capacity(n + FFT);
        padded.extend((1..=PAD).rev().map(|i| samples[i]));
        padded.extend_from_slice(&samples);
        padded.extend((0..PAD).map(|i| samples[n - 2 - i]));
        let steps = n / HOP + 1;
        // Windows overlap: rows of the left matrix start HOP samples apart.
        let product = MatMul { a_stride: HOP, ..MatMul::new(steps, FFT, BINS) }.transposed();
        let (mut re, mut im) = (vec![0.0; steps * BINS], vec![0.0; steps * BINS]);
        product.run(&padded, &self.cosines, &mut re);
        product.run(&padded, &self.sines, &mut im);
        re.iter_mut().zip(&im).for_each(|(r, i)| *r = *r * *r + i * i);
        let mut mel = vec![0.0; steps * MELS];
        MatMul::new(steps, BINS, MELS).run(&re, &self.mel, &mut mel);
        // The network was exported with half-precision input.
        mel.iter_mut().for_each(|v| *v = half::f16::from_f32(v.max(1e-10).ln()).to_f32());
        (steps, mel)
    }
}

fn read_block(p: &mut Package, i: usize) -> Result<Block> {
    let name = |s: &str| format!("acoustic_model.model.blocks.{i}.{s}");
    // The exporter numbered the matrices of a block; nine numbers a block, three of them unused.
    let matrix = |n: usize| format!("onnx::MatMul_{}", 829 + 9 * i + n);
    let norm = |p: &mut Package, s: &str| -> Result<Norm> {
        Ok(Norm { weight: p.take(&name(&format!("{s}.weight")), &[WIDTH])?, bias: p.take(&name(&format!("{s}.bias")), &[WIDTH])? })
    };
    let feed_forward = |p: &mut Package, s: &str, first: usize| -> Result<FeedForward> {
        Ok(FeedForward {
            norm: norm(p, &format!("{s}.norm"))?,
            up: Linear {
                weight: p.take(&matrix(first), &[WIDTH, INNER])?,
                bias: p.take(&name(&format!("{s}.fc1.bias")), &[INNER])?,
                transposed: false,
            },
            down: Linear {
                weight: p.take(&matrix(first + 1), &[INNER, WIDTH])?,
                bias: p.take(&name(&format!("{s}.fc2.bias")), &[WIDTH])?,
                transposed: false,
            },
        })
    };
    Ok(Block {
        first: feed_forward(p, "ffn1", 0)?,
        attention_norm: norm(p, "attn_norm")?,
        qkv: Linear {
            weight: p.take(&matrix(2), &[WIDTH, 3 * WIDTH])?,
            bias: p.take(&name("attn.in_proj_bias"), &[3 * WIDTH])?,
            transposed: false,
        },
        attention_out: Linear {
            weight: p.take(&matrix(6), &[WIDTH, WIDTH])?,
            bias: p.take(&name("attn.out_proj.bias"), &[WIDTH])?,
            transposed: false,
        },
        convolution_norm: norm(p, "conv.norm")?,
        gate: Linear {
            weight: p.take(&name("conv.pointwise1.weight"), &[2 * WIDTH, WIDTH, 1])?,
            bias: p.take(&name("conv.pointwise1.bias"), &[2 * WIDTH])?,
            transposed: true,
        },
        depthwise: transpose(WIDTH, TAPS, &p.take(&format!("onnx::Conv_{}", 804 + 3 * i), &[WIDTH, 1, TAPS])?),
        depthwise_bias: p.take(&format!("onnx::Conv_{}", 805 + 3 * i), &[WIDTH])?,
        convolution_out: Linear {
            weight: p.take(&name("conv.pointwise2.weight"), &[WIDTH, WIDTH, 1])?,
            bias: p.take(&name("conv.pointwise2.bias"), &[WIDTH])?,
            transposed: true,
        },
        second: feed_forward(p, "ffn2", 7)?,
        norm: norm(p, "norm")?,
    })
}

impl Block {
    fn attention(&self, x: &mut [f32], frames: usize, a: &mut Vec<f32>, b: &mut Vec<f32>) {
        layer_norm(x, &self.attention_norm.weight, &self.attention_norm.bias, a);
        self.qkv.run(a, b);
        let mut scores = vec![0.0; frames * frames];
        let stride = 3 * WIDTH;
        for head in 0..HEADS {
            let (q, k, v) = (head * HEAD, WIDTH + head * HEAD, 2 * WIDTH + head * HEAD);
            let scale = 1.0 / (HEAD as f32).sqrt();
            MatMul { a_stride: stride, b_strides: (1, stride), scale, ..MatMul::new(frames, HEAD, frames) }.run(
                &b[q..],
                &b[k..],
                &mut scores,
            );
            softmax_rows(&mut scores, frames);
            MatMul { b_strides: (stride, 1), out_stride: WIDTH, ..MatMul::new(frames, frames, HEAD) }.run(
                &scores,
                &b[v..],
                &mut a[head * HEAD..],
            );
        }
        self.attention_out.run(a, b);
        add(x, b, 1.0);
    }

    fn convolution(&self, x: &mut [f32], frames: usize, a: &mut Vec<f32>, b: &mut Vec<f32>, c: &mut Vec<f32>) {
        layer_norm(x, &self.convolution_norm.weight, &self.convolution_norm.bias, a);
        self.gate.run(a, b);
        a.clear();
        for row in b.chunks_exact(2 * WIDTH) {
            let (value, gate) = row.split_at(WIDTH);
            a.extend(value.iter().zip(gate).map(|(v, g)| v * sigmoid(*g)));
        }
        c.clear();
        for f in 0..frames {
            let at = c.len();
            c.extend_from_slice(&self.depthwise_bias);
            let out = &mut c[at..];
            for tap in 0..TAPS {
                let Some(src) = (f + tap).checked_sub(TAPS / 2).filter(|s| *s < frames) else { continue };
                let row = &a[src * WIDTH..(src + 1) * WIDTH];
                let weights = &self.depthwise[tap * WIDTH..(tap + 1) * WIDTH];
                out.iter_mut().zip(row).zip(weights).for_each(|((o, r), w)| *o += r * w);
            }
        }
        silu(c);
        self.convolution_out.run(c, b);
        add(x, b, 1.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::align::AlignerFiles;
    use crate::align::phones::BLANK;

    /// A voice-like sweep of 1.2 s: 29 harmonics under two moving formants.
    fn clip() -> Vec<f32> {
        use std::f64::consts::TAU;
        let mut phase = 0.0;
        (0..19_200)
            .map(|i| {
                let t = f64::from(i) / 16_000.0;
                phase += TAU * (110.0 + 20.0 * (TAU * 1.3 * t).sin()) / 16_000.0;
                let f1 = 300.0 + 500.0 * (0.5 + 0.5 * (TAU * 2.1 * t).sin());
                let f2 = 1200.0 + 800.0 * (TAU * 1.7 * t).sin();
                let voice: f64 = (1..30)
                    .map(|k| {
                        let f = f64::from(k) * 110.0;
                        let a = (-((f - f1) / 150.0).powi(2)).exp() + 0.6 * (-((f - f2) / 250.0).powi(2)).exp();
                        a * (f64::from(k) * phase).sin()
                    })
                    .sum();
                (voice * 0.15 * (TAU * 3.0 * t).sin().clamp(0.0, 1.0)) as f32
            })
            .collect()
    }

    /// The reference was made by the recogniser's own Python package (hama 1.7.0) from the same clip.
    #[test]
    fn the_forward_pass_agrees_with_the_original() {
        let reference: serde_json::Value = serde_json::from_str(include_str!("recogniser_reference.json")).unwrap();
        let numbers = |key: &str| reference[key].as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect::<Vec<_>>();
        let model = Conformer::read(&AlignerFiles::cached().unwrap().recogniser).unwrap();
        let out = model.run(&clip()).unwrap();
        let best = numbers("best");
        assert_eq!(out.frames, best.len());
        for (f, best) in best.iter().enumerate() {
            let row = out.row(f);
            let ours = (0..TOKENS).max_by(|a, b| row[*a].total_cmp(&row[*b])).unwrap();
            assert_eq!(ours as f64, *best, "frame {f}");
            for (key, token) in [("blank", BLANK), ("token_84", 84)] {
                let (ours, theirs) = (f64::from(row[token]), numbers(key)[f]);
                assert!((ours - theirs).abs() < 0.05, "frame {f}, {key}: {ours} and {theirs}");
            }
        }
    }

    #[test]
    fn a_piece_that_is_too_long_is_refused_and_a_short_one_is_not() {
        let model = Conformer::read(&AlignerFiles::cached().unwrap().recogniser).unwrap();
        assert!(model.run(&vec![0.0; MAX_SAMPLES + 1]).is_err());
        assert_eq!(model.run(&[]).unwrap().frames, 1);
    }
}
