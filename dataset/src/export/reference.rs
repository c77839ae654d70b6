//! A corpus in the reference dataset's schema: `records.json` and the files that it names.

use crate::import::reference_time::{ns_of, unix_seconds};
use crate::import::{HARNESS_SETTINGS, REFERENCE_JSON};
use crate::{Error, Result};
use redline_schemas::time::seconds;
use redline_schemas::{
    CommandEvent, CommandKind, Corpus, EditManifest, ModelManifest, Participant, ParticipantId, RequestManifest, Session, SessionDir,
    Status, Transcript, TranscriptKind, VIEWS, fsio, jsonl,
};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// What the converted video of a request is called after its id.
const SUFFIX_VIDEO: &str = "_30_720_audio.mp4";

/// What was written.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
pub struct ExportedRecords {
    /// The records' file.
    pub records: PathBuf,
    /// Requests in it.
    pub requests: u64,
    /// Edits in it.
    pub edits: u64,
    /// Files copied beside it.
    pub files: u64,
}

/// Writes all whole requests and edits into the new folder `out`.
pub fn export_records(corpus: &Corpus, out: &Path) -> Result<ExportedRecords> {
    if out.exists() {
        return Err(redline_schemas::Error::Exists { path: out.into() }.into());
    }
    let people = corpus.participants()?.participants.into_iter().map(|p| (p.id.clone(), p)).collect();
    let mut job = Export { corpus, out, people, done: ExportedRecords { records: out.join("records.json"), ..Default::default() } };
    for d in ["breps", "videos"] {
        let dir = out.join(d);
        std::fs::create_dir_all(&dir).map_err(Error::io(dir, "could not create the folder"))?;
    }
    let mut edits: BTreeMap<_, Vec<EditManifest>> = BTreeMap::new();
    for id in corpus.edit_ids()? {
        let e = corpus.edit(&id)?;
        if whole(e.status) {
            edits.entry(e.request.clone()).or_default().push(e);
        }
    }
    let mut samples = Vec::new();
    for id in corpus.request_ids()? {
        let r = corpus.request(&id)?;
        if whole(r.status) {
            samples.push(job.request(&r, edits.remove(&id).unwrap_or_default())?);
        }
    }
    fsio::write_json(&job.done.records, &json!({ "count": samples.len(), "samples": samples }))?;
    Ok(job.done)
}

fn whole(s: Status) -> bool {
    matches!(s, Status::Complete | Status::Recovered)
}

struct Export<'a> {
    corpus: &'a Corpus,
    out: &'a Path,
    people: BTreeMap<ParticipantId, Participant>,
    done: ExportedRecords,
}

