//! Who asks: invitation, session cookie, CSRF key.

use super::error::{Refusal, Reply, answer};
use super::limits::{SESSION, TRIES};
use super::{App, AppState, blocking};
use crate::store::SESSION_DAYS;
use crate::{Error, Person};
use axum::Json;
use axum::extract::{ConnectInfo, FromRequestParts, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use redline_schemas::fsio::sha256_bytes;
use serde_json::json;
use std::net::SocketAddr;

/// The header that a page proves itself with: other sites can neither read nor send it.
const CSRF_HEADER: &str = "x-redline-csrf";

/// The person behind a message, with a valid session; for anything that changes, with the CSRF key.
pub(super) struct Who {
    pub person: Person,
    token: String,
}

fn cookie_name(app: &App) -> &'static str {
    // The prefix makes browsers insist on TLS and on this very host.
    if app.proxied { "__Host-redline" } else { "redline" }
}

fn cookie(app: &App, headers: &HeaderMap) -> Option<String> {
    let pairs = headers.get_all(header::COOKIE).iter().filter_map(|v| v.to_str().ok()).flat_map(|v| v.split(';'));
    let mut ours = pairs.filter_map(|p| p.trim().split_once('=')).filter(|(n, _)| *n == cookie_name(app));
    ours.next().map(|(_, v)| v.to_owned()).filter(|v| v.len() == 64 && v.bytes().all(|b| b.is_ascii_hexdigit()))
}

fn set_cookie(app: &App, value: &str, seconds: u64) -> Option<HeaderValue> {
    let secure = if app.proxied { "; Secure" } else { "" };
    HeaderValue::from_str(&format!("{}={value}; Path=/; HttpOnly; SameSite=Strict; Max-Age={seconds}{secure}", cookie_name(app))).ok()
}

/// Derived from the session's token, so it needs no place of its own and ends with it.
fn csrf_key(token: &str) -> String {
    sha256_bytes(format!("redline csrf {token}").as_bytes())
}

fn too_many() -> Response {
    answer(StatusCode::TOO_MANY_REQUESTS, "too-many", "too many messages; wait a moment")
}

fn unknown() -> Response {
    answer(StatusCode::UNAUTHORIZED, "unknown", "open your invitation link to sign in")
}

impl FromRequestParts<AppState> for Who {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, app: &AppState) -> Result<Self, Response> {
        let peer = parts.extensions.get::<ConnectInfo<SocketAddr>>().map_or([0, 0, 0, 0].into(), |c| c.0.ip());
        let tries = format!("tries {}", app.peer(peer, &parts.headers));
        let Some(token) = cookie(app, &parts.headers) else { return Err(unknown()) };
        if !app.limits.has(&tries, TRIES) {
            return Err(too_many());
        }
        let key = token.clone();
        let person = blocking(app, move |app| {
            let Some(id) = app.flow.store.session(&key)? else { return Ok(None) };
            let found = app.people()?.iter().find(|p| p.id == id && p.agent.is_none()).map(|p| Person { id, roles: p.roles.clone() });
            Ok(found)
        })
        .await
        .map_err(|e| Refusal(e).into_response())?;
        let Some(person) = person else {
            app.limits.take(&tries, TRIES);
            return Err(unknown());
        };
        if !app.limits.take(&format!("session {}", sha256_bytes(token.as_bytes())), SESSION) {
            return Err(too_many());
        }
        if !matches!(parts.method, Method::GET | Method::HEAD) {
            let sent = parts.headers.get(CSRF_HEADER).and_then(|v| v.to_str().ok()).unwrap_or_default();
            // Hashes are compared, so the time it takes tells nothing of the key.
            if sha256_bytes(sent.as_bytes()) != sha256_bytes(csrf_key(&token).as_bytes()) {
                note_denied(app, &person, "CSRF key", parts.uri.path()).await;
                return Err(answer(StatusCode::FORBIDDEN, "csrf", "this page is out of date; load it again"));
            }
        }
        Ok(Self { person, token })
    }
}

/// Writes into the audit log that somebody was refused.
pub(super) async fn note_denied(app: &AppState, person: &Person, why: &str, what: &str) {
    let (id, why) = (person.id.clone(), format!("{why}: {}", what.chars().take(200).collect::<String>()));
    let noted = blocking(app, move |app| app.flow.store.audit(id.as_str(), "denied", None, Some(&why))).await;
    if let Err(e) = noted {
        tracing::error!("the audit log could not be written: {e}");
    }
}

#[derive(serde::Deserialize)]
pub(super) struct Join {
    token: String,
}

/// Begins a session with an invitation.
pub(super) async fn join(
    State(app): State<AppState>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    headers: HeaderMap,
    Json(sent): Json<Join>,
) -> Response {
    let tries = format!("tries {}", app.peer(peer.ip(), &headers));
    if !app.limits.has(&tries, TRIES) {
        return too_many();
    }
    let login = match blocking(&app, move |app| app.flow.store.join(&sent.token)).await {
        Ok(Some(login)) => login,
        Ok(None) => {
            app.limits.take(&tries, TRIES);
            return answer(StatusCode::UNAUTHORIZED, "invitation", "this invitation is unknown or too old; ask for a new one");
        }
        Err(e) => return Refusal(e).into_response(),
    };
    let mut answer = Json(json!({ "participant": login.participant })).into_response();
    if let Some(c) = set_cookie(&app, &login.token, u64::from(SESSION_DAYS) * 86_400) {
        answer.headers_mut().insert(header::SET_COOKIE, c);
    }
    answer
}

/// Ends the session.
pub(super) async fn logout(State(app): State<AppState>, who: Who) -> Reply<Response> {
    blocking(&app, move |app| app.flow.store.leave(&who.token)).await?;
    let mut answer = Json(json!({})).into_response();
    if let Some(c) = set_cookie(&app, "", 0) {
        answer.headers_mut().insert(header::SET_COOKIE, c);
    }
    Ok(answer)
}

/// Who is signed in, what they may do, and the key for messages that change something.
pub(super) async fn me(State(app): State<AppState>, who: Who) -> Reply<Response> {
    let name = blocking(&app, |app| Ok(app.flow.corpus.manifest()?.name)).await?;
    let body = json!({
        "participant": who.person.id,
        "roles": who.person.roles,
        "csrf": csrf_key(&who.token),
        "corpus": name,
        "claim_minutes": app.flow.claim_minutes,
        "can_realign": app.can_realign,
    });
    Ok(Json(body).into_response())
}

impl Who {
    /// Runs a step; a step that this person may not take is noted.
    pub async fn run<T: Send + 'static>(
        self,
        app: &AppState,
        what: &str,
        f: impl FnOnce(&App, &Person) -> crate::Result<T> + Send + 'static,
    ) -> Reply<T> {
        let person = self.person.clone();
        let result = blocking(app, move |app| f(app, &person)).await;
        if let Err(Error::Forbidden(why)) = &result {
            note_denied(app, &self.person, why, what).await;
        }
        Ok(result?)
    }
}
