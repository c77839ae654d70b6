//! `README.md`: the dataset card, its front matter as Hugging Face reads it.

use super::Manifest;
use super::select::EVALUATION_SPLIT;
use crate::stats::{Measure, Stats};
use crate::tables::{self, Kind};
use std::fmt::Write as _;

fn dtype(k: Kind) -> &'static str {
    match k {
        Kind::Id | Kind::Label | Kind::Text | Kind::Json => "string",
        Kind::Int | Kind::Time => "int64",
        Kind::Utc => "timestamp[us, tz=UTC]",
        Kind::Float => "float64",
        Kind::Bool => "bool",
        Kind::Media(tables::Media::Video) => "video",
        Kind::Media(tables::Media::Audio) => "audio",
        Kind::Media(tables::Media::Image) => "image",
    }
}

fn size_category(rows: u64) -> &'static str {
    match rows {
        0..1_000 => "n<1K",
        1_000..10_000 => "1K<n<10K",
        10_000..100_000 => "10K<n<100K",
        100_000..1_000_000 => "100K<n<1M",
        1_000_000..10_000_000 => "1M<n<10M",
        _ => "10M<n<100M",
    }
}

/// A text as a YAML scalar.
fn yaml(s: &str) -> String {
    serde_json::to_string(s).unwrap_or_default()
}

/// The card. Configurations are tables that have rows in every split that the release has.
pub(super) fn card(m: &Manifest, stats: &Stats, left_out: usize) -> String {
    let mut s = String::from("---\n");
    let _ = writeln!(s, "pretty_name: {}\nlicense: {}", yaml(&m.name), m.licence.to_ascii_lowercase());
    if let Some(l) = &m.language {
        let _ = writeln!(s, "language:\n- {}", yaml(l.split('-').next().unwrap_or(l)));
    }
    let rows: u64 = m.splits.iter().flat_map(|s| &s.tables).map(|t| t.rows).sum();
    let _ = writeln!(s, "size_categories:\n- {}\ntags:\n- computer-aided-design\n- multimodal-instructions\nconfigs:", size_category(rows));
    let used: Vec<_> = tables::ALL.iter().filter(|t| m.splits.iter().any(|s| s.tables.iter().any(|p| p.name == t.name))).collect();
    let parts = |name: &str| -> Vec<_> {
        m.splits.iter().filter_map(|s| s.tables.iter().find(|t| t.name == name).map(|t| (s.name.clone(), t))).collect()
    };
    for t in &used {
        let _ = writeln!(s, "- config_name: {}", t.name);
        if t.name == "requests" {
            s.push_str("  default: true\n");
        }
        s.push_str("  data_files:\n");
        for (split, _) in parts(t.name) {
            let _ = writeln!(s, "  - split: {}\n    path: tables/{split}/{}", yaml(&split), crate::pack::file_name(t.name));
        }
    }
    s.push_str("dataset_info:\n");
    for t in &used {
        let _ = writeln!(s, "- config_name: {}\n  features:", t.name);
        for c in t.columns {
            let _ = writeln!(s, "  - name: {}\n    dtype: {}", c.name, dtype(c.kind));
        }
        s.push_str("  splits:\n");
        for (split, p) in parts(t.name) {
            let _ = writeln!(s, "  - name: {}\n    num_examples: {}", yaml(&split), p.rows);
        }
    }
    s.push_str("---\n\n");
    let _ = write!(
        s,
        "# {} {}\n\n{}\n\nMade on {} with redline {}.\n\n",
        m.name,
        m.version,
        m.description(),
        m.created_utc.format("%Y-%m-%d"),
        m.tool.version
    );
    s.push_str("## What is in it\n\n| table | rows | a row is |\n|---|---|---|\n");
    for t in &used {
        let rows: u64 = parts(t.name).iter().map(|p| p.1.rows).sum();
        let _ = writeln!(s, "| `{}` | {rows} | {} |", t.name, t.doc.trim_start_matches("One row ").trim_end_matches('.'));
    }
    s.push_str("\n## Splits\n\n");
    if let [only] = m.splits.as_slice()
        && only.name == EVALUATION_SPLIT
    {
        let _ = writeln!(s, "For evaluation only: everything is in the split `{}`. Do not train on it.", only.name);
    } else {
        s.push_str("Split by model, so that all requests on one model are in one split; a model never changes its split.\n\n");
        for p in &m.splits {
            let n = p.tables.iter().find(|t| t.name == "requests").map_or(0, |t| t.rows);
            let _ = writeln!(s, "- `{}`: {n} requests", p.name);
        }
    }
    figures(&mut s, stats);
    let _ = write!(
        s,
        "\n## Time and place\n\n\
         Every stream of a session is on one clock: `t_ns`, `start_ns` and `end_ns` count nanoseconds since the session's start. \
         `session_id` is a `request_id` or an `edit_id`. Media and models are files of their own; their paths are relative to this folder. \
         Types and units of all columns are in the files' Arrow metadata.\n\n\
         The mouse during each word, in DuckDB:\n\n\
         ```sql\n\
         SELECT w.request_id, w.text, e.x, e.y\n\
         FROM 'tables/*/words.parquet' w\n\
         ASOF JOIN (SELECT * FROM 'tables/*/events.parquet' WHERE x IS NOT NULL) e\n\
         ON w.request_id = e.session_id AND w.start_ns >= e.t_ns;\n\
         ```\n\n\
         ## People\n\n\
         All participants consented to publication. Pseudonyms are drawn anew for every release. \
         {left_out} rejected, unfinished or unconsented recordings are left out.\n\n\
         ## Check it\n\n\
         `sha256sum -c {}` or `redline verify .` finds any changed byte.\n\n\
         ## Licence\n\n{}, see `LICENSE`.\n",
        super::SUMS_FILE,
        m.licence
    );
    s
}

