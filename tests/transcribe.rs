//! `redline transcribe` on speech made here, with the small English model.

#![allow(clippy::unwrap_used, clippy::expect_used)]
#![cfg(feature = "transcribe")]

use redline_schemas::time::AudioClock;
use redline_schemas::*;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

const RATE: u32 = 16_000;
const S: i64 = 1_000_000_000;

struct Bench {
    dir: tempfile::TempDir,
}

fn models() -> PathBuf {
    redline_transcribe::cache::models_dir().expect("a cache folder")
}

impl Bench {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let b = Self { dir };
        let out = b.redline(&["init", b.corpus_path().to_str().unwrap(), "--language", "en"]);
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        b
    }

    fn corpus_path(&self) -> PathBuf {
        self.dir.path().join("corpus")
    }

    fn corpus(&self) -> Corpus {
        Corpus::open(self.corpus_path()).unwrap()
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut c = Command::new(env!("CARGO_BIN_EXE_redline"));
        c.args(args).env("REDLINE_CORPUS", self.corpus_path());
        c.env("REDLINE_WHISPER_MODEL", models().join(redline_transcribe::cache::TINY_ENGLISH_WHISPER));
        c
    }

    fn redline(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    fn ok(&self, args: &[&str]) -> String {
        let out = self.redline(args);
        assert!(out.status.success(), "{args:?}: {}", String::from_utf8_lossy(&out.stderr));
        String::from_utf8(out.stdout).unwrap()
    }

    /// Adds a request whose audio begins `late_ns` after the session.
    fn request(&self, id: &str, audio: Option<&[f32]>, late_ns: i64) -> RequestId {
        let id = RequestId::new(id).unwrap();
        let dir = self.corpus().request_dir(&id);
        std::fs::create_dir_all(dir.path()).unwrap();
        let audio = audio.map(|samples| {
            let path = dir.path().join("audio.wav");
            write_wav(&path, samples);
            AudioStream {
                file: dir.file_ref(&path).unwrap(),
                codec: "pcm_s16le".into(),
                channels: 1,
                clock: AudioClock::nominal(RATE, samples.len() as u64, late_ns),
                device: None,
                peak: None,
            }
        });
        let manifest = RequestManifest {
            format_version: FORMAT_VERSION,
            id: id.clone(),
            participant: ParticipantId::new("P01").unwrap(),
            model: None,
            modality: Modality::Interactive,
            difficulty: Difficulty::Easy,
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
                duration_ns: 120 * S,
                screen: None,
                streams: Streams { audio, ..Default::default() },
            },
            note: None,
            imported_from: None,
            tool: Tool::redline(),
        };
        fsio::write_json(&dir.request_json(), &manifest).unwrap();
        id
    }

    fn transcript(&self, id: &RequestId) -> Transcript {
        self.corpus().request_dir(id).transcript(TranscriptKind::Automatic).unwrap().expect("a transcript")
    }
}

fn write_wav(path: &Path, samples: &[f32]) {
    let bytes = samples.len() as u32 * 2;
    let mut w = Vec::new();
    w.extend(b"RIFF");
    w.extend((36 + bytes).to_le_bytes());
    w.extend(b"WAVEfmt ");
    w.extend(16_u32.to_le_bytes());
    w.extend([1_u16, 1].map(u16::to_le_bytes).concat());
    w.extend([RATE, RATE * 2].map(u32::to_le_bytes).concat());
    w.extend([2_u16, 16].map(u16::to_le_bytes).concat());
    w.extend(b"data");
    w.extend(bytes.to_le_bytes());
    w.extend(samples.iter().flat_map(|s| ((s.clamp(-1.0, 1.0) * 32767.0) as i16).to_le_bytes()));
    std::fs::write(path, w).unwrap();
}

/// Speech by espeak-ng, with the silence around it cut off.
fn say(text: &str) -> Vec<f32> {
    let dir = tempfile::tempdir().unwrap();
    let wav = dir.path().join("say.wav");
    let done = Command::new("espeak-ng").args(["-v", "en-us", "-s", "140", "-w"]).arg(&wav).arg(text).status();
    assert!(done.expect("espeak-ng: make setup installs it").success());
    let all = redline_transcribe::audio::AudioReader::open(&wav).unwrap().read_all().unwrap();
    let loud = |s: &f32| s.abs() > 0.01;
    let first = all.iter().position(loud).unwrap();
    let last = all.iter().rposition(loud).unwrap();
    all[first..=last].to_vec()
}

/// Noise of a quiet room, the same each time.
fn room(seconds: f64) -> Vec<f32> {
    let mut x = 1_u32;
    let mut next = || {
        x = x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        ((x >> 8) as f32 / (1 << 24) as f32 - 0.5) * 0.002
    };
    (0..(seconds * f64::from(RATE)) as usize).map(|_| next()).collect()
}

fn sentence() -> &'static [f32] {
    static SAID: OnceLock<Vec<f32>> = OnceLock::new();
    SAID.get_or_init(|| say("Please make the large hole in the middle of the plate a little bit bigger."))
}

