//! A model against another one, where both lie: nothing is moved, turned or scaled first.
//!
//! - **Chamfer distance**: the mean distance of a model's surface to the other's, and the same the other way; the mean of both.
//!   Points are spread over a surface by area, distances are to triangles, not to points.
//! - **Voxel IoU**: common over joint volume, both as cells of a grid of [`GRID`]³ over their joint box.
//!
//! ```
//! use redline_cad::Mesh;
//! use redline_cad::compare::compare;
//! let plate = |x: f32| Mesh { points: vec![[x, 0., 0.], [x, 1., 0.], [x, 0., 1.]], triangles: vec![[0, 1, 2]], lines: vec![] };
//! let c = compare(&plate(0.), &plate(3.)).unwrap();
//! assert!((c.chamfer - 3.).abs() < 1e-9);
//! assert_eq!(c.iou.unwrap_err().to_string(), "the model is not closed: it has no inside");
//! ```

mod chamfer;
mod nearest;
#[cfg(test)]
mod shapes;
mod surface;
mod voxels;

pub use chamfer::SAMPLES;
pub use voxels::GRID;

use crate::Mesh;
use surface::Surface;

/// Why two models can't be compared at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotComparable {
    /// The first has no triangle with an area.
    #[error("the model has no surface")]
    EmptyModel,
    /// The second.
    #[error("the reference has no surface")]
    EmptyReference,
}

/// Why two models have no IoU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoIou {
    /// The first is a surface with a border.
    #[error("the model is not closed: it has no inside")]
    OpenModel,
    /// The second.
    #[error("the reference is not closed: it has no inside")]
    OpenReference,
    /// No centre of a cell lies in either.
    #[error("both models are thinner than a cell of the grid")]
    Thin,
}

/// How near two models are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Comparison {
    /// Chamfer distance, millimetres.
    pub chamfer: f64,
    /// The diagonal of the reference's box, millimetres.
    pub reference_diagonal: f64,
    /// Voxel IoU, 0 to 1.
    pub iou: Result<f64, NoIou>,
}

/// Compares a model with a reference.
pub fn compare(model: &Mesh, reference: &Mesh) -> Result<Comparison, NotComparable> {
    let model = Surface::of(model).ok_or(NotComparable::EmptyModel)?;
    let reference = Surface::of(reference).ok_or(NotComparable::EmptyReference)?;
    Ok(Comparison {
        chamfer: chamfer::distance(&model, &reference),
        reference_diagonal: reference.bounds().diagonal(),
        iou: voxels::iou(&model, &reference),
    })
}

#[cfg(test)]
mod tests {
    use super::shapes::{cube, join, moved, sphere, turned_inside_out};
    use super::*;
    use proptest::prelude::*;

    fn near(a: f64, b: f64, slack: f64) {
        assert!((a - b).abs() <= slack, "{a}, not {b}");
    }

    #[test]
    fn a_cube_moved_by_half_its_side() {
        let c = compare(&moved(&cube(1.0), [0.5, 0.0, 0.0]), &cube(1.0)).unwrap();
        // Of the six sides: the hindmost is 1/2 away; the foremost lies in the other cube and is as far as its nearest wall,
        // a pyramid over the unit square, 1/6; the four between are half on the other's sides and half up to 1/2 away, 1/8.
        near(c.chamfer, (0.5 + 1.0 / 6.0 + 4.0 / 8.0) / 6.0, 1e-4);
        near(c.chamfer, 7.0 / 36.0, 1e-4);
        // 22 of 64 layers of cells: a third, as well as the grid can say it.
        assert_eq!(c.iou, Ok(22.0 / 64.0));
        near(c.reference_diagonal, 3_f64.sqrt(), 1e-12);
        // Moved by a third the grid fits: 32 of 64 layers.
        assert_eq!(compare(&moved(&cube(1.0), [1.0 / 3.0, 0.0, 0.0]), &cube(1.0)).unwrap().iou, Ok(0.5));
    }

    #[test]
    fn equal_models() {
        for m in [cube(7.0), sphere(3.0, 40), moved(&sphere(3.0, 40), [100.0, -50.0, 7.0])] {
            let c = compare(&m, &m).unwrap();
            assert_eq!((c.chamfer, c.iou), (0.0, Ok(1.0)));
        }
    }

