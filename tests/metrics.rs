//! `redline rate metrics` with the real FreeCAD: cubes of known place, a broken file, and the way into reports and tables.
#![allow(clippy::unwrap_used, clippy::expect_used)]

#[path = "../cad/tests/made/mod.rs"]
mod made;
mod review_support;

use arrow::array::{AsArray as _, RecordBatch};
use arrow::datatypes::Float64Type;
use redline_samples::Size;
use redline_samples::onnx::{Output, network};
use redline_schemas::*;
use review_support::{BIN, HEARD, corpus, edit_of, request};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

struct Case {
    dir: tempfile::TempDir,
}

impl Case {
    fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    fn root(&self) -> PathBuf {
        self.dir.path().join("corpus")
    }

    fn corpus(&self) -> Corpus {
        Corpus::open(self.root()).unwrap()
    }

    /// Exit code, standard output and standard error.
    fn run(&self, args: &[&str]) -> (i32, String, String) {
        let mut c = Command::new(BIN);
        c.args(args).arg("--corpus").arg(self.root());
        c.env("XDG_CACHE_HOME", self.dir.path().join("cache")).env_remove("REDLINE_ONNX_MODEL");
        let out = c.output().unwrap();
        let text = |b: Vec<u8>| String::from_utf8(b).unwrap();
        (out.status.code().unwrap(), text(out.stdout), text(out.stderr))
    }

    /// Edit → its line of `rate metrics --json`.
    fn measure(&self, more: &[&str]) -> (i32, BTreeMap<String, Value>, String) {
        let (code, out, talk) = self.run(&[&["rate", "metrics", "--json"], more].concat());
        let lines: Vec<Value> = serde_json::from_str(&out).unwrap_or_else(|e| panic!("{e}: {out}{talk}"));
        (code, lines.into_iter().map(|l| (l["edit"].as_str().unwrap().to_owned(), l)).collect(), talk)
    }

    fn states(&self, more: &[&str], of: &[&EditId]) -> Vec<String> {
        let (_, lines, _) = self.measure(more);
        of.iter().map(|e| lines[e.as_str()]["state"].as_str().unwrap().to_owned()).collect()
    }

    /// Makes a file an edit's final model.
    fn put(&self, edit: &EditId, from: &Path) {
        let dir = self.corpus().edit_dir(edit);
        let to = dir.path().join("final.step");
        std::fs::copy(from, &to).unwrap();
        let mut m = self.corpus().edit(edit).unwrap();
        m.final_model = Some(dir.file_ref(&to).unwrap());
        fsio::write_json(&dir.edit_json(), &m).unwrap();
    }

    /// The findings on metrics, as rule and file.
    fn findings(&self) -> Vec<(String, String)> {
        let (_, out, _) = self.run(&["check", "--json"]);
        let report: Value = serde_json::from_str(&out).unwrap();
        let found = report["findings"].as_array().unwrap().iter();
        let text = |f: &Value, k: &str| f[k].as_str().unwrap().to_owned();
        found.map(|f| (text(f, "rule"), text(f, "file"))).filter(|(_, file)| file.ends_with("metrics.json")).collect()
    }
}

fn near(v: &Value, want: f64, slack: f64, what: &str) {
    let v = v.as_f64().unwrap_or_else(|| panic!("{what}: {v}"));
    assert!((v - want).abs() <= slack, "{what}: {v}, not {want}");
}

fn rate(c: &Corpus, edit: &EditId, score: u8) {
    let one = |r: &str| Rating {
        rater: ParticipantId::new(r).unwrap(),
        instruction_following: score,
        quality: score,
        comment: None,
        rated_utc: None,
    };
    let all = Ratings { format_version: FORMAT_VERSION, edit: edit.clone(), ratings: vec![one("P02"), one("P03")], tool: Tool::redline() };
    fsio::write_json(&c.edit_dir(edit).ratings_path(), &all).unwrap();
}

