//! `redline check`: finds what is wrong in a corpus.

use super::remote::{Need, Place};
use super::{Context, CorpusArg};
use crate::exit::{Exit, WithExit as _};
use anyhow::Context as _;
use indicatif::{ProgressBar, ProgressStyle};
use redline_dataset::check::{Options, RULES, Report, Severity, check_by};
use redline_schemas::fsio;
use std::io::Write as _;
use std::path::PathBuf;

/// The largest list of names that is read.
const MAX_NAMES_BYTES: u64 = 1 << 20;

#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    corpus: CorpusArg,
    /// Decode all video and audio to the end (slow: a core decodes about 8 s of video a second)
    #[arg(long)]
    decode: bool,
    /// Leave out the comparison of SHA-256 hashes
    #[arg(long)]
    no_hashes: bool,
    /// Text file with names of people, one a line, to look for in all texts; keep it outside the corpus
    #[arg(long, value_name = "FILE")]
    names: Option<PathBuf>,
    /// Leave out findings that are only good to know
    #[arg(long, short)]
    quiet: bool,
    /// Leave unfinished recordings as they are; otherwise those whose recorder died are finished first
    #[arg(long)]
    no_recover: bool,
    /// List the rules instead
    #[arg(long)]
    rules: bool,
    #[command(flatten)]
    cluster: super::cluster::ClusterArg,
}

pub fn run(ctx: &Context, args: Args) -> anyhow::Result<()> {
    if args.rules {
        return rules(ctx);
    }
    args.cluster.hand_over("check", super::cluster::Kind::Tables)?;
    let place = Place::for_tasks(&args.corpus.corpus, Need::All, Need::Skeleton)?;
    let corpus = place.corpus_any()?;
    #[cfg(feature = "recorder")]
    if !args.no_recover && !place.is_copy() {
        super::recover::unfinished_first(&corpus);
    }
    let names = match &args.names {
        Some(p) => {
            let bytes = fsio::read_limited(p, MAX_NAMES_BYTES)?;
            let text = String::from_utf8(bytes).with_context(|| format!("{}: not UTF-8 text", p.display()))?;
            text.lines().map(str::to_owned).collect()
        }
        None => Vec::new(),
    };
    let bar = ProgressBar::new(0).with_style(ProgressStyle::with_template("checking {bar:30} {pos}/{len} folders, {eta} left")?);
    let options = Options { hashes: !args.no_hashes, decode: args.decode, names };
    let mut report = check_by(&corpus, &options, place.engine()?.as_ref(), &|_, total| {
        bar.set_length(total);
        bar.inc(1);
    })?;
    bar.finish_and_clear();
    if args.quiet {
        report.findings.retain(|f| f.severity != Severity::Info);
    }
    let mut out = std::io::stdout().lock();
    if ctx.json {
        serde_json::to_writer_pretty(&mut out, &report)?;
        writeln!(out)?;
    } else {
        print(&mut out, &report)?;
    }
    match report.errors {
        0 => Ok(()),
        n => Err(anyhow::anyhow!("{}: {}", args.corpus.corpus.display(), count(n, "error"))).exit(Exit::Findings),
    }
}

fn count(n: u64, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

fn print(out: &mut impl std::io::Write, r: &Report) -> anyhow::Result<()> {
    let mut last = "";
    for f in &r.findings {
        let line = f.line.map(|l| format!(":{l}")).unwrap_or_default();
        writeln!(out, "{} {}: {}{line}: {}", f.severity.as_str(), f.rule.id, f.file, f.message)?;
        if f.rule.id != last {
            writeln!(out, "    {}: {}", f.rule.name, f.hint)?;
        }
        last = f.rule.id;
    }
    let looked = format!("{}, {}, {}", count(r.models, "model"), count(r.requests, "request"), count(r.edits, "edit"))
        + &if r.runs > 0 { format!(", {}", count(r.runs, "run")) } else { String::new() };
    writeln!(out, "{looked}: {}, {}, {} notes", count(r.errors, "error"), count(r.warnings, "warning"), r.infos)?;
    Ok(())
}

fn rules(ctx: &Context) -> anyhow::Result<()> {
    if ctx.json {
        println!("{}", serde_json::to_string_pretty(RULES)?);
        return Ok(());
    }
    let mut table = super::table(["rule", "name", "severity", "finds"]);
    for r in RULES {
        table.add_row([r.id, r.name, r.severity.as_str(), r.finds]);
    }
    println!("{table}");
    Ok(())
}
