//! Is the right target found for each spoken word? Speech with known word times is played into a recording
//! while the pointer rests on target k as word k is spoken; the text is aligned, and for each word it is
//! looked up which target the pointer was on.
//!
//! `cargo bench --bench pointing -- FOLDER [FILES]`, with a folder made by `scripts/make_alignment_references.py`.

#![allow(clippy::unwrap_used)]

#[path = "../tests/recording/mod.rs"]
mod recording;

use recording::*;
use redline_schemas::{Corpus, InputEvent, TranscriptKind, Word, jsonl};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

const WIDTH: u32 = 1280;
const HEIGHT: u32 = 720;
/// Silence before the speech, so that playing has begun before the first word, seconds.
const LEAD_S: f64 = 1.0;
/// The share of words that is wanted.
const WANTED: f64 = 0.95;

/// Targets on a grid, 100 pixels apart; neighbours in time are never neighbours in place.
fn target(k: usize) -> (i16, i16) {
    let i = k * 7 % 60;
    (100 + (i % 10) as i16 * 110, 80 + (i / 10) as i16 * 100)
}

fn nearest(x: f64, y: f64) -> (i16, i16) {
    let far = |t: &(i16, i16)| (f64::from(t.0) - x).powi(2) + (f64::from(t.1) - y).powi(2);
    (0..60).map(target).min_by(|a, b| far(a).total_cmp(&far(b))).unwrap()
}

fn read_words(tsv: &Path) -> Vec<(f64, f64, String)> {
    let text = std::fs::read_to_string(tsv).unwrap();
    text.lines()
        .map(|l| {
            let f: Vec<&str> = l.split('\t').collect();
            (f[0].parse().unwrap(), f[1].parse().unwrap(), f[2].to_owned())
        })
        .collect()
}

/// A file's samples (16 kHz) with silence around, as a 48 kHz WAV.
fn with_lead(wav: &Path, to: &Path) {
    let bytes = std::fs::read(wav).unwrap();
    let mut w = redline_media::WavWriter::create(to, 48_000).unwrap();
    let silence = vec![0_i16; (LEAD_S * 48_000.0) as usize];
    w.write(&silence).unwrap();
    let speech: Vec<i16> = bytes[44..].chunks_exact(2).map(|b| i16::from_le_bytes([b[0], b[1]])).collect();
    let up: Vec<i16> = (0..speech.len() * 3)
        .map(|i| {
            let (k, f) = (i / 3, (i % 3) as i32);
            let (a, b) = (i32::from(speech[k]), i32::from(*speech.get(k + 1).unwrap_or(&0)));
            (a + (b - a) * f / 3) as i16
        })
        .collect();
    w.write(&up).unwrap();
    w.write(&silence).unwrap();
    w.finish().unwrap();
}

/// Plays a file while a recorder runs, and moves the pointer at times of the file; the request's id, and
/// when playing was asked for, in session time.
fn record(desk: &redline_desk::VirtualDesktop, root: &Path, hand: &Hand, wav: &Path, moves: &[(f64, (i16, i16))]) -> (String, i64) {
    let rec = Recorder::start(desk, root, &[]);
    std::thread::sleep(Duration::from_millis(700));
    let asked = now_ns();
    let mut player = desk.command("paplay").arg(wav).spawn().unwrap();
    for (at, (x, y)) in moves {
        let wait = asked + (at * 1e9) as i64 - now_ns();
        std::thread::sleep(Duration::from_nanos(wait.max(0) as u64));
        hand.move_to(*x, *y);
    }
    assert!(player.wait().unwrap().success());
    std::thread::sleep(Duration::from_millis(300));
    let id = rec.id.clone();
    let (_, code) = rec.stop();
    assert_eq!(code, Some(0));
    let origin = manifest(root, &id).session.clock.origin_ns.unwrap();
    (id, asked - origin)
}

