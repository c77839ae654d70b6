//! `redline export transcript`.

use super::CorpusArg;
use super::transcript_time::Time;
use crate::exit::{Exit, WithExit};
use anyhow::anyhow;
use redline_schemas::{RequestId, TranscriptKind, fsio};
use redline_transcribe::formats;
use std::path::PathBuf;

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// SubRip subtitles
    Srt,
    /// WebVTT subtitles
    Vtt,
    /// Praat TextGrid with the tiers segments and words
    Textgrid,
    /// JSON as WhisperX writes it
    Whisperx,
}

#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    corpus: CorpusArg,
    /// The request
    request: RequestId,
    /// The form
    #[arg(long)]
    format: Format,
    /// automatic or oracle (default: oracle when there is one)
    #[arg(long)]
    kind: Option<TranscriptKind>,
    /// The clock of the times (default: video for subtitles, audio for the others; session when there is no such stream)
    #[arg(long)]
    time: Option<Time>,
    /// Write here instead of to standard output
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

pub fn run(a: Args) -> anyhow::Result<()> {
    let corpus = a.corpus.open()?;
    let dir = corpus.request_dir(&a.request);
    let session = corpus.request(&a.request)?.session;
    let read = |kind| dir.transcript(kind);
    let transcript = match a.kind {
        Some(k) => read(k)?,
        None => match read(TranscriptKind::Oracle)? {
            Some(t) => Some(t),
            None => read(TranscriptKind::Automatic)?,
        },
    };
    let missing = || anyhow!("{}: no such transcript yet; make it with `redline transcribe {}`", dir.path().display(), a.request);
    let transcript = transcript.ok_or_else(missing).exit(Exit::Input)?;

    let first = if matches!(a.format, Format::Srt | Format::Vtt) { Time::Video } else { Time::Audio };
    let clock = Time::or_present(a.time, first, &session).onto_session(&session).exit(Exit::Input)?;
    let segments = formats::on_clock(&transcript, &clock);
    let text = match a.format {
        Format::Srt => formats::srt(&segments),
        Format::Vtt => formats::vtt(&segments),
        Format::Textgrid => formats::textgrid(&segments, clock(session.duration_ns)),
        Format::Whisperx => formats::whisperx(&segments, transcript.language.as_deref())?,
    };
    match a.out {
        Some(p) => fsio::write_atomic(&p, text.as_bytes())?,
        None => {
            use std::io::Write as _;
            std::io::stdout().lock().write_all(text.as_bytes())?;
        }
    }
    Ok(())
}
