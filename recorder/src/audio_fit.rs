//! Fits the sample clock of a microphone or a loudspeaker to the session's clock.
//!
//! Two times are known for each callback: when it ran, on our own clock, and when the device says that its first sample was
//! captured. A callback can only run late, never early, by up to tens of milliseconds under load; so the line that
//! relates samples to time runs along the *lower edge* of the callbacks' times, where load does not move it. The device's
//! word gives the constant distance between capture and that edge. It is precise in the median whatever the load, but
//! wrong by hundreds of milliseconds while a stream starts; and nothing can have been captured after its callback ran.
//!
//! The slope is Theil–Sen over block minima (H. Theil 1950; P. K. Sen 1968), drawn towards the nominal rate
//! where a short recording cannot know it. Samples that the device lost raise the lower edge and the device's word for good:
//! the fit starts anew there, as a new [`AudioPiece`]. A stall after which the samples come in a burst raises the edge for
//! a moment only, and not the device's word.

use redline_schemas::AudioTime;
use redline_schemas::time::AudioPiece;

/// Share of callbacks that may lie below the fitted line: outliers such as clock jumps must not pull it down.
pub const LOWER_EDGE: f64 = 0.02;

/// A rise of the lower edge that counts as lost samples, nanoseconds.
pub const LOSS_NS: i64 = 40_000_000;

/// The lower edge is looked at over this time on both sides of a suspected loss, nanoseconds.
const EDGE_WINDOW_NS: i64 = 2_000_000_000;

/// The device's word is settled within so much of its upper quartile; what lies earlier is a stream's rough start.
const ROUGH_NS: f64 = 50_000_000.0;

/// A piece shorter than this may hold nothing but a stream's rough start, nanoseconds.
const SETTLED_NS: f64 = 2_500_000_000.0;

/// Rates of real devices lie about this far from their nominal one, parts per million (standard deviation).
const PRIOR_PPM: f64 = 150.0;

/// Least noise that is believed of a block's lower edge, nanoseconds: few callbacks may agree by chance.
const LEAST_NOISE_NS: f64 = 1_000_000.0;

/// Blocks for the slope; 64 give 2016 pairs.
const BLOCKS: usize = 64;

/// Which way the samples went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// From a microphone: samples exist before their callback.
    Captured,
    /// To a loudspeaker: samples sound after their callback.
    Played,
}

/// Fits all observations of a recording at nominal rate `sample_rate`; `total_samples` is the file's length.
///
/// Pieces are in order and cover all samples. No observations give no pieces.
#[must_use]
pub fn fit(observations: &[AudioTime], sample_rate: u32, total_samples: u64, way: Way) -> Vec<AudioPiece> {
    let rate = f64::from(sample_rate.max(1));
    let mut starts = vec![0];
    starts.extend(losses(observations, rate, way));
    let ends = starts.iter().skip(1).copied().chain([observations.len()]);
    let parts: Vec<&[AudioTime]> = starts.iter().zip(ends).filter_map(|(&from, to)| observations.get(from..to)).collect();
    let lines: Vec<(&[AudioTime], Line)> = parts.into_iter().filter_map(|p| Some((p, fit_piece(p, rate, way)?))).collect();
    // A device's latency stays: the longest piece knows it best.
    let longest = lines.iter().max_by_key(|(p, _)| samples_of(p)).map_or(0.0, |(_, l)| l.distance_ns);

    let mut pieces = Vec::with_capacity(lines.len());
    for (i, (part, line)) in lines.iter().enumerate() {
        let first_sample = if i == 0 { 0 } else { part[0].sample };
        let end = lines.get(i + 1).map_or(total_samples.max(first_sample), |(next, _)| next[0].sample);
        let short = samples_of(part) as f64 * line.step_ns < SETTLED_NS;
        let distance_ns = if short { longest } else { line.distance_ns };
        pieces.push(AudioPiece {
            first_sample,
            samples: end.saturating_sub(first_sample),
            t0_ns: line.at(first_sample).saturating_add(distance_ns.round() as i64),
            ppm: line.ppm,
            residual_ns: line.residual_ns,
            observations: part.len() as u32,
        });
    }
    pieces
}

fn samples_of(part: &[AudioTime]) -> u64 {
    part.iter().map(|o| u64::from(o.samples)).sum()
}

/// The lower edge as a line.
struct Line {
    base_sample: u64,
    base_ns: i64,
    step_ns: f64,
    ppm: f64,
    residual_ns: i64,
    /// From the edge to the sample's own time, as the device says.
    distance_ns: f64,
}

impl Line {
    fn at(&self, sample: u64) -> i64 {
        self.base_ns.saturating_add(((sample as f64 - self.base_sample as f64) * self.step_ns).round() as i64)
    }
}

