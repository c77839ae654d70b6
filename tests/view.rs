//! The replay page, in headless Chromium.
#![allow(clippy::unwrap_used, clippy::expect_used)] // A test that cannot go on has failed.

mod webdriver;

use redline_schemas::{
    CommandEvent, CommandKind, Corpus, EditId, EditManifest, Entity, EventStream, FORMAT_VERSION, InputEvent, InputKind, RenderEvent,
    RenderKind, RequestId, Segment, SelectionEvent, SelectionKind, SessionDir, Status, Streams, Timing, Tool, Transcript, TranscriptKind,
    Word, fsio, jsonl,
};
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use webdriver::Browser;

struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn redline(args: &[&str]) {
    let out = Command::new(env!("CARGO_BIN_EXE_redline")).args(args).output().unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
}

/// A request of 4 s with words and clicks at known times.
fn corpus(dir: &Path) -> Corpus {
    let root = dir.join("c");
    let (c, video) = (root.to_string_lossy(), dir.join("v.mp4").to_string_lossy().into_owned());
    let make = Command::new("ffmpeg")
        .args([
            "-v",
            "error",
            "-f",
            "lavfi",
            "-i",
            "testsrc2=size=640x360:rate=30:duration=4",
            "-c:v",
            "libx264",
            "-pix_fmt",
            "yuv420p",
            &video,
        ])
        .status();
    assert!(make.unwrap().success());
    redline(&["init", &c]);
    redline(&["participant", "add", "P01", "--corpus", &c]);
    redline(&["import", "video", &video, "--participant=P01", "--modality=interactive", "--difficulty=easy", "--id=r", "--corpus", &c]);
    let corpus = Corpus::open(&root).unwrap();
    let id = RequestId::new("r").unwrap();
    let dir = corpus.request_dir(&id);
    let word = |text: &str, start_ns, end_ns| Word { text: text.into(), start_ns, end_ns, score: None, timing: Timing::Aligned };
    let words = vec![
        word("round", 500_000_000, 900_000_000),
        word("this", 1_000_000_000, 1_400_000_000),
        word("edge", 1_500_000_000, 2_100_000_000),
    ];
    let segment = Segment {
        start_ns: 500_000_000,
        end_ns: 2_100_000_000,
        text: "round this edge".into(),
        words,
        no_speech_prob: None,
        avg_logprob: None,
    };
    let transcript = Transcript {
        format_version: FORMAT_VERSION,
        request: id.clone(),
        kind: TranscriptKind::Automatic,
        language: Some("en".into()),
        segments: vec![segment],
        model: None,
        aligner: None,
        parameters: Value::Null,
        guards: vec![],
        correction: None,
        audio_sha256: None,
        created_utc: chrono::Utc::now(),
        tool: Tool::redline(),
    };
    fsio::write_json(&dir.transcript_path(TranscriptKind::Automatic), &transcript).unwrap();
    let mut w = jsonl::Writer::create(&dir.input()).unwrap();
    let at = |t_ns, kind, x| InputEvent { vx: Some(x), vy: Some(90.0), button: Some("left".into()), ..InputEvent::new(t_ns, kind) };
    let all =
        [at(100_000_000, InputKind::Move, 160.0), at(1_600_000_000, InputKind::Press, 320.0), at(1_700_000_000, InputKind::Release, 320.0)];
    for e in &all {
        w.write(e).unwrap();
    }
    w.finish().unwrap();
    let mut m = corpus.request(&id).unwrap();
    m.session.streams.input = Some(EventStream {
        file: dir.file_ref(&dir.input()).unwrap(),
        count: 3,
        first_t_ns: Some(100_000_000),
        last_t_ns: Some(1_700_000_000),
        lost: 0,
    });
    fsio::write_json(&dir.request_json(), &m).unwrap();
    corpus
}

