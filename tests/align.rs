//! `redline align`: a given text with a request's audio.

#![allow(clippy::unwrap_used, clippy::expect_used)]
#![cfg(feature = "transcribe")]

use redline_schemas::time::AudioClock;
use redline_schemas::*;
use std::path::Path;
use std::process::{Command, Output};

const S: i64 = 1_000_000_000;
/// Session time at which the audio begins.
const LATE: i64 = 3 * S;

fn redline(corpus: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_redline")).args(args).env("REDLINE_CORPUS", corpus).output().unwrap()
}

/// A corpus with one request in which espeak-ng says `text`; its audio's length, nanoseconds.
fn corpus_that_says(root: &Path, text: &str) -> (Corpus, RequestId, i64) {
    corpus_in("en-us", root, text)
}

/// The same in a voice of espeak-ng.
fn corpus_in(voice: &str, root: &Path, text: &str) -> (Corpus, RequestId, i64) {
    let out = Command::new(env!("CARGO_BIN_EXE_redline")).args(["init".as_ref(), root.as_os_str()]).output().unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let corpus = Corpus::open(root).unwrap();
    let id = RequestId::new("R1").unwrap();
    let dir = corpus.request_dir(&id);
    std::fs::create_dir_all(dir.path()).unwrap();
    let path = dir.path().join("audio.wav");
    let said = Command::new("espeak-ng").args(["-v", voice, "-s", "150", "-w"]).arg(&path).arg(text).status().unwrap();
    assert!(said.success());
    let samples = (std::fs::metadata(&path).unwrap().len() - 44) / 2;
    let audio = AudioStream {
        file: dir.file_ref(&path).unwrap(),
        codec: "pcm_s16le".into(),
        channels: 1,
        clock: AudioClock::nominal(22_050, samples, LATE),
        device: None,
        peak: None,
    };
    let clock = Clock {
        name: "file".into(),
        started_utc: chrono::Utc::now(),
        origin_ns: None,
        alignment: Alignment::Container,
        discontinuities: vec![],
    };
    let manifest = RequestManifest {
        format_version: FORMAT_VERSION,
        id: id.clone(),
        participant: ParticipantId::new("P01").unwrap(),
        model: None,
        modality: Modality::Interactive,
        difficulty: Difficulty::Easy,
        status: Status::Complete,
        rejection: None,
        session: Session { clock, duration_ns: 60 * S, screen: None, streams: Streams { audio: Some(audio), ..Default::default() } },
        note: None,
        imported_from: None,
        tool: Tool::redline(),
    };
    fsio::write_json(&dir.request_json(), &manifest).unwrap();
    (corpus, id, samples as i64 * S / 22_050)
}

#[test]
fn a_given_text_is_aligned_in_session_time_and_not_done_twice() {
    let tmp = tempfile::tempdir().unwrap();
    let root = tmp.path().join("corpus");
    let (corpus, id, length) = corpus_that_says(&root, "Add a fillet of two point five millimeters. Then mirror the bracket.");
    let text = tmp.path().join("text.txt");
    std::fs::write(&text, "Add a fillet of 2.5 mm.\nThen mirror the bracket.\n").unwrap();
    let out = redline(&root, &["--json", "align", "R1", "--text", text.to_str().unwrap()]);
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let line: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
    assert_eq!((line["state"].as_str(), line["words"].as_u64(), line["interpolated"].as_u64()), (Some("aligned"), Some(10), Some(0)));

    let t = corpus.request_dir(&id).transcript(TranscriptKind::Automatic).unwrap().unwrap();
    assert_eq!(t.text(), "Add a fillet of 2.5 mm.\nThen mirror the bracket.");
    let aligner = t.aligner.clone().unwrap();
    assert_eq!((aligner.name.as_str(), aligner.sha256.unwrap().len()), ("phone-ctc-hmm", 64));
    let words: Vec<&Word> = t.words().collect();
    assert!(words.iter().all(|w| w.timing == Timing::Aligned && LATE <= w.start_ns && w.end_ns <= LATE + length), "{words:?}");
    assert!(words.windows(2).all(|w| w[0].end_ns <= w[1].start_ns));
    // espeak-ng pauses between the sentences; the pause belongs to neither.
    assert!(t.segments[1].start_ns - t.segments[0].end_ns > 100_000_000, "{words:?}");
    let said = words[4].end_ns - words[4].start_ns;
    assert!((500_000_000..1_200_000_000).contains(&said), "“2.5” is said as three words: {said}");

    let again = redline(&root, &["--json", "align"]);
    assert!(String::from_utf8_lossy(&again.stdout).contains("\"done\""), "{}", String::from_utf8_lossy(&again.stdout));
    let forced = redline(&root, &["--json", "align", "--force"]);
    assert!(String::from_utf8_lossy(&forced.stdout).contains("\"aligned\""));
    let after = corpus.request_dir(&id).transcript(TranscriptKind::Automatic).unwrap().unwrap();
    assert_eq!(after.segments, t.segments, "the same text and sound give the same times");
}

