//! Models made by the real FreeCAD, compared by what it makes of them.
#![allow(clippy::unwrap_used, clippy::expect_used)] // A test that cannot go on has failed.

mod made;

use made::make;
use redline_cad::compare::{Comparison, NoIou, compare};
use redline_cad::{BoundingBox, Examiner, Mesh};
use std::f64::consts::PI;
use std::path::Path;

fn near(a: f64, b: f64, slack: f64, what: &str) {
    assert!((a - b).abs() <= slack, "{what}: {a}, not {b}");
}

#[test]
fn comparisons_are_those_of_the_shapes() {
    let dir = tempfile::tempdir().unwrap();
    let ring = "Part.makeCylinder(10, 5).cut(Part.makeCylinder(6, 5))";
    make(
        dir.path(),
        &[
            ("cube", "Part.makeBox(10, 10, 10)"),
            ("moved", "Part.makeBox(10, 10, 10, V(5, 0, 0))"),
            ("mirrored", "Part.makeBox(10, 10, 10).mirror(V(5, 5, 5), V(1, 0, 0))"),
            ("ball", "Part.makeSphere(5, V(5, 5, 5))"),
            ("ring", ring),
            ("disc", "Part.makeCylinder(10, 5)"),
            ("hollow", "Part.makeBox(10, 10, 10).cut(Part.makeBox(5, 5, 5, V(2, 2, 2)))"),
            ("two", "Part.makeCompound([Part.makeBox(5, 10, 10), Part.makeBox(5, 10, 10, V(5, 0, 0))])"),
            ("open", "Part.makeShell(Part.makeBox(10, 10, 10).Faces[:5])"),
            ("loose", "Part.makeCompound([Part.makeBox(10, 10, 10), Part.makePlane(4, 4, V(3, 3, 5))])"),
        ],
    );
    let examiner = Examiner::new(dir.path().join("cache")).unwrap();
    let look = |name: &str| examiner.examine(&Path::new(dir.path()).join(format!("{name}.step"))).unwrap();
    let mesh = |name: &str| look(name).mesh().unwrap().unwrap();
    let against = |a: &str, b: &str| -> Comparison { compare(&mesh(a), &mesh(b)).unwrap() };

    let c = against("moved", "cube");
    near(c.chamfer, 10.0 * 7.0 / 36.0, 2e-3, "moved");
    assert_eq!(c.iou, Ok(22.0 / 64.0));
    for same in ["cube", "mirrored"] {
        let c = against(same, "cube");
        near(c.chamfer, 0.0, 1e-6, same);
        assert_eq!(c.iou, Ok(1.0), "{same}");
    }
    for (a, b, iou) in [("ball", "cube", PI / 6.0), ("ring", "disc", 1.0 - 0.36), ("hollow", "cube", 7.0 / 8.0), ("two", "cube", 1.0)] {
        // Of a round shape the triangles cut off a little.
        near(against(a, b).iou.unwrap(), iou, 0.012, a);
        assert!(look(a).facts.unwrap().closed, "{a}");
    }
    assert_eq!(against("open", "cube").iou, Err(NoIou::OpenModel));
    assert_eq!(against("cube", "loose").iou, Err(NoIou::OpenReference));
    assert!(!look("open").facts.unwrap().closed && !look("loose").facts.unwrap().closed);
}

/// A box as triangles.
fn block(b: &BoundingBox) -> Mesh {
    let corner = |i: usize| [0, 1, 2].map(|k| if i >> k & 1 == 1 { b.max[k] } else { b.min[k] } as f32);
    let sides = [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]];
    let triangles = sides.iter().flat_map(|[a, b, c, d]| [[*a, *b, *c], [*a, *c, *d]]).collect();
    Mesh { points: (0..8).map(corner).collect(), triangles, lines: vec![] }
}

/// Other models, such as published ones, can be tried by hand: a folder in REDLINE_TEST_STEPS.
#[test]
fn other_models_are_closed_and_equal_to_themselves() {
    let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../samples");
    let folder = std::env::var_os("REDLINE_TEST_STEPS").map_or(samples, Into::into);
    let cache = tempfile::tempdir().unwrap();
    let examiner = Examiner::new(cache.path()).unwrap();
    let mut last = None;
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|e| e != "step") {
            continue;
        }
        let begun = std::time::Instant::now();
        let facts = examiner.examine(&path).unwrap();
        let mesh = facts.mesh().unwrap().unwrap();
        let kernel = begun.elapsed();
        let c = compare(&mesh, &mesh).unwrap();
        println!("{}: {} triangles, kernel {kernel:?}, all {:?}", path.display(), mesh.triangles.len(), begun.elapsed());
        println!("  closed {}, {c:?}", facts.facts.as_ref().unwrap().closed);
        assert_eq!(c.chamfer, 0.0);
        assert!(c.iou == Ok(1.0) || !facts.facts.as_ref().unwrap().closed, "{}: {c:?}", path.display());
        let f = facts.facts.as_ref().unwrap();
        if f.closed {
            // In its box it fills what the kernel says its volume is.
            let [w, d, h] = f.bounding_box.size();
            let share = compare(&mesh, &block(&f.bounding_box)).unwrap().iou.unwrap();
            println!("  fills {share:.4} of its box, by the kernel {:.4}", f.volume / (w * d * h));
            near(share, f.volume / (w * d * h), 0.01, "share of the box");
        }
        if let Some(other) = last.replace(mesh.clone()) {
            println!("  against the one before: {:?}", compare(&mesh, &other).unwrap());
        }
        seen += 1;
    }
    assert!(seen > 0);
}
