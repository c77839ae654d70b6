//! How far the claimed times are off the true ones: median, percentiles, drift; stream by stream and in pairs.

use super::detect::Lit;
use super::{Flash, Moment, Truth};
use serde::{Deserialize, Serialize};

/// A stimulus whose own time is known no better than this is not counted.
pub const MAX_HALF_NS: i64 = 3_000_000;
/// A detection belongs to a stimulus when it is no farther from it.
const NEAR_NS: i64 = 300_000_000;

/// One measured error: claimed minus true time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ErrorAt {
    /// True time.
    pub t_ns: i64,
    /// Claimed minus true.
    pub error_ns: i64,
}

/// The errors of one stream, and what could not be measured.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Stream {
    /// Errors, in order of time.
    pub errors: Vec<ErrorAt>,
    /// Stimuli that were not found again.
    pub missing: u32,
    /// Stimuli whose own time is too uncertain (the machine was busy), left out.
    pub uncertain: u32,
    /// Detections without a stimulus.
    pub surplus: u32,
}

/// Summary of a row of errors.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// What is compared, e.g. `video − audio`.
    pub name: String,
    /// Measurements.
    pub count: usize,
    /// Median, ms.
    pub median_ms: f64,
    /// 5th percentile, ms.
    pub p5_ms: f64,
    /// 95th percentile, ms.
    pub p95_ms: f64,
    /// Drift over ten minutes, ms.
    pub drift_ms_per_10_min: f64,
    /// Half of the drift's 95 % interval, ms over ten minutes.
    pub drift_error_ms_per_10_min: f64,
}

/// All of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Screen video.
    pub video: Stream,
    /// Microphone.
    pub audio: Stream,
    /// Mouse.
    pub input: Stream,
    /// Each stream against the truth, then each pair.
    pub rows: Vec<Row>,
}

impl Report {
    /// Compares.
    #[must_use]
    pub fn new(truth: &Truth, lit: &[Lit], clicks: &[i64], presses: &[i64]) -> Self {
        let video = video(&truth.flashes, lit);
        let audio = moments(&truth.clicks, clicks);
        let input = moments(&truth.presses, presses);
        let mut rows = Vec::new();
        for (name, s) in [("video", &video), ("audio", &audio), ("input", &input)] {
            rows.extend(row(name, &s.errors));
        }
        for (name, a, b) in [("video − audio", &video, &audio), ("video − input", &video, &input), ("audio − input", &audio, &input)]
        {
            rows.extend(row(name, &pair(&a.errors, &b.errors)));
        }
        Self { video, audio, input, rows }
    }

    /// The row of that name.
    #[must_use]
    pub fn row(&self, name: &str) -> Option<&Row> {
        self.rows.iter().find(|r| r.name == name)
    }
}

fn video(flashes: &[Flash], lit: &[Lit]) -> Stream {
    let mut out = Stream::default();
    let mut used = 0;
    for f in flashes {
        let (Some(first), Some(last)) = (f.strips.first(), f.strips.last()) else { continue };
        let near = |l: &&Lit| l.t_ns >= first.t_ns - NEAR_NS && l.t_ns <= last.t_ns + NEAR_NS;
        let Some(l) = lit.iter().find(near) else {
            out.missing += 1;
            continue;
        };
        used += 1;
        let n = usize::from(l.strips);
        // The picture was taken after its last lit strip, and before the first dark one.
        let (Some(on), off) = (n.checked_sub(1).and_then(|i| f.strips.get(i)), f.strips.get(n)) else { continue };
        let middle = match off {
            Some(off) if on.half_ns.max(off.half_ns) > MAX_HALF_NS || off.t_ns - on.t_ns > 4 * MAX_HALF_NS => {
                out.uncertain += 1;
                continue;
            }
            Some(off) => i64::midpoint(on.t_ns, off.t_ns),
            // All lit: no picture was taken in between. It claims too early a time, or says nothing more.
            None if l.t_ns < on.t_ns => on.t_ns,
            None => {
                out.uncertain += 1;
                continue;
            }
        };
        out.errors.push(ErrorAt { t_ns: middle, error_ns: l.t_ns - middle });
    }
    out.surplus = lit.len().saturating_sub(used) as u32;
    out
}

fn moments(truth: &[Moment], found: &[i64]) -> Stream {
    let mut out = Stream::default();
    let mut used = 0;
    for m in truth {
        match found.iter().min_by_key(|f| (**f - m.t_ns).abs()).filter(|f| (**f - m.t_ns).abs() <= NEAR_NS) {
            None => out.missing += 1,
            Some(f) => {
                used += 1;
                if m.half_ns > MAX_HALF_NS {
                    out.uncertain += 1;
                } else {
                    out.errors.push(ErrorAt { t_ns: m.t_ns, error_ns: f - m.t_ns });
                }
            }
        }
    }
    out.surplus = found.len().saturating_sub(used) as u32;
    out
}

/// Differences of the errors that are nearest in time.
fn pair(a: &[ErrorAt], b: &[ErrorAt]) -> Vec<ErrorAt> {
    let nearest = |t: i64| b.iter().min_by_key(|e| (e.t_ns - t).abs());
    a.iter().filter_map(|e| Some(ErrorAt { t_ns: e.t_ns, error_ns: e.error_ns - nearest(e.t_ns)?.error_ns })).collect()
}

