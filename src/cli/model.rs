//! `redline model`: adds, lists and shows input models.

use super::{Context, CorpusArg};
use crate::exit::{Exit, WithExit as _};
use anyhow::Context as _;
use clap::Subcommand;
use redline_schemas::{Corpus, FORMAT_VERSION, ModelId, ModelManifest, SessionDir};
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Add an input model
    Add {
        /// The STEP file
        step: PathBuf,
        /// Its id [default: a new one]
        #[arg(long)]
        id: Option<ModelId>,
        /// A name for people [default: the file's name]
        #[arg(long)]
        name: Option<String>,
        /// The CAD program's own file
        #[arg(long, value_name = "FILE")]
        native: Option<PathBuf>,
        /// It has a feature history (otherwise it is a dumb solid)
        #[arg(long)]
        parametric: bool,
        /// Where it comes from, for the dataset card
        #[arg(long)]
        source: Option<String>,
        #[command(flatten)]
        corpus: CorpusArg,
    },
    /// List the models
    List {
        #[command(flatten)]
        corpus: CorpusArg,
    },
    /// Show validity, counts, size and volume, and a page with seven views
    Show {
        /// Models or edits by id, or STEP files
        #[arg(required = true, value_name = "ID|FILE")]
        targets: Vec<String>,
        /// Write the page there [default: in the cache]
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
        #[command(flatten)]
        corpus: CorpusArg,
    },
    /// Draw the seven views of models into the corpus
    Views {
        /// The models [default: all]
        ids: Vec<ModelId>,
        #[command(flatten)]
        corpus: CorpusArg,
    },
}

pub fn run(ctx: &Context, args: Args) -> anyhow::Result<()> {
    match args.what {
        What::Show { targets, out, corpus } => super::model_show::show(ctx, &corpus.corpus, &targets, out.as_deref()),
        What::Views { ids, corpus } => super::model_show::views(ctx, &corpus.open()?, ids),
        What::Add { step, id, name, native, parametric, source, corpus } => {
            let corpus = corpus.open()?;
            let facts = redline_cad::step::read_facts(&step).exit(Exit::Input)?;
            if facts.dropped_entities > 0 {
                tracing::warn!("{}: {} entities could not be read; counts may be low", step.display(), facts.dropped_entities);
            }
            let id = id.unwrap_or_else(ModelId::generate);
            let dir = corpus.model_dir(&id);
            if dir.exists() {
                return Err(redline_schemas::Error::Exists { path: dir }.into());
            }
            let new = New { id: &id, step: &step, native: native.as_deref(), name, parametric, source, facts: &facts };
            let manifest = add(&corpus, new).inspect_err(|_| drop(std::fs::remove_dir_all(staging(&corpus, &id))))?;
            if ctx.json {
                println!("{}", serde_json::to_string_pretty(&manifest)?);
            } else {
                let c = facts.counts;
                eprintln!("Added “{}”: {} bodies, {} faces, {} edges, {} vertices", manifest.name, c.bodies, c.faces, c.edges, c.vertices);
                println!("{id}");
            }
            Ok(())
        }
        What::List { corpus } => {
            let corpus = corpus.open()?;
            let models = corpus.model_ids()?.iter().map(|id| corpus.model(id)).collect::<Result<Vec<_>, _>>()?;
            if ctx.json {
                println!("{}", serde_json::to_string_pretty(&models)?);
                return Ok(());
            }
            let mut table = super::table(["id", "name", "kind", "structure", "faces"]);
            for m in models {
                let kind = if m.parametric { "parametric" } else { "dumb" };
                let structure = if m.assembly { "assembly" } else { "single" };
                let faces = m.counts.map_or_else(|| "?".to_owned(), |c| c.faces.to_string());
                table.add_row([m.id.to_string(), m.name, kind.to_owned(), structure.to_owned(), faces]);
            }
            println!("{table}");
            Ok(())
        }
    }
}

struct New<'a> {
    id: &'a ModelId,
    step: &'a Path,
    native: Option<&'a Path>,
    name: Option<String>,
    parametric: bool,
    source: Option<String>,
    facts: &'a redline_cad::step::StepFacts,
}

fn staging(corpus: &Corpus, id: &ModelId) -> PathBuf {
    corpus.root().join("models").join(format!(".{id}.new"))
}

/// Copies the files beside the other models and renames the folder into place, so that a failed add leaves nothing.
fn add(corpus: &Corpus, new: New<'_>) -> anyhow::Result<ModelManifest> {
    let staging = staging(corpus, new.id);
    let folder = SessionDir::new(&staging);
    std::fs::create_dir_all(&staging).with_context(|| format!("{}: could not create the folder", staging.display()))?;
    let copy = |from: &Path, to: &str| -> anyhow::Result<_> {
        let to = staging.join(to);
        std::fs::copy(from, &to).with_context(|| format!("{}: could not copy into the corpus", from.display()))?;
        Ok(folder.file_ref(&to)?)
    };
    let step = copy(new.step, "model.step")?;
    let native = match new.native {
        Some(n) => Some(copy(n, &format!("native.{}", n.extension().and_then(|e| e.to_str()).unwrap_or("bin")))?),
        None => None,
    };
    let stem = || new.step.file_stem().map(|s| s.to_string_lossy().into_owned()).unwrap_or_default();
    let manifest = ModelManifest {
        format_version: FORMAT_VERSION,
        id: new.id.clone(),
        name: new.name.unwrap_or_else(stem),
        created_utc: chrono::Utc::now(),
        step,
        native,
        parametric: new.parametric,
        assembly: new.facts.assembly,
        counts: Some(new.facts.counts),
        views: Default::default(),
        source: new.source,
    };
    redline_schemas::fsio::write_json(&staging.join("model.json"), &manifest)?;
    let dir = corpus.model_dir(new.id);
    std::fs::rename(&staging, &dir).with_context(|| format!("{}: could not put the model into place", dir.display()))?;
    Ok(manifest)
}
