//! `redline import`: sessions that were recorded elsewhere.

use super::{Context, CorpusArg};
use crate::exit::{Exit, WithExit as _};
use clap::Subcommand;
use indicatif::{ProgressBar, ProgressStyle};
use redline_dataset::export::import_zip;
use redline_dataset::import::{VideoImport, import_raw, import_records, import_video};
use redline_schemas::time::seconds;
use redline_schemas::{Difficulty, Modality, ModelId, ParticipantId, RequestId};
use std::path::PathBuf;

#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Make a request of a video
    Video(Video),
    /// Take in the reference dataset: its records (a JSON file) or its raw layout (a folder)
    Reference(Reference),
    /// Take in a request that `redline export request` wrote
    Request(Request),
    /// Take in what agents made of requests: a STEP file, settings.json and views in a folder
    Harness(super::import_harness::Args),
    /// Take over a transcript that WhisperX made
    #[cfg(feature = "transcribe")]
    Transcript(super::import_transcript::Args),
}

#[derive(clap::Args)]
struct Video {
    /// The video: MP4, MOV, Matroska, WebM or AVI
    file: PathBuf,
    /// Who asks in it
    #[arg(long, value_name = "ID")]
    participant: ParticipantId,
    /// How: text, interactive, draw-temp, draw-static
    #[arg(long)]
    modality: Modality,
    /// How much work it asks for: easy, medium, hard
    #[arg(long)]
    difficulty: Difficulty,
    /// The model it is about
    #[arg(long, value_name = "ID")]
    model: Option<ModelId>,
    /// The request's id [default: a new one]
    #[arg(long)]
    id: Option<RequestId>,
    /// A file with the text typed in it
    #[arg(long, value_name = "FILE")]
    text: Option<PathBuf>,
    /// A remark
    #[arg(long)]
    note: Option<String>,
    #[command(flatten)]
    corpus: CorpusArg,
}

#[derive(clap::Args)]
struct Reference {
    /// The records, or the folder with a folder for each session
    source: PathBuf,
    /// Where the files lie that records name [default: the records' folder]
    #[arg(long, value_name = "DIR")]
    files: Option<PathBuf>,
    #[command(flatten)]
    corpus: CorpusArg,
}

#[derive(clap::Args)]
struct Request {
    /// The zip
    file: PathBuf,
    #[command(flatten)]
    corpus: CorpusArg,
}

pub fn run(ctx: &Context, args: Args) -> anyhow::Result<()> {
    match args.what {
        What::Video(v) => video(ctx, v),
        What::Reference(r) => reference(ctx, r),
        What::Request(r) => request(ctx, r),
        What::Harness(h) => super::import_harness::run(ctx, h),
        #[cfg(feature = "transcribe")]
        What::Transcript(t) => super::import_transcript::run(ctx, t),
    }
}

fn video(ctx: &Context, v: Video) -> anyhow::Result<()> {
    let corpus = v.corpus.open()?;
    let bar = ProgressBar::new(0)
        .with_style(ProgressStyle::with_template("{msg} {bar:30} {percent:>3} % {eta}").unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar.set_message(format!("encoding {}", v.file.display()));
    let job = VideoImport {
        file: v.file,
        id: v.id,
        participant: v.participant,
        model: v.model,
        modality: v.modality,
        difficulty: v.difficulty,
        text: v.text,
        note: v.note,
    };
    let done = import_video(&corpus, &job, &mut |t, total| {
        bar.set_length(total.max(t).max(1) as u64);
        bar.set_position(t.max(0) as u64);
    });
    bar.finish_and_clear();
    let done = done?;
    let m = &done.manifest;
    let dir = corpus.request_dir(&m.id);
    if ctx.json {
        println!("{}", serde_json::json!({ "id": m.id, "path": dir.path(), "copied": done.copied, "manifest": m }));
        return Ok(());
    }
    let how = if done.copied { "copied" } else { "encoded anew" };
    if let Some(s) = &m.session.streams.video {
        eprintln!("Video {how}: {}x{}, {} frames, {:.2} s.", s.width, s.height, s.frames, seconds(s.grid.pts_ns(s.frames as i64)));
    }
    match m.session.streams.audio.as_ref().and_then(|a| Some((a, a.clock.span_ns()?))) {
        Some((a, (from, to))) => eprintln!("Audio: {} Hz, from {:.3} to {:.3} s.", a.clock.sample_rate, seconds(from), seconds(to)),
        None => eprintln!("No audio in it."),
    }
    println!("{}", m.id);
    Ok(())
}

fn reference(ctx: &Context, r: Reference) -> anyhow::Result<()> {
    let corpus = r.corpus.open()?;
    let done = if r.source.is_dir() {
        import_raw(&corpus, &r.source)
    } else {
        let beside = r.source.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(std::path::Path::new("."));
        import_records(&corpus, &r.source, r.files.as_deref().unwrap_or(beside))
    };
    let done = done.exit(Exit::Input)?;
    for why in &done.left_out {
        eprintln!("left out: {why}");
    }
    if ctx.json {
        println!("{}", serde_json::to_string_pretty(&done)?);
    } else {
        println!("{} participants, {} models, {} requests, {} edits", done.participants, done.models, done.requests, done.edits);
    }
    Ok(())
}

fn request(ctx: &Context, r: Request) -> anyhow::Result<()> {
    let m = import_zip(&r.corpus.open()?, &r.file).exit(Exit::Input)?;
    if ctx.json {
        println!("{}", serde_json::json!({ "id": m.id, "manifest": m }));
    } else {
        println!("{}", m.id);
    }
    Ok(())
}