fn row(name: &str, errors: &[ErrorAt]) -> Option<Row> {
    let mut ms: Vec<f64> = errors.iter().map(|e| e.error_ns as f64 / 1e6).collect();
    ms.sort_by(f64::total_cmp);
    let (drift, error) = drift(errors);
    Some(Row {
        name: name.into(),
        count: ms.len(),
        median_ms: quantile(&ms, 0.5)?,
        p5_ms: quantile(&ms, 0.05)?,
        p95_ms: quantile(&ms, 0.95)?,
        drift_ms_per_10_min: drift,
        drift_error_ms_per_10_min: error,
    })
}

/// The drift in ms over ten minutes, and half of its 95 % interval: Theil–Sen, spread by the residuals.
fn drift(errors: &[ErrorAt]) -> (f64, f64) {
    let p: Vec<(f64, f64)> = errors.iter().map(|e| (e.t_ns as f64 / 600e9, e.error_ns as f64 / 1e6)).collect();
    // Long runs: every k-th measurement keeps the pairs at a few million.
    let p: Vec<(f64, f64)> = p.iter().copied().step_by(p.len() / 2_000 + 1).collect();
    let mut slopes = Vec::new();
    for (i, a) in p.iter().enumerate() {
        slopes.extend(p[i + 1..].iter().filter(|b| b.0 > a.0).map(|b| (b.1 - a.1) / (b.0 - a.0)));
    }
    slopes.sort_by(f64::total_cmp);
    let Some(slope) = quantile(&slopes, 0.5) else { return (0.0, f64::INFINITY) };
    let mut rest: Vec<f64> = p.iter().map(|(x, y)| y - slope * x).collect();
    rest.sort_by(f64::total_cmp);
    let spread = (quantile(&rest, 0.84).unwrap_or(0.0) - quantile(&rest, 0.16).unwrap_or(0.0)) / 2.0;
    let mean = p.iter().map(|(x, _)| x).sum::<f64>() / p.len() as f64;
    let lever: f64 = p.iter().map(|(x, _)| (x - mean).powi(2)).sum();
    (slope, 1.96 * spread / lever.sqrt())
}

fn quantile(sorted: &[f64], q: f64) -> Option<f64> {
    let at = sorted.len().checked_sub(1)? as f64 * q;
    let (low, high) = (sorted.get(at.floor() as usize)?, sorted.get(at.ceil() as usize)?);
    Some(low + (high - low) * at.fract())
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    fn at(ms: i64) -> Moment {
        Moment { t_ns: ms * MS, half_ns: 0 }
    }

    #[test]
    fn offsets_and_drift_come_out_as_put_in() {
        // Clicks claimed 4 ms late, growing by 0.01 ms a second, which is 6 ms in 10 minutes; presses 1 ms late.
        let truth = Truth {
            clicks: (1..=100).map(|i| at(i * 1_000)).collect(),
            presses: (1..=100).map(|i| at(i * 1_000 + 300)).collect(),
            flashes: vec![],
        };
        let clicks: Vec<_> = (1..=100).map(|i| i * 1_000 * MS + 4 * MS + i * 10_000).collect();
        let presses: Vec<_> = truth.presses.iter().map(|m| m.t_ns + MS).collect();
        let r = Report::new(&truth, &[], &clicks, &presses);
        let audio = r.row("audio").unwrap();
        assert!((audio.median_ms - 4.505).abs() < 0.01, "{audio:?}");
        assert!((audio.drift_ms_per_10_min - 6.0).abs() < 1e-6 && audio.drift_error_ms_per_10_min < 0.1, "{audio:?}");
        assert!((r.row("audio − input").unwrap().median_ms - 3.505).abs() < 0.01);
        assert_eq!(r.row("video"), None);
    }

    #[test]
    fn a_picture_between_strips_tells_its_time() {
        let strips = (0..16).map(|i| Moment { t_ns: 1_000 * MS + i * 2_500_000, half_ns: 100_000 }).collect();
        let flashes = vec![Flash { strips }];
        // 4 strips lit: taken between 1007.5 and 1010 ms; it claims 1012.
        let s = video(&flashes, &[Lit { t_ns: 1_012 * MS, strips: 4, before_ns: 979 * MS }]);
        assert_eq!(s.errors, [ErrorAt { t_ns: 1_008_750_000, error_ns: 3_250_000 }]);
        // All lit, but it claims a time before the last was lit: a lie of at least 7.5 ms.
        let s = video(&flashes, &[Lit { t_ns: 1_030 * MS, strips: 16, before_ns: 0 }]);
        assert_eq!(s.errors[0].error_ns, -7_500_000);
        let s = video(&flashes, &[]);
        assert_eq!((s.missing, s.errors.len()), (1, 0));
    }

    #[test]
    fn what_is_missing_uncertain_or_too_much_is_counted() {
        let truth = [at(1_000), at(2_000), Moment { t_ns: 3_000 * MS, half_ns: 9 * MS }];
        let s = moments(&truth, &[1_001 * MS, 3_004 * MS, 7_000 * MS]);
        assert_eq!((s.errors.len(), s.missing, s.uncertain, s.surplus), (1, 1, 1, 1));
    }
}
