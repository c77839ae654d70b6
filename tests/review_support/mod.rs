//! A small corpus in the correction loop, the served page, and people who talk to it over HTTP.
#![allow(dead_code)] // Each test binary uses its own part.

use redline_schemas::coords::{Rect, ScreenMap};
use redline_schemas::time::{AudioClock, FrameGrid};
use redline_schemas::*;
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

pub const BIN: &str = env!("CARGO_BIN_EXE_redline");

/// What the speech model heard, with word times 0.4 s apart.
pub const HEARD: [&str; 2] = ["make the fill it on this edge", "two millimeters bigger please"];

pub fn corpus(dir: &Path) -> Corpus {
    let manifest = CorpusManifest {
        format_version: FORMAT_VERSION,
        name: "Bracket study".into(),
        licence: "CC-BY-4.0".into(),
        created_utc: chrono::Utc::now(),
        language: Some("en".into()),
        word_list: vec![],
        protocol: Protocol::default(),
        consent: None,
        splits: vec![],
        failure_labels: vec![],
    };
    let c = Corpus::create(dir, &manifest).unwrap();
    let person = |id: &str, roles: &[Role]| Participant {
        id: ParticipantId::new(id).unwrap(),
        roles: roles.to_vec(),
        created_utc: chrono::Utc::now(),
        consent: None,
        agent: None,
    };
    let participants = vec![
        person("P01", &[Role::Requestor, Role::Reviewer]),
        person("P02", &[Role::Requestor, Role::Reviewer]),
        person("P03", &[Role::Requestor, Role::Reviewer]),
        person("P04", &[Role::Requestor]),
        person("C01", &[Role::Coordinator]),
    ];
    c.write_participants(&ParticipantsManifest { format_version: FORMAT_VERSION, participants }).unwrap();
    c
}

fn ffmpeg(args: &[&str]) {
    let out = Command::new("ffmpeg").args(["-v", "error", "-nostdin", "-y"]).args(args).output().expect("ffmpeg runs");
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
}

pub fn transcript(id: &RequestId, lines: &[&str]) -> Transcript {
    let mut at = 200_000_000;
    let segments = lines.iter().map(|line| {
        let words: Vec<Word> = line
            .split(' ')
            .map(|w| {
                at += 400_000_000;
                let score = Some(if w == "fill" { 0.21 } else { 0.93 });
                Word { text: w.into(), start_ns: at - 400_000_000, end_ns: at - 40_000_000, score, timing: Timing::Aligned }
            })
            .collect();
        let (start_ns, end_ns) = (words[0].start_ns, words[words.len() - 1].end_ns);
        Segment { start_ns, end_ns, text: (*line).into(), words, no_speech_prob: None, avg_logprob: None }
    });
    Transcript {
        format_version: FORMAT_VERSION,
        request: id.clone(),
        kind: TranscriptKind::Automatic,
        language: Some("en".into()),
        segments: segments.collect(),
        model: None,
        aligner: None,
        parameters: Value::Null,
        guards: vec![],
        correction: None,
        audio_sha256: None,
        created_utc: chrono::Utc::now(),
        tool: Tool::redline(),
    }
}

