//! What an agent's harness made — a STEP file, `settings.json`, views — as an edit by a program.

use super::harness_settings::Settings;
use super::still;
use super::temporary::Temporary;
use crate::{Error, Result, check};
use redline_schemas::{
    Alignment, Clock, Corpus, EditId, EditManifest, EventStream, FORMAT_VERSION, ImportedFrom, Participant, ParticipantId, RenderEvent,
    RenderKind, RequestId, Role, Session, SessionDir, Status, Streams, Tool, VIEWS, fsio, jsonl, picture, step,
};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// What a harness writes about its edit; kept under this name beside the edit's manifest too.
pub const HARNESS_SETTINGS: &str = "settings.json";

/// The largest settings that are read.
const MAX_SETTINGS_BYTES: u64 = 16 << 20;
/// The largest STEP file that is taken.
const MAX_STEP_BYTES: u64 = 1 << 30;
/// The largest picture that is taken: larger ones are not looked into by the check.
const MAX_VIEW_BYTES: u64 = 64 << 20;
/// Folders are looked into this deep for settings.
const MAX_DEPTH: usize = 8;

/// An edit that was made of a folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HarnessEdit {
    /// The folder.
    pub folder: PathBuf,
    /// The edit.
    pub edit: EditId,
    /// The request that it carries out.
    pub request: RequestId,
    /// The program, as a participant.
    pub participant: ParticipantId,
    /// Its language model.
    pub model: String,
    /// Whether the participant was new.
    pub new_participant: bool,
    /// Whether there is a resulting model; there is none after a failed run.
    pub result: bool,
    /// Whether the STEP file lacks its end: taken as it is, since an agent may have left it so, and to be named.
    pub cut_off: bool,
    /// Views that were taken.
    pub views: Vec<&'static str>,
    /// Views that are missing.
    pub missing_views: Vec<&'static str>,
    /// Files and folders that were not looked at.
    pub ignored: Vec<String>,
}

/// What became of a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HarnessOutcome {
    /// An edit.
    Imported(Box<HarnessEdit>),
    /// Nothing: the corpus has an edit of the same settings and the same STEP file.
    Known(EditId),
}

/// The folders with settings in `dir` or below it, sorted; links are not followed. Of several in one `brep_end` the last
/// one counts, as in the reference benchmark. A folder with a STEP file but without settings is among them too, so that
/// it is not passed over in silence.
pub fn harness_folders(dir: &Path) -> Result<Vec<PathBuf>> {
    if dir.is_file() {
        return Err(Error::Refused(format!("{}: a file: give the folder that it lies in", dir.display())));
    }
    let mut found = Vec::new();
    look(dir, 0, &mut found)?;
    if found.is_empty() {
        let message = format!("{}: no {HARNESS_SETTINGS} in it or below it: give the folder that a harness wrote", dir.display());
        return Err(Error::Refused(message));
    }
    Ok(found)
}

fn look(dir: &Path, depth: usize, found: &mut Vec<PathBuf>) -> Result<()> {
    let entries = std::fs::read_dir(dir).map_err(Error::io(dir, "could not list"))?;
    let mut entries: Vec<std::fs::DirEntry> = entries.collect::<std::io::Result<_>>().map_err(Error::io(dir, "could not list"))?;
    entries.sort_by_key(std::fs::DirEntry::file_name);
    let ours = |e: &std::fs::DirEntry| e.file_name() == HARNESS_SETTINGS || is_step(&e.file_name().to_string_lossy());
    if entries.iter().any(ours) {
        found.push(dir.into());
        return Ok(());
    }
    if depth == MAX_DEPTH {
        return Ok(());
    }
    let mut folders: Vec<PathBuf> =
        entries.iter().filter(|e| e.file_type().is_ok_and(|t| t.is_dir())).map(std::fs::DirEntry::path).collect();
    if dir.file_name().is_some_and(|n| n == "brep_end") {
        folders.drain(..folders.len().saturating_sub(1));
    }
    folders.iter().try_for_each(|f| look(f, depth + 1, found))
}

fn ending(name: &str) -> String {
    Path::new(name).extension().map(|e| e.to_string_lossy().to_ascii_lowercase()).unwrap_or_default()
}

fn is_step(name: &str) -> bool {
    matches!(ending(name).as_str(), "step" | "stp")
}

