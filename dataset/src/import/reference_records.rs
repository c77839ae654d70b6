//! The reference dataset's records: one JSON object a request, its edits inside.
//!
//! What the corpus format has no place for (prompts, features, automatic scores) is kept word for word in
//! `reference.json` beside the session's manifest, so that an export gives it back.

use super::reference_time::{time_of_id, unix_ns, utc};
use super::{VideoImport, import_video};
use crate::{Error, Result};
use redline_schemas::time::{NS_PER_S, from_seconds};
use redline_schemas::{
    Agent, AgentUsage, Alignment, Clock, CommandEvent, CommandKind, Corpus, EditId, EditManifest, EventStream, FORMAT_VERSION, FileRef,
    ImportedFrom, MAX_SCORE, MIN_SCORE, ModelId, ModelManifest, Participant, ParticipantId, Rating, Ratings, RequestId, RequestManifest,
    Role, Segment, Session, SessionDir, Status, Streams, Timing, Tool, Transcript, TranscriptKind, VIEWS, Word, fsio, jsonl,
};
use serde_json::Value;
use std::path::{Component, Path, PathBuf};

/// The largest file of records that is read.
const MAX_RECORDS_BYTES: u64 = 1 << 30;

/// Where what has no place in the format is kept.
pub const REFERENCE_JSON: &str = "reference.json";

/// What an import did.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize)]
pub struct ImportedRecords {
    /// Participants that were new.
    pub participants: u64,
    /// Models that were new.
    pub models: u64,
    /// Requests made.
    pub requests: u64,
    /// Edits made.
    pub edits: u64,
    /// What was left out, and why.
    pub left_out: Vec<String>,
}

/// Imports a file of records. Paths in it are looked for below `files`; a file that is not there is
/// left out and said. Requests and edits that the corpus has already are left out too.
pub fn import_records(corpus: &Corpus, file: &Path, files: &Path) -> Result<ImportedRecords> {
    let bytes = fsio::read_limited(file, MAX_RECORDS_BYTES)?;
    let bad = |message: String| Error::Refused(format!("{}: {message}", file.display()));
    let all: Value = serde_json::from_slice(&bytes).map_err(|e| bad(format!("not JSON: {e}")))?;
    let Some(samples) = all.get("samples").unwrap_or(&all).as_array() else {
        return Err(bad("no list “samples” of requests in it: not the reference dataset’s records".into()));
    };
    let from = ImportedFrom { name: name_of(file), sha256: fsio::sha256_bytes(&bytes) };
    import_samples(corpus, samples, files, &from)
}

/// Imports requests that are given as records.
pub(super) fn import_samples(corpus: &Corpus, samples: &[Value], files: &Path, from: &ImportedFrom) -> Result<ImportedRecords> {
    let mut job = Import { corpus, files, from, done: ImportedRecords::default() };
    for s in samples {
        let id = text(s, "id").unwrap_or("(without id)").to_owned();
        if let Err(why) = job.request(s) {
            job.done.left_out.push(match why {
                Left::Out(why) => format!("request {id}: {why}"),
                Left::Failed(e) => return Err(e),
            });
        }
    }
    Ok(job.done)
}

pub(super) fn name_of(path: &Path) -> String {
    path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default()
}

/// A record that can't be taken, or a disk that fails.
enum Left {
    Out(String),
    Failed(Error),
}

impl<E: Into<Error>> From<E> for Left {
    fn from(e: E) -> Self {
        Self::Failed(e.into())
    }
}

fn out<T>(why: impl Into<String>) -> Result<T, Left> {
    Err(Left::Out(why.into()))
}

fn text<'a>(v: &'a Value, key: &str) -> Option<&'a str> {
    v.get(key)?.as_str()
}

fn time(v: &Value, key: &str) -> Option<i64> {
    unix_ns(v.get(key)?.as_f64()?)
}

fn need<T: std::str::FromStr>(v: &Value, key: &str) -> Result<T, Left>
where
    T::Err: std::fmt::Display,
{
    let t = text(v, key).ok_or_else(|| Left::Out(format!("no “{key}”")))?;
    t.parse().map_err(|e: T::Err| Left::Out(format!("“{key}”: {e}")))
}

struct Import<'a> {
    corpus: &'a Corpus,
    files: &'a Path,
    from: &'a ImportedFrom,
    done: ImportedRecords,
}

