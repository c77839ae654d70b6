//! The steps that pages take.

use super::error::Reply;
use super::read::id;
use super::who::Who;
use super::{App, AppState};
use crate::Error;
use crate::flow::Text;
use crate::store::Item;
use axum::Json;
use axum::extract::rejection::JsonRejection;
use axum::extract::{FromRequest, Path, Request, State};
use redline_schemas::{EditId, RequestId, RevisionId};
use serde_json::{Value, json};

/// A JSON body; what is none is refused in the same form as everything else.
pub(super) struct Body<T>(pub T);

impl<T: serde::de::DeserializeOwned> FromRequest<AppState> for Body<T> {
    type Rejection = super::error::Refusal;

    async fn from_request(request: Request, app: &AppState) -> std::result::Result<Self, Self::Rejection> {
        match Json::<T>::from_request(request, app).await {
            Ok(Json(v)) => Ok(Self(v)),
            Err(JsonRejection::JsonDataError(e)) => Err(Error::Invalid(e.body_text()).into()),
            Err(e) => Err(Error::Invalid(format!("not understood: {e}")).into()),
        }
    }
}

pub(super) async fn claim(State(app): State<AppState>, Path(request): Path<String>, who: Who) -> Reply<Json<Item>> {
    let what = format!("claim {request}");
    Ok(Json(who.run(&app, &what, move |app, who| app.flow.claim(who, &id(&request)?)).await?))
}

pub(super) async fn unclaim(State(app): State<AppState>, Path(request): Path<String>, who: Who) -> Reply<Json<Item>> {
    let what = format!("unclaim {request}");
    Ok(Json(who.run(&app, &what, move |app, who| app.flow.unclaim(who, &id(&request)?)).await?))
}

/// Saves a draft; the answer is sent when it is on the disk.
pub(super) async fn draft(
    State(app): State<AppState>,
    Path(request): Path<String>,
    who: Who,
    Body(text): Body<Text>,
) -> Reply<Json<Value>> {
    let what = format!("draft {request}");
    let seq = who.run(&app, &what, move |app, who| app.flow.save_draft(who, &id(&request)?, text)).await?;
    Ok(Json(json!({ "seq": seq })))
}

pub(super) async fn submit(
    State(app): State<AppState>,
    Path(request): Path<String>,
    who: Who,
    Body(text): Body<Text>,
) -> Reply<Json<Item>> {
    let what = format!("submit {request}");
    Ok(Json(who.run(&app, &what, move |app, who| app.flow.submit(who, &id(&request)?, text)).await?))
}

#[derive(serde::Deserialize)]
pub(super) struct Decision {
    revision: RevisionId,
    accept: bool,
    #[serde(default)]
    comment: Option<String>,
    #[serde(default)]
    active_ms: i64,
}

/// Accepts or returns. An accepted text is beside its request when the answer is sent;
/// should writing it fail, the acceptance stands and the server tries again.
pub(super) async fn decide(
    State(app): State<AppState>,
    Path(request): Path<String>,
    who: Who,
    Body(d): Body<Decision>,
) -> Reply<Json<Value>> {
    let what = format!("decide {request}");
    let value = who.run(&app, &what, move |app, who| {
        let request: RequestId = id(&request)?;
        let item = app.flow.decide(who, &request, &d.revision, d.accept, d.comment)?;
        app.flow.store.spend(&request, &who.id, d.active_ms)?;
        let export = if d.accept { app.flow.export(&request) } else { app.flow.write_history(&request) };
        if let Err(e) = &export {
            tracing::error!("{request}: what was decided could not be written beside it: {e}");
        }
        Ok(json!({ "item": item, "written": d.accept && export.is_ok() }))
    });
    let value = value.await?;
    app.realign.notify_one();
    Ok(Json(value))
}

#[derive(serde::Deserialize)]
pub(super) struct Reason {
    reason: String,
}

pub(super) async fn reject(
    State(app): State<AppState>,
    Path(request): Path<String>,
    who: Who,
    Body(r): Body<Reason>,
) -> Reply<Json<Value>> {
    let what = format!("reject {request}");
    let done = who.run(&app, &what, move |app, who| {
        let request: RequestId = id(&request)?;
        app.flow.visible(who, &request)?;
        app.flow.reject_request(who, &request, &r.reason)
    });
    done.await?;
    Ok(Json(json!({})))
}

pub(super) async fn take_back(State(app): State<AppState>, Path(request): Path<String>, who: Who) -> Reply<Json<Value>> {
    let what = format!("take back the rejection of {request}");
    let done = who.run(&app, &what, move |app, who| {
        let request: RequestId = id(&request)?;
        app.flow.visible(who, &request)?;
        app.flow.take_back_request(who, &request)
    });
    done.await?;
    Ok(Json(json!({})))
}

fn edit_id(app: &App, edit: &str) -> crate::Result<EditId> {
    let none = || Error::NotFound("no such edit".into());
    let edit: EditId = edit.parse().map_err(|_| none())?;
    if app.flow.corpus.edit_dir(&edit).edit_json().is_file() { Ok(edit) } else { Err(none()) }
}

pub(super) async fn reject_edit(
    State(app): State<AppState>,
    Path(edit): Path<String>,
    who: Who,
    Body(r): Body<Reason>,
) -> Reply<Json<Value>> {
    let what = format!("reject edit {edit}");
    let done = who.run(&app, &what, move |app, who| app.flow.reject_edit(who, &edit_id(app, &edit)?, &r.reason));
    done.await?;
    Ok(Json(json!({})))
}

pub(super) async fn take_back_edit(State(app): State<AppState>, Path(edit): Path<String>, who: Who) -> Reply<Json<Value>> {
    let what = format!("take back the rejection of edit {edit}");
    who.run(&app, &what, move |app, who| app.flow.take_back_edit(who, &edit_id(app, &edit)?)).await?;
    Ok(Json(json!({})))
}

pub(super) async fn realign(State(app): State<AppState>, Path(request): Path<String>, who: Who) -> Reply<Json<Value>> {
    let what = format!("realign {request}");
    who.run(&app, &what, move |app, who| app.flow.ask_realignment(who, &id(&request)?)).await?;
    app.realign.notify_one();
    Ok(Json(json!({})))
}
