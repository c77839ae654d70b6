//! `redline transcribe`.

use super::remote::{Batch, Need, Place};
use super::{Context, CorpusArg};
use crate::exit::{Exit, WithExit};
use anyhow::anyhow;
use comfy_table::{Table, presets::NOTHING};
use indicatif::{ProgressBar, ProgressStyle};
use redline_schemas::{Corpus, RequestId, Transcript, TranscriptKind, fsio};
use redline_transcribe::align::{AlignerFiles, ForcedAligner, PhoneAligner};
use redline_transcribe::corpus::{Job, Plan, Setup, whisper_language};
use redline_transcribe::engine::Engine;
use redline_transcribe::recognise::Recogniser;
use redline_transcribe::vad::Vad;
use redline_transcribe::{Error, cache, prompt};
use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    corpus: CorpusArg,
    /// Requests to transcribe (default: all of the corpus)
    requests: Vec<RequestId>,
    /// Transcribe again what is done
    #[arg(long)]
    force: bool,
    /// A Whisper model in ggml form (default: the one that `redline model-fetch` got)
    #[arg(long, env = "REDLINE_WHISPER_MODEL", value_name = "FILE")]
    whisper_model: Option<PathBuf>,
    /// The spoken language, such as en or de, or auto (default: the corpus’s, else auto)
    #[arg(long, value_name = "CODE")]
    language: Option<String>,
    /// Threads of each job
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    threads: Option<u16>,
    /// Requests worked on at the same time
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    jobs: Option<u16>,
    /// Keep the word times that Whisper’s attention gives, without forced alignment
    #[arg(long)]
    no_align: bool,
    #[command(flatten)]
    cluster: super::cluster::ClusterArg,
}

/// One line of the report.
#[derive(serde::Serialize)]
struct Line {
    request: RequestId,
    /// `transcribed`, `done`, `not-yet` or `failed`.
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    language: Option<String>,
    words: usize,
    segments: usize,
    guards: usize,
    audio_s: f64,
    elapsed_s: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
}

impl Line {
    fn new(request: RequestId, state: &'static str) -> Self {
        Self { request, state, language: None, words: 0, segments: 0, guards: 0, audio_s: 0.0, elapsed_s: 0.0, message: None }
    }

    fn of(t: &Transcript, state: &'static str) -> Self {
        Self {
            language: t.language.clone(),
            words: t.words().count(),
            segments: t.segments.len(),
            guards: t.guards.len(),
            ..Self::new(t.request.clone(), state)
        }
    }
}

pub fn run(ctx: &Context, args: Args) -> anyhow::Result<()> {
    if args.requests.is_empty() {
        args.cluster.hand_over("transcribe", super::cluster::Kind::Sessions)?;
    } else {
        args.cluster.whole_corpus_only()?;
    }
    let wanted: Vec<String> = args.requests.iter().map(ToString::to_string).collect();
    let groups = Place::groups(&args.corpus.corpus, Need::Speech, wanted)?;
    let fetch = |group: &Vec<String>| Batch::fetch(&args.corpus.corpus, group);
    // Before the models are loaded: what is wrong with the corpus is said at once.
    let mut first = groups.first().map(fetch).transpose()?;

    let whisper = match &args.whisper_model {
        Some(p) => Ok(p.clone()),
        None => cache::cached_model(cache::DEFAULT_WHISPER),
    };
    let vad_path = cache::cached_model(cache::VOICE_ACTIVITY);
    let engine = whisper.and_then(|p| Engine::load(&p)).map_err(coded)?;
    let vad_path = vad_path.map_err(coded)?;
    let aligner = if args.no_align { None } else { Some(AlignerFiles::cached().and_then(|f| PhoneAligner::load(&f)).map_err(coded)?) };
    let aligner = aligner.as_ref().map(|a| a as &dyn ForcedAligner);
    let setup = Setup { engine: &engine, vad_sha256: fsio::sha256_file(&vad_path)?, aligner };
    let mut lines = Vec::new();
    for group in &groups {
        let batch = match first.take() {
            Some(b) => b,
            None => fetch(group)?,
        };
        lines.extend(transcribe(&setup, batch, &vad_path, &args)?);
        // A full disk fails every request that follows.
        if lines.iter().any(full) {
            break;
        }
    }
    report(ctx, lines)
}

