//! Facts and views from the real FreeCAD.
#![allow(clippy::unwrap_used, clippy::expect_used)] // A test that cannot go on has failed.

mod made;

use made::make;
use redline_cad::{Examiner, ModelFacts};
use redline_schemas::VIEWS;
use std::path::{Path, PathBuf};

fn bracket() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../samples/bracket.step")
}

#[test]
fn a_model_has_facts_and_seven_views_and_is_looked_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let examiner = Examiner::new(dir.path().join("cache")).unwrap();
    let m = examiner.examine(&bracket()).unwrap();
    let f = m.facts.as_ref().unwrap();
    assert!(f.valid, "{:?}", f.problems);
    let stored = redline_cad::step::read_facts(&bracket()).unwrap().counts;
    assert_eq!(f.counts, stored, "the kernel and the file's own words agree");
    let size = f.bounding_box.size();
    assert!(size.iter().zip([80.0, 50.0, 60.0]).all(|(a, b)| (a - b).abs() < 0.01), "{size:?}");
    // An angle of 80 × 12 and 48 × 12, 50 deep, less two rounded corners, plus the fillet, less three holes.
    let pi = std::f64::consts::PI;
    let volume = 50.0 * (80.0 * 12.0 + 48.0 * 12.0) - 2.0 * (100.0 - pi * 25.0) * 12.0 + 50.0 * (64.0 - pi * 16.0)
        - pi * (36.0 * 12.0 + (100.0 - 36.0) * 4.0)
        - 2.0 * pi * 16.0 * 12.0;
    assert!((f.volume / volume - 1.0).abs() < 1e-3, "{} and {volume}", f.volume);
    assert_eq!(m.views.keys().map(String::as_str).collect::<std::collections::BTreeSet<_>>(), VIEWS.into_iter().collect());
    // What is covered of a view: the model's outline, less what is seen through holes, over the square that the longer side
    // fills to 88 %. From the front it is the angle alone, a fifth of its picture.
    let angle = 80.0 * 12.0 + 48.0 * 12.0 + (64.0 - pi * 16.0);
    let plan = 80.0 * 50.0 - 2.0 * (100.0 - pi * 25.0) - 2.0 * pi * 16.0;
    let side = 50.0 * 60.0 - pi * 36.0;
    for (view, outline, span) in [
        ("front", angle, 80.0),
        ("back", angle, 80.0),
        ("top", plan, 80.0),
        ("bottom", plan, 80.0),
        ("left", side, 60.0),
        ("right", side, 60.0),
    ] {
        let i = image::open(&m.views[view]).unwrap().to_rgb8();
        let drawn = i.pixels().filter(|p| p.0 != [255; 3]).count() as f64 / f64::from(i.width() * i.height());
        let expected = outline / (span * span) * 0.88 * 0.88;
        assert!((drawn - expected).abs() < 0.015, "{view}: {drawn:.4} of the picture is covered, not {expected:.4}");
    }
    // Seen from the front it is an angle: its upper right is empty, from the left it is full.
    let at = |view: &str| image::open(&m.views[view]).unwrap().to_rgb8().get_pixel(400, 128).0;
    assert_eq!(at("front"), [255; 3]);
    assert_ne!(at("left"), [255; 3]);

    let again = std::time::Instant::now();
    assert_eq!(examiner.examine(&bracket()).unwrap(), m);
    assert!(again.elapsed() < std::time::Duration::from_millis(500), "kept by its content");
    let copy = dir.path().join("Teil mit Ümlaut.STP");
    std::fs::copy(bracket(), &copy).unwrap();
    assert_eq!(examiner.examine(&copy).unwrap(), m, "whatever its name");
}

#[test]
fn broken_files_are_said_to_be_broken() {
    let dir = tempfile::tempdir().unwrap();
    let examiner = Examiner::new(dir.path().join("cache")).unwrap();
    let good = std::fs::read_to_string(bracket()).unwrap();
    let look = |name: &str, text: &str| -> ModelFacts {
        let p = dir.path().join(name);
        std::fs::write(&p, text).unwrap();
        examiner.examine(&p).unwrap()
    };
    for (name, text) in [("empty.step", ""), ("words.step", "this is no STEP file"), ("cut.step", &good[..good.len() / 2])] {
        let m = look(name, text);
        assert!(m.facts.is_none_or(|f| !f.valid), "{name}");
    }
    let m = look("words.step", "this is no STEP file");
    assert!(m.error.is_some() && m.views.is_empty());
    // Without one of its faces the shell is open.
    let open = good.replacen("CLOSED_SHELL('',(#17,", "CLOSED_SHELL('',(", 1);
    assert_ne!(open, good);
    let m = look("open.step", &open);
    let f = m.facts.unwrap();
    assert!(!f.valid && f.counts.faces + 1 == redline_cad::step::read_facts(&bracket()).unwrap().counts.faces, "{f:?}");
}

#[test]
fn the_box_of_a_rounded_model_is_that_of_its_surface() {
    let dir = tempfile::tempdir().unwrap();
    let cylinder = "Part.makeCylinder(10, 30)";
    let rounded = "(lambda c: c.makeFillet(3, [e for e in c.Edges if e.Curve.TypeId == 'Part::GeomCircle']))(Part.makeCylinder(10, 30))";
    // As splines, whose control points lie outside the surface.
    let splines = format!("{rounded}.toNurbs()");
    let torus = "Part.makeTorus(20, 5)";
    let shapes = [("cylinder", cylinder), ("rounded", rounded), ("splines", &splines), ("torus", torus)];
    let tilted = shapes.map(|(name, s)| (name, format!("tilt({s})")));
    make(dir.path(), &tilted.each_ref().map(|(name, s)| (*name, s.as_str())));

    // The axis after both turns. A solid of revolution reaches, in a direction at an angle to its axis, as far as its
    // meridian does; rounding is a smaller solid with a ball at each of its points.
    let (x, y) = (30_f64.to_radians(), 20_f64.to_radians());
    let axis = [x.cos() * y.sin(), -x.sin(), x.cos() * y.cos()];
    let reach = |half: f64, radius: f64, ball: f64| axis.map(|a| half * a.abs() + radius * (1.0 - a * a).sqrt() + ball);
    let examiner = Examiner::new(dir.path().join("cache")).unwrap();
    for (name, middle, reach) in [
        ("cylinder", 15.0, reach(15.0, 10.0, 0.0)),
        ("rounded", 15.0, reach(12.0, 7.0, 3.0)),
        ("splines", 15.0, reach(12.0, 7.0, 3.0)),
        ("torus", 0.0, reach(0.0, 20.0, 5.0)),
    ] {
        let m = examiner.examine(&dir.path().join(format!("{name}.step"))).unwrap();
        let b = m.facts.unwrap_or_else(|| panic!("{name}: {:?}", m.error)).bounding_box;
        for i in 0..3 {
            let (low, high) = (middle * axis[i] - reach[i], middle * axis[i] + reach[i]);
            let slack = 1e-3 * (high - low);
            assert!((b.min[i] - low).abs() < slack && (b.max[i] - high).abs() < slack, "{name}, axis {i}: {b:?}, not {low}..{high}");
        }
    }
}
