//! `redline check`: a whole corpus has no error, and each kind of damage is found by its rule.
#![allow(clippy::unwrap_used, clippy::expect_used)]
#![cfg(feature = "dataset")]

use redline_samples::Size;
use redline_schemas::*;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// A small corpus with every modality, made once and copied for each test.
fn template() -> &'static Path {
    static MADE: OnceLock<tempfile::TempDir> = OnceLock::new();
    let dir = MADE.get_or_init(|| {
        let dir = tempfile::tempdir().unwrap();
        redline_samples::generate(&dir.path().join("c"), &Size { requests: 6, edits_per_request: 2, events: 6000, renders: 24 }).unwrap();
        dir
    });
    Box::leak(dir.path().join("c").into_boxed_path())
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for e in std::fs::read_dir(from).unwrap() {
        let e = e.unwrap();
        let to = to.join(e.file_name());
        if e.file_type().unwrap().is_dir() {
            copy(&e.path(), &to);
        } else {
            std::fs::copy(e.path(), to).unwrap();
        }
    }
}

struct Case {
    _dir: tempfile::TempDir,
    root: PathBuf,
}

impl Case {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("c");
        copy(template(), &root);
        Self { _dir: dir, root }
    }

    fn corpus(&self) -> Corpus {
        Corpus::open(&self.root).unwrap()
    }

    /// The first request of a modality.
    fn request(&self, m: Modality) -> (RequestId, RequestManifest, SessionDir) {
        let c = self.corpus();
        let id = c.request_ids().unwrap().into_iter().find(|id| c.request(id).unwrap().modality == m).unwrap();
        let r = c.request(&id).unwrap();
        let dir = c.request_dir(&id);
        (id, r, dir)
    }

    fn run(&self, args: &[&str]) -> (i32, serde_json::Value, String) {
        let out =
            Command::new(env!("CARGO_BIN_EXE_redline")).args(["check", "--json", "--corpus"]).arg(&self.root).args(args).output().unwrap();
        let err = String::from_utf8(out.stderr).unwrap();
        let json = serde_json::from_slice(&out.stdout).unwrap_or_else(|e| panic!("{e}: {err}"));
        (out.status.code().unwrap(), json, err)
    }

    /// Rules that found something, and the files.
    fn found(&self, args: &[&str]) -> (i32, BTreeSet<(String, String)>) {
        let (code, json, _) = self.run(args);
        let get = |f: &serde_json::Value, k: &str| f[k].as_str().unwrap().to_owned();
        (code, json["findings"].as_array().unwrap().iter().map(|f| (get(f, "rule"), get(f, "file"))).collect())
    }

    fn expect(&self, rule: &str, file: &str) {
        self.expect_with(&[], rule, file);
    }

    fn expect_with(&self, args: &[&str], rule: &str, file: &str) {
        let (code, found) = self.found(args);
        assert!(found.contains(&(rule.to_owned(), file.to_owned())), "{rule} in {file} is not among {found:?}");
        let is_error = redline_rules().iter().any(|(id, severity)| id == rule && severity == "error");
        assert_eq!(code, if is_error { 3 } else { 0 }, "{found:?}");
    }
}

fn redline_rules() -> Vec<(String, String)> {
    let out = Command::new(env!("CARGO_BIN_EXE_redline")).args(["check", "--rules", "--json"]).output().unwrap();
    let rules: Vec<serde_json::Value> = serde_json::from_slice(&out.stdout).unwrap();
    rules.iter().map(|r| (r["id"].as_str().unwrap().to_owned(), r["severity"].as_str().unwrap().to_owned())).collect()
}

fn write(path: PathBuf, bytes: impl AsRef<[u8]>) {
    std::fs::write(path, bytes).unwrap();
}

fn edit_json(path: &Path, change: impl FnOnce(&mut serde_json::Value)) {
    let mut v: serde_json::Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    change(&mut v);
    fsio::write_json(path, &v).unwrap();
}

#[test]
fn a_whole_corpus_has_no_error_and_decodes() {
    let case = Case::new();
    let (code, json, err) = case.run(&["--decode"]);
    assert_eq!(code, 0, "{json:#}");
    assert_eq!((json["requests"].as_u64(), json["edits"].as_u64(), json["errors"].as_u64()), (Some(6), Some(12), Some(0)));
    assert!(!err.contains("error"), "{err}");
}

