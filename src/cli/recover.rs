//! `redline recover`.

use super::record::coded;
use super::{Context, CorpusArg};
use redline_recorder::{Recovered, recover, unfinished};
use redline_schemas::SessionDir;
use std::io::Write as _;
use std::path::PathBuf;

#[derive(clap::Args)]
pub struct Args {
    /// Folders of sessions [default: all unfinished ones of the corpus]
    dirs: Vec<PathBuf>,
    #[command(flatten)]
    corpus: CorpusArg,
}

pub fn run(ctx: &Context, args: Args) -> anyhow::Result<()> {
    let dirs: Vec<SessionDir> = if args.dirs.is_empty() {
        unfinished(&args.corpus.open()?).map_err(coded)?
    } else {
        args.dirs.into_iter().map(SessionDir::new).collect()
    };
    let mut done: Vec<Recovered> = Vec::new();
    let mut first_error = None;
    for d in &dirs {
        match recover(d) {
            Ok(Some(r)) => {
                eprintln!("{}: {}", d.path().display(), r.summary());
                done.push(r);
            }
            Ok(None) => eprintln!("{}: whole, nothing to mend", d.path().display()),
            // One that cannot be mended must not keep the others from it.
            Err(e) => {
                eprintln!("{}: not mended: {e}", d.path().display());
                first_error.get_or_insert(e);
            }
        }
    }
    if dirs.is_empty() {
        eprintln!("no unfinished session");
    }
    let mut out = std::io::stdout().lock();
    if ctx.json {
        writeln!(out, "{}", serde_json::to_string_pretty(&done)?)?;
    } else {
        for r in &done {
            writeln!(out, "{}", r.id)?;
        }
    }
    first_error.map_or(Ok(()), |e| Err(coded(e)))
}

/// Finishes what dead recorders left, before something else reads the corpus. What cannot be mended stays for the
/// reader to report.
#[cfg(feature = "dataset")]
pub fn unfinished_first(corpus: &redline_schemas::Corpus) {
    let dirs = match unfinished(corpus) {
        Ok(d) => d,
        Err(e) => return eprintln!("unfinished recordings were not looked for: {e}"),
    };
    for d in dirs {
        match recover(&d) {
            Ok(Some(r)) => eprintln!("{}: its recorder had died; mended: {}", d.path().display(), r.summary()),
            Ok(None) => {}
            Err(e) => eprintln!("{}: unfinished and not mended: {e}", d.path().display()),
        }
    }
}
