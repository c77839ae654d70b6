//! `redline edit`: the protocol, what is shown, what is recorded; the CAD program is the plug-ins' client module alone.

#![allow(clippy::unwrap_used)]

mod plug_in;
mod recording;

use plug_in::PlugIn;
use recording::*;
use redline_desk::VirtualDesktop;
use redline_schemas::{CommandEvent, Corpus, EditManifest, InputEvent, InputKind, RenderEvent, Status, jsonl};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A corpus with P01, P02, P03 and P01's typed request `r`.
fn corpus_with_request(desk: &VirtualDesktop, dir: &Path) -> PathBuf {
    let root = corpus(desk, dir);
    for p in ["P02", "P03"] {
        let mut c = redline(desk);
        c.args(["participant", "add", p, "--corpus"]).arg(&root);
        run(c);
    }
    let mut c = redline(desk);
    c.args(["model", "add", "--id", "bracket", "--corpus"]).arg(&root);
    c.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("samples/bracket.step"));
    run(c);
    let rec = Recorder::start(desk, &root, &["--no-mic", "--model", "bracket", "--duration", "0.5"]);
    let (id, _) = (rec.id.clone(), rec.dir());
    assert_eq!(rec.wait().1, Some(0));
    // Under a name that the tests know.
    let c = Corpus::open(&root).unwrap();
    let (old, new) = (c.request_dir(&id.parse().unwrap()), c.request_dir(&"r".parse().unwrap()));
    std::fs::rename(old.path(), new.path()).unwrap();
    let text = std::fs::read_to_string(new.request_json()).unwrap().replace(&id, "r");
    std::fs::write(new.request_json(), text).unwrap();
    std::fs::write(new.text(), "Round the outer edges with 3 mm.\n").unwrap();
    root
}

fn edit_command(desk: &VirtualDesktop, root: &Path, who: &str, args: &[&str]) -> Command {
    let mut c = redline(desk);
    c.args(["edit", "r", "--no-mic", "--yes", "--participant", who, "--corpus"]).arg(root).args(args);
    c
}

fn manifest_of(root: &Path, id: &str) -> EditManifest {
    Corpus::open(root).unwrap().edit(&id.parse().unwrap()).unwrap()
}

/// Where the editor may change the request's model.
fn working_copy(id: &str) -> PathBuf {
    std::env::temp_dir().join(format!("redline-edit-{id}")).join("bracket.step")
}

fn listed(desk: &VirtualDesktop, root: &Path, args: &[&str]) -> serde_json::Value {
    let mut c = redline(desk);
    c.args(["edit", "--list", "--json", "--corpus"]).arg(root).args(args);
    serde_json::from_slice(&run(c).stdout).unwrap()
}

