//! `redline query`.

use super::{Context, CorpusArg};
use crate::exit::{Exit, WithExit};
use redline_query::{Database, Error};
use std::path::PathBuf;

#[derive(clap::Args)]
#[command(after_help = "Tables: participants, models, requests, edits, transcripts, words, revisions, events, strokes, selections, \
    commands, typing, renders, marks, ratings; see docs/tables.md. The view `pointing` has a row a word with what the mouse was on:\n\n  \
    redline query \"SELECT text, x, y, entity_id FROM pointing WHERE text ILIKE 'this%'\"")]
pub struct Args {
    /// The query
    #[arg(value_name = "SQL")]
    sql: String,
    #[command(flatten)]
    corpus: CorpusArg,
    /// Ask this release, or folder of packed tables, instead of the corpus
    #[arg(long = "in", value_name = "DIR")]
    dir: Option<PathBuf>,
}

pub fn run(ctx: &Context, args: Args) -> anyhow::Result<()> {
    let answer = || -> redline_query::Result<String> {
        let rows = Database::open(args.dir.as_ref().unwrap_or(&args.corpus.corpus))?.query(&args.sql)?;
        if ctx.json { rows.json() } else { rows.table() }
    };
    match answer() {
        Ok(text) => println!("{text}"),
        Err(Error::Dataset(e)) => return Err(e.into()),
        Err(e) => return Err(e).exit(Exit::Input),
    }
    Ok(())
}
