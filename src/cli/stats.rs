//! `redline stats`: the figures of a corpus.

use super::remote::{Need, Place};
use super::{Context, CorpusArg};
use redline_dataset::stats::{Measure, Stats, draw};
use std::io::Write as _;
use std::path::PathBuf;

#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    corpus: CorpusArg,
    /// Draw every measure as SVG and PNG into this folder
    #[arg(long, value_name = "DIR")]
    plots: Option<PathBuf>,
    #[command(flatten)]
    cluster: super::cluster::ClusterArg,
}

pub fn run(ctx: &Context, args: Args) -> anyhow::Result<()> {
    args.cluster.hand_over("stats", super::cluster::Kind::Tables)?;
    let place = Place::for_tasks(&args.corpus.corpus, Need::Records, Need::Outline)?;
    let stats = Stats::of_by(&place.corpus()?, place.engine()?.as_ref())?;
    if let Some(dir) = &args.plots {
        for f in draw(&stats, dir)?.files {
            eprintln!("{}", f.display());
        }
    }
    let mut out = std::io::stdout().lock();
    if ctx.json {
        serde_json::to_writer_pretty(&mut out, &stats)?;
        writeln!(out)?;
        return Ok(());
    }
    writeln!(out, "{}", totals(&stats))?;
    for m in stats.measures.iter().filter(|m| !m.groups.is_empty()) {
        writeln!(out, "{} ({})\n{}", m.title, m.unit, measure(&stats, m))?;
    }
    Ok(())
}

fn totals(s: &Stats) -> comfy_table::Table {
    let (t, c) = (&s.totals, &s.corrections);
    let share = |x: Option<f64>| x.map_or_else(|| "-".to_owned(), |x| format!("{:.1} %", x * 100.0));
    let mean = |x: Option<redline_dataset::stats::Summary>| x.map_or_else(|| "-".to_owned(), |x| format!("{:.2}", x.mean));
    let mut table = super::table(["total", "value"]);
    let rows = [
        ("participants", t.participants.to_string()),
        ("of them programs", t.agents.to_string()),
        ("models", t.models.to_string()),
        ("requests", t.requests.to_string()),
        ("edits by people", t.edits.to_string()),
        ("edits by programs", t.agent_edits.to_string()),
        ("rejected", t.rejected.to_string()),
        ("unfinished", t.unfinished.to_string()),
        ("hours of requests", format!("{:.2}", t.request_hours)),
        ("hours of edits by people", format!("{:.2}", t.edit_hours)),
        ("words", t.words.to_string()),
        ("events", t.events.to_string()),
        ("CAD commands among them", t.commands.to_string()),
        ("renders", t.renders.to_string()),
        ("automatic transcripts", c.automatic.to_string()),
        ("accepted transcripts", c.accepted.to_string()),
        ("changed by correction", format!("{} ({})", c.changed, share(c.changed_share))),
        ("mean edit distance, characters", mean(c.char_edit_distance)),
        ("mean edit distance, words", mean(c.word_edit_distance)),
        ("edited characters", share(c.char_edit_rate)),
        ("mean rounds of correction", mean(c.rounds)),
    ];
    for (name, value) in rows {
        table.add_row([name.to_owned(), value]);
    }
    table
}

fn measure(s: &Stats, m: &Measure) -> comfy_table::Table {
    let mut table = super::table(["modality", "difficulty", "n", "mean", "sd", "min", "q1", "median", "q3", "max", "guide"]);
    for g in &m.groups {
        let any = |x: Option<&str>| x.unwrap_or("any").to_owned();
        let v = g.summary;
        let guide = s.guide_times.iter().find(|t| m.name == "edit_seconds" && Some(t.difficulty) == g.difficulty);
        let mut row = vec![any(g.modality.map(|x| x.as_str())), any(g.difficulty.map(|x| x.as_str())), v.n.to_string()];
        row.extend([v.mean, v.sd, v.min, v.q1, v.median, v.q3, v.max].map(|x| format!("{x:.1}")));
        row.push(guide.map_or_else(String::new, |t| (t.guide_minutes * 60).to_string()));
        table.add_row(row);
    }
    table
}
