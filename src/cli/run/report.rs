//! `redline run report` and `run export`.

use crate::cli::{Context, CorpusArg};
use anyhow::Context as _;
use redline_dataset::runs::{MIN_RUNS, Report, csv, html};
use redline_schemas::{Corpus, fsio};
use std::io::Write as _;
use std::path::{Component, Path, PathBuf};

#[derive(clap::Args)]
pub struct Args {
    /// The folder to write to; pictures stay in the corpus and are linked from there [default: reports/runs in the corpus]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    #[command(flatten)]
    corpus: CorpusArg,
}

#[derive(clap::Args)]
pub struct Export {
    #[command(flatten)]
    corpus: CorpusArg,
}

pub fn run(ctx: &Context, a: Args) -> anyhow::Result<()> {
    let corpus = a.corpus.open()?;
    let report = Report::of(&corpus)?;
    let out = a.out.unwrap_or_else(|| corpus.root().join("reports").join("runs"));
    std::fs::create_dir_all(&out).with_context(|| format!("{}: could not create the folder", out.display()))?;
    let page = out.join("report.html");
    fsio::write_atomic(&page, html(&report, &way(&out, &corpus)?).as_bytes())?;
    fsio::write_json(&out.join("report.json"), &report)?;
    fsio::write_atomic(&out.join("scores.csv"), csv(&report).as_bytes())?;
    if ctx.json {
        let mut o = std::io::stdout().lock();
        serde_json::to_writer_pretty(&mut o, &report)?;
        writeln!(o)?;
        return Ok(());
    }
    for agent in &report.agents {
        let c = agent.pass_rate.overall();
        let p = c.measure();
        eprintln!(
            "{} {}: {} of {} runs passed ({} failed, {} unverified)",
            agent.agent.name,
            agent.agent.version,
            p.passed().len(),
            c.n(),
            p.failed().len(),
            p.unverified().len()
        );
        for (task, c) in agent.pass_rate.by_task() {
            eprintln!("  {task}: {} of {}", c.measure().passed().len(), c.n());
        }
        if agent.dimensions.values().any(|d| d.overall().measure().median().is_none()) {
            eprintln!("  medians of some dimensions are not reportable: they take {MIN_RUNS} scored runs of each task");
        }
    }
    println!("{}", page.display());
    Ok(())
}

pub fn export(_: &Context, a: Export) -> anyhow::Result<()> {
    let report = Report::of(&a.corpus.open()?)?;
    std::io::stdout().lock().write_all(csv(&report).as_bytes())?;
    Ok(())
}

/// The way from the report's folder to the corpus's, with `/`.
fn way(out: &Path, corpus: &Corpus) -> anyhow::Result<String> {
    let real = |p: &Path| std::fs::canonicalize(p).with_context(|| format!("{}: could not look at", p.display()));
    Ok(between(&real(out)?, &real(corpus.root())?))
}

/// The way from one absolute folder to another.
fn between(from: &Path, to: &Path) -> String {
    let (from, to): (Vec<Component<'_>>, Vec<Component<'_>>) = (from.components().collect(), to.components().collect());
    let same = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
    let up = std::iter::repeat_n("..".to_owned(), from.len() - same);
    let down = to.iter().skip(same).map(|c| encoded(&c.as_os_str().to_string_lossy()));
    let way = up.chain(down).collect::<Vec<_>>().join("/");
    if way.is_empty() { ".".into() } else { way }
}

/// A folder's name in an address: what has a meaning there is written as %xx.
fn encoded(name: &str) -> String {
    use std::fmt::Write as _;
    name.bytes().fold(String::new(), |mut s, b| {
        if b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.' | b'~') {
            s.push(char::from(b));
        } else {
            let _ = write!(s, "%{b:02X}");
        }
        s
    })
}

#[cfg(test)]
mod tests {
    use super::between;
    use std::path::Path;

    #[test]
    fn ways_between_folders() {
        let b = |a: &str, b: &str| between(Path::new(a), Path::new(b));
        assert_eq!(b("/c/reports/runs", "/c"), "../..");
        assert_eq!(b("/c", "/c"), ".");
        assert_eq!(b("/out", "/data/my #1"), "../data/my%20%231");
    }
}
