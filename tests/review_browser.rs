//! The correction loop in real browsers: three people, two windows at once, text that would like to be a script.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod review_support;

use redline_schemas::{Difficulty, Modality, TranscriptKind};
use review_support::{HEARD, Server, browser, corpus, invite, request};

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
