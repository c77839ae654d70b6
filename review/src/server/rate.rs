//! What raters see and send. Nothing here names an edit, its maker, a request or a file.

use super::error::Reply;
use super::media::serve_file;
use super::read::{events_of, time_maps};
use super::who::Who;
use super::work::Body;
use super::{App, AppState};
use crate::rate::{Scores, Task};
use crate::store::rating::Row;
use crate::{Error, Person, Result};
use axum::Json;
use axum::extract::{Path, Request, State};
use axum::response::Response;
use redline_schemas::{SessionDir, Transcript, TranscriptKind, VIEWS, fsio};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The longest typed request that is shown, bytes.
const MAX_TEXT_BYTES: u64 = 1 << 20;

/// The person's tasks in their order: keys, and which are done.
pub(super) async fn list(State(app): State<AppState>, who: Who) -> Reply<Json<Value>> {
    let value = who.run(&app, "rating", |app, who| {
        let tasks = app.flow.rating_tasks(who)?;
        let done = tasks.iter().filter(|t| t.scores.is_some()).count();
        let row = |t: &Row| json!({ "key": t.key, "done": t.scores.is_some() });
        Ok(json!({ "tasks": tasks.iter().map(row).collect::<Vec<_>>(), "done": done, "total": tasks.len() }))
    });
    Ok(Json(value.await?))
}

fn session(app: &App, t: &Task) -> SessionDir {
    app.flow.corpus.request_dir(&t.request.id)
}

/// One task: what was asked, in words, and the scores given so far.
pub(super) async fn details(State(app): State<AppState>, Path(key): Path<String>, who: Who) -> Reply<Json<Value>> {
    let value = who.run(&app, "rating", move |app, who| {
        let t = app.flow.rating_task(who, &key)?;
        let dir = session(app, &t);
        let heard = match dir.transcript(TranscriptKind::Oracle)? {
            Some(t) => Some(t),
            None => dir.transcript(TranscriptKind::Automatic)?,
        };
        let line = |t: Transcript| -> Vec<Value> {
            t.segments.iter().map(|s| json!({ "text": s.text, "start_ns": s.start_ns, "end_ns": s.end_ns })).collect()
        };
        let typed = match dir.text() {
            p if p.is_file() => Some(String::from_utf8_lossy(&fsio::read_limited(&p, MAX_TEXT_BYTES)?).into_owned()),
            _ => None,
        };
        let (audio, video) = time_maps(&t.request.session);
        let scores = t
            .row
            .scores
            .map(|(s, _)| json!({ "instruction_following": s.instruction_following, "quality": s.quality, "comment": s.comment }));
        Ok(json!({
            "key": t.row.key, "modality": t.request.modality, "typed": typed, "lines": heard.map(line).unwrap_or_default(),
            "audio": audio, "video": video, "scores": scores, "views": VIEWS,
            "input": t.request.model.is_some(),
        }))
    });
    Ok(Json(value.await?))
}

/// Strokes and selections of the request. Of what was selected only what it is: the rest may name a file.
pub(super) async fn events(State(app): State<AppState>, Path(key): Path<String>, who: Who) -> Reply<Json<Value>> {
    let value = who.run(&app, "rating", move |app, who| {
        let t = app.flow.rating_task(who, &key)?;
        let mut events = events_of(&t.request, &session(app, &t))?;
        for s in events["selections"].as_array_mut().into_iter().flatten() {
            let bare = |e: &Value| json!({ "kind": e["kind"], "id": e["id"] });
            let set: Vec<Value> = s["set"].as_array().into_iter().flatten().map(bare).collect();
            *s = json!({ "t_ns": s["t_ns"], "kind": s["kind"], "set": set });
        }
        Ok(events)
    });
    Ok(Json(value.await?))
}

async fn media(
    app: AppState,
    key: String,
    who: Who,
    asked: Request,
    file: fn(&SessionDir) -> PathBuf,
    kind: &'static str,
) -> Reply<Response> {
    let path = who.run(&app, "rating", move |app, who| {
        let t = app.flow.rating_task(who, &key)?;
        Ok(file(&session(app, &t)))
    });
    serve_file(&path.await?, asked, kind).await
}

pub(super) async fn audio(State(app): State<AppState>, Path(key): Path<String>, who: Who, asked: Request) -> Reply<Response> {
    media(app, key, who, asked, SessionDir::audio, "audio/flac").await
}

pub(super) async fn video(State(app): State<AppState>, Path(key): Path<String>, who: Who, asked: Request) -> Reply<Response> {
    media(app, key, who, asked, SessionDir::video, "video/mp4").await
}

/// The pictures of the input model or of the edit.
fn pictures(app: &App, t: &Task, which: &str) -> Result<BTreeMap<String, PathBuf>> {
    let none = |m: &str| Error::NotFound(m.into());
    let step = match which {
        "edit" => {
            let file = t.edit.final_model.as_ref().ok_or_else(|| none("this edit has no model"))?;
            app.flow.corpus.edit_dir(&t.edit.id).path().join(&file.path)
        }
        "input" => {
            let id = t.request.model.as_ref().ok_or_else(|| none("this request has no model"))?;
            app.flow.corpus.model_dir(id).join(&app.flow.corpus.model(id)?.step.path)
        }
        _ => return Err(none("no such picture")),
    };
    let viewer = app.viewer.as_ref().ok_or_else(|| Error::State("this server draws no models".into()))?;
    // Why not is for the log: a kernel's words may hold a path.
    viewer.views(&step).map_err(|e| {
        tracing::error!("{}: no views: {e}", step.display());
        Error::State("this model could not be drawn; the server's log says more".into())
    })
}

fn picture(app: &App, who: &Person, key: &str, which: &str, view: &str) -> Result<PathBuf> {
    let t = app.flow.rating_task(who, key)?;
    pictures(app, &t, which)?.remove(view).ok_or_else(|| Error::NotFound("this model holds no shape".into()))
}

/// A view of the input model or of the edit.
pub(super) async fn view(
    State(app): State<AppState>,
    Path((key, which, view)): Path<(String, String, String)>,
    who: Who,
    asked: Request,
) -> Reply<Response> {
    let path = who.run(&app, "rating", move |app, who| picture(app, who, &key, &which, &view)).await?;
    serve_file(&path, asked, "image/png").await
}

#[derive(serde::Deserialize)]
pub(super) struct Sent {
    #[serde(flatten)]
    scores: Scores,
    #[serde(default)]
    active_ms: i64,
}

/// Keeps scores; they are on the disk when the answer is sent.
pub(super) async fn rate(State(app): State<AppState>, Path(key): Path<String>, who: Who, Body(s): Body<Sent>) -> Reply<Json<Value>> {
    let keep = move |app: &App, who: &Person| {
        // What nobody can see, nobody can judge.
        if app.viewer.is_some() && pictures(app, &app.flow.rating_task(who, &key)?, "edit").is_err() {
            return Err(Error::State(
                "the edit could not be drawn, so it can't be rated; leave it for later and tell the coordinator".into(),
            ));
        }
        app.flow.rate(who, &key, s.scores, s.active_ms)
    };
    who.run(&app, "rating", keep).await?;
    Ok(Json(json!({})))
}