/// A request with 6 s of sound and pictures, and a transcript of `lines`.
pub fn request(c: &Corpus, participant: &str, modality: Modality, difficulty: Difficulty, lines: &[&str], media: bool) -> RequestId {
    let id = RequestId::generate();
    let dir = c.request_dir(&id);
    std::fs::create_dir_all(dir.path()).unwrap();
    let mut streams = Streams::default();
    let file = |path: std::path::PathBuf| dir.file_ref(&path).unwrap();
    if media {
        let (audio, video) = (dir.audio(), dir.video());
        // A tone that comes and goes, so that the waveform has a shape.
        let tone = "aevalsrc=0.4*sin(2*PI*220*t)*(0.5+0.5*sin(2*PI*2.5*t)):s=16000:d=6";
        ffmpeg(&["-f", "lavfi", "-i", tone, "-sample_fmt", "s16", audio.to_str().unwrap()]);
        let pattern = "testsrc2=size=320x180:rate=30:duration=6";
        ffmpeg(&["-f", "lavfi", "-i", pattern, "-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p", video.to_str().unwrap()]);
        let stroke = |t_ns, kind, x: f64| StrokeEvent {
            t_ns,
            kind,
            stroke: 1,
            x: Some(x),
            y: Some(90.0),
            vx: Some(x),
            vy: Some(90.0 + x / 10.0),
            tool: Some("pen".into()),
            colour: Some("#e8453c".into()),
            width: Some(4.0),
            reason: None,
        };
        let mut strokes = jsonl::Writer::create(&dir.strokes()).unwrap();
        strokes.write(&stroke(1_000_000_000, StrokeKind::Begin, 60.0)).unwrap();
        for i in 1..20_i64 {
            strokes.write(&stroke(1_000_000_000 + i * 50_000_000, StrokeKind::Point, 60.0 + i as f64 * 8.0)).unwrap();
        }
        strokes.write(&stroke(2_000_000_000, StrokeKind::End, 220.0)).unwrap();
        strokes.write(&StrokeEvent { reason: Some("faded".into()), ..stroke(5_000_000_000, StrokeKind::Vanish, 220.0) }).unwrap();
        let strokes = strokes.finish().unwrap();
        let mut selections = jsonl::Writer::create(&dir.selections()).unwrap();
        let entity = Entity { kind: "face".into(), id: "Face7".into(), path: None, document: None };
        let picked = |t_ns, kind, entity: Option<Entity>| SelectionEvent {
            t_ns,
            kind,
            set: entity.iter().cloned().collect(),
            entity,
            point: None,
            viewport: None,
            seq: 1,
            error_ns: 0,
        };
        selections.write(&picked(1_500_000_000, SelectionKind::Added, Some(entity))).unwrap();
        selections.write(&picked(4_000_000_000, SelectionKind::Cleared, None)).unwrap();
        let selections = selections.finish().unwrap();
        let events = |path, count| Some(EventStream { file: file(path), count, first_t_ns: None, last_t_ns: None, lost: 0 });
        streams = Streams {
            audio: Some(AudioStream {
                file: file(audio),
                codec: "flac".into(),
                channels: 1,
                clock: AudioClock::nominal(16_000, 96_000, 50_000_000),
                device: None,
                peak: Some(0.4),
            }),
            video: Some(VideoStream {
                file: file(video),
                codec: "h264".into(),
                width: 320,
                height: 180,
                grid: FrameGrid::new(20_000_000, 30, 1).unwrap(),
                frames: 180,
                repeated_slots: 0,
                paused_slots: 0,
                dropped_frames: 0,
                capture_error_ns: None,
                has_audio: false,
            }),
            strokes: events(dir.strokes(), strokes),
            selections: events(dir.selections(), selections),
            ..Streams::default()
        };
    }
    let area = Rect { x: 0, y: 0, width: 320, height: 180 };
    let screen =
        Screen { map: ScreenMap::fixed(area, 320, 180), monitors: vec![], source: "region".into(), title: None, backend: "test".into() };
    let manifest = RequestManifest {
        format_version: FORMAT_VERSION,
        id: id.clone(),
        participant: ParticipantId::new(participant).unwrap(),
        model: None,
        modality,
        difficulty,
        status: Status::Complete,
        rejection: None,
        session: Session {
            clock: Clock {
                name: "file".into(),
                started_utc: chrono::Utc::now(),
                origin_ns: None,
                alignment: Alignment::Container,
                discontinuities: vec![],
            },
            duration_ns: 6_000_000_000,
            screen: media.then_some(screen),
            streams,
        },
        note: None,
        imported_from: None,
        tool: Tool::redline(),
    };
    fsio::write_json(&dir.request_json(), &manifest).unwrap();
    fsio::write_json(&dir.transcript_path(TranscriptKind::Automatic), &transcript(&id, lines)).unwrap();
    id
}

/// A request of P01 without media.
pub fn plain(c: &Corpus) -> RequestId {
    request(c, "P01", Modality::Interactive, Difficulty::Easy, &HEARD, false)
}

/// An edit of a request, by another participant.
pub fn edit_of(c: &Corpus, request: &RequestId, participant: &str) -> EditId {
    let edit = EditId::generate();
    std::fs::create_dir_all(c.edit_dir(&edit).path()).unwrap();
    let mut manifest = serde_json::to_value(c.request(request).unwrap()).unwrap();
    manifest["id"] = json!(edit);
    manifest["request"] = json!(request);
    manifest["participant"] = json!(participant);
    fsio::write_json(&c.edit_dir(&edit).edit_json(), &manifest).unwrap();
    edit
}

/// The served page. Ended with kill -9 when dropped.
pub struct Server {
    child: Child,
    pub url: String,
    root: std::path::PathBuf,
}

impl Server {
    pub fn start(root: &Path, more: &[&str]) -> Self {
        let mut child = Command::new(BIN)
            .args(["review", "serve", "--port", "0", "--json", "--corpus"])
            .arg(root)
            .args(more)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let ready: Value = serde_json::from_str(&line).expect("the server says where it is");
        Self { child, url: ready["url"].as_str().unwrap().to_owned(), root: root.into() }
    }

