//! Fits the microphone's sample clock to the session's clock.
//!
//! Two times are known for each callback: when it ran, on our own clock, and when the device says that its first sample was
//! captured. A callback can only run late, never early, by up to tens of milliseconds under load; so the line that
//! relates samples to time runs along the *lower edge* of the callbacks' times, where load does not move it. What the
//! device says is precise in the median but wrong by hundreds of milliseconds while a stream starts; it gives the
//! constant distance between capture and callback.
//!
//! The slope is Theil–Sen over block minima (H. Theil 1950; P. K. Sen 1968), drawn towards the nominal rate
//! where a short recording cannot know it. Samples that the device lost raise the lower edge for good: the fit starts anew
//! there, as a new [`AudioPiece`]. A stall after which the samples come in a burst raises it for a moment only.

use redline_schemas::AudioTime;
use redline_schemas::time::AudioPiece;

/// Share of callbacks that may lie below the fitted line: outliers such as clock jumps must not pull it down.
pub const LOWER_EDGE: f64 = 0.02;

/// A rise of the lower edge that counts as lost samples, nanoseconds.
pub const LOSS_NS: i64 = 40_000_000;

/// The lower edge is looked at over this time on both sides of a suspected loss, nanoseconds.
const EDGE_WINDOW_NS: i64 = 2_000_000_000;

/// Rates of real devices lie about this far from their nominal one, parts per million (standard deviation).
const PRIOR_PPM: f64 = 150.0;

/// Least noise that is believed of a block's lower edge, nanoseconds: few callbacks may agree by chance.
const LEAST_NOISE_NS: f64 = 1_000_000.0;

/// Blocks for the slope; 64 give 2016 pairs.
const BLOCKS: usize = 64;

/// Fits all observations of a recording at nominal rate `sample_rate`; `total_samples` is the file's length.
///
/// Pieces are in order and cover all samples. No observations give no pieces.
#[must_use]
pub fn fit(observations: &[AudioTime], sample_rate: u32, total_samples: u64) -> Vec<AudioPiece> {
    let rate = f64::from(sample_rate.max(1));
    let mut starts = vec![0];
    starts.extend(losses(observations, rate));
    let mut pieces = Vec::with_capacity(starts.len());
    for (i, &from) in starts.iter().enumerate() {
        let to = starts.get(i + 1).copied().unwrap_or(observations.len());
        let Some(first) = observations.get(from) else { break };
        let first_sample = if i == 0 { 0 } else { first.sample };
        let end = observations.get(to).map_or(total_samples.max(first_sample), |o| o.sample);
        let part = observations.get(from..to).unwrap_or_default();
        if let Some(line) = fit_piece(part, rate) {
            pieces.push(AudioPiece {
                first_sample,
                samples: end.saturating_sub(first_sample),
                t0_ns: line.at(first_sample),
                ppm: line.ppm,
                residual_ns: line.residual_ns,
                observations: part.len() as u32,
            });
        }
    }
    pieces
}

struct Line {
    base_sample: u64,
    base_ns: i64,
    step_ns: f64,
    ppm: f64,
    residual_ns: i64,
}

impl Line {
    fn at(&self, sample: u64) -> i64 {
        self.base_ns + ((sample as f64 - self.base_sample as f64) * self.step_ns).round() as i64
    }
}

/// When a callback's first sample would have been captured, had the callback run at once after its last sample.
fn edge_ns(o: &AudioTime, step_ns: f64) -> f64 {
    o.callback_ns as f64 - f64::from(o.samples) * step_ns
}