impl Export<'_> {
    fn request(&mut self, r: &RequestManifest, edits: Vec<EditManifest>) -> Result<Value> {
        let dir = self.corpus.request_dir(&r.id);
        let mut o = imported(&dir)?;
        o.insert("id".into(), json!(r.id));
        o.insert("user".into(), self.user(&r.participant));
        o.insert("difficulty".into(), json!(r.difficulty));
        o.insert("modality".into(), json!(r.modality));
        self.default(&mut o, "request_type", json!("edit"));
        self.default(&mut o, "instructions", json!(""));
        self.default(&mut o, "frames_dir", json!(format!("frames/{}", r.id)));
        self.times(&mut o, &r.session, None, None);
        o.insert("events".into(), events(&dir, &r.session)?);
        let model = match &r.model {
            Some(m) => Some(self.corpus.model(m)?),
            None => None,
        };
        if let Some(m) = &model {
            self.default(&mut o, "filename", json!(m.name));
            o.insert("assembly".into(), json!(m.assembly));
            o.insert("parametric".into(), json!(m.parametric));
            let brep = self.model(m, &r.participant)?;
            merge(&mut o, "brep_start", brep);
        }
        let text = dir.text();
        if text.is_file() {
            let bytes = fsio::read_limited(&text, 4 << 20)?;
            o.insert("text".into(), json!(String::from_utf8_lossy(&bytes)));
        }
        let mut spoken = None;
        for (key, kind) in [("transcript", TranscriptKind::Automatic), ("corrected_transcript", TranscriptKind::Oracle)] {
            if let Some(t) = dir.transcript(kind)? {
                o.entry(key).or_insert_with(|| whisperx(&t, r));
                spoken = Some(t.text().replace('\n', " "));
            }
        }
        // A spoken request's text is what was said, corrected where it was.
        if let Some(t) = spoken {
            self.default(&mut o, "text", json!(t));
        }
        if let Some(v) = &r.session.streams.video {
            let to = format!("videos/{}{SUFFIX_VIDEO}", r.id);
            self.copy(&dir.path().join(&v.file.path), &to)?;
            match o.entry("extra").or_insert_with(|| json!({})) {
                Value::Object(extra) => drop(extra.insert("30_720_audio".into(), json!(to))),
                other => *other = json!({ "30_720_audio": to }),
            }
        }
        let edits = edits.iter().map(|e| self.edit(e)).collect::<Result<Vec<_>>>()?;
        o.insert("edits".into(), Value::Array(edits));
        self.done.requests += 1;
        Ok(Value::Object(o))
    }

    fn edit(&mut self, e: &EditManifest) -> Result<Value> {
        let dir = self.corpus.edit_dir(&e.id);
        let mut o = imported(&dir)?;
        o.insert("id".into(), json!(e.id));
        o.insert("request".into(), json!(e.request));
        o.insert("user".into(), self.user(&e.participant));
        self.default(&mut o, "frames_dir", json!(format!("frames/{}", e.id)));
        self.times(&mut o, &e.session, e.started_ns, e.stopped_ns);
        o.insert("events".into(), events(&dir, &e.session)?);
        // A harness tells tokens in and out apart.
        let settings = dir.path().join(HARNESS_SETTINGS);
        if settings.is_file() {
            let said: Map<String, Value> = fsio::read_json(&settings)?;
            self.default(&mut o, "token_count", said.get("token_counts").cloned().unwrap_or_default());
        }
        if let Some(u) = &e.usage {
            self.default(&mut o, "token_count", json!({ "total_tokens": u.tokens, "cost_estimate": u.cost_usd }));
        }
        self.default(&mut o, "token_count", Value::Null);
        if let Some(m) = &e.final_model {
            let to = format!("breps/{}_final.step", e.id);
            self.copy(&dir.path().join(&m.path), &to)?;
            let mut brep = json!({ "id": format!("{}_final", e.id), "user": self.user(&e.participant), "step": [to] });
            for (key, list) in self.views(e, &dir)? {
                brep[key] = json!(list);
            }
            merge(&mut o, "brep_end", brep);
        }
        self.done.edits += 1;
        Ok(Value::Object(o))
    }

    /// Pictures of the edit's result, by kind of file; edits that were recorded have none.
    fn views(&mut self, e: &EditManifest, dir: &SessionDir) -> Result<BTreeMap<&'static str, Vec<String>>> {
        let mut pictures: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for (view, key) in VIEWS.into_iter().flat_map(|v| [(v, "png"), (v, "jpg")]) {
            let from = dir.path().join(format!("renders/{view}.{key}"));
            if from.is_file() {
                let to = format!("breps/{}_final_{view}.{key}", e.id);
                self.copy(&from, &to)?;
                pictures.entry(key).or_default().push(to);
            }
        }
        Ok(pictures)
    }

    fn default(&self, o: &mut Map<String, Value>, key: &str, value: Value) {
        if o.get(key).is_none_or(Value::is_null) {
            o.insert(key.into(), value);
        }
    }

    fn times(&self, o: &mut Map<String, Value>, s: &Session, started: Option<i64>, stopped: Option<i64>) {
        let at = |t_ns: i64| json!(unix_seconds(ns_of(s.clock.started_utc).saturating_add(t_ns)));
        // A start that the record left open was guessed on import: it stays open.
        if !o.contains_key("start_time") || started.is_some() {
            o.insert("start_time".into(), at(started.unwrap_or(0)));
        }
        if !o.contains_key("end_time") || stopped.is_some() {
            o.insert("end_time".into(), at(stopped.unwrap_or(s.duration_ns)));
        }
    }

    fn user(&self, id: &ParticipantId) -> Value {
        let agent = self.people.get(id).and_then(|p| p.agent.as_ref());
        json!({ "id": id, "is_human": agent.is_none(), "extra": { "email": null, "vlm_config": agent.and_then(|a| a.settings.clone()) } })
    }

    fn model(&mut self, m: &ModelManifest, user: &ParticipantId) -> Result<Value> {
        let dir = self.corpus.model_dir(&m.id);
        let mut list = |from: &str, to: String| -> Result<Value> {
            self.copy(&dir.join(from), &to)?;
            Ok(json!([to]))
        };
        let step = list(&m.step.path, format!("breps/{}.step", m.id))?;
        let f3d = match &m.native {
            Some(n) => list(&n.path, format!("breps/{}.f3d", m.id))?,
            None => Value::Null,
        };
        let mut pictures: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for (view, path) in &m.views {
            let key = if path.ends_with("png") { "png" } else { "jpg" };
            let to = format!("breps/{}_{view}.{key}", m.id);
            list(path, to.clone())?;
            pictures.entry(key).or_default().push(to);
        }
        let mut brep = json!({ "id": m.id, "user": self.user(user), "step": step, "f3d": f3d });
        for (key, list) in pictures {
            brep[key] = json!(list);
        }
        Ok(brep)
    }

    fn copy(&mut self, from: &Path, to: &str) -> Result<()> {
        let to = self.out.join(to);
        if to.exists() {
            return Ok(());
        }
        std::fs::copy(from, &to).map_err(Error::io(from, "could not copy"))?;
        self.done.files += 1;
        Ok(())
    }
}