    /// kill -9.
    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    pub fn join(&self, participant: &str) -> Person {
        let link = invite(&self.root, participant);
        self.join_with(link.split_once("#join=").expect("a link").1)
    }

    /// Begins a session with an invitation's token.
    pub fn join_with(&self, token: &str) -> Person {
        let mut p = Person { url: self.url.clone(), cookie: String::new(), csrf: String::new(), agent: agent() };
        let (status, _, headers) = p.send("POST", "/api/join", Some(json!({ "token": token })));
        assert_eq!(status, 200);
        p.cookie = headers["set-cookie"].to_str().unwrap().split(';').next().unwrap().to_owned();
        p.csrf = p.get("/api/me")["csrf"].as_str().unwrap().to_owned();
        p
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Plays a scene of `tests/browser` in real browsers; what they said.
pub fn browser(scene: &str, want: &Value) -> String {
    let driver = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/browser");
    if !Path::new(driver).join("node_modules/playwright-core").is_dir() {
        let installed = Command::new("npm").args(["ci", "--silent", "--no-fund", "--no-audit", "--prefix", driver]).status().unwrap();
        assert!(installed.success(), "the browser driver could not be installed");
    }
    let out = Command::new("node").arg(format!("{driver}/{scene}")).env("REDLINE_LOOP", want.to_string()).output().unwrap();
    let (said, talk) = (String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
    assert!(out.status.success(), "{said}\n{talk}");
    said.into_owned()
}

pub fn invite(root: &Path, participant: &str) -> String {
    let out = Command::new(BIN).args(["review", "invite", participant, "--corpus"]).arg(root).output().unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout).unwrap().trim().to_owned()
}

/// Runs `redline --json …` and gives exit code, standard output and standard error.
pub fn redline(args: &[&str]) -> (i32, String, String) {
    let out = Command::new(BIN).arg("--json").args(args).output().unwrap();
    let text = |b: Vec<u8>| String::from_utf8(b).unwrap();
    (out.status.code().unwrap(), text(out.stdout), text(out.stderr))
}

fn agent() -> ureq::Agent {
    // The server closes a connection whose request it refused unread; a kept one would then fail by chance.
    ureq::Agent::config_builder().http_status_as_error(false).max_idle_connections(0).build().into()
}

/// Somebody with a session.
#[derive(Clone)]
pub struct Person {
    pub url: String,
    pub cookie: String,
    pub csrf: String,
    pub agent: ureq::Agent,
}

impl Person {
    /// A message as a page sends it; errors of the connection are status 0.
    pub fn send(&self, method: &str, path: &str, body: Option<Value>) -> (u16, Value, ureq::http::HeaderMap) {
        self.send_with(method, path, body, &[])
    }

    pub fn send_with(&self, method: &str, path: &str, body: Option<Value>, more: &[(&str, &str)]) -> (u16, Value, ureq::http::HeaderMap) {
        let (status, bytes, headers) = self.raw(method, path, body, more);
        (status, serde_json::from_slice(&bytes).unwrap_or(Value::Null), headers)
    }

    pub fn raw(&self, method: &str, path: &str, body: Option<Value>, more: &[(&str, &str)]) -> (u16, Vec<u8>, ureq::http::HeaderMap) {
        let mut r = ureq::http::Request::builder().method(method).uri(format!("{}{path}", self.url));
        if !self.cookie.is_empty() && !more.iter().any(|(n, _)| *n == "cookie") {
            r = r.header("cookie", &self.cookie);
        }
        if !more.iter().any(|(n, _)| *n == "x-redline-csrf") {
            r = r.header("x-redline-csrf", &self.csrf);
        }
        for (n, v) in more {
            r = r.header(*n, *v);
        }
        let answer = match body {
            Some(b) => self.agent.run(r.header("content-type", "application/json").body(b.to_string()).unwrap()),
            None => self.agent.run(r.body(()).unwrap()),
        };
        match answer {
            Ok(mut a) => match a.body_mut().with_config().limit(64 << 20).read_to_vec() {
                Ok(bytes) => (a.status().as_u16(), bytes, a.headers().clone()),
                Err(_) => (0, vec![], ureq::http::HeaderMap::new()),
            },
            Err(_) => (0, vec![], ureq::http::HeaderMap::new()),
        }
    }

    pub fn get(&self, path: &str) -> Value {
        let (status, value, _) = self.send("GET", path, None);
        assert_eq!(status, 200, "{path}: {value}");
        value
    }

    pub fn post(&self, path: &str, body: Value) -> (u16, Value) {
        let (status, value, _) = self.send("POST", path, Some(body));
        (status, value)
    }

    pub fn put(&self, path: &str, body: Value) -> (u16, Value) {
        let (status, value, _) = self.send("PUT", path, Some(body));
        (status, value)
    }
}
