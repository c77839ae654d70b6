//! The replay page of an agent's run, in headless Chromium: its steps move with the video.
#![allow(clippy::unwrap_used, clippy::expect_used)] // A test that cannot go on has failed.

#[allow(dead_code)]
#[path = "common/sample_corpus.rs"]
mod sample;
#[allow(dead_code)]
#[path = "common/sample_runs.rs"]
mod sample_runs;
#[allow(dead_code)] // Pictures of pages are not needed here.
mod webdriver;

use redline_schemas::{Corpus, Modality, RunManifest, TaskFamily, fsio};
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use webdriver::Browser;

struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn view(corpus: &Corpus, session: &str) -> Command {
    let mut c = Command::new(env!("CARGO_BIN_EXE_redline"));
    c.args(["view", session, "--corpus"]).arg(corpus.root());
    c
}

fn serve(corpus: &Corpus, session: &str) -> (Ended, String) {
    let mut server = Ended(view(corpus, session).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap());
    let mut address = String::new();
    BufReader::new(server.0.stdout.take().unwrap()).read_line(&mut address).unwrap();
    (server, address.trim().to_owned())
}

const STATE: &str = "const v = document.querySelector('video'), i = document.querySelector('#stage img'); return { \
    ready: document.body.dataset.ready === 'yes' && (!v || v.readyState >= 2 && !v.seeking), \
    title: document.title, clock: document.getElementById('clock').value, \
    shown: [...document.querySelectorAll('.step')].map(s => [s.querySelector('img').naturalWidth, s.querySelector('span').textContent]), \
    step: [...document.querySelectorAll('.step.now span')].map(e => e.textContent), \
    item: [...document.querySelectorAll('.item.now')].map(e => e.textContent), \
    video: v ? v.currentTime : null, light: i && i.complete && i.naturalWidth > 0 ? i.src.split('/').pop() : null, \
    said: document.getElementById('stage').textContent }";

#[test]
fn a_runs_steps_move_with_its_video() {
    let dir = tempfile::tempdir().unwrap();
    let corpus = sample_runs::corpus(dir.path());
    let task = sample_runs::add_task(&corpus, "see-face", TaskFamily::Orientation, &["view"]);
    let run = sample_runs::add_run(&corpus, "U1", &task);
    sample_runs::verify(&run, &task, false);
    let (server, address) = serve(&corpus, "U1");
    let browser = Browser::start();
    browser.open(&address);
    let labels = ["1: key Return – back to the first view", "2: drag 10 20 300 20", "3: the end"];
    let loaded = |s: &Value| s["ready"] == true && s["shown"] == json!(labels.map(|l| json!([64, l])));
    let s = browser.wait("the steps", STATE, &loaded);
    assert_eq!(s["title"], "Run U1 of task see-face · scripted 1.0 · failed");
    assert_eq!(s["step"], json!([]), "before the first one");

    browser.click(".step:nth-of-type(2)");
    let s = browser.wait("the second step", STATE, &|s| s["ready"] == true && s["clock"] == "1.500 s");
    assert_eq!((&s["step"], &s["item"]), (&json!([labels[1]]), &json!([labels[1]])));
    // The first frame is at 16 ms of the session.
    assert!((s["video"].as_f64().unwrap() - 1.484).abs() < 0.001, "{s}");
    browser.click(".track[data-track=steps] .item:nth-of-type(3)");
    let s = browser.wait("the end", STATE, &|s| s["ready"] == true && s["clock"] == "2.500 s");
    assert_eq!(s["step"], json!([labels[2]]));
    browser.click(".step:nth-of-type(1)");
    browser.wait("the first step", STATE, &|s| s["step"] == json!([labels[0]]));
    browser.click("#play");
    browser.wait("playing into the next step", STATE, &|s| s["step"] == json!([labels[1]]));
    drop(server);

    // Without a video its screenshots are what is seen.
    let mut m: RunManifest = fsio::read_manifest(&run.run_json()).unwrap();
    m.session.streams.video = None;
    fsio::write_json(&run.run_json(), &m).unwrap();
    let (_server, address) = serve(&corpus, "U1");
    browser.open(&address);
    let s = browser.wait("the first screenshot", STATE, &|s| s["light"] == "0");
    assert!(s["said"].as_str().unwrap().contains("No video was recorded. Step 1 of 3, from 0.50 s"), "{s}");
    browser.click(".step:nth-of-type(3)");
    browser.wait("the last screenshot", STATE, &|s| s["light"] == "2" && s["clock"] == "2.500 s");
}

#[test]
fn an_id_names_one_session() {
    let dir = tempfile::tempdir().unwrap();
    let corpus = sample_runs::corpus(dir.path());
    let task = sample_runs::add_task(&corpus, "see-face", TaskFamily::Orientation, &["view"]);
    sample_runs::add_run(&corpus, "same", &task);
    let model = sample::add_model(&corpus, "M1");
    sample::add_request(&corpus, "same", &model, Modality::Interactive);
    let said = |id: &str| {
        let o = view(&corpus, id).output().unwrap();
        assert!(!o.status.success());
        String::from_utf8(o.stderr).unwrap()
    };
    assert!(said("same").contains("several sessions of this id"));
    assert!(said("other").contains("no request, no edit and no run “other”"));
}
