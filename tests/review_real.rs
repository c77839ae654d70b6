//! The correction loop in browsers on a request that was really spoken, imported and transcribed.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod review_support;

use redline_schemas::{RequestId, Timing, TranscriptKind};
use review_support::{Server, browser, corpus, invite, redline};
use std::path::Path;
use std::process::Command;

const SAID: &str = "Make this hole two millimeters bigger and round the upper edge.";

fn run(program: &str, args: &[&str]) {
    let o = Command::new(program).args(args).output().unwrap();
    assert!(o.status.success(), "{program}: {}", String::from_utf8_lossy(&o.stderr));
}

/// Levenshtein's distance, as another program counts it.
fn distance_elsewhere(a: &str, b: &str) -> u64 {
    let program = "import sys\na, b = sys.argv[1:]\nrow = list(range(len(b) + 1))\nfor i, x in enumerate(a, 1):\n    above = row\n    row = [i]\n    \
                   for j, y in enumerate(b, 1):\n        row.append(min(above[j] + 1, row[-1] + 1, above[j - 1] + (x != y)))\nprint(row[-1])";
    let o = Command::new("python3").args(["-c", program, a, b]).output().unwrap();
    assert!(o.status.success(), "{}", String::from_utf8_lossy(&o.stderr));
    String::from_utf8(o.stdout).unwrap().trim().parse().unwrap()
}

fn import_spoken(dir: &Path, root: &str) {
    let path = |name: &str| dir.join(name).to_str().unwrap().to_owned();
    let (wav, video) = (path("said.wav"), path("said.mp4"));
    run("espeak-ng", &["-v", "en-us", "-s", "140", "-w", &wav, SAID]);
    let picture = "testsrc2=size=320x180:rate=30";
    run(
        "ffmpeg",
        &[
            "-v",
            "error",
            "-f",
            "lavfi",
            "-i",
            picture,
            "-i",
            &wav,
            "-shortest",
            "-pix_fmt",
            "yuv420p",
            "-c:v",
            "libx264",
            "-c:a",
            "aac",
            &video,
        ],
    );
    let (code, _, err) = redline(&[
        "import",
        "video",
        &video,
        "--participant=P01",
        "--modality=interactive",
        "--difficulty=easy",
        "--id",
        "R1",
        "--corpus",
        root,
    ]);
    assert_eq!(code, 0, "{err}");
    let (code, _, err) = redline(&["transcribe", "--corpus", root]);
    assert_eq!(code, 0, "{err}");
}

#[test]
fn three_people_correct_a_spoken_request_and_its_words_are_aligned_again() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("c");
    let c = corpus(&root);
    import_spoken(dir.path(), root.to_str().unwrap());
    let session = c.request_dir(&RequestId::new("R1").unwrap());
    let heard = session.transcript(TranscriptKind::Automatic).unwrap().unwrap();
    let first = heard.text().lines().next().unwrap().to_owned();
    let last = first.rsplit(' ').next().unwrap().to_owned();
    assert!(first.to_lowercase().starts_with("make this") && last.to_lowercase().starts_with("edge"), "{first}");

    let server = Server::start(&root, &[]);
    let link = |p: &str| invite(&root, p).replace("http://127.0.0.1:8040", &server.url);
    browser(
        "real.mjs",
        &serde_json::json!({
            "url": server.url, "links": { "P01": link("P01"), "P02": link("P02"), "P03": link("P03") },
            "request": "R1", "last": last, "first_try": "hedge", "second_try": "ridge.",
        }),
    );

    let oracle = session.transcript(TranscriptKind::Oracle).unwrap().unwrap();
    let expected = heard.text().replacen(&last, "ridge.", 1);
    assert_eq!(oracle.text(), expected);
    let made = oracle.correction.as_ref().unwrap();
    assert_eq!((made.corrected_by.as_str(), made.accepted_by.as_str(), made.rounds), ("P01", "P03", 2));
    assert_eq!(made.char_edit_distance, distance_elsewhere(&heard.text(), &expected));
    assert!(oracle.aligner.is_some(), "aligned again");
    let words: Vec<_> = oracle.words().collect();
    let end = oracle_end(&session);
    assert!(words.iter().all(|w| w.timing == Timing::Aligned && w.start_ns < w.end_ns && w.end_ns <= end), "{words:?}");
    // What nobody touched stays where it was heard.
    let before = heard.words().next().unwrap().start_ns;
    assert!((words[0].start_ns - before).abs() < 50_000_000, "{} and {before}", words[0].start_ns);
    // Whisper's own transcript is kept beside it.
    assert_eq!(session.transcript(TranscriptKind::Automatic).unwrap().unwrap(), heard);
}

fn oracle_end(session: &redline_schemas::SessionDir) -> i64 {
    let m: redline_schemas::RequestManifest = redline_schemas::fsio::read_json(&session.request_json()).unwrap();
    m.session.duration_ns
}
