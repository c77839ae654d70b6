//! `redline pack`: the tables hold what the corpus holds, and the usual readers load them.

#![allow(clippy::unwrap_used, clippy::expect_used)]

#[allow(dead_code)]
#[path = "common/sample_corpus.rs"]
mod sample;

use redline_schemas::{InputEvent, Modality, jsonl};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn redline(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_redline")).args(args).output().unwrap()
}

fn pack(corpus: &Path, out: &Path, more: &[&str]) -> Value {
    let o = redline(&[&["pack", "--json", "--corpus", corpus.to_str().unwrap(), "--out", out.to_str().unwrap()], more].concat());
    assert!(o.status.success(), "{}", String::from_utf8_lossy(&o.stderr));
    serde_json::from_slice(&o.stdout).unwrap()
}

fn python() -> PathBuf {
    let p = Path::new(env!("CARGO_MANIFEST_DIR")).join(".venv/bin/python");
    assert!(p.exists(), "{} is missing: run `make setup`", p.display());
    p
}

fn read_with(reader: &str, folder: &Path) -> Value {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/python/read_tables.py");
    let o = Command::new(python()).arg(script).arg(reader).arg(folder).output().unwrap();
    assert!(o.status.success(), "{reader}: {}", String::from_utf8_lossy(&o.stderr));
    serde_json::from_slice(&o.stdout).unwrap()
}

fn rows() -> Value {
    // 304 input events in each of 3 requests and 2 edits.
    json!({"participants": 2, "models": 2, "requests": 3, "edits": 2, "transcripts": 6, "words": 24, "events": 1520, "strokes": 9,
           "selections": 3, "commands": 4, "typing": 0, "renders": 2, "marks": 0})
}

/// “this” begins at 1.013 s; the last move before it is number 101.
fn said_this() -> Value {
    let (x, y) = sample::pointer_at(101);
    json!([["R1", x, y], ["R2", x, y], ["R3", x, y]])
}

#[test]
fn every_reader_loads_every_table_and_finds_the_mouse_under_a_word() {
    let dir = tempfile::tempdir().unwrap();
    sample::build(&dir.path().join("c"));
    let out = dir.path().join("tables");
    let summary = pack(&dir.path().join("c"), &out, &[]);
    let packed: serde_json::Map<String, Value> =
        summary["tables"].as_array().unwrap().iter().map(|t| (t["table"].as_str().unwrap().into(), t["rows"].clone())).collect();
    assert_eq!(Value::Object(packed), rows());
    let loaded: serde_json::Map<String, Value> = rows().as_object().unwrap().clone().into_iter().filter(|(_, n)| *n != 0).collect();
    for reader in ["pyarrow", "duckdb", "polars", "pandas", "datasets"] {
        let got = read_with(reader, &out);
        assert_eq!(got["rows"], Value::Object(loaded.clone()), "{reader}");
        assert_eq!(got["said_this"], said_this(), "{reader}");
        match reader {
            "pyarrow" => {
                assert_eq!(got["schema"]["t_ns"], "int64");
                assert_eq!(got["schema"]["utc"], "timestamp[us, tz=UTC]");
                assert_eq!(got["schema"]["kind"], "dictionary<values=string, indices=int32, ordered=0>");
                assert_eq!(got["units"]["t_ns"], "ns");
                assert_eq!(got["undocumented"], json!([]));
                let p = &got["parquet"];
                assert_eq!(p["compression"], json!(["ZSTD"]));
                assert!(p["t_ns"].as_array().unwrap().contains(&json!("DELTA_BINARY_PACKED")), "{p}");
                assert!(p["x"].as_array().unwrap().contains(&json!("BYTE_STREAM_SPLIT")), "{p}");
                assert_eq!((&p["page_index"], &p["sorted_by"]), (&json!(true), &json!([0, 2])));
            }
            "duckdb" => {
                assert_eq!(got["utc"], sample::start().timestamp_micros());
                assert_eq!(got["bloom_filter"], json!(["session_id"]));
            }
            "datasets" => {
                assert_eq!(got["features"]["requests.video"], "Video");
                assert_eq!(got["features"]["requests.audio"], "Audio");
                assert_eq!(got["features"]["renders.image"], "Image");
                assert_eq!(got["features"]["models.view_top"], "Image");
                assert_eq!(got["video"]["path"], "requests/R1/video.mp4");
            }
            _ => {}
        }
    }
}

#[test]
fn equal_input_gives_equal_bytes_and_row_groups_are_as_asked_for() {
    let dir = tempfile::tempdir().unwrap();
    sample::build(&dir.path().join("c"));
    let first = pack(&dir.path().join("c"), &dir.path().join("a"), &["--row-group-rows", "500"]);
    let o = Command::new(env!("CARGO_BIN_EXE_redline"))
        .env("RAYON_NUM_THREADS", "1")
        .args(["pack", "--row-group-rows", "500", "--corpus"])
        .arg(dir.path().join("c"))
        .arg("--out")
        .arg(dir.path().join("b"))
        .output()
        .unwrap();
    assert!(o.status.success());
    let events = first["tables"].as_array().unwrap().iter().find(|t| t["table"] == "events").unwrap();
    assert_eq!(events["row_groups"], 4, "1520 rows in groups of 500");
    let mut files = 0;
    for e in std::fs::read_dir(dir.path().join("a")).unwrap() {
        let name = e.unwrap().file_name();
        assert!(
            std::fs::read(dir.path().join("a").join(&name)).unwrap() == std::fs::read(dir.path().join("b").join(&name)).unwrap(),
            "{name:?}"
        );
        files += 1;
    }
    assert_eq!(files, 11, "no file for the two tables without rows");
}

