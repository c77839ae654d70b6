//! The page itself, embedded in the binary.

use super::error::Reply;
use super::security::CONTENT_POLICY;
use crate::Error;
use axum::body::Body;
use axum::extract::Path;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};

#[derive(rust_embed::RustEmbed)]
#[folder = "web/dist"]
struct Page;

/// The one page. Its nonce lets the waveform's own style in, and nothing else.
pub(super) async fn index() -> Reply<Response> {
    let file = Page::get("index.html").ok_or_else(|| Error::NotFound("this build has no page in it".into()))?;
    let mut nonce = [0_u8; 16];
    getrandom::fill(&mut nonce).map_err(|e| Error::State(format!("the system gives no random numbers: {e}")))?;
    let nonce: String = nonce.iter().map(|b| format!("{b:02x}")).collect();
    let html = String::from_utf8_lossy(&file.data).replace("__NONCE__", &nonce);
    let policy = CONTENT_POLICY.replace("style-src 'self'", &format!("style-src 'self' 'nonce-{nonce}'"));
    let mut answer = ([(header::CONTENT_TYPE, "text/html; charset=utf-8")], html).into_response();
    if let Ok(v) = HeaderValue::from_str(&policy) {
        answer.headers_mut().insert(header::CONTENT_SECURITY_POLICY, v);
    }
    Ok(answer)
}

/// A script, style or picture of the page; their names hold a hash, so they may be kept for ever.
pub(super) async fn file(Path(name): Path<String>) -> Reply<Response> {
    let file = Page::get(&format!("assets/{name}")).ok_or_else(|| Error::NotFound("no such file".into()))?;
    let kind = match name.rsplit_once('.').map(|(_, e)| e) {
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        _ => "application/octet-stream",
    };
    let headers = [(header::CONTENT_TYPE, kind), (header::CACHE_CONTROL, "public, max-age=31536000, immutable")];
    Ok((headers, Body::from(file.data.into_owned())).into_response())
}

#[cfg(test)]
mod tests {
    use super::*;
    use redline_schemas::fsio::sha256_bytes;
    use std::path::Path as Dir;

    /// The same sum as `web/freshness.mjs` takes.
    #[test]
    fn the_embedded_page_was_built_from_the_sources_beside_it() {
        let web = Dir::new(env!("CARGO_MANIFEST_DIR")).join("web");
        let mut sources: Vec<String> =
            std::fs::read_dir(web.join("src")).unwrap().map(|e| format!("src/{}", e.unwrap().file_name().to_string_lossy())).collect();
        sources.sort();
        let mut all = Vec::new();
        for file in ["index.html", "package-lock.json", "vite.config.js"].into_iter().chain(sources.iter().map(String::as_str)) {
            all.extend_from_slice(format!("{file}\n").as_bytes());
            all.extend(std::fs::read(web.join(file)).unwrap());
            all.push(b'\n');
        }
        let built = Page::get("sources.sha256").unwrap();
        let built = String::from_utf8_lossy(&built.data).trim().to_owned();
        assert_eq!(sha256_bytes(&all), built, "run `npm ci && npm run build` in review/web and commit dist");
    }
}
