//! `redline check` on agents' runs: each of its rules finds what it is for, and nothing else does.
#![allow(clippy::unwrap_used, clippy::expect_used)]
#![cfg(feature = "dataset")]

#[allow(dead_code)]
#[path = "common/sample_corpus.rs"]
mod sample;
#[path = "common/sample_runs.rs"]
mod sample_runs;

use redline_schemas::*;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

type Found = BTreeSet<(String, String, String)>;

/// What the check finds in tasks and runs, and its exit code.
fn check(root: &Path) -> (i32, Found) {
    let out = Command::new(env!("CARGO_BIN_EXE_redline")).args(["check", "--json", "--corpus"]).arg(root).output().unwrap();
    let json: Value = serde_json::from_slice(&out.stdout).unwrap_or_else(|e| panic!("{e}: {}", String::from_utf8_lossy(&out.stderr)));
    assert_eq!(json["runs"], 1);
    let text = |f: &Value, k: &str| f[k].as_str().unwrap().to_owned();
    let all = json["findings"].as_array().unwrap().iter();
    let found = all.map(|f| (text(f, "rule"), text(f, "file"), text(f, "message")));
    (out.status.code().unwrap(), found.filter(|f| f.1.starts_with("runs/") || f.1.starts_with("tasks/")).collect())
}

/// Changes files of a whole run; what is found then.
struct Case {
    _dir: tempfile::TempDir,
    root: std::path::PathBuf,
    run: SessionDir,
}

impl Case {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("c");
        let c = sample_runs::corpus(&root);
        let task = sample_runs::add_task(&c, "see-face", TaskFamily::Orientation, &["view", "near"]);
        let run = sample_runs::add_run(&c, "U1", &task);
        sample_runs::verify(&run, &task, true);
        sample_runs::score(&run, "P02", [3, 2, 1, 0, 3], 10);
        Self { _dir: dir, root, run }
    }

    fn path(&self, file: &str) -> std::path::PathBuf {
        if file.starts_with("tasks/") { self.root.join(file) } else { self.run.path().join(file) }
    }

    /// With a JSON file changed, these alone are found: rule, file and a part of what is said.
    fn changed(&self, file: &str, change: impl FnOnce(&mut Value), code: i32, want: &[(&str, &str, &str)]) {
        let path = self.path(file);
        let before = std::fs::read(&path).unwrap();
        let mut v: Value = serde_json::from_slice(&before).unwrap();
        change(&mut v);
        std::fs::write(&path, v.to_string()).unwrap();
        self.finds(code, want);
        std::fs::write(&path, before).unwrap();
    }

    /// With a file away.
    fn without(&self, file: &str, code: i32, want: &[(&str, &str, &str)]) {
        let (path, away) = (self.path(file), self.root.with_file_name("away"));
        std::fs::rename(&path, &away).unwrap();
        self.finds(code, want);
        std::fs::rename(&away, &path).unwrap();
    }

    /// With a line of `steps.jsonl` changed.
    fn step(&self, line: usize, change: impl FnOnce(&mut Value), want: &[(&str, &str, &str)]) {
        let path = self.run.steps();
        let before = std::fs::read_to_string(&path).unwrap();
        let mut lines: Vec<String> = before.lines().map(Into::into).collect();
        let mut v: Value = serde_json::from_str(&lines[line - 1]).unwrap();
        change(&mut v);
        lines[line - 1] = v.to_string();
        std::fs::write(&path, lines.join("\n") + "\n").unwrap();
        self.finds(3, want);
        std::fs::write(&path, before).unwrap();
    }

    fn finds(&self, code: i32, want: &[(&str, &str, &str)]) {
        let (got, found) = check(&self.root);
        assert_eq!((got, found.len()), (code, want.len()), "{found:#?}");
        for (rule, file, said) in want {
            let is = |f: &(String, String, String)| f.0 == *rule && f.1 == *file && f.2.contains(said);
            assert!(found.iter().any(is), "no {rule} in {file} with “{said}”: {found:#?}");
        }
    }
}

const RUN: &str = "runs/U1/run.json";
const STEPS: &str = "runs/U1/steps.jsonl";
const VERIFIED: &str = "runs/U1/verification.json";
const SCORES: &str = "runs/U1/scores/P02.json";

