//! `redline query`.

use super::remote::{Need, Place};
use super::{Context, CorpusArg};
use crate::exit::{Exit, WithExit};
use redline_query::{Database, Error};
use std::path::PathBuf;

#[derive(clap::Args)]
#[command(after_help = "Tables: participants, models, requests, edits, transcripts, words, revisions, events, strokes, selections, \
    commands, typing, renders, marks, ratings, metrics, runs, steps, scores; see docs/tables.md. The view `pointing` has a row a word with what the mouse was on:\n\n  \
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
    #[command(flatten)]
    cluster: super::cluster::ClusterArg,
}

pub fn run(ctx: &Context, args: Args) -> anyhow::Result<()> {
    args.cluster.hand_over("query", super::cluster::Kind::Tables)?;
    let place = match &args.dir {
        Some(dir) => Place::of(dir, Need::Tables)?,
        None => Place::for_tasks(&args.corpus.corpus, Need::Records, Need::Outline)?,
    };
    let engine = place.engine()?;
    let answer = || -> redline_query::Result<String> {
        let rows = Database::open_by(place.path(), engine)?.query(&args.sql)?;
        if ctx.json { rows.json() } else { rows.table() }
    };
    match answer() {
        Ok(text) => println!("{text}"),
        Err(Error::Dataset(e)) => return Err(e.into()),
        Err(e) => return Err(e).exit(Exit::Input),
    }
    Ok(())
}