#[test]
fn an_edit_is_shown_its_request_recorded_and_ends_with_its_result() {
    let dir = tempfile::tempdir().unwrap();
    let desk = desk(800, 600, false);
    let root = corpus_with_request(&desk, dir.path());
    let hand = Hand::new(&desk);

    // The requestor, with a CAD program.
    let plug_in = PlugIn::start(&desk, dir.path());
    let mut rec = Recorder::start_command(edit_command(&desk, &root, "P01", &["--no-video"]), &root, "edits");
    rec.wait_line("Round the outer edges");
    rec.wait_line("Test CAD 1 is connected");
    plug_in.wait_sent(20);
    hand.move_to(100, 100);
    let clicked = hand.click(1);
    plug_in.wait_sent(30);
    let (id, session) = (rec.id.clone(), rec.dir());
    let (out, code) = rec.stop();
    assert_eq!((code, out.trim()), (Some(0), id.as_str()));
    let m = manifest_of(&root, &id);
    assert_eq!((m.status, m.request.as_str(), m.participant.as_str()), (Status::Complete, "r", "P01"));
    let s = &m.session;
    let (from, to) = (m.started_ns.unwrap(), m.stopped_ns.unwrap());
    assert!(0 <= from && from < to && to <= s.duration_ns, "{from} {to} {}", s.duration_ns);
    assert!(s.streams.video.is_none() && !session.video().exists(), "no video was asked for");
    let origin = s.clock.origin_ns.unwrap();

    // The bridge's commands: all, once, at their times.
    let commands = jsonl::read_all::<CommandEvent>(&session.commands()).unwrap().0;
    let sent = plug_in.sent();
    assert_eq!(s.streams.commands.as_ref().unwrap().count, commands.len() as u64);
    assert_eq!(commands.len(), sent.len(), "as many as were sent");
    for (c, at) in commands.iter().zip(&sent) {
        let off = (c.t_ns + origin - at).abs();
        assert!(off < 20_000_000, "{} ms off, said to be at most {} ms", off / 1_000_000, c.error_ns / 1_000_000);
    }
    // The result, byte for byte.
    let result = m.final_model.as_ref().unwrap();
    assert_eq!(result.path, "final.step");
    let want = std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("samples/bracket.step")).unwrap();
    assert_eq!(std::fs::read(session.path().join("final.step")).unwrap(), want);
    let files = jsonl::read_all::<RenderEvent>(&session.renders()).unwrap().0;
    assert!(files.len() == 1 && files[0].sha256 == result.sha256);
    assert!(!working_copy(&id).exists(), "nobody changed it, and the edit has its result");
    // Input goes on without video.
    let input = jsonl::read_all::<InputEvent>(&session.input()).unwrap().0;
    let press = input.iter().find(|e| e.kind == InputKind::Press).unwrap();
    assert!((press.t_ns + origin - clicked).abs() < 100_000_000 && press.vx.is_some());
    drop(plug_in);

    // The other expert, without a CAD program, sees the request alone.
    let mut rec = Recorder::start_command(edit_command(&desk, &root, "P02", &[]), &root, "edits");
    let line = rec.wait_line("the request: http");
    let page = line.split_whitespace().last().unwrap().trim_end_matches('/').to_owned();
    let text = ureq::get(format!("{page}/replay.json")).call().unwrap().body_mut().read_to_string().unwrap();
    assert!(text.contains("Request r") && !text.contains(&id) && !text.contains("final"), "{text}");
    for n in 0..8 {
        let url = format!("{page}/file/{n}");
        let answer = ureq::get(url).config().http_status_as_error(false).build().call().unwrap();
        assert_ne!(answer.headers().get("content-type").map(|h| h.to_str().unwrap_or_default()), Some("model/step"), "file {n}");
        assert!(n == 0 || answer.status().as_u16() == 404, "file {n}: only the request's video is there");
    }
    let said = rec.said().join("\n");
    assert!(!said.contains(&id), "nothing of the requestor's edit is said: {said}");
    let (id2, dir2) = (rec.id.clone(), rec.dir());
    rec.signal(libc::SIGINT);
    rec.wait_line("no CAD bridge connected");
    assert_eq!(rec.wait().1, Some(0));
    let m = manifest_of(&root, &id2);
    assert!(m.final_model.is_none() && dir2.video().exists());
    assert_eq!(std::fs::read(working_copy(&id2)).unwrap(), want, "its result may still be made from it");
    std::fs::remove_dir_all(working_copy(&id2).parent().unwrap()).unwrap();

    // Its result comes later; nothing is replaced.
    let missing = listed(&desk, &root, &[]);
    assert_eq!(missing[0]["missing"], serde_json::json!([format!("the final model of edit {id2}")]));
    let give = || {
        let mut c = redline(&desk);
        c.args(["edit", "--finish", &id2, "--corpus"]).arg(&root).arg("--final");
        c.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("samples/bracket.step"));
        c
    };
    run(give());
    assert_eq!(manifest_of(&root, &id2).final_model.unwrap().path, "final.step");
    let again = give().output().unwrap();
    assert_eq!(again.status.code(), Some(5));
    assert!(String::from_utf8_lossy(&again.stderr).contains("nothing recorded is replaced"));
    assert_eq!(listed(&desk, &root, &[])[0]["missing"], serde_json::json!([]));
}

