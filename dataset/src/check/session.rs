//! One model, request or edit at a time; they are checked in parallel.

use super::finding::Findings;
use super::manifests::Schemas;
use super::rule::{
    CUT_OFF, ID, MODEL, NO_MODEL, NO_RESULT, NO_VIDEO, PARTICIPANT, REJECTION, REQUEST, ROLE, UNFINISHED, UNREADABLE, VIEWS,
};
use super::{Options, durations, files, metrics, personal, reviews, streams, words};
use redline_schemas::{
    Corpus, EditId, EditManifest, ModelId, ModelManifest, Participant, ParticipantId, Rejection, RequestId, RequestManifest, Role, Session,
    SessionDir, Status, TaskId, TaskManifest, VIEWS as VIEW_NAMES, step,
};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// What every session is checked against.
pub(super) struct Known<'a> {
    pub corpus: &'a Corpus,
    pub schemas: &'a Schemas,
    pub people: &'a BTreeMap<ParticipantId, Participant>,
    pub models: &'a BTreeSet<ModelId>,
    pub requests: &'a BTreeSet<RequestId>,
    pub personal: &'a personal::Patterns,
    pub options: &'a Options,
    pub tasks: &'a BTreeMap<TaskId, TaskManifest>,
    pub labels: &'a [String],
}

pub(super) fn model(f: &mut Findings, id: &ModelId, k: &Known<'_>) -> Option<ModelManifest> {
    let dir = k.corpus.model_dir(id);
    let path = dir.join("model.json");
    k.personal.folder(f, &dir);
    let m: ModelManifest = k.schemas.read(f, &path, "model")?;
    same_id(f, &path, m.id.as_str(), id.as_str());
    files::file_ref(f, &path, &dir, &m.step, k.options.hashes);
    if let Some(n) = &m.native {
        files::file_ref(f, &path, &dir, n, k.options.hashes);
    }
    for view in m.views.values() {
        files::resolve(f, &path, &dir, view);
    }
    let missing: Vec<_> = VIEW_NAMES.iter().filter(|v| !m.views.contains_key(**v)).copied().collect();
    if !missing.is_empty() {
        f.add(VIEWS, &path, format!("no view {}", missing.join(", ")));
    }
    Some(m)
}

pub(super) fn request(f: &mut Findings, id: &RequestId, k: &Known<'_>) -> Option<RequestManifest> {
    let dir = k.corpus.request_dir(id);
    let path = dir.request_json();
    k.personal.folder(f, dir.path());
    let m: RequestManifest = k.schemas.read(f, &path, "request")?;
    same_id(f, &path, m.id.as_str(), id.as_str());
    person(f, &path, &m.participant, Role::Requestor, k);
    match &m.model {
        None => f.add(NO_MODEL, &path, "no model"),
        Some(model) if !k.models.contains(model) => f.add(MODEL, &path, format!("model {model} is not in the corpus")),
        Some(_) => {}
    }
    if session(f, &dir, &path, m.status, m.rejection.as_ref(), &m.session, k) {
        if m.session.streams.video.is_none() {
            f.add(NO_VIDEO, &path, "no video");
        }
        words::check(f, &dir, &path, &m, k);
    }
    Some(m)
}

pub(super) fn edit(f: &mut Findings, id: &EditId, k: &Known<'_>) -> Option<EditManifest> {
    let dir = k.corpus.edit_dir(id);
    let path = dir.edit_json();
    k.personal.folder(f, dir.path());
    let m: EditManifest = k.schemas.read(f, &path, "edit")?;
    same_id(f, &path, m.id.as_str(), id.as_str());
    person(f, &path, &m.participant, Role::Editor, k);
    if !k.requests.contains(&m.request) {
        f.add(REQUEST, &path, format!("request {} is not in the corpus", m.request));
    }
    if session(f, &dir, &path, m.status, m.rejection.as_ref(), &m.session, k) {
        match &m.final_model {
            Some(r) => {
                let file = files::file_ref(f, &path, dir.path(), r, k.options.hashes);
                final_model(f, file);
            }
            None if m.status != Status::Rejected => f.add(NO_RESULT, &path, "no final model"),
            None => {}
        }
        reviews::ratings(f, &dir, &m, k);
        metrics::check(f, &dir, &m, k);
    }
    Some(m)
}

/// A final model that is there.
fn final_model(f: &mut Findings, path: Option<PathBuf>) {
    let Some(path) = path.filter(|p| p.extension().is_some_and(|e| e.eq_ignore_ascii_case("step") || e.eq_ignore_ascii_case("stp"))) else {
        return;
    };
    match step::is_cut_off(&path) {
        Ok(true) => f.add(CUT_OFF, &path, "no END-ISO-10303-21 at its end"),
        Ok(false) => {}
        Err(e) => f.add(UNREADABLE, &path, e.to_string()),
    }
}

/// What requests, edits and runs share; false when the session is unfinished and nothing more can be said.
pub(super) fn session(
    f: &mut Findings,
    dir: &SessionDir,
    path: &Path,
    status: Status,
    why: Option<&Rejection>,
    s: &Session,
    k: &Known<'_>,
) -> bool {
    match (status, why) {
        (Status::Rejected, None) => f.add(REJECTION, path, "rejected, but nothing says why"),
        (Status::Rejected, Some(r)) if !k.people.contains_key(&r.by) => {
            f.add(PARTICIPANT, path, format!("participant {}, who rejected it, is not known", r.by));
        }
        (Status::Rejected, _) | (_, None) => {}
        (_, Some(_)) => f.add(REJECTION, path, format!("it has a reason for rejection, but its status is “{status}”")),
    }
    if status == Status::Recording {
        f.add(UNFINISHED, path, "it is being recorded, or its recorder died");
        return false;
    }
    if dir.lock().symlink_metadata().is_ok() {
        f.add(UNFINISHED, &dir.lock(), "a recorder holds this session, or died after it was finished");
    }
    streams::Check { f: &mut *f, dir, manifest: path, session: s, options: k.options }.run();
    durations::check(f, dir.path(), path, status, s, k.options);
    true
}

pub(super) fn same_id(f: &mut Findings, path: &Path, id: &str, folder: &str) {
    if id != folder {
        f.add(ID, path, format!("its id is {id}, but its folder is {folder}"));
    }
}

fn person(f: &mut Findings, path: &Path, id: &ParticipantId, role: Role, k: &Known<'_>) {
    match k.people.get(id) {
        None => f.add(PARTICIPANT, path, format!("participant {id} is not known")),
        Some(p) if p.agent.is_none() && !p.roles.contains(&role) => f.add(ROLE, path, format!("participant {id} is no {role}")),
        Some(_) => {}
    }
}
