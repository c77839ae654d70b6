//! `redline align`.

use super::{Context, CorpusArg};
use crate::exit::{Exit, WithExit};
use anyhow::{Context as _, anyhow, bail};
use redline_schemas::{Corpus, RequestId, Timing, Transcript, TranscriptKind, fsio};
use redline_transcribe::align::{AlignerFiles, ForcedAligner, GUARD, PhoneAligner, realign};
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
    /// Align again what this aligner has aligned
    #[arg(long)]
    force: bool,
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

pub fn run(ctx: &Context, args: Args) -> anyhow::Result<()> {
    let corpus = args.corpus.open()?;
    let all = corpus.request_ids()?;
    if let Some(id) = args.requests.iter().find(|r| !all.contains(r)) {
        return Err(anyhow!("{}: no such request in this corpus", corpus.request_dir(id).path().display())).exit(Exit::Input);
    }
    if args.text.is_some() && args.requests.len() != 1 {
        return Err(anyhow!("--text goes with exactly one request")).exit(Exit::Input);
    }
    let text = args.text.as_ref().map(|p| read_text(p)).transpose()?;
    let aligner = AlignerFiles::cached().and_then(|f| PhoneAligner::load(&f)).exit(Exit::Model)?;
    let named = !args.requests.is_empty();
    let mut failed = 0;
    for id in if named { args.requests } else { all } {
        match one(&corpus, &aligner, &id, args.kind, text.as_deref(), args.force) {
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
    aligner: &PhoneAligner,
    id: &RequestId,
    kind: TranscriptKind,
    text: Option<&str>,
    force: bool,
) -> anyhow::Result<Option<Line>> {
    let dir = corpus.request_dir(id);
    let manifest = corpus.request(id)?;
    let old = dir.transcript(kind)?;
    let known = match (&old, text) {
        (None, None) => return Ok(None),
        (Some(old), None) if !force && old.aligner.as_ref() == Some(&aligner.describe()) => return Ok(Some(Line::of(old, "done"))),
        (Some(old), None) => old.text(),
        (_, Some(text)) => text.to_owned(),
    };
    let mut new = realign(aligner, &dir, &manifest, kind, &known)?;
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
    Transcript { guards, parameters: old.parameters, correction: old.correction, language: old.language, model: old.model, ..new }
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
