//! The service: HTTP on a random loopback port, in a thread of its own.

use crate::discovery::{self, Address};
use crate::protocol::{
    Acknowledged, Bye, ClockAnswer, ClockReport, Events, Hello, MAX_FILE_BYTES, MAX_MESSAGE_BYTES, PROTOCOL_VERSION, Refusal, Welcome,
};
use crate::sink::{FileMeta, Sink};
use crate::{Error, Result};
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Query, Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use rand::Rng as _;
use redline_schemas::{RenderKind, SessionDir};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A plug-in that has introduced itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientInfo {
    /// The CAD program and its version.
    pub program: String,
    /// The open document.
    pub document: Option<String>,
}

/// What plug-ins are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wants {
    /// Least time between two renders, milliseconds.
    pub render_interval_ms: u64,
    /// Model states after each command.
    pub states: bool,
    /// The final model, when the session ends.
    pub final_model: bool,
}

impl Wants {
    /// Often enough to follow an edit, seldom enough not to be felt in the CAD program.
    pub const DEFAULT_RENDER_INTERVAL_MS: u64 = 1000;
}

impl Default for Wants {
    fn default() -> Self {
        Self { render_interval_ms: Self::DEFAULT_RENDER_INTERVAL_MS, states: true, final_model: false }
    }
}

/// When a plug-in was heard.
struct Contact {
    info: ClientInfo,
    last: Instant,
    bye: bool,
}

struct Shared {
    token: String,
    now_ns: Box<dyn Fn() -> i64 + Send + Sync>,
    on_client: Box<dyn Fn(&ClientInfo) + Send + Sync>,
    wants: Wants,
    sink: Mutex<Sink>,
    contacts: Mutex<BTreeMap<String, Contact>>,
    last_client: Mutex<Option<ClientInfo>>,
}

/// How long a plug-in may take to notice that the session ends; a dead one never does.
const NOTICE: Duration = Duration::from_millis(1500);

/// How long a plug-in that noticed may be silent: the host may be busy exporting its model.
const SILENCE: Duration = Duration::from_secs(20);

