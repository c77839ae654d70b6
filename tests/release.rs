//! `redline release`, `verify` and `diff`.

#![allow(clippy::unwrap_used, clippy::expect_used)]

#[allow(dead_code)]
#[path = "common/sample_corpus.rs"]
mod sample;

use redline_schemas::*;
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn redline(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_redline")).args(args).output().unwrap()
}

fn stderr(o: &Output) -> String {
    String::from_utf8_lossy(&o.stderr).into_owned()
}

fn release(c: &Corpus, version: &str) -> Output {
    redline(&["release", version, "--json", "--corpus", c.root().to_str().unwrap()])
}

/// Releases, and gives the folder.
fn released(c: &Corpus, version: &str) -> PathBuf {
    let o = release(c, version);
    assert!(o.status.success(), "{}", stderr(&o));
    let v: Value = serde_json::from_slice(&o.stdout).unwrap();
    PathBuf::from(v["path"].as_str().unwrap())
}

fn read_release(dir: &Path) -> Value {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let python = root.join(".venv/bin/python");
    assert!(python.exists(), "{} is missing: run `make setup`", python.display());
    let o = Command::new(python).arg(root.join("tests/python/read_release.py")).arg(dir).output().unwrap();
    assert!(o.status.success(), "{}", stderr(&o));
    serde_json::from_slice(&o.stdout).unwrap()
}

fn verify(dir: &Path) -> (Option<i32>, Value) {
    let o = redline(&["verify", "--json", dir.to_str().unwrap()]);
    (o.status.code(), serde_json::from_slice(&o.stdout).unwrap_or_default())
}

/// Makes a sealed file or folder writable again, for tests that tamper with it.
fn unseal(path: &Path) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

fn change_request(c: &Corpus, id: &str, change: impl FnOnce(&mut RequestManifest)) {
    let id = RequestId::new(id).unwrap();
    let mut m = c.request(&id).unwrap();
    change(&mut m);
    fsio::write_json(&c.request_dir(&id).request_json(), &m).unwrap();
}

#[test]
fn a_release_loads_validates_and_hides_who_and_what_it_must() {
    let dir = tempfile::tempdir().unwrap();
    let c = sample::build(&dir.path().join("c"));
    // R3 is rejected; E3 is by somebody who has not consented to the text in force.
    change_request(&c, "R3", |m| {
        m.status = Status::Rejected;
        m.rejection =
            Some(Rejection { by: ParticipantId::new("P02").unwrap(), at_utc: sample::start(), reason: "unclear".into(), was: None });
    });
    let mut people = c.participants().unwrap();
    // To a text that is no longer in force.
    let consent = Some(Consent { version: "0".into(), given_utc: sample::start() });
    people.participants.push(Participant { id: ParticipantId::new("P03").unwrap(), consent, ..people.participants[1].clone() });
    c.write_participants(&people).unwrap();
    let e3 = sample::add_edit(&c, "E3", &RequestId::new("R1").unwrap());
    let mut m = c.edit(&e3).unwrap();
    m.participant = ParticipantId::new("P03").unwrap();
    fsio::write_json(&c.edit_dir(&e3).edit_json(), &m).unwrap();
    let out = released(&c, "1.0.0");

    let got = read_release(&out);
    assert_eq!(got["license"], "cc-by-4.0");
    let configs = json!({"participants": {"test": 2}, "models": {"test": 1}, "requests": {"test": 2}, "edits": {"test": 2}, "transcripts": {"test": 4},
        "words": {"test": 16}, "events": {"test": 1216}, "strokes": {"test": 6}, "selections": {"test": 2}, "commands": {"test": 4}, "renders": {"test": 2}});
    assert_eq!(got["configs"], configs);
    assert_eq!(got["croissant"]["warnings"], json!([]));
    for (name, rows) in configs.as_object().unwrap() {
        assert_eq!(got["croissant"][name], rows["test"], "croissant: {name}");
    }
    assert_eq!(got["participants"], json!(["P01", "P02"]));
    assert_eq!(got["videos_there"], json!([true, true]));
    for gone in ["requests/R3", "edits/E3", "models/M2", "requests/R1/request.json", "requests/R1/input.jsonl"] {
        assert!(!out.join(gone).exists(), "{gone}");
    }
    for there in
        ["CHANGELOG.md", "LICENSE", "SHA256SUMS", "schemas/request.schema.json", "edits/E1/final.step", "edits/E1/renders/0001.png"]
    {
        assert!(out.join(there).is_file(), "{there}");
    }
    // Media columns give Croissant the paths.
    assert_eq!(got["croissant_paths"]["requests/video"], json!(["requests/R1/video.mp4", "requests/R2/video.mp4"]));
    assert_eq!(got["croissant_paths"]["renders/image"], json!(["edits/E1/renders/0001.png", "edits/E2/renders/0001.png"]));
    figures_are_those_of_what_was_released(&out);
    let o = Command::new("sha256sum").args(["--check", "--quiet", "SHA256SUMS"]).current_dir(&out).output().unwrap();
    assert!(o.status.success(), "{}", stderr(&o));
    assert_eq!(verify(&out).0, Some(0));

    // It never changes.
    assert_eq!(out.metadata().unwrap().permissions().mode() & 0o222, 0);
    assert_eq!(out.join("README.md").metadata().unwrap().permissions().mode() & 0o222, 0);
    let o = release(&c, "1.0.0");
    assert!(!o.status.success() && stderr(&o).contains("never changes"), "{}", stderr(&o));
    let o = release(&c, "0.9.0");
    assert!(!o.status.success() && stderr(&o).contains("not above 1.0.0"), "{}", stderr(&o));
    assert_eq!(release(&c, "1.0").status.code(), Some(2), "not a semantic version");
}