fn fit_piece(part: &[AudioTime], rate: f64) -> Option<Line> {
    let first = part.first()?;
    let nominal = 1e9 / rate;
    // Small numbers keep their nanoseconds in f64: distance from the nominal line through the first callback.
    let points: Vec<(f64, f64)> = part
        .iter()
        .map(|o| {
            let x = o.sample.saturating_sub(first.sample) as f64;
            (x, edge_ns(o, nominal) - edge_ns(first, nominal) - x * nominal)
        })
        .collect();

    let slope = slope_of(&points, nominal);
    let mut residuals: Vec<f64> = points.iter().map(|(x, y)| y - slope * x).collect();
    residuals.sort_by(f64::total_cmp);
    let base = quantile(&residuals, LOWER_EDGE);
    let mid = quantile(&residuals, 0.5);
    let mut spread: Vec<f64> = residuals.iter().map(|r| (r - mid).abs()).collect();
    spread.sort_by(f64::total_cmp);

    let mut device: Vec<f64> = part.iter().map(|o| o.t_ns as f64 - edge_ns(o, nominal)).collect();
    device.sort_by(f64::total_cmp);
    let capture = quantile(&device, 0.5);

    let step_ns = nominal + slope;
    Some(Line {
        base_sample: first.sample,
        base_ns: (edge_ns(first, nominal) + base + capture).round() as i64,
        step_ns,
        ppm: (nominal / step_ns - 1.0) * 1e6,
        residual_ns: quantile(&spread, 0.5).round() as i64,
    })
}

/// Nanoseconds per sample by which the edge's slope differs from the nominal one.
fn slope_of(points: &[(f64, f64)], nominal: f64) -> f64 {
    let Some((last_x, _)) = points.last().copied().filter(|(x, _)| *x > 0.0) else { return 0.0 };
    // The lowest point of each block: late callbacks drop out.
    let mut lows: Vec<(f64, f64)> = Vec::with_capacity(BLOCKS);
    let per_block = last_x / BLOCKS as f64;
    let mut rest = points;
    for b in 1..=BLOCKS {
        let end = rest.partition_point(|(x, _)| *x <= per_block * b as f64);
        let (block, after) = rest.split_at(end);
        rest = after;
        lows.extend(block.iter().copied().min_by(|a, b| a.1.total_cmp(&b.1)));
    }
    let mut slopes = Vec::with_capacity(lows.len() * lows.len() / 2);
    for (i, a) in lows.iter().enumerate() {
        slopes.extend(lows[i + 1..].iter().filter(|b| b.0 > a.0).map(|b| (b.1 - a.1) / (b.0 - a.0)));
    }
    if slopes.is_empty() {
        return 0.0;
    }
    slopes.sort_by(f64::total_cmp);
    let slope = quantile(&slopes, 0.5);

    // How well the blocks know the slope, against how far devices are usually off.
    let mut off: Vec<f64> = lows.iter().map(|(x, y)| y - slope * x).collect();
    off.sort_by(f64::total_cmp);
    let noise = ((quantile(&off, 0.84) - quantile(&off, 0.16)) / 2.0).max(LEAST_NOISE_NS);
    let mean = lows.iter().map(|(x, _)| x).sum::<f64>() / lows.len() as f64;
    let lever: f64 = lows.iter().map(|(x, _)| (x - mean).powi(2)).sum();
    let variance = if lever > 0.0 { noise * noise / lever } else { f64::INFINITY };
    let prior = (nominal * PRIOR_PPM / 1e6).powi(2);
    if variance.is_finite() { slope * prior / (prior + variance) } else { 0.0 }
}

/// Indices of observations before which samples were lost.
fn losses(observations: &[AudioTime], rate: f64) -> Vec<usize> {
    let nominal = 1e9 / rate;
    let late: Vec<f64> = observations.iter().map(|o| edge_ns(o, nominal) - o.sample as f64 * nominal).collect();
    let mut found: Vec<usize> = Vec::new();
    let mut from = 0;
    for i in 1..observations.len() {
        // Only where the next callback comes later than its samples explain can something be missing.
        if late[i] - late[i - 1] <= LOSS_NS as f64 {
            continue;
        }
        let at = observations[i].callback_ns;
        let before = observations[from..i]
            .iter()
            .zip(&late[from..i])
            .rev()
            .take_while(|(o, _)| at.saturating_sub(o.callback_ns) <= EDGE_WINDOW_NS)
            .map(|(_, l)| *l);
        let after = observations[i..]
            .iter()
            .zip(&late[i..])
            .take_while(|(o, _)| o.callback_ns.saturating_sub(at) <= EDGE_WINDOW_NS)
            .map(|(_, l)| *l);
        let before = before.fold(late[i - 1], f64::min);
        let after = after.fold(f64::INFINITY, f64::min);
        if after - before > LOSS_NS as f64 {
            found.push(i);
            from = i;
        }
    }
    found
}