#[test]
fn edits_are_measured_against_the_requestors_own() {
    let case = Case::new();
    let c = corpus(&case.root());
    let step = |name: &str| case.dir.path().join(format!("{name}.step"));
    made::make(
        case.dir.path(),
        &[
            ("cube", "Part.makeBox(10, 10, 10)"),
            ("same", "Part.makeBox(10, 10, 10)"),
            ("moved", "Part.makeBox(10, 10, 10, V(5, 0, 0))"),
            ("bar", "Part.makeBox(40, 10, 10)"),
            ("open", "Part.makeShell(Part.makeBox(10, 10, 10).Faces[:5])"),
        ],
    );
    std::fs::write(step("broken"), "ISO-10303-21;\nthis is no model").unwrap();
    let r = request(&c, "P04", Modality::Text, Difficulty::Easy, &HEARD, false);
    let lonely = request(&c, "P04", Modality::Text, Difficulty::Easy, &HEARD, false);
    let edit = |who: &str, name: &str| {
        let e = edit_of(&c, &r, who);
        case.put(&e, &step(name));
        e
    };
    let own = edit("P04", "cube");
    let [moved, same, bar, open, broken] =
        [("P02", "moved"), ("P03", "same"), ("P01", "bar"), ("C01", "open"), ("C01", "broken")].map(|(p, m)| edit(p, m));
    let alone = edit_of(&c, &lonely, "P02");
    case.put(&alone, &step("same"));
    let without = edit_of(&c, &r, "P02");

    let (code, lines, talk) = case.measure(&[]);
    assert_eq!(code, 0, "{talk}");
    let m = |e: &EditId| &lines[e.as_str()]["metrics"];
    for e in [&own, &moved, &same, &bar, &alone] {
        assert_eq!((&lines[e.as_str()]["state"], &m(e)["valid"]), (&json!("measured"), &json!(true)), "{}", lines[e.as_str()]);
    }
    // The requestor's own, and one without anything to compare with: validity only.
    for e in [&own, &alone] {
        assert!(m(e)["reference"].is_null() && m(e)["comparison"].is_null() && m(e)["not_compared"].is_null());
    }
    let compared = |e: &EditId| {
        assert_eq!(m(e)["reference"], json!(own));
        assert_eq!(m(e)["reference_sha256"], json!(fsio::sha256_file(&step("cube")).unwrap()));
        m(e)["comparison"].clone()
    };
    let shifted = compared(&moved);
    near(&shifted["chamfer_mm"], 10.0 * 7.0 / 36.0, 2e-3, "moved");
    near(&shifted["chamfer_relative"], 7.0 / 36.0 / 3_f64.sqrt(), 1e-4, "moved");
    near(&shifted["iou"], 1.0 / 3.0, 1.0 / 64.0, "moved");
    assert!(shifted["image_similarity"].is_null());
    assert_eq!((&compared(&same)["chamfer_mm"], &compared(&same)["iou"]), (&json!(0.0), &json!(1.0)));
    assert_eq!(compared(&bar)["iou"], json!(0.25));
    // Open: a distance, but no inside.
    let c_open = compared(&open);
    assert_eq!(m(&open)["valid"], json!(false));
    assert!(c_open["iou"].is_null() && c_open["no_iou"].as_str().unwrap().contains("the model is not closed"), "{c_open}");
    // From the box to the missing side's middle is farther than from the shell to the box.
    assert!(c_open["chamfer_mm"].as_f64().unwrap() > 0.1, "{c_open}");
    assert_eq!(m(&broken)["valid"], json!(false));
    assert!(m(&broken)["problems"][0].as_str().unwrap().contains("can’t read it"), "{}", m(&broken));
    assert!(m(&broken)["not_compared"].as_str().unwrap().contains("can’t read it") && m(&broken)["comparison"].is_null());
    assert_eq!((&lines[without.as_str()]["state"], c.edit_dir(&without).metrics().unwrap()), (&json!("not-yet"), None));

    // What is up to date is left alone; what changed is measured, with what was compared with it.
    let bytes = |e: &EditId| std::fs::read(c.edit_dir(e).metrics_path()).unwrap();
    let before = bytes(&moved);
    let all = [&own, &moved, &same, &bar, &open, &broken, &alone];
    assert_eq!(case.states(&[], &all), ["up-to-date"; 7]);
    assert_eq!(bytes(&moved), before);
    assert_eq!(case.states(&["--force", moved.as_str()], &[&moved]), ["measured"]);
    case.put(&bar, &step("moved"));
    assert_eq!(case.findings(), [("RL513".to_owned(), format!("edits/{bar}/metrics.json"))]);
    assert_eq!(case.states(&[], &[&bar, &moved]), ["measured", "up-to-date"]);
    case.put(&own, &step("moved"));
    assert_eq!(case.findings().len(), 6, "its own, and the five that were compared with it: {:?}", case.findings());
    assert_eq!(case.states(&[], &all), ["measured", "measured", "measured", "measured", "measured", "measured", "up-to-date"]);
    assert_eq!(c.edit_dir(&moved).metrics().unwrap().unwrap().comparison.unwrap().iou, Some(1.0));
    assert_eq!(case.findings(), []);

    // Into the report: against the scores, over the edits that have both.
    for (e, score) in [(&own, 7), (&moved, 6), (&same, 3), (&bar, 5), (&open, 2)] {
        rate(&c, e, score);
    }
    let (code, report, talk) = case.run(&["rate", "report", "--json"]);
    assert_eq!(code, 0, "{talk}");
    let report: Value = serde_json::from_str(&report).unwrap();
    let metrics = report["report"]["groups"][0]["scores"][0]["metrics"].as_array().unwrap();
    let n: BTreeMap<&str, u64> = metrics.iter().map(|m| (m["metric"].as_str().unwrap(), m["n"].as_u64().unwrap())).collect();
    assert_eq!(n, BTreeMap::from([("valid", 5), ("chamfer_mm", 4), ("chamfer_relative", 4), ("iou", 3)]));
    let of = |name: &str| metrics.iter().find(|m| m["metric"] == name).unwrap()["correlation"]["rho"].clone();
    // Scores 6, 3 and 5 for IoU 1, 1/3 and 1: ranks 3, 1, 2 and 2.5, 1, 2.5.
    near(&of("iou"), 1.5 / 3_f64.sqrt(), 1e-9, "iou");
    assert!(of("chamfer_mm").as_f64().unwrap() < 0.0, "farther away, worse");

    // Metrics of what is no longer the final model do not count.
    case.put(&open, &step("cube"));
    let (_, report, talk) = case.run(&["rate", "report", "--json"]);
    let report: Value = serde_json::from_str(&report).unwrap();
    let line = report["edits"].as_array().unwrap().iter().find(|e| e["edit"] == json!(open)).unwrap();
    assert!(line["metrics"].as_object().unwrap().is_empty() && talk.contains(open.as_str()), "{line} {talk}");
    case.put(&open, &step("open"));

    // A table for people.
    let (_, table, _) = case.run(&["rate", "metrics"]);
    assert!(table.contains("Chamfer, mm") && table.contains("not closed") && table.contains("it has no final model"), "{table}");
}

