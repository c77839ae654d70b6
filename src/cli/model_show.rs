//! `redline model show` and `redline model views`: what a CAD kernel says of models, and their views.

use super::Context;
use crate::exit::{Exit, WithExit as _};
use anyhow::{Context as _, anyhow};
use redline_cad::page::{Card, html, number};
use redline_cad::{Error, Examiner, ModelFacts};
use redline_schemas::{Corpus, EditId, ModelId, RenderEvent, RenderKind, fsio, jsonl};
use serde_json::json;
use std::path::{Path, PathBuf};

/// A STEP file to look at.
struct Subject {
    title: String,
    origin: String,
    path: PathBuf,
}

/// Shows models, STEP files and edits (with all their model states).
pub fn show(ctx: &Context, corpus: &Path, targets: &[String], out: Option<&Path>) -> anyhow::Result<()> {
    let corpus = Corpus::open(corpus);
    let mut subjects = Vec::new();
    for t in targets {
        subjects.extend(find(corpus.as_ref().ok(), t)?);
    }
    let examiner = examiner()?;
    let looked: Vec<(Subject, Result<ModelFacts, Error>)> =
        subjects.into_iter().map(|s| (examine(&examiner, &s), s)).map(|(m, s)| (s, m)).collect();

    let page = match out {
        Some(p) => p.to_owned(),
        None => Examiner::default_cache().join("page.html"),
    };
    let cards: Vec<Card> = looked
        .iter()
        .map(|(s, m)| Card {
            title: s.title.clone(),
            origin: s.origin.clone(),
            model: match m {
                Ok(m) => Ok(m.clone()),
                Err(e) => Err(e.to_string()),
            },
        })
        .collect();
    let title = match targets {
        [one] => format!("Model {one}"),
        many => format!("{} models", many.len()),
    };
    fsio::write_atomic(&page, html(&title, &cards).as_bytes())?;

    if ctx.json {
        let models: Vec<_> = looked
            .iter()
            .map(|(s, m)| match m {
                Ok(m) => json!({ "title": s.title, "path": s.path, "model": m }),
                Err(e) => json!({ "title": s.title, "path": s.path, "error": e.to_string() }),
            })
            .collect();
        println!("{}", serde_json::to_string_pretty(&json!({ "page": page, "models": models }))?);
        return Ok(());
    }
    let mut table = super::table(["model", "validity", "bodies", "faces", "edges", "vertices", "size, mm", "volume, mm³"]);
    for (s, m) in &looked {
        let unknown =
            |why: String| [s.title.clone(), why, String::new(), String::new(), String::new(), String::new(), String::new(), String::new()];
        table.add_row(match m {
            Err(e) => unknown(e.to_string()),
            Ok(ModelFacts { facts: None, error, .. }) => unknown(format!("unreadable: {}", error.as_deref().unwrap_or("no shape"))),
            Ok(ModelFacts { facts: Some(f), .. }) => [
                s.title.clone(),
                if f.valid { "valid".into() } else { f.problems.join("; ") },
                f.counts.bodies.to_string(),
                f.counts.faces.to_string(),
                f.counts.edges.to_string(),
                f.counts.vertices.to_string(),
                f.bounding_box.size().map(number).join(" × "),
                number(f.volume),
            ],
        });
    }
    println!("{table}");
    eprintln!("page with views: {}", page.display());
    Ok(())
}

fn examiner() -> anyhow::Result<Examiner> {
    Examiner::new(Examiner::default_cache()).exit(Exit::Device)
}

/// One broken or slow file must not keep the others from being shown.
fn examine(examiner: &Examiner, s: &Subject) -> Result<ModelFacts, Error> {
    examiner.examine(&s.path).inspect_err(|e| tracing::warn!("{e}"))
}

