//! The `redline` command: parse, dispatch, print.

#[macro_use]
mod out;
mod cli;
mod exit;

use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    let args = cli::Args::parse();
    init_logs(args.verbose);
    match cli::run(args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            // A reader that went away (`redline … | head`) is no error.
            if e.chain().any(|c| c.downcast_ref::<std::io::Error>().is_some_and(|e| e.kind() == std::io::ErrorKind::BrokenPipe)) {
                return ExitCode::SUCCESS;
            }
            eprintln!("error: {}", exit::told(&e));
            ExitCode::from(exit::code_of(&e) as u8)
        }
    }
}

fn init_logs(verbose: u8) {
    let default = ["warn", "info", "debug", "trace"][usize::from(verbose.min(3))];
    let filter = tracing_subscriber::EnvFilter::try_from_env("REDLINE_LOG")
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new(format!("{default},datafusion=warn")));
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).without_time().init();
}
