//! `redline pack`.

use super::remote::{Need, Place};
use super::{Context, CorpusArg};
use indicatif::{ProgressBar, ProgressStyle};
use redline_dataset::pack::{self, DEFAULT_ROW_GROUP_ROWS, Options, Scope};
use std::path::PathBuf;

#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    corpus: CorpusArg,
    /// The folder that the Parquet files go into
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Write these tables only
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    tables: Vec<String>,
    /// Rows of a row group
    #[arg(long, value_name = "N", default_value_t = DEFAULT_ROW_GROUP_ROWS, value_parser = rows)]
    row_group_rows: usize,
    #[command(flatten)]
    cluster: super::cluster::ClusterArg,
}

fn rows(s: &str) -> Result<usize, String> {
    s.parse().ok().filter(|n| (1..=1 << 24).contains(n)).ok_or_else(|| format!("1 to {}", 1 << 24))
}

pub fn run(ctx: &Context, args: Args) -> anyhow::Result<()> {
    args.cluster.hand_over("pack", super::cluster::Kind::Tables)?;
    let place = Place::for_tasks(&args.corpus.corpus, Need::Records, Need::Outline)?;
    let corpus = place.corpus()?;
    let options = Options { row_group_rows: args.row_group_rows, tables: args.tables, engine: place.engine()? };
    let bar = progress_bar();
    let done = pack::pack(&corpus, Scope::all(&corpus)?, &args.out, &options, &|table, done, of| {
        bar.set_length(of as u64);
        bar.set_position(done as u64);
        bar.set_message(table.to_owned());
    });
    bar.finish_and_clear();
    let mut done = done?;
    for p in &mut done.torn {
        *p = place.told(p).into();
        eprintln!("warning: {}: the last line was torn (the recorder died while writing it) and is left out", p.display());
    }
    for id in &done.unfinished {
        eprintln!("warning: {id}: its recording has not ended, so it is left out (`redline recover` mends a dead one)");
    }
    if ctx.json {
        println!("{}", serde_json::to_string_pretty(&done)?);
        return Ok(());
    }
    let mut t = comfy_table::Table::new();
    t.load_preset(comfy_table::presets::UTF8_HORIZONTAL_ONLY).set_header(["table", "rows", "row groups", "bytes", "file"]);
    for p in &done.tables {
        let file = p.path.as_ref().map_or_else(|| "none: no rows".into(), |p| p.display().to_string());
        t.add_row([p.table, &p.rows.to_string(), &p.row_groups.to_string(), &p.bytes.to_string(), &file]);
    }
    println!("{t}");
    Ok(())
}

/// A bar on standard error with a message.
pub(super) fn progress_bar() -> ProgressBar {
    let bar = ProgressBar::new(0);
    if let Ok(s) = ProgressStyle::with_template("{msg:>14} {wide_bar} {pos}/{len}") {
        bar.set_style(s);
    }
    bar
}