fn figures_are_those_of_what_was_released(out: &Path) {
    let stats: Value = serde_json::from_slice(&std::fs::read(out.join("stats.json")).unwrap()).unwrap();
    let t = &stats["totals"];
    let got = ["requests", "edits", "models", "participants", "rejected", "words", "renders"].map(|k| t[k].as_u64().unwrap());
    assert_eq!(got, [2, 2, 1, 2, 0, 8, 2], "what was left out is not counted");
    let card = std::fs::read_to_string(out.join("README.md")).unwrap();
    assert!(card.contains("| Words in a request | words | 2 | 4.0 |"), "{card}");
    for m in ["words_per_request", "request_seconds", "edit_seconds", "events_per_edit", "commands_per_edit"] {
        assert!(card.contains(&format!("](plots/{m}.png)")), "{m}");
        assert!(image::open(out.join(format!("plots/{m}.png"))).unwrap().width() > 500, "{m}");
        assert!(std::fs::read_to_string(out.join(format!("plots/{m}.svg"))).unwrap().contains("interactive"), "{m}");
    }
}

#[test]
fn histories_and_ratings_are_released_under_new_names_and_only_with_consent() {
    let dir = tempfile::tempdir().unwrap();
    let c = sample::build(&dir.path().join("c"));
    let id = |s: &str| ParticipantId::new(s).unwrap();
    let mut people = c.participants().unwrap();
    for (name, consent) in [("P03", true), ("P04", false)] {
        let consent = consent.then(|| Consent { version: "1".into(), given_utc: sample::start() });
        people.participants.push(Participant { id: id(name), roles: vec![Role::Rater], consent, ..people.participants[0].clone() });
    }
    let judge = Some(Agent { model: "judge-1".into(), settings: None });
    people.participants.push(Participant {
        id: id("judge"),
        roles: vec![Role::Rater],
        consent: None,
        agent: judge,
        ..people.participants[0].clone()
    });
    c.write_participants(&people).unwrap();
    let r1 = RequestId::new("R1").unwrap();
    let revision = |number: u32, name: &str, text: &str, comment: Option<&str>| ReviewedRevision {
        changed: number == 1,
        char_edit_distance: u64::from(number == 1) * 3,
        word_edit_distance: u64::from(number == 1),
        decision: Some(ReviewDecision {
            revision: RevisionId::new(name).unwrap(),
            reviewer: id("P02"),
            created_utc: sample::start(),
            accepted: comment.is_none(),
            comment: comment.map(str::to_owned),
        }),
        revision: Revision {
            id: RevisionId::new(name).unwrap(),
            request: r1.clone(),
            number,
            base: None,
            author: id("P01"),
            created_utc: sample::start(),
            text: text.into(),
            words: sample::words(),
        },
    };
    let revisions = vec![revision(1, "V0", "Make this hole big.", Some("“bigger”")), revision(2, "V1", "Make this hole bigger.", None)];
    let history = RevisionHistory { format_version: FORMAT_VERSION, request: r1.clone(), revisions, tool: Tool::redline() };
    fsio::write_json(&c.request_dir(&r1).revisions_path(), &history).unwrap();
    let e1 = EditId::new("E1").unwrap();
    let rating = |rater: &str, quality| Rating { rater: id(rater), instruction_following: 6, quality, comment: None, rated_utc: None };
    let ratings = vec![rating("P03", 7), rating("P04", 1), rating("judge", 2)];
    let ratings = Ratings { format_version: FORMAT_VERSION, edit: e1.clone(), ratings, tool: Tool::redline() };
    fsio::write_json(&c.edit_dir(&e1).ratings_path(), &ratings).unwrap();

    let o = release(&c, "1.0.0");
    assert!(o.status.success(), "{}", stderr(&o));
    assert!(stderr(&o).contains("left out: rating E1 by P04: its rater has not consented"), "{}", stderr(&o));
    let out = c.release_dir("1.0.0");
    let card = std::fs::read_to_string(out.join("README.md")).unwrap();
    assert!(card.contains(" 0 rejected, unfinished or unconsented recordings"), "{card}");
    let ask = |sql: &str| -> Value {
        let o = redline(&["query", "--json", "--in", out.to_str().unwrap(), sql]);
        assert!(o.status.success(), "{}", stderr(&o));
        serde_json::from_slice(&o.stdout).unwrap()
    };
    let rows = ask("SELECT revision, text, words, decision, comment, word_edit_distance AS edits FROM revisions ORDER BY 1");
    let want = json!([
        { "revision": 1, "text": "Make this hole big.", "words": 4, "decision": "returned", "comment": "“bigger”", "edits": 1 },
        { "revision": 2, "text": "Make this hole bigger.", "words": 4, "decision": "accepted", "comment": null, "edits": 0 }]);
    assert_eq!(rows, want);
    let rows = ask("SELECT request_id, rater_is_agent AS agent, instruction_following AS i, quality AS q FROM ratings ORDER BY q");
    assert_eq!(
        rows,
        json!([{ "request_id": "R1", "agent": true, "i": 6, "q": 2 }, { "request_id": "R1", "agent": false, "i": 6, "q": 7 }])
    );
    // Every name in the tables is one of the release's own.
    let unknown = "SELECT p FROM (SELECT corrected_by AS p FROM revisions UNION SELECT decided_by FROM revisions UNION SELECT rater_id FROM ratings) \
        WHERE p NOT IN (SELECT participant_id FROM participants)";
    assert_eq!(ask(unknown), json!([]));
    assert_eq!(ask("SELECT count(*) AS n FROM participants"), json!([{ "n": 4 }]));
}