#[test]
fn broken_manifests_are_findings_and_the_rest_is_still_checked() {
    let case = Case::new();
    let c = case.corpus();
    let ids = c.request_ids().unwrap();
    let manifest = |i: usize| c.request_dir(&ids[i]).request_json();
    write(manifest(0), "{\n\"format_version\": 1,\n\"id");
    edit_json(&manifest(1), |v| v["format_version"] = 9.into());
    edit_json(&manifest(2), |v| v["modality"] = "mime".into());
    edit_json(&manifest(3), |v| v["id"] = "Other".into());
    std::fs::remove_file(manifest(4)).unwrap();
    std::fs::create_dir(case.root.join("requests/bad name")).unwrap();
    write(case.root.join("edits/stray.txt"), "x");
    let (code, found) = case.found(&[]);
    assert_eq!(code, 3);
    for (rule, i) in [("RL001", 0), ("RL002", 1), ("RL003", 2), ("RL004", 3), ("RL001", 4)] {
        let file = format!("requests/{}/request.json", ids[i]);
        assert!(found.contains(&(rule.into(), file.clone())), "{rule} {file}: {found:?}");
    }
    assert!(found.contains(&("RL005".into(), "requests/bad name".into())) && found.contains(&("RL005".into(), "edits/stray.txt".into())));
}

#[test]
fn damaged_streams_are_found_line_by_line() {
    let case = Case::new();
    let (id, _, dir) = case.request(Modality::Interactive);
    let path = dir.input();
    let text = std::fs::read_to_string(&path).unwrap();
    let mut lines: Vec<&str> = text.lines().collect();
    lines[4] = "{\"t_ns\": what}";
    lines.swap(7, 8);
    let torn = lines.join("\n") + "\n{\"t_ns\": 99";
    write(path.clone(), torn);
    let (_, json, _) = case.run(&[]);
    let file = format!("requests/{id}/input.jsonl");
    let at: Vec<(&str, Option<u64>)> = json["findings"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|f| f["file"] == file.as_str())
        .map(|f| (f["rule"].as_str().unwrap(), f["line"].as_u64()))
        .collect();
    for want in [("RL301", Some(5)), ("RL304", Some(9)), ("RL302", None), ("RL203", None)] {
        assert!(at.contains(&want), "{want:?}: {at:?}");
    }
}

#[test]
fn counts_bounds_and_spans_are_compared_with_the_manifest() {
    let case = Case::new();
    let (id, r, dir) = case.request(Modality::Interactive);
    let count = r.session.streams.input.as_ref().unwrap().count;
    edit_json(&dir.request_json(), |v| v["session"]["streams"]["input"]["count"] = (count + 1).into());
    case.expect("RL303", &format!("requests/{id}/input.jsonl"));
    edit_json(&dir.request_json(), |v| {
        v["session"]["streams"]["input"]["count"] = count.into();
        v["session"]["streams"]["input"]["last_t_ns"] = 5.into();
    });
    case.expect("RL306", &format!("requests/{id}/input.jsonl"));
    edit_json(&dir.request_json(), |v| v["session"]["duration_ns"] = 1_000_000_000.into());
    let (_, found) = case.found(&[]);
    for (rule, file) in [("RL305", "input.jsonl"), ("RL402", "request.json"), ("RL403", "request.json")] {
        assert!(found.contains(&(rule.into(), format!("requests/{id}/{file}"))), "{rule}: {found:?}");
    }
}

#[test]
fn changed_and_missing_files_are_found() {
    let case = Case::new();
    let (id, _, dir) = case.request(Modality::DrawTemp);
    let mut bytes = std::fs::read(dir.audio()).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    write(dir.audio(), &bytes);
    case.expect("RL204", &format!("requests/{id}/audio.flac"));
    bytes.truncate(middle);
    write(dir.audio(), &bytes);
    case.expect("RL203", &format!("requests/{id}/audio.flac"));
    case.expect_with(&["--decode"], "RL406", &format!("requests/{id}/audio.flac"));
    std::fs::remove_file(dir.video()).unwrap();
    case.expect("RL202", &format!("requests/{id}/request.json"));
    write(dir.video(), "no video");
    case.expect("RL405", &format!("requests/{id}/video.mp4"));
}

