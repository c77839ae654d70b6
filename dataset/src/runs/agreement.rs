//! How far the first and the second scorer of a run agree.

use super::Run;
use redline_schemas::{Dimension, MAX_RUN_SCORE, RunId};
use serde::Serialize;
use std::collections::BTreeMap;

/// Agreement in one dimension, over the runs that two people scored.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Agreement {
    n: usize,
    exact: f64,
    /// Quadratically weighted kappa; absent where it is not defined, because both gave one and the same score to all.
    kappa: Option<f64>,
    runs: Vec<RunId>,
}

impl Agreement {
    /// Runs that two people scored.
    #[must_use]
    pub fn n(&self) -> usize {
        self.n
    }

    /// Share of runs to which both gave the same score.
    #[must_use]
    pub fn exact(&self) -> f64 {
        self.exact
    }

    /// Cohen's kappa, quadratically weighted.
    #[must_use]
    pub fn kappa(&self) -> Option<f64> {
        self.kappa
    }

    /// Which runs.
    #[must_use]
    pub fn runs(&self) -> &[RunId] {
        &self.runs
    }
}

/// Of the first two scorers of each run, a dimension at a time; empty where no run has two.
#[must_use]
pub fn agreement(runs: &[Run]) -> BTreeMap<Dimension, Agreement> {
    let twice: Vec<_> = runs.iter().filter_map(|r| Some((&r.manifest.id, r.scores.first()?, r.scores.get(1)?))).collect();
    if twice.is_empty() {
        return BTreeMap::new();
    }
    let of = |&d: &Dimension| {
        let pairs: Vec<(u8, u8)> = twice.iter().map(|(_, a, b)| (a.scores.get(d), b.scores.get(d))).collect();
        let exact = pairs.iter().filter(|(a, b)| a == b).count() as f64 / pairs.len() as f64;
        let runs = twice.iter().map(|(id, ..)| (*id).clone()).collect();
        (d, Agreement { n: pairs.len(), exact, kappa: weighted_kappa(&pairs, MAX_RUN_SCORE), runs })
    };
    Dimension::ALL.iter().map(of).collect()
}

/// Cohen's kappa with weights that grow with the square of the distance (Cohen 1968), of pairs of scores from 0 to `max`.
///
/// `None` when it is not defined: without pairs, or when chance alone would give no disagreement.
#[must_use]
pub fn weighted_kappa(pairs: &[(u8, u8)], max: u8) -> Option<f64> {
    let n = pairs.len() as f64;
    let count = |of: fn(&(u8, u8)) -> u8, score: u8| pairs.iter().filter(|p| of(p) == score).count() as f64;
    let square = |a: u8, b: u8| (f64::from(a) - f64::from(b)).powi(2);
    let seen: f64 = pairs.iter().map(|&(a, b)| square(a, b)).sum::<f64>() / n;
    let scores = || 0..=max;
    let chance: f64 = scores()
        .flat_map(|a| scores().map(move |b| (a, b)))
        .map(|(a, b)| square(a, b) * count(|p| p.0, a) * count(|p| p.1, b))
        .sum::<f64>()
        / (n * n);
    (chance > 0.0).then(|| 1.0 - seen / chance)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runs::aggregate::tests::run;
    use redline_schemas::TaskFamily;

    #[test]
    fn kappa_by_hand() {
        // Ten runs. Squared distances: 0 0 1 0 0 1 0 4 0 1, so 0.7 in the mean.
        // By chance, over all hundred pairs: the variances and the squared distance of the means. First scorer: mean 1.5,
        // variance 1.05; second: mean 1.4, variance 1.24; together 1.05 + 1.24 + 0.01 = 2.30.
        let pairs = [(0, 0), (0, 0), (1, 2), (1, 1), (1, 1), (2, 3), (2, 2), (2, 0), (3, 3), (3, 2)];
        let k = weighted_kappa(&pairs, 3).unwrap();
        assert!((k - (1.0 - 0.7 / 2.30)).abs() < 1e-12, "{k}");
    }

    #[test]
    fn the_ends_of_kappa() {
        assert_eq!(weighted_kappa(&[(0, 0), (3, 3), (1, 1)], 3), Some(1.0));
        assert_eq!(weighted_kappa(&[(0, 3), (3, 0)], 3), Some(-1.0));
        assert_eq!(weighted_kappa(&[(2, 2), (2, 2)], 3), None);
        assert_eq!(weighted_kappa(&[], 3), None);
    }

    #[test]
    fn agreement_is_of_the_first_two_scorers() {
        let runs = [
            run("r1", "a", TaskFamily::Recovery, None, &[("P01", [0, 1, 2, 3, 0]), ("P02", [0, 1, 2, 3, 1]), ("P03", [3, 3, 3, 3, 3])]),
            run("r2", "a", TaskFamily::Recovery, None, &[("P01", [3, 1, 2, 3, 0]), ("P02", [3, 1, 2, 3, 0])]),
            run("r3", "a", TaskFamily::Recovery, None, &[("P01", [0; 5])]),
        ];
        let a = agreement(&runs);
        let v = &a[&Dimension::VisualPerception];
        assert_eq!((v.n(), v.exact(), v.kappa()), (2, 1.0, Some(1.0)));
        let e = &a[&Dimension::ExecutionEfficiency];
        assert_eq!((e.n(), e.exact(), e.kappa()), (2, 0.5, Some(0.0)));
        assert!(agreement(&runs[2..]).is_empty());
    }
}
