//! kill -9 while people save, a hundred times: what was acknowledged is there.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod review_support;

use redline_schemas::{RequestId, TranscriptKind};
use review_support::{Person, Server, corpus, plain};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const KILLS: u64 = 100;

/// Saves until the server is gone; the last text that was acknowledged, and its number.
fn type_until_killed(p: &Person, id: &RequestId, mut seq: i64, gone: &AtomicBool) -> (i64, Option<String>) {
    let mut last = None;
    while !gone.load(Ordering::Relaxed) {
        let text = format!("keystroke {} of this text", seq + 1);
        let (status, answer) = p.put(&format!("/api/requests/{id}/draft"), json!({ "seq": seq, "text": text }));
        match status {
            200 => {
                seq = answer["seq"].as_i64().unwrap();
                last = Some(text);
            }
            0 => break,
            // The session's rate limit: a person does not type as fast as this.
            429 => std::thread::sleep(Duration::from_millis(20)),
            other => panic!("{other}: {answer}"),
        }
    }
    (seq, last)
}

#[test]
fn nothing_acknowledged_is_lost_when_the_server_is_killed_a_hundred_times() {
    let dir = tempfile::tempdir().unwrap();
    let c = corpus(dir.path());
    let drafted = plain(&c);
    let decided: Vec<RequestId> = (0..KILLS).map(|_| plain(&c)).collect();
    let mut server = Server::start(dir.path(), &[]);
    let (mut asks, mut reviews) = (server.join("P01"), server.join("P02"));
    let (mut seq, mut saves, mut accepts, mut cut_short) = (0, 0_i64, 0, 0);
    for (round, id) in (0_u64..).zip(&decided) {
        let gone = AtomicBool::new(false);
        // A different moment of the work each time.
        let after = Duration::from_millis(3 + round * 37 % 61);
        let (typed, accepted) = std::thread::scope(|s| {
            let (asks, reviews, gone, drafted) = (&asks, &reviews, &gone, &drafted);
            let typing = s.spawn(move || type_until_killed(asks, drafted, seq, gone));
            let deciding = s.spawn(move || {
                let (status, handed) = asks.post(&format!("/api/requests/{id}/submit"), json!({ "seq": 0, "text": "accepted text" }));
                if status != 200 {
                    return None;
                }
                let body = json!({ "revision": handed["revision"], "accept": true });
                let (status, _) = reviews.post(&format!("/api/requests/{id}/decide"), body);
                (status == 200).then_some(())
            });
            std::thread::sleep(after);
            server.kill();
            gone.store(true, Ordering::Relaxed);
            (typing.join().unwrap(), deciding.join().unwrap())
        });
        server = Server::start(dir.path(), &[]);
        asks.url.clone_from(&server.url);
        reviews.url.clone_from(&server.url);
        let seen = asks.get(&format!("/api/requests/{drafted}"));
        let (acknowledged, text) = typed;
        let there = seen["draft"]["seq"].as_i64().unwrap_or(0);
        // One more than acknowledged may be there: saved, but killed before the answer.
        assert!(there == acknowledged || there == acknowledged + 1, "round {round}: {there} saves, {acknowledged} acknowledged");
        if there == acknowledged
            && let Some(text) = text
        {
            assert_eq!(seen["draft"]["text"], json!(text));
        }
        saves += there - seq;
        seq = there;
        let state: Value = asks.get(&format!("/api/requests/{id}"))["item"].clone();
        if accepted.is_some() {
            accepts += 1;
            assert_eq!(state["state"], "accepted", "round {round}");
        } else {
            cut_short += 1;
        }
        // Acknowledged or not: what the database calls accepted lies beside its request after the start.
        let oracle = c.request_dir(id).transcript(TranscriptKind::Oracle).unwrap();
        assert_eq!(oracle.is_some(), state["state"] == "accepted", "round {round}");
        if let Some(t) = oracle {
            assert_eq!(t.text(), "accepted text");
        }
    }
    println!("{KILLS} kills, {saves} saves, {accepts} acceptances acknowledged, {cut_short} cut short");
    assert!(
        saves > 100 && accepts > 5 && cut_short > 5,
        "the kills hit the work: {saves} saves, {accepts} accepted, {cut_short} cut short"
    );
    let db = rusqlite::Connection::open(c.review_db()).unwrap();
    let sound: String = db.query_row("PRAGMA integrity_check", [], |r| r.get(0)).unwrap();
    assert_eq!(sound, "ok");
}