#[test]
fn paths_and_links_that_lead_out_are_not_followed() {
    let case = Case::new();
    let (id, _, dir) = case.request(Modality::Interactive);
    let manifest = format!("requests/{id}/request.json");
    for bad in ["../../corpus.json", "/etc/passwd", "a/../../x", "..\\x", ""] {
        edit_json(&dir.request_json(), |v| v["session"]["streams"]["input"]["file"]["path"] = bad.into());
        case.expect("RL201", &manifest);
    }
    #[cfg(unix)]
    {
        edit_json(&dir.request_json(), |v| v["session"]["streams"]["input"]["file"]["path"] = "input.jsonl".into());
        std::fs::remove_file(dir.input()).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", dir.input()).unwrap();
        std::os::unix::fs::symlink(".", dir.path().join("loop")).unwrap();
        std::os::unix::fs::symlink(dir.path(), case.root.join("requests/again")).unwrap();
        let (_, found) = case.found(&[]);
        for file in [format!("requests/{id}/input.jsonl"), format!("requests/{id}/loop"), "requests/again".to_owned()] {
            assert!(found.contains(&("RL006".into(), file.clone())), "{file}: {found:?}");
        }
    }
}

#[test]
fn words_must_lie_in_the_audio_in_order_and_be_the_text() {
    let case = Case::new();
    let (id, _, dir) = case.request(Modality::Interactive);
    let path = dir.transcript_path(TranscriptKind::Automatic);
    let file = format!("requests/{id}/transcript.automatic.json");
    let good = std::fs::read(&path).unwrap();
    let change = |change: &dyn Fn(&mut Vec<Word>)| {
        let mut t: Transcript = serde_json::from_slice(&good).unwrap();
        change(&mut t.segments[0].words);
        fsio::write_json(&path, &t).unwrap();
    };
    change(&|w| w[1].end_ns = 3_600_000_000_000);
    case.expect("RL501", &file);
    change(&|w| w[1].start_ns = w[2].start_ns + 1);
    case.expect("RL502", &file);
    change(&|w| w[0].text = "other".into());
    case.expect("RL503", &file);
    let mut t: Transcript = serde_json::from_slice(&good).unwrap();
    t.audio_sha256 = Some("0".repeat(64));
    fsio::write_json(&path, &t).unwrap();
    case.expect("RL504", &file);
}

#[test]
fn corrections_are_reviewed_by_others() {
    let case = Case::new();
    let (id, r, dir) = case.request(Modality::Interactive);
    let path = dir.transcript_path(TranscriptKind::Oracle);
    let file = format!("requests/{id}/transcript.oracle.json");
    edit_json(&path, |v| v["correction"]["accepted_by"] = r.participant.as_str().into());
    case.expect("RL507", &file);
    std::fs::remove_file(&path).unwrap();
    case.expect("RL506", &format!("requests/{id}/request.json"));
    std::fs::remove_file(dir.transcript_path(TranscriptKind::Automatic)).unwrap();
    case.expect("RL505", &format!("requests/{id}/request.json"));
}

#[test]
fn histories_and_ratings_belong_to_what_they_lie_beside() {
    let case = Case::new();
    let (id, r, dir) = case.request(Modality::Interactive);
    let history = format!("requests/{id}/revisions.json");
    let good = std::fs::read(dir.revisions_path()).unwrap();
    let changed = |change: &dyn Fn(&mut serde_json::Value), rule: &str| {
        edit_json(&dir.revisions_path(), change);
        case.expect(rule, &history);
        write(dir.revisions_path(), &good);
    };
    changed(&|v| v["request"] = "R99999".into(), "RL509");
    changed(&|v| v["revisions"][0]["number"] = 7.into(), "RL509");
    changed(&|v| v["revisions"].as_array_mut().unwrap().clear(), "RL509");
    changed(&|v| v["revisions"][0]["decision"]["reviewer"] = r.participant.as_str().into(), "RL507");
    changed(&|v| v["revisions"][0]["author"] = "P77".into(), "RL101");
    changed(&|v| v["revisions"] = "none".into(), "RL003");
    std::fs::remove_file(dir.revisions_path()).unwrap();
    case.expect("RL510", &format!("requests/{id}"));

    let c = case.corpus();
    let edit = c.edit(&c.edit_ids().unwrap()[0]).unwrap();
    let path = c.edit_dir(&edit.id).ratings_path();
    let file = format!("edits/{}/ratings.json", edit.id);
    let good = std::fs::read(&path).unwrap();
    let changed = |change: &dyn Fn(&mut serde_json::Value), rule: &str| {
        edit_json(&path, change);
        case.expect(rule, &file);
        write(path.clone(), &good);
    };
    changed(&|v| v["edit"] = "E99999".into(), "RL004");
    changed(&|v| v["ratings"][0]["quality"] = 8.into(), "RL003");
    changed(&|v| v["ratings"][0]["rater"] = edit.participant.as_str().into(), "RL511");
    changed(&|v| v["ratings"][0]["rater"] = v["ratings"][1]["rater"].clone(), "RL511");
    changed(&|v| v["ratings"][0]["rater"] = "P77".into(), "RL101");
}

