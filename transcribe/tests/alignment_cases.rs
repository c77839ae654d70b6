//! The cases that alignment must hold, on speech from espeak-ng, with the real models of the cache
//! (`redline model-fetch`, which `scripts/setup.sh` runs). Times come from where the pieces of
//! each recording were put together, so they are exact.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use redline_schemas::Timing;
use redline_transcribe::align::{AlignedWord, AlignerFiles, ForcedAligner, PhoneAligner, ProblemKind, TextSegment, align_text};
use std::process::Command;
use std::sync::LazyLock;

const RATE: usize = 16_000;

static ALIGNER: LazyLock<PhoneAligner> =
    LazyLock::new(|| PhoneAligner::load(&AlignerFiles::cached().expect("run redline model-fetch")).expect("usable models"));

/// Speech at 16 kHz, without the silence at its ends, from sample to sample.
fn say(text: &str) -> Vec<f32> {
    let out = Command::new("espeak-ng").args(["-v", "en-us", "-s", "150", "--stdout", text]).output().expect("espeak-ng");
    assert!(out.status.success(), "espeak-ng: {}", String::from_utf8_lossy(&out.stderr));
    let native: Vec<f32> = out.stdout[44..].chunks_exact(2).map(|b| f32::from(i16::from_le_bytes([b[0], b[1]])) / 32_768.0).collect();
    // espeak-ng speaks at 22,050 Hz; straight lines between samples are good enough for speech.
    let ratio = 22_050.0 / RATE as f64;
    let n = (native.len() as f64 / ratio) as usize;
    let sound: Vec<f32> = (0..n)
        .map(|i| {
            let at = i as f64 * ratio;
            let (k, f) = (at as usize, at.fract() as f32);
            native[k] * (1.0 - f) + native.get(k + 1).copied().unwrap_or(0.0) * f
        })
        .collect();
    let loud = |s: &f32| s.abs() > 0.01;
    let (first, last) = (sound.iter().position(loud).unwrap(), sound.iter().rposition(loud).unwrap());
    sound[first..=last].to_vec()
}

/// Pieces of speech with silence (a faint hiss) before each, seconds; where each piece lies.
fn recording(pieces: &[(f64, &str)]) -> (Vec<f32>, Vec<(usize, usize)>) {
    let mut seed = 1_u32;
    let mut audio = Vec::new();
    let mut places = Vec::new();
    let mut silence = |audio: &mut Vec<f32>, s: f64| {
        for _ in 0..(s * RATE as f64) as usize {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            audio.push((seed >> 8) as f32 / 16_777_216.0 * 2e-4 - 1e-4);
        }
    };
    for (pause, text) in pieces {
        silence(&mut audio, *pause);
        let speech = say(text);
        places.push((audio.len(), audio.len() + speech.len()));
        audio.extend(speech);
    }
    silence(&mut audio, 0.5);
    (audio, places)
}

fn align(audio: &[f32], text: &str) -> Vec<AlignedWord> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let out = ALIGNER.align(audio, &words).unwrap();
    assert_eq!(out.len(), words.len(), "every word has a time");
    assert!(out.windows(2).all(|w| w[0].end <= w[1].start), "in order: {out:?}");
    assert!(out.iter().all(|w| w.start <= w.end && w.end <= audio.len()), "inside the audio: {out:?}");
    out
}

#[track_caller]
fn near(sample: usize, wanted: usize, ms: f64) {
    let off = (sample as f64 - wanted as f64) / RATE as f64 * 1e3;
    assert!(off.abs() <= ms, "{off:+.0} ms off");
}

#[test]
fn a_word_before_a_pause_ends_before_the_pause() {
    let (audio, p) = recording(&[(0.4, "select the upper face"), (1.5, "and round its edges")]);
    let w = align(&audio, "select the upper face and round its edges");
    near(w[3].end, p[0].1, 60.0);
    near(w[4].start, p[1].0, 60.0);
    near(w[0].start, p[0].0, 60.0);
    near(w[7].end, p[1].1, 60.0);
}

#[test]
fn the_first_word_after_75_seconds_of_silence_starts_there() {
    let (mut audio, p) = recording(&[(75.0, "now drill the hole")]);
    audio.resize(90 * RATE, 0.0);
    let w = align(&audio, "now drill the hole");
    near(w[0].start, p[0].0, 300.0);
    near(w[3].end, p[0].1, 300.0);
}