    #[test]
    fn models_without_a_surface() {
        let flat = Mesh { points: vec![[0.0; 3], [1.0, 0.0, 0.0], [2.0, 0.0, 0.0]], triangles: vec![[0, 1, 2]], lines: vec![] };
        for empty in [Mesh::default(), flat] {
            assert_eq!(compare(&empty, &cube(1.0)), Err(NotComparable::EmptyModel));
            assert_eq!(compare(&cube(1.0), &empty), Err(NotComparable::EmptyReference));
        }
    }

    #[test]
    fn a_cube_in_a_cube() {
        let (inner, outer) = (moved(&cube(2.0), [1.0; 3]), cube(4.0));
        let c = compare(&inner, &outer).unwrap();
        assert_eq!(c.iou, Ok(1.0 / 8.0));
        // From inside everything is 1 away. From outside, the nearest point of the inner cube: 1 away over its side, farther
        // beside it; the same integral by its midpoint rule.
        let n = 2000;
        let over = |t: f64| (t - 3.0).max(1.0 - t).max(0.0);
        let at = |i: i32| over((f64::from(i) + 0.5) / f64::from(n) * 4.0);
        let sum: f64 = (0..n).map(|i| (0..n).map(|j| (1.0 + at(i).powi(2) + at(j).powi(2)).sqrt()).sum::<f64>()).sum();
        near(c.chamfer, (1.0 + sum / f64::from(n * n)) / 2.0, 1e-4);
        // As a hollow it is not there: what is left has seven eighths.
        let hollow = join(&outer, &turned_inside_out(&inner));
        assert_eq!(compare(&hollow, &outer).unwrap().iou, Ok(7.0 / 8.0));
    }

    #[test]
    fn balls() {
        // A hundred thousand triangles each.
        let (small, big) = (sphere(2.0, 160), sphere(4.0, 160));
        let c = compare(&small, &big).unwrap();
        near(c.iou.unwrap(), 1.0 / 8.0, 2e-3);
        near(c.chamfer, 2.0, 3e-3);
        // A ball's share of its box.
        let c = compare(&big, &moved(&cube(8.0), [-4.0; 3])).unwrap();
        near(c.iou.unwrap(), std::f64::consts::PI / 6.0, 2e-3);
    }

    #[test]
    fn shapes_with_a_border_have_no_iou() {
        let mut open = cube(1.0);
        open.triangles.pop();
        let whole = cube(1.0);
        assert_eq!(compare(&open, &whole).unwrap().iou, Err(NoIou::OpenModel));
        assert_eq!(compare(&whole, &open).unwrap().iou, Err(NoIou::OpenReference));
        let (plate, far) = (cube(1.0), moved(&cube(1.0), [0.0, 0.0, 1000.0]));
        assert_eq!(compare(&plate, &far).unwrap().iou, Err(NoIou::Thin));
    }

    #[test]
    fn solids_that_overlap_are_one_inside() {
        let two = join(&cube(2.0), &moved(&cube(2.0), [1.0, 0.0, 0.0]));
        let mut one = cube(1.0);
        one.points.iter_mut().for_each(|p| (p[0], p[1], p[2]) = (p[0] * 3.0, p[1] * 2.0, p[2] * 2.0));
        assert_eq!(compare(&two, &one).unwrap().iou, Ok(1.0));
    }

    fn place() -> impl Strategy<Value = [f32; 3]> {
        // Eighths, which single-precision numbers hold exactly, so that a moved model is the same model.
        [-800..800_i32, -800..800, -800..800].prop_map(|v| v.map(|i| i as f32 / 8.0))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn either_way_is_the_same_and_place_does_not_matter(
            a in (1_u16..64, place()), b in (1_u16..64, place()), by in place(), round in any::<bool>(),
        ) {
            let first = moved(&cube(f32::from(a.0)), a.1);
            let second = moved(&if round { sphere(f32::from(b.0), 12) } else { cube(f32::from(b.0)) }, b.1);
            let c = compare(&first, &second).unwrap();
            let back = compare(&second, &first).unwrap();
            prop_assert_eq!(c.chamfer, back.chamfer);
            prop_assert_eq!(c.iou.ok(), back.iou.ok());
            prop_assert!(c.chamfer >= 0.0 && c.chamfer.is_finite());
            prop_assert!(c.iou.ok().is_none_or(|v| (0.0..=1.0).contains(&v)));
            let there = compare(&moved(&first, by), &moved(&second, by)).unwrap();
            prop_assert!((there.chamfer - c.chamfer).abs() <= 1e-4 * (1.0 + c.chamfer));
            let (x, y) = (there.iou.unwrap_or(0.0), c.iou.unwrap_or(0.0));
            prop_assert!((x - y).abs() < 0.02, "{} and {}", x, y);
        }
    }
}
