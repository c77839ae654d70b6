//! `redline-cluster`: Redline's work spread over machines by Ballista.
//!
//! A scheduler and any number of workers are started, then jobs are run against them. Workers make the rows of tables
//! themselves ([`shares`]) and call the everyday `redline` for the work on one session ([`function`]). The corpus is a folder
//! that all machines see under the same path, or lies in S3-compatible storage.

mod client;
mod corpus;
mod engine;
mod function;
mod job;
mod scheduler;
mod sessions;
mod shares;
mod shelf;
mod stores;
mod tables;
mod worker;

use clap::{Parser, Subcommand};
use std::path::PathBuf;
use std::process::ExitCode;

/// Spread work on a corpus over machines.
#[derive(Parser)]
#[command(name = "redline-cluster", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Start the scheduler
    Scheduler {
        /// Address to listen at, HOST:PORT
        #[arg(long, default_value = "127.0.0.1:50050")]
        listen: std::net::SocketAddr,
        /// Seconds without a sign of life after which a worker counts as lost
        #[arg(long, default_value_t = 20)]
        worker_timeout: u64,
    },
    /// Start a worker
    Worker(worker::Args),
    /// Do a piece of work for every session of a corpus
    Run(job::Args),
    /// Find what is wrong in the corpus
    Check(tables::CheckArgs),
    /// Write the corpus's tables as Parquet
    Pack(tables::PackArgs),
    /// The figures of the corpus
    Stats(tables::StatsArgs),
    /// Publish a version of the corpus
    Release(tables::ReleaseArgs),
    /// Ask the corpus, a release or packed tables with SQL
    Query(tables::QueryArgs),
}

#[tokio::main]
async fn main() -> ExitCode {
    let filter = tracing_subscriber::EnvFilter::try_from_default_env().unwrap_or_else(|_| "warn".into());
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
    let done = match Cli::parse().command {
        Command::Scheduler { listen, worker_timeout } => scheduler::run(listen, worker_timeout).await.map(|()| 0),
        Command::Worker(args) => worker::run(args).await.map(|()| 0),
        Command::Run(args) => job::run(args).await,
        // As `redline check`: 3 for findings.
        Command::Check(args) => match apart(move || tables::check(&args)).await {
            Ok(n) if n > 0 => return ExitCode::from(3),
            done => done,
        },
        Command::Pack(args) => apart(move || tables::pack(&args)).await,
        Command::Stats(args) => apart(move || tables::stats(&args)).await,
        Command::Release(args) => apart(move || tables::release(&args)).await,
        Command::Query(args) => apart(move || tables::query(&args)).await,
    };
    match done {
        Ok(0) => ExitCode::SUCCESS,
        // Sessions that failed were named.
        Ok(_) => ExitCode::FAILURE,
        Err(e) => {
            eprintln!("error: {e:#}");
            ExitCode::FAILURE
        }
    }
}

/// Runs what blocks on a thread that may.
async fn apart(work: impl FnOnce() -> anyhow::Result<usize> + Send + 'static) -> anyhow::Result<usize> {
    tokio::task::spawn_blocking(work).await?
}

/// The everyday `redline`: beside this program, else on the PATH.
fn redline(given: Option<PathBuf>) -> PathBuf {
    let beside = || std::env::current_exe().ok().map(|p| p.with_file_name("redline")).filter(|p| p.is_file());
    given.or_else(beside).unwrap_or_else(|| "redline".into())
}
