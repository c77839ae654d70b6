//! How far word times lie from reference times: `cargo bench -p redline-transcribe --bench alignment -- FOLDER…`.
//!
//! Each folder holds NAME.wav (16 kHz, mono, 16 bits) and NAME.tsv (start, end, word; seconds; `nan`
//! where the reference does not know), as `scripts/make_alignment_references.py` makes them.
//! A folder may also hold NAME.METHOD.tsv, times by another program: they are scored beside ours.
//! With `--whisper`, the same text forced through Whisper (base): times by its attention (DTW).
//! With `--words`, every word whose start or end is off by more than 40 ms is listed on standard error.
//! A file's first start and last end are left out of the scores only where the reference has none.

use redline_transcribe::Result;
use redline_transcribe::align::{AlignerFiles, ForcedDecoding, PhoneAligner, TextSegment, align_text};
use redline_transcribe::cache;
use redline_transcribe::engine::Engine;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Start and end of a word, seconds.
type Span = (f64, f64);

fn read_words(path: &Path) -> std::io::Result<Vec<(Span, String)>> {
    let text = std::fs::read_to_string(path)?;
    let line = |l: &str| {
        let mut f = l.split('\t');
        Some(((f.next()?.parse().ok()?, f.next()?.parse().ok()?), f.next()?.to_owned()))
    };
    text.lines().map(|l| line(l).ok_or_else(|| std::io::Error::other(format!("{}: bad line: {l}", path.display())))).collect()
}

fn read_wav(path: &Path) -> std::io::Result<Vec<f32>> {
    let bytes = std::fs::read(path)?;
    Ok(bytes.get(44..).unwrap_or_default().chunks_exact(2).map(|b| f32::from(i16::from_le_bytes([b[0], b[1]])) / 32_768.0).collect())
}

/// Errors of one method on one set, milliseconds: ours minus the reference.
#[derive(Default)]
struct Errors {
    starts: Vec<f64>,
    ends: Vec<f64>,
    words: usize,
    missing: usize,
}

impl Errors {
    fn add(&mut self, truth: &[(Span, String)], ours: &[Option<Span>]) {
        for ((t, _), o) in truth.iter().zip(ours) {
            self.words += 1;
            let Some(o) = o else {
                self.missing += 1;
                continue;
            };
            if t.0.is_finite() {
                self.starts.push((o.0 - t.0) * 1e3);
            }
            if t.1.is_finite() {
                self.ends.push((o.1 - t.1) * 1e3);
            }
        }
    }

