//! One clock a session: conversions between session time, video frames and audio samples.
//!
//! `t_ns` is nanoseconds since the session's start on a monotonic clock. These are the only
//! places that convert; all stages call them.

use crate::{Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Nanoseconds in a second.
pub const NS_PER_S: i64 = 1_000_000_000;

/// `t_ns` as seconds, for people and for formats that count in seconds.
#[must_use]
pub fn seconds(t_ns: i64) -> f64 {
    t_ns as f64 / 1e9
}

/// Seconds as `t_ns`, rounded to the nearest nanosecond; saturates, NaN becomes 0.
#[must_use]
pub fn from_seconds(s: f64) -> i64 {
    (s * 1e9).round() as i64
}

/// UTC of a session time, in microseconds since 1970 (what table readers agree on); rounded down, saturates.
#[must_use]
pub fn utc_micros(started: crate::Utc, t_ns: i64) -> i64 {
    let start = i128::from(started.timestamp()) * i128::from(NS_PER_S) + i128::from(started.timestamp_subsec_nanos());
    let us = (start + i128::from(t_ns)).div_euclid(1000);
    us.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64
}

/// Now, for what is made anew from the same input: `SOURCE_DATE_EPOCH` (seconds since 1970) where that is set, as other tools
/// have it, so that the same input gives the same bytes.
pub fn made_utc() -> Result<crate::Utc> {
    let Ok(seconds) = std::env::var("SOURCE_DATE_EPOCH") else { return Ok(chrono::Utc::now()) };
    let time = seconds.parse().ok().and_then(|s| chrono::DateTime::from_timestamp(s, 0));
    time.ok_or_else(|| Error::Value(format!("SOURCE_DATE_EPOCH: “{seconds}” is no number of seconds since 1970")))
}

/// A constant-rate grid of video frames on the session's clock.
///
/// Frame 0's middle of exposure is at `first_t_ns`; frame `i` stands at
/// `first_t_ns + i·den/num` seconds. A video file's PTS 0 is frame 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FrameGrid {
    /// Session time of frame 0.
    pub first_t_ns: i64,
    /// Frames per second, numerator.
    pub fps_num: u32,
    /// Frames per second, denominator.
    pub fps_den: u32,
}

impl FrameGrid {
    /// A grid; the rate must be positive.
    pub fn new(first_t_ns: i64, fps_num: u32, fps_den: u32) -> Result<Self> {
        if fps_num == 0 || fps_den == 0 {
            return Err(Error::Value(format!("frame rate {fps_num}/{fps_den} is not positive")));
        }
        Ok(Self { first_t_ns, fps_num, fps_den })
    }

    /// Nanoseconds from the grid's start to frame `frame`, i.e. its PTS.
    #[must_use]
    pub fn pts_ns(&self, frame: i64) -> i64 {
        let n = i128::from(frame) * i128::from(self.fps_den) * i128::from(NS_PER_S);
        let d = i128::from(self.fps_num.max(1));
        (n.div_euclid(d) + i128::from(n.rem_euclid(d) * 2 >= d)) as i64
    }

    /// Session time of frame `frame`.
    #[must_use]
    pub fn t_ns_of_frame(&self, frame: i64) -> i64 {
        self.first_t_ns + self.pts_ns(frame)
    }

    /// The frame nearest to session time `t_ns` (negative before frame 0).
    #[must_use]
    pub fn nearest_frame(&self, t_ns: i64) -> i64 {
        let half = i128::from(NS_PER_S) * i128::from(self.fps_den);
        let n = i128::from(t_ns - self.first_t_ns) * i128::from(self.fps_num) * 2 + half;
        n.div_euclid(half * 2) as i64
    }