/// When a callback's first sample would have been captured, had the callback run at once after its last sample.
fn edge_ns(o: &AudioTime, step_ns: f64) -> f64 {
    o.callback_ns as f64 - f64::from(o.samples) * step_ns
}

/// What the device says of the first sample, as far as it can be.
fn word_ns(o: &AudioTime, step_ns: f64, way: Way) -> f64 {
    match way {
        Way::Captured => (o.t_ns as f64).min(edge_ns(o, step_ns)),
        Way::Played => o.t_ns as f64,
    }
}

fn fit_piece(part: &[AudioTime], rate: f64, way: Way) -> Option<Line> {
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
    let late: Vec<f64> = points.iter().map(|(x, y)| y - slope * x).collect();
    let mut residuals = late.clone();
    residuals.sort_by(f64::total_cmp);
    let base = quantile(&residuals, LOWER_EDGE);

    // Most devices tell their own time whatever the callbacks do; some only subtract a constant from the callback's.
    let word = |o: &AudioTime| word_ns(o, nominal, way) - edge_ns(o, nominal);
    let (own, own_spread) = settled(part.iter().zip(&late).map(|(o, l)| word(o) + l - base).collect());
    let (constant, constant_spread) = settled(part.iter().map(word).collect());
    let distance = if own_spread <= constant_spread { own } else { constant };
    let distance_ns = match way {
        Way::Captured => distance.min(0.0),
        Way::Played => distance,
    };

    let step_ns = nominal + slope;
    Some(Line {
        base_sample: first.sample,
        base_ns: (edge_ns(first, nominal) + base).round() as i64,
        step_ns,
        ppm: (nominal / step_ns - 1.0) * 1e6,
        residual_ns: spread_around(&residuals, quantile(&residuals, 0.5)).round() as i64,
        distance_ns,
    })
}

/// Middle and spread (median absolute deviation) of what the device says, without a stream's rough start.
fn settled(mut words: Vec<f64>) -> (f64, f64) {
    words.sort_by(f64::total_cmp);
    let from = quantile(&words, 0.75) - ROUGH_NS;
    let good = words.get(words.partition_point(|w| *w < from)..).unwrap_or_default();
    let middle = quantile(good, 0.5);
    (middle, spread_around(good, middle))
}

