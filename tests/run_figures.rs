//! Figures of agents' runs: the same as pandas', statsmodels' and scikit-learn's.
#![allow(clippy::unwrap_used, clippy::expect_used)]
#![cfg(feature = "dataset")]

#[allow(dead_code)]
#[path = "common/sample_corpus.rs"]
mod sample;
#[allow(dead_code)]
#[path = "common/sample_runs.rs"]
mod sample_runs;

use redline_schemas::*;
use serde_json::{Value, json};
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

fn redline(args: &[&str]) -> String {
    let out = Command::new(env!("CARGO_BIN_EXE_redline")).args(args).output().unwrap();
    assert!(out.status.success(), "{args:?}: {}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout).unwrap()
}

/// What `tests/python/run_figures.py` says of exported runs.
fn by_others(export: &str) -> Value {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let python = root.join(".venv/bin/python");
    assert!(python.exists(), "{} is missing: run `make setup`", python.display());
    let mut c = Command::new(python);
    c.arg(root.join("tests/python/run_figures.py")).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = c.spawn().unwrap();
    child.stdin.take().unwrap().write_all(export.as_bytes()).unwrap();
    let out = child.wait_with_output().unwrap();
    assert!(out.status.success());
    serde_json::from_slice(&out.stdout).unwrap()
}

/// The same number, or absent in both; whether there is one.
fn same(a: &Value, b: &Value, what: &str) -> bool {
    match (a.as_f64(), b.as_f64()) {
        (Some(x), Some(y)) => assert!((x - y).abs() < 1e-12, "{what}: {x} and {y}"),
        _ => assert!(a.is_null() && b.is_null(), "{what}: {a} and {b}"),
    }
    !a.is_null()
}

/// Compares two aggregates, cell by cell; the cells' names.
fn cells(mine: &Value, other: &Value, compare: &mut dyn FnMut(&Value, &Value, &str)) {
    compare(&mine["overall"], &other["overall"], "overall");
    for by in ["by_family", "by_task"] {
        let (a, b) = (mine[by].as_object().unwrap(), other[by].as_object().unwrap());
        assert_eq!(a.keys().collect::<Vec<_>>(), b.keys().collect::<Vec<_>>(), "{by}");
        a.iter().for_each(|(k, cell)| compare(cell, &b[k], k));
    }
}

#[test]
fn figures_are_those_of_other_implementations() {
    let dir = tempfile::tempdir().unwrap();
    let c = sample_runs::corpus(dir.path());
    let mut state = 777_u64;
    let mut next = |n: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 33) % n) as u8
    };
    use TaskFamily::{Navigation, Orientation, Recovery};
    let tasks = [("see-face", Orientation), ("see-back", Orientation), ("find-hole", Navigation), ("close-dialog", Recovery)];
    let tasks = tasks.map(|(id, family)| sample_runs::add_task(&c, id, family, &["view"]));
    // Of the last task an agent has two scored runs, too few for a median there and overall.
    for (agent, of_task) in [("1.0", [9, 8, 7, 6]), ("1.1", [3, 4, 3, 2])] {
        for (task, n) in tasks.iter().zip(of_task) {
            for i in 0..n {
                let run = sample_runs::add_run(&c, &format!("{agent}-{}-{i}", task.id), task);
                let mut m: RunManifest = fsio::read_manifest(&run.run_json()).unwrap();
                m.agent.version = agent.into();
                fsio::write_json(&run.run_json(), &m).unwrap();
                // One in seven was not looked at, and of the others half did not pass.
                if next(7) > 0 {
                    sample_runs::verify(&run, task, next(2) > 0);
                }
                let mut one = [(); 4].map(|()| next(4)).to_vec();
                one.push(2);
                let two: Vec<u8> = one.iter().map(|s| if next(3) == 0 { 3 - s } else { *s }).collect();
                let (one, mut two): ([u8; 5], [u8; 5]) = (one.try_into().unwrap(), two.try_into().unwrap());
                two[4] = 2;
                // Who is first is a matter of time, not of names.
                let (first, second) = if next(2) == 0 { ("P01", "P02") } else { ("P02", "P01") };
                sample_runs::score(&run, first, one, 60);
                if next(4) > 0 {
                    sample_runs::score(&run, second, two, 120);
                }
            }
        }
    }
    let root = dir.path().to_str().unwrap();
    let report: Value = serde_json::from_str(&redline(&["--json", "run", "report", "--corpus", root])).unwrap();
    let others = by_others(&redline(&["run", "export", "--corpus", root]));

    let (mut medians, mut refused) = (0, 0);
    assert_eq!(report["agents"].as_array().unwrap().len(), 2);
    for a in report["agents"].as_array().unwrap() {
        let other = &others["agents"][format!("scripted {}", a["agent"]["version"].as_str().unwrap())];
        cells(&a["pass_rate"], &other["pass_rate"], &mut |x, y, what| {
            assert_eq!(x["n"], y["n"], "{what}");
            same(&x["rate"], &y["rate"], what);
            same(&x["interval"][0], &y["interval"][0], what);
            same(&x["interval"][1], &y["interval"][1], what);
        });
        for (d, mine) in a["dimensions"].as_object().unwrap() {
            cells(mine, &other["dimensions"][d], &mut |x, y, what| {
                assert_eq!(x["n"], y["n"], "{d} {what}");
                if same(&x["median"], &y["median"], what) { medians += 1 } else { refused += 1 }
            });
        }
    }
    // Overall, three families and four tasks in five dimensions of two agents; the second one's last task is refused
    // in its own cell, its family's and overall.
    assert_eq!((medians, refused), (2 * 5 * 8 - 5 * 3, 5 * 3));

    let mut kappas = Vec::new();
    for (d, mine) in report["agreement"].as_object().unwrap() {
        let other = &others["agreement"][d];
        assert_eq!(mine["n"], other["n"]);
        assert!(mine["n"].as_u64().unwrap() > 20 && same(&mine["exact"], &other["exact"], d));
        if same(&mine["kappa"], &other["kappa"], d) {
            kappas.push(mine["kappa"].as_f64().unwrap());
        }
    }
    // Four that are defined, and neither nothing nor everything; both gave one and the same score in the fifth dimension.
    assert!(kappas.len() == 4 && kappas.iter().all(|k| (-0.5..0.95).contains(k) && k.abs() > 0.01), "{kappas:?}");
    assert_eq!(report["agreement"]["execution_efficiency"]["kappa"], json!(null));
}