/// Seconds from asking for a tone to its place in the recording.
fn latency(desk: &redline_desk::VirtualDesktop, root: &Path, hand: &Hand, dir: &Path) -> f64 {
    let tone = dir.join("tone.wav");
    let mut w = redline_media::WavWriter::create(&tone, 48_000).unwrap();
    w.write(&vec![0_i16; 48_000]).unwrap();
    w.write(&(0..24_000).map(|i| ((f64::from(i) * 0.13).sin() * 16_000.0) as i16).collect::<Vec<_>>()).unwrap();
    w.finish().unwrap();
    let (id, asked) = record(desk, root, hand, &tone, &[]);
    let m = manifest(root, &id);
    let audio = m.session.streams.audio.unwrap();
    let heard = samples(&Corpus::open(root).unwrap().request_dir(&m.id).path().join(&audio.file.path));
    let onset = heard.iter().position(|s| s.abs() > 0.05).unwrap();
    // `samples` decodes at 48 kHz, whatever the microphone's rate was.
    let native = onset as f64 * f64::from(audio.clock.sample_rate) / 48_000.0;
    (audio.clock.t_ns_of_sample(native).unwrap() - asked) as f64 / 1e9 - 1.0
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with("--")).collect();
    let Some(folder) = args.first() else {
        eprintln!("nothing to measure: name a folder made by scripts/make_alignment_references.py");
        return ExitCode::SUCCESS;
    };
    let most: usize = args.get(1).map_or(12, |n| n.parse().unwrap());
    let mut wavs: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).filter(|p| p.extension().is_some_and(|x| x == "wav")).collect();
    wavs.sort();
    let step = (wavs.len() / most).max(1);
    let dir = tempfile::tempdir().unwrap();
    let desk = desk(WIDTH, HEIGHT, true);
    let root = corpus(&desk, dir.path());
    let hand = Hand::new(&desk);
    let delay = latency(&desk, &root, &hand, dir.path());
    println!("sound is recorded {:.0} ms after playing was asked for", delay * 1e3);

    let (mut words, mut middle, mut whole, mut beginning) = (0, 0, 0, 0);
    for (n, wav) in wavs.iter().step_by(step).take(most).enumerate() {
        let truth = read_words(&wav.with_extension("tsv"));
        let played = dir.path().join(format!("played-{n}.wav"));
        with_lead(wav, &played);
        let moves: Vec<(f64, (i16, i16))> = truth
            .iter()
            .enumerate()
            .filter(|(_, (start, ..))| start.is_finite())
            .map(|(k, (start, ..))| (LEAD_S + delay + start, target(k)))
            .collect();
        let (id, _) = record(&desk, &root, &hand, &played, &moves);
        let text = dir.path().join("text.txt");
        std::fs::write(&text, truth.iter().map(|w| w.2.as_str()).collect::<Vec<_>>().join(" ")).unwrap();
        let mut c = redline(&desk);
        c.args(["align", &id, "--text"]).arg(&text).arg("--corpus").arg(&root);
        run(c);
        let session = Corpus::open(&root).unwrap().request_dir(&id.parse().unwrap());
        let transcript = session.transcript(TranscriptKind::Automatic).unwrap().unwrap();
        let found: Vec<&Word> = transcript.words().collect();
        let events = jsonl::read_all::<InputEvent>(&session.input()).unwrap().0;
        let places: Vec<(i64, (i16, i16))> = events.iter().filter_map(|e| Some((e.t_ns, nearest(e.x?, e.y?)))).collect();
        let on = |t: i64| places.iter().take_while(|(at, _)| *at <= t).last().map(|p| p.1);
        for (k, w) in found.iter().enumerate() {
            // Where a synthesizer says two words as one, the pointer had no time of its own for the second.
            if !truth[k].0.is_finite() || !truth[k].1.is_finite() {
                continue;
            }
            words += 1;
            middle += usize::from(on((w.start_ns + w.end_ns) / 2) == Some(target(k)));
            beginning += usize::from(on(w.start_ns) == Some(target(k)));
            // The target that the pointer rested on for most of the word.
            let share = |t: (i16, i16)| (0..20).filter(|i| on(w.start_ns + (w.end_ns - w.start_ns) * i / 20) == Some(t)).count();
            let best = (0..truth.len()).map(target).max_by_key(|t| share(*t));
            whole += usize::from(best == Some(target(k)) && share(target(k)) > 0);
        }
    }
    let percent = |n: usize| 100.0 * n as f64 / words.max(1) as f64;
    println!("{words} words, the pointer moving as each begins; the right target is found");
    println!("  in the middle of the word: {:.1} %", percent(middle));
    println!("  as the one it was on for most of the word: {:.1} %", percent(whole));
    println!("  at the word's first instant: {:.1} %", percent(beginning));
    if percent(middle) < WANTED * 100.0 { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
