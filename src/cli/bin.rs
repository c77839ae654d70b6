//! `redline bin`: takes that were discarded, until somebody removes them for good.

use super::record::coded;
use super::{Context, CorpusArg};
use anyhow::{Context as _, bail};
use clap::Subcommand;
use redline_recorder::bin::{self, Binned};
use redline_schemas::RequestId;
use std::io::Write as _;

#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// List the takes in the bin
    List {
        #[command(flatten)]
        corpus: CorpusArg,
    },
    /// Put a take back among the requests
    Restore {
        /// The request's id
        id: RequestId,
        #[command(flatten)]
        corpus: CorpusArg,
    },
    /// Remove all takes in the bin for good
    Empty {
        /// Do it: what is removed cannot be brought back
        #[arg(long)]
        yes: bool,
        #[command(flatten)]
        corpus: CorpusArg,
    },
}

pub fn run(ctx: &Context, args: Args) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    match args.what {
        What::List { corpus } => {
            let all = bin::look(&corpus.open()?).map_err(coded)?;
            if ctx.json {
                writeln!(out, "{}", serde_json::to_string_pretty(&all)?)?;
            } else if all.is_empty() {
                eprintln!("the bin is empty");
            } else {
                writeln!(out, "{}", table(&all))?;
            }
        }
        What::Restore { id, corpus } => {
            let path = bin::restore(&corpus.open()?, &id).map_err(coded)?;
            if ctx.json {
                writeln!(out, "{}", serde_json::json!({ "request": id, "path": path }))?;
            } else {
                writeln!(out, "{id}")?;
            }
        }
        What::Empty { yes, corpus } => {
            let corpus = corpus.open()?;
            let all = bin::look(&corpus).map_err(coded)?;
            let bytes: u64 = all.iter().map(|b| b.bytes).sum();
            if !yes && !all.is_empty() {
                bail!("{} takes ({}) would be removed for good; if that is meant: redline bin empty --yes", all.len(), size(bytes));
            }
            let removed = bin::empty(&corpus).map_err(coded).context("the bin was not emptied")?;
            if ctx.json {
                writeln!(out, "{}", serde_json::json!({ "removed": removed, "bytes": bytes }))?;
            } else {
                eprintln!("{removed} takes removed ({})", size(bytes));
            }
        }
    }
    Ok(())
}

fn table(all: &[Binned]) -> comfy_table::Table {
    let mut t = super::table(["request", "by", "model", "modality", "difficulty", "recorded", "seconds", "size"]);
    for b in all {
        let Some(m) = &b.manifest else {
            t.add_row([b.id.as_str(), "", "", "its manifest cannot be read", "", "", "", &size(b.bytes)]);
            continue;
        };
        t.add_row([
            b.id.to_string(),
            m.participant.to_string(),
            m.model.as_ref().map(ToString::to_string).unwrap_or_default(),
            m.modality.to_string(),
            m.difficulty.to_string(),
            m.started_utc.format("%Y-%m-%d %H:%M UTC").to_string(),
            format!("{:.1}", m.seconds),
            size(b.bytes),
        ]);
    }
    t
}

fn size(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}