impl Import<'_> {
    fn request(&mut self, r: &Value) -> Result<(), Left> {
        let id: RequestId = need(r, "id")?;
        let dir = self.corpus.request_dir(&id);
        if dir.path().exists() {
            return out("the corpus has it already");
        }
        let (modality, difficulty) = (need(r, "modality")?, need(r, "difficulty")?);
        let participant = self.participant(r, Role::Requestor)?;
        let model = self.model(r)?;
        let video = r.get("30_720_audio").or_else(|| r.get("extra")?.get("30_720_audio")).and_then(Value::as_str);
        let video = video.and_then(|v| self.find(v));
        let mut manifest = match video {
            Some(file) => {
                let job = VideoImport { file, id: Some(id.clone()), participant, model, modality, difficulty, text: None, note: None };
                import_video(self.corpus, &job, &mut |_, _| {})?.manifest
            }
            None => {
                std::fs::create_dir_all(dir.path()).map_err(Error::io(dir.path(), "could not create the folder"))?;
                RequestManifest {
                    format_version: FORMAT_VERSION,
                    id: id.clone(),
                    participant,
                    model,
                    modality,
                    difficulty,
                    status: Status::Complete,
                    rejection: None,
                    session: empty_session(),
                    note: None,
                    imported_from: Some(self.from.clone()),
                    tool: Tool::redline(),
                }
            }
        };
        let times = Times::guess(r, id.as_str(), Some(manifest.session.duration_ns).filter(|d| *d > 0))?;
        times.apply(&mut manifest.session);
        manifest.session.streams.commands = commands(&dir, r, times.start_ns)?;
        if let Some(t) = text(r, "text").filter(|t| !t.is_empty()) {
            fsio::write_atomic(&dir.text(), t.as_bytes())?;
        }
        let audio = manifest.session.streams.audio.as_ref().map(|a| a.file.sha256.clone());
        for (key, kind) in [("transcript", TranscriptKind::Automatic), ("corrected_transcript", TranscriptKind::Oracle)] {
            if let Some(t) = transcript(r, key, &id, kind, manifest.session.duration_ns, audio.as_deref()) {
                fsio::write_json(&dir.transcript_path(kind), &t)?;
            }
        }
        let mut rest = r.clone();
        let edits = rest.as_object_mut().and_then(|o| o.remove("edits"));
        keep(&dir, &rest)?;
        fsio::write_json(&dir.request_json(), &manifest)?;
        self.done.requests += 1;
        for e in edits.as_ref().and_then(Value::as_array).into_iter().flatten() {
            let name = text(e, "id").unwrap_or("(without id)").to_owned();
            match self.edit(e, &id) {
                Ok(()) => {}
                Err(Left::Out(why)) => self.done.left_out.push(format!("edit {name}: {why}")),
                Err(failed) => return Err(failed),
            }
        }
        Ok(())
    }

    fn edit(&mut self, e: &Value, request: &RequestId) -> Result<(), Left> {
        let id: EditId = need(e, "id")?;
        let dir = self.corpus.edit_dir(&id);
        if dir.path().exists() {
            return out("the corpus has it already");
        }
        let participant = self.participant(e, Role::Editor)?;
        let times = Times::guess(e, id.as_str(), None)?;
        std::fs::create_dir_all(dir.path()).map_err(Error::io(dir.path(), "could not create the folder"))?;
        let mut session = empty_session();
        times.apply(&mut session);
        session.streams.commands = commands(&dir, e, times.start_ns)?;
        let step = e.get("brep_end").and_then(|b| first(b, "step")).map(str::to_owned);
        let final_model = match step {
            Some(rel) => self.copy(&rel, &dir, "final.step")?,
            None => None,
        };
        let tokens = e.get("token_count");
        let usage = tokens
            .and_then(|t| t.get("total_tokens")?.as_u64())
            .map(|n| AgentUsage { tokens: n, cost_usd: tokens.and_then(|t| t.get("cost_estimate")?.as_f64()) });
        let manifest = EditManifest {
            format_version: FORMAT_VERSION,
            id,
            request: request.clone(),
            participant,
            status: Status::Complete,
            rejection: None,
            started_ns: time(e, "start_time").map(|t| t - times.start_ns),
            stopped_ns: time(e, "end_time").map(|t| t - times.start_ns),
            session,
            final_model,
            usage,
            imported_from: Some(self.from.clone()),
            tool: Tool::redline(),
        };
        self.ratings(e, &manifest)?;
        keep(&dir, e)?;
        fsio::write_json(&dir.edit_json(), &manifest)?;
        self.done.edits += 1;
        Ok(())
    }

    /// An edit's ratings with both scores; the first of each rater counts.
    fn ratings(&mut self, e: &Value, edit: &EditManifest) -> Result<(), Left> {
        let mut ratings: Vec<Rating> = Vec::new();
        for r in e.get("ratings").and_then(Value::as_array).into_iter().flatten() {
            let scores = r.get("ratings").unwrap_or(&Value::Null);
            let score = |key: &str| u8::try_from(scores.get(key)?.as_u64()?).ok().filter(|s| (MIN_SCORE..=MAX_SCORE).contains(s));
            // Automatic scores are no ratings; they stay in reference.json.
            let (Some(instruction_following), Some(quality)) = (score("score_instr"), score("score_quality")) else { continue };
            let rater = match self.participant(r, Role::Rater) {
                Ok(p) if p != edit.participant && !ratings.iter().any(|r| r.rater == p) => p,
                Ok(p) => {
                    self.done.left_out.push(format!("edit {}: a second or own rating by {p}", edit.id));
                    continue;
                }
                Err(Left::Out(why)) => {
                    self.done.left_out.push(format!("edit {}: a rating: {why}", edit.id));
                    continue;
                }
                Err(failed) => return Err(failed),
            };
            let comment = text(scores, "comments").map(str::trim).filter(|c| !c.is_empty()).map(str::to_owned);
            // The time zone is not given; servers of the kind that wrote it count in UTC.
            let time = |t| chrono::NaiveDateTime::parse_from_str(t, "%Y-%m-%d %H:%M:%S%.f").ok();
            let rated_utc = text(scores, "submission_time").and_then(time).map(|t| t.and_utc());
            ratings.push(Rating { rater, instruction_following, quality, comment, rated_utc });
        }
        if ratings.is_empty() {
            return Ok(());
        }
        let all = Ratings { format_version: FORMAT_VERSION, edit: edit.id.clone(), ratings, tool: Tool::redline() };
        Ok(fsio::write_json(&self.corpus.edit_dir(&edit.id).ratings_path(), &all)?)
    }

    /// The record's user, as a participant of the corpus; never with an e-mail address.
    fn participant(&mut self, v: &Value, role: Role) -> Result<ParticipantId, Left> {
        let user = v.get("user").unwrap_or(&Value::Null);
        let name = user.as_str().or_else(|| text(user, "id")).ok_or_else(|| Left::Out("no “user”".into()))?;
        // An address or another name that is no id gets a pseudonym that is the same every time.
        let id = ParticipantId::new(name).or_else(|_| ParticipantId::new(format!("X{}", &fsio::sha256_bytes(name.as_bytes())[..12])))?;
        let mut all = self.corpus.participants()?;
        let human = user.get("is_human").and_then(Value::as_bool).unwrap_or(true);
        let known = all.participants.iter_mut().find(|p| p.id == id);
        match known {
            Some(p) if p.roles.contains(&role) => return Ok(id),
            Some(p) => {
                p.roles.push(role);
                p.roles.sort();
            }
            None => {
                let settings = user.get("extra").and_then(|e| e.get("vlm_config")).filter(|s| !s.is_null());
                let model = settings.and_then(|s| text(s, "model")).unwrap_or(id.as_str()).to_owned();
                let agent = (!human).then(|| Agent { model, settings: settings.cloned() });
                all.participants.push(Participant { id: id.clone(), roles: vec![role], created_utc: now(), consent: None, agent });
                all.participants.sort_by(|a, b| a.id.cmp(&b.id));
                self.done.participants += 1;
            }
        }
        self.corpus.write_participants(&all)?;
        Ok(id)
    }

    /// The request's model; `None` when its STEP file is not there.
    fn model(&mut self, r: &Value) -> Result<Option<ModelId>, Left> {
        let Some(brep) = r.get("brep_start").filter(|b| b.is_object()) else { return Ok(None) };
        let id: ModelId = need(brep, "id")?;
        if self.corpus.model_dir(&id).exists() {
            return Ok(Some(id));
        }
        let Some(step) = first(brep, "step").filter(|s| self.find(s).is_some()).map(str::to_owned) else {
            self.done.left_out.push(format!("model {id}: its STEP file is not below {}", self.files.display()));
            return Ok(None);
        };
        let path = self.corpus.model_dir(&id);
        let dir = SessionDir::new(&path);
        std::fs::create_dir_all(path.join("views")).map_err(Error::io(&path, "could not create the folder"))?;
        let Some(step) = self.copy(&step, &dir, "model.step")? else { return Ok(None) };
        let native = match first(brep, "f3d").map(str::to_owned) {
            Some(rel) => self.copy(&rel, &dir, "native.f3d")?,
            None => None,
        };
        let mut views = std::collections::BTreeMap::new();
        for rel in ["jpg", "png"].iter().filter_map(|k| brep.get(*k)?.as_array()).flatten().filter_map(Value::as_str) {
            let Some(view) =
                VIEWS.iter().find(|v| Path::new(rel).file_stem().is_some_and(|s| s.to_string_lossy().ends_with(&format!("_{v}"))))
            else {
                continue;
            };
            let ending = if rel.ends_with("png") { "png" } else { "jpg" };
            if let Some(f) = self.copy(rel, &dir, &format!("views/{view}.{ending}"))? {
                views.insert((*view).to_owned(), f.path);
            }
        }
        let manifest = ModelManifest {
            format_version: FORMAT_VERSION,
            name: text(r, "filename").unwrap_or(id.as_str()).to_owned(),
            id: id.clone(),
            created_utc: now(),
            step,
            native,
            parametric: r.get("parametric").and_then(Value::as_bool).unwrap_or(false),
            assembly: r.get("assembly").and_then(Value::as_bool).unwrap_or(false),
            counts: None,
            views,
            source: r.get("extra").and_then(|e| text(e, "source")).map(str::to_owned),
        };
        fsio::write_json(&path.join("model.json"), &manifest)?;
        self.done.models += 1;
        Ok(Some(id))
    }

    /// The file for a path in a record, when it is a plain one below `files`.
    fn find(&self, rel: &str) -> Option<PathBuf> {
        let plain = !rel.is_empty() && Path::new(rel).components().all(|c| matches!(c, Component::Normal(_)));
        let path = self.files.join(rel);
        let real = plain.then(|| path.canonicalize().ok()).flatten()?;
        // A link may lead out of the folder.
        (real.starts_with(self.files.canonicalize().ok()?) && real.is_file()).then_some(path)
    }

    fn copy(&mut self, rel: &str, dir: &SessionDir, to: &str) -> Result<Option<FileRef>, Left> {
        let Some(from) = self.find(rel) else {
            self.done.left_out.push(format!("{rel}: not below {}", self.files.display()));
            return Ok(None);
        };
        let to = dir.path().join(to);
        std::fs::copy(&from, &to).map_err(Error::io(&to, "could not write"))?;
        Ok(Some(dir.file_ref(&to)?))
    }
}

