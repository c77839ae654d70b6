//! `redline import transcript`: a transcript made by WhisperX becomes a request's automatic one.

use super::transcript_time::Time;
use super::{Context, CorpusArg};
use crate::exit::{Exit, WithExit};
use anyhow::{Context as _, anyhow};
use redline_schemas::{Aligner, FORMAT_VERSION, RequestId, Tool, Transcript, TranscriptKind, fsio};
use redline_transcribe::formats;
use std::path::PathBuf;

#[derive(clap::Args)]
pub struct Args {
    /// JSON as WhisperX writes it
    file: PathBuf,
    /// The request that it belongs to
    request: RequestId,
    /// The clock of its times (default: audio; session when there is no audio)
    #[arg(long)]
    time: Option<Time>,
    /// Replace the automatic transcript that is there
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    corpus: CorpusArg,
}

pub fn run(ctx: &Context, args: Args) -> anyhow::Result<()> {
    let corpus = args.corpus.open()?;
    let dir = corpus.request_dir(&args.request);
    let session = corpus.request(&args.request)?.session;
    let target = dir.transcript_path(TranscriptKind::Automatic);
    if target.exists() && !args.force {
        return Err(anyhow!("{}: exists; --force replaces it", target.display())).exit(Exit::Input);
    }
    let bytes = fsio::read_limited(&args.file, fsio::MAX_MANIFEST_BYTES)?;
    let text = String::from_utf8(bytes).with_context(|| format!("{}: not UTF-8", args.file.display())).exit(Exit::Input)?;
    let (segments, language) = formats::read_whisperx(&text).with_context(|| args.file.display().to_string()).exit(Exit::Input)?;
    let clock = Time::or_present(args.time, Time::Audio, &session).to_session(&session).exit(Exit::Input)?;
    let segments = formats::moved(&segments, &clock);
    let last = segments.last().map_or(0, |s| s.end_ns);
    if last > session.duration_ns {
        let (end, len) = (redline_schemas::time::seconds(last), redline_schemas::time::seconds(session.duration_ns));
        return Err(anyhow!("{}: ends at {end:.2} s, the session at {len:.2} s: it belongs to something else", args.file.display()))
            .exit(Exit::Input);
    }
    let audio_sha256 = session.streams.audio.as_ref().map(|a| a.file.sha256.clone());
    let t = Transcript {
        format_version: FORMAT_VERSION,
        request: args.request.clone(),
        kind: TranscriptKind::Automatic,
        language,
        aligner: (!segments.is_empty()).then(|| Aligner { name: "whisperx-import".into(), version: "unknown".into(), sha256: None }),
        segments,
        model: None,
        parameters: serde_json::Value::Null,
        guards: Vec::new(),
        correction: None,
        audio_sha256,
        created_utc: chrono::Utc::now(),
        tool: Tool::redline(),
    };
    fsio::write_json(&target, &t)?;
    let words = t.words().count();
    if ctx.json {
        println!("{}", serde_json::json!({ "request": args.request, "segments": t.segments.len(), "words": words }));
    } else {
        println!("{}: {} segments, {words} words", args.request, t.segments.len());
    }
    Ok(())
}
