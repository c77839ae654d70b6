//! Requests: a recording, what was said or typed, where the pointer was.

use crate::media::{FPS, RATE, Recording, SIZE, WORD_NS, WORD_STEP_NS};
use crate::{Chance, Result, Stock, cell, io, make_dir, model_id, person, started, stream, write};
use redline_schemas::coords::{Rect, ScreenMap};
use redline_schemas::time::{AudioClock, FrameGrid, NS_PER_S};
use redline_schemas::{
    Alignment, AudioStream, Clock, Correction, Entity, FORMAT_VERSION, InputEvent, InputKind, MarkEvent, MarkKind, Modality, RequestId,
    RequestManifest, ReviewDecision, ReviewedRevision, Revision, RevisionHistory, RevisionId, Screen, Segment, SelectionEvent,
    SelectionKind, Session, SessionDir, SpeechModel, Status, Streams, StrokeEvent, StrokeKind, TextEvent, TextKind, Timing, Tool,
    Transcript, TranscriptKind, VideoStream, Word, fsio,
};

const PHRASES: [&str; 8] = [
    "make this hole two millimetres bigger",
    "move that face up until it meets the rib",
    "add a fillet of three millimetres along this edge",
    "mirror the bracket about the middle plane",
    "remove these four holes and close the gap",
    "cut a slot here for an M6 screw",
    "turn the lever by forty five degrees",
    "make the wall thicker and keep the outside",
];

/// A usual screen; the video shows it at two thirds of its size.
const SCREEN: (u32, u32) = (1920, 1080);

/// Video pixels of screen pixels.
fn scaled(v: f64) -> f64 {
    v * f64::from(SIZE.1) / f64::from(SCREEN.1)
}

pub(crate) fn request_id(i: u64) -> Result<RequestId> {
    Ok(RequestId::new(format!("R{:05}", i + 1))?)
}

/// The screen of every session.
pub(crate) fn screen() -> Screen {
    Screen {
        map: ScreenMap::fixed(Rect { x: 0, y: 0, width: SCREEN.0, height: SCREEN.1 }, SIZE.0, SIZE.1),
        monitors: Vec::new(),
        source: "monitor".into(),
        title: None,
        backend: "generated".into(),
    }
}

pub(crate) fn clock(n: u64) -> Clock {
    Clock {
        name: "CLOCK_MONOTONIC".into(),
        started_utc: started(n),
        origin_ns: Some(1_000_000_000_000),
        alignment: Alignment::Measured,
        discontinuities: Vec::new(),
    }
}

/// `n` pointer events spread over the session: moves, now and then a click.
pub(crate) fn pointer(chance: &mut Chance, n: u64, duration_ns: i64) -> Vec<InputEvent> {
    let (mut x, mut y) = (960.0_f64, 540.0_f64);
    (0..n)
        .map(|i| {
            let t = (i128::from(duration_ns) * i128::from(i) / i128::from(n.max(1))) as i64;
            let kind = match i % 40 {
                20 => InputKind::Press,
                21 => InputKind::Release,
                _ => InputKind::Move,
            };
            if kind == InputKind::Move {
                x = (x + chance.unit() * 16.0 - 8.0).clamp(0.0, f64::from(SCREEN.0 - 1)).round();
                y = (y + chance.unit() * 16.0 - 8.0).clamp(0.0, f64::from(SCREEN.1 - 1)).round();
            }
            let button = (kind != InputKind::Move).then(|| "left".to_owned());
            InputEvent { x: Some(x), y: Some(y), vx: Some(scaled(x)), vy: Some(scaled(y)), button, ..InputEvent::new(t, kind) }
        })
        .collect()
}

pub(crate) fn face(chance: &mut Chance) -> Entity {
    Entity {
        kind: "face".into(),
        id: format!("Face{}", chance.below(6) + 1),
        path: Some("Body/Pad".into()),
        document: Some("Block".into()),
    }
}

fn strokes(n: u64, duration_ns: i64) -> Vec<StrokeEvent> {
    (0..n)
        .map(|i| {
            // Strokes of ten events; the last one may be shorter.
            let kind = match (i % 10, i + 1 == n) {
                (0, _) => StrokeKind::Begin,
                (9, _) | (_, true) => StrokeKind::End,
                _ => StrokeKind::Point,
            };
            let begin = kind == StrokeKind::Begin;
            let at = 100.0 + (i % 500) as f64;
            StrokeEvent {
                t_ns: (i128::from(duration_ns) * i128::from(i) / i128::from(n.max(1))) as i64,
                kind,
                stroke: (i / 10 + 1) as u32,
                x: Some(at),
                y: Some(at / 2.0),
                vx: Some(scaled(at)),
                vy: Some(scaled(at / 2.0)),
                tool: begin.then(|| "pen".into()),
                colour: begin.then(|| "#ff3030".into()),
                width: begin.then_some(4.0),
                reason: None,
            }
        })
        .collect()
}