/// The view that a picture's name stands for: `top.png`, `tmp_top.jpg`.
fn view_of(name: &str) -> Option<&'static str> {
    if !matches!(ending(name).as_str(), "png" | "jpg" | "jpeg") {
        return None;
    }
    let stem = Path::new(name).file_stem()?.to_string_lossy().to_ascii_lowercase();
    let last = stem.rsplit('_').next()?;
    VIEWS.into_iter().find(|v| *v == last)
}

/// What lies in a harness's folder.
#[derive(Default)]
struct Found {
    settings: Option<PathBuf>,
    step: Option<PathBuf>,
    views: BTreeMap<&'static str, PathBuf>,
    ignored: Vec<String>,
}

fn refuse<T>(path: &Path, message: impl std::fmt::Display) -> Result<T> {
    Err(Error::Refused(format!("{}: {message}", path.display())))
}

impl Found {
    fn of(dir: &Path) -> Result<Self> {
        let mut found = Self::default();
        let mut paths: Vec<PathBuf> = Vec::new();
        for e in std::fs::read_dir(dir).map_err(Error::io(dir, "could not list"))? {
            paths.push(e.map_err(Error::io(dir, "could not list"))?.path());
        }
        paths.sort();
        for path in paths {
            let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
            let (settings, step, view) = (name == HARNESS_SETTINGS, is_step(&name), view_of(&name));
            if !settings && !step && view.is_none() {
                found.ignored.push(name);
                continue;
            }
            // A link may lead out of the folder.
            if !path.symlink_metadata().is_ok_and(|m| m.is_file()) {
                return refuse(&path, "not a plain file: put the file itself there");
            }
            if settings {
                found.settings = Some(path);
            } else if step {
                if let Some(other) = found.step.replace(path) {
                    return refuse(dir, format!("two STEP files ({} and {name}): leave only the edit's result", short(&other)));
                }
            } else if let Some(view) = view
                && let Some(other) = found.views.insert(view, path)
            {
                return refuse(dir, format!("two pictures of the view {view} ({} and {name}): leave one", short(&other)));
            }
        }
        Ok(found)
    }
}

fn short(path: &Path) -> String {
    path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default()
}

/// Takes in folders, one after the other.
pub struct HarnessImport<'a> {
    corpus: &'a Corpus,
    /// Hash of settings and STEP file → the edit that it became.
    known: BTreeMap<String, EditId>,
}

impl<'a> HarnessImport<'a> {
    /// Looks which folders the corpus has already.
    pub fn new(corpus: &'a Corpus) -> Result<Self> {
        let ids = corpus.edit_ids()?;
        // An edit that can't be read is the check's finding, and keeps nobody from adding others.
        let print = |id: EditId| Some((corpus.edit(&id).ok()?.imported_from?.sha256, id));
        Ok(Self { corpus, known: ids.into_iter().filter_map(print).collect() })
    }

    /// Makes an edit of a folder. When that fails, the error names the file, and nothing is left behind.
    pub fn folder(&mut self, dir: &Path) -> Result<HarnessOutcome> {
        let found = Found::of(dir)?;
        let Some(settings_file) = &found.settings else {
            return refuse(dir, format!("no {HARNESS_SETTINGS} in it: see docs/harness.md for its fields"));
        };
        let text = fsio::read_limited(settings_file, MAX_SETTINGS_BYTES)?;
        let settings = Settings::parse(&text).or_else(|e| refuse(settings_file, e))?;
        if found.step.is_none() && !settings.failed {
            let message = "no STEP file (*.step, *.stp) in it: put the edit's result there, or say \"failed_run\": true in settings.json";
            return refuse(dir, message);
        }
        let print = print(&settings, found.step.as_deref())?;
        if let Some(edit) = self.known.get(&print) {
            return Ok(HarnessOutcome::Known(edit.clone()));
        }
        self.check_request(settings_file, &settings.request)?;
        let edit = settings.edit.clone().unwrap_or_else(EditId::generate);
        let target = self.corpus.edit_dir(&edit);
        if target.path().exists() {
            let message = format!("edit {edit} is in the corpus already, with other content: give another “edit_id”, or leave it out");
            return refuse(settings_file, message);
        }
        let (people, new_participant) = self.people(settings_file, &settings)?;
        let known_as = people.participants.iter().find(|p| p.id == settings.participant).and_then(|p| p.agent.as_ref());
        let model = known_as.unwrap_or(&settings.agent).model.clone();

        let staged = Temporary::beside(target.path())?;
        // “.” has a name too.
        let name = dir.canonicalize().map_or_else(|_| short(dir), |d| short(&d));
        let from = ImportedFrom { name, sha256: print.clone() };
        stage(&staged, &settings, &found, &edit, from)?;
        refuse_personal(&staged, dir, &found)?;
        let before = self.corpus.participants()?;
        self.corpus.write_participants(&people)?;
        if let Err(e) = staged.keep_as(target.path()) {
            let _ = self.corpus.write_participants(&before);
            return Err(e);
        }
        self.known.insert(print, edit.clone());
        Ok(HarnessOutcome::Imported(Box::new(HarnessEdit {
            folder: dir.into(),
            edit,
            request: settings.request,
            participant: settings.participant,
            model,
            new_participant,
            result: found.step.is_some(),
            cut_off: found.step.as_deref().map(step::is_cut_off).transpose()?.unwrap_or(false),
            missing_views: VIEWS.into_iter().filter(|v| !found.views.contains_key(v)).collect(),
            views: VIEWS.into_iter().filter(|v| found.views.contains_key(v)).collect(),
            ignored: found.ignored,
        })))
    }

