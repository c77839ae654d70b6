//! What pages read.

use super::error::Reply;
use super::who::Who;
use super::{App, AppState};
use crate::carry::Heard;
use crate::reject::may_take_back;
use crate::store::Item;
use crate::text::words_of;
use crate::{Error, Person, Result};
use axum::Json;
use axum::extract::{Path, Query, State};
use redline_schemas::{
    EventStream, RequestId, RequestManifest, ReviewState, Role, SelectionEvent, SelectionKind, Session, SessionDir, Status, StrokeEvent,
    TranscriptKind, jsonl, time::seconds,
};
use serde_json::{Value, json};
use std::path::PathBuf;

/// Rows of a queue at most.
const QUEUE: u32 = 500;

/// Events of a stream that a page gets at most.
const MAX_EVENTS: usize = 200_000;

/// An id from the address; anything that is none is not found.
pub(super) fn id<T: std::str::FromStr>(text: &str) -> Result<T> {
    text.parse().map_err(|_| Error::NotFound("no such request in the correction loop".into()))
}

fn coordinator(who: &Person) -> Result<()> {
    if who.is(Role::Coordinator) { Ok(()) } else { Err(Error::Forbidden("only a coordinator sees this".into())) }
}

/// What waits for me.
pub(super) async fn queue(State(app): State<AppState>, who: Who) -> Reply<Json<Value>> {
    let value = who.run(&app, "queue", |app, who| {
        let (mut correct, mut waiting, mut done) = (Vec::new(), Vec::new(), Vec::new());
        for i in app.flow.store.own(&who.id)? {
            match i.state {
                _ if i.rejected => done.push(i),
                ReviewState::InReview => waiting.push(i),
                ReviewState::Accepted => done.push(i),
                ReviewState::Transcribed | ReviewState::InCorrection | ReviewState::Returned => correct.push(i),
            }
        }
        // What came back from a reviewer first.
        correct.sort_by_key(|i| i.state != ReviewState::Returned);
        done.reverse();
        let review: Vec<Item> = if who.is(Role::Reviewer) { app.flow.store.reviewable(&who.id, QUEUE)? } else { Vec::new() };
        Ok(json!({ "correct": correct, "review": review, "waiting": waiting, "done": done }))
    });
    Ok(Json(value.await?))
}

/// Figures for the coordinator.
pub(super) async fn stats(State(app): State<AppState>, who: Who) -> Reply<Json<crate::stats::Stats>> {
    let stats = who.run(&app, "stats", |app, who| {
        coordinator(who)?;
        app.flow.stats()
    });
    Ok(Json(stats.await?))
}

#[derive(serde::Deserialize)]
pub(super) struct ItemsQuery {
    state: Option<String>,
}

/// All requests, for the coordinator.
pub(super) async fn items(State(app): State<AppState>, Query(q): Query<ItemsQuery>, who: Who) -> Reply<Json<Vec<Item>>> {
    let items = who.run(&app, "items", move |app, who| {
        coordinator(who)?;
        let state = q.state.map(|s| s.parse()).transpose()?;
        app.flow.store.items(state, QUEUE)
    });
    Ok(Json(items.await?))
}

#[derive(serde::Deserialize)]
pub(super) struct AuditQuery {
    before: Option<i64>,
}

/// The audit log, for the coordinator.
pub(super) async fn audit(State(app): State<AppState>, Query(q): Query<AuditQuery>, who: Who) -> Reply<Json<Value>> {
    let log = who.run(&app, "audit", move |app, who| {
        coordinator(who)?;
        Ok(json!(app.flow.store.audit_log(q.before, 200)?))
    });
    Ok(Json(log.await?))
}

/// Points of the map from a file's seconds to session time; straight lines between them.
pub(super) fn time_maps(s: &Session) -> (Value, Value) {
    let audio = s.streams.audio.as_ref().map(|a| {
        let rate = f64::from(a.clock.sample_rate.max(1));
        let point = |sample: f64| a.clock.t_ns_of_sample(sample).map(|t| (sample / rate, t));
        // A piece ends just before the next begins, so that a gap is a step.
        let ends = |p: &redline_schemas::time::AudioPiece| [p.first_sample as f64, (p.first_sample + p.samples) as f64 - 1.0];
        let map: Vec<_> = a.clock.pieces.iter().filter(|p| p.samples > 1).flat_map(ends).filter_map(point).collect();
        json!({ "map": map, "duration_s": a.clock.samples() as f64 / rate })
    });
    let video = s.streams.video.as_ref().map(|v| {
        let last = v.frames.saturating_sub(1).max(1) as i64;
        let map: Vec<_> = [0, last].iter().map(|&f| (seconds(v.grid.pts_ns(f)), v.grid.t_ns_of_frame(f))).collect();
        json!({ "map": map, "width": v.width, "height": v.height, "has_audio": v.has_audio })
    });
    (json!(audio), json!(video))
}

fn about(m: &RequestManifest) -> Value {
    let (audio, video) = time_maps(&m.session);
    json!({
        "participant": m.participant, "model": m.model, "modality": m.modality, "difficulty": m.difficulty,
        "status": m.status, "rejection": m.rejection, "note": m.note,
        "duration_ns": m.session.duration_ns, "heard": Heard::of(&m.session), "audio": audio, "video": video,
    })
}