/// A model's id, an edit's id or a STEP file.
fn find(corpus: Option<&Corpus>, target: &str) -> anyhow::Result<Vec<Subject>> {
    if let Some(c) = corpus {
        if let Some(id) = ModelId::new(target).ok().filter(|id| c.model_dir(id).is_dir()) {
            let m = c.model(&id)?;
            let path = c.model_dir(&id).join(&m.step.path);
            let kind = if m.parametric { "parametric" } else { "dumb" };
            let structure = if m.assembly { "assembly" } else { "single part" };
            return Ok(vec![Subject { title: format!("Input model {}", m.name), origin: format!("{id}, {kind}, {structure}"), path }]);
        }
        if let Some(id) = EditId::new(target).ok().filter(|id| c.edit_dir(id).edit_json().is_file()) {
            return edit(c, &id);
        }
    }
    let path = PathBuf::from(target);
    if path.is_file() {
        let title = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        return Ok(vec![Subject { title, origin: target.to_owned(), path }]);
    }
    let place = corpus
        .map_or_else(|| "there is no corpus here".to_owned(), |c| format!("{} has no model and no edit of this id", c.root().display()));
    Err(anyhow!("“{target}” is no STEP file, and {place}")).exit(Exit::Input)
}

/// The input model, every state and the result of an edit.
fn edit(c: &Corpus, id: &EditId) -> anyhow::Result<Vec<Subject>> {
    let (m, dir) = (c.edit(id)?, c.edit_dir(id));
    let mut all = Vec::new();
    if let Some(model) = c.request(&m.request).ok().and_then(|r| r.model) {
        all.extend(find(Some(c), model.as_str())?);
    }
    let files = if dir.renders().exists() { jsonl::read_all::<RenderEvent>(&dir.renders())?.0 } else { Vec::new() };
    for f in files.iter().filter(|f| f.kind == RenderKind::State && f.path.ends_with(".step")) {
        let at = f.t_ns as f64 / 1e9;
        all.push(Subject { title: format!("State at {at:.1} s"), origin: format!("{id}/{}", f.path), path: dir.path().join(&f.path) });
    }
    if let Some(f) = m.final_model.as_ref().filter(|f| f.path.ends_with(".step")) {
        all.push(Subject { title: "Final model".into(), origin: format!("{id}/{}", f.path), path: dir.path().join(&f.path) });
    }
    if all.is_empty() {
        return Err(anyhow!("edit {id} has no model state and no result in STEP")).exit(Exit::Input);
    }
    Ok(all)
}

/// Draws the seven views of models into the corpus, and takes the kernel's counts over into their manifests.
pub fn views(ctx: &Context, corpus: &Corpus, ids: Vec<ModelId>) -> anyhow::Result<()> {
    let ids = if ids.is_empty() { corpus.model_ids()? } else { ids };
    let examiner = examiner()?;
    let mut done = Vec::new();
    for id in ids {
        let mut m = corpus.model(&id).exit(Exit::Input)?;
        let dir = corpus.model_dir(&id);
        let found = match examiner.examine(&dir.join(&m.step.path)) {
            Ok(f) => f,
            Err(e @ Error::Late { .. }) => {
                eprintln!("{e}; passed over");
                continue;
            }
            Err(e) => return Err(e.into()),
        };
        if let Some(e) = &found.error {
            eprintln!("{id}: the CAD kernel can’t read it ({e}); it gets no views");
        }
        std::fs::create_dir_all(dir.join("views")).with_context(|| format!("{}: could not create the folder views", dir.display()))?;
        for (view, from) in &found.views {
            let rel = format!("views/{view}.png");
            let picture = std::fs::read(from).with_context(|| format!("{}: could not read", from.display()))?;
            fsio::write_atomic(&dir.join(&rel), &picture)?;
            m.views.insert(view.clone(), rel);
        }
        m.counts = found.facts.as_ref().map(|f| f.counts).or(m.counts);
        fsio::write_json(&dir.join("model.json"), &m)?;
        eprintln!("{id}: {} views", found.views.len());
        done.push(m);
    }
    if ctx.json {
        println!("{}", serde_json::to_string_pretty(&done)?);
    } else {
        done.iter().for_each(|m| println!("{}", m.id));
    }
    Ok(())
}
