//! A generated corpus with rows in every table goes the whole way: check, pack, five readers, release.

#![allow(clippy::unwrap_used, clippy::expect_used)]
#![cfg(feature = "dataset")]

use redline_samples::Size;
use serde_json::{Map, Value};
use std::path::Path;
use std::process::{Command, Output};

fn run(c: &mut Command) -> Output {
    let o = c.output().unwrap();
    assert!(o.status.success(), "{c:?}: {}", String::from_utf8_lossy(&o.stderr));
    o
}

fn redline(args: &[&str]) -> Value {
    serde_json::from_slice(&run(Command::new(env!("CARGO_BIN_EXE_redline")).arg("--json").args(args)).stdout).unwrap()
}

fn python(script: &str, args: &[&str]) -> Value {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let python = root.join(".venv/bin/python");
    assert!(python.exists(), "{} is missing: run `make setup`", python.display());
    serde_json::from_slice(&run(Command::new(python).arg(root.join("tests/python").join(script)).args(args)).stdout).unwrap()
}

#[test]
fn every_table_of_a_generated_corpus_is_loaded_by_every_reader_and_released() {
    let dir = tempfile::tempdir().unwrap();
    let corpus = dir.path().join("c");
    let made = redline_samples::generate(&corpus, &Size { requests: 12, edits_per_request: 2, events: 4000, renders: 96 }).unwrap();
    let (corpus, out) = (corpus.to_str().unwrap(), dir.path().join("tables"));
    let report = redline(&["check", "--corpus", corpus]);
    assert_eq!(report["errors"].as_u64(), Some(0), "{report:#}");

    let packed = redline(&["pack", "--corpus", corpus, "--out", out.to_str().unwrap()]);
    let rows: Map<String, Value> =
        packed["tables"].as_array().unwrap().iter().map(|t| (t["table"].as_str().unwrap().to_owned(), t["rows"].clone())).collect();
    assert_eq!(rows.len(), redline_dataset::tables::ALL.len());
    // Runs of agents are recorded, not generated.
    let empty: Vec<&String> = rows.iter().filter(|(_, n)| n.as_u64() == Some(0)).map(|(t, _)| t).collect();
    assert_eq!(empty, ["runs", "scores", "steps"], "every other table has rows: {rows:?}");
    let rows: Map<String, Value> = rows.into_iter().filter(|(_, n)| *n != 0).collect();
    let n = |t: &str| rows[t].as_u64().unwrap();
    assert_eq!(n("events") + n("strokes") + n("selections") + n("commands") + n("typing"), made.events);
    assert_eq!((n("requests"), n("edits"), n("renders"), n("ratings"), n("revisions")), (12, 24, 96, 120, 9 + 3));

    // A table without rows has no file.
    let filled: Map<String, Value> = rows.clone().into_iter().filter(|(_, n)| n.as_u64() != Some(0)).collect();
    let mut found = Vec::new();
    for reader in ["pyarrow", "duckdb", "polars", "pandas", "datasets"] {
        let got = python("read_tables.py", &[reader, out.to_str().unwrap()]);
        assert_eq!(got["rows"], Value::Object(filled.clone()), "{reader}");
        found.push((reader, got["said_this"].clone()));
    }
    assert!(found[0].1.as_array().unwrap().len() > 2, "“this” is said: {found:?}");
    assert!(found.iter().all(|f| f.1 == found[0].1), "all find the mouse at the same places: {found:?}");

    let released = redline(&["release", "1.0.0", "--corpus", corpus]);
    let place = released["path"].as_str().unwrap();
    let got = python("read_release.py", &[place]);
    for (table, rows) in &rows {
        assert_eq!(got["configs"][table]["test"], *rows, "{table}");
        assert_eq!(got["croissant"][table], *rows, "{table}");
    }
    assert_eq!(got["croissant"]["warnings"], Value::Array(vec![]));
    let verified = redline(&["verify", place]);
    assert_eq!(verified["damaged"], Value::Array(vec![]));
}