/// Typed part by part.
fn typing(parts: &[String], duration_ns: i64) -> Vec<TextEvent> {
    let n = parts.len() as i64;
    let mut pos = 0;
    let event = |(i, part): (usize, &String)| {
        let e = TextEvent { t_ns: duration_ns * i as i64 / n.max(1), kind: TextKind::Insert, pos, text: Some(part.clone()), len: None };
        pos += part.chars().count() as u64;
        e
    };
    parts.iter().enumerate().map(event).collect()
}

/// Makes request `i` with `events` events; how many there are.
pub(crate) fn make(s: &Stock<'_>, i: u64, events: u64) -> Result<u64> {
    let id = request_id(i)?;
    let (modality, difficulty) = cell(i);
    let mut chance = Chance::new(i);
    let dir = s.corpus.request_dir(&id);
    make_dir(dir.path())?;
    let recording = &s.recordings[(i as usize / 5) % s.recordings.len()];
    let duration_ns = i64::from(recording.seconds) * NS_PER_S;
    let most = ((duration_ns / WORD_STEP_NS) - 2).max(1) as u64;
    let text: Vec<&str> = (0..2 + chance.below(5)).flat_map(|_| chance.pick(&PHRASES).split(' ')).take(most as usize).collect();

    let mut streams = Streams { video: Some(video(&dir, recording)?), ..Streams::default() };
    let mut left = events;
    let mut take = |n: u64| {
        let n = n.min(left);
        left -= n;
        n
    };
    if modality == Modality::Text {
        let text = text.join(" ");
        // Letter by letter; with few events to spend, word by word.
        let letters: Vec<String> = text.chars().map(String::from).collect();
        let words: Vec<String> = text.split_inclusive(' ').map(str::to_owned).collect();
        if let Some(parts) = [letters, words].into_iter().find(|p| p.len() as u64 <= events) {
            take(parts.len() as u64);
            streams.text = stream(&dir, &dir.text_events(), &typing(&parts, duration_ns))?;
        }
        write(&dir.text(), text.as_bytes())?;
    } else {
        let audio = dir.audio();
        std::fs::copy(&recording.audio, &audio).map_err(io(&audio, "could not write"))?;
        let samples = u64::from(recording.seconds) * u64::from(RATE);
        streams.audio = Some(AudioStream {
            file: dir.file_ref(&audio)?,
            codec: "flac".into(),
            channels: 1,
            clock: AudioClock::nominal(RATE, samples, 0),
            device: Some("generated".into()),
            peak: Some(0.18),
        });
    }
    if matches!(modality, Modality::DrawTemp | Modality::DrawStatic) {
        // A stroke of one event could not end.
        let n = take(events / 5).max(2);
        streams.strokes = stream(&dir, &dir.strokes(), &strokes(n - u64::from(n % 10 == 1), duration_ns))?;
        left += u64::from(n % 10 == 1);
    }
    let picked = left / 20;
    left -= picked;
    let selection = |n: u64| {
        let entity = face(&mut chance);
        SelectionEvent {
            t_ns: duration_ns * n as i64 / picked.max(1) as i64,
            kind: SelectionKind::Added,
            entity: Some(entity.clone()),
            point: Some([chance.unit() * 10.0, chance.unit() * 20.0, 5.0]),
            viewport: None,
            set: vec![entity],
            seq: n + 1,
            error_ns: 150_000,
        }
    };
    streams.selections = stream(&dir, &dir.selections(), &(0..picked).map(selection).collect::<Vec<_>>())?;
    streams.input = stream(&dir, &dir.input(), &pointer(&mut chance, left, duration_ns))?;
    if i.is_multiple_of(10) {
        let mark = MarkEvent { t_ns: duration_ns / 2, kind: MarkKind::Mark, until_ns: None, stream: None, note: None, area: None };
        streams.marks = stream(&dir, &dir.marks(), &[mark])?;
    }
    let count = [&streams.text, &streams.strokes, &streams.selections, &streams.input].into_iter().flatten().map(|s| s.count).sum();

    if let Some(a) = &streams.audio {
        let sha = a.file.sha256.clone();
        transcripts(&dir, &id, i, &text, &sha, &mut chance)?;
    }
    let manifest = RequestManifest {
        format_version: FORMAT_VERSION,
        id,
        participant: person(i)?,
        model: Some(model_id(i)?),
        modality,
        difficulty,
        status: Status::Complete,
        rejection: None,
        session: Session { clock: clock(i * 4), duration_ns, screen: Some(screen()), streams },
        note: None,
        imported_from: None,
        tool: Tool::redline(),
    };
    fsio::write_json(&dir.request_json(), &manifest)?;
    Ok(count)
}

