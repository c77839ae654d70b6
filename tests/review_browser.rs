//! The correction loop in real browsers: three people, two windows at once, text that would like to be a script.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod review_support;

use redline_review::text::distance;
use redline_schemas::{Corpus, Difficulty, Modality, RequestId, Timing, TranscriptKind, fsio};
use review_support::{BIN, HEARD, Person, Server, browser, corpus, edit_of, invite, request};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

#[test]
fn three_people_play_the_loop_in_browsers() {
    let dir = tempfile::tempdir().unwrap();
    let c = corpus(dir.path());
    let first = request(&c, "P01", Modality::DrawTemp, Difficulty::Easy, &HEARD, true);
    let script = request(&c, "P01", Modality::Interactive, Difficulty::Medium, &HEARD, true);
    let line = ["word"; 20].join(" ");
    // Of somebody who has nothing else to do; transcript times need not lie within the sound to be shown.
    let long = request(&c, "P04", Modality::Interactive, Difficulty::Hard, &vec![line.as_str(); 500], true);
    let server = Server::start(dir.path(), &[]);
    let link = |p: &str| invite(dir.path(), p).replace("http://127.0.0.1:8040", &server.url);
    let want = serde_json::json!({
        "url": server.url,
        "links": { "P01": link("P01"), "P02": link("P02"), "P03": link("P03"), "C01": link("C01"), "P04": link("P04") },
        "request": first, "script": script, "long": long, "shots": std::env::var("REDLINE_SCREENSHOTS").ok(),
    });
    println!("{}", browser("loop.mjs", &want));

    // What the browsers left behind.
    let oracle = c.request_dir(&first).transcript(TranscriptKind::Oracle).unwrap().unwrap();
    assert_eq!(oracle.text(), "make the fillet on this edge\ntwo millimeters bigger please");
    let made = oracle.correction.unwrap();
    assert_eq!((made.char_edit_distance, made.word_edit_distance, made.rounds, made.changed), (2, 2, 2, true));
    assert_eq!((made.corrected_by.as_str(), made.accepted_by.as_str()), ("P01", "P03"));
    assert!(c.request_dir(&script).transcript(TranscriptKind::Oracle).unwrap().is_none(), "never accepted");
}

/// Handed in by P01 and accepted by P02; its first attempt to be aligned again is over.
fn accepted(c: &Corpus, asks: &Person, reviews: &Person) -> RequestId {
    let id = request(c, "P01", Modality::Interactive, Difficulty::Easy, &HEARD, true);
    let at = |step: &str| format!("/api/requests/{id}{step}");
    let begun = Instant::now();
    let text = "make the fillet on this edge\ntwo millimeters bigger please";
    // The server looks for new requests every 20 s.
    let handed = loop {
        let (status, handed) = asks.post(&at("/submit"), json!({ "seq": 0, "text": text }));
        if status == 200 {
            break handed;
        }
        assert!(begun.elapsed() < Duration::from_secs(60), "{handed}");
        std::thread::sleep(Duration::from_millis(200));
    };
    assert_eq!(reviews.post(&at("/decide"), json!({ "revision": handed["revision"], "accept": true })).0, 200);
    loop {
        let r = asks.get(&at("/state"))["realignment"].clone();
        if r["state"] == "done" || !r["error"].is_null() {
            return id;
        }
        assert!(begun.elapsed() < Duration::from_secs(120), "{r}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// What the page says of a text in place of the first line.
fn counted(line: &str) -> Value {
    let d = distance(&HEARD.join("\n"), &format!("{line}\n{}", HEARD[1]));
    let many = |n: u64, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
    json!({ "line": line, "said": format!("{}, {} changed", many(d.words, "word"), many(d.chars, "character")) })
}

#[test]
fn what_the_page_does_between_the_steps() {
    let dir = tempfile::tempdir().unwrap();
    let c = corpus(dir.path());
    let make = |modality| request(&c, "P01", modality, Difficulty::Easy, &HEARD, true);
    let [late, typed, twin, count, returned, edited] = [(); 6].map(|()| make(Modality::DrawStatic));
    edit_of(&c, &edited, "P03");
    let server = Server::start(dir.path(), &[]);
    let (asks, reviews) = (server.join("P01"), server.join("P02"));
    let handed = asks.post(&format!("/api/requests/{returned}/submit"), json!({ "seq": 0, "text": HEARD.join("\n") }));
    assert_eq!(handed.0, 200);

    let [guessed, running, failed] = [(); 3].map(|()| accepted(&c, &asks, &reviews));
    let db = rusqlite::Connection::open(c.review_db()).unwrap();
    db.busy_timeout(Duration::from_secs(5)).unwrap();
    for (id, state, error) in
        [(&guessed, "done", None), (&running, "running", None), (&failed, "failed", Some("the model file is missing"))]
    {
        let set = "UPDATE realignments SET state = ?2, error = ?3, attempts = 4 WHERE request = ?1";
        db.execute(set, rusqlite::params![id.as_str(), state, error]).unwrap();
    }
    let session = c.request_dir(&guessed);
    let mut oracle = session.transcript(TranscriptKind::Oracle).unwrap().unwrap();
    let timings =
        [Timing::Inferred, Timing::Aligned, Timing::Interpolated, Timing::Inferred].into_iter().chain(std::iter::repeat(Timing::Aligned));
    for (w, timing) in oracle.segments.iter_mut().flat_map(|s| &mut s.words).zip(timings) {
        w.timing = timing;
    }
    fsio::write_json(&session.transcript_path(TranscriptKind::Oracle), &oracle).unwrap();

    let link = |p: &str| invite(dir.path(), p).replace("http://127.0.0.1:8040", &server.url);
    let cases: Vec<Value> = [
        "make the fillet on this edge",
        "Make the fill it on this edge",
        "",
        "mache 🔩 die Ø8-Bohrung  größer",
        "edge this on it fill the make",
    ]
    .map(counted)
    .to_vec();
    let want = json!({
        "url": server.url, "shots": std::env::var("REDLINE_SCREENSHOTS").ok(),
        "links": { "P01": link("P01"), "P02": link("P02"), "P03": link("P03"), "C01": link("C01") },
        "late": late, "typed": typed, "twin": twin, "counted": { "request": count, "cases": cases }, "returned": returned, "edited": edited,
        "guessed": guessed, "running": running, "failed": failed,
    });
    browser("states.mjs", &want);
}

#[test]
fn handing_in_while_the_server_is_stopped() {
    let dir = tempfile::tempdir().unwrap();
    let c = corpus(dir.path());
    let requests = [(); 3].map(|()| request(&c, "P01", Modality::Interactive, Difficulty::Easy, &HEARD, true));
    let want = json!({
        "bin": BIN, "root": dir.path(), "links": { "P01": invite(dir.path(), "P01") }, "requests": requests,
        "shots": std::env::var("REDLINE_SCREENSHOTS").ok(),
    });
    browser("away.mjs", &want);
}
