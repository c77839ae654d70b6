//! The reference dataset's records and raw layout in and out, and one request as a zip.
#![allow(clippy::unwrap_used, clippy::expect_used)]
#![cfg(feature = "dataset")]

use redline_samples::Size;
use redline_schemas::*;
use serde_json::{Value, json};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn redline(args: &[&str], corpus: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_redline")).args(args).arg("--corpus").arg(corpus).output().unwrap()
}

fn ok(out: &Output) -> String {
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout.clone()).unwrap()
}

fn new_corpus(dir: &Path, name: &str) -> PathBuf {
    let root = dir.join(name);
    let out = Command::new(env!("CARGO_BIN_EXE_redline")).arg("init").arg(&root).output().unwrap();
    ok(&out);
    root
}

fn str_of(p: &Path) -> &str {
    p.to_str().unwrap()
}

/// A record as the reference dataset has them, with fields that the corpus format does not know.
fn record() -> Value {
    let user = |id: &str, human: bool| json!({ "id": id, "is_human": human, "extra": { "email": null, "vlm_config": null } });
    let ratings = json!([
                { "id": "r0", "user": user("similarity", false), "ratings": { "iou gt": 0.5 } },
                { "id": "r1", "user": user("U3", true), "ratings": { "score_instr": 6, "score_quality": 7, "comments": " neat ",
                  "submission_time": "2026-02-19 10:29:49.311000" } },
                { "id": "r2", "user": user("judge", false), "ratings": { "score_instr": 2, "score_quality": 1 } },
                { "id": "r3", "user": user("U3", true), "ratings": { "score_instr": 1, "score_quality": 1 } },
                { "id": "r4", "user": user("U4", true), "ratings": { "score_instr": 8, "score_quality": 1 } }]);
    json!({ "count": 1, "samples": [{
        "id": "U1_1769174947.8063738",
        "user": user("U1", true),
        "difficulty": "easy",
        "modality": "interactive",
        "brep_start": { "id": "U1_1769174995.910249", "user": user("U1", true), "step": ["breps/start.step"], "f3d": null,
            "jpg": ["breps/start_top.jpg"], "feature_clip_text": null },
        "start_time": null,
        "end_time": 1769174995.910249,
        "text": "Mirror the part.",
        "events": [],
        "frames_dir": "frames/U1_1769174947.8063738",
        "filename": "bullet",
        "request_type": "edit",
        "instructions": "",
        "assembly": false,
        "parametric": true,
        "transcript": { "language": "en", "segments": [{ "start": 0.5, "end": 2.0, "text": " Mirror the part.",
            "words": [{ "word": "Mirror", "start": 0.5, "end": 0.9, "score": 0.8 }, { "word": "the" }, { "word": "part.", "start": 1.4, "end": 2.0 }] }] },
        "extra": { "source": "a gallery" },
        "edits": [
            { "id": "U2_1769175814.6305332", "request": "U1_1769174947.8063738", "user": user("U2", true),
              "brep_end": { "id": "U2_1769175834.340082", "step": ["breps/end.step"] },
              "start_time": 1769175814.6313071, "end_time": 1769175834.340082,
              "events": [
                { "event": "commandStarting", "commandId": "MirrorCommand", "commandName": "Mirror", "timestamp": 1769175820.421908 },
                { "event": "commandTerminated", "commandId": "MirrorCommand", "commandName": "Mirror", "timestamp": 1769175822.952733 },
                { "event": "odd", "commandId": "X", "commandName": "Odd", "timestamp": 1769175823.5 }],
              "frames_dir": "frames/U2_1769175814.6305332", "filename": "bullet", "token_count": null,
              "ratings": ratings, "extra": {} },
            { "id": "bot_1771472566.814364", "request": "U1_1769174947.8063738", "user": user("bot", false),
              "start_time": 1771472566.814364, "end_time": 1771472970.8893702, "events": [],
              "token_count": { "input_tokens": 5, "total_tokens": 7, "cost_estimate": 0.5 }, "extra": { "failed_run": true } }]
    }]})
}

fn files(dir: &Path) -> PathBuf {
    let files = dir.join("files");
    std::fs::create_dir_all(files.join("breps")).unwrap();
    for f in ["start.step", "end.step", "start_top.jpg"] {
        std::fs::write(files.join("breps").join(f), format!("content of {f}")).unwrap();
    }
    files
}

