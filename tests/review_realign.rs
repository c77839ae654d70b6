//! After acceptance the text is aligned with real (synthetic) speech, in the background.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod review_support;

use redline_schemas::time::AudioClock;
use redline_schemas::{AudioStream, Difficulty, Modality, Timing, TranscriptKind, fsio};
use review_support::{Server, corpus, request};
use serde_json::json;
use std::process::Command;
use std::time::{Duration, Instant};

#[test]
fn an_accepted_text_is_aligned_in_the_background_and_again_on_request() {
    let dir = tempfile::tempdir().unwrap();
    let c = corpus(dir.path());
    let id = request(&c, "P01", Modality::Interactive, Difficulty::Easy, &["make the fill it two millimeters bigger"], false);
    let session = c.request_dir(&id);
    let wav = dir.path().join("said.wav");
    let said = ["-v", "en-us", "-s", "140", "-w", wav.to_str().unwrap(), "Make the fillet two millimeters bigger."];
    assert!(Command::new("espeak-ng").args(said).status().unwrap().success());
    let audio = session.audio();
    let convert = ["-v", "error", "-i", wav.to_str().unwrap(), "-ar", "16000", "-sample_fmt", "s16", audio.to_str().unwrap()];
    assert!(Command::new("ffmpeg").args(convert).status().unwrap().success());
    let probe = ["-v", "error", "-show_entries", "stream=duration_ts", "-of", "csv=p=0", audio.to_str().unwrap()];
    let samples = String::from_utf8(Command::new("ffprobe").args(probe).output().unwrap().stdout).unwrap();
    let samples: u64 = samples.trim().parse().unwrap();
    // The sound begins 1 s into the session.
    let clock = AudioClock::nominal(16_000, samples, 1_000_000_000);
    let mut m = c.request(&id).unwrap();
    let file = session.file_ref(&audio).unwrap();
    m.session.streams.audio = Some(AudioStream { file, codec: "flac".into(), channels: 1, clock, device: None, peak: None });
    fsio::write_json(&session.request_json(), &m).unwrap();

    let server = Server::start(dir.path(), &[]);
    let (asks, reviews) = (server.join("P01"), server.join("P02"));
    let at = |step: &str| format!("/api/requests/{id}{step}");
    let handed = asks.post(&at("/submit"), json!({ "seq": 0, "text": "make the fillet two millimeters bigger" })).1;
    assert_eq!(reviews.post(&at("/decide"), json!({ "revision": handed["revision"], "accept": true })).0, 200);
    let wait = || {
        let begun = Instant::now();
        loop {
            let r = asks.get(&at("/state"))["realignment"].clone();
            if r["state"] == "done" {
                return;
            }
            assert!(r["error"].is_null() && begun.elapsed() < Duration::from_secs(120), "{r}");
            std::thread::sleep(Duration::from_millis(100));
        }
    };
    wait();
    let oracle = session.transcript(TranscriptKind::Oracle).unwrap().unwrap();
    assert!(oracle.aligner.is_some());
    assert_eq!((oracle.kind, oracle.correction.as_ref().unwrap().char_edit_distance), (TranscriptKind::Oracle, 2));
    let words: Vec<_> = oracle.words().collect();
    let texts: Vec<_> = words.iter().map(|w| w.text.as_str()).collect();
    assert_eq!(texts, ["make", "the", "fillet", "two", "millimeters", "bigger"]);
    assert!(words.iter().all(|w| w.timing != Timing::Interpolated), "{words:?}");
    let end = 1_000_000_000 + samples as i64 * 62_500;
    assert!(words.iter().all(|w| w.start_ns >= 1_000_000_000 && w.end_ns <= end && w.start_ns < w.end_ns), "{words:?}");
    // The voice says six words in about two seconds; each begins where the one before has ended, or a little before.
    assert!(words.windows(2).all(|p| p[0].start_ns < p[1].start_ns && p[1].start_ns >= p[0].end_ns - 50_000_000), "{words:?}");

    assert_eq!(reviews.post(&at("/realign"), json!({})).0, 200, "on request");
    assert_ne!(reviews.get(&at("/state"))["realignment"]["attempts"], json!(2));
    wait();
    let log = server.join("C01").get("/api/audit");
    assert!(log.as_array().unwrap().iter().any(|e| e["action"] == "realign" && e["participant"] == "P02"));
}