/// What an import kept; nothing for our own sessions.
fn imported(dir: &SessionDir) -> Result<Map<String, Value>> {
    let path = dir.path().join(REFERENCE_JSON);
    Ok(if path.is_file() { fsio::read_json(&path)? } else { Map::new() })
}

/// Our own fields into the record's object, which may hold more.
fn merge(o: &mut Map<String, Value>, key: &str, ours: Value) {
    match (o.get_mut(key), ours) {
        (Some(Value::Object(theirs)), Value::Object(mut ours)) => {
            // The record's own name of a model stays: others refer to it.
            if theirs.get("id").is_some_and(Value::is_string) {
                ours.remove("id");
            }
            theirs.extend(ours);
        }
        (_, ours) => drop(o.insert(key.into(), ours)),
    }
}

fn events(dir: &SessionDir, s: &Session) -> Result<Value> {
    let Some(stream) = &s.streams.commands else { return Ok(json!([])) };
    let start = ns_of(s.clock.started_utc);
    let mut list = Vec::new();
    for e in jsonl::Reader::<CommandEvent>::open(&dir.path().join(&stream.file.path))? {
        let e = e?;
        let event = match e.kind {
            CommandKind::Started => "commandStarting",
            CommandKind::Ended => "commandTerminated",
            CommandKind::Cancelled => "commandCancelled",
            CommandKind::Saved => "documentSaved",
            CommandKind::Camera => "cameraChanged",
            CommandKind::Changed => e.parameters.as_ref().and_then(|p| p.get("event")?.as_str()).unwrap_or("documentChanged"),
        };
        let timestamp = unix_seconds(start.saturating_add(e.t_ns));
        list.push(json!({ "event": event, "commandId": e.command_id, "commandName": e.name, "timestamp": timestamp }));
    }
    Ok(Value::Array(list))
}

/// Times count from the video's first frame there.
fn whisperx(t: &Transcript, r: &RequestManifest) -> Value {
    let zero = r.session.streams.video.as_ref().map_or(0, |v| v.grid.first_t_ns);
    let at = |t_ns: i64| seconds(t_ns.saturating_sub(zero));
    let word = |w: &redline_schemas::Word| json!({ "word": w.text, "start": at(w.start_ns), "end": at(w.end_ns), "score": w.score });
    let segment = |s: &redline_schemas::Segment| {
        let words: Vec<Value> = s.words.iter().map(word).collect();
        json!({ "start": at(s.start_ns), "end": at(s.end_ns), "text": s.text, "words": words })
    };
    json!({ "segments": t.segments.iter().map(segment).collect::<Vec<_>>(), "language": t.language })
}
