//! `redline diff`.

use super::{Context, CorpusArg};
use redline_dataset::release::{self, TableDifference};
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
pub struct Args {
    /// The older release: a folder, or a version of the corpus
    #[arg(value_name = "V1")]
    before: String,
    /// The newer release
    #[arg(value_name = "V2")]
    after: String,
    #[command(flatten)]
    corpus: CorpusArg,
}

pub fn run(ctx: &Context, args: Args) -> anyhow::Result<()> {
    let place = |v: &str| -> PathBuf {
        let released = args.corpus.corpus.join("releases").join(v);
        if !Path::new(v).is_dir() && released.is_dir() { released } else { v.into() }
    };
    let d = release::diff(&place(&args.before), &place(&args.after))?;
    if ctx.json {
        println!("{}", serde_json::to_string_pretty(&d)?);
        return Ok(());
    }
    println!("{} → {}", d.from, d.to);
    if d.is_empty() {
        println!("the same material");
    }
    for t in &d.tables {
        println!("{}: {} → {} rows", t.table, t.rows_before, t.rows_after);
        let TableDifference { added, removed, changed, columns_added, columns_removed, .. } = t;
        for (what, which) in
            [("added", added), ("removed", removed), ("changed", changed), ("new column", columns_added), ("lost column", columns_removed)]
        {
            for w in which {
                println!("  {what} {w}");
            }
        }
    }
    for (what, files) in [("added", &d.files_added), ("removed", &d.files_removed), ("changed", &d.files_changed)] {
        for f in files {
            println!("file {what} {f}");
        }
    }
    Ok(())
}