fn transcribe(setup: &Setup<'_>, batch: Batch, vad: &Path, args: &Args) -> anyhow::Result<Vec<Outcome>> {
    let Batch { place, corpus, ids } = batch;
    let manifest = corpus.manifest()?;
    let language = args.language.as_ref().or(manifest.language.as_ref());
    let language = language.map(|l| whisper_language(setup.engine, l)).transpose().exit(Exit::Input)?.flatten();

    let mut lists = WordLists { corpus: &corpus, own: &manifest.word_list, known: BTreeMap::new() };
    let mut lines = Vec::new();
    let mut todo = VecDeque::new();
    for id in ids {
        let plan = lists.of(&id).and_then(|list| Ok(setup.plan(&corpus, &id, language.clone(), list, args.force)?));
        match plan {
            Ok(Plan::Todo(job)) => todo.push_back(job),
            Ok(Plan::Done(t)) => lines.push(Ok(Line::of(&t, "done"))),
            Ok(Plan::NotYet(why)) => lines.push(Ok(Line { message: Some(why.into()), ..Line::new(id, "not-yet") })),
            Err(e) => lines.push(Err((id, e))),
        }
    }
    let (jobs, threads) = shares(args.jobs.map(usize::from), args.threads.map(usize::from), todo.len(), cores());
    lines.extend(work(setup, &place, vad, todo, jobs, threads)?);
    Ok(lines)
}

/// Errors of models get their own exit code.
fn coded(e: Error) -> anyhow::Error {
    let exit = match &e {
        Error::ModelMissing { .. } | Error::ModelUnusable { .. } => Exit::Model,
        Error::Audio { .. } => Exit::Input,
        Error::NoCache => Exit::Storage,
        _ => return e.into(),
    };
    match Err::<(), _>(e).exit(exit) {
        Err(e) => e,
        Ok(()) => anyhow!("no error"),
    }
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Jobs and threads of each, never more threads than cores in all: Whisper's threads wait for
/// each other by spinning, and become many times slower when they share a core.
fn shares(jobs: Option<usize>, threads: Option<usize>, todo: usize, cores: usize) -> (usize, usize) {
    let jobs = jobs.unwrap_or_else(|| cores / threads.unwrap_or(1).min(cores)).clamp(1, todo.max(1)).min(cores);
    let most = (cores / jobs).max(1);
    (jobs, threads.unwrap_or(most).min(most))
}

/// Word lists of requests; a model's part names are read once.
struct WordLists<'a> {
    corpus: &'a Corpus,
    own: &'a [String],
    known: BTreeMap<String, Vec<String>>,
}

impl WordLists<'_> {
    fn of(&mut self, id: &RequestId) -> anyhow::Result<Vec<String>> {
        let model = self.corpus.request(id)?.model;
        let key = model.as_ref().map(|m| m.to_string()).unwrap_or_default();
        if let Some(list) = self.known.get(&key) {
            return Ok(list.clone());
        }
        let parts = model.map(|m| part_names(&self.corpus.model_dir(&m).join("model.step"))).unwrap_or_default();
        let list = prompt::word_list(self.own, &parts);
        self.known.insert(key, list.clone());
        Ok(list)
    }
}

/// Names of a model's parts. A model that cannot be read has none: `redline check` says why.
#[cfg(feature = "cad")]
fn part_names(step: &Path) -> Vec<String> {
    redline_cad::step::read_facts(step).map(|f| f.part_names).unwrap_or_default()
}

#[cfg(not(feature = "cad"))]
fn part_names(_step: &Path) -> Vec<String> {
    Vec::new()
}

type Outcome = Result<Line, (RequestId, anyhow::Error)>;

/// Whether the disk was full.
fn full(outcome: &Outcome) -> bool {
    outcome.as_ref().is_err_and(|(_, e)| crate::exit::code_of(e) == Exit::Storage)
}