#[test]
fn records_come_in_with_their_times_estimated_and_go_out_again_as_they_were() {
    let dir = tempfile::tempdir().unwrap();
    let root = new_corpus(dir.path(), "c");
    let records = dir.path().join("records.json");
    std::fs::write(&records, record().to_string()).unwrap();
    let files = files(dir.path());
    let done: Value =
        serde_json::from_str(&ok(&redline(&["import", "reference", str_of(&records), "--files", str_of(&files), "--json"], &root)))
            .unwrap();
    assert_eq!(
        (done["requests"].as_u64(), done["edits"].as_u64(), done["models"].as_u64(), done["participants"].as_u64()),
        (Some(1), Some(2), Some(1), Some(5)),
        "requestor, two editors and two raters"
    );
    assert!(done["left_out"].to_string().contains("a second or own rating by U3"), "{}", done["left_out"]);

    let c = Corpus::open(&root).unwrap();
    let r = c.request(&RequestId::new("U1_1769174947.8063738").unwrap()).unwrap();
    assert_eq!(r.session.clock.alignment, Alignment::Estimated);
    assert_eq!(r.session.clock.started_utc.to_rfc3339(), "2026-01-23T13:29:07.806373835+00:00", "the time in its id");
    assert_eq!(r.session.duration_ns / 1_000_000, 48_103);
    let t = c.request_dir(&r.id).transcript(TranscriptKind::Automatic).unwrap().unwrap();
    let words: Vec<_> = t.words().map(|w| (w.text.as_str(), w.start_ns / 1_000_000, w.timing)).collect();
    assert_eq!(words, [("Mirror", 500, Timing::Aligned), ("the", 1000, Timing::Interpolated), ("part.", 1400, Timing::Aligned)]);
    let e = c.edit(&EditId::new("U2_1769175814.6305332").unwrap()).unwrap();
    assert_eq!(e.session.clock.alignment, Alignment::Estimated);
    assert_eq!((e.started_ns, e.stopped_ns.unwrap() / 1_000_000), (Some(0), 19_708));
    let (events, _) = jsonl::read_all::<CommandEvent>(&c.edit_dir(&e.id).commands()).unwrap();
    let kinds: Vec<_> = events.iter().map(|e| (e.kind, e.t_ns / 1_000_000)).collect();
    assert_eq!(kinds, [(CommandKind::Started, 5790), (CommandKind::Ended, 8321), (CommandKind::Changed, 8868)]);
    let ratings = c.edit_dir(&e.id).ratings().unwrap().unwrap().ratings;
    let scores: Vec<_> = ratings.iter().map(|r| (r.rater.as_str(), r.instruction_following, r.quality)).collect();
    assert_eq!(scores, [("U3", 6, 7), ("judge", 2, 1)], "scores from 1 to 7, the first of each rater");
    assert_eq!(ratings[0].comment.as_deref(), Some("neat"));
    assert_eq!(ratings[0].rated_utc.unwrap().to_rfc3339(), "2026-02-19T10:29:49.311+00:00");
    let bot = c.edit(&EditId::new("bot_1771472566.814364").unwrap()).unwrap();
    assert_eq!(bot.usage, Some(AgentUsage { tokens: 7, cost_usd: Some(0.5) }));
    assert!(c.participants().unwrap().participants.iter().any(|p| p.id.as_str() == "bot" && p.agent.is_some()));

    let checked = redline(&["check", "--json"], &root);
    let report: Value = serde_json::from_slice(&checked.stdout).unwrap();
    let errors: Vec<_> = report["findings"].as_array().unwrap().iter().filter(|f| f["severity"] == "error").collect();
    assert!(errors.iter().all(|f| f["rule"] == "RL606"), "only consent can be missing: {errors:#?}");
    assert!(report["findings"].as_array().unwrap().iter().any(|f| f["rule"] == "RL410"), "guessed times are said");

    let out = dir.path().join("out");
    ok(&redline(&["export", "reference", str_of(&out)], &root));
    let mut back: Value = serde_json::from_slice(&std::fs::read(out.join("records.json")).unwrap()).unwrap();
    let want = &record()["samples"][0];
    let got = &mut back["samples"][0];
    for key in want.as_object().unwrap().keys().filter(|k| !["edits", "brep_start"].contains(&k.as_str())) {
        assert_eq!(got[key], want[key], "{key}");
    }
    assert_eq!(got["brep_start"]["id"], want["brep_start"]["id"]);
    for (i, edit) in want["edits"].as_array().unwrap().iter().enumerate() {
        let id = edit["id"].as_str().unwrap();
        let found = got["edits"].as_array().unwrap().iter().find(|e| e["id"] == id).unwrap_or_else(|| panic!("no edit {i}"));
        for key in edit.as_object().unwrap().keys().filter(|k| *k != "brep_end") {
            assert_eq!(found[key], edit[key], "{id} {key}");
        }
    }
    let step = got["edits"].as_array().unwrap().iter().find_map(|e| e["brep_end"]["step"][0].as_str()).unwrap();
    assert_eq!(std::fs::read_to_string(out.join(step)).unwrap(), "content of end.step");

    // What came out goes in again, and out again, without change.
    let second = new_corpus(dir.path(), "c2");
    ok(&redline(&["import", "reference", str_of(&out.join("records.json")), "--files", str_of(&out)], &second));
    let out2 = dir.path().join("out2");
    ok(&redline(&["export", "reference", str_of(&out2)], &second));
    let again: Value = serde_json::from_slice(&std::fs::read(out2.join("records.json")).unwrap()).unwrap();
    assert_eq!(again, back);
}

