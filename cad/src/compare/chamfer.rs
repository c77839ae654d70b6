//! Chamfer distance.

use super::nearest::Nearest;
use super::surface::Surface;

/// Points on each surface.
pub const SAMPLES: usize = 32_768;

/// What is nearer than this share of both models' size is rounding of the mesh's numbers.
const ROUNDING: f64 = 1e-9;

/// The mean of both means: from the points of either surface to the other surface.
pub(super) fn distance(a: &Surface, b: &Surface) -> f64 {
    let rounding = a.bounds().joined(b.bounds()).diagonal() * ROUNDING;
    let mean = |from: &Surface, to: &Surface| {
        let to = Nearest::new(to);
        let far = |d: f64| if d > rounding { d } else { 0.0 };
        from.points(SAMPLES).map(|p| far(to.distance(p))).sum::<f64>() / SAMPLES as f64
    };
    (mean(a, b) + mean(b, a)) / 2.0
}
