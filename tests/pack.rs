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
    json!({"participants": 2, "models": 2, "requests": 3, "edits": 2, "transcripts": 6, "words": 24, "revisions": 0, "events": 1520,
           "strokes": 9, "selections": 3, "commands": 4, "typing": 0, "renders": 2, "marks": 0, "ratings": 0, "metrics": 0, "runs": 0, "steps": 0, "scores": 0})
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
    assert_eq!(files, 11, "no file for the four tables without rows");
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

/// An edit as the bridge to a CAD program leaves it, line for line.
const COMMANDS: &str = r#"{"t_ns":100,"kind":"started","command_id":"PartDesign_Fillet","name":"Fillet","seq":1,"error_ns":120000}
{"t_ns":200,"kind":"camera","parameters":{"position":[1.0,2.0,3.5]},"seq":2,"error_ns":120000}
{"t_ns":300,"kind":"ended","command_id":"PartDesign_Fillet","name":"Fillet","parameters":{"radius":3.0},"seq":5,"error_ns":120000}
{"t_ns":400,"kind":"cancelled","command_id":"PartDesign_Hole","seq":6}
{"t_ns":500,"kind":"saved","seq":8}
"#;
const SELECTIONS: &str = r#"{"t_ns":150,"kind":"preselected","entity":{"kind":"edge","id":"Edge3"},"seq":3}
{"t_ns":160,"kind":"added","entity":{"kind":"edge","id":"Edge3","path":"Body/Pad","document":"Bracket"},"point":[0.1,-2.5,1e-7],"viewport":[640.0,360.5],"set":[{"kind":"edge","id":"Edge3"}],"seq":4,"error_ns":120000}
{"t_ns":310,"kind":"cleared","seq":7}
"#;

