//! `redline export request` and `redline export reference`.

use super::{Context, CorpusArg};
use redline_dataset::export::{export_records, export_zip};
use redline_schemas::RequestId;
use std::path::PathBuf;

#[derive(clap::Args)]
pub struct Request {
    /// The request
    request: RequestId,
    /// The zip to write
    file: PathBuf,
    #[command(flatten)]
    corpus: CorpusArg,
}

#[derive(clap::Args)]
pub struct Reference {
    /// The folder to make
    out: PathBuf,
    #[command(flatten)]
    corpus: CorpusArg,
}

pub fn request(ctx: &Context, a: Request) -> anyhow::Result<()> {
    let m = export_zip(&a.corpus.open()?, &a.request, &a.file)?;
    if ctx.json {
        println!("{}", serde_json::json!({ "id": m.id, "file": a.file }));
    } else {
        println!("{}", a.file.display());
    }
    Ok(())
}

pub fn reference(ctx: &Context, a: Reference) -> anyhow::Result<()> {
    let done = export_records(&a.corpus.open()?, &a.out)?;
    if ctx.json {
        println!("{}", serde_json::to_string_pretty(&done)?);
    } else {
        eprintln!("{} requests, {} edits, {} files", done.requests, done.edits, done.files);
        println!("{}", done.records.display());
    }
    Ok(())
}
