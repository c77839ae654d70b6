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

/// The page, served in a thread of its own until this is dropped.
pub struct Server {
    address: String,
    stop: Option<tokio::sync::oneshot::Sender<()>>,
    thread: Option<std::thread::JoinHandle<Result<()>>>,
}

impl Server {
    /// Serves a session on loopback. Port 0 takes a free one.
    pub fn start(replay: Replay, port: u16) -> Result<Self> {
        let json = serde_json::to_string(&replay).map_err(|e| redline_schemas::Error::Value(format!("the session can't be shown: {e}")))?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed("could not start the server"))?;
        let listener = std::net::TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, port)))
            .map_err(failed("could not listen (choose another --port)"))?;
        listener.set_nonblocking(true).map_err(failed("could not listen"))?;
        let address = listener.local_addr().map_err(failed("could not listen"))?;
        let served = Arc::new(Served { json, files: replay.files, host: address.to_string() });
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        let thread = std::thread::Builder::new()
            .name("replay".into())
            .spawn(move || {
                runtime.block_on(async {
                    let listener = tokio::net::TcpListener::from_std(listener).map_err(failed("could not listen"))?;
                    tokio::select! {
                        r = axum::serve(listener, routes(served)) => r.map_err(failed("could not serve")),
                        _ = stopped => Ok(()),
                    }
                })
            })
            .map_err(failed("could not start the server"))?;
        Ok(Self { address: format!("http://{address}/"), stop: Some(stop), thread: Some(thread) })
    }

    /// Where the page is.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.address
    }

    fn wait(&mut self) -> Result<()> {
        self.thread.take().map_or(Ok(()), |t| t.join().unwrap_or(Ok(())))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Gone with its thread, if that ended by itself.
        if let Some(s) = self.stop.take() {
            let _ = s.send(());
        }
        let _ = self.wait();
    }
}

fn failed(action: &'static str) -> impl FnOnce(std::io::Error) -> Error {
    move |source| Error::Serve { action, source }
}

fn routes(served: Arc<Served>) -> Router {
    let text = |kind: &'static str, body: &'static str| get(move || async move { ([(header::CONTENT_TYPE, kind)], body) });
    Router::new()
        .route("/", text("text/html; charset=utf-8", PAGE))
        .route("/replay.js", text("text/javascript; charset=utf-8", SCRIPT))
        .route("/replay.css", text("text/css; charset=utf-8", STYLE))
        .route("/replay.json", get(data))
        .route("/file/{n}", get(file))
        .layer(middleware::from_fn_with_state(Arc::clone(&served), guard))
        .with_state(served)
}

/// Serves the page until Ctrl-C; `ready` gets its address. Port 0 takes a free one.
pub fn serve(replay: Replay, port: u16, ready: impl FnOnce(&str)) -> Result<()> {
    let mut server = Server::start(replay, port)?;
    ready(server.address());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed("could not start the server"))?;
    match runtime.block_on(tokio::signal::ctrl_c()) {
        Ok(()) => Ok(()),
        // Without a signal handler the server runs until it is killed.
        Err(_) => server.wait(),
    }
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
