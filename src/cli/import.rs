//! `redline import`: sessions that were recorded elsewhere.

use super::{Context, CorpusArg};
use clap::Subcommand;
use indicatif::{ProgressBar, ProgressStyle};
use redline_dataset::import::{VideoImport, import_video};
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

pub fn run(ctx: &Context, args: Args) -> anyhow::Result<()> {
    match args.what {
        What::Video(v) => video(ctx, v),
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
