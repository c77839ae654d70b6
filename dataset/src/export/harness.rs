//! A request as an agent's harness takes it: a folder with the task, and the settings that the agent fills in.

use crate::import::HARNESS_SETTINGS;
use crate::import::temporary::Temporary;
use crate::pack::instruction;
use crate::{Error, Result};
use redline_schemas::{Corpus, ModelManifest, RequestId, Status, VIEWS, fsio};
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Draws views of a STEP file: view name → picture. Brought in from outside, so that this crate needs no CAD kernel.
pub type Views<'a> = dyn Fn(&Path) -> Result<BTreeMap<String, PathBuf>, String> + 'a;

/// A folder that was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HarnessTask {
    /// The request.
    pub request: RequestId,
    /// The folder.
    pub folder: PathBuf,
    /// Views that the corpus did not have, and that were drawn.
    pub drawn_views: usize,
    /// Where the instruction comes from: `oracle`, `typed`, `automatic`; absent: only the video says it.
    pub instruction: Option<&'static str>,
    /// Whether the video is in it.
    pub video: bool,
}

/// Requests that can be exported: finished ones with a model.
pub fn harness_requests(corpus: &Corpus) -> Result<Vec<RequestId>> {
    let mut ids = Vec::new();
    for id in corpus.request_ids()? {
        let r = corpus.request(&id)?;
        if matches!(r.status, Status::Complete | Status::Recovered) && r.model.is_some() {
            ids.push(id);
        }
    }
    Ok(ids)
}

/// Writes a request's task as the new folder `out/<request>`. Nothing in it says who asked, or that anybody carried it out.
pub fn export_harness(corpus: &Corpus, id: &RequestId, out: &Path, views: &Views<'_>) -> Result<HarnessTask> {
    if !corpus.request_dir(id).request_json().is_file() {
        return Err(Error::Refused(format!("{}: there is no request {id}", corpus.root().display())));
    }
    let r = corpus.request(id)?;
    let source = corpus.request_dir(id);
    let manifest = source.request_json();
    if !matches!(r.status, Status::Complete | Status::Recovered) {
        return Err(Error::Refused(format!("{}: it is “{}”: only finished requests are given to agents", manifest.display(), r.status)));
    }
    let Some(model) = &r.model else {
        return Err(Error::Refused(format!("{}: it has no model, so there is nothing to edit", manifest.display())));
    };
    let target = out.join(id);
    if target.exists() {
        return Err(redline_schemas::Error::Exists { path: target }.into());
    }
    let model_dir = corpus.model_dir(model);
    let model = corpus.model(model)?;
    let (pictures, drawn_views) = all_views(&model_dir, &model, views)?;

    let staged = Temporary::beside(&target)?;
    let input = staged.path().join("input");
    let folder = input.join("views");
    std::fs::create_dir_all(&folder).map_err(Error::io(&folder, "could not create the folder"))?;
    let copy = |from: &Path, to: &str| -> Result<()> {
        std::fs::copy(from, input.join(to)).map_err(Error::io(from, "could not copy"))?;
        Ok(())
    };
    copy(&model_dir.join(&model.step.path), "model.step")?;
    let mut named = Map::new();
    for (view, from) in &pictures {
        let ending = if from.extension().is_some_and(|e| e == "png") { "png" } else { "jpg" };
        let rel = format!("views/{view}.{ending}");
        copy(from, &rel)?;
        named.insert(view.clone(), json!(format!("input/{rel}")));
    }
    let said = instruction(&source)?;
    if let Some(i) = &said {
        fsio::write_atomic(&input.join("instruction.txt"), format!("{}\n", i.text.trim_end()).as_bytes())?;
    }
    let video = r.session.streams.video.as_ref();
    if let Some(v) = video {
        copy(&source.path().join(&v.file.path), "video.mp4")?;
    }
    let sound = r.session.streams.audio.as_ref().filter(|_| !video.is_some_and(|v| v.has_audio));
    if let Some(a) = sound {
        copy(&source.path().join(&a.file.path), "audio.flac")?;
    }
    let task = json!({
        "edit_request_id": id,
        "request_type": "edit",
        "modality": r.modality,
        "difficulty": r.difficulty,
        "instruction": said.as_ref().map(|i| i.text.trim_end()),
        "instruction_source": said.as_ref().map(|i| i.source),
        "model": "input/model.step",
        "parametric": model.parametric,
        "assembly": model.assembly,
        "views": named,
        "video": video.map(|_| "input/video.mp4"),
        "audio": sound.map(|_| "input/audio.flac"),
    });
    fsio::write_json(&input.join("task.json"), &task)?;
    fsio::write_json(&staged.path().join(HARNESS_SETTINGS), &unfilled(id))?;
    staged.keep_as(&target)?;
    Ok(HarnessTask { request: id.clone(), folder: target, drawn_views, instruction: said.map(|i| i.source), video: video.is_some() })
}

/// Settings in which only what the agent knows is missing.
fn unfilled(id: &RequestId) -> Value {
    json!({
        "edit_request_id": id,
        "isHuman": false,
        "model": null,
        "model_version": null,
        "family": null,
        "harness": null,
        "start_time": null,
        "end_time": null,
        "token_counts": { "input_tokens": null, "output_tokens": null, "total_tokens": null, "cost_estimate": null },
        "failed_run": false,
    })
}

/// The model's seven views, drawn where the corpus lacks one, and how many were.
fn all_views(dir: &Path, m: &ModelManifest, draw: &Views<'_>) -> Result<(BTreeMap<String, PathBuf>, usize)> {
    let mut all: BTreeMap<String, PathBuf> =
        m.views.iter().map(|(v, rel)| (v.clone(), dir.join(rel))).filter(|(_, p)| p.is_file()).collect();
    let missing: Vec<&str> = VIEWS.into_iter().filter(|v| !all.contains_key(*v)).collect();
    if missing.is_empty() {
        return Ok((all, 0));
    }
    let step = dir.join(&m.step.path);
    let made = draw(&step).map_err(|e| Error::Refused(format!("{}: its views could not be drawn: {e}", step.display())))?;
    let mut drawn = 0;
    for view in missing {
        if let Some(p) = made.get(view) {
            all.insert(view.to_owned(), p.clone());
            drawn += 1;
        }
    }
    Ok((all, drawn))
}