fn plain(t: &Transcript) -> String {
    redline_transcribe::guards::plain(&t.text())
}

#[test]
fn a_spoken_sentence_gives_its_words_in_order_on_the_sessions_clock() {
    let b = Bench::new();
    let audio = [room(1.0), sentence().to_vec(), room(1.0)].concat();
    let late = 3 * S;
    let id = b.request("spoken", Some(&audio), late);
    b.ok(&["transcribe"]);
    let t = b.transcript(&id);

    let said = plain(&t);
    let mut rest = said.as_str();
    for word in ["make", "large", "hole", "middle", "plate", "bigger"] {
        let at = rest.find(word).unwrap_or_else(|| panic!("“{word}” is not in order in “{said}”"));
        rest = &rest[at + word.len()..];
    }
    let words: Vec<_> = t.words().collect();
    let (from, to) = (late + S, late + S + sentence().len() as i64 * S / i64::from(RATE));
    assert!((words[0].start_ns - from).abs() < 300_000_000, "{:?}", words[0]);
    assert!((words[words.len() - 1].end_ns - to).abs() < 300_000_000, "{:?} {to}", words[words.len() - 1]);
    assert!(words.windows(2).all(|w| w[0].start_ns <= w[0].end_ns && w[0].end_ns <= w[1].start_ns));
    for s in &t.segments {
        assert_eq!(s.text.split_whitespace().collect::<Vec<_>>(), s.words.iter().map(|w| w.text.as_str()).collect::<Vec<_>>());
    }
    assert_eq!(t.language.as_deref(), Some("en"));
    let model = t.model.clone().unwrap();
    let file = models().join(redline_transcribe::cache::TINY_ENGLISH_WHISPER);
    assert_eq!((model.name.as_str(), model.sha256), ("tiny.en-q8_0", fsio::sha256_file(&file).unwrap()));
    assert_eq!(t.audio_sha256, b.corpus().request(&id).unwrap().session.streams.audio.map(|a| a.file.sha256));

    // What is done is left alone, until it is asked for anew or the word list changes.
    let lines: serde_json::Value = serde_json::from_str(&b.ok(&["transcribe", "--json"])).unwrap();
    assert_eq!((&lines[0]["state"], &lines[0]["request"]), (&"done".into(), &"spoken".into()));
    assert_eq!(b.transcript(&id).created_utc, t.created_utc);
    b.ok(&["transcribe", "--force", "spoken"]);
    let again = b.transcript(&id);
    assert!(again.created_utc > t.created_utc);
    assert_eq!(again.segments, t.segments, "the same audio gives the same words and times");

    // Exports count on the audio's clock where they should.
    let x: serde_json::Value = serde_json::from_str(&b.ok(&["export", "transcript", "--format", "whisperx", "spoken"])).unwrap();
    let start = x["segments"][0]["words"][0]["start"].as_f64().unwrap();
    assert!((start - (words[0].start_ns - late) as f64 / 1e9).abs() < 1e-6, "{start}");
    assert!(b.ok(&["export", "transcript", "--format", "textgrid", "spoken"]).contains("\"bigger.\""));
    let srt = b.ok(&["export", "transcript", "--format", "srt", "spoken"]);
    assert!(srt.starts_with("1\n00:00:0"), "{srt}");
    assert!(b.ok(&["export", "transcript", "--format", "vtt", "spoken"]).starts_with("WEBVTT\n"));
}

#[test]
fn silence_and_scraps_give_empty_transcripts_and_no_error() {
    let b = Bench::new();
    let tone: Vec<f32> = (0..RATE / 10).map(|i| (i as f32 * 0.2).sin() * 0.5).collect();
    let ids = [
        b.request("no-audio", None, 0),
        b.request("no-samples", Some(&[]), 0),
        b.request("ten-ms", Some(&tone[..RATE as usize / 100]), 0),
        b.request("hundred-ms", Some(&tone), 0),
        b.request("zeros", Some(&[0.0; RATE as usize * 3]), 0),
        b.request("room", Some(&room(6.6)), 0),
    ];
    b.ok(&["transcribe"]);
    for id in &ids {
        let t = b.transcript(id);
        assert_eq!((t.segments.len(), &t.language), (0, &None), "{id}: {}", t.text());
    }
}

#[test]
fn a_first_word_after_75_seconds_of_near_silence_starts_there() {
    let b = Bench::new();
    let audio = [room(75.0), say("Rotate the flange by ninety degrees."), room(12.0)].concat();
    let id = b.request("late", Some(&audio), 0);
    b.ok(&["transcribe"]);
    let t = b.transcript(&id);
    let first = t.words().next().expect("words");
    assert!((first.start_ns - 75 * S).abs() < 300_000_000, "{first:?}");
    assert!(plain(&t).contains("rotate the"), "{}", t.text());
}

