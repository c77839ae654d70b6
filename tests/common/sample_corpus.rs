//! A small corpus with known contents, built from the format's own types.

use redline_schemas::coords::{Rect, ScreenMap};
use redline_schemas::time::{AudioClock, FrameGrid};
use redline_schemas::*;
use std::path::Path;

/// UTC at session time 0 of request `R1`.
pub fn start() -> Utc {
    "2026-03-01T10:00:00.5Z".parse().unwrap()
}

pub fn corpus_manifest() -> CorpusManifest {
    CorpusManifest {
        format_version: FORMAT_VERSION,
        name: "brackets".into(),
        licence: "CC-BY-4.0".into(),
        created_utc: start(),
        language: Some("en".into()),
        word_list: vec![],
        protocol: Protocol::default(),
        consent: Some(ConsentText { version: "1".into(), text: "You agree that the recording is published.".into() }),
        splits: vec![],
        failure_labels: vec![],
    }
}

/// Pointer of request `R1` at `t_ns`: one move every 10 ms.
pub fn pointer_at(step: i64) -> (f64, f64) {
    (100.0 + step as f64, 50.0 + (step % 7) as f64)
}

pub fn session(streams: Streams) -> Session {
    Session {
        clock: Clock {
            name: "CLOCK_MONOTONIC".into(),
            started_utc: start(),
            origin_ns: Some(0),
            alignment: Alignment::Measured,
            discontinuities: vec![],
        },
        duration_ns: 3_000_000_000,
        screen: Some(Screen {
            map: ScreenMap::fixed(Rect { x: 0, y: 0, width: 1280, height: 720 }, 1280, 720),
            monitors: vec![],
            source: "monitor".into(),
            title: None,
            backend: "x11-shm".into(),
        }),
        streams,
    }
}

fn stream<T: serde::Serialize + Timed>(dir: &SessionDir, path: &Path, events: &[T]) -> Option<EventStream> {
    let mut w = jsonl::Writer::create(path).unwrap();
    for e in events {
        w.write(e).unwrap();
    }
    let count = w.finish().unwrap();
    Some(EventStream {
        file: dir.file_ref(path).unwrap(),
        count,
        first_t_ns: events.first().map(Timed::t_ns),
        last_t_ns: events.last().map(Timed::t_ns),
        lost: 0,
    })
}

/// 300 moves 10 ms apart, a click at 1.005 s, a typed key at 2.001 s.
pub fn input() -> Vec<InputEvent> {
    let mut v: Vec<_> = (0..300)
        .map(|i| {
            let (x, y) = pointer_at(i);
            InputEvent { x: Some(x), y: Some(y), vx: Some(x), vy: Some(y), ..InputEvent::new(i * 10_000_000, InputKind::Move) }
        })
        .collect();
    let (x, y) = pointer_at(100);
    for (t, kind) in [(1_005_000_000, InputKind::Press), (1_105_000_001, InputKind::Release)] {
        v.push(InputEvent { x: Some(x), y: Some(y), button: Some("left".into()), ..InputEvent::new(t, kind) });
    }
    v.push(InputEvent { key: Some("ctrl \"\u{e9}\"".into()), ..InputEvent::new(2_001_000_000, InputKind::KeyPress) });
    v.push(InputEvent { dx: Some(0.0), dy: Some(-1.5), ..InputEvent::new(2_002_000_000, InputKind::Wheel) });
    v.sort_by_key(|e| e.t_ns);
    v
}

pub fn words() -> Vec<Word> {
    let word = |text: &str, start_ns, end_ns| Word { text: text.into(), start_ns, end_ns, score: Some(0.75), timing: Timing::Aligned };
    vec![
        word("Make", 200_000_000, 400_000_000),
        word("this", 1_013_000_000, 1_200_000_000),
        word("hole", 1_200_000_000, 1_500_000_000),
        word("bigger.", 1_555_000_000, 2_100_000_000),
    ]
}

pub fn transcript(request: &RequestId, kind: TranscriptKind) -> Transcript {
    let words = words();
    Transcript {
        format_version: FORMAT_VERSION,
        request: request.clone(),
        kind,
        language: Some("en".into()),
        segments: vec![Segment {
            start_ns: 200_000_000,
            end_ns: 2_100_000_000,
            text: words.iter().map(|w| w.text.as_str()).collect::<Vec<_>>().join(" "),
            words,
            no_speech_prob: None,
            avg_logprob: None,
        }],
        model: Some(SpeechModel { name: "tiny".into(), sha256: "0".repeat(64), engine: "whisper.cpp".into() }),
        aligner: None,
        parameters: serde_json::Value::Null,
        guards: vec![],
        correction: (kind == TranscriptKind::Oracle).then(|| Correction {
            revision: RevisionId::new("V1").unwrap(),
            rounds: 1,
            corrected_by: ParticipantId::new("P01").unwrap(),
            accepted_by: ParticipantId::new("P02").unwrap(),
            accepted_utc: start(),
            changed: false,
            char_edit_distance: 0,
            word_edit_distance: 0,
            automatic_chars: 22,
        }),
        audio_sha256: None,
        created_utc: start(),
        tool: Tool::redline(),
    }
}

