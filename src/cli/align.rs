//! `redline align`.

use super::remote::{Batch, Need, Place};
use super::{Context, CorpusArg};
use crate::exit::{Exit, WithExit};
use anyhow::{Context as _, anyhow, bail};
use redline_schemas::{Corpus, RequestId, Timing, Transcript, TranscriptKind, fsio};
use redline_transcribe::align::{AlignerFiles, ForcedAligner, ForcedDecoding, GUARD, PhoneAligner, realign};
use redline_transcribe::cache;
use redline_transcribe::corpus::whisper_language;
use redline_transcribe::engine::Engine;
use std::cell::OnceCell;
use std::path::PathBuf;

/// The largest text file that is read, bytes.
const MAX_TEXT_BYTES: u64 = 4 << 20;

#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    corpus: CorpusArg,
    /// Requests to align (default: all that have such a transcript)
    requests: Vec<RequestId>,
    /// Align this text, one segment a line, instead of the transcript’s (for one request)
    #[arg(long, value_name = "FILE")]
    text: Option<PathBuf>,
    /// Which transcript: automatic or oracle
    #[arg(long, default_value_t = TranscriptKind::Automatic)]
    kind: TranscriptKind,
    /// The spoken language, such as en or de (default: the transcript’s, else the corpus’s, else en)
    #[arg(long, value_name = "CODE")]
    language: Option<String>,
    /// The Whisper model for languages other than English (default: the one that `redline model-fetch` got)
    #[arg(long, env = "REDLINE_WHISPER_MODEL", value_name = "FILE")]
    whisper_model: Option<PathBuf>,
    /// Align again what this aligner has aligned
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    cluster: super::cluster::ClusterArg,
}

#[derive(serde::Serialize)]
struct Line {
    request: RequestId,
    state: &'static str,
    words: usize,
    inferred: usize,
    interpolated: usize,
    /// Mean score of the words, 0 to 1.
    score: f32,
    /// What of the text does not fit the sound.
    problems: Vec<String>,
}

impl Line {
    fn of(t: &Transcript, state: &'static str) -> Self {
        let count = |timing| t.words().filter(|w| w.timing == timing).count();
        let words = t.words().count();
        Self {
            request: t.request.clone(),
            state,
            words,
            inferred: count(Timing::Inferred),
            interpolated: count(Timing::Interpolated),
            score: t.words().filter_map(|w| w.score).sum::<f32>() / words.max(1) as f32,
            problems: t.guards.iter().filter(|g| g.guard == GUARD).map(|g| format!("{}: “{}”", g.reason, g.text)).collect(),
        }
    }
}

/// The aligners, each loaded when a request first needs it.
struct Aligners {
    /// What `--language` says.
    language: Option<String>,
    /// What the corpus says.
    corpus_language: Option<String>,
    whisper_model: Option<PathBuf>,
    phones: OnceCell<PhoneAligner>,
    engine: OnceCell<Engine>,
}

impl Aligners {
    /// The language to align in, given what a transcript says.
    fn language<'a>(&'a self, transcript: Option<&'a str>) -> &'a str {
        let known = self.language.as_deref().or(transcript).or(self.corpus_language.as_deref());
        known.filter(|l| *l != "auto").unwrap_or("en")
    }

    /// Calls `work` with the aligner for a language: phones for English, Whisper for the others.
    fn with<T>(&self, language: &str, work: impl FnOnce(&dyn ForcedAligner) -> anyhow::Result<T>) -> anyhow::Result<T> {
        if language.split(['-', '_']).next() == Some("en") {
            return work(loaded(&self.phones, || AlignerFiles::cached().and_then(|f| PhoneAligner::load(&f)))?);
        }
        let path = || self.whisper_model.clone().map_or_else(|| cache::cached_model(cache::DEFAULT_WHISPER), Ok);
        let engine = loaded(&self.engine, || path().and_then(|p| Engine::load(&p)))?;
        let Some(code) = whisper_language(engine, language).exit(Exit::Input)? else { bail!("no language to align in") };
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        work(&ForcedDecoding::new(engine, &code, threads))
    }
}

fn loaded<T>(cell: &OnceCell<T>, load: impl FnOnce() -> redline_transcribe::Result<T>) -> anyhow::Result<&T> {
    if cell.get().is_none() {
        let _ = cell.set(load().exit(Exit::Model)?);
    }
    cell.get().context("an aligner is not loaded")
}

