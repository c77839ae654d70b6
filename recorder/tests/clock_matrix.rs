//! The clock model against synthetic recordings whose true times are known.

#![allow(clippy::unwrap_used)]

use redline_recorder::audio_fit::{Way, fit};
use redline_recorder::grid::Slots;
use redline_schemas::AudioTime;
use redline_schemas::time::{AudioClock, FrameGrid};

const MS: i64 = 1_000_000;
/// Where the synthetic sessions' first sample lies.
const T0: i64 = 123_456_789;

/// Reproducible numbers in [0, 1).
struct Random(u64);

impl Random {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// A device and what happens to it.
struct Device {
    rate: u32,
    ppm: f64,
    jitter_ms: f64,
    callback: u32,
    seconds: f64,
    /// Callbacks held back: from, to (s). Their stamps all say the end.
    stalls: Vec<(f64, f64)>,
    /// Samples that never came: at (s of device time), for (ms).
    drops: Vec<(f64, f64)>,
    /// Shares of callbacks that come with the next one.
    bursts: f64,
}

impl Default for Device {
    fn default() -> Self {
        Self { rate: 48_000, ppm: 0.0, jitter_ms: 0.0, callback: 480, seconds: 60.0, stalls: vec![], drops: vec![], bursts: 0.0 }
    }
}

/// Stamps of the device, and the true session time of sample `n` of the file.
fn simulate(d: &Device, seed: u64) -> (Vec<AudioTime>, Vec<(u64, f64)>) {
    let mut random = Random(seed);
    let step = 1e9 / (f64::from(d.rate) * (1.0 + d.ppm / 1e6));
    let (mut times, mut truth, mut file, mut device) = (Vec::new(), Vec::new(), 0_u64, 0_f64);
    let mut drops = d.drops.clone();
    let mut not_before = 0.0_f64;
    while device * step < d.seconds * 1e9 {
        if drops.first().is_some_and(|x| x.0 * 1e9 <= device * step) {
            device += (drops.remove(0).1 * 1e6 / step).round();
        }
        let captured = T0 as f64 + device * step;
        truth.push((file, captured));
        let mut stamp = captured + random.next() * d.jitter_ms * 1e6;
        if random.next() < d.bursts {
            stamp += f64::from(d.callback) * step;
        }
        for s in &d.stalls {
            let (from, to) = (T0 as f64 + s.0 * 1e9, T0 as f64 + s.1 * 1e9);
            if stamp >= from && stamp < to {
                stamp = to;
            }
        }
        // Callbacks come one after the other.
        stamp = stamp.max(not_before);
        not_before = stamp + 1e4;
        let t_ns = stamp.round() as i64;
        let callback_ns = (stamp + f64::from(d.callback) * step).round() as i64;
        times.push(AudioTime { t_ns, callback_ns, sample: file, samples: d.callback });
        file += u64::from(d.callback);
        device += f64::from(d.callback);
    }
    (times, truth)
}

/// The worst error of the model over all callbacks, ms, and the clock.
fn worst(d: &Device, seed: u64) -> (f64, AudioClock) {
    let (times, truth) = simulate(d, seed);
    let clock = AudioClock {
        sample_rate: d.rate,
        latency_ns: 0,
        pieces: fit(&times, d.rate, times.iter().map(|t| u64::from(t.samples)).sum(), Way::Captured),
    };
    let error = |&(n, t): &(u64, f64)| (clock.t_ns_of_sample(n as f64).unwrap() as f64 - t).abs() / 1e6;
    (truth.iter().map(error).fold(0.0, f64::max), clock)
}

#[test]
fn true_times_are_recovered_under_jitter_drift_and_bursts() {
    let mut seed = 1;
    for rate in [44_100, 48_000, 96_000] {
        for ppm in [-500.0, -207.0, 0.0, 300.0, 500.0] {
            for jitter_ms in [0.0, 1.0, 10.0, 30.0] {
                for bursts in [0.0, 0.2] {
                    seed += 1;
                    let d = Device { rate, ppm, jitter_ms, bursts, callback: rate / 100, ..Device::default() };
                    let (worst_ms, clock) = worst(&d, seed);
                    let case = format!("{rate} Hz, {ppm} ppm, jitter {jitter_ms} ms, bursts {bursts}");
                    assert_eq!(clock.pieces.len(), 1, "{case}: nothing was lost");
                    // Stated bounds: 15 % of the jitter plus 0.2 ms; over a minute 2 ppm a millisecond of jitter plus 1.5 ppm.
                    assert!(worst_ms <= 0.2 + 0.15 * jitter_ms, "{case}: off by {worst_ms:.3} ms");
                    assert!((clock.pieces[0].ppm - ppm).abs() <= 1.5 + 2.0 * jitter_ms, "{case}: {} ppm", clock.pieces[0].ppm);
                }
            }
        }
    }
}

#[test]
fn ten_minutes_drift_by_less_than_a_millisecond() {
    for (seed, ppm) in [(7, -300.0), (8, 300.0), (9, 500.0)] {
        let d = Device { ppm, jitter_ms: 10.0, seconds: 600.0, ..Device::default() };
        let (worst_ms, clock) = worst(&d, seed);
        assert!((clock.pieces[0].ppm - ppm).abs() * 0.6 < 1.0, "{} ppm for {ppm}", clock.pieces[0].ppm);
        assert!(worst_ms < 1.5, "{worst_ms} {:?}", clock.pieces);
    }
}

#[test]
fn a_stall_without_loss_moves_nothing() {
    // The recorder stood still for 2 s, then got all samples at once.
    for jitter_ms in [0.0, 5.0, 30.0] {
        let d = Device { ppm: 300.0, jitter_ms, stalls: vec![(20.0, 22.0)], ..Device::default() };
        let (worst_ms, clock) = worst(&d, 3);
        assert_eq!(clock.pieces.len(), 1, "jitter {jitter_ms}");
        assert!(worst_ms <= 0.2 + 0.15 * jitter_ms, "jitter {jitter_ms}: {worst_ms}");
    }
}

#[test]
fn lost_samples_become_gaps_and_what_follows_stays_true() {
    for (seed, jitter_ms, ms) in [(1, 0.0, 50.0), (2, 1.0, 60.0), (3, 5.0, 100.0), (4, 30.0, 150.0), (5, 30.0, 2_000.0)] {
        let drops = vec![(12.0, ms), (31.0, ms), (47.0, ms)];
        let d = Device { ppm: -300.0, jitter_ms, drops, ..Device::default() };
        let (times, truth) = simulate(&d, seed);
        let clock = AudioClock {
            sample_rate: d.rate,
            latency_ns: 0,
            pieces: fit(&times, d.rate, times.iter().map(|t| u64::from(t.samples)).sum(), Way::Captured),
        };
        assert_eq!(clock.pieces.len(), 4, "jitter {jitter_ms}, {ms} ms lost");
        let mut off: Vec<f64> = truth.iter().map(|&(n, t)| (clock.t_ns_of_sample(n as f64).unwrap() as f64 - t).abs() / 1e6).collect();
        off.sort_by(f64::total_cmp);
        // A few callbacks beside a gap may be given to the wrong side of it: at most the jitter's length of them.
        let beside = 3 * (jitter_ms / 10.0).ceil() as usize;
        let worst_ms = off[off.len() - 1 - beside];
        assert!(worst_ms <= 0.3 + 0.15 * jitter_ms, "jitter {jitter_ms}, {ms} ms lost: off by {worst_ms}");
        let lost: f64 = clock
            .pieces
            .windows(2)
            .map(|w| {
                let end = w[0].t0_ns as f64 + w[0].samples as f64 * 1e9 / (48_000.0 * (1.0 + w[0].ppm / 1e6));
                (w[1].t0_ns as f64 - end) / 1e6
            })
            .sum();
        assert!((lost - 3.0 * ms).abs() < 0.5 + 0.3 * jitter_ms, "{lost} ms are said to be lost of {}", 3.0 * ms);
    }
}

#[test]
fn a_screen_at_165_hz_is_sampled_at_30_without_shift() {
    // The screen shows number k from k/165 s on. Pictures are taken when a slot is due, late by up to 10 ms; for 2 s none is.
    let mut random = Random(11);
    let grid = FrameGrid::new(T0, 30, 1).unwrap();
    let mut slots = Slots::new(grid);
    let shown_at = |t: i64| ((t - T0) as f64 * 165.0 / 1e9).floor() as i64;
    let mut shown: Vec<(i64, i64)> = Vec::new();
    let end = T0 + 60_000 * MS;
    while slots.due_ns() < end {
        let mut t = slots.due_ns() + (random.next() * 10.0 * MS as f64) as i64;
        if (20_000 * MS..22_000 * MS).contains(&(t - T0)) {
            t = T0 + 22_000 * MS;
        }
        shown.push((slots.place(t), shown_at(t)));
    }
    assert_eq!(slots.last(end), 1800);
    assert!((1738..=1742).contains(&shown.len()), "{} of 1800 slots but for the stall", shown.len());
    for (slot, number) in shown {
        let ahead_ms = (number - shown_at(grid.t_ns_of_frame(slot))) as f64 / 165.0 * 1e3;
        // Taken at most 10 ms late, or half a slot after the stall; a number lasts 6 ms.
        assert!((-16.8 - 6.1..=10.0 + 6.1).contains(&ahead_ms), "slot {slot} is {ahead_ms} ms ahead");
    }
}
