//! What holds for every message: the right host, the right origin, strict headers.

use super::AppState;
use super::error::answer;
use axum::extract::{Request, State};
use axum::http::uri::Authority;
use axum::http::{HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::Response;

/// What a page may load: only what this server gives. The index page adds a nonce for its style.
pub(super) const CONTENT_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; \
    media-src 'self' blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// The host part of an origin.
fn host(origin: &str) -> &str {
    origin.split_once("://").map_or(origin, |(_, h)| h)
}

/// Why a message is not for this server, when it is not.
fn refusal(origin: &str, proxied: bool, request: &Request) -> Option<Response> {
    let text = |name: HeaderName| request.headers().get(name).and_then(|v| v.to_str().ok());
    let asked = text(header::HOST).or_else(|| request.uri().authority().map(Authority::as_str)).unwrap_or_default().to_lowercase();
    let ours = host(origin);
    let local = |h: &str| !proxied && ours.rsplit_once(':').is_some_and(|(_, port)| h == format!("localhost:{port}"));
    if asked != ours && !local(&asked) {
        return Some(answer(StatusCode::MISDIRECTED_REQUEST, "host", "this server answers under its own address only"));
    }
    let safe = matches!(*request.method(), Method::GET | Method::HEAD);
    let same_origin =
        text(header::ORIGIN).map(str::to_lowercase).is_none_or(|o| o == origin || o.strip_prefix("http://").is_some_and(local));
    let same_site = text(HeaderName::from_static("sec-fetch-site")).is_none_or(|s| matches!(s, "same-origin" | "none"));
    let ours = same_origin && same_site;
    (!safe && !ours).then(|| answer(StatusCode::FORBIDDEN, "origin", "this message comes from another site"))
}

/// Refuses foreign hosts (DNS rebinding) and foreign origins, and sets the headers of every answer.
pub(super) async fn guard(State(app): State<AppState>, request: Request, next: Next) -> Response {
    let refusal = refusal(&app.origin, app.proxied, &request);
    let mut answer = match refusal {
        Some(refusal) => refusal,
        None => next.run(request).await,
    };
    let h = answer.headers_mut();
    let mut set = |name, value: &'static str| {
        h.entry(name).or_insert(HeaderValue::from_static(value));
    };
    set(header::CONTENT_SECURITY_POLICY, CONTENT_POLICY);
    set(header::X_CONTENT_TYPE_OPTIONS, "nosniff");
    set(header::REFERRER_POLICY, "no-referrer");
    set(header::X_FRAME_OPTIONS, "DENY");
    set(header::CACHE_CONTROL, "no-store");
    set(HeaderName::from_static("cross-origin-opener-policy"), "same-origin");
    set(HeaderName::from_static("cross-origin-resource-policy"), "same-origin");
    set(HeaderName::from_static("permissions-policy"), "camera=(), microphone=(), geolocation=()");
    if app.proxied {
        set(header::STRICT_TRANSPORT_SECURITY, "max-age=31536000");
    }
    answer
}