#[test]
fn words_events_and_video_move_together() {
    let dir = tempfile::tempdir().unwrap();
    let corpus = corpus(dir.path());
    let mut server = Command::new(env!("CARGO_BIN_EXE_redline"));
    server.args(["view", "r", "--corpus"]).arg(corpus.root()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut server = Ended(server.spawn().unwrap());
    let mut address = String::new();
    BufReader::new(server.0.stdout.take().unwrap()).read_line(&mut address).unwrap();
    let address = address.trim();
    assert!(address.starts_with("http://127.0.0.1:"), "{address}");

    let browser = Browser::start();
    browser.open(address);
    let state = "const v = document.querySelector('video'); return { \
        ready: document.body.dataset.ready === 'yes' && v.readyState >= 2 && !v.seeking, t: v.currentTime, \
        words: [...document.querySelectorAll('.word.now')].map(e => e.textContent), \
        items: [...document.querySelectorAll('.item.now')].map(e => e.closest('.track').dataset.track), \
        clock: document.getElementById('clock').value, \
        pointer: parseFloat(document.getElementById('pointer').style.left) / v.clientWidth }";
    let when = |what: &str, ok: &dyn Fn(&Value) -> bool| browser.wait(what, state, ok);
    when("the page", &|s| s["ready"] == true && s["words"] == json!([]));

    browser.click("#words .word:nth-of-type(2)");
    let s = when("the word clicked", &|s| s["ready"] == true && s["words"] == json!(["this"]));
    assert!((s["t"].as_f64().unwrap() - 1.0).abs() < 0.02, "{s}");
    assert!((s["pointer"].as_f64().unwrap() - 160.5 / 640.0).abs() < 0.01, "{s}");

    browser.click(".track[data-track=clicks] .item");
    let s = when("the click's time", &|s| s["ready"] == true && s["items"] == json!(["clicks"]));
    assert_eq!((&s["words"], &s["clock"]), (&json!(["edge"]), &json!("1.600 s")));
    assert!((s["pointer"].as_f64().unwrap() - 320.5 / 640.0).abs() < 0.01, "{s}");

    browser.run("const b = document.getElementById('timeline').getBoundingClientRect(); document.getElementById('timeline').dispatchEvent(new MouseEvent('click', { clientX: b.left + 96 + (b.width - 96) * 0.75, bubbles: true }))");
    let s = when("three quarters", &|s| s["ready"] == true && s["t"].as_f64().unwrap() > 2.5);
    assert!((s["t"].as_f64().unwrap() - 3.0).abs() < 0.05 && s["words"] == json!([]), "{s}");

    browser.click("#words .word:nth-of-type(1)");
    when("the first word", &|s| s["words"] == json!(["round"]));
    browser.click("#play");
    when("playing into the next word", &|s| s["words"] == json!(["this"]));
    let png = browser.screenshot();
    assert!(png.len() > 10_000);
}

/// What there is to be seen of an edit.
#[derive(Clone, Copy, PartialEq)]
enum Seen {
    Renders,
    /// The request's video, which the edit did not have in truth.
    Video,
    /// A file that is no video.
    BrokenVideo,
    Nothing,
}

/// An edit: a selection, a fillet from 2 to 4 s, a cancelled pad, renders in two colours.
fn add_edit(corpus: &Corpus, id: &str, seen: Seen) {
    let id = EditId::new(id).unwrap();
    let dir = corpus.edit_dir(&id);
    std::fs::create_dir_all(dir.path().join("renders")).unwrap();
    let s = 1_000_000_000_i64;
    let entity = Entity { kind: "edge".into(), id: "Edge12".into(), path: Some("Bracket".into()), document: None };
    let picked = SelectionEvent {
        t_ns: s,
        kind: SelectionKind::Added,
        entity: Some(entity.clone()),
        point: Some([1.0, 2.0, 3.0]),
        viewport: None,
        set: vec![entity],
        seq: 1,
        error_ns: 200_000,
    };
    let command = |t_ns, kind, name: &str, seq| CommandEvent {
        t_ns,
        kind,
        command_id: None,
        name: Some(name.into()),
        parameters: None,
        seq,
        error_ns: 200_000,
    };
    let commands = [
        command(2 * s, CommandKind::Started, "Fillet", 2),
        command(4 * s, CommandKind::Ended, "Fillet", 3),
        command(5 * s, CommandKind::Started, "Pad", 5),
        command(6 * s, CommandKind::Cancelled, "Pad", 6),
    ];
    let render = |t_ns, name: &str, colour: [u8; 3], seq| {
        let path = format!("renders/{name}.png");
        image::RgbImage::from_pixel(64, 36, image::Rgb(colour)).save(dir.path().join(&path)).unwrap();
        RenderEvent { t_ns, kind: RenderKind::Render, path, sha256: String::new(), after_command: None, seq, error_ns: 0 }
    };
    let renders = [render(s / 2, "000001", [200, 0, 0], 4), render(4 * s + s / 10, "000002", [0, 0, 200], 7)];
    fn stream<T: serde::Serialize>(dir: &SessionDir, path: &Path, all: &[T]) -> Option<EventStream> {
        let mut w = jsonl::Writer::create(path).unwrap();
        all.iter().for_each(|e| w.write(e).unwrap());
        let count = w.finish().unwrap();
        Some(EventStream { file: dir.file_ref(path).unwrap(), count, first_t_ns: None, last_t_ns: None, lost: 0 })
    }
    let mut session = corpus.request(&RequestId::new("r").unwrap()).unwrap().session;
    session.duration_ns = 8 * s;
    let mut video = session.streams.video.take().filter(|_| matches!(seen, Seen::Video | Seen::BrokenVideo));
    if let Some(v) = &mut video {
        let request = corpus.request_dir(&RequestId::new("r").unwrap()).path().join(&v.file.path);
        if seen == Seen::Video {
            std::fs::copy(request, dir.video()).unwrap();
        } else {
            std::fs::write(dir.video(), b"no video").unwrap();
        }
        v.file = dir.file_ref(&dir.video()).unwrap();
    }
    session.streams = Streams {
        video,
        selections: stream(&dir, &dir.selections(), &[picked]),
        commands: stream(&dir, &dir.commands(), &commands),
        renders: stream(&dir, &dir.renders(), &renders).filter(|_| seen != Seen::Nothing),
        ..Streams::default()
    };
    let m = EditManifest {
        format_version: FORMAT_VERSION,
        id,
        request: RequestId::new("r").unwrap(),
        participant: "P01".parse().unwrap(),
        status: Status::Complete,
        rejection: None,
        session,
        started_ns: Some(0),
        stopped_ns: Some(8 * s),
        final_model: None,
        usage: None,
        imported_from: None,
        tool: Tool::redline(),
    };
    fsio::write_json(&dir.edit_json(), &m).unwrap();
}

#[test]
fn an_edits_commands_selections_and_renders_move_together() {
    let dir = tempfile::tempdir().unwrap();
    let corpus = corpus(dir.path());
    add_edit(&corpus, "e", Seen::Renders);
    let (_server, address) = serve(&corpus, "e");
    let browser = Browser::start();
    browser.open(&address);
    let state = "const i = document.querySelector('#stage img'); return { \
        ready: document.body.dataset.ready === 'yes', \
        picture: i && i.complete && i.naturalWidth > 0 ? i.alt : null, \
        now: [...document.querySelectorAll('.item.now')].map(e => e.title), \
        clock: document.getElementById('clock').value }";
    // Before its time, the first render is better than nothing.
    browser.wait("the page", state, &|s| s["ready"] == true && s["clock"] == "0.000 s" && s["picture"] == "render: renders/000001.png");
    browser.click(".track[data-track=commands] .item:nth-of-type(1)");
    let s = browser.wait("the fillet", state, &|s| s["clock"] == "2.000 s" && s["picture"] == "render: renders/000001.png");
    assert_eq!(s["now"], json!(["2.00 s: Fillet"]));
    browser.click(".track[data-track=renders] .item:nth-of-type(2)");
    let s = browser.wait("the second render", state, &|s| s["picture"] == "render: renders/000002.png");
    assert_eq!((&s["clock"], &s["now"]), (&json!("4.100 s"), &json!(["4.10 s: render: renders/000002.png"])));
    browser.click(".track[data-track=selections] .item");
    let s = browser.wait("the selection", state, &|s| s["clock"] == "1.000 s" && s["picture"] == "render: renders/000001.png");
    assert_eq!(s["now"], json!(["1.00 s: + Edge12"]));
    browser.click(".track[data-track=commands] .item:nth-of-type(2)");
    let s = browser.wait("the pad", state, &|s| s["clock"] == "5.000 s");
    assert_eq!(s["now"], json!(["5.00 s: Pad (cancelled)"]));
}

/// A served session; it ends with the first value.
fn serve(corpus: &Corpus, session: &str) -> (Ended, String) {
    let mut server = Command::new(env!("CARGO_BIN_EXE_redline"));
    server.args(["view", session, "--corpus"]).arg(corpus.root()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut server = Ended(server.spawn().unwrap());
    let mut address = String::new();
    BufReader::new(server.0.stdout.take().unwrap()).read_line(&mut address).unwrap();
    (server, address.trim().to_owned())
}

#[test]
fn there_is_always_something_to_be_seen_of_an_edit() {
    let dir = tempfile::tempdir().unwrap();
    let corpus = corpus(dir.path());
    let browser = Browser::start();
    let state = "const v = document.querySelector('video'), i = document.querySelector('#stage img'), s = document.getElementById('stage'); \
        let light = null; \
        if (v && v.readyState >= 2) { const c = document.createElement('canvas'); c.width = 64; c.height = 36; const d = c.getContext('2d'); \
          d.drawImage(v, 0, 0, 64, 36); light = d.getImageData(0, 0, 64, 36).data.reduce((a, b) => a + b, 0) / (64 * 36 * 4); } \
        return { ready: document.body.dataset.ready === 'yes', light, size: v ? [v.clientWidth, v.clientHeight] : null, \
          img: i && i.complete && i.naturalWidth > 0 ? i.clientHeight : 0, text: s.textContent }";
    add_edit(&corpus, "seen", Seen::Video);
    let (_server, address) = serve(&corpus, "seen");
    browser.open(&address);
    // Its test picture is bright, and it has its shape.
    let s = browser.wait("the edit's video", state, &|s| s["light"].as_f64().is_some_and(|l| l > 100.0));
    let (w, h) = (s["size"][0].as_f64().unwrap(), s["size"][1].as_f64().unwrap());
    assert!(h > 200.0 && (w / h - 640.0 / 360.0).abs() < 0.02, "{s}");

    add_edit(&corpus, "broken", Seen::BrokenVideo);
    let (_server, address) = serve(&corpus, "broken");
    browser.open(&address);
    let s = browser.wait("a render in place of a broken video", state, &|s| s["img"].as_f64().is_some_and(|h| h > 100.0));
    assert!(s["text"].as_str().unwrap().contains("can't be played") && s["text"].as_str().unwrap().contains("Render 1 of 2"), "{s}");

    add_edit(&corpus, "nothing", Seen::Nothing);
    let (_server, address) = serve(&corpus, "nothing");
    browser.open(&address);
    browser.wait("a word about it", state, &|s| s["ready"] == true && s["text"].as_str().unwrap().contains("no pictures either"));
}

#[test]
fn other_host_names_and_files_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let corpus = corpus(dir.path());
    let mut server = Command::new(env!("CARGO_BIN_EXE_redline"));
    server.args(["view", "r", "--corpus"]).arg(corpus.root()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut server = Ended(server.spawn().unwrap());
    let mut address = String::new();
    BufReader::new(server.0.stdout.take().unwrap()).read_line(&mut address).unwrap();
    let address = address.trim().trim_end_matches('/');
    let status = |path: &str, host: Option<&str>| {
        let mut r = ureq::get(format!("{address}{path}")).config().http_status_as_error(false).build();
        if let Some(h) = host {
            r = r.header("Host", h);
        }
        r.call().unwrap().status().as_u16()
    };
    assert_eq!(status("/replay.json", None), 200);
    assert_eq!(status("/replay.json", Some("evil.example")), 403);
    assert_eq!(status("/file/0", None), 200);
    assert_eq!(status("/file/99", None), 404);
    assert_eq!(status("/file/..%2F..%2Frequest.json", None), 400);
    let out = Command::new(env!("CARGO_BIN_EXE_redline")).args(["view", "none", "--corpus"]).arg(corpus.root()).output().unwrap();
    assert_eq!(out.status.code(), Some(5));
}