#[test]
fn an_edit_that_fails_is_named_and_the_others_go_on() {
    let case = Case::new();
    let c = corpus(&case.root());
    made::make(case.dir.path(), &[("cube", "Part.makeBox(10, 10, 10)")]);
    let cube = case.dir.path().join("cube.step");
    let r = request(&c, "P04", Modality::Text, Difficulty::Easy, &HEARD, false);
    let edits = ["P04", "P01", "P02", "P03"].map(|p| {
        let e = edit_of(&c, &r, p);
        case.put(&e, &cube);
        e
    });
    let [_, gone, torn, good] = &edits;
    std::fs::remove_file(c.edit_dir(gone).path().join("final.step")).unwrap();
    std::fs::write(c.edit_dir(torn).edit_json(), "{").unwrap();
    let (code, lines, talk) = case.measure(&[]);
    assert_eq!(code, 5, "{talk}");
    assert!(talk.contains("2 edits failed") && talk.contains(gone.as_str()), "{talk}");
    for (e, word) in [(gone, "final.step"), (torn, "edit.json")] {
        let line = &lines[e.as_str()];
        assert!(line["state"] == "failed" && line["message"].as_str().unwrap().contains(word), "{line}");
    }
    assert_eq!((&lines[good.as_str()]["state"], &lines[good.as_str()]["metrics"]["comparison"]["iou"]), (&json!("measured"), &json!(1.0)));
    // What can't be read is written anew.
    std::fs::write(c.edit_dir(good).metrics_path(), "{").unwrap();
    assert_eq!(case.states(&[], &[good]), ["measured"]);
    let (code, _, talk) = case.run(&["rate", "metrics", "E404"]);
    assert!(code == 5 && talk.contains("E404") && talk.contains("no such edit"), "{talk}");
}