/// Does the jobs; each result is on disk before the next begins, so that a killed run loses none.
fn work(
    setup: &Setup<'_>,
    place: &Place,
    vad: &Path,
    todo: VecDeque<Box<Job>>,
    jobs: usize,
    threads: usize,
) -> anyhow::Result<Vec<Outcome>> {
    let total: f64 = todo.iter().map(|j| j.audio_s()).sum();
    let bar = ProgressBar::new((total * 1000.0) as u64).with_style(
        ProgressStyle::with_template("{spinner} {wide_bar} {percent:>3} %  {msg}  {eta} left")
            .unwrap_or_else(|_| ProgressStyle::default_bar()),
    );
    let count = todo.len();
    bar.set_message(format!("0 of {count} requests"));
    let queue = Mutex::new(todo);
    let outcomes = Mutex::new(Vec::new());
    let stop = AtomicBool::new(false);
    let vads = (0..jobs.min(count)).map(|_| Vad::load(vad)).collect::<Result<Vec<_>, _>>().map_err(coded)?;
    std::thread::scope(|scope| {
        for vad in vads {
            let (bar, queue, outcomes, stop) = (&bar, &queue, &outcomes, &stop);
            scope.spawn(move || {
                let mut worker = Recogniser::new(setup.engine, vad, setup.aligner, threads);
                loop {
                    let Some(job) = lock(queue).pop_front() else { break };
                    let outcome = one(setup, place, &mut worker, &job, stop, bar);
                    if full(&outcome) {
                        stop.store(true, Ordering::Relaxed);
                        lock(queue).clear();
                    }
                    let mut done = lock(outcomes);
                    done.push(outcome);
                    bar.set_message(format!("{} of {count} requests", done.len()));
                }
            });
        }
    });
    bar.finish_and_clear();
    Ok(outcomes.into_inner().unwrap_or_else(|e| e.into_inner()))
}

fn lock<T>(m: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    m.lock().unwrap_or_else(|e| e.into_inner())
}

fn one(setup: &Setup<'_>, place: &Place, worker: &mut Recogniser<'_>, job: &Job, stop: &AtomicBool, bar: &ProgressBar) -> Outcome {
    let began = Instant::now();
    let mut done = 0.0;
    let mut progress = |s: f64| {
        let s = s.min(job.audio_s());
        if s > done {
            bar.inc(((s - done) * 1000.0) as u64);
            done = s;
        }
    };
    let result = setup.transcribe(worker, job, stop, &mut progress).map_err(coded);
    let path = job.dir().transcript_path(TranscriptKind::Automatic);
    match result.and_then(|t| place.send(&path).map(|()| t)) {
        Ok(t) => Ok(Line { audio_s: job.audio_s(), elapsed_s: began.elapsed().as_secs_f64(), ..Line::of(&t, "transcribed") }),
        Err(e) => Err((job.request.clone(), e)),
    }
}

fn report(ctx: &Context, outcomes: Vec<Outcome>) -> anyhow::Result<()> {
    let mut first = None;
    let mut failed = 0;
    let mut lines = Vec::new();
    for o in outcomes {
        lines.push(match o {
            Ok(l) => l,
            Err((id, e)) => {
                failed += 1;
                let line = Line { message: Some(format!("{e:#}")), ..Line::new(id, "failed") };
                first.get_or_insert(e);
                line
            }
        });
    }
    lines.sort_by(|a, b| a.request.cmp(&b.request));
    if ctx.json {
        println!("{}", serde_json::to_string_pretty(&lines)?);
    } else {
        let mut table = Table::new();
        table.load_preset(NOTHING).set_header(["request", "state", "language", "segments", "words", "guards", "times real time", ""]);
        for l in &lines {
            let speed = if l.audio_s > 0.0 { format!("{:.2}", l.elapsed_s / l.audio_s) } else { String::new() };
            let language = l.language.as_deref().unwrap_or("-");
            let counts = [l.segments, l.words, l.guards].map(|n| n.to_string());
            let [segments, words, guards] = &counts;
            table.add_row([l.request.as_str(), l.state, language, segments, words, guards, &speed, l.message.as_deref().unwrap_or("")]);
        }
        println!("{table}");
    }
    match first {
        Some(e) if failed > 1 => Err(e.context(format!("{failed} requests failed; the first"))),
        Some(e) => Err(e),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::shares;

    #[test]
    fn there_are_never_more_threads_than_cores() {
        assert_eq!(shares(None, None, 10, 8), (8, 1), "many requests: one thread each");
        assert_eq!(shares(None, None, 1, 8), (1, 8), "one request: all threads");
        assert_eq!(shares(None, Some(4), 10, 8), (2, 4));
        assert_eq!(shares(Some(3), Some(64), 10, 8), (3, 2));
        assert_eq!(shares(Some(64), Some(64), 100, 2), (2, 1));
        assert_eq!(shares(None, None, 0, 2), (1, 2));
        for jobs in 1..20 {
            for threads in 1..20 {
                let (j, t) = shares(Some(jobs), Some(threads), 100, 6);
                assert!(j * t <= 6 && j >= 1 && t >= 1);
            }
        }
    }
}
