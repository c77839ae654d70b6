//! `redline sync-test` on a virtual desktop: flash, click and press agree with their true times.

#![allow(clippy::unwrap_used)]

use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// Runs the test and gives its JSON.
fn measure(out: &Path, args: &[&str]) -> Value {
    let o = Command::new(env!("CARGO_BIN_EXE_redline"))
        .args(["sync-test", "--virtual", "--json", "--out"])
        .arg(out)
        .args(args)
        .env_remove("DISPLAY")
        .output()
        .unwrap();
    assert!(o.status.success(), "{}", String::from_utf8_lossy(&o.stderr));
    serde_json::from_slice(&o.stdout).unwrap()
}

fn row<'a>(v: &'a Value, name: &str) -> &'a Value {
    v["report"]["rows"].as_array().unwrap().iter().find(|r| r["name"] == name).unwrap_or_else(|| panic!("no row {name}"))
}

/// `sound_ms`: how well the clicks' own times are known.
fn check(v: &Value, at_least: u64, sound_ms: f64) {
    for name in ["video", "audio", "input", "video − audio", "video − input", "audio − input"] {
        let r = row(v, name);
        let median = r["median_ms"].as_f64().unwrap();
        // The target is 5 ms on a quiet machine; tests share theirs with others.
        let bound = if name.contains("audio") { sound_ms } else { 8.0 };
        assert!(median.abs() <= bound, "{name}: median {median} ms");
        assert!(r["count"].as_u64().unwrap() >= at_least, "{name}: only {} of the stimuli were measured", r["count"]);
    }
    for stream in ["audio", "input"] {
        assert_eq!(v["report"][stream]["missing"], 0, "{stream}");
    }
}

#[test]
fn flash_click_and_press_are_found_where_they_were_done() {
    let dir = tempfile::tempdir().unwrap();
    let v = measure(dir.path(), &["--flashes", "12"]);
    // On a busy machine the sound server lets the loudspeaker stutter, by tens of milliseconds at a time.
    check(&v, 6, 45.0);
    // The JSON on disk is the same, and the plot is a picture.
    let file: Value = serde_json::from_slice(&std::fs::read(dir.path().join("sync-test.json")).unwrap()).unwrap();
    assert_eq!(file["report"], v["report"]);
    assert_eq!(&std::fs::read(dir.path().join("sync-test.png")).unwrap()[1..4], b"PNG");
    // Again into the same folder: the recording before is replaced. Elsewhere, what is not ours is left alone.
    let other = dir.path().join("other");
    std::fs::create_dir_all(other.join("corpus")).unwrap();
    std::fs::write(other.join("corpus/keep"), "mine").unwrap();
    let o = Command::new(env!("CARGO_BIN_EXE_redline"))
        .args(["sync-test", "--virtual", "--flashes", "2", "--out"])
        .arg(&other)
        .output()
        .unwrap();
    assert!(!o.status.success());
    assert_eq!(std::fs::read_to_string(other.join("corpus/keep")).unwrap(), "mine");
}

#[test]
fn a_microphone_that_runs_wrong_is_corrected() {
    let dir = tempfile::tempdir().unwrap();
    let v = measure(dir.path(), &["--flashes", "20", "--skew-ppm", "300"]);
    // Here we make the sound ourselves, at times that are known exactly.
    check(&v, 10, 8.0);
    let ppm = v["fitted_ppm"].as_f64().unwrap();
    assert!((ppm - 300.0).abs() < 60.0, "fitted {ppm} ppm");
    // Uncorrected, 300 ppm would be 6 ms over these 20 s: from first to last percentile the error stays well below.
    let audio = row(&v, "audio");
    let spread = audio["p95_ms"].as_f64().unwrap() - audio["p5_ms"].as_f64().unwrap();
    assert!(spread < 3.0, "{audio}");
}