#[test]
fn views_are_compared_by_a_network_that_is_named() {
    let case = Case::new();
    let c = corpus(&case.root());
    let step = |name: &str| case.dir.path().join(format!("{name}.step"));
    made::make(
        case.dir.path(),
        &[("cube", "Part.makeBox(10, 10, 10)"), ("moved", "Part.makeBox(10, 10, 10, V(5, 0, 0))"), ("plate", "Part.makeBox(40, 10, 2)")],
    );
    let r = request(&c, "P04", Modality::Text, Difficulty::Easy, &HEARD, false);
    let [own, moved, plate] = [("P04", "cube"), ("P01", "moved"), ("P02", "plate")].map(|(p, m)| {
        let e = edit_of(&c, &r, p);
        case.put(&e, &step(m));
        e
    });
    let file = |name: &str, bytes: &[u8]| {
        let p = case.dir.path().join(name);
        std::fs::write(&p, bytes).unwrap();
        p.to_str().unwrap().to_owned()
    };
    let good = file("mean.onnx", &network(Output::MeanColour, Some(32)));
    for (name, words) in [(file("no.onnx", b"no network"), "export it anew"), ("nowhere.onnx".to_owned(), "name an ONNX file")] {
        let (code, _, talk) = case.run(&["rate", "metrics", "--onnx-model", &name]);
        assert!(code == 5 && talk.contains(&name) && talk.contains(words), "{talk}");
    }
    assert_eq!(case.states(&[], &[&own, &moved]), ["measured", "measured"]);
    let (code, lines, talk) = case.measure(&["--onnx-model", &good]);
    assert_eq!(code, 0, "{talk}");
    assert_eq!(lines[own.as_str()]["state"], "up-to-date", "it is compared with nothing");
    let m = |e: &EditId| &lines[e.as_str()]["metrics"];
    assert_eq!(m(&moved)["image_model_sha256"], json!(fsio::sha256_file(good.as_ref()).unwrap()));
    // Each view fills its picture, wherever the model lies.
    near(&m(&moved)["comparison"]["image_similarity"], 1.0, 1e-6, "moved");
    near(&m(&plate)["comparison"]["image_similarity"], by_hand(&case, &step("cube"), &step("plate")), 1e-4, "plate");
    // Without a network afterwards nothing is lost; with another one it is measured again.
    assert_eq!(case.states(&[], &[&plate]), ["up-to-date"]);
    assert_eq!(case.states(&["--onnx-model", &good], &[&plate]), ["up-to-date"]);
    let other = file("tokens.onnx", &network(Output::Tokens, Some(64)));
    let (_, lines, _) = case.measure(&["--onnx-model", &other]);
    // The upper left corner is paper in every view.
    near(&lines[plate.as_str()]["metrics"]["comparison"]["image_similarity"], 1.0, 1e-6, "corner");
    assert_eq!(case.findings(), []);
}

/// The mean cosine of the views' mean colours, each less ImageNet's mean and over its deviation, from the cached pictures.
fn by_hand(case: &Case, a: &Path, b: &Path) -> f64 {
    let colour = |step: &Path, view: &str| {
        let kept = case.dir.path().join("cache/redline/models").join(fsio::sha256_file(step).unwrap());
        let p = image::open(kept.join(format!("{view}.png"))).unwrap().to_rgb8();
        let n = f64::from(p.width() * p.height());
        let mean = |k: usize| p.pixels().map(|p| f64::from(p.0[k])).sum::<f64>() / n / 255.0;
        [(mean(0) - 0.485) / 0.229, (mean(1) - 0.456) / 0.224, (mean(2) - 0.406) / 0.225]
    };
    let dot = |a: [f64; 3], b: [f64; 3]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>();
    let cosines = VIEWS.map(|v| {
        let (a, b) = (colour(a, v), colour(b, v));
        dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
    });
    cosines.iter().sum::<f64>() / cosines.len() as f64
}