fn now() -> redline_schemas::Utc {
    chrono::Utc::now()
}

fn first<'a>(brep: &'a Value, key: &str) -> Option<&'a str> {
    match brep.get(key)? {
        Value::Array(a) => a.first()?.as_str(),
        v => v.as_str(),
    }
}

fn keep(dir: &SessionDir, rest: &Value) -> Result<(), Left> {
    let mut rest = rest.clone();
    without_addresses(&mut rest);
    Ok(fsio::write_json(&dir.path().join(REFERENCE_JSON), &rest)?)
}

/// E-mail addresses never enter a corpus.
fn without_addresses(v: &mut Value) {
    match v {
        Value::Object(o) => {
            if let Some(e) = o.get_mut("email") {
                *e = Value::Null;
            }
            o.values_mut().for_each(without_addresses);
        }
        Value::Array(a) => a.iter_mut().for_each(without_addresses),
        _ => {}
    }
}

/// The place of a record's session on the wall clock.
struct Times {
    start_ns: i64,
    duration_ns: i64,
}

impl Times {
    /// From what is given: start and end; else the video's length before the end, as the reference
    /// pipeline guesses; else the time in the id.
    fn guess(v: &Value, id: &str, video_ns: Option<i64>) -> Result<Self, Left> {
        let end = time(v, "end_time");
        let before_end = video_ns.and_then(|d| Some(end? - d));
        let start = time(v, "start_time").or(before_end).or_else(|| time_of_id(id)).or(end);
        let Some(start) = start else { return out("no time in it: neither “start_time”, nor “end_time”, nor one in the id") };
        let events = || events(v).filter_map(|e| time(e, "timestamp"));
        let start = events().min().map_or(start, |t| t.min(start));
        let stop = events().max().into_iter().chain(end).chain(video_ns.map(|d| start + d)).max().unwrap_or(start).max(start);
        Ok(Self { start_ns: start, duration_ns: stop - start })
    }