/// The running service; ends when dropped.
pub struct Bridge {
    shared: Arc<Shared>,
    address: Address,
    path: PathBuf,
    stop: Option<tokio::sync::oneshot::Sender<()>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Bridge {
    /// Starts the service for a session's folder; `now_ns` reads the session's clock.
    ///
    /// The address is published at `discovery` (usually [`discovery::default_path`]).
    /// `on_client` is told of every plug-in that introduces itself, again when one comes back.
    pub fn start(
        dir: SessionDir,
        discovery: PathBuf,
        wants: Wants,
        now_ns: impl Fn() -> i64 + Send + Sync + 'static,
        on_client: impl Fn(&ClientInfo) + Send + Sync + 'static,
    ) -> Result<Self> {
        let token: String = rand::rng().sample_iter(rand::distr::Alphanumeric).take(43).map(char::from).collect();
        let shared = Arc::new(Shared {
            token: token.clone(),
            now_ns: Box::new(now_ns),
            on_client: Box::new(on_client),
            wants,
            sink: Mutex::new(Sink::new(dir)),
            contacts: Mutex::new(BTreeMap::new()),
            last_client: Mutex::new(None),
        });
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).map_err(Error::Start)?;
        listener.set_nonblocking(true).map_err(Error::Start)?;
        let port = listener.local_addr().map_err(Error::Start)?.port();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Error::Start)?;
        let app = routes(shared.clone());
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        let thread = std::thread::Builder::new()
            .name("cad-bridge".into())
            .spawn(move || {
                runtime.block_on(async {
                    match tokio::net::TcpListener::from_std(listener) {
                        Ok(listener) => {
                            let done = async { drop(stopped.await) };
                            if let Err(e) = axum::serve(listener, app).with_graceful_shutdown(done).await {
                                tracing::error!("the CAD bridge ended: {e}");
                            }
                        }
                        Err(e) => tracing::error!("the CAD bridge did not start: {e}"),
                    }
                });
            })
            .map_err(Error::Start)?;
        let address =
            Address { protocol: PROTOCOL_VERSION, url: format!("http://127.0.0.1:{port}"), token, pid: std::process::id(), closing: false };
        let bridge = Self { shared, address, path: discovery, stop: Some(stop), thread: Some(thread) };
        discovery::publish(&bridge.path, &bridge.address)?;
        Ok(bridge)
    }

    /// Where the service listens.
    #[must_use]
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// The plug-in that introduced itself last, `None` when none did.
    #[must_use]
    pub fn client(&self) -> Option<ClientInfo> {
        self.shared.last_client.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Every plug-in that introduced itself, in no particular order.
    #[must_use]
    pub fn clients(&self) -> Vec<ClientInfo> {
        self.shared.contacts().values().map(|c| c.info.clone()).collect()
    }

    /// Tells plug-ins that the session ends and waits until they have sent what they hold, `longest` at most.
    ///
    /// A plug-in whose program died is waited for a moment only. Gives those that did not say goodbye.
    pub fn drain(&self, longest: Duration) -> Vec<ClientInfo> {
        let begun = Instant::now();
        if self.shared.contacts().is_empty() {
            return Vec::new();
        }
        if let Err(e) = discovery::publish(&self.path, &Address { closing: true, ..self.address.clone() }) {
            tracing::warn!("{e}");
        }
        loop {
            let waiting: Vec<ClientInfo> = {
                let contacts = self.shared.contacts();
                let alive = |c: &&Contact| {
                    let patience = if c.last > begun { SILENCE } else { NOTICE };
                    !c.bye && c.last.max(begun).elapsed() < patience
                };
                if begun.elapsed() >= longest || !contacts.values().any(|c| alive(&c)) {
                    return contacts.values().filter(|c| !c.bye).map(|c| c.info.clone()).collect();
                }
                contacts.values().filter(alive).map(|c| c.info.clone()).collect()
            };
            tracing::debug!("waiting for {} plug-ins", waiting.len());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Events that plug-ins had to drop so far.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.shared.sink.lock().unwrap_or_else(PoisonError::into_inner).lost()
    }

    /// Stops taking messages, after those under way, and flushes.
    pub fn stop(mut self) -> Result<()> {
        self.end();
        self.shared.sink.lock().unwrap_or_else(PoisonError::into_inner).flush()
    }

    fn end(&mut self) {
        discovery::remove(&self.path, &self.address);
        if let Some(s) = self.stop.take() {
            let _ = s.send(());
        }
        if let Some(t) = self.thread.take() {
            let _ = t.join();
        }
    }
}

impl Drop for Bridge {
    fn drop(&mut self) {
        self.end();
    }
}

fn routes(shared: Arc<Shared>) -> Router {
    Router::new()
        .route("/v1/hello", post(hello))
        .route("/v1/clock", get(clock).post(clock_report))
        .route("/v1/events", post(events))
        .route("/v1/bye", post(bye))
        .route("/v1/file", post(file).layer(DefaultBodyLimit::max(MAX_FILE_BYTES)))
        .layer(DefaultBodyLimit::max(MAX_MESSAGE_BYTES))
        .layer(axum::middleware::from_fn_with_state(shared.clone(), authorise))
        .with_state(shared)
}

struct Refused(StatusCode, String);

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        (self.0, Json(Refusal { error: self.1 })).into_response()
    }
}

impl From<Error> for Refused {
    fn from(e: Error) -> Self {
        let code = if matches!(e, Error::Protocol(_)) { StatusCode::BAD_REQUEST } else { StatusCode::INSUFFICIENT_STORAGE };
        if code == StatusCode::INSUFFICIENT_STORAGE {
            tracing::error!("{e}");
        }
        Self(code, e.to_string())
    }
}