#[test]
fn any_changed_byte_and_any_missing_or_extra_file_is_found() {
    let dir = tempfile::tempdir().unwrap();
    let c = sample::build(&dir.path().join("c"));
    let out = released(&c, "1.0.0");
    let sums = std::fs::read_to_string(out.join("SHA256SUMS")).unwrap();
    let files: Vec<&str> = sums.lines().map(|l| &l[66..]).chain(["SHA256SUMS"]).collect();
    assert!(files.len() > 30);
    for f in &files {
        let path = out.join(f);
        unseal(&path);
        let good = std::fs::read(&path).unwrap();
        for at in [0, good.len() / 2, good.len() - 1] {
            let mut bad = good.clone();
            bad[at] ^= 0x20;
            std::fs::write(&path, &bad).unwrap();
            // In `verify` itself, not only in the command, because it is asked a hundred times.
            let found = redline_dataset::release::verify(&out, &|_, _| {});
            if *f == "SHA256SUMS" {
                assert!(found.is_err() || !found.unwrap().damaged.is_empty(), "byte {at} of {f}");
            } else {
                assert_eq!(found.unwrap().damaged, [((*f).to_owned(), redline_dataset::release::Damage::Changed)], "byte {at} of {f}");
            }
        }
        std::fs::write(&path, &good).unwrap();
    }
    assert_eq!(verify(&out).0, Some(0));

    unseal(&out);
    std::fs::rename(out.join("LICENSE"), out.join("LICENCE")).unwrap();
    let (code, found) = verify(&out);
    assert_eq!((code, &found["damaged"]), (Some(3), &json!([["LICENCE", "extra"], ["LICENSE", "missing"]])));
    std::fs::rename(out.join("LICENCE"), out.join("LICENSE")).unwrap();
    std::fs::remove_file(out.join("SHA256SUMS")).unwrap();
    assert_eq!(verify(&out).0, Some(5));
}