fn video(dir: &SessionDir, r: &Recording) -> Result<VideoStream> {
    let path = dir.video();
    std::fs::copy(&r.video, &path).map_err(io(&path, "could not write"))?;
    Ok(VideoStream {
        file: dir.file_ref(&path)?,
        codec: "h264".into(),
        width: SIZE.0,
        height: SIZE.1,
        grid: FrameGrid { first_t_ns: 0, fps_num: FPS, fps_den: 1 },
        frames: u64::from(r.seconds * FPS),
        repeated_slots: 0,
        paused_slots: 0,
        dropped_frames: 0,
        capture_error_ns: Some((4_000_000, 16_000_000)),
        has_audio: false,
    })
}

/// The automatic transcript hears every tenth word wrong in a third of the requests; the oracle is right.
fn transcripts(dir: &SessionDir, id: &RequestId, i: u64, text: &[&str], audio_sha256: &str, chance: &mut Chance) -> Result<()> {
    let wrong = i % 3 == 1;
    let heard: Vec<String> =
        text.iter().enumerate().map(|(k, w)| if wrong && k % 10 == 5 { format!("{w}x") } else { (*w).to_owned() }).collect();
    let errors = text.iter().zip(&heard).filter(|(a, b)| *a != b).count() as u64;
    let said: Vec<String> = text.iter().map(|w| (*w).to_owned()).collect();
    let mut rounds = Vec::new();
    for (kind, words) in [(TranscriptKind::Automatic, &heard), (TranscriptKind::Oracle, &said)] {
        let word = |(k, w): (usize, &String)| Word {
            text: w.clone(),
            start_ns: k as i64 * WORD_STEP_NS,
            end_ns: k as i64 * WORD_STEP_NS + WORD_NS,
            score: Some((0.7 + chance.unit() * 0.3) as f32),
            timing: Timing::Aligned,
        };
        let words: Vec<Word> = words.iter().enumerate().map(word).collect();
        let segment = |w: &[Word]| {
            Some(Segment {
                start_ns: w.first()?.start_ns,
                end_ns: w.last()?.end_ns,
                text: w.iter().map(|w| w.text.as_str()).collect::<Vec<_>>().join(" "),
                words: w.to_vec(),
                no_speech_prob: None,
                avg_logprob: None,
            })
        };
        let correction = Correction {
            revision: RevisionId::new(format!("V{:05}", i + 1))?,
            rounds: 1 + u32::from(wrong),
            corrected_by: person(i)?,
            accepted_by: person(i + 1)?,
            accepted_utc: started(i * 4 + 2),
            changed: errors > 0,
            char_edit_distance: errors,
            word_edit_distance: errors,
            automatic_chars: heard.join(" ").chars().count() as u64,
        };
        let transcript = Transcript {
            format_version: FORMAT_VERSION,
            request: id.clone(),
            kind,
            language: Some("en".into()),
            segments: words.chunks(9).filter_map(segment).collect(),
            model: Some(SpeechModel { name: "none".into(), sha256: "0".repeat(64), engine: "generated".into() }),
            aligner: None,
            parameters: serde_json::Value::Null,
            guards: Vec::new(),
            correction: (kind == TranscriptKind::Oracle).then_some(correction),
            audio_sha256: Some(audio_sha256.to_owned()),
            created_utc: started(i * 4 + 1),
            tool: Tool::redline(),
        };
        fsio::write_json(&dir.transcript_path(kind), &transcript)?;
        // What was heard wrong was handed in as it was at first, and came back.
        let accepted = kind == TranscriptKind::Oracle;
        if accepted || wrong {
            rounds.push(round(id, i, rounds.last(), &transcript, accepted.then_some(errors))?);
        }
    }
    let history = RevisionHistory { format_version: FORMAT_VERSION, request: id.clone(), revisions: rounds, tool: Tool::redline() };
    Ok(fsio::write_json(&dir.revisions_path(), &history)?)
}

/// A text that was handed in; accepted when `edits` says how far it is from the automatic one.
fn round(id: &RequestId, i: u64, before: Option<&ReviewedRevision>, t: &Transcript, edits: Option<u64>) -> Result<ReviewedRevision> {
    let number = before.map_or(1, |b| b.revision.number + 1);
    let name = if edits.is_some() { format!("V{:05}", i + 1) } else { format!("V{:05}-first", i + 1) };
    let revision = RevisionId::new(name)?;
    let distance = edits.unwrap_or(0);
    Ok(ReviewedRevision {
        changed: distance > 0,
        char_edit_distance: distance,
        word_edit_distance: distance,
        decision: Some(ReviewDecision {
            revision: revision.clone(),
            reviewer: person(i + 1)?,
            created_utc: started(i * 4 + 2),
            accepted: edits.is_some(),
            comment: edits.is_none().then(|| "Listen to it again.".into()),
        }),
        revision: Revision {
            id: revision,
            request: id.clone(),
            number,
            base: before.map(|b| b.revision.id.clone()),
            author: person(i)?,
            created_utc: started(i * 4 + 1),
            text: t.text(),
            words: t.words().cloned().collect(),
        },
    })
}