    fn apply(&self, s: &mut Session) {
        s.clock.started_utc = utc(self.start_ns);
        s.clock.alignment = Alignment::Estimated;
        s.duration_ns = s.duration_ns.max(self.duration_ns);
    }
}

fn events(v: &Value) -> impl Iterator<Item = &Value> {
    v.get("events").and_then(Value::as_array).into_iter().flatten()
}

fn empty_session() -> Session {
    let clock =
        Clock { name: "file".into(), started_utc: now(), origin_ns: None, alignment: Alignment::Estimated, discontinuities: vec![] };
    Session { clock, duration_ns: 0, screen: None, streams: Streams::default() }
}

/// The record's events in order of time; `None` without any.
fn commands(dir: &SessionDir, v: &Value, start_ns: i64) -> Result<Option<EventStream>, Left> {
    let mut list: Vec<(i64, &Value)> = events(v).filter_map(|e| Some((time(e, "timestamp")? - start_ns, e))).collect();
    if list.is_empty() {
        return Ok(None);
    }
    list.sort_by_key(|e| e.0);
    let path = dir.commands();
    let mut w = jsonl::Writer::create(&path)?;
    for (i, (t_ns, e)) in list.iter().enumerate() {
        let what = text(e, "event").unwrap_or_default();
        let kind = match what {
            "commandStarting" => CommandKind::Started,
            "commandTerminated" => CommandKind::Ended,
            "commandCancelled" => CommandKind::Cancelled,
            "documentSaved" => CommandKind::Saved,
            _ => CommandKind::Changed,
        };
        let parameters = (kind == CommandKind::Changed).then(|| serde_json::json!({ "event": what }));
        w.write(&CommandEvent {
            t_ns: *t_ns,
            kind,
            command_id: text(e, "commandId").map(str::to_owned),
            name: text(e, "commandName").map(str::to_owned),
            parameters,
            seq: i as u64 + 1,
            error_ns: 0,
        })?;
    }
    let count = w.finish()?;
    let (first, last) = (list.first().map(|e| e.0), list.last().map(|e| e.0));
    Ok(Some(EventStream { file: dir.file_ref(&path)?, count, first_t_ns: first, last_t_ns: last, lost: 0 }))
}