/// Three seconds of video (90 frames, 1280x720) and sound (48 kHz, mono), made once a test program.
pub fn media() -> &'static (Vec<u8>, Vec<u8>) {
    static MEDIA: std::sync::OnceLock<(Vec<u8>, Vec<u8>)> = std::sync::OnceLock::new();
    MEDIA.get_or_init(|| {
        let dir = tempfile::tempdir().unwrap();
        let make = |name: &str, args: &[&str]| {
            let path = dir.path().join(name);
            let o = std::process::Command::new("ffmpeg").args(["-v", "error", "-f", "lavfi", "-i"]).args(args).arg(&path).output().unwrap();
            assert!(o.status.success(), "{}", String::from_utf8_lossy(&o.stderr));
            std::fs::read(path).unwrap()
        };
        let video = ["testsrc=size=1280x720:rate=30", "-frames:v", "90", "-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p"];
        (make("v.mp4", &video), make("a.flac", &["sine=frequency=440:sample_rate=48000:duration=3", "-ac", "1"]))
    })
}

/// The video in a session's folder.
pub fn video(dir: &SessionDir) -> VideoStream {
    VideoStream {
        file: media_file(dir, &dir.video(), &media().0),
        codec: "h264".into(),
        width: 1280,
        height: 720,
        grid: FrameGrid::new(16_000_000, 30, 1).unwrap(),
        frames: 90,
        repeated_slots: 0,
        paused_slots: 0,
        dropped_frames: 0,
        capture_error_ns: None,
        has_audio: false,
    }
}

/// Writes a file and gives its reference.
pub fn media_file(dir: &SessionDir, path: &Path, bytes: &[u8]) -> FileRef {
    std::fs::write(path, bytes).unwrap();
    dir.file_ref(path).unwrap()
}

pub fn add_participants(c: &Corpus) {
    let person = |id: &str, roles: &[Role]| Participant {
        id: ParticipantId::new(id).unwrap(),
        roles: roles.to_vec(),
        created_utc: start(),
        consent: Some(Consent { version: "1".into(), given_utc: start() }),
        agent: None,
    };
    let participants = vec![person("P01", &[Role::Requestor]), person("P02", &[Role::Editor, Role::Reviewer])];
    c.write_participants(&ParticipantsManifest { format_version: FORMAT_VERSION, participants }).unwrap();
}

pub fn add_model(c: &Corpus, id: &str) -> ModelId {
    let id = ModelId::new(id).unwrap();
    let dir = c.model_dir(&id);
    std::fs::create_dir_all(dir.join("views")).unwrap();
    std::fs::write(dir.join("views/top.png"), b"png").unwrap();
    let step = media_file(&SessionDir::new(&dir), &dir.join("model.step"), b"ISO-10303-21;\nEND-ISO-10303-21;\n");
    let m = ModelManifest {
        format_version: FORMAT_VERSION,
        id: id.clone(),
        name: "Bracket".into(),
        created_utc: start(),
        step,
        native: None,
        parametric: true,
        assembly: false,
        counts: Some(TopologyCounts { bodies: 1, faces: 6, edges: 12, vertices: 8 }),
        views: [("top".to_owned(), "views/top.png".to_owned())].into(),
        source: None,
    };
    fsio::write_json(&dir.join("model.json"), &m).unwrap();
    id
}