#[test]
fn written_forms_leave_their_neighbours_unmoved() {
    let mut wrong = Vec::new();
    for (written, spoken) in [
        ("4,9", "four point nine"),
        ("4,9", "four comma nine"),
        ("CBS 11", "C B S eleven"),
        ("£13.60", "thirteen pounds sixty"),
        ("M6", "M six"),
        ("2.5 mm", "two point five millimeters"),
        ("45°", "forty five degrees"),
        ("Ø8", "diameter eight"),
        ("$43,000.", "forty three thousand dollars"),
    ] {
        let (audio, p) = recording(&[(0.3, "the width becomes"), (0.35, spoken), (0.35, "for both plates")]);
        let w = align(&audio, &format!("the width becomes {written} for both plates"));
        let n = written.split_whitespace().count();
        let off = |ours: usize, truth: usize| (ours as f64 - truth as f64) / RATE as f64 * 1e3;
        let offs = [off(w[2].end, p[0].1), off(w[3].start, p[1].0), off(w[2 + n].end, p[1].1), off(w[3 + n].start, p[2].0)];
        if offs.iter().zip([80.0, 100.0, 120.0, 80.0]).any(|(o, most)| o.abs() > most) || w.iter().any(|w| w.timing != Timing::Aligned) {
            wrong.push(format!("{written} as “{spoken}”: {offs:.0?} ms, {w:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn an_unspoken_symbol_gets_a_time_and_moves_nobody() {
    let (audio, p) = recording(&[(0.3, "make it bigger"), (0.4, "and smoother")]);
    let w = align(&audio, "make it bigger 🙂 — and smoother");
    assert!(w[3..5].iter().all(|w| w.timing != Timing::Aligned && w.score == 0.0), "{w:?}");
    near(w[2].end, p[0].1, 60.0);
    near(w[5].start, p[1].0, 60.0);
}

#[test]
fn an_inserted_sentence_is_found_out_and_moves_nobody() {
    let (audio, p) = recording(&[(0.3, "cut the long side"), (0.6, "then mirror the part")]);
    let text = "cut the long side Nobody ever mentioned purple elephants dancing then mirror the part";
    let a = align_text(&*ALIGNER, &audio, &[TextSegment { text: text.into(), span: None }]).unwrap();
    let w = &a.segments[0];
    near(w[3].end, p[0].1, 60.0);
    near(w[10].start, p[1].0, 60.0);
    let missing = w[4..10].iter().filter(|w| w.timing == Timing::Interpolated).count();
    assert!(missing >= 5, "{missing} of 6 words are known to be missing: {w:?}");
    assert!(a.problems.iter().any(|p| p.kind == ProblemKind::WordsMissing && p.text.contains("purple")), "{:?}", a.problems);
}

#[test]
fn a_deleted_sentence_moves_nobody() {
    let (audio, p) = recording(&[(0.3, "cut the long side"), (0.5, "please keep the other hole"), (0.5, "then mirror the part")]);
    let w = align(&audio, "cut the long side then mirror the part");
    near(w[3].end, p[0].1, 80.0);
    near(w[4].start, p[2].0, 80.0);
    near(w[7].end, p[2].1, 80.0);
}

#[test]
fn swapped_words_stay_within_their_pause() {
    let (audio, p) = recording(&[(0.3, "extrude the base"), (0.6, "by ten units"), (0.6, "and save it")]);
    let w = align(&audio, "extrude the base by units ten and save it");
    near(w[2].end, p[0].1, 80.0);
    assert!(w[3].start + 1600 >= p[1].0 && w[5].end <= p[2].0, "{w:?}");
    near(w[6].start, p[2].0, 80.0);
}

#[test]
fn text_of_another_recording_is_found_out() {
    let (audio, _) = recording(&[(0.3, "the quick brown fox jumps over the lazy dog")]);
    let judge = |text: &str| align_text(&*ALIGNER, &audio, &[TextSegment { text: text.into(), span: None }]).unwrap();
    assert_eq!(judge("the quick brown fox jumps over the lazy dog").problems, []);
    let wrong = judge("please chamfer every vertical corner seven millimeters wide");
    assert!(matches!(wrong.problems[0].kind, ProblemKind::NotInSound(_)), "{wrong:?}");
    assert_eq!(wrong.segments[0].len(), 8, "its words are kept");
}

#[test]
fn hardly_any_sound_still_gives_times() {
    for n in [0, 1, 160, 1600] {
        let w = align(&vec![0.0; n], "two words");
        assert!(w.iter().all(|w| w.timing != Timing::Aligned), "{n} samples: {w:?}");
    }
    assert!(align(&[f32::NAN; 5_000], "word")[0].end <= 5_000);
}
