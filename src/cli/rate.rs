//! `redline rate`: serve the rating page, look into its progress, give ratings and figures out.

use super::{Context, CorpusArg};
use crate::exit::{Exit, WithExit as _};
use redline_ratings::icc::Icc;
use redline_ratings::{Group, Rated, Report, Score, csv, gather, normalised};
use redline_schemas::fsio;
use std::io::Write as _;
use std::path::PathBuf;

#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(clap::Subcommand)]
enum Verb {
    /// Serve the rating page, and the correction loop beside it, until Ctrl-C; prints the address.
    Serve(super::review::ServeArgs),
    /// Give edits their raters; how far each rater has come.
    Status(CorpusArg),
    /// Measure the final models of edits: validity, and how near they are to the requestor's own edit.
    Metrics(super::rate_metrics::Args),
    /// Medians, acceptance, agreement and correlations, by modality, difficulty and maker.
    Report(ReportArgs),
    /// People and models side by side: scores, acceptance, metrics, time, tokens and cost, as table, page and plots.
    Leaderboard(super::rate_leaderboard::Args),
    /// Every rating as a row: CSV, or JSON with --json.
    Export(ExportArgs),
}

#[derive(clap::Args)]
struct ReportArgs {
    #[command(flatten)]
    corpus: CorpusArg,
}

#[derive(clap::Args)]
struct ExportArgs {
    #[command(flatten)]
    corpus: CorpusArg,
    /// The file [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
}

pub fn run(ctx: &Context, args: Args) -> anyhow::Result<()> {
    match args.verb {
        Verb::Serve(a) => super::review::serve_page(ctx, a, "the rating page"),
        Verb::Status(a) => status(ctx, &a),
        Verb::Metrics(a) => super::rate_metrics::run(ctx, a),
        Verb::Report(a) => report(ctx, &a),
        Verb::Leaderboard(a) => super::rate_leaderboard::run(ctx, a),
        Verb::Export(a) => export(ctx, &a),
    }
}

fn edits(corpus: &CorpusArg) -> anyhow::Result<Vec<Rated>> {
    gather(&corpus.open()?).exit(Exit::Input)
}

fn status(ctx: &Context, corpus: &CorpusArg) -> anyhow::Result<()> {
    let flow = redline_review::Flow::open(corpus.open()?).exit(Exit::Input)?;
    let p = flow.assign_ratings()?;
    if ctx.json {
        println!("{}", serde_json::to_string_pretty(&p)?);
        return Ok(());
    }
    let mut t = super::table(["rater", "tasks", "done"]);
    for (rater, r) in &p.raters {
        t.add_row([rater.to_string(), r.assigned.to_string(), r.done.to_string()]);
    }
    println!("{t}\n{} edits to rate, {} with all raters, {} ratings", p.edits, p.complete, p.ratings);
    for (id, why) in &p.left_out {
        eprintln!("left out: edit {id}: {why}");
    }
    if p.raters_missing > 0 {
        eprintln!(
            "\nhint: {} ratings have nobody to give them; add people with `redline participant add ID --role rater`",
            p.raters_missing
        );
    }
    Ok(())
}

fn report(ctx: &Context, a: &ReportArgs) -> anyhow::Result<()> {
    let edits = edits(&a.corpus)?;
    let report = Report::of(&edits);
    let mut out = std::io::stdout().lock();
    if ctx.json {
        serde_json::to_writer_pretty(&mut out, &serde_json::json!({ "report": report, "edits": per_edit(&edits) }))?;
        writeln!(out)?;
        return Ok(());
    }
    writeln!(out, "{} edits, {} rated by people, {} ratings", report.edits, report.rated, report.ratings)?;
    writeln!(out, "{}", figures(&report))?;
    for g in report.groups.iter().take(1) {
        for s in g.scores.iter().filter(|s| !s.metrics.is_empty()) {
            let mut t = super::table(["against", "n", "Spearman", "p"]);
            for m in &s.metrics {
                let of = |f: fn(&redline_ratings::spearman::Spearman) -> f64| number(m.correlation.as_ref().map(f));
                t.add_row([m.metric.clone(), m.n.to_string(), of(|c| c.rho), of(|c| c.p)]);
            }
            writeln!(out, "{}\n{t}", title(s.score))?;
        }
    }
    Ok(())
}

fn title(s: Score) -> &'static str {
    match s {
        Score::InstructionFollowing => "instruction following",
        Score::Quality => "quality",
    }
}

fn number(v: Option<f64>) -> String {
    v.map_or_else(|| "–".into(), |v| format!("{v:.2}"))
}

