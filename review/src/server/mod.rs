//! The web server: loopback unless it is told where its proxy is.

mod assets;
mod error;
mod limits;
mod media;
mod peaks;
mod rate;
mod read;
mod security;
mod who;
mod work;

use crate::rate::Viewer;
use crate::{Error, Flow, Realigner, Result};
use axum::extract::DefaultBodyLimit;
use axum::middleware;
use axum::routing::{get, post, put};
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::sync::Notify;

/// The largest message that is taken, bytes: a text of [`crate::text::MAX_WORDS`] words with its times.
const MAX_BODY_BYTES: usize = 8 << 20;

/// Between two looks for new requests in the corpus.
const SCAN_EVERY: Duration = Duration::from_secs(20);

/// How the page is served.
pub struct Options {
    /// Where to listen; port 0 takes a free one.
    pub bind: SocketAddr,
    /// The address that people see, `https://…`, when a proxy with TLS stands in front.
    pub public_url: Option<String>,
    /// Aligns accepted texts again; without it they wait.
    pub realigner: Option<Arc<dyn Realigner>>,
    /// Draws models for raters; without it nothing can be rated.
    pub viewer: Option<Arc<dyn Viewer>>,
}

/// What every handler needs.
pub(crate) struct App {
    pub flow: Flow,
    /// `http://127.0.0.1:8040` or the public address, without a final slash.
    pub origin: String,
    pub proxied: bool,
    pub limits: limits::Limits,
    pub peaks: peaks::Cache,
    people: Mutex<Option<(Instant, Arc<Vec<redline_schemas::Participant>>)>>,
    /// Wakes the worker that aligns again.
    pub realign: Notify,
    pub can_realign: bool,
    pub viewer: Option<Arc<dyn Viewer>>,
}

type AppState = Arc<App>;

/// The origin of a public address: scheme and host, without a path.
fn origin_of(url: &str) -> Result<String> {
    let wrong = || Error::Invalid(format!("“{url}” is no address of the kind https://review.example.org (a path is not supported)"));
    let uri: axum::http::Uri = url.trim_end_matches('/').parse().map_err(|_| wrong())?;
    match (uri.scheme_str(), uri.authority(), uri.path()) {
        (Some("https"), Some(host), "" | "/") => Ok(format!("https://{host}").to_lowercase()),
        (Some("http"), ..) => Err(Error::Invalid("the public address must be https: sessions and sound would travel in the clear".into())),
        _ => Err(wrong()),
    }
}

/// Serves the loop until SIGINT or SIGTERM; `ready` gets the address that people open.
pub fn serve(flow: Flow, options: Options, ready: impl FnOnce(&str) + Send) -> Result<()> {
    let public = options.public_url.as_deref().map(origin_of).transpose()?;
    if public.is_none() && !options.bind.ip().is_loopback() {
        return Err(Error::Invalid(format!(
            "{} can be reached from outside: put a proxy with TLS in front and name its address with --public-url https://…",
            options.bind
        )));
    }
    let io = |what: &'static str| move |e: std::io::Error| Error::State(format!("{what}: {e}"));
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(io("could not start the server"))?;
    runtime.block_on(async move {
        let listener = tokio::net::TcpListener::bind(options.bind)
            .await
            .map_err(|e| Error::State(format!("{}: could not listen: {e}; choose another port with --port", options.bind)))?;
        let local = listener.local_addr().map_err(io("no local address"))?;
        let origin = public.clone().unwrap_or_else(|| format!("http://{local}"));
        let app = Arc::new(App {
            peaks: peaks::Cache::new(flow.corpus.cache_dir().join("peaks")),
            flow,
            proxied: public.is_some(),
            origin,
            limits: limits::Limits::default(),
            people: Mutex::default(),
            realign: Notify::new(),
            can_realign: options.realigner.is_some(),
            viewer: options.viewer,
        });
        blocking(&app, start).await?;
        let scanner = tokio::spawn(scan_for_ever(app.clone()));
        let aligner = options.realigner.map(|r| tokio::spawn(realign_for_ever(app.clone(), r)));
        ready(&app.origin);
        let service = router(app).into_make_service_with_connect_info::<SocketAddr>();
        let served = axum::serve(listener, service).with_graceful_shutdown(stop()).await.map_err(io("the server stopped"));
        scanner.abort();
        aligner.iter().for_each(tokio::task::JoinHandle::abort);
        served
    })
}