#[test]
fn a_corpus_with_errors_is_not_released_and_a_killed_release_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let c = sample::build(&dir.path().join("c"));
    let releases = c.root().join("releases");
    let input = c.request_dir(&RequestId::new("R2").unwrap()).input();
    let good = std::fs::read(&input).unwrap();
    std::fs::write(&input, b"{\"t_ns\":1}\n{}\n").unwrap();
    let o = release(&c, "1.0.0");
    assert_eq!(o.status.code(), Some(5), "{}", stderr(&o));
    assert!(stderr(&o).contains("R2/input.jsonl"), "{}", stderr(&o));
    std::fs::write(&input, good).unwrap();

    // A killed one: its temporary folder is there, and sealed in part.
    let left = releases.join(".1.0.0.01KILLED.tmp");
    std::fs::create_dir(&left).unwrap();
    std::fs::write(left.join("README.md"), "half").unwrap();
    released(&c, "1.0.0");
    let names: Vec<_> = std::fs::read_dir(&releases).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    assert!(names.iter().all(|n| n == "1.0.0" || n == ".lock"), "{names:?}");
}

#[test]
fn a_manifest_that_points_outside_publishes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let c = sample::build(&dir.path().join("c"));
    let secret = dir.path().join("secret.mp4");
    std::fs::write(&secret, &sample::media().0).unwrap();
    change_request(&c, "R1", |m| m.session.streams.video.as_mut().unwrap().file.path = "../../../secret.mp4".into());
    let o = release(&c, "1.0.0");
    assert!(!o.status.success());
    assert!(!c.release_dir("1.0.0").exists());
}

#[test]
fn versions_are_compared_by_material_and_the_changelog_says_it() {
    let dir = tempfile::tempdir().unwrap();
    let c = sample::build(&dir.path().join("c"));
    released(&c, "1.0.0");
    sample::add_request(&c, "R4", &ModelId::new("M2").unwrap(), Modality::Interactive);
    change_request(&c, "R2", |m| m.note = Some("a second look".into()));
    std::fs::remove_dir_all(c.edit_dir(&EditId::new("E2").unwrap()).path()).unwrap();
    let out = released(&c, "1.1.0-beta.1");
    let o = redline(&["diff", "--json", "1.0.0", "1.1.0-beta.1", "--corpus", c.root().to_str().unwrap()]);
    assert!(o.status.success(), "{}", stderr(&o));
    let d: Value = serde_json::from_slice(&o.stdout).unwrap();
    let table = |name: &str| d["tables"].as_array().unwrap().iter().find(|t| t["table"] == name).cloned().unwrap_or_default();
    let requests = table("requests");
    assert_eq!((&requests["added"], &requests["changed"], &requests["removed"]), (&json!(["R4"]), &json!(["R2"]), &json!([])));
    assert_eq!(table("edits")["removed"], json!(["E2"]));
    assert_eq!(table("transcripts")["added"], json!(["R4/automatic", "R4/oracle"]));
    assert_eq!(table("models"), Value::Null, "unchanged tables are not named");
    assert_eq!(d["files_added"], json!(["requests/R4/audio.flac", "requests/R4/video.mp4"]));
    assert_eq!(d["files_changed"], json!([]));
    let log = std::fs::read_to_string(out.join("CHANGELOG.md")).unwrap();
    assert!(log.contains("`requests`: 4 rows, 3 before (1 added, 0 removed, 1 changed)"), "{log}");
    assert!(log.find("## 1.1.0-beta.1").unwrap() < log.find("## 1.0.0").unwrap(), "{log}");
}

