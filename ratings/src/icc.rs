//! Intraclass correlation: how far raters agree on scores themselves, not only on their order.
//!
//! Shrout & Fleiss, "Intraclass correlations: uses in assessing rater reliability", Psychological Bulletin 86 (1979);
//! intervals after McGraw & Wong, "Forming inferences about some intraclass correlation coefficients", Psychological
//! Methods 1 (1996), table 7.

use serde::Serialize;
use statrs::function::beta::beta_reg;

/// Reliability of one rater's score and of the mean of `k` raters, with its interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Icc {
    /// Edits.
    pub n: usize,
    /// Raters.
    pub k: usize,
    /// Of a single rater: ICC(2,1) or ICC(1,1).
    pub single: f64,
    /// Of the mean of `k`: ICC(2,k) or ICC(1,k).
    pub average: f64,
    /// Lower end of the 95 % interval of `average`; absent where it has none.
    pub low: Option<f64>,
    /// Upper end of the 95 % interval of `average`.
    pub high: f64,
}

const TAIL: f64 = 0.975;

/// Mean squares of a table with a row an edit and a column a rater.
struct Squares {
    n: f64,
    k: f64,
    rows: f64,
    columns: f64,
    error: f64,
    within: f64,
}

impl Squares {
    /// `None` for fewer than two rows or columns, or rows of different lengths.
    fn of(table: &[Vec<f64>]) -> Option<Self> {
        let (rows, columns) = (table.len(), table.first()?.len());
        if rows < 2 || columns < 2 || table.iter().any(|r| r.len() != columns || r.iter().any(|v| !v.is_finite())) {
            return None;
        }
        let (n, k) = (rows as f64, columns as f64);
        let all = table.iter().flatten().sum::<f64>() / (n * k);
        let square = |v: f64| v * v;
        let mean_of_row = |r: &[f64]| r.iter().sum::<f64>() / k;
        let of_column: Vec<f64> = (0..columns).map(|c| table.iter().filter_map(|r| r.get(c)).sum::<f64>() / n).collect();
        let between_rows = k * table.iter().map(|r| square(mean_of_row(r) - all)).sum::<f64>();
        let between_columns = n * of_column.iter().map(|c| square(c - all)).sum::<f64>();
        // Residuals one by one: as a difference of sums they would lose digits where raters agree.
        let (mut error, mut within) = (0.0, 0.0);
        for r in table {
            let mean = mean_of_row(r);
            for (v, c) in r.iter().zip(&of_column) {
                error += square(v - mean - c + all);
                within += square(v - mean);
            }
        }
        Some(Self {
            n,
            k,
            rows: between_rows / (n - 1.0),
            columns: between_columns / (k - 1.0),
            error: error / ((n - 1.0) * (k - 1.0)),
            within: within / (n * (k - 1.0)),
        })
    }
}

/// ICC(2,1) and ICC(2,k): two-way random effects, absolute agreement, every rater rated every edit.
///
/// `None` for fewer than two edits or raters, a table with gaps, or scores that are all the same.
#[must_use]
pub fn two_way(table: &[Vec<f64>]) -> Option<Icc> {
    let s = Squares::of(table)?;
    let (n, k, r, c, e) = (s.n, s.k, s.rows, s.columns, s.error);
    let single = (r - e) / (r + (k - 1.0) * e + k * (c - e) / n);
    let average = (r - e) / (r + (c - e) / n);
    if !single.is_finite() || !average.is_finite() {
        return None;
    }
    // Satterthwaite's degrees of freedom of the mixed mean square.
    let (low, high) = if single < 1.0 {
        let a = k * single / (n * (1.0 - single));
        let b = 1.0 + k * single * (n - 1.0) / (n * (1.0 - single));
        let v = (a * c + b * e).powi(2) / ((a * c).powi(2) / (k - 1.0) + (b * e).powi(2) / ((n - 1.0) * (k - 1.0)));
        let mixed = k * c + (k * n - k - n) * e;
        let f = f_quantile(TAIL, n - 1.0, v)?;
        let low = n * (r - f * e) / (f * mixed + n * r);
        let f = f_quantile(TAIL, v, n - 1.0)?;
        let high = n * (f * r - e) / (mixed + n * f * r);
        (low, high)
    } else {
        (1.0, 1.0)
    };
    let of_mean = |v: f64| k * v / (1.0 + (k - 1.0) * v);
    // Below −1/(k−1) the mean's reliability runs off to −∞.
    let low = (1.0 + (k - 1.0) * low > 0.0).then(|| of_mean(low));
    Some(Icc { n: table.len(), k: table[0].len(), single, average, low, high: of_mean(high) })
}

