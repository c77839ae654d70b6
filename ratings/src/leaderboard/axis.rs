//! An axis for seconds or dollars: logarithmic where values lie far apart.

/// Ratio from which a logarithmic axis reads better.
const FAR_APART: f64 = 5.0;

/// An axis.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Axis {
    low: f64,
    high: f64,
    log: bool,
    /// Values that get a line and a label, within the axis.
    pub ticks: Vec<f64>,
}

impl Axis {
    /// Around positive values; with one that is 0, linear. `steps` are round values within a turn of `turn`.
    pub(super) fn around(values: &[f64], rounds: &dyn Fn(f64, f64) -> Vec<f64>) -> Self {
        let (min, max) = values.iter().fold((f64::INFINITY, 0.0_f64), |(a, b), v| (a.min(*v), b.max(*v)));
        if min > 0.0 && max / min >= FAR_APART {
            let (low, high) = (min / 1.6, max * 1.6);
            return Self { low, high, log: true, ticks: rounds(low, high) };
        }
        let high = if max > 0.0 { max * 1.2 } else { 1.0 };
        let step = round_step(high / 4.0);
        let ticks = (0..).map(|i| f64::from(i) * step).take_while(|t| *t <= high).collect();
        Self { low: 0.0, high, log: false, ticks }
    }

    /// 0 at the low end, 1 at the high end.
    pub(super) fn place(&self, v: f64) -> f64 {
        if self.log { (v / self.low).ln() / (self.high / self.low).ln() } else { (v - self.low) / (self.high - self.low) }
    }

    /// What to say of it.
    pub(super) fn kind(&self) -> &'static str {
        if self.log { ", logarithmic" } else { "" }
    }
}

/// The next of 1, 2, 5, 10, … that is not smaller.
fn round_step(at_least: f64) -> f64 {
    let decade = 10.0_f64.powf(at_least.log10().floor());
    [1.0, 2.0, 5.0, 10.0].into_iter().map(|m| m * decade).find(|s| *s >= at_least * 0.999).unwrap_or(10.0 * decade)
}

/// 1, 2, 5, 10, …
pub(super) fn decimal(low: f64, high: f64) -> Vec<f64> {
    let first = low.log10().floor() as i32;
    let all: Vec<f64> = (first..=first + 12).flat_map(|e| [1.0, 2.0, 5.0].map(|m| m * 10.0_f64.powi(e))).collect();
    thinned(all.into_iter().filter(|t| (low..=high).contains(t)).collect())
}

/// Round numbers of seconds, minutes and hours.
pub(super) fn sexagesimal(low: f64, high: f64) -> Vec<f64> {
    if low < 1.0 {
        return decimal(low, high);
    }
    let within_a_turn = [1.0, 2.0, 5.0, 10.0, 30.0];
    let hours = within_a_turn.map(|h| h * 3600.0).into_iter().chain([360_000.0, 3_600_000.0]);
    let all = within_a_turn.into_iter().chain(within_a_turn.map(|m| m * 60.0)).chain(hours);
    thinned(all.filter(|t| (low..=high).contains(t)).collect())
}

/// A round number of seconds on an axis.
pub(super) fn time_tick(seconds: f64) -> String {
    match seconds {
        s if s < 60.0 => format!("{} s", plain(s)),
        s if s < 3600.0 => format!("{} min", plain(s / 60.0)),
        s => format!("{} h", plain(s / 3600.0)),
    }
}

/// A round number of dollars on an axis.
pub(super) fn cost_tick(dollars: f64) -> String {
    format!("${}", plain(dollars))
}

/// Without the digits that only rounding brought.
fn plain(v: f64) -> String {
    let text = format!("{v:.8}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// No more than eight labels.
fn thinned(ticks: Vec<f64>) -> Vec<f64> {
    let every = ticks.len().div_ceil(8).max(1);
    ticks.into_iter().step_by(every).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_far_apart_get_a_logarithmic_axis() {
        let a = Axis::around(&[10.0, 1000.0], &sexagesimal);
        assert!(a.log && (a.place(100.0) - 0.5).abs() < 1e-9);
        assert_eq!(a.ticks, [10.0, 30.0, 60.0, 120.0, 300.0, 600.0]);
        let a = Axis::around(&[0.02, 3.0], &decimal);
        assert_eq!(a.ticks.len(), 7, "{:?}", a.ticks);
        assert!(a.ticks.iter().any(|t| (t - 0.05).abs() < 1e-12));
    }

    #[test]
    fn ticks_are_told_without_needless_digits() {
        assert_eq!([0.0, 0.5, 30.0, 300.0, 3600.0, 90_000.0].map(time_tick), ["0 s", "0.5 s", "30 s", "5 min", "1 h", "25 h"]);
        assert_eq!([0.002, 0.05, 1.0, 20.0].map(cost_tick), ["$0.002", "$0.05", "$1", "$20"]);
    }

    #[test]
    fn close_values_and_nought_get_a_linear_one_from_nought() {
        let a = Axis::around(&[20.0, 60.0], &sexagesimal);
        assert_eq!((a.log, a.place(0.0), a.ticks), (false, 0.0, vec![0.0, 20.0, 40.0, 60.0]));
        let a = Axis::around(&[0.0, 60.0], &decimal);
        assert!(!a.log && a.place(60.0) < 1.0);
        assert_eq!(Axis::around(&[0.0], &decimal).ticks.len(), 3, "a free model is at nought");
    }
}