#[test]
fn splits_go_by_model_and_cover_everything() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("c");
    let mut m = sample::corpus_manifest();
    m.splits = [("train", 0.5), ("test", 0.5)].map(|(n, share)| Split { name: n.into(), share }).into();
    let c = Corpus::create(&root, &m).unwrap();
    sample::add_participants(&c);
    for i in 0..8 {
        let model = sample::add_model(&c, &format!("M{i}"));
        let r = sample::add_request(&c, &format!("R{i}a"), &model, Modality::Interactive);
        sample::add_request(&c, &format!("R{i}b"), &model, Modality::DrawTemp);
        sample::add_edit(&c, &format!("E{i}"), &r);
    }
    let got = read_release(&released(&c, "0.1.0"));
    let models = |split: &str| -> Vec<&str> { got["requests"][split].as_array().unwrap().iter().map(|r| r[2].as_str().unwrap()).collect() };
    let (train, test) = (models("train"), models("test"));
    assert_eq!(train.len() + test.len(), 16);
    assert!(!train.is_empty() && train.iter().all(|m| !test.contains(m)), "{train:?} {test:?}");
    assert_eq!(got["configs"]["edits"]["train"].as_u64().unwrap() + got["configs"]["edits"]["test"].as_u64().unwrap(), 8);
}

#[test]
fn publishing_goes_on_where_it_stopped_and_writes_the_checksums_last() {
    let dir = tempfile::tempdir().unwrap();
    let c = sample::build(&dir.path().join("c"));
    let out = released(&c, "1.0.0");
    let to = dir.path().join("share");
    let publish = || redline(&["publish", "--json", out.to_str().unwrap(), to.to_str().unwrap()]);
    let counts = |o: &Output| -> (u64, u64) {
        assert!(o.status.success(), "{}", stderr(o));
        let v: Value = serde_json::from_slice(&o.stdout).unwrap();
        (v["copied"].as_u64().unwrap(), v["kept"].as_u64().unwrap())
    };
    let (all, kept) = counts(&publish());
    assert!(all > 30 && kept == 0);
    assert_eq!(verify(&to).0, Some(0));

    // Cut off: no checksums yet, one file half-written, one damaged, one missing.
    std::fs::remove_file(to.join("SHA256SUMS")).unwrap();
    assert_eq!(verify(&to).0, Some(5), "incomplete");
    std::fs::write(to.join(".README.md.01X.tmp"), "half").unwrap();
    unseal(&to.join("README.md"));
    std::fs::write(to.join("README.md"), "damaged").unwrap();
    std::fs::remove_file(to.join("LICENSE")).unwrap();
    assert_eq!(counts(&publish()), (2, all - 2));
    assert_eq!(verify(&to), (Some(0), verify(&out).1));

    // A damaged source is not published, and a folder of something else is left alone.
    unseal(&out.join("LICENSE"));
    std::fs::write(out.join("LICENSE"), "other").unwrap();
    std::fs::remove_file(to.join("LICENSE")).unwrap();
    let o = publish();
    assert!(!o.status.success() && stderr(&o).contains("not as released"), "{}", stderr(&o));
    assert!(!to.join("LICENSE").exists());
    std::fs::write(to.join("holiday.jpg"), "x").unwrap();
    let o = publish();
    assert!(!o.status.success() && stderr(&o).contains("no part of this release"), "{}", stderr(&o));
}