#[test]
fn an_edit_in_a_cad_program_is_packed_with_its_selections_states_and_result() {
    use redline_schemas::*;
    let dir = tempfile::tempdir().unwrap();
    let c = sample::build(&dir.path().join("c"));
    let id = EditId::new("E1").unwrap();
    let d = c.edit_dir(&id);
    std::fs::create_dir_all(d.path().join("states")).unwrap();
    let mut m = c.edit(&id).unwrap();
    let mut renders = String::new();
    for (i, (kind, path)) in [("render", "renders/000001.png"), ("state", "states/000002.step"), ("final", "final.step")].iter().enumerate()
    {
        let bytes = format!("ISO-10303-21;\nfile {i}\nEND-ISO-10303-21;\n");
        let f = sample::media_file(&d, &d.path().join(path), bytes.as_bytes());
        let after = if i == 0 { "" } else { r#","after_command":5"# };
        renders += &format!(
            r#"{{"t_ns":{},"kind":"{kind}","path":"{path}","sha256":"{}"{after},"seq":{},"error_ns":5}}"#,
            320 + i,
            f.sha256,
            9 + i
        );
        renders += "\n";
        m.final_model = Some(f);
    }
    let put = |path: PathBuf, text: &str| {
        std::fs::write(&path, text).unwrap();
        let time = |l: &str| serde_json::from_str::<Value>(l).unwrap()["t_ns"].as_i64();
        let (first, last) = (text.lines().next().unwrap(), text.lines().last().unwrap());
        Some(EventStream {
            file: d.file_ref(&path).unwrap(),
            count: text.lines().count() as u64,
            first_t_ns: time(first),
            last_t_ns: time(last),
            lost: 0,
        })
    };
    m.session.streams.commands = put(d.commands(), COMMANDS);
    m.session.streams.selections = put(d.selections(), SELECTIONS);
    m.session.streams.renders = put(d.renders(), &renders);
    fsio::write_json(&d.edit_json(), &m).unwrap();

    let o = redline(&["release", "1.0.0", "--corpus", c.root().to_str().unwrap()]);
    assert!(o.status.success(), "{}", String::from_utf8_lossy(&o.stderr));
    let out = c.release_dir("1.0.0");
    let ask = |sql: &str| -> Value {
        let o = redline(&["query", "--json", "--in", out.to_str().unwrap(), sql]);
        assert!(o.status.success(), "{sql}: {}", String::from_utf8_lossy(&o.stderr));
        serde_json::from_slice(&o.stdout).unwrap()
    };
    let rows = ask("SELECT t_ns, kind, command_id, parameters, error_ns FROM commands WHERE session_id = 'E1' ORDER BY seq");
    let row = |t: u64, kind: &str, id: Option<&str>, p: Option<&str>, e: u64| json!({"t_ns": t, "kind": kind, "command_id": id, "parameters": p, "error_ns": e});
    let (fillet, hole) = (Some("PartDesign_Fillet"), Some("PartDesign_Hole"));
    let want = json!([
        row(100, "started", fillet, None, 120_000),
        row(200, "camera", None, Some(r#"{"position":[1.0,2.0,3.5]}"#), 120_000),
        row(300, "ended", fillet, Some(r#"{"radius":3.0}"#), 120_000),
        row(400, "cancelled", hole, None, 0),
        row(500, "saved", None, None, 0)
    ]);
    assert_eq!(rows, want);
    let rows = ask(
        "SELECT kind, entity_id, entity_path, point_x, point_y, point_z, viewport_y, selected FROM selections WHERE session_id = 'E1' ORDER BY seq",
    );
    let want = json!([
        {"kind": "preselected", "entity_id": "Edge3", "entity_path": null, "point_x": null, "point_y": null, "point_z": null, "viewport_y": null, "selected": 0},
        {"kind": "added", "entity_id": "Edge3", "entity_path": "Body/Pad", "point_x": 0.1, "point_y": -2.5, "point_z": 1e-7, "viewport_y": 360.5, "selected": 1},
        {"kind": "cleared", "entity_id": null, "entity_path": null, "point_x": null, "point_y": null, "point_z": null, "viewport_y": null, "selected": 0}
    ]);
    assert_eq!(rows, want);
    let rows = ask("SELECT kind, path, after_command AS after FROM renders WHERE session_id = 'E1' ORDER BY seq");
    let want = json!([
        {"kind": "render", "path": "edits/E1/renders/000001.png", "after": null},
        {"kind": "state", "path": "edits/E1/states/000002.step", "after": 5},
        {"kind": "final", "path": "edits/E1/final.step", "after": 5}
    ]);
    assert_eq!(rows, want);
    for r in rows.as_array().unwrap() {
        let path = r["path"].as_str().unwrap();
        assert_eq!(std::fs::read(out.join(path)).unwrap(), std::fs::read(c.root().join(path)).unwrap(), "{path} is released");
    }
    let rows = ask("SELECT final_model_path AS f, editing_started_ns AS a, editing_stopped_ns AS b FROM edits WHERE edit_id = 'E1'");
    assert_eq!(rows, json!([{"f": "edits/E1/final.step", "a": 100_000_000, "b": 2_900_000_000_i64}]));
}

#[test]
fn numbers_reach_the_table_to_the_last_bit() {
    let dir = tempfile::tempdir().unwrap();
    let c = sample::build(&dir.path().join("c"));
    // Each lies close to the middle between two doubles, at an end of their range, or has 17 digits.
    let numbers = [0.1 + 0.2, 5e-324, f64::MAX, 123_456.789_012_345_67, 2.225_073_858_507_201_4e-308, -7.205_759_403_792_793e16, 1.0 / 3.0];
    let path = c.request_dir(&redline_schemas::RequestId::new("R1").unwrap()).input();
    let event =
        |(i, n): (usize, &f64)| InputEvent { x: Some(*n), vy: Some(-n), ..InputEvent::new(i as i64, redline_schemas::InputKind::Move) };
    let events: Vec<InputEvent> = numbers.iter().enumerate().map(event).collect();
    let lines: Vec<String> = events.iter().map(|e| serde_json::to_string(e).unwrap() + "\n").collect();
    std::fs::write(&path, lines.concat()).unwrap();
    let out = dir.path().join("t");
    pack(&dir.path().join("c"), &out, &["--tables", "events"]);
    let got = read_events(&out.join("events.parquet"));
    let bits = |e: &InputEvent| (e.x.unwrap().to_bits(), e.vy.unwrap().to_bits());
    let mine: Vec<_> = got.iter().filter(|(s, _)| s == "R1").map(|(_, e)| bits(e)).collect();
    assert_eq!(mine, events.iter().map(bits).collect::<Vec<_>>());
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
