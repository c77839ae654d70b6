//! Volumes as cells of a grid, and their IoU.

use super::NoIou;
use super::surface::{Bounds, P, Surface};

/// Cells along each side of the joint box.
pub const GRID: usize = 64;

/// Rays run this much beside the middle of cells, in cells, since edges of models often lie in the middle.
const BESIDE: [f64; 2] = [0.013_7, -0.008_3];

/// A surface is open when more of the rays that meet it come out with another number of sides than they went in.
const LEAKS: f64 = 0.05;

/// Common over joint volume of what lies inside the surfaces.
pub(super) fn iou(model: &Surface, reference: &Surface) -> Result<f64, NoIou> {
    let bounds = model.bounds().joined(reference.bounds());
    let a = inside(model, bounds).ok_or(NoIou::OpenModel)?;
    let b = inside(reference, bounds).ok_or(NoIou::OpenReference)?;
    let (mut common, mut joint) = (0_u32, 0_u32);
    for (a, b) in a.into_iter().zip(b) {
        common += u32::from(a && b);
        joint += u32::from(a || b);
    }
    if joint == 0 { Err(NoIou::Thin) } else { Ok(f64::from(common) / f64::from(joint)) }
}

/// Which cells have their middle inside, x fastest; `None` for an open surface.
///
/// Rays along three axes vote on every cell. A ray counts how often it went in, less how often it came out, so that solids may
/// overlap and hollows are empty; one that does not come out at 0 went through a gap and has no vote.
fn inside(surface: &Surface, bounds: Bounds) -> Option<Vec<bool>> {
    let mut votes = vec![0_i8; GRID * GRID * GRID];
    let (mut met, mut leaked) = (0_u32, 0_u32);
    for axis in 0..3 {
        for (column, mut sides) in crossings(surface, bounds, axis).into_iter().enumerate() {
            if sides.is_empty() {
                // Nothing is inside there.
                vote(&mut votes, axis, column, |_| false);
                continue;
            }
            met += 1;
            if sides.iter().map(|(_, way)| way).sum::<i32>() != 0 {
                leaked += 1;
                continue;
            }
            sides.sort_by(|a, b| a.0.total_cmp(&b.0));
            let (mut passed, mut depth) = (0, 0);
            vote(&mut votes, axis, column, |k| {
                while let Some((_, way)) = sides.get(passed).filter(|(at, _)| *at < k as f64 + 0.5) {
                    depth += way;
                    passed += 1;
                }
                depth != 0
            });
        }
    }
    (f64::from(leaked) <= f64::from(met) * LEAKS && met > 0).then(|| votes.into_iter().map(|v| v > 0).collect())
}

/// Gives the votes of one ray: for each cell along it, in order.
fn vote(votes: &mut [i8], axis: usize, column: usize, mut is_inside: impl FnMut(usize) -> bool) {
    let strides = [1, GRID, GRID * GRID];
    let (u, v) = (column % GRID, column / GRID);
    let first = u * strides[(axis + 1) % 3] + v * strides[(axis + 2) % 3];
    for k in 0..GRID {
        votes[first + k * strides[axis]] += if is_inside(k) { 1 } else { -1 };
    }
}

/// Where each ray along `axis` goes through the surface, in cells, and whether it goes in (1) or comes out (−1).
fn crossings(surface: &Surface, bounds: Bounds, axis: usize) -> Vec<Vec<(f64, i32)>> {
    let mut columns = vec![Vec::new(); GRID * GRID];
    let size = bounds.size();
    let in_cells = |p: P, k: usize| if size[k] > 0.0 { (p[k] - bounds.min[k]) / size[k] * GRID as f64 } else { 0.0 };
    let [u, v] = [(axis + 1) % 3, (axis + 2) % 3];
    for t in surface.triangles() {
        let flat = t.map(|p| [in_cells(p, u), in_cells(p, v)]);
        let deep = t.map(|p| in_cells(p, axis));
        for j in rays(flat.map(|p| p[1]), BESIDE[1]) {
            for i in rays(flat.map(|p| p[0]), BESIDE[0]) {
                let ray = [i as f64 + 0.5 + BESIDE[0], j as f64 + 0.5 + BESIDE[1]];
                let left = [0, 1, 2].map(|e| is_left(ray, flat[(e + 1) % 3], flat[(e + 2) % 3]));
                if left[0] != left[1] || left[1] != left[2] {
                    continue;
                }
                let weights = [0, 1, 2].map(|e| doubled_area(ray, flat[(e + 1) % 3], flat[(e + 2) % 3]));
                let sum: f64 = weights.iter().sum();
                let at = if sum == 0.0 { deep[0] } else { (0..3).map(|e| weights[e] * deep[e]).sum::<f64>() / sum };
                // Seen against the axis, sides that look back at where the ray comes from turn clockwise.
                columns[j * GRID + i].push((at, if left[0] { -1 } else { 1 }));
            }
        }
    }
    columns
}