    /// The frame on screen at `t_ns` when a player shows each frame from its PTS to the next.
    #[must_use]
    pub fn frame_at(&self, t_ns: i64) -> i64 {
        // Half a nanosecond of slack: `t_ns_of_frame` rounds.
        let n = (i128::from(t_ns - self.first_t_ns) * 2 + 1) * i128::from(self.fps_num);
        n.div_euclid(i128::from(NS_PER_S) * i128::from(self.fps_den) * 2) as i64
    }
}

/// A stretch of audio without a gap: sample `first_sample` was captured at `t0_ns`, and samples
/// came at `nominal rate · (1 + ppm/10⁶)`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AudioPiece {
    /// Index of the piece's first sample in the audio file.
    pub first_sample: u64,
    /// Samples in the piece.
    pub samples: u64,
    /// Session time at which the first sample was captured, before the latency correction.
    pub t0_ns: i64,
    /// Deviation of the device's rate from the nominal one, parts per million on our clock.
    pub ppm: f64,
    /// Median absolute residual of the fit, nanoseconds.
    pub residual_ns: i64,
    /// Time stamps that the fit rests on.
    pub observations: u32,
}

/// Maps audio samples to session time and back, piece by piece.
///
/// Corrections are applied here, on reading; the raw times lie in `audio_clock.jsonl`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AudioClock {
    /// Nominal sample rate, Hz.
    pub sample_rate: u32,
    /// Known delay between sound and time stamp; subtracted from every time.
    #[serde(default)]
    pub latency_ns: i64,
    /// In order of samples and of time.
    pub pieces: Vec<AudioPiece>,
}

impl AudioClock {
    /// A clock of one piece without drift, as for an imported file.
    #[must_use]
    pub fn nominal(sample_rate: u32, samples: u64, t0_ns: i64) -> Self {
        let piece = AudioPiece { first_sample: 0, samples, t0_ns, ppm: 0.0, residual_ns: 0, observations: 0 };
        Self { sample_rate, latency_ns: 0, pieces: vec![piece] }
    }

    /// Seconds per sample in `piece`, in nanoseconds.
    fn step_ns(&self, piece: &AudioPiece) -> f64 {
        1e9 / (f64::from(self.sample_rate.max(1)) * (1.0 + piece.ppm / 1e6))
    }

    /// Session time of sample `sample` (fractions allowed).
    ///
    /// Samples before the first or after the last piece are extrapolated; `None` without pieces.
    #[must_use]
    pub fn t_ns_of_sample(&self, sample: f64) -> Option<i64> {
        let i = self.pieces.partition_point(|p| p.first_sample as f64 <= sample).saturating_sub(1);
        let p = self.pieces.get(i)?;
        Some(p.t0_ns - self.latency_ns + ((sample - p.first_sample as f64) * self.step_ns(p)).round() as i64)
    }

    /// The sample (fractional) captured at session time `t_ns`.
    ///
    /// In a gap between two pieces this is the boundary sample; before the first and after the
    /// last piece it is extrapolated (it may be negative). `None` without pieces.
    #[must_use]
    pub fn sample_at(&self, t_ns: i64) -> Option<f64> {
        let i = self.pieces.partition_point(|p| p.t0_ns - self.latency_ns <= t_ns).saturating_sub(1);
        let p = self.pieces.get(i)?;
        let into = (t_ns - (p.t0_ns - self.latency_ns)) as f64 / self.step_ns(p);
        let last = i + 1 == self.pieces.len();
        let into = if last { into } else { into.min(p.samples as f64) };
        Some(p.first_sample as f64 + into)
    }

    /// Samples in all pieces.
    #[must_use]
    pub fn samples(&self) -> u64 {
        self.pieces.last().map_or(0, |p| p.first_sample + p.samples)
    }

