//! `redline model-fetch`: runs the same script as `make setup`, which is built into the program.

use super::Context;
use crate::exit::{Exit, WithExit};
use anyhow::{Context as _, anyhow};
use redline_schemas::fsio;
use redline_transcribe::{Error, cache};
use std::io::ErrorKind;
use std::path::PathBuf;
use std::process::Command;

const SCRIPT: &str = include_str!("../../scripts/fetch_models.py");

#[derive(clap::Args)]
pub struct Args {
    /// Where the models go (default: the cache folder, see docs/words.md)
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// Fetch this file only; may be given several times
    #[arg(long, value_name = "FILE")]
    only: Vec<String>,
    /// A folder to look for the wheels in before downloading them
    #[arg(long, value_name = "DIR")]
    wheels: Option<PathBuf>,
    /// The Python to run the conversion with
    #[arg(long, env = "REDLINE_PYTHON", default_value = "python3", value_name = "PROGRAM")]
    python: PathBuf,
}

pub fn run(ctx: &Context, args: Args) -> anyhow::Result<()> {
    let cache = cache::cache_dir().ok_or(Error::NoCache).exit(Exit::Storage)?;
    std::fs::create_dir_all(&cache).with_context(|| format!("{}: could not create the folder", cache.display()))?;
    let script = cache.join("fetch_models.py");
    fsio::write_atomic(&script, SCRIPT.as_bytes())?;

    let mut c = Command::new(&args.python);
    c.arg(&script).arg("--dir").arg(args.dir.unwrap_or_else(|| cache.join("models")));
    c.args(args.only.iter().flat_map(|f| ["--only", f]));
    if let Some(w) = &args.wheels {
        c.arg("--wheels").arg(w);
    }
    if ctx.json {
        c.arg("--json");
    }
    let status = c
        .status()
        .map_err(|e| match e.kind() {
            ErrorKind::NotFound => anyhow!(
                "{}: no such program. The models are converted by a Python script: install Python 3.9 or later with pip \
                 (Debian: apt install python3 python3-pip python3-venv), or name it with --python",
                args.python.display()
            ),
            _ => anyhow!(e).context(format!("{}: could not be started", args.python.display())),
        })
        .exit(Exit::Device)?;
    let code = match status.code() {
        Some(0) => return Ok(()),
        Some(7) => Exit::Storage,
        _ => Exit::Model,
    };
    Err(anyhow!("the models could not be fetched; what is complete stays, so a further run continues there")).exit(code)
}
