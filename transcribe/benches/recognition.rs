//! Word error rates, speed and token times of Whisper models, beside whisper.cpp's own command line:
//! `cargo bench -p redline-transcribe --bench recognition -- [--cli WHISPER-CLI] [--threads N] [--take N] [--model FILE]… FOLDER…`
//!
//! Folders are as for the `alignment` bench. Each model hears each folder without and with the list of
//! CAD terms, and with the forced aligner, which gives times and settles spellings of listed words.
//! `--hour` instead hears an hour made of the first folder's speech and pauses, and prints the time and
//! the most memory that the process took.

use redline_schemas::Segment;
use redline_schemas::time::AudioClock;
use redline_transcribe::align::{AlignerFiles, ForcedAligner, PhoneAligner};
use redline_transcribe::engine::Engine;
use redline_transcribe::recognise::{Hints, Recogniser};
use redline_transcribe::vad::Vad;
use redline_transcribe::wer::{WordErrors, word_errors};
use redline_transcribe::{cache, guards, prompt};
use similar::{Algorithm, DiffOp, capture_diff_slices};
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::time::Instant;

type Outcome<T> = Result<T, Box<dyn Error>>;

/// A word and its start and end, seconds.
struct Timed {
    text: String,
    start: f64,
    end: f64,
}

/// A recording and what is said in it.
struct Recording {
    wav: PathBuf,
    seconds: f64,
    samples: u64,
    words: Vec<Timed>,
}

struct Args {
    cli: Option<PathBuf>,
    threads: usize,
    take: usize,
    hour: bool,
    models: Vec<PathBuf>,
    folders: Vec<PathBuf>,
}

fn args() -> Outcome<Args> {
    let mut a = Args { cli: None, threads: 2, take: usize::MAX, hour: false, models: Vec::new(), folders: Vec::new() };
    let mut given = std::env::args().skip(1);
    while let Some(arg) = given.next() {
        let mut value = || given.next().ok_or(format!("{arg} needs a value"));
        match arg.as_str() {
            "--cli" => a.cli = Some(value()?.into()),
            "--threads" => a.threads = value()?.parse()?,
            "--take" => a.take = value()?.parse()?,
            "--model" => a.models.push(value()?.into()),
            "--hour" => a.hour = true,
            "--bench" => {}
            _ => a.folders.push(arg.into()),
        }
    }
    if a.models.is_empty() {
        a.models = vec![cache::cached_model(cache::DEFAULT_WHISPER)?, cache::cached_model(cache::TINY_ENGLISH_WHISPER)?];
    }
    Ok(a)
}

fn recordings(folder: &Path, take: usize) -> Outcome<Vec<Recording>> {
    let mut wavs: Vec<PathBuf> =
        std::fs::read_dir(folder)?.filter_map(|e| Some(e.ok()?.path())).filter(|p| p.extension().is_some_and(|x| x == "wav")).collect();
    wavs.sort();
    // A spread over all voices, when not all are taken.
    let step = wavs.len().div_ceil(take.min(wavs.len()).max(1)).max(1);
    let mut out = Vec::new();
    for wav in wavs.into_iter().step_by(step) {
        let samples = std::fs::metadata(&wav)?.len().saturating_sub(44) / 2;
        let mut words = Vec::new();
        for line in std::fs::read_to_string(wav.with_extension("tsv"))?.lines() {
            let f: Vec<&str> = line.split('\t').collect();
            let [start, end, text] = f[..] else { return Err(format!("{}: bad line: {line}", wav.display()).into()) };
            words.push(Timed { text: text.into(), start: start.parse()?, end: end.parse()? });
        }
        out.push(Recording { wav, seconds: samples as f64 / 16e3, samples, words });
    }
    Ok(out)
}

fn text(words: &[Timed]) -> String {
    words.iter().map(|w| w.text.as_str()).collect::<Vec<_>>().join(" ")
}

/// What a method made of a set.
#[derive(Default)]
struct Score {
    errors: WordErrors,
    starts: Vec<f64>,
    ends: Vec<f64>,
    listed: usize,
    listed_right: usize,
    wall_s: f64,
    audio_s: f64,
}

