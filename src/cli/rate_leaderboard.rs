//! `redline rate leaderboard`.

use super::{Context, CorpusArg};
use crate::exit::{Exit, WithExit as _};
use anyhow::Context as _;
use redline_ratings::leaderboard::{Figure, Row, ScoreFigure, Share, csv, dollars, duration, grouped, html, plots};
use redline_ratings::{Leaderboard, gather};
use redline_schemas::fsio;
use std::io::Write as _;
use std::path::PathBuf;

#[derive(clap::Args)]
pub struct Args {
    /// The folder to write page, plots, JSON and CSV to [default: reports/leaderboard in the corpus]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    #[command(flatten)]
    corpus: CorpusArg,
}

pub fn run(ctx: &Context, a: Args) -> anyhow::Result<()> {
    let corpus = a.corpus.open()?;
    let board = Leaderboard::of_edits(corpus.manifest()?.name, &gather(&corpus).exit(Exit::Input)?);
    let out = a.out.unwrap_or_else(|| corpus.root().join("reports").join("leaderboard"));
    std::fs::create_dir_all(&out).with_context(|| format!("{}: could not create the folder", out.display()))?;
    let page = out.join("leaderboard.html");
    fsio::write_atomic(&page, html(&board).as_bytes())?;
    fsio::write_json(&out.join("leaderboard.json"), &board)?;
    fsio::write_atomic(&out.join("leaderboard.csv"), csv(&board).as_bytes())?;
    for p in plots(&board) {
        fsio::write_atomic(&out.join(format!("{}.svg", p.name)), p.svg.as_bytes())?;
    }
    let mut o = std::io::stdout().lock();
    if ctx.json {
        serde_json::to_writer_pretty(&mut o, &board)?;
        writeln!(o)?;
    } else {
        writeln!(o, "{} edits, {} rated by people", board.edits, board.rated)?;
        for rows in [&board.overall, &board.by_modality, &board.by_difficulty].into_iter().filter(|r| !r.is_empty()) {
            writeln!(o, "{}", table(rows))?;
        }
    }
    eprintln!("page with plots: {}", page.display());
    Ok(())
}

fn none() -> String {
    "–".into()
}

fn figure(f: Option<Figure>, told: impl Fn(f64) -> String) -> String {
    f.map_or_else(none, |f| format!("{}, n {}", told(f.value), f.n))
}

fn table(rows: &[Row]) -> comfy_table::Table {
    let mut t = super::table([
        "edits of",
        "maker",
        "edits",
        "rated",
        "no result",
        "instruction, mean / median",
        "quality, mean / median",
        "accepted",
        "valid",
        "IoU",
        "Chamfer",
        "time",
        "tokens",
        "cost",
    ]);
    let score = |s: Option<ScoreFigure>| s.map_or_else(none, |s| format!("{:.2} / {:.2}, n {}", s.mean, s.median, s.n));
    let accepted = |s: Share| format!("{:.0} % [{:.0}, {:.0}], {} of {}", s.share * 100.0, s.low * 100.0, s.high * 100.0, s.k, s.n);
    for r in rows {
        let group = r.modality.map(|m| m.to_string()).or(r.difficulty.map(|d| d.to_string()));
        t.add_row([
            group.unwrap_or_else(|| "any kind".into()),
            r.maker.to_string(),
            r.edits.to_string(),
            r.rated.to_string(),
            r.without_result.to_string(),
            score(r.instruction_following),
            score(r.quality),
            r.acceptance.map_or_else(none, accepted),
            r.valid.map_or_else(none, |s| format!("{:.0} %, {} of {}", s.share * 100.0, s.k, s.n)),
            figure(r.iou, |v| format!("{v:.2}")),
            figure(r.chamfer_mm, |v| format!("{v:.2} mm")),
            figure(r.seconds, duration),
            figure(r.tokens, grouped),
            figure(r.cost_usd, dollars),
        ]);
    }
    t
}
