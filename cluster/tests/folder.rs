//! A scheduler and two workers on loopback transcribe a corpus, one worker is killed on the way: the result is that of one
//! machine. Needs `redline` (`REDLINE_BIN`, else the workspace's debug build), its models, espeak-ng and ffmpeg.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use common::{SENTENCES, copy, corpus, model, redline, run, scheduler_and_workers, transcripts, wait_for};
use std::path::Path;
use std::process::{Command, Stdio};

fn outcomes(root: &Path) -> usize {
    let Ok(jobs) = std::fs::read_dir(root.join(".cache/jobs")) else { return 0 };
    jobs.filter_map(|j| std::fs::read_dir(j.unwrap().path().join("outcomes")).ok()).map(Iterator::count).sum()
}

#[test]
fn a_killed_worker_loses_nothing_and_the_result_is_that_of_one_machine() {
    let dir = tempfile::tempdir().unwrap();
    let (one, spread) = (dir.path().join("one"), dir.path().join("spread"));
    corpus(&one, dir.path());
    copy(&one, &spread);
    let model = model();
    let options = ["--whisper-model", &model, "--threads", "1", "--jobs", "1"];
    run(Command::new(redline()).arg("transcribe").arg("--corpus").arg(&one).args(options));
    let expected = transcripts(&one);
    assert_eq!(expected.len(), SENTENCES.len());

    let (at, _scheduler, mut workers) = scheduler_and_workers(dir.path(), None);
    let mut c = Command::new(env!("CARGO_BIN_EXE_redline-cluster"));
    c.args(["run", "transcribe", "--json", "--scheduler", &at, "--partitions", "8", "--corpus"]).arg(&spread).arg("--").args(options);
    let job = c.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_for("the first outcome", || outcomes(&spread) > 0);
    // kill -9.
    drop(workers.remove(0));
    let out = job.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success(), "{said}");
    let told: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
    assert_eq!(told.as_array().unwrap().len(), SENTENCES.len());
    assert_eq!(transcripts(&spread), expected);

    // A session that cannot be worked on is reported; the others are done.
    let again = dir.path().join("again");
    copy(&one, &again);
    for id in expected.keys() {
        std::fs::remove_file(again.join("requests").join(id).join("transcript.automatic.json")).unwrap();
    }
    let broken = expected.keys().next().unwrap();
    let broken_audio = std::fs::read_dir(again.join("requests").join(broken)).unwrap().map(|e| e.unwrap().path());
    for f in broken_audio.filter(|f| f.extension().is_some_and(|e| e == "flac" || e == "mp4")) {
        std::fs::write(f, b"no sound").unwrap();
    }
    let mut c = Command::new(env!("CARGO_BIN_EXE_redline-cluster"));
    c.args(["run", "transcribe", "--json", "--scheduler", &at, "--corpus"]).arg(&again).arg("--").args(options);
    let out = c.output().unwrap();
    assert_eq!(out.status.code(), Some(1), "{}", String::from_utf8_lossy(&out.stderr));
    let told: Vec<serde_json::Value> = serde_json::from_slice(&out.stdout).unwrap();
    let failed: Vec<_> =
        told.iter().filter(|o| !o["error"].is_null()).map(|o| (o["id"].as_str().unwrap(), o["attempts"].as_u64().unwrap())).collect();
    assert_eq!(failed, [(broken.as_str(), 3)]);
    assert_eq!(transcripts(&again).len(), SENTENCES.len() - 1);
}