impl Score {
    fn add(&mut self, r: &Recording, heard: &[Timed]) {
        self.audio_s += r.seconds;
        self.errors += word_errors(&text(&r.words), &text(heard));
        let plain = |w: &[Timed]| w.iter().map(|w| guards::plain(&w.text)).collect::<Vec<_>>();
        let (truth, ours) = (plain(&r.words), plain(heard));
        let stem = |w: &str| prompt::CAD_TERMS.iter().any(|t| w.starts_with(&t.to_lowercase()));
        for op in capture_diff_slices(Algorithm::Myers, &truth, &ours) {
            let DiffOp::Equal { old_index, new_index, len } = op else { continue };
            for k in 0..len {
                let (t, o) = (&r.words[old_index + k], &heard[new_index + k]);
                self.listed_right += usize::from(stem(&truth[old_index + k]));
                if t.start.is_finite() && o.start.is_finite() {
                    self.starts.push((o.start - t.start) * 1e3);
                }
                if t.end.is_finite() && o.end.is_finite() {
                    self.ends.push((o.end - t.end) * 1e3);
                }
            }
        }
        self.listed += truth.iter().filter(|w| stem(w)).count();
    }

    fn print(&self, model: &str, set: &str, method: &str) {
        let abs = |v: &[f64]| {
            let mut a: Vec<f64> = v.iter().map(|e| e.abs()).collect();
            a.sort_by(f64::total_cmp);
            let n = a.len().max(1) as f64;
            let within = |ms: f64| 100.0 * a.iter().filter(|e| **e <= ms).count() as f64 / n;
            let mean = a.iter().sum::<f64>() / n;
            let median = a.get(a.len() / 2).copied().unwrap_or(f64::NAN);
            format!("{mean:.0}, {median:.0}; {:.0}, {:.0}, {:.0}, {:.0} %", within(20.0), within(50.0), within(100.0), within(200.0))
        };
        println!(
            "| {model} | {set} | {method} | {:.1} % ({} words) | {} of {} | {:.3} | {} | {} |",
            100.0 * self.errors.rate(),
            self.errors.words,
            self.listed_right,
            self.listed,
            self.wall_s / self.audio_s.max(1e-9),
            abs(&self.starts),
            abs(&self.ends)
        );
    }
}

fn words_of(segments: &[Segment]) -> Vec<Timed> {
    let s = |t: i64| t as f64 / 1e9;
    segments.iter().flat_map(|s| &s.words).map(|w| Timed { text: w.text.clone(), start: s(w.start_ns), end: s(w.end_ns) }).collect()
}

/// Redline over a set, the loading of its models included in the time, as it is in the other program's.
fn ours(model: &Path, set: &[Recording], threads: usize, list: &[String], align: bool) -> Outcome<Score> {
    let began = Instant::now();
    let engine = Engine::load(model)?;
    let vad = Vad::load(&cache::cached_model(cache::VOICE_ACTIVITY)?)?;
    let aligner = align.then(|| AlignerFiles::cached().and_then(|f| PhoneAligner::load(&f))).transpose()?;
    let mut worker = Recogniser::new(&engine, vad, aligner.as_ref().map(|a| a as &dyn ForcedAligner), threads);
    let hints = Hints { language: Some("en".into()), word_list: list.to_vec() };
    let mut score = Score::default();
    for r in set {
        let clock = AudioClock::nominal(16_000, r.samples, 0);
        let heard = worker.recognise(&r.wav, &clock, &hints, &AtomicBool::new(false), &mut |_| {})?;
        score.add(r, &words_of(&heard.segments));
    }
    score.wall_s = began.elapsed().as_secs_f64();
    Ok(score)
}

/// whisper.cpp's own program over a set, in one run; its plain token times.
fn theirs(cli: &Path, model: &Path, set: &[Recording], threads: usize, greedy: bool) -> Outcome<Score> {
    let dir = tempfile::tempdir()?;
    let out = |i: usize| dir.path().join(i.to_string());
    let mut c = Command::new(cli);
    c.arg("-m").arg(model).args(["-l", "en", "-t", &threads.to_string(), "-ojf", "-ng"]);
    if greedy {
        c.args(["-bs", "1", "-bo", "1"]);
    }
    for (i, r) in set.iter().enumerate() {
        c.arg("-f").arg(&r.wav).arg("-of").arg(out(i));
    }
    let began = Instant::now();
    let ended = c.stdout(Stdio::null()).stderr(Stdio::null()).status()?;
    let wall_s = began.elapsed().as_secs_f64();
    if !ended.success() {
        return Err(format!("{} failed ({ended})", cli.display()).into());
    }
    let mut score = Score { wall_s, ..Score::default() };
    for (i, r) in set.iter().enumerate() {
        let json = std::fs::read(out(i).with_extension("json"))?;
        score.add(r, &words_of_tokens(&serde_json::from_str(&String::from_utf8_lossy(&json))?));
    }
    Ok(score)
}

