//! Spearman's rank correlation; equal values share the mean of their ranks.

use serde::Serialize;
use statrs::function::beta::beta_reg;

/// A correlation.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Spearman {
    /// Pairs.
    pub n: usize,
    /// −1 to 1.
    pub rho: f64,
    /// Probability of one as far from 0 without any relation, two-sided, from Student's t; 0 when all ranks agree.
    pub p: f64,
}

/// Ranks from 1; equal values get the mean of theirs.
fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    let mut ranks = vec![0.0; values.len()];
    let mut from = 0;
    while from < order.len() {
        let mut to = from;
        while to < order.len() && values[order[to]] == values[order[from]] {
            to += 1;
        }
        let shared = (from + 1 + to) as f64 / 2.0;
        order[from..to].iter().for_each(|i| ranks[*i] = shared);
        from = to;
    }
    ranks
}

/// `None` for fewer than three pairs, or where one side is always the same.
#[must_use]
pub fn spearman(pairs: &[(f64, f64)]) -> Option<Spearman> {
    let n = pairs.len();
    if n < 3 || pairs.iter().any(|(a, b)| !a.is_finite() || !b.is_finite()) {
        return None;
    }
    let (a, b): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
    let (a, b) = (ranks(&a), ranks(&b));
    let mean = (n as f64 + 1.0) / 2.0;
    let sum = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(p, q)| (p - mean) * (q - mean)).sum::<f64>();
    let rho = (sum(&a, &b) / (sum(&a, &a) * sum(&b, &b)).sqrt()).clamp(-1.0, 1.0);
    if !rho.is_finite() {
        return None;
    }
    let df = n as f64 - 2.0;
    // P(|T| ≥ t) = I(df / (df + t²); df/2, 1/2), and df / (df + t²) = 1 − ρ².
    let p = beta_reg(df / 2.0, 0.5, (1.0 - rho * rho).clamp(0.0, 1.0));
    Some(Spearman { n, rho, p })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_correlations() {
        assert_eq!(ranks(&[10.0, 20.0, 20.0, 5.0]), [2.0, 3.5, 3.5, 1.0]);
        // A textbook's: IQ against hours of television, ρ = −29/165.
        let iq = [106., 100., 86., 101., 99., 103., 97., 113., 112., 110.];
        let tv = [7., 27., 2., 50., 28., 29., 20., 12., 6., 17.];
        let pairs: Vec<_> = iq.into_iter().zip(tv).collect();
        let s = spearman(&pairs).unwrap();
        assert!((s.rho + 29.0 / 165.0).abs() < 1e-12 && (s.p - 0.627_188).abs() < 1e-5, "{s:?}");
        assert_eq!(spearman(&[(1., 9.), (2., 8.), (3., 1.)]).unwrap().rho, -1.0);
        assert!(spearman(&[(1., 1.), (2., 2.)]).is_none(), "two pairs");
        assert!(spearman(&[(1., 1.), (1., 2.), (1., 3.)]).is_none(), "always the same");
    }
}
