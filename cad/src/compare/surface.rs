//! A mesh as triangles with an area, and points spread over it.

use crate::Mesh;

pub(super) type P = [f64; 3];

pub(super) fn sub(a: P, b: P) -> P {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

pub(super) fn dot(a: P, b: P) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

pub(super) fn cross(a: P, b: P) -> P {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

/// A box along the axes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Bounds {
    pub min: P,
    pub max: P,
}

impl Bounds {
    pub(super) const NOTHING: Self = Self { min: [f64::INFINITY; 3], max: [f64::NEG_INFINITY; 3] };

    pub(super) fn with(self, p: P) -> Self {
        Self { min: [0, 1, 2].map(|k| self.min[k].min(p[k])), max: [0, 1, 2].map(|k| self.max[k].max(p[k])) }
    }

    pub(super) fn of(points: impl IntoIterator<Item = P>) -> Self {
        points.into_iter().fold(Self::NOTHING, Self::with)
    }

    pub(super) fn joined(self, other: Self) -> Self {
        self.with(other.min).with(other.max)
    }

    pub(super) fn size(&self) -> P {
        sub(self.max, self.min)
    }

    pub(super) fn diagonal(&self) -> f64 {
        dot(self.size(), self.size()).sqrt()
    }

    /// The square of the distance to a point; 0 inside.
    pub(super) fn distance2(&self, p: P) -> f64 {
        (0..3).map(|k| (self.min[k] - p[k]).max(p[k] - self.max[k]).max(0.0).powi(2)).sum()
    }
}

/// Triangles, each with an area; at least one.
#[derive(Debug, Clone)]
pub(super) struct Surface {
    triangles: Vec<[P; 3]>,
    /// Area of all triangles up to each, itself included.
    areas: Vec<f64>,
    bounds: Bounds,
}

impl Surface {
    /// `None` without any area.
    pub(super) fn of(mesh: &Mesh) -> Option<Self> {
        let mut s = Self { triangles: Vec::new(), areas: Vec::new(), bounds: Bounds::NOTHING };
        let mut area = 0.0;
        for corners in &mesh.triangles {
            let [Some(a), Some(b), Some(c)] = corners.map(|i| mesh.points.get(i as usize)) else { continue };
            let t = [a, b, c].map(|p| p.map(f64::from));
            let n = cross(sub(t[1], t[0]), sub(t[2], t[0]));
            let own = dot(n, n).sqrt() / 2.0;
            // Also keeps out what is no number.
            if own > 0.0 && own.is_finite() {
                area += own;
                s.triangles.push(t);
                s.areas.push(area);
                s.bounds = t.into_iter().fold(s.bounds, Bounds::with);
            }
        }
        (!s.triangles.is_empty()).then_some(s)
    }

    pub(super) fn triangles(&self) -> &[[P; 3]] {
        &self.triangles
    }

    pub(super) fn bounds(&self) -> Bounds {
        self.bounds
    }

    /// `n` points, each for an equal share of the area, the same ones every time.
    pub(super) fn points(&self, n: usize) -> impl Iterator<Item = P> {
        let whole = self.areas.last().copied().unwrap_or_default();
        let mut at = 0;
        (0..n).map(move |i| {
            let share = (i as f64 + 0.5) / n as f64 * whole;
            while at + 1 < self.areas.len() && self.areas[at] < share {
                at += 1;
            }
            // Roberts' R2 sequence: even in the square at every length, so also in a triangle, half of it.
            let (mut u, mut v) = ((i as f64 * 0.754_877_666_246_692_7).fract(), (i as f64 * 0.569_840_290_998_053_2).fract());
            if u + v > 1.0 {
                (u, v) = (1.0 - u, 1.0 - v);
            }
            let [a, b, c] = self.triangles[at];
            [0, 1, 2].map(|k| a[k] + u * (b[k] - a[k]) + v * (c[k] - a[k]))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::shapes::{cube, join, moved};
    use super::*;

    #[test]
    fn points_lie_on_the_surface_and_are_spread_by_area() {
        // Sides of 1 and of 3: areas 6 and 54.
        let s = Surface::of(&join(&cube(1.0), &moved(&cube(3.0), [10.0, 0.0, 0.0]))).unwrap();
        let points: Vec<P> = s.points(6000).collect();
        assert_eq!(points.len(), 6000);
        let small = points.iter().filter(|p| p[0] < 5.0).count();
        assert!((599..=601).contains(&small), "{small}");
        // Of the big cube's upper side, a quarter in each quarter.
        let top: Vec<_> = points.iter().filter(|p| p[0] > 5.0 && p[2] == 3.0).collect();
        for (x, y) in [(0.0, 0.0), (1.5, 0.0), (0.0, 1.5), (1.5, 1.5)] {
            let here = top.iter().filter(|p| (p[0] - 10.0 - x - 0.75).abs() < 0.75 && (p[1] - y - 0.75).abs() < 0.75).count();
            assert!((here as f64 / top.len() as f64 - 0.25).abs() < 0.01, "{here} of {}", top.len());
        }
        let on_side = |p: &P| (0..3).any(|k| [0.0, 1.0, 3.0, 10.0, 13.0].iter().any(|s| (p[k] - s).abs() < 1e-12));
        assert!(points.iter().all(on_side));
    }
}