#[test]
fn hostile_records_touch_nothing_outside() {
    let dir = tempfile::tempdir().unwrap();
    let root = new_corpus(dir.path(), "c");
    std::fs::write(dir.path().join("secret.step"), "secret").unwrap();
    let files = files(dir.path());
    let mut all = record();
    let s = &mut all["samples"][0];
    s["brep_start"]["step"] = json!(["../secret.step"]);
    s["user"]["id"] = json!("some.body@mail.example.org");
    s["edits"][0]["id"] = json!("../../evil");
    let records = dir.path().join("records.json");
    std::fs::write(&records, all.to_string()).unwrap();
    let done: Value =
        serde_json::from_str(&ok(&redline(&["import", "reference", str_of(&records), "--files", str_of(&files), "--json"], &root)))
            .unwrap();
    assert_eq!((done["models"].as_u64(), done["edits"].as_u64()), (Some(0), Some(1)));
    assert!(!dir.path().join("evil").exists() && !root.join("evil").exists());
    let left = done["left_out"].to_string();
    assert!(left.contains("STEP file") && left.contains("evil"), "{left}");
    let people = std::fs::read_to_string(root.join("participants.json")).unwrap();
    assert!(!people.contains('@'), "{people}");

    for (name, text) in [("cut.json", "{\"samples\": ["), ("other.json", "{}"), ("none.json", "")] {
        let p = dir.path().join(name);
        std::fs::write(&p, text).unwrap();
        let out = redline(&["import", "reference", str_of(&p)], &root);
        assert!(!out.status.success());
        assert!(String::from_utf8_lossy(&out.stderr).contains(name));
    }
}

#[test]
fn the_raw_layout_comes_in() {
    let dir = tempfile::tempdir().unwrap();
    let root = new_corpus(dir.path(), "c");
    let raw = dir.path().join("raw");
    let put = |path: &str, text: &str| {
        let p = raw.join(path);
        std::fs::create_dir_all(p.parent().unwrap()).unwrap();
        std::fs::write(p, text).unwrap();
    };
    let request = "U1_1769174947.5";
    let settings = json!({ "userId": "U1", "isHuman": true, "modality": "text", "difficulty": "hard", "text": "Make it round.",
        "end_time": 1769174957.5, "filename": "C:\\Users\\zq\\part.f3d", "parametric": true, "assembly": false });
    put(&format!("{request}/settings.json"), &settings.to_string());
    put(&format!("{request}/brep_start/1769174940.0/tmp.step"), "old");
    put(&format!("{request}/brep_start/1769174948.0/tmp.step"), "newest");
    put(&format!("{request}/brep_start/1769174948.0/tmp_top.jpg"), "picture");
    let settings = json!({ "edit_request_id": request, "edit_id": "bot_1769175000.25", "userId": "bot", "isHuman": false,
        "start_time": 1769175000.25, "end_time": 1769175010.25, "token_counts": { "total_tokens": 9 } });
    put("bot_1769175000.25/brep_end/1769175010.25/settings.json", &settings.to_string());
    put("bot_1769175000.25/brep_end/1769175010.25/tmp.step", "result");
    put("notes/readme.txt", "no session");
    let done: Value = serde_json::from_str(&ok(&redline(&["import", "reference", str_of(&raw), "--json"], &root))).unwrap();
    assert_eq!((done["requests"].as_u64(), done["edits"].as_u64(), done["models"].as_u64()), (Some(1), Some(1), Some(1)));
    assert!(done["left_out"].to_string().contains("notes"));
    let c = Corpus::open(&root).unwrap();
    let r = c.request(&RequestId::new(request).unwrap()).unwrap();
    assert_eq!((r.modality, r.difficulty, r.session.duration_ns), (Modality::Text, Difficulty::Hard, 10_000_000_000));
    assert_eq!(r.session.clock.alignment, Alignment::Estimated);
    let model = r.model.unwrap();
    assert_eq!(std::fs::read_to_string(c.model_dir(&model).join("model.step")).unwrap(), "newest");
    let e = c.edit(&c.edit_ids().unwrap()[0]).unwrap();
    assert_eq!((e.session.duration_ns, e.usage.unwrap().tokens), (10_000_000_000, 9));
    let kept = std::fs::read_to_string(c.request_dir(&r.id).path().join("reference.json")).unwrap();
    assert!(!kept.contains("zq"), "the path of the recording machine stays out: {kept}");
}

