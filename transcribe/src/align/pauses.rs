//! Where it is quiet: a word beside a pause begins and ends where sound leaves the background.
//!
//! The phone HMM's silence is that of other rooms; in a real one it lets words reach into pauses.

use super::phones::Phone;

/// From one frame to the next, and a frame's length, samples.
const STEP: usize = 80;
const WINDOW: usize = 160;
/// A frame this far above a gap's quietest stretch in either band is sound, dB.
const ABOVE_DB: f32 = 8.0;
/// That quietest stretch, frames.
const STRETCH: usize = 8;
/// Speech must stand this far above it, or nothing is said about the gap, dB. A muffled microphone
/// leaves little of the high sounds.
const LEAST_RANGE_DB: [f32; 2] = [25.0, 15.0];
/// A piece in which speech stands less than this above the quietest twentieth is noisy, dB.
const NOISY_RANGE_DB: f32 = 20.0;
/// Quiet shorter than this between words may be a stop's closure, samples.
pub(super) const LEAST_PAUSE: usize = 1_600;
/// The same before the first word and after the last.
pub(super) const LEAST_MARGIN: usize = 320;
/// A word that begins or ends with one of these is cut only when it reaches this far into quiet: they are hardly louder than it.
pub(super) const WEAK: [Phone; 5] = [Phone::HH, Phone::F, Phone::TH, Phone::DH, Phone::V];
pub(super) const FAR: usize = 2_400;
/// Sound this short with quiet after it is a click, samples.
const CLICK: usize = 240;
const AFTER_CLICK: usize = 640;

/// How loud a piece is, frame by frame.
pub(super) struct Loudness {
    /// dB in the whole band, and of the differences of samples, in which high sounds stand out.
    frames: Vec<[f32; 2]>,
    /// What speech reaches in each.
    speech: [f32; 2],
    /// Whether there is so much noise that weak sounds drown in it.
    pub noisy: bool,
}

impl Loudness {
    /// Measures a piece.
    pub fn of(audio: &[f32]) -> Self {
        let count = audio.len().saturating_sub(WINDOW) / STEP;
        let energy = |f: usize| {
            let w = &audio[f * STEP..f * STEP + WINDOW];
            let low = w.iter().map(|s| s * s).sum::<f32>();
            let high = w.windows(2).map(|p| (p[1] - p[0]) * (p[1] - p[0])).sum::<f32>();
            [low, high].map(|e| 10.0 * (e / WINDOW as f32 + 1e-10).log10())
        };
        let frames: Vec<[f32; 2]> = (0..count).map(energy).collect();
        let percentile = |band: usize, p: usize| {
            let mut sorted: Vec<f32> = frames.iter().map(|e| e[band]).collect();
            sorted.sort_by(f32::total_cmp);
            sorted.get(sorted.len() * p / 100).copied().unwrap_or(f32::NEG_INFINITY)
        };
        let speech = [percentile(0, 95), percentile(1, 95)];
        let noisy = speech[0] - percentile(0, 5) < NOISY_RANGE_DB;
        Self { frames, speech, noisy }
    }

    /// Quiet stretches of at least `least` samples between two samples, the background being what is
    /// quietest there: it differs from pause to pause where a microphone's gain or noise gate acts.
    pub fn quiet(&self, from: usize, to: usize, least: usize) -> Vec<(usize, usize)> {
        let (first, end) = (from / STEP, (to / STEP).min(self.frames.len()));
        let Some(inside) = self.frames.get(first..end).filter(|f| f.len() >= STRETCH) else { return Vec::new() };
        let mut thresholds = [0.0; 2];
        for (band, threshold) in thresholds.iter_mut().enumerate() {
            let means = inside.windows(STRETCH).map(|w| w.iter().map(|e| e[band]).sum::<f32>() / STRETCH as f32);
            let background = means.fold(f32::INFINITY, f32::min);
            let range = self.speech[band] - background;
            if range.is_nan() || range < LEAST_RANGE_DB[band] {
                return Vec::new();
            }
            *threshold = background + ABOVE_DB;
        }
        let quiet: Vec<bool> = inside.iter().map(|e| e.iter().zip(&thresholds).all(|(e, t)| e < t)).collect();
        let runs = without_clicks(&quiet).into_iter().map(|(a, b)| ((a + first * STEP).max(from), (b + first * STEP).min(to)));
        runs.filter(|(a, b)| *b >= a + least).collect()
    }
}

/// Stretches of quiet frames in samples, clicks taken as quiet.
fn without_clicks(quiet: &[bool]) -> Vec<(usize, usize)> {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    let mut f = 0;
    while f < quiet.len() {
        let run = quiet[f..].iter().take_while(|q| **q == quiet[f]).count();
        if quiet[f] {
            // A loud frame stays loud until its window has left the sound.
            let (start, end) = (f * STEP, (f + run - 1) * STEP + WINDOW);
            match runs.last_mut() {
                Some(last) if start.saturating_sub(last.1) <= CLICK && end - start >= AFTER_CLICK => last.1 = end,
                _ => runs.push((start, end)),
            }
        }
        f += run;
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A hiss, with tones between the given samples.
    fn audio(len: usize, tones: &[(usize, usize)]) -> Vec<f32> {
        let mut seed = 1_u32;
        (0..len)
            .map(|i| {
                seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                let hiss = ((seed >> 8) as f32 / 16_777_216.0 - 0.5) * 2e-3;
                let loud = tones.iter().any(|(a, b)| (*a..*b).contains(&i));
                hiss + if loud { (i as f32 * 0.9).sin() * 0.3 } else { 0.0 }
            })
            .collect()
    }

    #[test]
    fn quiet_lies_between_the_sounds_and_a_click_is_none() {
        let l = Loudness::of(&audio(32_000, &[(8_000, 16_000), (19_000, 19_060), (24_000, 28_000)]));
        let q = l.quiet(12_000, 26_000, LEAST_PAUSE);
        assert!(q.len() == 1 && q[0].0.abs_diff(16_000) <= STEP && q[0].1.abs_diff(24_000) <= STEP, "{q:?}");
        assert!(l.quiet(0, 12_000, LEAST_MARGIN).last().unwrap().1.abs_diff(8_000) <= STEP);
        assert_eq!(l.quiet(9_000, 15_000, LEAST_MARGIN), []);
    }

    #[test]
    fn nothing_is_said_where_speech_does_not_stand_out() {
        assert_eq!(Loudness::of(&audio(32_000, &[])).quiet(0, 32_000, LEAST_MARGIN), []);
        assert_eq!(Loudness::of(&[]).quiet(0, 100, LEAST_MARGIN), []);
        assert_eq!(Loudness::of(&[f32::NAN; 1_000]).quiet(0, 1_000, LEAST_MARGIN), []);
    }
}