type Answer<T> = std::result::Result<Json<T>, Refused>;

/// Same time for any wrong token of the right length.
fn equal(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |acc, (x, y)| acc | (x ^ y)) == 0
}

async fn authorise(State(shared): State<Arc<Shared>>, request: Request, next: Next) -> Response {
    let given = request.headers().get(header::AUTHORIZATION).map(|v| v.as_bytes()).and_then(|v| v.strip_prefix(b"Bearer "));
    // A web page must not talk to the bridge, whatever it knows.
    let from_a_page = request.headers().contains_key(header::ORIGIN);
    if from_a_page || !given.is_some_and(|g| equal(g, shared.token.as_bytes())) {
        return Refused(StatusCode::UNAUTHORIZED, "wrong token: read it from the bridge's file anew".into()).into_response();
    }
    next.run(request).await
}

fn parse<'a, T: Deserialize<'a>>(body: &'a Bytes) -> std::result::Result<T, Refused> {
    serde_json::from_slice(body).map_err(|e| Refused(StatusCode::BAD_REQUEST, format!("malformed message: {e}")))
}

impl Shared {
    fn sink(&self) -> std::sync::MutexGuard<'_, Sink> {
        self.sink.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn contacts(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, Contact>> {
        self.contacts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn heard(&self, client: &str) {
        if let Some(c) = self.contacts().get_mut(client) {
            c.last = Instant::now();
        }
    }
}

async fn hello(State(shared): State<Arc<Shared>>, body: Bytes) -> Answer<Welcome> {
    // The version first: another version's hello may look different.
    #[derive(Deserialize)]
    struct Versioned {
        protocol: u32,
    }
    let v: Versioned = parse(&body)?;
    if v.protocol != PROTOCOL_VERSION {
        let text =
            format!("the plug-in speaks protocol {}, this recorder {PROTOCOL_VERSION}: install the plug-in that came with it", v.protocol);
        return Err(Refused(StatusCode::UPGRADE_REQUIRED, text));
    }
    let h: Hello = parse(&body)?;
    let acknowledged = shared.sink().hello(&h.client)?;
    let info = ClientInfo { program: format!("{} {}", h.program, h.program_version), document: h.document };
    *shared.last_client.lock().unwrap_or_else(PoisonError::into_inner) = Some(info.clone());
    (shared.on_client)(&info);
    shared.contacts().insert(h.client, Contact { info, last: Instant::now(), bye: false });
    Ok(Json(Welcome {
        protocol: PROTOCOL_VERSION,
        acknowledged,
        render_interval_ms: shared.wants.render_interval_ms,
        wants_states: shared.wants.states,
        wants_final: shared.wants.final_model,
    }))
}

async fn bye(State(shared): State<Arc<Shared>>, body: Bytes) -> std::result::Result<StatusCode, Refused> {
    let b: Bye = parse(&body)?;
    match shared.contacts().get_mut(&b.client) {
        Some(c) => c.bye = true,
        None => return Err(Error::Protocol("unknown client: say hello first".into()).into()),
    }
    Ok(StatusCode::NO_CONTENT)
}

async fn clock(State(shared): State<Arc<Shared>>) -> Json<ClockAnswer> {
    Json(ClockAnswer { t_ns: (shared.now_ns)() })
}

async fn clock_report(State(shared): State<Arc<Shared>>, body: Bytes) -> std::result::Result<StatusCode, Refused> {
    let r: ClockReport = parse(&body)?;
    shared.sink().clock(&r.client, &r.round_trips)?;
    shared.heard(&r.client);
    Ok(StatusCode::NO_CONTENT)
}

async fn events(State(shared): State<Arc<Shared>>, body: Bytes) -> Answer<Acknowledged> {
    let e: Events = parse(&body)?;
    let acknowledged = shared.sink().events(&e.client, e.events)?;
    shared.heard(&e.client);
    Ok(Json(Acknowledged { acknowledged }))
}

/// `POST /v1/file?client=…&kind=render|state|final&seq=…&client_ns=…&ext=…[&after_command=…]`, the body being the file.
#[derive(Deserialize)]
struct FileQuery {
    client: String,
    kind: RenderKind,
    seq: u64,
    client_ns: i64,
    ext: String,
    after_command: Option<u64>,
}

async fn file(State(shared): State<Arc<Shared>>, Query(q): Query<FileQuery>, body: Bytes) -> Answer<Acknowledged> {
    let meta = FileMeta { kind: q.kind, seq: q.seq, client_ns: q.client_ns, after_command: q.after_command, extension: q.ext };
    let acknowledged = shared.sink().file(&q.client, meta, &body)?;
    shared.heard(&q.client);
    Ok(Json(Acknowledged { acknowledged }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use redline_schemas::{CommandEvent, jsonl};
    use std::io::{Read as _, Write as _};
    use std::net::TcpStream;

    fn start() -> (tempfile::TempDir, Bridge) {
        let dir = tempfile::tempdir().unwrap();
        let wants = Wants { render_interval_ms: 500, ..Wants::default() };
        let b = Bridge::start(SessionDir::new(dir.path()), dir.path().join("run/bridge.json"), wants, || 1_000_000, |_| {}).unwrap();
        (dir, b)
    }

    fn send(b: &Bridge, method: &str, path: &str, token: &str, extra: &str, body: &[u8]) -> (u16, String) {
        let host = b.address().url.strip_prefix("http://").unwrap();
        let mut s = TcpStream::connect(host).unwrap();
        write!(s, "{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nAuthorization: Bearer {token}\r\n{extra}Content-Length: {}\r\n\r\n", body.len()).unwrap();
        let _ = s.write_all(body);
        let mut answer = String::new();
        let _ = s.read_to_string(&mut answer);
        let status = answer.split(' ').nth(1).and_then(|c| c.parse().ok()).unwrap_or(0);
        (status, answer.split("\r\n\r\n").nth(1).unwrap_or_default().to_owned())
    }

    fn hello(b: &Bridge) {
        let (code, body) = send(
            b,
            "POST",
            "/v1/hello",
            &b.address().token,
            "",
            br#"{"protocol":1,"client":"client-1","program":"T","program_version":"1"}"#,
        );
        assert_eq!(code, 200, "{body}");
        let (code, _) = send(
            b,
            "POST",
            "/v1/clock",
            &b.address().token,
            "",
            br#"{"client":"client-1","round_trips":[{"sent_client_ns":0,"t_ns":10,"received_client_ns":4}]}"#,
        );
        assert_eq!(code, 204);
    }

    #[test]
    fn a_plug_in_is_heard() {
        let (dir, b) = start();
        assert_eq!(b.client(), None);
        hello(&b);
        assert_eq!(b.client().unwrap().program, "T 1");
        let (code, body) = send(&b, "GET", "/v1/clock", &b.address().token, "", b"");
        assert_eq!((code, body.as_str()), (200, r#"{"t_ns":1000000}"#));
        let event =
            br#"{"client":"client-1","events":[{"seq":1,"client_ns":100,"type":"command","kind":"started","command_id":"Fillet"}]}"#;
        let (code, body) = send(&b, "POST", "/v1/events", &b.address().token, "", event);
        assert_eq!((code, body.as_str()), (200, r#"{"acknowledged":1}"#));
        let (code, _) =
            send(&b, "POST", "/v1/file?client=client-1&kind=render&seq=2&client_ns=200&ext=png", &b.address().token, "", b"png");
        assert_eq!(code, 200);
        b.stop().unwrap();
        let (lines, _) = jsonl::read_all::<CommandEvent>(&SessionDir::new(dir.path()).commands()).unwrap();
        assert_eq!((lines[0].t_ns, lines[0].command_id.as_deref()), (108, Some("Fillet")));
        assert_eq!(std::fs::read(dir.path().join("renders/000001.png")).unwrap(), b"png");
        assert!(!dir.path().join("run/bridge.json").exists(), "the address goes when the bridge stops");
    }

    #[test]
    fn the_end_waits_for_those_that_live_and_not_for_the_dead() {
        let (dir, b) = start();
        assert!(b.drain(Duration::from_secs(60)).is_empty(), "nobody to wait for");
        hello(&b);
        let begun = Instant::now();
        assert_eq!(b.drain(Duration::from_secs(60)).len(), 1, "it never noticed");
        assert!(begun.elapsed() >= NOTICE && begun.elapsed() < SILENCE);

        hello(&b);
        let file = dir.path().join("run/bridge.json");
        std::thread::scope(|s| {
            let waits = s.spawn(|| b.drain(Duration::from_secs(60)));
            let closing = || {
                let text = std::fs::read(&file).ok()?;
                serde_json::from_slice::<Address>(&text).ok().map(|a| a.closing)
            };
            while closing() != Some(true) {
                std::thread::sleep(Duration::from_millis(5));
            }
            let token = &b.address().token;
            let event = br#"{"client":"client-1","events":[{"seq":1,"client_ns":100,"type":"command","kind":"ended"}]}"#;
            assert_eq!(send(&b, "POST", "/v1/events", token, "", event).0, 200);
            assert_eq!(send(&b, "POST", "/v1/bye", token, "", br#"{"client":"client-9"}"#).0, 400);
            assert_eq!(send(&b, "POST", "/v1/bye", token, "", br#"{"client":"client-1"}"#).0, 204);
            assert!(waits.join().unwrap().is_empty());
        });
        b.stop().unwrap();
        assert!(!file.exists());
    }

    #[test]
    fn what_does_not_belong_is_refused_without_harm() {
        let (_dir, b) = start();
        let token = b.address().token.clone();
        assert_eq!(send(&b, "GET", "/v1/clock", "wrong", "", b"").0, 401);
        assert_eq!(send(&b, "GET", "/v1/clock", &"x".repeat(43), "", b"").0, 401);
        assert_eq!(send(&b, "GET", "/v1/clock", &token, "Origin: http://evil.example\r\n", b"").0, 401);
        let (code, body) = send(&b, "POST", "/v1/hello", &token, "", br#"{"protocol":2,"new":true}"#);
        assert!(code == 426 && body.contains("protocol 2"), "{code} {body}");
        assert_eq!(send(&b, "POST", "/v1/hello", &token, "", b"{\"protocol\":1").0, 400);
        assert_eq!(send(&b, "POST", "/v1/hello", &token, "", &[0xff; 100]).0, 400);
        assert_eq!(send(&b, "POST", "/v1/events", &token, "", br#"{"client":"client-9","events":[]}"#).0, 400);
        let big = vec![b' '; MAX_MESSAGE_BYTES + 1];
        let (code, _) = send(&b, "POST", "/v1/events", &token, "", &big);
        assert!(code == 413 || code == 0, "refused or cut off: {code}");
        hello(&b);
    }

    #[cfg(unix)]
    #[test]
    fn only_the_user_reads_the_token() {
        use std::os::unix::fs::PermissionsExt as _;
        let (dir, b) = start();
        let mode = std::fs::metadata(dir.path().join("run/bridge.json")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let folder = std::fs::metadata(dir.path().join("run")).unwrap().permissions().mode();
        assert_eq!(folder & 0o777, 0o700, "the recorder wants it so for its socket");
        assert_eq!(b.address().token.len(), 43);
    }

    #[test]
    fn a_file_replaced_by_another_recorder_is_left_alone() {
        let (dir, b) = start();
        let path = dir.path().join("run/bridge.json");
        let other = Address { token: "other".into(), ..b.address().clone() };
        discovery::publish(&path, &other).unwrap();
        drop(b);
        assert!(path.exists());
    }
}
