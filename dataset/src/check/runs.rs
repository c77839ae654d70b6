//! Tasks and agents' runs.

use super::finding::Findings;
use super::rule::{
    BOUNDS, FILE_HASH, ID, LABEL, LINE, ORDER, PARTICIPANT, RUN_CHECKS, RUN_JUDGE, RUN_SCORE, RUN_STOP, RUN_TASK, SCREENSHOT, TORN,
    UNVERIFIED,
};
use super::session::{self, Known};
use redline_schemas::{
    Dimension, MAX_RUN_SCORE, ParticipantId, RunId, RunManifest, RunScores, SessionDir, StepEvent, TaskId, TaskManifest, Verification,
    fsio, jsonl,
};
use std::path::Path;

pub(super) fn task(f: &mut Findings, id: &TaskId, k: &Known<'_>) -> Option<TaskManifest> {
    let path = k.corpus.task_path(id);
    let t: TaskManifest = k.schemas.read(f, &path, "task")?;
    k.personal.file(f, &path);
    if t.id != *id {
        f.add(ID, &path, format!("its id is {}, but its file is {id}", t.id));
    }
    Some(t)
}

pub(super) fn run(f: &mut Findings, id: &RunId, k: &Known<'_>) {
    let dir = k.corpus.run_dir(id);
    let path = dir.run_json();
    k.personal.folder(f, dir.path());
    let Some(m): Option<RunManifest> = k.schemas.read(f, &path, "run") else { return };
    session::same_id(f, &path, m.id.as_str(), id.as_str());
    judge(f, &path, &m.operator, "ran it", k);
    if !session::session(f, &dir, &path, m.status, m.rejection.as_ref(), &m.session, k) {
        return;
    }
    if m.stop.is_none() {
        f.add(RUN_STOP, &path, "nobody said why it ended");
    }
    let task = k.tasks.get(&m.task);
    match task {
        None => f.add(RUN_TASK, &path, format!("task {} is not in the corpus", m.task)),
        Some(t) if (t.family, &t.prompt) != (m.family, &m.prompt) => {
            f.add(RUN_TASK, &path, format!("its family or prompt is not that of task {}", m.task));
        }
        Some(_) => {}
    }
    steps(f, &dir, &m, k);
    verification(f, &dir, &m, task, k);
    scores(f, &dir, &m, k);
}

fn judge(f: &mut Findings, path: &Path, id: &ParticipantId, what: &str, k: &Known<'_>) {
    match k.people.get(id) {
        None => f.add(PARTICIPANT, path, format!("participant {id} is not known")),
        Some(p) if p.agent.is_some() => f.add(RUN_JUDGE, path, format!("{id}, who {what}, is a program")),
        Some(_) => {}
    }
}

fn steps(f: &mut Findings, dir: &SessionDir, m: &RunManifest, k: &Known<'_>) {
    let path = dir.steps();
    let (steps, torn) = match jsonl::read_all::<StepEvent>(&path) {
        Ok(s) => s,
        Err(e) => return f.add(LINE, &path, super::manifests::without_path(&e.to_string(), &path)),
    };
    if torn.is_some() {
        f.add(TORN, &path, "the last line is cut off");
    }
    let mut last = 0;
    for (i, s) in steps.iter().enumerate() {
        let line = i as u64 + 1;
        if s.t_ns < last || u64::from(s.step) != line {
            f.at(ORDER, &path, line, format!("step {} at {} ns is out of order", s.step, s.t_ns));
        }
        if s.t_ns < 0 || s.t_ns > m.session.duration_ns {
            f.at(BOUNDS, &path, line, format!("step {} is outside of the session", s.step));
        }
        last = s.t_ns;
        let plain = Path::new(&s.screenshot).components().all(|c| matches!(c, std::path::Component::Normal(_)));
        let picture = dir.path().join(&s.screenshot);
        if !plain || !picture.symlink_metadata().is_ok_and(|m| m.is_file()) {
            f.at(SCREENSHOT, &path, line, format!("the screenshot of step {}, “{}”, is not there", s.step, s.screenshot));
        } else if k.options.hashes && fsio::sha256_file(&picture).is_ok_and(|h| h != s.sha256) {
            f.add(FILE_HASH, &picture, format!("not the recorded SHA-256 {}", s.sha256));
        }
    }
    if steps.is_empty() {
        f.add(SCREENSHOT, &path, "no step, and so no screenshot");
    }
}

fn verification(f: &mut Findings, dir: &SessionDir, m: &RunManifest, task: Option<&TaskManifest>, k: &Known<'_>) {
    let path = dir.verification_path();
    if path.symlink_metadata().is_err() {
        return f.add(UNVERIFIED, &dir.run_json(), "nobody verified it, so it counts as not passed");
    }
    let Some(v): Option<Verification> = k.schemas.read(f, &path, "verification") else { return };
    session::same_id(f, &path, v.run.as_str(), m.id.as_str());
    judge(f, &path, &v.by, "verified it", k);
    let names = |mut n: Vec<&str>| {
        n.sort_unstable();
        n.join(", ")
    };
    let given = names(v.checks.iter().map(|c| c.name.as_str()).collect());
    if let Some(wanted) = task.map(|t| names(t.checks.iter().map(|c| c.name.as_str()).collect())).filter(|w| *w != given) {
        f.add(RUN_CHECKS, &path, format!("it has the checks {given}, its task {wanted}"));
    }
}

fn scores(f: &mut Findings, dir: &SessionDir, m: &RunManifest, k: &Known<'_>) {
    let Ok(scorers) = dir.scorers() else { return };
    for name in scorers {
        let path = dir.scores_path(&name);
        let Some(s): Option<RunScores> = k.schemas.read(f, &path, "run_scores") else { continue };
        session::same_id(f, &path, s.run.as_str(), m.id.as_str());
        judge(f, &path, &s.scorer, "scored it", k);
        if s.scorer.as_str() != name {
            f.add(ID, &path, format!("its scorer is {}, but its file is {name}", s.scorer));
        }
        for &d in Dimension::ALL {
            if s.scores.get(d) > MAX_RUN_SCORE {
                f.add(RUN_SCORE, &path, format!("{d} is {}, but scores go from 0 to {MAX_RUN_SCORE}", s.scores.get(d)));
            }
        }
        for l in s.labels.iter().filter(|l| !k.labels.contains(l)) {
            f.add(LABEL, &path, format!("“{l}” is not in the corpus’s list"));
        }
    }
}
