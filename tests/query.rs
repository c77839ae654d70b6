//! `redline query` over corpus, packed tables and release.

#![allow(clippy::unwrap_used, clippy::expect_used)]

#[allow(dead_code)]
#[path = "common/sample_corpus.rs"]
mod sample;

use serde_json::{Value, json};
use std::path::Path;
use std::process::{Command, Output};

fn redline(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_redline")).args(args).output().unwrap()
}

fn ask(dir: &Path, sql: &str) -> Value {
    let o = redline(&["query", "--json", "--in", dir.to_str().unwrap(), sql]);
    assert!(o.status.success(), "{}", String::from_utf8_lossy(&o.stderr));
    serde_json::from_slice(&o.stdout).unwrap()
}

#[test]
fn what_the_mouse_was_on_is_one_line_wherever_it_is_asked() {
    let dir = tempfile::tempdir().unwrap();
    let c = sample::build(&dir.path().join("c"));
    let (corpus, tables) = (c.root(), dir.path().join("t"));
    assert!(redline(&["pack", "--corpus", corpus.to_str().unwrap(), "--out", tables.to_str().unwrap()]).status.success());
    let o = redline(&["release", "1.0.0", "--corpus", corpus.to_str().unwrap()]);
    assert!(o.status.success(), "{}", String::from_utf8_lossy(&o.stderr));

    // “this” is said from 1.013 to 1.2 s: after move 101, while stroke 1 is drawn and Face7 lights up at 1.02 s.
    let (x, y) = sample::pointer_at(101);
    let want: Vec<Value> = ["R1", "R2", "R3"]
        .iter()
        .map(|r| json!({"request_id": r, "x": x, "y": y, "pointer_t_ns": 1_010_000_000, "entity_id": "Face7", "strokes": 1, "selections": 1}))
        .collect();
    let this = "SELECT request_id, x, y, pointer_t_ns, entity_id, strokes, selections FROM pointing WHERE text = 'this' AND transcript = 'oracle' ORDER BY 1";
    for place in [corpus, &tables, &c.release_dir("1.0.0")] {
        assert_eq!(ask(place, this), Value::Array(want.clone()), "{}", place.display());
    }
    // “Make” ends before anything was highlighted.
    let make =
        "SELECT x, entity_id, strokes, selections FROM pointing WHERE text = 'Make' AND transcript = 'automatic' AND request_id = 'R1'";
    assert_eq!(ask(corpus, make), json!([{"x": sample::pointer_at(20).0, "entity_id": null, "strokes": 0, "selections": 0}]));
    // Tables without rows can be asked too.
    assert_eq!(ask(&tables, "SELECT count(*) AS n FROM typing"), json!([{"n": 0}]));

    let o = redline(&[
        "query",
        "--corpus",
        corpus.to_str().unwrap(),
        "SELECT kind, count(*) AS n FROM events GROUP BY kind ORDER BY n DESC LIMIT 1",
    ]);
    let out = String::from_utf8_lossy(&o.stdout);
    assert!(out.contains("| move | 1500 |"), "{out}");
}

#[test]
fn it_only_reads_and_says_what_is_wrong() {
    let dir = tempfile::tempdir().unwrap();
    let c = sample::build(&dir.path().join("c"));
    let stolen = dir.path().join("stolen.parquet");
    let copy = format!("COPY words TO '{}'", stolen.display());
    for (sql, says) in [
        (copy.as_str(), "not supported"),
        ("CREATE TABLE t AS SELECT 1", "not supported"),
        ("DROP TABLE words", "not supported"),
        ("SET datafusion.execution.batch_size = 1", "not supported"),
        ("SELECT wrods FROM words", "wrods"),
        ("SELECT * FROM wrods", "wrods"),
        ("SELEKT 1", "SELEKT"),
    ] {
        let o = redline(&["query", "--corpus", c.root().to_str().unwrap(), sql]);
        let err = String::from_utf8_lossy(&o.stderr);
        assert_eq!(o.status.code(), Some(5), "{sql}: {err}");
        assert!(err.contains(says) && !err.contains("backtrace"), "{sql}: {err}");
        assert!(o.stdout.is_empty());
    }
    assert!(!stolen.exists());
    let o = redline(&["query", "--in", dir.path().to_str().unwrap(), "SELECT 1"]);
    assert_eq!(o.status.code(), Some(5));
    assert!(String::from_utf8_lossy(&o.stderr).contains("neither a corpus"));
}