#[test]
fn metrics_belong_to_the_final_model_and_are_against_the_requestors_own() {
    let case = Case::new();
    let c = case.corpus();
    let edits: Vec<EditManifest> = c.edit_ids().unwrap().iter().map(|e| c.edit(e).unwrap()).collect();
    // Two edits a request, the requestor's first.
    let (own, other, elsewhere) = (&edits[0], &edits[1], &edits[2]);
    assert!(own.request == other.request && own.request != elsewhere.request);
    let sha256 = |e: &EditManifest| e.final_model.as_ref().unwrap().sha256.clone();
    let good = EditMetrics {
        format_version: FORMAT_VERSION,
        edit: other.id.clone(),
        model_sha256: sha256(other),
        valid: true,
        problems: vec![],
        reference: Some(own.id.clone()),
        reference_sha256: Some(sha256(own)),
        comparison: Some(ModelComparison {
            chamfer_mm: 0.5,
            chamfer_relative: 0.01,
            iou: Some(0.9),
            no_iou: None,
            image_similarity: Some(-0.5),
        }),
        not_compared: None,
        kernel: "a kernel".into(),
        image_model_sha256: Some("0".repeat(64)),
        measured_utc: chrono::Utc::now(),
        tool: Tool::redline(),
    };
    let path = c.edit_dir(&other.id).metrics_path();
    let file = format!("edits/{}/metrics.json", other.id);
    fsio::write_json(&path, &good).unwrap();
    let good = std::fs::read(&path).unwrap();
    assert!(!case.found(&[]).1.iter().any(|(_, f)| *f == file), "{:?}", case.found(&[]).1);
    let changed = |change: &dyn Fn(&mut serde_json::Value), rule: &str| {
        edit_json(&path, change);
        case.expect(rule, &file);
        write(path.clone(), &good);
    };
    changed(&|v| v["edit"] = own.id.as_str().into(), "RL004");
    changed(&|v| v["valid"] = "yes".into(), "RL003");
    for (name, bad) in [("chamfer_mm", -0.1), ("chamfer_relative", -1.0), ("iou", 1.01), ("iou", -0.1), ("image_similarity", 1.5)] {
        changed(&|v| v["comparison"][name] = bad.into(), "RL512");
    }
    changed(&|v| v["reference"] = elsewhere.id.as_str().into(), "RL512");
    changed(&|v| v["reference"] = other.id.as_str().into(), "RL512");
    changed(&|v| v["reference"] = "E99999".into(), "RL512");
    changed(&|v| drop(v.as_object_mut().unwrap().remove("reference")), "RL512");
    changed(&|v| v["model_sha256"] = "1".repeat(64).into(), "RL513");
    changed(&|v| v["reference_sha256"] = "1".repeat(64).into(), "RL513");
    // Greater than any number, and cut off.
    for torn in [String::from_utf8(good.clone()).unwrap().replace("0.9", "1e999"), "{\"edit\":".into()] {
        write(path.clone(), torn.as_bytes());
        case.expect("RL001", &file);
    }
}

#[test]
fn the_protocol_is_held_against_the_corpus() {
    let case = Case::new();
    let c = case.corpus();
    let mut people = c.participants().unwrap();
    people.participants[0].consent = None;
    c.write_participants(&people).unwrap();
    case.expect("RL606", "participants.json");
    edit_json(&c.manifest_path(), |v| v["protocol"]["cells"][0]["wanted"] = 99.into());
    case.expect_with(&[], "RL606", "participants.json");
    let (_, found) = case.found(&[]);
    assert!(found.contains(&("RL601".into(), "corpus.json".into())), "{found:?}");

    let edit = c.edit_ids().unwrap().remove(0);
    let request = c.edit(&edit).unwrap().request;
    std::fs::remove_dir_all(c.edit_dir(&edit).path()).unwrap();
    let (_, found) = case.found(&[]);
    assert!(found.contains(&("RL603".into(), format!("requests/{request}"))), "{found:?}");

    people.participants.remove(1);
    c.write_participants(&people).unwrap();
    let (_, found) = case.found(&[]);
    assert!(found.iter().any(|(rule, _)| rule == "RL101"), "{found:?}");
}