/// A WhisperX transcript; words without times are spread between their neighbours.
fn transcript(r: &Value, key: &str, id: &RequestId, kind: TranscriptKind, end_ns: i64, audio: Option<&str>) -> Option<Transcript> {
    let value = r.get(key)?;
    let list = value.get("segments").unwrap_or(value).as_array()?;
    let within = |s: f64| from_seconds(s).clamp(0, end_ns.max(NS_PER_S));
    let mut segments = Vec::new();
    for s in list {
        let (Some(start), Some(end)) = (s.get("start").and_then(Value::as_f64), s.get("end").and_then(Value::as_f64)) else { continue };
        let (start_ns, end_ns) = (within(start), within(end).max(within(start)));
        let all = s.get("words").and_then(Value::as_array).cloned().unwrap_or_default();
        let said: Vec<String> = text(s, "text").unwrap_or_default().split_whitespace().map(str::to_owned).collect();
        let n = said.len().max(1) as i64;
        let mut words = Vec::new();
        for (i, w) in said.into_iter().enumerate() {
            let given = all.get(i).filter(|g| text(g, "word").is_some_and(|t| t.trim() == w));
            let at = |k: &str| given.and_then(|g| g.get(k)?.as_f64()).map(within);
            let spread = |i: i64| start_ns + (end_ns - start_ns) * i / n;
            let (from, to, timing) = match (at("start"), at("end")) {
                (Some(a), Some(b)) if b >= a => (a, b, Timing::Aligned),
                _ => (spread(i as i64), spread(i as i64 + 1), Timing::Interpolated),
            };
            let score = given.and_then(|g| g.get("score")?.as_f64()).map(|s| s as f32);
            words.push(Word { text: w, start_ns: from, end_ns: to, score, timing });
        }
        let text = text(s, "text").unwrap_or_default().trim().to_owned();
        segments.push(Segment { start_ns, end_ns, text, words, no_speech_prob: None, avg_logprob: None });
    }
    Some(Transcript {
        format_version: FORMAT_VERSION,
        request: id.clone(),
        kind,
        language: text(value, "language").map(str::to_owned),
        segments,
        model: None,
        aligner: None,
        parameters: Value::Null,
        guards: Vec::new(),
        correction: None,
        audio_sha256: audio.map(str::to_owned),
        created_utc: now(),
        tool: Tool { name: "reference dataset".into(), version: String::new() },
    })
}
