//! A scheduler, two workers and an S3-compatible server on loopback: a corpus in storage is transcribed, packed, counted, asked
//! and released by `--cluster`, a worker is killed on the way, and everything is what one machine makes of the same corpus in a
//! folder, byte by byte. Needs `redline` (`REDLINE_BIN`, else the workspace's debug build), its models, espeak-ng and ffmpeg.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use common::s3::files;
use common::{SENTENCES, corpus, model, redline, run, s3, scheduler_and_workers, wait_for, worker};
use std::collections::BTreeMap;
use std::process::{Command, Stdio};

/// Equal for both, so that nothing may differ.
const MADE: (&str, &str) = ("SOURCE_DATE_EPOCH", "1770000000");
const PLACE: &str = "s3://bucket/gears";

fn outcomes(server: &s3::Server) -> usize {
    server.list().iter().filter(|k| k.contains("/.cache/jobs/") && k.contains("/outcomes/")).count()
}

fn equal(here: &BTreeMap<String, Vec<u8>>, there: &BTreeMap<String, Vec<u8>>) {
    assert_eq!(here.keys().collect::<Vec<_>>(), there.keys().collect::<Vec<_>>());
    for (name, bytes) in here {
        assert!(there[name] == *bytes, "{name} differs");
    }
}

#[test]
fn from_storage_to_storage_the_cluster_gives_the_bytes_of_one_machine() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("one");
    corpus(&root, dir.path());
    let server = s3::Server::start();
    for (file, bytes) in files(&root) {
        server.put(&format!("gears/{file}"), &bytes);
    }

    // One machine, in a folder.
    let model = model();
    let options = ["--whisper-model", &model, "--threads", "1", "--jobs", "1"];
    let here = |args: &[&str]| run(Command::new(redline()).args(args).env(MADE.0, MADE.1).arg("--corpus").arg(&root));
    here(&[&["transcribe"][..], &options].concat());
    let packed = dir.path().join("packed");
    here(&["pack", "--out", packed.to_str().unwrap()]);
    let stats = here(&["stats", "--json"]);
    let checked = here(&["check", "--json", "--decode"]);
    let sql = "SELECT p.word, p.text, p.start_ns FROM pointing p ORDER BY p.request_id, p.word";
    let asked = here(&["query", "--json", sql]);
    here(&["release", "1.0.0"]);

    // The cluster, in storage; what it does is started by the everyday program.
    let port = Some(server.port);
    let (at, _scheduler, mut workers) = scheduler_and_workers(dir.path(), port);
    let there = |args: &[&str]| {
        let mut c = Command::new(redline());
        s3::settings(&mut c, server.port);
        c.env("REDLINE_CLUSTER_BIN", env!("CARGO_BIN_EXE_redline-cluster")).env(MADE.0, MADE.1);
        c.args(args).args(["--corpus", PLACE, "--cluster", &at]);
        c
    };
    let job = there(&[&["transcribe", "--json"][..], &options].concat()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_for("the first outcome", || outcomes(&server) > 0);
    // kill -9.
    drop(workers.remove(0));
    let out = job.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success(), "{said}");
    assert!(said.contains(&format!("{0} of {0} sessions done, 0 failed", SENTENCES.len())), "{said}");
    let kept: Vec<_> = server.list().into_iter().filter(|k| k.ends_with("/transcript.automatic.json")).collect();
    assert_eq!(kept.len(), SENTENCES.len());
    for k in &kept {
        let local = std::fs::read(root.join(k.strip_prefix("gears/").unwrap())).unwrap();
        assert!(server.get(k) == local, "{k} differs");
    }
    workers.push(worker(dir.path(), &at, port, 2));

    let apart = dir.path().join("apart");
    run(&mut there(&["pack", "--out", apart.to_str().unwrap()]));
    equal(&files(&packed), &files(&apart));
    let same = |a: &[u8], b: &[u8]| {
        let [a, b] = [a, b].map(|t| serde_json::from_slice::<serde_json::Value>(t).unwrap());
        assert_eq!(a, b);
    };
    same(&checked, &run(&mut there(&["check", "--json", "--decode"])));
    same(&stats, &run(&mut there(&["stats", "--json"])));
    let words = run(&mut there(&["query", "--json", sql]));
    same(&asked, &words);
    assert!(serde_json::from_slice::<Vec<serde_json::Value>>(&words).unwrap().len() > 40);

    run(&mut there(&["release", "1.0.0"]));
    let sent: BTreeMap<_, _> =
        server.list().into_iter().filter_map(|k| Some((k.strip_prefix("gears/releases/1.0.0/")?.to_owned(), server.get(&k)))).collect();
    equal(&files(&root.join("releases/1.0.0")), &sent);
    let count = "SELECT count(*) AS n FROM words";
    let local = run(Command::new(redline()).args(["query", "--json", count, "--in"]).arg(root.join("releases/1.0.0")));
    same(&local, &run(&mut there(&["query", "--json", count, "--in", "s3://bucket/gears/releases/1.0.0"])));
    let left: Vec<_> = server.list().into_iter().filter(|k| k.contains("/.cache/jobs/")).collect();
    assert!(left.is_empty(), "jobs clean up behind them: {left:?}");
}