fn figures(r: &Report) -> comfy_table::Table {
    let mut t = super::table([
        "modality",
        "difficulty",
        "maker",
        "n",
        "ratings",
        "accepted",
        "instruction",
        "quality",
        "ICC(2,k) instruction",
        "ICC(2,k) quality",
        "raters’ Spearman",
    ]);
    for g in &r.groups {
        let any = |x: Option<String>| x.unwrap_or_else(|| "any".into());
        let score = |i: usize| g.scores.get(i);
        let rho: Vec<f64> = g.scores.iter().filter_map(|s| s.agreement.mean_rho).collect();
        t.add_row([
            any(g.modality.map(|m| m.to_string())),
            any(g.difficulty.map(|d| d.to_string())),
            any(g.maker.as_ref().map(ToString::to_string)),
            g.n.to_string(),
            g.ratings.to_string(),
            accepted(g),
            number(score(0).and_then(|s| s.normalised)),
            number(score(1).and_then(|s| s.normalised)),
            icc(score(0).and_then(|s| s.agreement.icc2)),
            icc(score(1).and_then(|s| s.agreement.icc2)),
            if rho.is_empty() { "–".into() } else { rho.iter().map(|v| format!("{v:.2}")).collect::<Vec<_>>().join(", ") },
        ]);
    }
    t
}

fn accepted(g: &Group) -> String {
    g.acceptance.map_or_else(|| "–".into(), |a| format!("{:.0} %", a * 100.0))
}

/// An edit's medians, for scripts.
fn per_edit(edits: &[Rated]) -> Vec<serde_json::Value> {
    let of = |e: &Rated| {
        let (i, q) = (e.median(Score::InstructionFollowing), e.median(Score::Quality));
        serde_json::json!({
            "edit": e.edit, "request": e.request, "modality": e.modality, "difficulty": e.difficulty, "maker": e.maker,
            "n": e.ratings.len(), "instruction_following": i, "quality": q,
            "instruction_following_normalised": i.map(normalised), "quality_normalised": q.map(normalised),
            "accepted": e.accepted(), "seconds": e.seconds, "tokens": e.tokens, "cost_usd": e.cost_usd, "metrics": e.metrics,
        })
    };
    edits.iter().map(of).collect()
}

fn export(ctx: &Context, a: &ExportArgs) -> anyhow::Result<()> {
    let edits = edits(&a.corpus)?;
    let rows: Vec<_> = edits.iter().flat_map(|e| e.ratings.iter().map(move |r| (e, r))).collect();
    let text = if ctx.json {
        let row = |(e, r): &(&Rated, &redline_schemas::Rating)| {
            serde_json::json!({
                "edit": e.edit, "request": e.request, "modality": e.modality, "difficulty": e.difficulty, "maker": e.maker,
                "rater": r.rater, "instruction_following": r.instruction_following, "quality": r.quality,
                "instruction_following_normalised": normalised(Score::InstructionFollowing.of(r)),
                "quality_normalised": normalised(Score::Quality.of(r)), "comment": r.comment, "rated_utc": r.rated_utc,
            })
        };
        serde_json::to_string_pretty(&rows.iter().map(row).collect::<Vec<_>>())? + "\n"
    } else {
        let mut text = String::from("edit,request,modality,difficulty,maker,rater,instruction_following,quality,comment,rated_utc\n");
        for (e, r) in rows {
            let cells = [
                e.edit.to_string(),
                e.request.to_string(),
                e.modality.to_string(),
                e.difficulty.to_string(),
                e.maker.to_string(),
                r.rater.to_string(),
                r.instruction_following.to_string(),
                r.quality.to_string(),
                r.comment.clone().unwrap_or_default(),
                r.rated_utc.map(|t| t.to_rfc3339()).unwrap_or_default(),
            ];
            text += &cells.map(|c| csv::cell(&c)).join(",");
            text.push('\n');
        }
        text
    };
    match &a.out {
        Some(p) => fsio::write_atomic(p, text.as_bytes())?,
        None => std::io::stdout().lock().write_all(text.as_bytes())?,
    }
    Ok(())
}

/// ICC(2,k) with its interval. Where the estimate is above 1 (few edits, raters who contradict each other: the variance of means comes
/// out negative) it is no reliability, and is not shown; JSON has it as other programs give it.
fn icc(i: Option<Icc>) -> String {
    let Some(i) = i.filter(|i| i.average <= 1.0) else { return "–".into() };
    let low = i.low.map_or_else(|| "−∞".into(), |v| format!("{v:.2}"));
    format!("{:.2} [{low}, {:.2}] n {} k {}", i.average, i.high, i.n, i.k)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_reliability_is_not_shown() {
        let of = |average| icc(Some(Icc { n: 2, k: 3, single: -0.78, average, low: None, high: 0.99 }));
        assert_eq!((of(4.2).as_str(), of(0.5).as_str(), icc(None).as_str()), ("–", "0.50 [−∞, 0.99] n 2 k 3", "–"));
    }
}
