//! `redline contact-sheet`: one picture of a request.

use super::{Context, CorpusArg};
use anyhow::Context as _;
use redline_media::{SheetContent, SheetLayout, Typeface, contact_sheet};
use redline_schemas::time::seconds;
use redline_schemas::{Corpus, InputEvent, RequestId, TranscriptKind, fsio, jsonl};
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
pub struct Args {
    /// The request
    request: RequestId,
    /// The PNG file to write
    #[arg(long, value_name = "PNG")]
    out: PathBuf,
    /// Frames shown
    #[arg(long, default_value_t = SheetLayout::default().frames)]
    frames: u32,
    /// Frames side by side
    #[arg(long, default_value_t = SheetLayout::default().columns)]
    columns: u32,
    /// Width of a frame, pixels
    #[arg(long, default_value_t = SheetLayout::default().cell_width)]
    width: u32,
    /// A TrueType font [default: DejaVu Sans or the like]
    #[arg(long, env = "REDLINE_FONT", value_name = "FILE")]
    font: Option<PathBuf>,
    #[command(flatten)]
    corpus: CorpusArg,
}

pub fn run(ctx: &Context, args: Args) -> anyhow::Result<()> {
    let layout = SheetLayout { frames: args.frames, columns: args.columns, cell_width: args.width };
    write(&args.corpus.open()?, &args.request, &args.out, layout, args.font.as_deref())?;
    if ctx.json {
        println!("{}", serde_json::json!({ "path": args.out }));
    } else {
        println!("{}", args.out.display());
    }
    Ok(())
}

/// Draws the sheet of a request into `out`.
fn write(corpus: &Corpus, id: &RequestId, out: &Path, layout: SheetLayout, font: Option<&Path>) -> anyhow::Result<()> {
    let request = corpus.request(id)?;
    let dir = corpus.request_dir(id);
    let stream = request.session.streams.video.as_ref().with_context(|| format!("{id}: the request has no video to show"))?;
    let transcript = match dir.transcript(TranscriptKind::Oracle)? {
        Some(t) => Some(t),
        None => dir.transcript(TranscriptKind::Automatic)?,
    };
    let input = match &request.session.streams.input {
        Some(s) => jsonl::read_all::<InputEvent>(&dir.path().join(&s.file.path))?.0,
        None => Vec::new(),
    };
    let said = transcript.as_ref().map_or_else(|| "no transcript yet".to_owned(), |t| format!("{} words", t.words().count()));
    let title = format!(
        "{id}   {} · {} · by {} · {:.1} s · {said}",
        request.modality,
        request.difficulty,
        request.participant,
        seconds(request.session.duration_ns)
    );
    let video = dir.path().join(&stream.file.path);
    let words = transcript.iter().flat_map(|t| t.words()).collect();
    let content = SheetContent { title: &title, video: &video, stream, words, input: &input };
    let sheet = contact_sheet(&content, layout, &Typeface::load(font)?)?;
    let mut png = std::io::Cursor::new(Vec::new());
    sheet.write_to(&mut png, redline_media::ImageFormat::Png).context("could not encode the PNG")?;
    fsio::write_atomic(out, png.get_ref())?;
    Ok(())
}