#[test]
fn text_that_was_not_said_is_kept_and_reported() {
    let tmp = tempfile::tempdir().unwrap();
    let root = tmp.path().join("corpus");
    let (corpus, id, _) = corpus_that_says(&root, "The quick brown fox jumps over the lazy dog.");
    let text = tmp.path().join("text.txt");
    std::fs::write(&text, "Please chamfer every vertical corner seven millimeters wide.").unwrap();
    let out = redline(&root, &["align", "R1", "--text", text.to_str().unwrap()]);
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    assert!(String::from_utf8_lossy(&out.stderr).contains("does not seem to belong to the audio"));
    let t = corpus.request_dir(&id).transcript(TranscriptKind::Automatic).unwrap().unwrap();
    assert_eq!((t.words().count(), t.guards.len(), t.guards[0].guard.as_str()), (8, 1, "alignment"));
}

#[test]
fn a_missing_model_request_or_text_has_its_exit_code() {
    let tmp = tempfile::tempdir().unwrap();
    let root = tmp.path().join("corpus");
    corpus_that_says(&root, "Hello.");
    assert_eq!(redline(&root, &["align", "R9"]).status.code(), Some(5));
    assert_eq!(redline(&root, &["align", "R1"]).status.code(), Some(5), "no transcript and no text");
    let mut c = Command::new(env!("CARGO_BIN_EXE_redline"));
    let text = tmp.path().join("said.txt");
    std::fs::write(&text, "Hello.").unwrap();
    let out = c.args(["align", "R1", "--text"]).arg(&text).env("REDLINE_CORPUS", &root).env("REDLINE_CACHE", tmp.path()).output().unwrap();
    assert_eq!(out.status.code(), Some(6), "{}", String::from_utf8_lossy(&out.stderr));
}

#[test]
fn another_language_is_aligned_by_forced_decoding() {
    let tmp = tempfile::tempdir().unwrap();
    let root = tmp.path().join("corpus");
    let said = "Bitte bohren Sie ein Loch in die Mitte der Platte. Danach runden wir alle Kanten ab.";
    let (corpus, id, length) = corpus_in("de", &root, said);
    let text = tmp.path().join("text.txt");
    std::fs::write(&text, said.replace(". ", ".\n")).unwrap();
    let out = redline(&root, &["--json", "align", "R1", "--language", "de", "--text", text.to_str().unwrap()]);
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let t = corpus.request_dir(&id).transcript(TranscriptKind::Automatic).unwrap().unwrap();
    let aligner = t.aligner.clone().unwrap();
    assert_eq!((aligner.name.as_str(), t.language.as_deref(), t.words().count()), ("forced-decoding", Some("de"), 16));
    let words: Vec<&Word> = t.words().collect();
    assert!(words.iter().all(|w| w.timing == Timing::Inferred && LATE <= w.start_ns && w.end_ns <= LATE + length), "{words:?}");
    assert!(words.windows(2).all(|w| w[0].end_ns <= w[1].start_ns), "in order: {words:?}");
    assert!(t.guards.is_empty(), "the text belongs to the audio: {:?}", t.guards);
    // The words fill the speech: the last ends near its end, and the two sentences keep their share.
    assert!(LATE + length - words[15].end_ns < 600_000_000, "{words:?}");
    let share = (t.segments[1].start_ns - LATE) as f64 / length as f64;
    assert!((0.45..0.75).contains(&share), "the second sentence begins at {share:.2} of the audio: {words:?}");

    // Text of another recording is said to be that.
    std::fs::write(&text, "Der schnelle braune Fuchs springt über den faulen Hund und niemand sieht ihn dabei.").unwrap();
    let out = redline(&root, &["align", "R1", "--language", "de", "--text", text.to_str().unwrap()]);
    assert!(String::from_utf8_lossy(&out.stderr).contains("does not seem to belong"), "{}", String::from_utf8_lossy(&out.stderr));
    let out = redline(&root, &["align", "R1", "--language", "klingon", "--text", text.to_str().unwrap()]);
    assert_eq!(out.status.code(), Some(5), "{}", String::from_utf8_lossy(&out.stderr));
}