/// The rays that the extent of three coordinates reaches.
fn rays(of: [f64; 3], beside: f64) -> std::ops::Range<usize> {
    let (low, high) = (of[0].min(of[1]).min(of[2]), of[0].max(of[1]).max(of[2]));
    let first = |x: f64| (x - 0.5 - beside).ceil().clamp(0.0, GRID as f64) as usize;
    first(low)..first(high + f64::EPSILON * GRID as f64).max(first(low)).min(GRID)
}

fn doubled_area(p: [f64; 2], a: [f64; 2], b: [f64; 2]) -> f64 {
    (a[0] - p[0]) * (b[1] - p[1]) - (b[0] - p[0]) * (a[1] - p[1])
}

/// Whether `p` is to the left of the way from `a` to `b`. From either side of an edge the answers are opposite, also on it,
/// so that a ray meets exactly one of the two triangles there.
fn is_left(p: [f64; 2], a: [f64; 2], b: [f64; 2]) -> bool {
    if (a[0], a[1]) <= (b[0], b[1]) { doubled_area(p, a, b) >= 0.0 } else { doubled_area(p, b, a) < 0.0 }
}

#[cfg(test)]
mod tests {
    use super::super::shapes::{cube, moved, sphere, turned_inside_out};
    use super::*;

    fn share(s: &Surface, bounds: Bounds) -> f64 {
        let cells = inside(s, bounds).unwrap();
        cells.iter().filter(|c| **c).count() as f64 / cells.len() as f64
    }

    #[test]
    fn volumes_are_those_of_the_shapes() {
        let ball = Surface::of(&sphere(5.0, 120)).unwrap();
        let want = std::f64::consts::PI / 6.0;
        assert!((share(&ball, ball.bounds()) - want).abs() < 1e-3, "{}", share(&ball, ball.bounds()));
        let outside_in = Surface::of(&turned_inside_out(&sphere(5.0, 120))).unwrap();
        assert_eq!(share(&outside_in, ball.bounds()), share(&ball, ball.bounds()));
        let cube = Surface::of(&cube(1.0)).unwrap();
        assert_eq!(share(&cube, cube.bounds()), 1.0);
    }

    #[test]
    fn cells_are_where_the_model_is() {
        // A unit cube at (3, 1, 2) in a box of 4: 16 cells a unit.
        let cells = inside(&Surface::of(&moved(&cube(1.0), [3.0, 1.0, 2.0])).unwrap(), Bounds { min: [0.0; 3], max: [4.0; 3] }).unwrap();
        for (i, c) in cells.iter().enumerate() {
            let at = [i % GRID, i / GRID % GRID, i / GRID / GRID].map(|k| k / 16);
            assert_eq!(*c, at == [3, 1, 2], "{at:?}");
        }
    }

    #[test]
    fn a_few_gaps_are_outvoted() {
        let mut holed = sphere(5.0, 60);
        let whole = Surface::of(&holed).unwrap();
        // Every 500th triangle is missing.
        let mut n = 0;
        holed.triangles.retain(|_| {
            n += 1;
            n % 500 != 0
        });
        let holed = Surface::of(&holed).unwrap();
        let (a, b) = (inside(&whole, whole.bounds()).unwrap(), inside(&holed, whole.bounds()).unwrap());
        let wrong = a.iter().zip(&b).filter(|(a, b)| a != b).count();
        assert!(wrong < a.len() / 2000, "{wrong} cells are wrong");
    }
}