fn router(app: AppState) -> axum::Router {
    let one = |path: &str| format!("/api/requests/{{id}}{path}");
    axum::Router::new()
        .route("/", get(assets::index))
        .route("/assets/{file}", get(assets::file))
        .route("/api/join", post(who::join))
        .route("/api/logout", post(who::logout))
        .route("/api/me", get(who::me))
        .route("/api/queue", get(read::queue))
        .route("/api/stats", get(read::stats))
        .route("/api/items", get(read::items))
        .route("/api/audit", get(read::audit))
        .route(&one(""), get(read::details))
        .route(&one("/events"), get(read::events))
        .route(&one("/edits"), get(read::edits))
        .route(&one("/state"), get(read::state))
        .route(&one("/peaks"), get(peaks::get))
        .route(&one("/audio"), get(media::audio))
        .route(&one("/video"), get(media::video))
        .route(&one("/claim"), post(work::claim))
        .route(&one("/unclaim"), post(work::unclaim))
        .route(&one("/draft"), put(work::draft))
        .route(&one("/submit"), post(work::submit))
        .route(&one("/decide"), post(work::decide))
        .route(&one("/reject"), post(work::reject).delete(work::take_back))
        .route(&one("/realign"), post(work::realign))
        .route("/api/edits/{id}/reject", post(work::reject_edit).delete(work::take_back_edit))
        .route("/api/rate", get(rate::list))
        .route("/api/rate/{key}", get(rate::details).put(rate::rate))
        .route("/api/rate/{key}/events", get(rate::events))
        .route("/api/rate/{key}/audio", get(rate::audio))
        .route("/api/rate/{key}/video", get(rate::video))
        .route("/api/rate/{key}/views/{which}/{view}", get(rate::view))
        .fallback(|| async { error::Refusal::from(Error::NotFound("no such page".into())) })
        .layer(DefaultBodyLimit::max(MAX_BODY_BYTES))
        .layer(middleware::from_fn_with_state(app.clone(), security::guard))
        .with_state(app)
}

/// Runs work that touches disk or database away from the threads that serve.
pub(crate) async fn blocking<T: Send + 'static>(app: &AppState, f: impl FnOnce(&App) -> Result<T> + Send + 'static) -> Result<T> {
    let app = app.clone();
    tokio::task::spawn_blocking(move || f(&app)).await.map_err(|e| Error::State(format!("a task failed: {e}")))?
}

/// What a crash may have left, and what came into the corpus since.
fn start(app: &App) -> Result<()> {
    app.flow.store.resume_realignments()?;
    app.flow.scan()?;
    app.flow.assign_ratings()?;
    let (_, failed) = app.flow.export_pending()?;
    for (id, e) in failed {
        tracing::error!("{id}: the accepted transcript could not be written: {e}");
    }
    Ok(())
}

async fn scan_for_ever(app: AppState) {
    loop {
        tokio::time::sleep(SCAN_EVERY).await;
        let round = |app: &App| {
            app.flow.scan()?;
            app.flow.assign_ratings()?;
            app.flow.export_pending()
        };
        match blocking(&app, round).await {
            Ok((_, failed)) => failed.iter().for_each(|(id, e)| tracing::error!("{id}: the accepted transcript could not be written: {e}")),
            Err(e) => tracing::error!("could not look for new requests: {e}"),
        }
    }
}

async fn realign_for_ever(app: AppState, aligner: Arc<dyn Realigner>) {
    loop {
        let aligner = aligner.clone();
        let more = blocking(&app, move |app| app.flow.realign_next(aligner.as_ref())).await;
        if let Err(e) = &more {
            tracing::error!("could not align again: {e}");
        }
        if !matches!(more, Ok(true)) {
            // Woken by the next acceptance; the timeout is for attempts that become due.
            let _ = tokio::time::timeout(Duration::from_secs(1), app.realign.notified()).await;
        }
    }
}

async fn stop() {
    let interrupt = tokio::signal::ctrl_c();
    #[cfg(unix)]
    {
        if let Ok(mut term) = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()) {
            tokio::select! { _ = interrupt => {}, _ = term.recv() => {} }
            return;
        }
    }
    let _ = interrupt.await;
}

impl App {
    /// The participants, read again when a moment has passed.
    pub fn people(&self) -> Result<Arc<Vec<redline_schemas::Participant>>> {
        let mut kept = self.people.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some((at, people)) = kept.as_ref().filter(|(at, _)| at.elapsed() < Duration::from_secs(2)) {
            let _ = at;
            return Ok(people.clone());
        }
        let people = Arc::new(self.flow.corpus.participants()?.participants);
        *kept = Some((Instant::now(), people.clone()));
        Ok(people)
    }

    /// Where a message came from: the peer, or whom the proxy names.
    pub fn peer(&self, peer: IpAddr, headers: &axum::http::HeaderMap) -> IpAddr {
        let named = headers.get_all("x-forwarded-for").iter().next_back().and_then(|v| v.to_str().ok());
        let named = named.and_then(|v| v.rsplit(',').next()).and_then(|v| v.trim().parse().ok());
        match named {
            Some(ip) if self.proxied => ip,
            _ => peer,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_public_address_is_https_without_a_path() {
        assert_eq!(origin_of("https://Review.Example.org/").unwrap(), "https://review.example.org");
        for bad in ["http://x.org", "https://x.org/path", "x.org", "https://"] {
            assert!(origin_of(bad).is_err(), "{bad}");
        }
    }
}