/// ICC(1,1) and ICC(1,k): every edit has raters of its own, equally many.
#[must_use]
pub fn one_way(table: &[Vec<f64>]) -> Option<Icc> {
    let s = Squares::of(table)?;
    let (n, k, r, w) = (s.n, s.k, s.rows, s.within);
    if r <= 0.0 {
        return None;
    }
    let (single, average) = ((r - w) / (r + (k - 1.0) * w), (r - w) / r);
    let f = r / w;
    let (low, high) = if f.is_finite() {
        let (d1, d2) = (n - 1.0, n * (k - 1.0));
        (1.0 - f_quantile(TAIL, d1, d2)? / f, 1.0 - 1.0 / (f * f_quantile(TAIL, d2, d1)?))
    } else {
        (1.0, 1.0)
    };
    Some(Icc { n: table.len(), k: table[0].len(), single, average, low: Some(low), high })
}

/// The value below which an F-distributed one lies with probability `p`.
///
/// The crate's own inverse stops after sixteen halvings; its distribution function is exact.
fn f_quantile(p: f64, d1: f64, d2: f64) -> Option<f64> {
    if !(d1 > 0.0 && d2 > 0.0 && d1.is_finite() && d2.is_finite()) {
        return None;
    }
    let (mut low, mut high) = (0.0_f64, 1.0_f64);
    for _ in 0..200 {
        let middle = f64::midpoint(low, high);
        if beta_reg(d1 / 2.0, d2 / 2.0, middle) < p { low = middle } else { high = middle }
    }
    let x = f64::midpoint(low, high);
    let f = d2 * x / (d1 * (1.0 - x));
    f.is_finite().then_some(f)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Shrout & Fleiss (1979), table 2.
    fn example() -> Vec<Vec<f64>> {
        [[9., 2., 5., 8.], [6., 1., 3., 2.], [8., 4., 6., 8.], [7., 1., 2., 6.], [10., 5., 6., 9.], [6., 2., 4., 7.]]
            .map(Vec::from)
            .to_vec()
    }

    fn near(a: f64, b: f64, within: f64) -> bool {
        (a - b).abs() <= within
    }

    #[test]
    fn the_published_example_comes_out() {
        // Their table 4: .17, .29 single; .44, .62 of four.
        let (one, two) = (one_way(&example()).unwrap(), two_way(&example()).unwrap());
        assert!(near(one.single, 0.17, 0.005) && near(one.average, 0.44, 0.005), "{one:?}");
        assert!(near(two.single, 0.29, 0.005) && near(two.average, 0.62, 0.005), "{two:?}");
        // Intervals as R's `psych::ICC` and `irr::icc` print them for this table.
        assert!(near(two.low.unwrap(), 0.07, 0.006) && near(two.high, 0.93, 0.006), "{two:?}");
        assert!(near(one.low.unwrap(), -0.88, 0.01) && near(one.high, 0.91, 0.006), "{one:?}");
        assert_eq!((two.n, two.k), (6, 4));
    }

    #[test]
    fn quantiles_are_those_of_tables() {
        assert!(near(f_quantile(0.975, 5.0, 15.0).unwrap(), 3.5764, 1e-3));
        assert!(near(f_quantile(0.95, 1.0, 10.0).unwrap(), 4.9646, 1e-3));
        assert_eq!(f_quantile(0.975, 0.0, 4.0), None);
    }

    #[test]
    fn what_has_no_value_has_none() {
        assert!(two_way(&[]).is_none());
        assert!(two_way(&[vec![1., 2.]]).is_none(), "one edit");
        assert!(two_way(&[vec![1.], vec![2.]]).is_none(), "one rater");
        assert!(two_way(&[vec![1., 2.], vec![1.]]).is_none(), "a gap");
        assert!(two_way(&[vec![4., 4.], vec![4., 4.]]).is_none(), "no difference at all");
        let same = two_way(&[vec![1., 1.], vec![5., 5.], vec![7., 7.]]).unwrap();
        assert!([same.single, same.average, same.low.unwrap(), same.high].iter().all(|v| near(*v, 1.0, 1e-9)), "{same:?}");
        // Raters who contradict each other: no lower end.
        let apart = two_way(&[vec![1., 7., 4.], vec![7., 1., 4.], vec![4., 4., 3.]]).unwrap();
        assert!(apart.single < 0.0 && apart.low.is_none(), "{apart:?}");
        // A rater who is always two higher costs absolute agreement.
        let shifted = two_way(&[vec![1., 3.], vec![3., 5.], vec![5., 7.]]).unwrap();
        assert!(shifted.single < 0.9, "{shifted:?}");
    }
}
