//! The features of the phone HMM: 13 cepstra every 10 ms, with first and second differences.
//!
//! The settings are those that the acoustic model was trained with (its `feat.params`).

use realfft::RealFftPlanner;

/// Samples from one frame to the next, at 16 kHz.
pub(in super::super) const STEP: usize = 160;
pub(super) const WINDOW: usize = 410;
const FFT: usize = 512;
const FILTERS: usize = 25;
const LOW_HZ: f64 = 130.0;
const HIGH_HZ: f64 = 6800.0;
const EMPHASIS: f32 = 0.97;
const LIFTER: f64 = 22.0;
/// How much of the noise estimate stays at least.
const NOISE_FLOOR: f32 = 0.2;
/// Cepstra of a frame.
pub(super) const CEPSTRA: usize = 13;
/// Streams of a frame: cepstra, first, second differences.
pub(super) const STREAMS: usize = 3;

/// Features of one frame, by stream.
pub(super) type Frame = [[f32; CEPSTRA]; STREAMS];

/// A triangle over the bins of the spectrum.
struct Filter {
    first: usize,
    weights: Vec<f32>,
}

fn filters() -> Vec<Filter> {
    let mel = |hz: f64| 2595.0 * (1.0 + hz / 700.0).log10();
    let hz = |mel: f64| 700.0 * (10_f64.powf(mel / 2595.0) - 1.0);
    let bin = 16_000.0 / FFT as f64;
    let step = (mel(HIGH_HZ) - mel(LOW_HZ)) / (FILTERS + 1) as f64;
    // Corners lie on bins.
    let corner = |i: usize| (hz(mel(LOW_HZ) + i as f64 * step) / bin).round() * bin;
    (0..FILTERS)
        .map(|i| {
            let (left, centre, right) = (corner(i), corner(i + 1), corner(i + 2));
            let area = 2.0 / (right - left);
            let inside: Vec<usize> = (0..=FFT / 2).filter(|b| (left..=right).contains(&(*b as f64 * bin))).collect();
            let weight = |b: &usize| {
                let f = *b as f64 * bin;
                let (up, down) = ((f - left) / (centre - left), (right - f) / (right - centre));
                // A corner on its centre would divide by nothing.
                (up.min(down).clamp(0.0, 1.0) * area) as f32
            };
            Filter { first: inside.first().copied().unwrap_or(0), weights: inside.iter().map(weight).collect() }
        })
        .collect()
}

/// Features of 16 kHz audio, one frame every [`STEP`]; frame `i` is centred on sample
/// `i · STEP + WINDOW / 2`. `noise` is how much of the estimated noise is taken out.
pub(super) fn features(audio: &[f32], noise: f32) -> Vec<Frame> {
    if audio.len() < WINDOW {
        return Vec::new();
    }
    let frames = (audio.len() - WINDOW) / STEP + 1;
    let filters = filters();
    let hamming: Vec<f32> =
        (0..WINDOW).map(|i| (0.54 - 0.46 * (2.0 * std::f64::consts::PI * i as f64 / (WINDOW - 1) as f64).cos()) as f32).collect();
    let basis: Vec<[f32; FILTERS]> = (0..CEPSTRA)
        .map(|c| {
            let norm = if c == 0 { (1.0 / FILTERS as f64).sqrt() } else { (2.0 / FILTERS as f64).sqrt() };
            let lift = 1.0 + LIFTER / 2.0 * (std::f64::consts::PI * c as f64 / LIFTER).sin();
            std::array::from_fn(|j| (norm * lift * (std::f64::consts::PI * c as f64 * (j as f64 + 0.5) / FILTERS as f64).cos()) as f32)
        })
        .collect();
    let fft = RealFftPlanner::<f32>::new().plan_fft_forward(FFT);
    let (mut time, mut spectrum) = (fft.make_input_vec(), fft.make_output_vec());
    let mut powers: Vec<[f32; FILTERS]> = Vec::with_capacity(frames);
    for f in 0..frames {
        let at = f * STEP;
        time.fill(0.0);
        for i in 0..WINDOW {
            let before = if at + i == 0 { 0.0 } else { audio[at + i - 1] };
            // The model was trained on 16-bit sample values.
            time[i] = (audio[at + i] - EMPHASIS * before) * 32_768.0 * hamming[i];
        }
        if fft.process(&mut time, &mut spectrum).is_err() {
            return Vec::new();
        }
        powers.push(std::array::from_fn(|b| {
            let t = &filters[b];
            t.weights.iter().zip(&spectrum[t.first..]).map(|(w, s)| w * s.norm_sqr()).sum()
        }));
    }
    subtract_noise(&mut powers, noise);
    let mut cepstra: Vec<[f32; CEPSTRA]> = powers
        .iter()
        .map(|p| {
            let bands = p.map(|v| (v + 1.0).ln());
            std::array::from_fn(|c| basis[c].iter().zip(&bands).map(|(b, v)| b * v).sum())
        })
        .collect();
    subtract_mean(&mut cepstra);
    differences(&cepstra)
}

/// Takes steady noise out of each band: the quietest tenth of the frames tells how loud it is.
fn subtract_noise(powers: &mut [[f32; FILTERS]], factor: f32) {
    let mut band: Vec<f32> = Vec::with_capacity(powers.len());
    for b in 0..FILTERS {
        band.clear();
        band.extend(powers.iter().map(|p| p[b]));
        band.sort_by(f32::total_cmp);
        let quiet = &band[..band.len().div_ceil(10)];
        let noise = quiet.iter().sum::<f32>() / quiet.len().max(1) as f32;
        for p in powers.iter_mut() {
            p[b] = (p[b] - factor * noise).max(NOISE_FLOOR * noise);
        }
    }
}

fn subtract_mean(cepstra: &mut [[f32; CEPSTRA]]) {
    let n = cepstra.len().max(1) as f32;
    let mut mean = [0.0; CEPSTRA];
    for row in cepstra.iter() {
        mean.iter_mut().zip(row).for_each(|(m, v)| *m += v / n);
    }
    for row in cepstra {
        row.iter_mut().zip(&mean).for_each(|(v, m)| *v -= m);
    }
}

fn differences(cepstra: &[[f32; CEPSTRA]]) -> Vec<Frame> {
    let last = cepstra.len().saturating_sub(1) as isize;
    let at = |i: isize| &cepstra[i.clamp(0, last) as usize];
    (0..cepstra.len() as isize)
        .map(|i| {
            let first = |i: isize, c: usize| at(i + 2)[c] - at(i - 2)[c];
            [*at(i), std::array::from_fn(|c| first(i, c)), std::array::from_fn(|c| first(i + 1, c) - first(i - 1, c))]
        })
        .collect()
}