#[test]
fn an_unfinished_session_points_to_recover() {
    let case = Case::new();
    let (id, _, dir) = case.request(Modality::Text);
    edit_json(&dir.request_json(), |v| v["status"] = "recording".into());
    let (code, json, _) = case.run(&[]);
    assert_eq!(code, 3);
    let f = json["findings"].as_array().unwrap().iter().find(|f| f["rule"] == "RL401").unwrap();
    assert_eq!(f["file"], format!("requests/{id}/request.json"));
    assert!(f["hint"].as_str().unwrap().contains("redline recover"));
}

#[test]
fn personal_data_is_found_and_not_repeated() {
    let case = Case::new();
    let (id, _, dir) = case.request(Modality::Text);
    write(dir.path().join("notes.txt"), "mail to zeb.ulon@mail.example.org\nsaved as /home/zebulon/part.step\nZebulon said so\n");
    let step = case.corpus().model_dir(&case.corpus().model_ids().unwrap()[0]).join("model.step");
    let text = std::fs::read_to_string(&step).unwrap();
    write(step, text.replacen("(''),('')", "('Zebulon'),('')", 1));
    let png = case.root.join("models/M0001/views/top.png");
    let mut e = png::Encoder::new(std::fs::File::create(&png).unwrap(), 1, 1);
    e.add_text_chunk("Author".into(), "Zebulon".into()).unwrap();
    e.write_header().unwrap().write_image_data(&[0]).unwrap();
    let names = case.root.parent().unwrap().join("names.txt");
    write(names.clone(), "Zebulon\n");
    let (code, json, _) = case.run(&["--names", names.to_str().unwrap()]);
    assert_eq!(code, 3);
    let notes = format!("requests/{id}/notes.txt");
    let found: BTreeSet<(String, String, Option<u64>)> = json["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|f| (f["rule"].as_str().unwrap().into(), f["file"].as_str().unwrap().into(), f["line"].as_u64()))
        .collect();
    for want in [
        ("RL701", notes.as_str(), Some(1)),
        ("RL702", &notes, Some(2)),
        ("RL703", &notes, Some(3)),
        ("RL704", "models/M0001/model.step", None),
        ("RL705", "models/M0001/views/top.png", None),
    ] {
        assert!(found.contains(&(want.0.into(), want.1.into(), want.2)), "{want:?}: {found:?}");
    }
    assert!(!json.to_string().to_lowercase().contains("ebulon"), "the report repeats the name");
}

#[test]
fn people_get_a_list_with_hints() {
    let case = Case::new();
    let (id, _, dir) = case.request(Modality::Interactive);
    std::fs::remove_file(dir.video()).unwrap();
    let out = Command::new(env!("CARGO_BIN_EXE_redline")).args(["check", "--corpus"]).arg(&case.root).output().unwrap();
    let text = String::from_utf8(out.stdout).unwrap();
    assert!(text.contains(&format!("error RL202: requests/{id}/request.json: “video.mp4”")), "{text}");
    assert!(text.contains("file-missing: restore it from a copy"), "{text}");
    assert!(text.contains("2 models, 6 requests, 12 edits: 1 error"), "{text}");
}

/// Only with everything built in does every verb exist.
#[cfg(all(feature = "recorder", feature = "transcribe", feature = "review", feature = "cad"))]
#[test]
fn hints_name_commands_that_exist() {
    let out = Command::new(env!("CARGO_BIN_EXE_redline")).args(["check", "--rules", "--json"]).output().unwrap();
    let rules: Vec<serde_json::Value> = serde_json::from_slice(&out.stdout).unwrap();
    let mut verbs = BTreeSet::new();
    for r in &rules {
        for command in r["hint"].as_str().unwrap().split('`').skip(1).step_by(2).filter_map(|c| c.strip_prefix("redline ")) {
            verbs.insert(command.split(' ').next().unwrap().to_owned());
        }
    }
    assert!(verbs.len() > 3, "{verbs:?}");
    for v in verbs {
        let out = Command::new(env!("CARGO_BIN_EXE_redline")).args([&v, "--help"]).output().unwrap();
        assert!(out.status.success(), "a hint names `redline {v}`");
    }
}
