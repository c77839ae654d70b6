//! Makes a corpus of a given size: `cargo run -p redline-samples -- DIR --events 3000000`.

use clap::Parser;
use redline_samples::Size;
use std::path::PathBuf;
use std::process::ExitCode;

/// Make a corpus for tests and benchmarks; equal sizes give equal streams.
#[derive(Parser)]
struct Args {
    /// The folder to make
    dir: PathBuf,
    /// Requests, three a model
    #[arg(long, default_value_t = Size::PAPER.requests)]
    requests: u32,
    /// Edits of each request
    #[arg(long, default_value_t = Size::PAPER.edits_per_request)]
    edits_per_request: u32,
    /// Events of all streams together
    #[arg(long, default_value_t = Size::PAPER.events)]
    events: u64,
    /// Pictures of the models while they are edited
    #[arg(long, default_value_t = Size::PAPER.renders)]
    renders: u64,
    /// A manifest and this many input events for each request, and nothing else: for very many
    #[arg(long, value_name = "EVENTS", conflicts_with_all = ["edits_per_request", "events", "renders"])]
    light: Option<u64>,
}

fn main() -> ExitCode {
    let a = Args::parse();
    let size = Size { requests: a.requests, edits_per_request: a.edits_per_request, events: a.events, renders: a.renders };
    let made = match a.light {
        Some(events) => redline_samples::light::generate(&a.dir, u64::from(a.requests), events),
        None => redline_samples::generate(&a.dir, &size),
    };
    match made {
        Ok(made) => {
            println!(
                "{} models, {} requests, {} edits, {} events, {} renders",
                made.models, made.requests, made.edits, made.events, made.renders
            );
            ExitCode::SUCCESS
        }
        Err(e) => {
            eprintln!("error: {e}");
            ExitCode::FAILURE
        }
    }
}