    fn print(&self, set: &str, method: &str) {
        for (edge, errors) in [("start", &self.starts), ("end", &self.ends)] {
            let mut abs: Vec<f64> = errors.iter().map(|e| e.abs()).collect();
            abs.sort_by(f64::total_cmp);
            let mut signed = errors.clone();
            signed.sort_by(f64::total_cmp);
            let n = abs.len().max(1);
            let within = |ms: f64| 100.0 * abs.iter().filter(|e| **e <= ms).count() as f64 / n as f64;
            let middle = |v: &[f64]| v.get(v.len() / 2).copied().unwrap_or(f64::NAN);
            println!(
                "| {set} | {method} | {edge} | {} | {:.1} | {:.1} | {:+.1} | {:.0} | {:.0} | {:.0} | {:.0} |",
                errors.len(),
                abs.iter().sum::<f64>() / n as f64,
                middle(&abs),
                middle(&signed),
                within(20.0),
                within(50.0),
                within(100.0),
                within(200.0)
            );
        }
        if self.missing > 0 {
            println!("{set}, {method}: {} of {} words without a time", self.missing, self.words);
        }
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folders: Vec<PathBuf> = std::env::args().skip(1).filter(|a| !a.starts_with("--")).map(PathBuf::from).collect();
    if folders.is_empty() {
        eprintln!("nothing to measure: name folders made by scripts/make_alignment_references.py");
        return Ok(());
    }
    let list_words = std::env::args().any(|a| a == "--words");
    let aligner = PhoneAligner::load(&AlignerFiles::cached()?)?;
    let engine =
        std::env::args().any(|a| a == "--whisper").then(|| Engine::load(&cache::cached_model(cache::DEFAULT_WHISPER)?)).transpose()?;
    let mut all: BTreeMap<(String, String, String), Errors> = BTreeMap::new();
    let (mut took, mut audio_s) = (Duration::ZERO, 0.0);
    for folder in &folders {
        let set = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let mut wavs: Vec<PathBuf> =
            std::fs::read_dir(folder)?.filter_map(|e| Some(e.ok()?.path())).filter(|p| p.extension().is_some_and(|x| x == "wav")).collect();
        wavs.sort();
        for wav in wavs {
            let truth = read_words(&wav.with_extension("tsv"))?;
            let audio = read_wav(&wav)?;
            let text: Vec<&str> = truth.iter().map(|(_, w)| w.as_str()).collect();
            let began = Instant::now();
            let ours = align_text(&aligner, &audio, &[TextSegment { text: text.join(" "), span: None }])?;
            took += began.elapsed();
            audio_s += audio.len() as f64 / 16e3;
            let spans: Vec<Option<Span>> =
                ours.segments.iter().flatten().map(|w| (w.score > 0.0).then_some((w.start as f64 / 16e3, w.end as f64 / 16e3))).collect();
            let name = wav.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            if list_words {
                for ((t, w), o) in truth.iter().zip(&spans) {
                    let Some(o) = o else { continue };
                    let off = ((o.0 - t.0) * 1e3, (o.1 - t.1) * 1e3);
                    if off.0.abs() > 40.0 || off.1.abs() > 40.0 {
                        eprintln!("{set} {name} {:.3} {:.3} {w}: start {:+.0} ms, end {:+.0} ms", t.0, t.1, off.0, off.1);
                    }
                }
            }
            let voice = name.split('-').next().unwrap_or_default().to_owned();
            all.entry((set.clone(), voice.clone(), "redline".into())).or_default().add(&truth, &spans);
            if let Some(engine) = engine.as_ref().filter(|_| audio.len() <= 30 * 16_000) {
                let heard = ForcedDecoding::new(engine, "en", 1).tokens(&audio, &text)?;
                let seconds = |s: u64| s as f64 / 16e3;
                let ends: Vec<Option<f64>> = heard.iter().map(|t| Some(seconds(t.last()?.end?))).collect();
                // A token's DTW time is its end: a word starts where the one before it ended.
                let mut dtw: Vec<Option<Span>> =
                    (0..ends.len()).map(|i| Some((i.checked_sub(1).and_then(|b| ends[b]).unwrap_or(0.0), ends[i]?))).collect();
                dtw.resize(truth.len(), None);
                all.entry((set.clone(), voice.clone(), "whisper, forced, DTW".into())).or_default().add(&truth, &dtw);
            }
            for other in std::fs::read_dir(folder)?.filter_map(|e| Some(e.ok()?.path())) {
                let file = other.file_name().unwrap_or_default().to_string_lossy().into_owned();
                let Some(method) = file.strip_prefix(&format!("{name}.")).and_then(|f| f.strip_suffix(".tsv")) else { continue };
                let times: Vec<Option<Span>> = read_words(&other)?.into_iter().map(|(s, _)| s.0.is_finite().then_some(s)).collect();
                all.entry((set.clone(), voice.clone(), method.into())).or_default().add(&truth, &times);
            }
        }
    }
    println!("| set | method | edge | n | mean ms | median ms | bias ms | < 20 | < 50 | < 100 | < 200 % |");
    println!("|---|---|---|---|---|---|---|---|---|---|---|");
    for ((set, voice, method), errors) in &all {
        errors.print(&format!("{set}, {voice}"), method);
    }
    let seconds = took.as_secs_f64();
    println!(
        "\n{audio_s:.0} s of audio aligned in {seconds:.2} s on one thread: {:.2} % of its length",
        100.0 * seconds / audio_s.max(1e-9)
    );
    Ok(())
}