#[test]
fn a_word_before_a_long_pause_ends_before_the_pause() {
    let b = Bench::new();
    let (one, two) = (say("Make this hole bigger"), say("and remove the other one."));
    let audio = [room(0.5), one.clone(), room(1.5), two, room(0.5)].concat();
    let id = b.request("pause", Some(&audio), 0);
    b.ok(&["transcribe"]);
    let t = b.transcript(&id);
    let pause = S / 2 + one.len() as i64 * S / i64::from(RATE);
    let resumed = pause + 3 * S / 2;
    let before = t.words().filter(|w| w.start_ns < pause).last().expect("words before the pause");
    assert!(before.end_ns < pause + 200_000_000, "{before:?} ends in the pause from {pause}");
    let after = t.words().find(|w| w.start_ns >= pause).expect("words after the pause");
    assert!((after.start_ns - resumed).abs() < 300_000_000, "{after:?} {resumed}");
}

#[test]
fn a_killed_batch_keeps_what_was_finished_and_goes_on() {
    let b = Bench::new();
    let audio = [room(0.5), sentence().to_vec(), room(0.5)].concat();
    let ids: Vec<_> = ["a", "b", "c", "d"].iter().map(|id| b.request(id, Some(&audio), 0)).collect();
    let first = b.corpus().request_dir(&ids[0]).transcript_path(TranscriptKind::Automatic);
    let mut run = b.command(&["transcribe", "--jobs", "1"]).stderr(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
    let began = Instant::now();
    while !first.exists() {
        assert!(began.elapsed() < Duration::from_secs(300) && run.try_wait().unwrap().is_none(), "no first transcript");
        std::thread::sleep(Duration::from_millis(5));
    }
    run.kill().unwrap();
    run.wait().unwrap();
    let finished: Vec<_> =
        ids.iter().filter(|id| b.corpus().request_dir(id).transcript(TranscriptKind::Automatic).unwrap().is_some()).collect();
    assert!((1..4).contains(&finished.len()), "killed in the middle: {finished:?}");
    let before = b.transcript(&ids[0]).created_utc;

    let lines: serde_json::Value = serde_json::from_str(&b.ok(&["transcribe", "--json"])).unwrap();
    let done = lines.as_array().unwrap().iter().filter(|l| l["state"] == "done").count();
    assert_eq!(done, finished.len());
    assert_eq!(b.transcript(&ids[0]).created_utc, before);
    assert!(ids.iter().all(|id| plain(&b.transcript(id)).contains("hole")));
}

#[test]
fn what_is_missing_is_said_once_with_the_remedy() {
    let b = Bench::new();
    let empty = b.dir.path().join("empty-cache");
    let out = b.command(&["transcribe"]).env("REDLINE_CACHE", &empty).env_remove("REDLINE_WHISPER_MODEL").output().unwrap();
    let err = String::from_utf8(out.stderr).unwrap();
    assert_eq!(out.status.code(), Some(6), "{err}");
    assert_eq!((err.lines().count(), err.contains("redline model-fetch")), (1, true), "{err}");

    let out = b.redline(&["transcribe", "--language", "de"]);
    assert_eq!(out.status.code(), Some(5), "the small model knows English only");
    assert_eq!(b.redline(&["transcribe", "no-such-request"]).status.code(), Some(5));

    // A broken file fails alone.
    let bad = b.request("bad", Some(&room(1.0)), 0);
    std::fs::write(b.corpus().request_dir(&bad).path().join("audio.wav"), b"no sound at all").unwrap();
    let good = b.request("good", Some(&room(1.0)), 0);
    let out = b.redline(&["transcribe"]);
    let err = String::from_utf8(out.stderr).unwrap();
    assert_eq!(out.status.code(), Some(5), "{err}");
    assert!(err.contains("audio.wav"), "{err}");
    assert!(b.transcript(&good).segments.is_empty());
}

#[cfg(feature = "dataset")]
#[test]
fn a_whisperx_file_becomes_the_automatic_transcript() {
    let b = Bench::new();
    let id = b.request("x", Some(&room(5.0)), 2 * S);
    let file = b.dir.path().join("x.json");
    let word = r#"{"word":"this","start":1.0,"end":1.5,"score":0.9}"#;
    std::fs::write(
        &file,
        format!(r#"{{"segments":[{{"start":1.0,"end":2.0,"text":" this hole","words":[{word},{{"word":"hole"}}]}}],"language":"en"}}"#),
    )
    .unwrap();
    b.ok(&["import", "transcript", file.to_str().unwrap(), "x"]);
    let spans: Vec<_> = b.transcript(&id).words().map(|w| (w.text.clone(), w.start_ns, w.end_ns, w.timing)).collect();
    assert_eq!(spans, [("this".into(), 3 * S, 7 * S / 2, Timing::Aligned), ("hole".to_owned(), 7 * S / 2, 4 * S, Timing::Interpolated)]);
    assert_eq!(b.redline(&["import", "transcript", file.to_str().unwrap(), "x"]).status.code(), Some(5), "not without --force");
}