    fn check_request(&self, settings: &Path, id: &RequestId) -> Result<()> {
        if !self.corpus.request_dir(id).request_json().is_file() {
            let root = self.corpus.root().display();
            return refuse(settings, format!("“edit_request_id”: the corpus {root} has no request {id}"));
        }
        match self.corpus.request(id)?.status {
            Status::Complete | Status::Recovered => Ok(()),
            Status::Recording => refuse(settings, format!("request {id} is not finished: end its recording, or `redline recover`")),
            Status::Rejected => refuse(settings, format!("request {id} is rejected: it takes no edits")),
        }
    }

    /// The corpus's participants with the program among them, and whether it is new.
    fn people(&self, settings_file: &Path, s: &Settings) -> Result<(redline_schemas::ParticipantsManifest, bool)> {
        let mut all = self.corpus.participants()?;
        let id = &s.participant;
        let Some(p) = all.participants.iter_mut().find(|p| p.id == *id) else {
            let new = Participant {
                id: id.clone(),
                roles: vec![Role::Editor],
                created_utc: chrono::Utc::now(),
                consent: None,
                agent: Some(s.agent.clone()),
            };
            all.participants.push(new);
            all.participants.sort_by(|a, b| a.id.cmp(&b.id));
            return Ok((all, true));
        };
        match &p.agent {
            None => return refuse(settings_file, format!("participant {id} is a person: give the program another “userId”")),
            Some(a) if s.names_model && a.model != s.agent.model => {
                let message = format!("participant {id} is of model “{}”, not “{}”: give another “userId”", a.model, s.agent.model);
                return refuse(settings_file, message);
            }
            Some(_) => {}
        }
        if !p.roles.contains(&Role::Editor) {
            p.roles.push(Role::Editor);
            p.roles.sort();
        }
        Ok((all, false))
    }
}

/// What makes two folders the same: what the settings say, whatever their spacing, and the STEP file.
fn print(s: &Settings, step: Option<&Path>) -> Result<String> {
    let step = step.map(fsio::sha256_file).transpose()?.unwrap_or_default();
    Ok(fsio::sha256_bytes(format!("{step}\n{}", s.kept).as_bytes()))
}