#[test]
fn a_request_travels_as_a_zip() {
    let dir = tempfile::tempdir().unwrap();
    let from = dir.path().join("from");
    redline_samples::generate(&from, &Size { requests: 2, edits_per_request: 0, events: 800, renders: 0 }).unwrap();
    let zip = dir.path().join("r.zip");
    ok(&redline(&["export", "request", "R00002", str_of(&zip)], &from));
    let to = new_corpus(dir.path(), "to");
    ok(&redline(&["import", "request", str_of(&zip)], &to));
    let (a, b) = (Corpus::open(&from).unwrap(), Corpus::open(&to).unwrap());
    let id = RequestId::new("R00002").unwrap();
    assert_eq!(a.request(&id).unwrap(), b.request(&id).unwrap());
    for f in ["video.mp4", "audio.flac", "input.jsonl", "transcript.oracle.json"] {
        let read = |c: &Corpus| std::fs::read(c.request_dir(&id).path().join(f)).unwrap();
        assert_eq!(read(&a), read(&b), "{f}");
    }
    let report: Value = serde_json::from_slice(&redline(&["check", "--json"], &to).stdout).unwrap();
    let others = |f: &&Value| f["severity"] == "error" && f["rule"] != "RL101";
    assert_eq!(report["findings"].as_array().unwrap().iter().find(others), None, "the reviewer alone is not known here");
    let twice = redline(&["import", "request", str_of(&zip)], &to);
    assert!(!twice.status.success() && String::from_utf8_lossy(&twice.stderr).contains("already exists"));
    assert!(!std::fs::read_dir(&to).unwrap().any(|e| e.unwrap().file_name().to_string_lossy().ends_with(".tmp")), "rubbish is left");

    let bad = dir.path().join("bad.zip");
    let mut z = zip::ZipWriter::new(std::fs::File::create(&bad).unwrap());
    z.start_file("requests/../../evil", zip::write::SimpleFileOptions::default()).unwrap();
    z.write_all(b"x").unwrap();
    z.finish().unwrap();
    let out = redline(&["import", "request", str_of(&bad)], &to);
    assert!(!out.status.success() && String::from_utf8_lossy(&out.stderr).contains("has no place"));
    assert!(!dir.path().join("evil").exists() && !to.join("evil").exists());
}

/// With the published sample at hand (not part of the project), it goes in and out without loss too.
#[test]
fn the_published_sample_round_trips_where_it_is_at_hand() {
    let Some(sample) = std::env::var_os("REDLINE_REFERENCE_RECORDS").map(PathBuf::from) else { return };
    let dir = tempfile::tempdir().unwrap();
    let root = new_corpus(dir.path(), "c");
    ok(&redline(&["import", "reference", str_of(&sample)], &root));
    let out = dir.path().join("out");
    ok(&redline(&["export", "reference", str_of(&out)], &root));
    let back: Value = serde_json::from_slice(&std::fs::read(out.join("records.json")).unwrap()).unwrap();
    let want: Value = serde_json::from_slice(&std::fs::read(&sample).unwrap()).unwrap();
    for key in want["samples"][0].as_object().unwrap().keys().filter(|k| *k != "edits") {
        assert_eq!(back["samples"][0][key], want["samples"][0][key], "{key}");
    }
    assert_eq!(back["samples"][0]["edits"].as_array().unwrap().len(), want["samples"][0]["edits"].as_array().unwrap().len());
}