#[test]
fn a_whole_run_has_no_finding() {
    Case::new().finds(0, &[]);
}

#[test]
fn a_run_is_of_its_task() {
    let c = Case::new();
    let not_its = [("RL801", RUN, "its family or prompt is not that of task see-face")];
    c.changed("tasks/see-face.json", |v| v["family"] = "recovery".into(), 3, &not_its);
    c.changed("tasks/see-face.json", |v| v["prompt"] = "Do see-face. ".into(), 3, &not_its);
    c.without("tasks/see-face.json", 3, &[("RL801", RUN, "task see-face is not in the corpus")]);
}

#[test]
fn every_step_has_its_screenshot_in_order_and_in_time() {
    let c = Case::new();
    c.without("screenshots/0002.png", 3, &[("RL802", STEPS, "the screenshot of step 2, “screenshots/0002.png”, is not there")]);
    c.step(1, |v| v["screenshot"] = "../U1/screenshots/0001.png".into(), &[("RL802", STEPS, "of step 1, “../U1")]);
    let before = std::fs::read(c.run.steps()).unwrap();
    std::fs::write(c.run.steps(), "").unwrap();
    c.finds(3, &[("RL802", STEPS, "no step, and so no screenshot")]);
    std::fs::write(c.run.steps(), before).unwrap();
    c.step(3, |v| v["sha256"] = "0".repeat(64).into(), &[("RL204", "runs/U1/screenshots/0003.png", "not the recorded SHA-256 000")]);
    c.step(2, |v| v["t_ns"] = 400_000_000.into(), &[("RL304", STEPS, "step 2 at 400000000 ns is out of order")]);
    c.step(3, |v| v["t_ns"] = 3_000_000_001_i64.into(), &[("RL305", STEPS, "step 3 is outside of the session")]);
}

#[test]
fn scores_are_in_bounds_and_labels_in_the_list() {
    let c = Case::new();
    let too_high =
        [("RL803", SCORES, "error_recovery is 4, but scores go from 0 to 3"), ("RL003", SCORES, "4 is greater than the maximum of 3")];
    c.changed("scores/P02.json", |v| v["scores"]["error_recovery"] = 4.into(), 3, &too_high);
    c.changed("scores/P02.json", |v| v["labels"] = json!(["missed_target", "bad_luck"]), 3, &[("RL804", SCORES, "“bad_luck” is not in")]);
}

#[test]
fn only_people_run_verify_and_score() {
    let c = Case::new();
    c.changed("run.json", |v| v["operator"] = "bot".into(), 3, &[("RL805", RUN, "bot, who ran it, is a program")]);
    c.changed("verification.json", |v| v["by"] = "bot".into(), 3, &[("RL805", VERIFIED, "bot, who verified it, is a program")]);
    sample_runs::score(&c.run, "bot", [3; 5], 20);
    c.finds(3, &[("RL805", "runs/U1/scores/bot.json", "bot, who scored it, is a program")]);
    std::fs::remove_file(c.run.scores_path("bot")).unwrap();
    c.finds(0, &[]);
}

#[test]
fn a_verification_answers_the_tasks_checks() {
    let c = Case::new();
    let answers = |checks: Value, said: &str| {
        c.changed("verification.json", |v| v["checks"] = checks, 3, &[("RL806", VERIFIED, said)]);
    };
    let check = |name: &str| json!({ "name": name, "passed": true });
    answers(json!([check("view")]), "it has the checks view, its task near, view");
    answers(json!([check("view"), check("near"), check("far")]), "it has the checks far, near, view");
    answers(json!([check("view"), check("near"), check("near")]), "it has the checks near, near, view");
    // In another order they are the same.
    c.changed("verification.json", |v| v["checks"] = json!([check("near"), check("view")]), 0, &[]);
}

#[test]
fn what_is_still_to_be_said_is_a_warning() {
    let c = Case::new();
    c.without("verification.json", 0, &[("RL807", RUN, "nobody verified it, so it counts as not passed")]);
    c.changed("run.json", |v| drop(v.as_object_mut().unwrap().remove("stop")), 0, &[("RL808", RUN, "nobody said why it ended")]);
}
