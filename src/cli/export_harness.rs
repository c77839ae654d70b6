//! `redline export harness`.

use super::{Context, CorpusArg};
use redline_dataset::export::{export_harness, harness_requests};
use redline_schemas::RequestId;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
pub struct Args {
    /// The requests [default: every finished one with a model]
    requests: Vec<RequestId>,
    /// The folder to write a folder for each request into
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    #[command(flatten)]
    corpus: CorpusArg,
}

pub fn run(ctx: &Context, a: Args) -> anyhow::Result<()> {
    let corpus = a.corpus.open()?;
    let ids = if a.requests.is_empty() { harness_requests(&corpus)? } else { a.requests };
    let mut done = Vec::new();
    for id in &ids {
        let task = export_harness(&corpus, id, &a.out, &draw)?;
        if task.instruction.is_none() {
            eprintln!("{id}: no instruction in words: nothing was typed, and nothing transcribed yet");
        }
        if !ctx.json {
            println!("{}", task.folder.display());
        }
        done.push(task);
    }
    if ctx.json {
        println!("{}", serde_json::to_string_pretty(&done)?);
    }
    Ok(())
}

#[cfg(feature = "cad")]
fn draw(step: &Path) -> Result<BTreeMap<String, PathBuf>, String> {
    let examiner = redline_cad::Examiner::new(redline_cad::Examiner::default_cache()).map_err(|e| e.to_string())?;
    let found = examiner.examine(step).map_err(|e| e.to_string())?;
    match found.error {
        Some(e) => Err(format!("the CAD kernel can’t read it ({e})")),
        None => Ok(found.views),
    }
}

#[cfg(not(feature = "cad"))]
fn draw(_: &Path) -> Result<BTreeMap<String, PathBuf>, String> {
    Err("this build has no CAD kernel: use the views of the corpus (`redline model views`)".into())
}
