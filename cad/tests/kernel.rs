//! Facts and views from the real FreeCAD.
#![allow(clippy::unwrap_used, clippy::expect_used)] // A test that cannot go on has failed.

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
    for (view, path) in &m.views {
        let i = image::open(path).unwrap().to_rgb8();
        let drawn = i.pixels().filter(|p| p.0 != [255; 3]).count();
        assert!(drawn * 10 > (i.width() * i.height()) as usize, "{view} shows {drawn} pixels");
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
