//! How long a save takes: 200 annotators on a corpus of 10,000 requests, over HTTP, each save on the disk
//! before it is acknowledged. `cargo bench --bench review_save`; exits 1 when the 95th percentile is over 20 ms.

#![allow(clippy::unwrap_used, clippy::expect_used)]

#[path = "../tests/review_support/mod.rs"]
mod review_support;

use redline_review::Flow;
use redline_schemas::{Corpus, FORMAT_VERSION, Participant, ParticipantId, ParticipantsManifest, RequestId, Role, TranscriptKind};
use review_support::{HEARD, Person, Server, corpus, plain};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

const ANNOTATORS: usize = 200;
const REQUESTS: usize = 10_000;
const WANTED_MS: f64 = 20.0;
/// Saves of one request before the next one is opened.
const SAVES_EACH: u32 = 12;

/// One request's files, written anew under other names: a thousand times quicker than ten thousand encodings.
fn copies(c: &Corpus, people: &[String]) -> Vec<Vec<RequestId>> {
    let pattern = plain(c);
    let mut request: Value = serde_json::to_value(c.request(&pattern).unwrap()).unwrap();
    let mut transcript = serde_json::to_value(review_support::transcript(&pattern, &HEARD)).unwrap();
    let mut each = vec![Vec::new(); people.len()];
    for i in 0..REQUESTS - 1 {
        let id = RequestId::generate();
        let owner = i % people.len();
        let dir = c.request_dir(&id);
        std::fs::create_dir_all(dir.path()).unwrap();
        request["id"] = json!(id);
        request["participant"] = json!(people[owner]);
        transcript["request"] = json!(id);
        std::fs::write(dir.request_json(), request.to_string()).unwrap();
        std::fs::write(dir.transcript_path(TranscriptKind::Automatic), transcript.to_string()).unwrap();
        each[owner].push(id);
    }
    each
}

/// Saves as a page does, a pause of 0.4 to 1.2 s after each; the times in milliseconds.
fn annotate(p: &Person, mine: &[RequestId], number: usize, until: Instant) -> Vec<f64> {
    let mut times = Vec::new();
    let mut dice = number as u64 * 7_919 + 1;
    let mut pause = move || {
        dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        Duration::from_millis(400 + (dice >> 33) % 800)
    };
    std::thread::sleep(pause());
    for id in mine.iter().cycle() {
        let seen = p.get(&format!("/api/requests/{id}"));
        let mut words = seen["automatic"]["words"].clone();
        let mut seq = seen["draft"]["seq"].as_i64().unwrap_or(0);
        for _ in 0..SAVES_EACH {
            if Instant::now() >= until {
                return times;
            }
            words[0]["text"] = json!(format!("take{seq}"));
            let heard = HEARD.join("\n");
            let text = format!("take{seq}{}", heard.trim_start_matches("make"));
            let begun = Instant::now();
            let (status, answer) =
                p.put(&format!("/api/requests/{id}/draft"), json!({ "seq": seq, "text": text, "words": words, "active_ms": 800 }));
            times.push(begun.elapsed().as_secs_f64() * 1e3);
            assert_eq!(status, 200, "{answer}");
            seq = answer["seq"].as_i64().unwrap();
            std::thread::sleep(pause());
        }
    }
    times
}

fn main() {
    // `cargo test --benches` only wants to know that it starts.
    if std::env::args().any(|a| a == "--test") {
        return;
    }
    let seconds = std::env::var("REDLINE_BENCH_SECONDS").ok().and_then(|s| s.parse().ok()).unwrap_or(30);
    let dir = tempfile::tempdir().unwrap();
    let c = corpus(dir.path());
    let people: Vec<String> = (0..ANNOTATORS).map(|i| format!("A{i:03}")).collect();
    let participant = |id: &String| Participant {
        id: ParticipantId::new(id.as_str()).unwrap(),
        roles: vec![Role::Requestor],
        created_utc: chrono::Utc::now(),
        consent: None,
        agent: None,
    };
    let participants = people.iter().map(participant).collect();
    c.write_participants(&ParticipantsManifest { format_version: FORMAT_VERSION, participants }).unwrap();
    let each = copies(&c, &people);
    let flow = Flow::open(c.clone()).unwrap();
    let invites: Vec<String> = people.iter().map(|p| flow.store.invite(&ParticipantId::new(p.as_str()).unwrap(), 1).unwrap()).collect();
    let begun = Instant::now();
    let server = Server::start(dir.path(), &[]);
    let started = begun.elapsed().as_secs_f64();
    let persons: Vec<Person> = invites.iter().map(|t| server.join_with(t)).collect();
    let until = Instant::now() + Duration::from_secs(seconds);
    let mut times: Vec<f64> = std::thread::scope(|s| {
        let all: Vec<_> =
            persons.iter().zip(&each).enumerate().map(|(n, (p, mine))| s.spawn(move || annotate(p, mine, n, until))).collect();
        all.into_iter().flat_map(|t| t.join().unwrap()).collect()
    });
    times.sort_by(f64::total_cmp);
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
    let report = json!({
        "annotators": ANNOTATORS, "requests": REQUESTS, "seconds": seconds, "saves": times.len(), "start_s": started,
        "p50_ms": at(0.5), "p95_ms": at(0.95), "p99_ms": at(0.99), "largest_ms": at(1.0), "wanted_p95_ms": WANTED_MS,
    });
    println!("{report}");
    if at(0.95) >= WANTED_MS {
        eprintln!("the 95th percentile is over {WANTED_MS} ms; is the machine busy with something else?");
        std::process::exit(1);
    }
}
