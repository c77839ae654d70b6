//! One page on loopback.

use crate::{Error, Replay, Result};
use axum::Router;
use axum::extract::{Path, Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use tower_http::services::ServeFile;

const PAGE: &str = include_str!("../page/index.html");
const SCRIPT: &str = include_str!("../page/replay.js");
const STYLE: &str = include_str!("../page/replay.css");

/// Everything comes from this server, and nothing is asked from another.
const POLICY: &str = "default-src 'self'; style-src 'self' 'unsafe-inline'; frame-ancestors 'none'";

struct Served {
    json: String,
    files: Vec<std::path::PathBuf>,
    host: String,
}

/// Serves the page until Ctrl-C; `ready` gets its address. Port 0 takes a free one.
pub fn serve(replay: Replay, port: u16, ready: impl FnOnce(&str)) -> Result<()> {
    let failed = |action: &'static str| move |source| Error::Serve { action, source };
    let json = serde_json::to_string(&replay).map_err(|e| redline_schemas::Error::Value(format!("the session can't be shown: {e}")))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed("could not start the server"))?;
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, port)))
            .await
            .map_err(failed("could not listen (choose another --port)"))?;
        let address = listener.local_addr().map_err(failed("could not listen"))?;
        let served = Arc::new(Served { json, files: replay.files, host: address.to_string() });
        let text = |kind: &'static str, body: &'static str| get(move || async move { ([(header::CONTENT_TYPE, kind)], body) });
        let app = Router::new()
            .route("/", text("text/html; charset=utf-8", PAGE))
            .route("/replay.js", text("text/javascript; charset=utf-8", SCRIPT))
            .route("/replay.css", text("text/css; charset=utf-8", STYLE))
            .route("/replay.json", get(data))
            .route("/file/{n}", get(file))
            .layer(middleware::from_fn_with_state(Arc::clone(&served), guard))
            .with_state(served);
        ready(&format!("http://{address}/"));
        let stop = async {
            // Without a signal handler the server runs until it is killed.
            if tokio::signal::ctrl_c().await.is_err() {
                std::future::pending::<()>().await;
            }
        };
        tokio::select! {
            r = axum::serve(listener, app) => r.map_err(failed("could not serve")),
            () = stop => Ok(()),
        }
    })
}

/// Refuses other host names: a web page elsewhere must not reach the session through a name that points here.
async fn guard(State(s): State<Arc<Served>>, request: Request, next: Next) -> Response {
    let host = request.headers().get(header::HOST).and_then(|h| h.to_str().ok());
    let port = s.host.rsplit(':').next().unwrap_or_default();
    if !host.is_some_and(|h| h == s.host || h == format!("localhost:{port}")) {
        return (StatusCode::FORBIDDEN, "wrong host name").into_response();
    }
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

async fn data(State(s): State<Arc<Served>>) -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "application/json")], s.json.clone())
}

async fn file(State(s): State<Arc<Served>>, Path(n): Path<usize>, request: Request) -> Response {
    match s.files.get(n) {
        Some(path) => match ServeFile::new(path).try_call(request).await {
            Ok(r) => r.into_response(),
            Err(e) => (StatusCode::NOT_FOUND, e.to_string()).into_response(),
        },
        None => (StatusCode::NOT_FOUND, "no such file").into_response(),
    }
}