/// Value at share `q` of a sorted, non-empty slice.
fn quantile(sorted: &[f64], q: f64) -> f64 {
    let i = ((sorted.len().saturating_sub(1)) as f64 * q).round() as usize;
    sorted.get(i).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use redline_schemas::time::AudioClock;

    /// A microphone whose truth is known.
    struct Device {
        rate: u32,
        ppm: f64,
        t0_ns: i64,
        frames: u32,
        jitter_ns: i64,
        seconds: f64,
        /// From this second on for this long nothing is delivered; then all of it at once.
        stall: Option<(f64, f64)>,
        /// From this second on for this long samples are lost.
        loss: Option<(f64, f64)>,
        /// Wrong device times at the start, as many callbacks.
        rough_start: usize,
        seed: u8,
    }

    impl Default for Device {
        fn default() -> Self {
            Self {
                rate: 48_000,
                ppm: 0.0,
                t0_ns: 123_456_789,
                frames: 1024,
                jitter_ns: 0,
                seconds: 60.0,
                stall: None,
                loss: None,
                rough_start: 0,
                seed: 1,
            }
        }
    }

    /// Distance between capture and the device's own word, which the device states.
    const DEVICE_LATENCY_NS: i64 = 12_000_000;

    impl Device {
        fn step_ns(&self) -> f64 {
            1e9 / (f64::from(self.rate) * (1.0 + self.ppm / 1e6))
        }

        /// Observations, file length, and for each file sample the truth.
        fn run(&self) -> (Vec<AudioTime>, u64) {
            // SplitMix64 (Steele, Lea, Flood 2014).
            let mut state = u64::from(self.seed);
            let mut random = move |below: i64| {
                state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
                let z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
                let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
                ((z ^ (z >> 31)) % below.max(1) as u64) as i64
            };
            let mut out = Vec::new();
            let (mut device_sample, mut file_sample) = (0_u64, 0_u64);
            loop {
                let start = self.t0_ns + (device_sample as f64 * self.step_ns()) as i64;
                let end = self.t0_ns + ((device_sample + u64::from(self.frames)) as f64 * self.step_ns()) as i64;
                let at_s = (start - self.t0_ns) as f64 / 1e9;
                if at_s > self.seconds {
                    return (out, file_sample);
                }
                device_sample += u64::from(self.frames);
                if self.loss.is_some_and(|(from, long)| at_s >= from && at_s < from + long) {
                    continue;
                }
                let mut callback = end + DEVICE_LATENCY_NS + random(self.jitter_ns);
                if let Some((from, long)) = self.stall {
                    let until = self.t0_ns + ((from + long) * 1e9) as i64;
                    if at_s >= from && at_s < from + long {
                        callback = callback.max(until + random(5_000_000));
                    }
                }
                let rough = if out.len() < self.rough_start { 670_000_000 } else { 0 };
                let said = callback - (end - start) - DEVICE_LATENCY_NS - rough;
                out.push(AudioTime { t_ns: said, callback_ns: callback, sample: file_sample, samples: self.frames });
                file_sample += u64::from(self.frames);
            }
        }
    }

    fn worst_error_ns(d: &Device) -> i64 {
        let (obs, n) = d.run();
        let pieces = fit(&obs, d.rate, n);
        assert_eq!(pieces.len(), 1, "no loss, one piece");
        let clock = AudioClock { sample_rate: d.rate, latency_ns: 0, pieces };
        (0..=20)
            .map(|i| n * i / 20)
            .map(|s| (clock.t_ns_of_sample(s as f64).unwrap() - d.t0_ns - (s as f64 * d.step_ns()) as i64).abs())
            .max()
            .unwrap()
    }

    /// The bound: what the lower edge of the jitter is off (its 2 % quantile), and 0.5 ms.
    fn bound_ns(jitter_ns: i64) -> i64 {
        jitter_ns / 10 + 500_000
    }

    #[test]
    fn true_times_are_recovered_whatever_rate_drift_and_jitter() {
        for rate in [44_100, 48_000, 96_000] {
            for ppm in [-500.0, -207.0, 0.0, 207.0, 500.0] {
                for jitter_ns in [0, 5_000_000, 30_000_000] {
                    for seed in 1..4 {
                        let d = Device { rate, ppm, jitter_ns, seed, ..Device::default() };
                        let e = worst_error_ns(&d);
                        assert!(
                            e <= bound_ns(jitter_ns) + 2_000_000 * i64::from(jitter_ns > 0),
                            "{rate} Hz {ppm} ppm jitter {jitter_ns} ns seed {seed}: {e} ns"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn a_stall_with_a_burst_after_it_moves_nothing() {
        for ppm in [-300.0, 300.0] {
            let d = Device { ppm, jitter_ns: 5_000_000, stall: Some((20.0, 2.0)), ..Device::default() };
            let e = worst_error_ns(&d);
            assert!(e < 2_500_000, "{ppm} ppm: {e} ns");
        }
    }

    #[test]
    fn a_rough_start_of_the_device_does_not_move_the_line() {
        let e = worst_error_ns(&Device { rough_start: 40, seconds: 4.0, ..Device::default() });
        assert!(e < 500_000, "{e} ns");
    }

    #[test]
    fn lost_samples_start_a_new_piece_and_both_are_right() {
        let d = Device { loss: Some((30.0, 1.5)), jitter_ns: 10_000_000, ppm: 100.0, ..Device::default() };
        let (obs, n) = d.run();
        let pieces = fit(&obs, d.rate, n);
        assert_eq!(pieces.len(), 2);
        assert_eq!(pieces[0].samples, pieces[1].first_sample);
        assert_eq!(pieces[1].first_sample + pieces[1].samples, n);
        // The second piece begins 1.5 s (a whole number of callbacks) after the first one's end.
        let first_end = pieces[0].t0_ns + (pieces[0].samples as f64 * d.step_ns()) as i64;
        let lost = (1.5_f64 * 48_000.0 / 1024.0).ceil() * 1024.0 * d.step_ns();
        let got = (pieces[1].t0_ns - first_end) as f64;
        assert!((got - lost).abs() < 25_000_000.0, "{got} against {lost}");
    }

    #[test]
    fn a_short_recording_is_not_given_a_wild_rate() {
        for seconds in [0.03, 0.3, 2.0] {
            for seed in 0..20 {
                let d = Device { seconds, jitter_ns: 12_000_000, seed, ..Device::default() };
                let (obs, n) = d.run();
                let p = fit(&obs, d.rate, n)[0];
                assert!(p.ppm.abs() < 400.0, "{seconds} s: {} ppm", p.ppm);
            }
        }
    }

    #[test]
    fn nothing_gives_nothing_and_hostile_values_do_not_panic() {
        assert!(fit(&[], 48_000, 0).is_empty());
        let odd = [
            AudioTime { t_ns: i64::MAX, callback_ns: i64::MIN, sample: u64::MAX, samples: u32::MAX },
            AudioTime { t_ns: 0, callback_ns: 0, sample: 0, samples: 0 },
        ];
        let _ = fit(&odd, 0, 0);
    }
}