/// Writes the whole edit into a folder that is not in place yet.
fn stage(to: &Temporary, s: &Settings, found: &Found, edit: &EditId, from: ImportedFrom) -> Result<()> {
    let dir = SessionDir::new(to.path());
    fsio::write_json(&to.path().join(HARNESS_SETTINGS), &s.kept)?;
    let mut renders = Vec::new();
    // In the order of importance: pages show the first one first.
    for (view, path) in VIEWS.iter().filter_map(|v| Some((v, found.views.get(v)?))) {
        renders.push((RenderKind::Render, take_view(to.path(), view, path)?));
    }
    let final_model = found.step.as_deref().map(|path| take_step(&dir, path)).transpose()?;
    renders.extend(final_model.iter().map(|_| (RenderKind::Final, "final.step".to_owned())));
    let started_utc = s.started_ns.map_or_else(chrono::Utc::now, super::reference_time::utc);
    // Nothing but the end has a time, and that is the harness's own word.
    let alignment = if s.started_ns.is_some() { Alignment::Container } else { Alignment::Estimated };
    let clock = Clock { name: "file".into(), started_utc, origin_ns: None, alignment, discontinuities: vec![] };
    let streams = Streams { renders: write_renders(&dir, &renders, s.duration_ns)?, ..Streams::default() };
    let manifest = EditManifest {
        format_version: FORMAT_VERSION,
        id: edit.clone(),
        request: s.request.clone(),
        participant: s.participant.clone(),
        status: Status::Complete,
        rejection: None,
        session: Session { clock, duration_ns: s.duration_ns, screen: None, streams },
        started_ns: Some(0),
        stopped_ns: Some(s.duration_ns),
        final_model,
        usage: s.usage,
        imported_from: Some(from),
        tool: Tool::redline(),
    };
    Ok(fsio::write_json(&dir.edit_json(), &manifest)?)
}

fn take_step(dir: &SessionDir, from: &Path) -> Result<redline_schemas::FileRef> {
    let bytes = std::fs::metadata(from).map_err(Error::io(from, "could not look at"))?.len();
    if bytes > MAX_STEP_BYTES {
        return refuse(from, format!("larger than {MAX_STEP_BYTES} bytes: no such models are taken"));
    }
    let to = dir.path().join("final.step");
    std::fs::copy(from, &to).map_err(Error::io(from, "could not copy"))?;
    let mut head = Vec::new();
    let file = std::fs::File::open(&to).map_err(Error::io(&to, "could not open"))?;
    std::io::Read::read_to_end(&mut std::io::Read::take(file, 1024), &mut head).map_err(Error::io(from, "could not read"))?;
    if !String::from_utf8_lossy(&head).trim_start_matches(['\u{feff}', ' ', '\r', '\n', '\t']).starts_with("ISO-10303-21") {
        return refuse(from, "not a STEP file (it does not begin with ISO-10303-21): export the result as STEP");
    }
    Ok(dir.file_ref(&to)?)
}

/// Puts a picture that can be decoded into `renders/`, without metadata; gives its path there.
fn take_view(edit: &Path, view: &str, from: &Path) -> Result<String> {
    let bytes = fsio::read_limited(from, MAX_VIEW_BYTES)?;
    let ending = still::ending_of(&bytes).or_else(|e| refuse(from, e))?;
    let (folder, rel) = (edit.join("renders"), format!("renders/{view}.{ending}"));
    std::fs::create_dir_all(&folder).map_err(Error::io(&folder, "could not create the folder"))?;
    let to = edit.join(&rel);
    std::fs::write(&to, picture::without_metadata(&bytes)).map_err(Error::io(&to, "could not write"))?;
    Ok(rel)
}

fn write_renders(dir: &SessionDir, files: &[(RenderKind, String)], t_ns: i64) -> Result<Option<EventStream>> {
    if files.is_empty() {
        return Ok(None);
    }
    let path = dir.renders();
    let mut w = jsonl::Writer::create(&path)?;
    for (i, (kind, rel)) in files.iter().enumerate() {
        let sha256 = fsio::sha256_file(&dir.path().join(rel))?;
        let (path, seq) = (rel.clone(), i as u64 + 1);
        w.write(&RenderEvent { t_ns, kind: *kind, path, sha256, after_command: None, seq, error_ns: 0 })?;
    }
    let count = w.finish()?;
    Ok(Some(EventStream { file: dir.file_ref(&path)?, count, first_t_ns: Some(t_ns), last_t_ns: Some(t_ns), lost: 0 }))
}

/// What `redline check` would refuse afterwards does not come in.
fn refuse_personal(staged: &Temporary, dir: &Path, found: &Found) -> Result<()> {
    let Some(f) = check::personal(staged.path())?.into_iter().next() else { return Ok(()) };
    // Under the name that the file has in the harness's folder.
    let original = match f.file.as_str() {
        "final.step" => found.step.clone(),
        file => file.strip_prefix("renders/").and_then(|p| found.views.get(p.split('.').next()?).cloned()),
    };
    let path = original.unwrap_or_else(|| dir.join(&f.file));
    let line = f.line.map(|l| format!(" (line {l})")).unwrap_or_default();
    refuse(&path, format!("{}{line}: {} ({})", f.message, f.hint, f.rule.id))
}