#[test]
fn tables_match_the_json_lines_also_when_lines_are_out_of_order() {
    let dir = tempfile::tempdir().unwrap();
    let c = sample::build(&dir.path().join("c"));
    // The same events, last line first, in a file of the same session.
    let path = c.request_dir(&redline_schemas::RequestId::new("R2").unwrap()).input();
    let (events, _) = jsonl::read_all::<InputEvent>(&path).unwrap();
    let lines: Vec<String> = events.iter().rev().map(|e| serde_json::to_string(e).unwrap()).collect();
    std::fs::write(&path, lines.join("\n") + "\n").unwrap();
    let out = dir.path().join("t");
    pack(&dir.path().join("c"), &out, &["--tables", "events"]);
    let got = read_events(&out.join("events.parquet"));
    for id in ["E1", "E2", "R1", "R2", "R3"] {
        let mine: Vec<&InputEvent> = got.iter().filter(|(s, _)| s == id).map(|(_, e)| e).collect();
        assert!(mine.iter().copied().eq(sample::input().iter()), "{id}");
    }
    assert!(got.iter().map(|(s, _)| s.as_str()).is_sorted());
}

fn read_events(path: &Path) -> Vec<(String, InputEvent)> {
    use arrow::array::{Array, AsArray};
    use arrow::datatypes::{Float64Type, Int32Type, Int64Type};
    let file = std::fs::File::open(path).unwrap();
    let reader = parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder::try_new(file).unwrap().build().unwrap();
    let mut all = Vec::new();
    for b in reader {
        let b = b.unwrap();
        let number = |name: &str, i: usize| {
            let a = b.column_by_name(name).unwrap().as_primitive::<Float64Type>();
            a.is_valid(i).then(|| a.value(i))
        };
        let label = |name: &str, i: usize| {
            let d = b.column_by_name(name).unwrap().as_dictionary::<Int32Type>();
            d.key(i).map(|k| d.values().as_string::<i32>().value(k).to_owned())
        };
        for i in 0..b.num_rows() {
            all.push((
                b.column_by_name("session_id").unwrap().as_string::<i32>().value(i).to_owned(),
                InputEvent {
                    t_ns: b.column_by_name("t_ns").unwrap().as_primitive::<Int64Type>().value(i),
                    kind: serde_json::from_value(label("kind", i).unwrap().into()).unwrap(),
                    x: number("x", i),
                    y: number("y", i),
                    vx: number("vx", i),
                    vy: number("vy", i),
                    button: label("button", i),
                    dx: number("dx", i),
                    dy: number("dy", i),
                    key: label("key", i),
                },
            ));
        }
    }
    all
}

#[test]
fn bad_input_is_named_and_leaves_nothing_behind() {
    let dir = tempfile::tempdir().unwrap();
    let c = sample::build(&dir.path().join("c"));
    let id = sample::add_request(&c, "R4", &redline_schemas::ModelId::new("M1").unwrap(), Modality::Text);
    let path = c.request_dir(&id).input();
    let text = std::fs::read_to_string(&path).unwrap();
    let out = dir.path().join("t");
    let run = || redline(&["pack", "--corpus", dir.path().join("c").to_str().unwrap(), "--out", out.to_str().unwrap()]);

    std::fs::write(&path, text.replacen("\"move\"", "\"swim\"", 3).replacen("\"swim\"", "\"move\"", 2)).unwrap();
    let o = run();
    let err = String::from_utf8_lossy(&o.stderr);
    assert_eq!(o.status.code(), Some(5), "{err}");
    assert!(err.contains("R4/input.jsonl:3") && err.contains("swim"), "{err}");
    assert_eq!(std::fs::read_dir(&out).unwrap().count(), 0, "nothing half-done");

    std::fs::write(&path, &text[..text.len() - 20]).unwrap();
    let o = run();
    let err = String::from_utf8_lossy(&o.stderr);
    assert!(o.status.success() && err.contains("torn"), "{err}");

    let o = redline(&["pack", "--corpus", dir.path().to_str().unwrap(), "--out", out.to_str().unwrap()]);
    assert_eq!(o.status.code(), Some(5));
    assert!(String::from_utf8_lossy(&o.stderr).contains("redline init"));
    let o = redline(&["pack", "--corpus", dir.path().join("c").to_str().unwrap(), "--out", out.to_str().unwrap(), "--tables", "evnts"]);
    assert!(!o.status.success() && String::from_utf8_lossy(&o.stderr).contains("no table is called"));
}