#[test]
fn who_may_not_edit_is_told_why_and_nothing_is_left() {
    let dir = tempfile::tempdir().unwrap();
    let desk = desk(640, 480, false);
    let root = corpus_with_request(&desk, dir.path());
    let refused = |mut c: Command, why: &str| {
        let o = c.stdin(Stdio::null()).output().unwrap();
        let said = String::from_utf8_lossy(&o.stderr).into_owned();
        assert!(o.status.code() == Some(5) && said.contains(why), "{:?}: {said}", o.status);
    };
    let result = Path::new(env!("CARGO_MANIFEST_DIR")).join("samples/bracket.step").to_string_lossy().into_owned();
    let quick = ["--duration", "0.3", "--no-bridge", "--no-video", "--final", result.as_str()];
    let o = run(edit_command(&desk, &root, "P02", &quick));
    let id = String::from_utf8_lossy(&o.stdout).trim().to_owned();
    assert_eq!(manifest_of(&root, &id).final_model.unwrap().path, "final.step");

    refused(edit_command(&desk, &root, "P02", &quick), "once");
    refused(edit_command(&desk, &root, "P03", &quick), &format!("{id} by P02"));
    refused(edit_command(&desk, &root, "P09", &quick), "no participant “P09”");
    let mut c = redline(&desk);
    c.args(["edit", "none", "--yes", "--participant", "P01", "--corpus"]).arg(&root);
    refused(c, "none");
    assert_eq!(Corpus::open(&root).unwrap().edit_ids().unwrap().len(), 1, "a refusal leaves nothing");
    // P03 has nothing to do, P01 has.
    assert_eq!(listed(&desk, &root, &["--participant", "P03"]), serde_json::json!([]));
    let open = listed(&desk, &root, &["--participant", "P01"]);
    assert_eq!((&open[0]["request"], &open[0]["missing"]), (&"r".into(), &serde_json::json!(["the requestor’s edit"])));

    // A result that isn't there is said, and the edit is kept.
    let gone = dir.path().join("gone.step").to_string_lossy().into_owned();
    let args = ["--duration", "0.3", "--no-bridge", "--no-video", "--final", gone.as_str()];
    refused(edit_command(&desk, &root, "P01", &args), "redline edit --finish");
    let ids = Corpus::open(&root).unwrap().edit_ids().unwrap();
    let own = ids.iter().map(|i| manifest_of(&root, i.as_str())).find(|m| m.participant.as_str() == "P01").unwrap();
    assert!(own.status == Status::Complete && own.final_model.is_none());
}

#[test]
fn a_killed_recorder_loses_at_most_a_quarter_of_a_second_of_cad_events() {
    let dir = tempfile::tempdir().unwrap();
    let desk = desk(640, 480, false);
    let root = corpus_with_request(&desk, dir.path());
    let plug_in = PlugIn::start(&desk, dir.path());
    let mut rec = Recorder::start_command(edit_command(&desk, &root, "P02", &["--no-video"]), &root, "edits");
    rec.wait_line("is connected");
    plug_in.wait_sent(50);
    rec.signal(libc::SIGKILL);
    let killed = now_ns();
    let (id, session) = (rec.id.clone(), rec.dir());
    assert_eq!(rec.wait().1, None);
    let mut c = redline(&desk);
    c.args(["recover", "--json", "--corpus"]).arg(&root);
    run(c);
    let m = manifest_of(&root, &id);
    assert_eq!(m.status, Status::Recovered);
    assert!(m.started_ns.is_some() && m.stopped_ns.is_some() && m.final_model.is_none());
    let origin = m.session.clock.origin_ns.unwrap();
    let commands = jsonl::read_all::<CommandEvent>(&session.commands()).unwrap().0;
    let sent: Vec<i64> = plug_in.sent().into_iter().filter(|t| *t < killed).collect();
    let last = commands.last().unwrap().t_ns + origin;
    assert!(killed - last < 250_000_000, "{} ms of events are gone", (killed - last) / 1_000_000);
    assert!(commands.windows(2).all(|w| w[0].seq + 1 == w[1].seq), "none in between is missing or doubled");
    assert!(sent.len() - commands.len() <= 15, "{} of {} are there", commands.len(), sent.len());
    // The plug-in lives on and joins the next session.
    let rec = Recorder::start_command(edit_command(&desk, &root, "P01", &["--no-video"]), &root, "edits");
    let mut rec = rec;
    rec.wait_line("is connected");
    let (id, session) = (rec.id.clone(), rec.dir());
    assert_eq!(rec.stop().1, Some(0));
    let m = manifest_of(&root, &id);
    assert_eq!(m.final_model.unwrap().path, "final.step");
    let commands = jsonl::read_all::<CommandEvent>(&session.commands()).unwrap().0;
    assert!(commands.iter().all(|c| (0..=m.session.duration_ns).contains(&c.t_ns)), "nothing of the session before");
}
