//! `redline rate metrics`: measures the final models of edits.

use super::{Context, CorpusArg};
use crate::exit::{Exit, WithExit as _, told};
use anyhow::anyhow;
use indicatif::{ProgressBar, ProgressStyle};
use redline_cad::Examiner;
use redline_cad::features::ImageFeatures;
use redline_ratings::Error;
use redline_ratings::metrics::{Measurer, Outcome};
use redline_schemas::{EditId, EditMetrics};
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
pub struct Args {
    /// Edits to measure [default: all of the corpus]
    #[arg(value_name = "EDIT")]
    edits: Vec<EditId>,
    #[command(flatten)]
    corpus: CorpusArg,
    /// A network in an ONNX file that makes features of pictures; without it, views are not compared
    #[arg(long, env = "REDLINE_ONNX_MODEL", value_name = "FILE")]
    onnx_model: Option<PathBuf>,
    /// Measure again what is up to date
    #[arg(long)]
    force: bool,
}

/// One line of the report.
#[derive(serde::Serialize)]
struct Line {
    edit: EditId,
    /// `measured`, `up-to-date`, `not-yet` or `failed`.
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    metrics: Option<Box<EditMetrics>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
}

pub fn run(ctx: &Context, args: Args) -> anyhow::Result<()> {
    let corpus = args.corpus.open()?;
    let all = corpus.edit_ids()?;
    if let Some(id) = args.edits.iter().find(|e| !all.contains(e)) {
        return Err(anyhow!("{}: no such edit in this corpus", corpus.edit_dir(id).path().display())).exit(Exit::Input);
    }
    let wanted = if args.edits.is_empty() { all } else { args.edits };
    let network = args.onnx_model.as_deref().map(network).transpose()?;
    let examiner = Examiner::new(Examiner::default_cache()).exit(Exit::Device)?;
    let mut measurer = Measurer::new(&corpus, &examiner, network.as_deref()).map_err(coded)?;

    let bar =
        ProgressBar::new(wanted.len() as u64).with_style(ProgressStyle::with_template("measuring {bar:30} {pos}/{len} edits, {eta} left")?);
    let (mut lines, mut first, mut failed) = (Vec::new(), None, 0);
    for id in wanted {
        let (state, metrics, message) = match measurer.measure(&id, args.force) {
            Ok(Outcome::Measured(m)) => ("measured", Some(m), None),
            Ok(Outcome::UpToDate(m)) => ("up-to-date", Some(m), None),
            Ok(Outcome::NotYet(why)) => ("not-yet", None, Some(why.to_owned())),
            Err(e) => {
                let e = coded(e);
                let message = told(&e);
                failed += 1;
                first.get_or_insert_with(|| e.context(format!("edit {id}")));
                ("failed", None, Some(message))
            }
        };
        lines.push(Line { edit: id, state, metrics, message });
        bar.inc(1);
    }
    bar.finish_and_clear();
    if ctx.json {
        println!("{}", serde_json::to_string_pretty(&lines)?);
    } else {
        println!("{}", table(&lines));
    }
    match first {
        Some(e) if failed > 1 => Err(e.context(format!("{failed} edits failed; the first"))),
        Some(e) => Err(e),
        None => Ok(()),
    }
}

/// An unreadable file of the corpus is bad input; the corpus crate's own words say which.
fn coded(e: Error) -> anyhow::Error {
    match e {
        Error::Corpus(e) => e.into(),
        e @ Error::Cad(redline_cad::Error::Io { .. } | redline_cad::Error::Schemas(_)) => match Err::<(), _>(e).exit(Exit::Input) {
            Err(e) => e,
            Ok(()) => anyhow!("no error"),
        },
        e => e.into(),
    }
}

#[cfg(feature = "onnx")]
fn network(path: &Path) -> anyhow::Result<Box<dyn ImageFeatures>> {
    Ok(Box::new(redline_features::OnnxFeatures::load(path).exit(Exit::Input)?))
}

#[cfg(not(feature = "onnx"))]
fn network(path: &Path) -> anyhow::Result<Box<dyn ImageFeatures>> {
    Err(anyhow!("{}: this redline was built without networks; build it with the feature `onnx`", path.display())).exit(Exit::Input)
}

fn table(lines: &[Line]) -> comfy_table::Table {
    let mut t = super::table(["edit", "state", "validity", "reference", "Chamfer, mm", "of its size", "IoU", "views", ""]);
    for l in lines {
        let m = l.metrics.as_deref();
        let c = m.and_then(|m| m.comparison.as_ref());
        let or_none = |s: Option<String>| s.unwrap_or_else(|| "–".into());
        let validity = m.map(|m| if m.valid { "valid".to_owned() } else { m.problems.join("; ") });
        let why = l.message.as_ref().or(m.and_then(|m| m.not_compared.as_ref())).or(c.and_then(|c| c.no_iou.as_ref()));
        t.add_row([
            l.edit.to_string(),
            l.state.to_owned(),
            or_none(validity),
            or_none(m.and_then(|m| m.reference.as_ref()).map(ToString::to_string)),
            or_none(c.map(|c| format!("{:.4}", c.chamfer_mm))),
            or_none(c.map(|c| format!("{:.2} %", c.chamfer_relative * 100.0))),
            or_none(c.and_then(|c| c.iou).map(|v| format!("{v:.3}"))),
            or_none(c.and_then(|c| c.image_similarity).map(|v| format!("{v:.3}"))),
            why.cloned().unwrap_or_default(),
        ]);
    }
    t
}