    /// Session times at which each piece begins and ends.
    pub fn spans_ns(&self) -> impl Iterator<Item = (i64, i64)> + '_ {
        self.pieces.iter().map(|p| {
            let begin = p.t0_ns.saturating_sub(self.latency_ns);
            (begin, begin.saturating_add((p.samples as f64 * self.step_ns(p)).round() as i64))
        })
    }

    /// First and last session time covered, `None` when there are no samples.
    #[must_use]
    pub fn span_ns(&self) -> Option<(i64, i64)> {
        if self.samples() == 0 {
            return None;
        }
        Some((self.spans_ns().next()?.0, self.spans_ns().last()?.1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_frame_stands_at_its_time() {
        let g = FrameGrid::new(500, 30, 1).unwrap();
        assert_eq!(g.t_ns_of_frame(0), 500);
        assert_eq!(g.t_ns_of_frame(1), 33_333_833);
        assert_eq!(g.t_ns_of_frame(3), 100_000_500);
        assert_eq!(g.frame_at(499), -1);
        assert_eq!(g.nearest_frame(499), 0);
    }

    #[test]
    fn utc_counts_from_the_sessions_start() {
        let start = chrono::DateTime::from_timestamp(1_700_000_000, 999_999_500).unwrap();
        assert_eq!(utc_micros(start, 0), 1_700_000_000_999_999);
        assert_eq!(utc_micros(start, 500), 1_700_000_001_000_000);
        assert_eq!(utc_micros(start, -999_999_501), 1_699_999_999_999_999);
    }

    #[test]
    fn a_rate_of_zero_is_refused() {
        assert!(FrameGrid::new(0, 0, 1).is_err());
        assert!(FrameGrid::new(0, 30, 0).is_err());
    }

    #[test]
    fn drift_and_gaps_are_applied() {
        let c = AudioClock {
            sample_rate: 48_000,
            latency_ns: 2_000_000,
            pieces: vec![
                AudioPiece { first_sample: 0, samples: 48_000, t0_ns: 10_000_000, ppm: 0.0, residual_ns: 0, observations: 9 },
                AudioPiece { first_sample: 48_000, samples: 48_000, t0_ns: 3_000_000_000, ppm: 500.0, residual_ns: 0, observations: 9 },
            ],
        };
        assert_eq!(c.t_ns_of_sample(0.0), Some(8_000_000));
        assert_eq!(c.t_ns_of_sample(48_000.0), Some(2_998_000_000));
        // 1 s of samples at +500 ppm takes 1/1.0005 s.
        assert_eq!(c.t_ns_of_sample(96_000.0), Some(2_998_000_000 + 999_500_250));
        assert_eq!(c.sample_at(2_000_000_000), Some(48_000.0), "inside the gap");
        assert_eq!(c.span_ns(), Some((8_000_000, 3_997_500_250)));
        assert_eq!(AudioClock { pieces: vec![], ..c }.sample_at(5), None);
    }

    proptest! {
        #[test]
        fn frames_round_trip(first in -10_i64.pow(15)..10_i64.pow(15), frame in -10_000_000_i64..10_000_000, num in 1_u32..300_000, den in 1_u32..1_100) {
            prop_assume!(f64::from(num) / f64::from(den) < 1e6);
            let g = FrameGrid::new(first, num, den).unwrap();
            prop_assert_eq!(g.frame_at(g.t_ns_of_frame(frame)), frame);
            prop_assert_eq!(g.nearest_frame(g.t_ns_of_frame(frame)), frame);
        }

        #[test]
        fn samples_round_trip(sample in 0_u64..100_000_000, ppm in -500.0_f64..500.0, t0 in 0_i64..10_i64.pow(12), rate in prop::sample::select(vec![8_000_u32, 44_100, 48_000, 96_000])) {
            let c = AudioClock { sample_rate: rate, latency_ns: 7_000_000, pieces: vec![AudioPiece { first_sample: 0, samples: 100_000_001, t0_ns: t0, ppm, residual_ns: 0, observations: 0 }] };
            let t = c.t_ns_of_sample(sample as f64).unwrap();
            prop_assert!((c.sample_at(t).unwrap() - sample as f64).abs() < 0.01);
        }
    }
}