fn words_of_tokens(json: &serde_json::Value) -> Vec<Timed> {
    let mut words: Vec<Timed> = Vec::new();
    let list = |v: &serde_json::Value| v.as_array().cloned().unwrap_or_default();
    for token in list(&json["transcription"]).iter().flat_map(|s| list(&s["tokens"])) {
        let text = token["text"].as_str().unwrap_or_default();
        let ms = |k: &str| token["offsets"][k].as_f64().unwrap_or(f64::NAN) / 1e3;
        if text.starts_with("[_") {
            continue;
        }
        match words.last_mut() {
            Some(w) if !text.starts_with(' ') => {
                w.text += text;
                w.end = ms("to");
            }
            _ => words.push(Timed { text: text.trim().into(), start: ms("from"), end: ms("to") }),
        }
    }
    words.retain(|w| !w.text.is_empty());
    words
}

/// An hour of a folder's speech, a sentence every 20 s, as a 16 kHz WAV.
fn hour(set: &[Recording], to: &Path) -> Outcome<u64> {
    use std::io::Write as _;
    const SAMPLES: usize = 3_600 * 16_000;
    let mut f = std::io::BufWriter::new(std::fs::File::create(to)?);
    f.write_all(b"RIFF")?;
    f.write_all(&(36 + SAMPLES as u32 * 2).to_le_bytes())?;
    f.write_all(b"WAVEfmt \x10\0\0\0\x01\0\x01\0\x80\x3e\0\0\0\x7d\0\0\x02\0\x10\0data")?;
    f.write_all(&(SAMPLES as u32 * 2).to_le_bytes())?;
    let mut at = 0;
    for r in set.iter().cycle() {
        let speech = std::fs::read(&r.wav)?;
        let mut slot = vec![0_u8; 20 * 16_000 * 2];
        let n = speech.len().saturating_sub(44).min(slot.len());
        slot[..n].copy_from_slice(&speech[44..44 + n]);
        f.write_all(&slot)?;
        at += 20 * 16_000;
        if at >= SAMPLES {
            break;
        }
    }
    f.flush()?;
    Ok(SAMPLES as u64)
}

fn most_memory_mb() -> Outcome<f64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:")).ok_or("no VmHWM in /proc/self/status")?;
    Ok(line.trim().trim_end_matches("kB").trim().parse::<f64>()? / 1024.0)
}

fn main() -> Outcome<()> {
    let a = args()?;
    let Some(first) = a.folders.first() else {
        eprintln!("nothing to measure: name folders made by scripts/make_alignment_references.py");
        return Ok(());
    };
    let list = prompt::word_list(&[], &[]);
    if a.hour {
        let dir = tempfile::tempdir()?;
        let wav = dir.path().join("hour.wav");
        let set = recordings(first, a.take)?;
        let samples = hour(&set, &wav)?;
        for model in &a.models {
            let hour = [Recording { wav: wav.clone(), seconds: samples as f64 / 16e3, samples, words: Vec::new() }];
            let score = ours(model, &hour, a.threads, &list, true)?;
            println!(
                "{}: an hour of audio in {:.0} s on {} threads, {} words, at most {:.0} MB",
                model.display(),
                score.wall_s,
                a.threads,
                score.errors.inserted,
                most_memory_mb()?
            );
        }
        return Ok(());
    }
    println!(
        "| model | set | method | word error rate | listed terms right | times real time | start: mean, median ms; < 20, 50, 100, 200 | end |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for model in &a.models {
        let name = model.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        for folder in &a.folders {
            let set = recordings(folder, a.take)?;
            let of = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
            ours(model, &set, a.threads, &[], false)?.print(&name, &of, "redline, no list, attention's times");
            ours(model, &set, a.threads, &list, false)?.print(&name, &of, "redline, word list, attention's times");
            ours(model, &set, a.threads, &list, true)?.print(&name, &of, "redline, word list, aligned");
            if let Some(cli) = &a.cli {
                theirs(cli, model, &set, a.threads, false)?.print(&name, &of, "whisper-cli, plain token times");
                theirs(cli, model, &set, a.threads, true)?.print(&name, &of, "whisper-cli, greedy, plain token times");
            }
        }
    }
    Ok(())
}
