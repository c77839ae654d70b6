//! A job: one verb for every session of a corpus, as a query that the scheduler spreads.

use crate::corpus::Place;
use crate::shares::{Shares, SharesTable};
use crate::shelf::Shelf;
use crate::{client, function, sessions};
use anyhow::{Context, Result};
use datafusion::arrow::array::AsArray as _;
use datafusion::arrow::datatypes::DataType;
use datafusion::execution::FunctionRegistry as _;
use datafusion::logical_expr::{cast, col, lit};
use redline_publish::Need;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::Duration;

/// Work that needs one session and no other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum Verb {
    /// Whisper and forced alignment
    Transcribe,
    /// Forced alignment of the text that is there
    Align,
}

impl Verb {
    /// As `redline` calls it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Transcribe => "transcribe",
            Self::Align => "align",
        }
    }
}

/// Options of `redline-cluster run`.
#[derive(clap::Args)]
pub struct Args {
    /// What to do
    verb: Verb,
    /// The corpus: a folder that all workers know by this path, or s3://BUCKET/PREFIX
    #[arg(long, env = "REDLINE_CORPUS", default_value = ".")]
    corpus: String,
    /// Where the scheduler listens, HOST:PORT
    #[arg(long, default_value = "127.0.0.1:50050")]
    scheduler: std::net::SocketAddr,
    /// Pieces that the sessions are dealt into (default: one for every two sessions, at most 1000)
    #[arg(long)]
    partitions: Option<usize>,
    /// Print what became of each session as JSON
    #[arg(long)]
    json: bool,
    /// Options for redline, after `--`
    #[arg(last = true)]
    options: Vec<String>,
}

/// What a worker must know of a job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// What is done.
    pub verb: Verb,
    /// The corpus, as all machines know it.
    pub corpus: String,
    /// The job's name; what became of sessions is noted on its shelf.
    pub name: String,
    /// Further options of the verb.
    pub options: Vec<String>,
}

/// What became of a session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// The request's id.
    pub id: String,
    /// How often it was tried.
    pub attempts: u32,
    /// Why the last attempt failed.
    pub error: Option<String>,
}

impl Job {
    fn shelf(&self) -> Result<Shelf> {
        Shelf::of(&self.corpus, &self.name)
    }

    /// What became of a session so far.
    pub fn outcome(&self, id: &str) -> Option<Outcome> {
        let bytes = self.shelf().and_then(|s| s.get(&format!("outcomes/{id}.json")));
        serde_json::from_slice(&bytes.ok()??).ok()
    }

    /// Notes what became of a session, whole or not at all.
    pub fn keep(&self, outcome: &Outcome) -> Result<()> {
        self.shelf()?.put(&format!("outcomes/{}.json", outcome.id), &serde_json::to_vec(outcome)?)
    }
}

/// Runs a job; how many sessions failed.
pub async fn run(args: Args) -> Result<usize> {
    let at = args.corpus.clone();
    let (address, all) = tokio::task::spawn_blocking(move || {
        let place = Place::open(&at, Need::Outline)?;
        anyhow::Ok((place.address.clone(), sessions::of_corpus(&place.corpus)?))
    })
    .await??;
    let total = all.len();
    if total == 0 {
        eprintln!("{address}: no requests, nothing to do");
        return Ok(0);
    }
    let parts = sessions::partitions(all, args.partitions.unwrap_or_else(|| total.div_ceil(2).min(1_000)));
    let ids: Vec<Vec<String>> = parts.into_iter().map(|p| p.into_iter().map(|s| s.id).collect()).collect();
    let shares = Shares::of_sessions(&address, args.verb.name(), &ids)?;
    let job = Job { verb: args.verb, corpus: address, name: shares.job.clone(), options: args.options };
    let shelf = job.shelf()?;

    let ctx = client::connect(args.scheduler, shares.count).await?;
    let work = ctx.udf(function::NAME)?.call(vec![lit(serde_json::to_string(&job)?), cast(col("id"), DataType::Utf8)]);
    let rows = ctx.read_table(Arc::new(SharesTable::new(shares)?))?.select(vec![work.alias("outcome")])?;

    let watched = shelf.clone();
    let watch = tokio::spawn(async move {
        let mut before = usize::MAX;
        loop {
            let shelf = watched.clone();
            let now = tokio::task::spawn_blocking(move || shelf.count("outcomes")).await;
            if let Ok(Ok(now)) = now
                && now != before
            {
                eprintln!("{now} of {total} sessions");
                before = now;
            }
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
    });
    let result = rows.collect().await;
    watch.abort();
    let batches = result.with_context(|| {
        let finished = shelf.count("outcomes").unwrap_or_default();
        format!("the job ended early; {finished} of {total} sessions are finished and need not be done again")
    })?;
    let mut outcomes: Vec<Outcome> = Vec::with_capacity(total);
    for b in &batches {
        let column = datafusion::arrow::compute::cast(b.column(0), &DataType::Utf8)?;
        for o in column.as_string::<i32>().iter().flatten() {
            outcomes.push(serde_json::from_str(o)?);
        }
    }
    outcomes.sort_by(|a, b| a.id.cmp(&b.id));
    anyhow::ensure!(outcomes.len() == total, "{} of {total} sessions came back; run the job again", outcomes.len());
    let failed = outcomes.iter().filter(|o| o.error.is_some()).count();
    if args.json {
        println!("{}", serde_json::to_string_pretty(&outcomes)?);
    }
    for o in outcomes.iter().filter(|o| o.error.is_some()) {
        eprintln!("failed: {} after {} attempts: {}", o.id, o.attempts, o.error.as_deref().unwrap_or_default());
    }
    eprintln!("{} of {total} sessions done, {failed} failed", total - failed);
    // Outcomes stay where something failed, to be looked at.
    if failed == 0
        && let Err(e) = shelf.remove()
    {
        tracing::warn!("{e:#}");
    }
    Ok(failed)
}
