//! The nearest point of a surface: a tree of boxes over its triangles.

use super::surface::{Bounds, P, Surface, dot, sub};

/// Triangles in a leaf.
const LEAF: usize = 4;

enum Inside {
    /// Its triangles, from and to.
    Leaf(usize, usize),
    /// The second half's node; the first half's is the next one.
    Halves(usize),
}

struct Node {
    bounds: Bounds,
    inside: Inside,
}

/// Finds distances to a surface.
pub(super) struct Nearest {
    nodes: Vec<Node>,
    triangles: Vec<[P; 3]>,
}

impl Nearest {
    pub(super) fn new(surface: &Surface) -> Self {
        let mut all: Vec<([P; 3], P)> = surface.triangles().iter().map(|t| (*t, [0, 1, 2].map(|k| t[0][k] + t[1][k] + t[2][k]))).collect();
        let mut nodes = Vec::with_capacity(all.len());
        divide(&mut nodes, &mut all, 0);
        Self { nodes, triangles: all.into_iter().map(|(t, _)| t).collect() }
    }

    /// The distance from `p` to the surface.
    pub(super) fn distance(&self, p: P) -> f64 {
        let mut best = f64::INFINITY;
        // Halving keeps the tree flat: as deep as the number of triangles has bits.
        let mut waiting = vec![(0, 0.0)];
        while let Some((i, from)) = waiting.pop() {
            if from >= best {
                continue;
            }
            let node = &self.nodes[i];
            match node.inside {
                Inside::Leaf(first, end) => {
                    for t in &self.triangles[first..end] {
                        best = best.min(distance2(p, *t));
                    }
                }
                Inside::Halves(second) => {
                    let of = |i: usize| (i, self.nodes[i].bounds.distance2(p));
                    let (a, b) = (of(i + 1), of(second));
                    // The nearer one is looked into first.
                    waiting.extend(if a.1 <= b.1 { [b, a] } else { [a, b] });
                }
            }
        }
        best.sqrt()
    }
}

/// Appends the node of some triangles, which start at `first` in the order that this brings them into.
fn divide(nodes: &mut Vec<Node>, triangles: &mut [([P; 3], P)], first: usize) {
    let bounds = Bounds::of(triangles.iter().flat_map(|(t, _)| *t));
    let own = nodes.len();
    nodes.push(Node { bounds, inside: Inside::Leaf(first, first + triangles.len()) });
    if triangles.len() <= LEAF {
        return;
    }
    let size = Bounds::of(triangles.iter().map(|(_, c)| *c)).size();
    let axis = (0..3).max_by(|a, b| size[*a].total_cmp(&size[*b])).unwrap_or(0);
    let half = triangles.len() / 2;
    triangles.select_nth_unstable_by(half, |a, b| a.1[axis].total_cmp(&b.1[axis]));
    let (low, high) = triangles.split_at_mut(half);
    divide(nodes, low, first);
    nodes[own].inside = Inside::Halves(nodes.len());
    divide(nodes, high, first + half);
}

/// The square of the distance from a point to a triangle with an area.
fn distance2(p: P, [a, b, c]: [P; 3]) -> f64 {
    let (ab, ac, ap) = (sub(b, a), sub(c, a), sub(p, a));
    // The foot of the perpendicular in coordinates of the two sides; inside the triangle it is the nearest point.
    let (d00, d01, d11, d20, d21) = (dot(ab, ab), dot(ab, ac), dot(ac, ac), dot(ap, ab), dot(ap, ac));
    let det = d00 * d11 - d01 * d01;
    let (v, w) = ((d11 * d20 - d01 * d21) / det, (d00 * d21 - d01 * d20) / det);
    if det > 0.0 && v >= 0.0 && w >= 0.0 && v + w <= 1.0 {
        let foot = [0, 1, 2].map(|k| ap[k] - v * ab[k] - w * ac[k]);
        return dot(foot, foot);
    }
    let side = |a: P, b: P| {
        let (d, from) = (sub(b, a), sub(p, a));
        let t = (dot(from, d) / dot(d, d).max(f64::MIN_POSITIVE)).clamp(0.0, 1.0);
        let off = [0, 1, 2].map(|k| from[k] - t * d[k]);
        dot(off, off)
    };
    side(a, b).min(side(b, c)).min(side(c, a))
}

#[cfg(test)]
mod tests {
    use super::super::shapes::sphere;
    use super::*;
    use proptest::prelude::*;

    fn point() -> impl Strategy<Value = P> {
        [-10.0..10.0_f64, -10.0..10.0, -10.0..10.0]
    }

    #[test]
    fn distances_to_a_triangle() {
        let t = [[0.0; 3], [4.0, 0.0, 0.0], [0.0, 3.0, 0.0]];
        for (p, want) in [
            ([1.0, 1.0, 2.0], 2.0),
            ([1.0, 1.0, 0.0], 0.0),
            ([-3.0, -4.0, 0.0], 5.0),
            ([6.0, 0.0, 0.0], 2.0),
            ([0.0, 3.0, -7.0], 7.0),
            ([2.0, -1.0, 0.0], 1.0),
            // Beyond the longest side, whose middle is (2, 1.5), by 5 along its normal (3, 4)/5.
            ([5.0, 5.5, 0.0], 5.0),
        ] {
            let d = distance2(p, t).sqrt();
            assert!((d - want).abs() < 1e-12, "{p:?}: {d}, not {want}");
        }
    }

    proptest! {
        #[test]
        fn the_tree_finds_what_looking_at_all_triangles_finds(p in point()) {
            let s = Surface::of(&sphere(5.0, 24)).unwrap();
            let all = s.triangles().iter().map(|t| distance2(p, *t)).fold(f64::INFINITY, f64::min).sqrt();
            prop_assert_eq!(Nearest::new(&s).distance(p), all);
        }

        #[test]
        fn no_point_of_the_triangle_is_nearer(p in point(), t in [point(), point(), point()]) {
            let n = 24;
            let mut nearest = f64::INFINITY;
            for i in 0..=n {
                for j in 0..=n - i {
                    let (u, v) = (f64::from(i) / f64::from(n), f64::from(j) / f64::from(n));
                    let off = [0, 1, 2].map(|k| t[0][k] + u * (t[1][k] - t[0][k]) + v * (t[2][k] - t[0][k]) - p[k]);
                    nearest = nearest.min(dot(off, off).sqrt());
                }
            }
            let d = distance2(p, t).sqrt();
            // A point of the lattice is at most a step of either side away.
            let step = (dot(sub(t[1], t[0]), sub(t[1], t[0])).sqrt() + dot(sub(t[2], t[0]), sub(t[2], t[0])).sqrt()) / f64::from(n);
            prop_assert!(d <= nearest + 1e-9 && nearest <= d + step + 1e-9, "{} and {}", d, nearest);
        }
    }
}
