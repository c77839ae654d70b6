//! The reference dataset's raw layout: a folder a session.
//!
//! ```text
//! <request id>/settings.json  brep_start/<time>/  frames/  screen_recording.mov  transcript.json
//! <edit id>/   settings.json  brep_end/<time>/    frames/                        (settings.json may lie in <time>/)
//! ```
//! The folders are read into records, which are then imported like any others.

use super::reference_records::{ImportedRecords, import_samples, name_of};
use crate::{Error, Result};
use redline_schemas::{Corpus, ImportedFrom, VIEWS, fsio};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const MAX_SETTINGS_BYTES: u64 = 64 << 20;

/// Imports all sessions below `root`.
pub fn import_raw(corpus: &Corpus, root: &Path) -> Result<ImportedRecords> {
    let mut requests: BTreeMap<String, Map<String, Value>> = BTreeMap::new();
    let mut edits: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    let mut left_out = Vec::new();
    let mut print = Vec::new();
    for dir in folders(root)? {
        let Some((place, settings)) = settings(&dir)? else {
            left_out.push(format!("{}: no settings.json in it", dir.display()));
            continue;
        };
        print.extend(fsio::sha256_bytes(settings.to_string().as_bytes()).into_bytes());
        let Value::Object(s) = settings else {
            left_out.push(format!("{}: not an object", place.display()));
            continue;
        };
        let record = record(root, &dir, s);
        match record.get("request").and_then(Value::as_str) {
            Some(request) => edits.entry(request.to_owned()).or_default().push(Value::Object(record)),
            None => drop(requests.insert(name_of(&dir), record)),
        }
    }
    if requests.is_empty() && edits.is_empty() {
        let message = format!("{}: no session of the reference dataset in it (a folder with a settings.json each)", root.display());
        return Err(Error::Refused(message));
    }
    let samples: Vec<Value> = requests
        .into_iter()
        .map(|(id, mut r)| {
            r.insert("edits".into(), Value::Array(edits.remove(&id).unwrap_or_default()));
            Value::Object(r)
        })
        .collect();
    left_out.extend(edits.into_keys().map(|r| format!("edits of request {r}: the request is not there")));
    let from = ImportedFrom { name: name_of(root), sha256: fsio::sha256_bytes(&print) };
    let mut done = import_samples(corpus, &samples, root, &from)?;
    done.left_out.extend(left_out);
    Ok(done)
}

fn folders(dir: &Path) -> Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(dir).map_err(Error::io(dir, "could not list"))?;
    let mut all: Vec<PathBuf> = entries.flatten().filter(|e| e.file_type().is_ok_and(|t| t.is_dir())).map(|e| e.path()).collect();
    all.sort();
    Ok(all)
}

/// The newest `<time>` folder in one that holds some.
fn newest(dir: &Path) -> Option<PathBuf> {
    let time = |p: &PathBuf| name_of(p).parse::<f64>().ok().filter(|t| t.is_finite());
    folders(dir).ok()?.into_iter().filter(|p| time(p).is_some()).max_by(|a, b| time(a).unwrap_or(0.0).total_cmp(&time(b).unwrap_or(0.0)))
}

/// Where the settings lie, and what they say.
fn settings(dir: &Path) -> Result<Option<(PathBuf, Value)>> {
    let deep = ["brep_end", "brep_start"].iter().filter_map(|b| newest(&dir.join(b)));
    for place in std::iter::once(dir.to_path_buf()).chain(deep) {
        let path = place.join("settings.json");
        if path.symlink_metadata().is_ok_and(|m| m.is_file()) {
            let bytes = fsio::read_limited(&path, MAX_SETTINGS_BYTES)?;
            let value = serde_json::from_slice(&bytes).map_err(|e| Error::Refused(format!("{}: not JSON: {e}", path.display())))?;
            return Ok(Some((path, value)));
        }
    }
    Ok(None)
}

/// A record out of a folder and its settings.
fn record(root: &Path, dir: &Path, mut s: Map<String, Value>) -> Map<String, Value> {
    let id = name_of(dir);
    // The path of the recording machine's own file holds a user name.
    let filename = s.remove("filename").and_then(|f| Some(f.as_str()?.rsplit(['/', '\\']).next()?.to_owned()));
    let mut take = |keys: &[&str]| keys.iter().find_map(|k| s.remove(*k));
    let mut r = Map::new();
    let user = take(&["userId", "user_id", "user"]).unwrap_or_else(|| json!(id.rsplit_once('_').map_or(id.as_str(), |p| p.0)));
    let human = take(&["isHuman", "is_human"]).unwrap_or(Value::Bool(true));
    r.insert("user".into(), json!({ "id": user, "is_human": human }));
    if let Some(request) = take(&["edit_request_id"]).filter(|q| q.as_str() != Some(&id)) {
        r.insert("request".into(), request);
    }
    if let Some(tokens) = take(&["token_counts", "token_count"]) {
        r.insert("token_count".into(), tokens);
    }
    if let Some(m) = take(&["modality", "request_modality"]) {
        r.insert("modality".into(), m);
    }
    if let Some(t) = take(&["text", "request_text"]) {
        r.insert("text".into(), t);
    }
    take(&["edit_id", "request_id", "id"]);
    r.insert("id".into(), json!(id));
    if let Some(f) = filename {
        r.insert("filename".into(), json!(f));
    }
    // What has no name of its own here stays as it is.
    r.extend(s);
    for brep in ["brep_start", "brep_end"] {
        if let Some(b) = newest(&dir.join(brep)) {
            r.insert(brep.into(), files_of(root, &b, &id));
        }
    }
    let video = ["screen_recording.mov", "screen_recording.mp4"].iter().map(|n| dir.join(n)).find(|p| p.is_file());
    if let Some(v) = video.and_then(|v| below(root, &v)) {
        r.insert("30_720_audio".into(), json!(v));
    }
    for key in ["transcript", "corrected_transcript"] {
        let path = dir.join(format!("{key}.json"));
        let value = fsio::read_limited(&path, MAX_SETTINGS_BYTES).ok().and_then(|b| serde_json::from_slice::<Value>(&b).ok());
        if let Some(v) = value {
            r.insert(key.into(), v);
        }
    }
    r
}

fn below(root: &Path, path: &Path) -> Option<String> {
    let rel = path.strip_prefix(root).ok()?;
    Some(rel.components().map(|c| c.as_os_str().to_string_lossy()).collect::<Vec<_>>().join("/"))
}

/// The model files in a `<time>` folder, by kind.
fn files_of(root: &Path, dir: &Path, session: &str) -> Value {
    let user = session.rsplit_once('_').map_or(session, |p| p.0);
    let mut b = Map::new();
    b.insert("id".into(), json!(format!("{user}_{}", name_of(dir))));
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.filter(|e| e.file_type().is_ok_and(|t| t.is_file())).map(|e| e.path()).collect();
    paths.sort();
    for p in paths {
        let ending = p.extension().and_then(|e| e.to_str()).unwrap_or_default().to_ascii_lowercase();
        let key = match ending.as_str() {
            "step" | "stp" => "step",
            "f3d" => "f3d",
            "stl" => "stl",
            "smt" => "smt",
            "jpg" | "png" if VIEWS.iter().any(|v| p.file_stem().is_some_and(|s| s.to_string_lossy().ends_with(&format!("_{v}")))) => {
                &ending
            }
            _ => continue,
        };
        if let (Some(rel), Value::Array(list)) = (below(root, &p), b.entry(key).or_insert_with(|| json!([]))) {
            list.push(json!(rel));
        }
    }
    Value::Object(b)
}