/// Everything about one request.
pub(super) async fn details(State(app): State<AppState>, Path(request): Path<String>, who: Who) -> Reply<Json<Value>> {
    let what = format!("request {request}");
    let value = who.run(&app, &what, move |app, who| {
        let request: RequestId = id(&request)?;
        let mut d = app.flow.details(who, &request)?;
        if (d.manifest.status == Status::Rejected) != d.item.rejected {
            // Rejected by another tool, or a crash came between the two writes.
            app.flow.store.set_rejected(&request, d.manifest.status == Status::Rejected)?;
            d.item = app.flow.store.item(&request)?;
        }
        let (text, words) = words_of(&d.automatic);
        let oracle = match d.item.state {
            ReviewState::Accepted => app.flow.corpus.request_dir(&request).transcript(TranscriptKind::Oracle)?,
            _ => None,
        };
        // Earlier revisions are shown as texts; only the last one is played.
        let last = d.rounds.len().saturating_sub(1);
        for r in d.rounds.iter_mut().take(last) {
            r.revision.words.clear();
        }
        let open = !d.item.rejected;
        let correctable = matches!(d.item.state, ReviewState::Transcribed | ReviewState::InCorrection | ReviewState::Returned);
        Ok(json!({
            "item": d.item,
            "about": about(&d.manifest),
            "automatic": { "text": text, "words": words, "language": d.automatic.language },
            "rounds": d.rounds,
            "draft": d.draft,
            "oracle": oracle.map(|t| { let (text, words) = words_of(&t); json!({ "text": text, "words": words }) }),
            "realignment": d.realignment,
            "can": {
                "correct": open && correctable && who.may_correct(&d.item),
                "review": open && d.item.state == ReviewState::InReview && who.may_review(&d.item),
                "reject": open && who.may_judge() && who.id != d.item.requestor,
                "take_back": !open && may_take_back(who, &d.manifest.participant, d.manifest.rejection.as_ref()),
                "realign": open && d.item.state == ReviewState::Accepted && app.can_realign,
            },
        }))
    });
    Ok(Json(value.await?))
}

/// The part of a request that changes by itself: its row and its re-alignment.
pub(super) async fn state(State(app): State<AppState>, Path(request): Path<String>, who: Who) -> Reply<Json<Value>> {
    let what = format!("request {request}");
    let value = who.run(&app, &what, move |app, who| {
        let request: RequestId = id(&request)?;
        let item = app.flow.visible(who, &request)?;
        Ok(json!({ "item": item, "realignment": app.flow.store.realignment(&request)? }))
    });
    Ok(Json(value.await?))
}

fn stream<T: serde::de::DeserializeOwned>(there: Option<&EventStream>, path: PathBuf, keep: impl Fn(&T) -> bool) -> Result<Vec<T>> {
    if there.is_none() || !path.is_file() {
        return Ok(Vec::new());
    }
    let mut out = Vec::new();
    for e in jsonl::Reader::open(&path)? {
        let e = e?;
        if keep(&e) {
            out.push(e);
        }
        if out.len() == MAX_EVENTS {
            tracing::warn!("{}: only the first {MAX_EVENTS} events are shown", path.display());
            break;
        }
    }
    Ok(out)
}

/// Strokes and selections, to be shown at their times.
pub(super) async fn events(State(app): State<AppState>, Path(request): Path<String>, who: Who) -> Reply<Json<Value>> {
    let what = format!("request {request}");
    let value = who.run(&app, &what, move |app: &App, who| {
        let request: RequestId = id(&request)?;
        app.flow.visible(who, &request)?;
        events_of(&app.flow.corpus.request(&request)?, &app.flow.corpus.request_dir(&request))
    });
    Ok(Json(value.await?))
}

/// Strokes and selections of a request.
pub(super) fn events_of(m: &RequestManifest, dir: &SessionDir) -> Result<Value> {
    let s = &m.session.streams;
    let strokes: Vec<StrokeEvent> = stream(s.strokes.as_ref(), dir.strokes(), |_| true)?;
    let selections: Vec<SelectionEvent> =
        stream(s.selections.as_ref(), dir.selections(), |e: &SelectionEvent| e.kind != SelectionKind::Preselected)?;
    Ok(json!({ "strokes": strokes, "selections": selections }))
}

/// The edits that carried out a request, for those who judge them.
pub(super) async fn edits(State(app): State<AppState>, Path(request): Path<String>, who: Who) -> Reply<Json<Value>> {
    let what = format!("request {request}");
    let value = who.run(&app, &what, move |app, who| {
        let request: RequestId = id(&request)?;
        app.flow.visible(who, &request)?;
        if !who.may_judge() {
            return Err(Error::Forbidden("only a reviewer or coordinator judges edits".into()));
        }
        let rows = app.flow.edits_of(&request)?.into_iter().map(|e| {
            json!({
                "id": e.id, "participant": e.participant, "status": e.status, "rejection": e.rejection,
                "take_back": e.status == Status::Rejected && may_take_back(who, &e.participant, e.rejection.as_ref()),
                "seconds": e.started_ns.zip(e.stopped_ns).map(|(a, b)| seconds(b - a)), "own": e.participant == who.id,
            })
        });
        Ok(Value::Array(rows.collect()))
    });
    Ok(Json(value.await?))
}
