//! What the served page refuses: other sites, guessed keys, forged ids, paths, too much.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod review_support;

use review_support::{Person, Server, corpus, plain, redline};
use serde_json::json;

fn stranger(p: &Person) -> Person {
    Person { cookie: String::new(), csrf: String::new(), ..p.clone() }
}

#[test]
fn messages_of_other_sites_and_without_a_session_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let c = corpus(dir.path());
    let id = plain(&c);
    let server = Server::start(dir.path(), &[]);
    let p = server.join("P01");
    let claim = format!("/api/requests/{id}/claim");
    let code = |more: &[(&str, &str)]| {
        let (status, v, _) = p.send_with("POST", &claim, Some(json!({})), more);
        (status, v["code"].as_str().unwrap_or_default().to_owned())
    };
    assert_eq!(code(&[]).0, 200, "the page itself may");
    assert_eq!(code(&[("x-redline-csrf", "")]), (403, "csrf".into()));
    assert_eq!(code(&[("x-redline-csrf", &"0".repeat(64))]), (403, "csrf".into()));
    assert_eq!(code(&[("origin", "https://evil.example")]), (403, "origin".into()));
    assert_eq!(code(&[("origin", "null")]), (403, "origin".into()));
    assert_eq!(code(&[("sec-fetch-site", "cross-site")]), (403, "origin".into()));
    assert_eq!(code(&[("host", "evil.example")]), (421, "host".into()), "DNS rebinding");
    assert_eq!(code(&[("origin", &server.url)]).0, 200);
    let nobody = stranger(&p);
    for path in ["/api/me", "/api/queue", "/api/stats", "/api/audit", &format!("/api/requests/{id}"), &format!("/api/requests/{id}/audio")]
    {
        assert_eq!(nobody.send("GET", path, None).0, 401, "{path}");
    }
}

#[test]
fn the_cookie_and_every_answer_carry_their_flags() {
    let dir = tempfile::tempdir().unwrap();
    corpus(dir.path());
    let server = Server::start(dir.path(), &[]);
    let p = server.join("P01");
    let token = review_support::invite(dir.path(), "P01").split_once("#join=").unwrap().1.to_owned();
    let (_, _, headers) = stranger(&p).send("POST", "/api/join", Some(json!({ "token": token })));
    let cookie = headers["set-cookie"].to_str().unwrap();
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict") && cookie.contains("Path=/"), "{cookie}");
    for path in ["/", "/api/me", "/nothing"] {
        let (_, _, headers) = p.raw("GET", path, None, &[]);
        let policy = headers["content-security-policy"].to_str().unwrap();
        assert!(
            policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'") && !policy.contains("unsafe"),
            "{policy}"
        );
        assert_eq!(headers["x-content-type-options"], "nosniff");
        assert_eq!(headers["referrer-policy"], "no-referrer");
    }
    // The page's nonce is a new one each time, and the one its policy names.
    let page = || {
        let (_, html, headers) = p.raw("GET", "/", None, &[]);
        let html = String::from_utf8(html).unwrap();
        let nonce = html.split_once("name=\"nonce\" content=\"").unwrap().1.split_once('"').unwrap().0.to_owned();
        assert!(headers["content-security-policy"].to_str().unwrap().contains(&format!("'nonce-{nonce}'")));
        nonce
    };
    assert_ne!(page(), page());
    assert_eq!(p.post("/api/logout", json!({})).0, 200);
    assert_eq!(p.send("GET", "/api/me", None).0, 401, "signed out");
}

#[test]
fn no_path_from_the_browser_reaches_the_file_system() {
    let dir = tempfile::tempdir().unwrap();
    let c = corpus(dir.path());
    let id = plain(&c);
    std::fs::write(dir.path().join("secret.txt"), "secret").unwrap();
    let server = Server::start(dir.path(), &[]);
    let p = server.join("P02");
    let up = [
        "..%2f..%2fsecret.txt",
        "%2e%2e%2f%2e%2e%2fsecret.txt",
        "..%5csecret.txt",
        "%2fetc%2fpasswd",
        "..",
        ".",
        "a%00b",
        "C01%2f..",
        "....%2f%2f",
    ];
    for bad in up {
        for path in [
            format!("/api/requests/{bad}/audio"),
            format!("/api/requests/{bad}"),
            format!("/assets/{bad}"),
            format!("/api/requests/{id}/{bad}"),
        ] {
            let (status, body, _) = p.raw("GET", &path, None, &[]);
            assert!(matches!(status, 400 | 404), "{path}: {status}");
            assert!(!body.windows(6).any(|w| w == b"secret"), "{path}");
        }
        assert!(matches!(p.raw("POST", &format!("/api/edits/{bad}/reject"), Some(json!({ "reason": "x" })), &[]).0, 400 | 404));
    }
    // A link in place of the sound is not followed out of reach of the list of requests: its id is not known.
    assert_eq!(p.raw("GET", "/api/requests/participants.json/audio", None, &[]).0, 404);
}

#[test]
fn guessing_is_slowed_down_revoked_keys_end_and_large_messages_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let c = corpus(dir.path());
    let id = plain(&c);
    let server = Server::start(dir.path(), &[]);
    let p = server.join("P01");
    let draft = format!("/api/requests/{id}/draft");
    let (status, _, _) = p.send("PUT", &draft, Some(json!({ "seq": 0, "text": "x".repeat(9 << 20) })));
    assert!(status == 413 || status == 422 || status == 0, "{status}");
    assert_eq!(p.put(&draft, json!({ "seq": 0, "text": "x ".repeat(600_000) })).0, 422, "more than the longest text");
    assert_eq!(p.put(&draft, json!({ "seq": "one", "text": 5 })).0, 422);
    assert_eq!(p.put(&draft, json!({ "seq": 0, "text": "fine" })).0, 200);

    let root = dir.path().to_str().unwrap();
    let (code, out, _) = redline(&["review", "invite", "P01", "--revoke", "--corpus", root]);
    assert_eq!((code, serde_json::from_str::<serde_json::Value>(&out).unwrap()["ended"].as_u64()), (0, Some(2)));
    assert_eq!(p.send("GET", "/api/me", None).0, 401);
    assert_eq!(redline(&["review", "invite", "P99", "--corpus", root]).0, 5, "nobody of this corpus");

    let nobody = stranger(&p);
    let tries: Vec<u16> = (0..60).map(|i| nobody.post("/api/join", json!({ "token": format!("{i:064}") })).0).collect();
    assert_eq!(tries[0], 401);
    assert!(tries.iter().filter(|s| **s == 429).count() > 20, "{tries:?}");
}

#[test]
fn a_public_address_needs_tls_and_gets_secure_cookies() {
    let dir = tempfile::tempdir().unwrap();
    corpus(dir.path());
    let root = dir.path().to_str().unwrap();
    let (code, _, talk) = redline(&["review", "serve", "--host", "0.0.0.0", "--port", "0", "--corpus", root]);
    assert!(code != 0 && talk.contains("--public-url"), "{talk}");
    let (code, _, talk) = redline(&["review", "serve", "--public-url", "http://review.example", "--port", "0", "--corpus", root]);
    assert!(code != 0 && talk.contains("https"), "{talk}");
}
