//! Sound and pictures of a request, with Range, for those who may see it.

use super::AppState;
use super::error::Reply;
use super::read::id;
use super::who::Who;
use crate::Error;
use axum::extract::{Path, Request, State};
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use redline_schemas::{RequestId, SessionDir};
use std::path::PathBuf;
use tower_http::services::ServeFile;

async fn send(
    app: &AppState,
    request: String,
    who: Who,
    asked: Request,
    file: fn(&SessionDir) -> PathBuf,
    kind: &'static str,
) -> Reply<Response> {
    let what = format!("{kind} {request}");
    let path = who.run(app, &what, move |app, who| {
        let request: RequestId = id(&request)?;
        let item = app.flow.visible(who, &request)?;
        Ok(file(&app.flow.corpus.request_dir(&item.request)))
    });
    serve_file(&path.await?, asked, kind).await
}

/// Sends a file of this kind.
pub(super) async fn serve_file(path: &std::path::Path, asked: Request, kind: &'static str) -> Reply<Response> {
    let sent = ServeFile::new(path).try_call(asked).await;
    let mut answer = sent.map_err(|e| Error::NotFound(format!("this {kind} can't be read: {}", e.kind())))?.into_response();
    if answer.status().is_success() {
        answer.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
        answer.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("private, max-age=3600"));
    }
    Ok(answer)
}

pub(super) async fn audio(State(app): State<AppState>, Path(request): Path<String>, who: Who, asked: Request) -> Reply<Response> {
    send(&app, request, who, asked, SessionDir::audio, "audio/flac").await
}

pub(super) async fn video(State(app): State<AppState>, Path(request): Path<String>, who: Who, asked: Request) -> Reply<Response> {
    send(&app, request, who, asked, SessionDir::video, "video/mp4").await
}