pub fn run(ctx: &Context, args: Args) -> anyhow::Result<()> {
    if args.requests.is_empty() {
        args.cluster.hand_over("align", super::cluster::Kind::Sessions)?;
    } else {
        args.cluster.whole_corpus_only()?;
    }
    if args.text.is_some() && args.requests.len() != 1 {
        return Err(anyhow!("--text goes with exactly one request")).exit(Exit::Input);
    }
    let text = args.text.as_ref().map(|p| read_text(p)).transpose()?;
    let named: Vec<String> = args.requests.iter().map(ToString::to_string).collect();
    let mut aligners = Aligners {
        language: args.language.clone(),
        corpus_language: None,
        whisper_model: args.whisper_model.clone(),
        phones: OnceCell::new(),
        engine: OnceCell::new(),
    };
    let mut failed = 0;
    for group in Place::groups(&args.corpus.corpus, Need::Speech, named)? {
        let Batch { place, corpus, ids } = Batch::fetch(&args.corpus.corpus, &group)?;
        aligners.corpus_language = corpus.manifest()?.language;
        for id in ids {
            let aligned = one(&corpus, &aligners, &id, args.kind, text.as_deref(), args.force).and_then(|line| {
                if line.is_some() {
                    place.send(&corpus.request_dir(&id).transcript_path(args.kind))?;
                }
                Ok(line)
            });
            let named = !args.requests.is_empty();
            match aligned {
                Ok(Some(line)) => print(ctx, &line)?,
                Ok(None) if named => {
                    failed += 1;
                    eprintln!("{id}: has no {} transcript to align; run `redline transcribe` or give --text", args.kind);
                }
                Ok(None) => {}
                Err(e) if named && failed == 0 => return Err(e),
                Err(e) => {
                    failed += 1;
                    eprintln!("{id}: {e:#}");
                }
            }
        }
    }
    if failed > 0 {
        return Err(anyhow!("{failed} requests were not aligned")).exit(Exit::Input);
    }
    Ok(())
}

fn read_text(path: &std::path::Path) -> anyhow::Result<String> {
    let bytes = fsio::read_limited(path, MAX_TEXT_BYTES)?;
    String::from_utf8(bytes).with_context(|| format!("{}: not UTF-8 text", path.display())).exit(Exit::Input)
}

/// Aligns one request and writes its transcript; `None` when there is no text to align.
fn one(
    corpus: &Corpus,
    aligners: &Aligners,
    id: &RequestId,
    kind: TranscriptKind,
    text: Option<&str>,
    force: bool,
) -> anyhow::Result<Option<Line>> {
    let dir = corpus.request_dir(id);
    let old = dir.transcript(kind)?;
    if old.is_none() && text.is_none() {
        return Ok(None);
    }
    let heard_in = match &old {
        Some(t) => t.language.clone(),
        None => dir.transcript(TranscriptKind::Automatic)?.and_then(|t| t.language),
    };
    let language = aligners.language(heard_in.as_deref()).to_owned();
    aligners.with(&language, |aligner| with_aligner(corpus, aligner, id, kind, text, force, old, &language))
}

#[allow(clippy::too_many_arguments)] // One step of `one`, split off because the aligner lives in a closure.
fn with_aligner(
    corpus: &Corpus,
    aligner: &dyn ForcedAligner,
    id: &RequestId,
    kind: TranscriptKind,
    text: Option<&str>,
    force: bool,
    old: Option<Transcript>,
    language: &str,
) -> anyhow::Result<Option<Line>> {
    let dir = corpus.request_dir(id);
    let manifest = corpus.request(id)?;
    let known = match (&old, text) {
        (None, None) => return Ok(None),
        (Some(old), None) if !force && old.aligner.as_ref() == Some(&aligner.describe()) => return Ok(Some(Line::of(old, "done"))),
        (Some(old), None) => old.text(),
        (_, Some(text)) => text.to_owned(),
    };
    let mut new = realign(aligner, &dir, &manifest, kind, &known)?;
    new.language.get_or_insert_with(|| language.to_owned());
    if let Some(old) = old {
        if kind == TranscriptKind::Oracle && text.is_some() && known.trim() != old.text().trim() {
            bail!("{}: an oracle transcript’s text comes from the review only", dir.transcript_path(kind).display());
        }
        new = merged(old, new, text.is_none());
    }
    fsio::write_json(&dir.transcript_path(kind), &new)?;
    Ok(Some(Line::of(&new, "aligned")))
}

/// The old transcript with the new words: what the speech model said of its own text stays.
fn merged(old: Transcript, mut new: Transcript, same_text: bool) -> Transcript {
    if same_text {
        let mut before = old.segments.iter().filter(|s| !s.text.trim().is_empty());
        for s in &mut new.segments {
            if let Some(b) = before.next() {
                (s.no_speech_prob, s.avg_logprob) = (b.no_speech_prob, b.avg_logprob);
            }
        }
    }
    let guards = old.guards.into_iter().filter(|g| g.guard != GUARD).chain(new.guards).collect();
    Transcript {
        guards,
        parameters: old.parameters,
        correction: old.correction,
        language: old.language.or(new.language.clone()),
        model: old.model,
        ..new
    }
}

fn print(ctx: &Context, line: &Line) -> anyhow::Result<()> {
    if ctx.json {
        println!("{}", serde_json::to_string(line)?);
        return Ok(());
    }
    let Line { request, state, words, inferred, interpolated, score, problems } = line;
    println!("{request}  {state}  {words} words, {inferred} inferred, {interpolated} interpolated, mean score {score:.2}");
    for p in problems {
        eprintln!("{request}: {p}");
    }
    Ok(())
}