#[test]
fn metrics_pass_the_check_and_are_packed_and_released() {
    let case = Case::new();
    redline_samples::generate(&case.root(), &Size { requests: 6, edits_per_request: 2, events: 1200, renders: 0 }).unwrap();
    let c = case.corpus();
    let all = || c.edit_ids().unwrap().into_iter().map(|e| (e.to_string(), c.edit_dir(&e).metrics().unwrap().unwrap()));
    // The generator works them out: its results are blocks.
    let worked_out: BTreeMap<String, EditMetrics> = all().collect();
    let (code, lines, talk) = case.measure(&[]);
    assert_eq!((code, lines.len()), (0, 12), "{talk}");
    assert!(lines.values().all(|l| l["state"] == "measured"), "by a kernel they are not measured yet: {lines:?}");
    let (code, out, _) = case.run(&["check"]);
    assert_eq!(code, 0, "{out}");
    assert_eq!(case.findings(), []);
    let mut want = BTreeMap::new();
    for (edit, m) in all() {
        let w = &worked_out[&edit];
        assert!(m.valid && m.model_sha256 == w.model_sha256 && m.reference == w.reference, "{m:?}");
        let (Some(have), Some(w)) = (&m.comparison, &w.comparison) else { continue };
        let iou = w.iou.unwrap();
        assert!((have.iou.unwrap() - iou).abs() < 1.0 / 64.0, "{edit}: {have:?}, not {w:?}");
        assert!((have.chamfer_mm / w.chamfer_mm - 1.0).abs() < 2e-3, "{edit}: {have:?}, not {w:?}");
        assert!((have.chamfer_relative / w.chamfer_relative - 1.0).abs() < 2e-3, "{edit}: {have:?}, not {w:?}");
        want.insert(edit, (m.reference.unwrap().to_string(), iou));
    }
    assert_eq!(want.len(), 6, "half of them are the requestors' own");

    let tables = case.dir.path().join("tables");
    let (code, _, talk) = case.run(&["pack", "--tables", "metrics", "--out", tables.to_str().unwrap()]);
    assert_eq!(code, 0, "{talk}");
    let rows = rows(&tables.join("metrics.parquet"));
    // 12 validities, and three figures of each comparison.
    assert_eq!(rows.len(), 12 + 3 * 6);
    for (edit, metric, value, reference) in &rows {
        match metric.as_str() {
            "valid" => assert_eq!((*value, reference), (1.0, &None)),
            "iou" => {
                let (r, iou) = &want[edit];
                assert!((value - iou).abs() < 1.0 / 64.0 && reference.as_ref() == Some(r), "{edit}: {value} {reference:?}");
            }
            "chamfer_mm" | "chamfer_relative" => assert!(*value >= 0.0 && reference.is_some()),
            other => panic!("{other}"),
        }
    }
    let mut sorted = rows.clone();
    sorted.sort_by(|a, b| (&a.0, &a.1).cmp(&(&b.0, &b.1)));
    assert_eq!(rows, sorted);

    let (code, out, talk) = case.run(&["release", "1.0.0", "--json"]);
    assert_eq!(code, 0, "{talk}");
    let release: Value = serde_json::from_str(&out).unwrap();
    let files: Vec<PathBuf> = walk(release["path"].as_str().unwrap().as_ref());
    let packed: Vec<&PathBuf> = files.iter().filter(|p| p.file_name().unwrap() == "metrics.parquet").collect();
    assert!(!packed.is_empty(), "{files:?}");
    let released: usize = packed.iter().map(|p| self::rows(p).len()).sum();
    assert_eq!(released, rows.len());
}

fn walk(dir: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir).unwrap().map(|e| e.unwrap().path());
    entries.flat_map(|p| if p.is_dir() { walk(&p) } else { vec![p] }).collect()
}

/// Edit, metric, value, reference.
fn rows(path: &Path) -> Vec<(String, String, f64, Option<String>)> {
    let reader = parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder::try_new(std::fs::File::open(path).unwrap()).unwrap();
    let mut out = Vec::new();
    for batch in reader.build().unwrap() {
        let b: RecordBatch = batch.unwrap();
        let text = |name: &str| arrow::compute::cast(b.column_by_name(name).unwrap(), &arrow::datatypes::DataType::Utf8).unwrap();
        let (edit, metric, reference) = (text("edit_id"), text("metric"), text("reference_edit_id"));
        let value = b.column_by_name("value").unwrap().as_primitive::<Float64Type>().clone();
        let at = |a: &arrow::array::ArrayRef, i: usize| a.is_valid(i).then(|| a.as_string::<i32>().value(i).to_owned());
        out.extend((0..b.num_rows()).map(|i| (at(&edit, i).unwrap(), at(&metric, i).unwrap(), value.value(i), at(&reference, i))));
    }
    out
}