fn spread_around(values: &[f64], middle: f64) -> f64 {
    let mut spread: Vec<f64> = values.iter().map(|v| (v - middle).abs()).collect();
    spread.sort_by(f64::total_cmp);
    quantile(&spread, 0.5)
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
fn losses(observations: &[AudioTime], rate: f64, way: Way) -> Vec<usize> {
    let nominal = 1e9 / rate;
    let off = |time: fn(&AudioTime, f64, Way) -> f64| -> Vec<f64> {
        observations.iter().map(|o| time(o, nominal, way) - o.sample as f64 * nominal).collect()
    };
    let late = off(|o, step, _| edge_ns(o, step));
    let word = off(word_ns);
    let mut found: Vec<usize> = Vec::new();
    let mut from = 0;
    for i in 1..observations.len() {
        // Only where the next callback comes later than its samples explain can something be missing.
        if late[i] - late[i - 1] <= LOSS_NS as f64 {
            continue;
        }
        let at = observations[i].callback_ns;
        let reach = |o: &AudioTime| at.saturating_sub(o.callback_ns).saturating_abs() <= EDGE_WINDOW_NS;
        let begin = i - observations[from..i].iter().rev().take_while(|o| reach(o)).count().max(1);
        let end = i + observations[i..].iter().take_while(|o| reach(o)).count().max(1);
        let low = |l: &[f64]| l.iter().copied().fold(f64::INFINITY, f64::min);
        let edge_rise = low(&late[i..end]) - low(&late[begin..i]);
        let word_rise = settled(word[i..end].to_vec()).0 - settled(word[begin..i].to_vec()).0;
        if edge_rise > LOSS_NS as f64 && word_rise > LOSS_NS as f64 / 2.0 {
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
        /// The device's word is this constant before its callback; otherwise it is its own, and wavers by some milliseconds.
        constant_word: bool,
        /// Share of callbacks that wait for the processor, in tenths, and for up to how long.
        starved: (u8, i64),
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
                constant_word: false,
                starved: (0, 0),
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
            let mut out: Vec<AudioTime> = Vec::new();
            let (mut device_sample, mut file_sample) = (0_u64, 0_u64);
            let mut ran_ns = i64::MIN;
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
                if random(10) < i64::from(self.starved.0) {
                    callback += random(self.starved.1);
                }
                // One thread: callbacks run in order.
                callback = callback.max(ran_ns);
                ran_ns = callback;
                let rough = if out.len() < self.rough_start { 670_000_000 } else { 0 };
                let word =
                    if self.constant_word { callback - (end - start) - DEVICE_LATENCY_NS } else { start + random(8_000_000) - 4_000_000 };
                let said = word - rough;
                out.push(AudioTime { t_ns: said, callback_ns: callback, sample: file_sample, samples: self.frames });
                file_sample += u64::from(self.frames);
            }
        }
    }

    fn worst_error_ns(d: &Device) -> i64 {
        let (obs, n) = d.run();
        let pieces = fit(&obs, d.rate, n, Way::Captured);
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
    fn a_starved_machine_moves_nothing() {
        // As measured with 24 busy processes on 2 cores: most callbacks late, by up to 700 ms.
        for seed in 0..10 {
            for (tenths, until_ns) in [(1, 700_000_000), (3, 300_000_000), (8, 60_000_000)] {
                let d = Device { starved: (tenths, until_ns), jitter_ns: 2_000_000, ppm: 160.0, seconds: 20.0, seed, ..Device::default() };
                let e = worst_error_ns(&d);
                assert!(e < 6_000_000, "{tenths} of 10 late by up to {until_ns} ns, seed {seed}: {e} ns");
            }
        }
    }

    #[test]
    fn a_word_that_only_follows_the_callbacks_is_read_as_one() {
        let d = Device { constant_word: true, jitter_ns: 20_000_000, seconds: 20.0, ..Device::default() };
        let e = worst_error_ns(&d);
        assert!(e < 4_000_000, "{e} ns");
    }

    #[test]
    fn nothing_is_captured_after_its_callback() {
        // A sound server that takes too little off: its word lies 5 ms after the callbacks allow.
        let d = Device { seconds: 20.0, ..Device::default() };
        let (mut obs, n) = d.run();
        for o in &mut obs {
            o.t_ns += 17_000_000;
        }
        let p = fit(&obs, d.rate, n, Way::Captured)[0];
        let off = p.t0_ns - d.t0_ns - DEVICE_LATENCY_NS;
        assert!(off.abs() < 500_000, "{off} ns from the edge");
    }

    #[test]
    fn what_is_played_sounds_after_its_callback() {
        let d = Device { seconds: 20.0, ..Device::default() };
        let (mut obs, n) = d.run();
        for o in &mut obs {
            o.t_ns += 50_000_000;
        }
        let p = fit(&obs, d.rate, n, Way::Played)[0];
        let off = p.t0_ns - d.t0_ns - 50_000_000;
        assert!(off.abs() < 1_000_000, "{off} ns");
    }

    #[test]
    fn a_short_piece_after_a_loss_takes_the_latency_of_the_long_one() {
        let d = Device { loss: Some((20.0, 3.0)), seconds: 24.0, ..Device::default() };
        let (mut obs, n) = d.run();
        // The device came back with a rough start, and the recording ended before that was over.
        for o in obs.iter_mut().filter(|o| o.callback_ns - d.t0_ns > 22_000_000_000) {
            o.t_ns -= 440_000_000;
        }
        let pieces = fit(&obs, d.rate, n, Way::Captured);
        assert_eq!(pieces.len(), 2);
        let lost = (3.0_f64 * 48_000.0 / 1024.0).ceil() * 1024.0;
        let truth = d.t0_ns + ((pieces[1].first_sample as f64 + lost) * d.step_ns()) as i64;
        let off = pieces[1].t0_ns - truth;
        assert!(off.abs() < 2_000_000, "{off} ns");
    }

    #[test]
    fn a_stall_that_ends_with_the_recording_is_no_loss() {
        // The last callbacks come late, and nothing after them tells for how long.
        let d = Device { stall: Some((19.8, 0.4)), seconds: 20.0, ..Device::default() };
        assert!(worst_error_ns(&d) < 2_000_000);
    }

    #[test]
    fn lost_samples_start_a_new_piece_and_both_are_right() {
        let d = Device { loss: Some((30.0, 1.5)), jitter_ns: 10_000_000, ppm: 100.0, ..Device::default() };
        let (obs, n) = d.run();
        let pieces = fit(&obs, d.rate, n, Way::Captured);
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
                let p = fit(&obs, d.rate, n, Way::Captured)[0];
                assert!(p.ppm.abs() < 400.0, "{seconds} s: {} ppm", p.ppm);
            }
        }
    }

    #[test]
    fn nothing_gives_nothing_and_hostile_values_do_not_panic() {
        assert!(fit(&[], 48_000, 0, Way::Captured).is_empty());
        let odd = [
            AudioTime { t_ns: i64::MAX, callback_ns: i64::MIN, sample: u64::MAX, samples: u32::MAX },
            AudioTime { t_ns: 0, callback_ns: 0, sample: 0, samples: 0 },
        ];
        let _ = fit(&odd, 0, 0, Way::Captured);
    }
}