/// A request by `P01` with every stream.
pub fn add_request(c: &Corpus, id: &str, model: &ModelId, modality: Modality) -> RequestId {
    let id = RequestId::new(id).unwrap();
    let dir = c.request_dir(&id);
    std::fs::create_dir_all(dir.path()).unwrap();
    let stroke = |t_ns, kind| StrokeEvent {
        t_ns,
        kind,
        stroke: 1,
        x: Some(10.0),
        y: Some(20.0),
        vx: Some(10.0),
        vy: Some(20.0),
        tool: (kind == StrokeKind::Begin).then(|| "pen".into()),
        colour: (kind == StrokeKind::Begin).then(|| "#ff0000".into()),
        width: None,
        reason: None,
    };
    let face = Entity { kind: "face".into(), id: "Face7".into(), path: Some("Body/Pad".into()), document: Some("Bracket".into()) };
    let selection = |t_ns, kind, seq| SelectionEvent {
        t_ns,
        kind,
        entity: Some(face.clone()),
        point: Some([1.0, 2.5, -3.0]),
        viewport: None,
        set: vec![face.clone()],
        seq,
        error_ns: 1000,
    };
    let streams = Streams {
        video: Some(video(&dir)),
        audio: Some(AudioStream {
            file: media_file(&dir, &dir.audio(), &media().1),
            codec: "flac".into(),
            channels: 1,
            clock: AudioClock::nominal(48_000, 144_000, 5_000_000),
            device: None,
            peak: Some(0.5),
        }),
        input: stream(&dir, &dir.input(), &input()),
        strokes: stream(
            &dir,
            &dir.strokes(),
            &[stroke(1_050_000_000, StrokeKind::Begin), stroke(1_100_000_000, StrokeKind::Point), stroke(1_150_000_000, StrokeKind::End)],
        ),
        selections: stream(&dir, &dir.selections(), &[selection(1_020_000_000, SelectionKind::Preselected, 1)]),
        ..Streams::default()
    };
    let m = RequestManifest {
        format_version: FORMAT_VERSION,
        id: id.clone(),
        participant: ParticipantId::new("P01").unwrap(),
        model: Some(model.clone()),
        modality,
        difficulty: Difficulty::Easy,
        status: Status::Complete,
        rejection: None,
        session: session(streams),
        note: None,
        imported_from: None,
        tool: Tool::redline(),
    };
    fsio::write_json(&dir.request_json(), &m).unwrap();
    for kind in [TranscriptKind::Automatic, TranscriptKind::Oracle] {
        fsio::write_json(&dir.transcript_path(kind), &transcript(&id, kind)).unwrap();
    }
    id
}

/// An edit by `P02`.
pub fn add_edit(c: &Corpus, id: &str, request: &RequestId) -> EditId {
    let id = EditId::new(id).unwrap();
    let dir = c.edit_dir(&id);
    std::fs::create_dir_all(dir.path().join("renders")).unwrap();
    let command = |t_ns, kind, seq| CommandEvent {
        t_ns,
        kind,
        command_id: Some("PartDesign_Hole".into()),
        name: Some("Hole".into()),
        parameters: Some(serde_json::json!({ "diameter": 8.5 })),
        seq,
        error_ns: 0,
    };
    let render = media_file(&dir, &dir.path().join("renders/0001.png"), b"png");
    let final_model = media_file(&dir, &dir.path().join("final.step"), b"ISO-10303-21;\nEND-ISO-10303-21;\n");
    let streams = Streams {
        input: stream(&dir, &dir.input(), &input()),
        commands: stream(
            &dir,
            &dir.commands(),
            &[command(500_000_000, CommandKind::Started, 1), command(900_000_000, CommandKind::Ended, 2)],
        ),
        renders: stream(
            &dir,
            &dir.renders(),
            &[RenderEvent {
                t_ns: 950_000_000,
                kind: RenderKind::Render,
                path: render.path,
                sha256: render.sha256,
                after_command: Some(2),
                seq: 3,
                error_ns: 0,
            }],
        ),
        ..Streams::default()
    };
    let m = EditManifest {
        format_version: FORMAT_VERSION,
        id: id.clone(),
        request: request.clone(),
        participant: ParticipantId::new("P02").unwrap(),
        status: Status::Complete,
        rejection: None,
        session: session(streams),
        started_ns: Some(100_000_000),
        stopped_ns: Some(2_900_000_000),
        final_model: Some(final_model),
        usage: None,
        imported_from: None,
        tool: Tool::redline(),
    };
    fsio::write_json(&dir.edit_json(), &m).unwrap();
    id
}

/// Two participants, two models, three requests, two edits.
pub fn build(root: &Path) -> Corpus {
    let c = Corpus::create(root, &corpus_manifest()).unwrap();
    add_participants(&c);
    let m1 = add_model(&c, "M1");
    let m2 = add_model(&c, "M2");
    let r1 = add_request(&c, "R1", &m1, Modality::Interactive);
    add_request(&c, "R2", &m1, Modality::DrawTemp);
    add_request(&c, "R3", &m2, Modality::DrawStatic);
    add_edit(&c, "E1", &r1);
    add_edit(&c, "E2", &r1);
    c
}