/// The figures of `stats.json`, and the plots.
fn figures(s: &mut String, stats: &Stats) {
    let (t, c) = (&stats.totals, &stats.corrections);
    s.push_str("\n## Figures\n\nMore of them are in `stats.json`.\n\n| | |\n|---|---|\n");
    let mut row = |name: &str, value: String| {
        let _ = writeln!(s, "| {name} | {value} |");
    };
    row("hours of requests", format!("{:.2}", t.request_hours));
    row("hours of edits by people", format!("{:.2}", t.edit_hours));
    row("edits by people, by programs", format!("{}, {}", t.edits, t.agent_edits));
    row("words said or typed", t.words.to_string());
    row("events, CAD commands among them", format!("{}, {}", t.events, t.commands));
    row("renders and model states", t.renders.to_string());
    row("accepted transcripts, of automatic ones", format!("{} of {}", c.accepted, c.automatic));
    if let Some(share) = c.changed_share {
        row("accepted transcripts that correction changed", format!("{:.1} %", share * 100.0));
    }
    let drawn: Vec<&Measure> = stats.measures.iter().filter(|m| !m.groups.is_empty()).collect();
    if drawn.is_empty() {
        return;
    }
    s.push_str("\n| measure | unit | n | mean | sd | median | smallest | largest |\n|---|---|---|---|---|---|---|---|\n");
    for m in &drawn {
        // The first group is that of all values.
        if let Some(v) = m.groups.first().map(|g| g.summary) {
            let _ = writeln!(
                s,
                "| {} | {} | {} | {:.1} | {:.1} | {:.1} | {:.1} | {:.1} |",
                m.title, m.unit, v.n, v.mean, v.sd, v.median, v.min, v.max
            );
        }
    }
    s.push_str(
        "\nBoxes reach from the first to the third quartile, whiskers to the smallest and largest value; the line is the median, the dot the mean.\n\n",
    );
    for m in drawn {
        let _ = writeln!(s, "![{} by modality and difficulty](plots/{}.png)\n", m.title, m.name);
    }
}
