//! A corpus in S3-compatible storage that is larger than what may be copied to this machine: verbs copy what each task reads, and
//! come to the same as with the corpus in a folder.

#![allow(clippy::unwrap_used, clippy::expect_used)]
#![cfg(all(feature = "publish", feature = "query"))]

#[allow(dead_code)]
#[path = "common/s3.rs"]
mod s3;

use redline_samples::Size;
use s3::{Server, command, files, said};
use std::collections::BTreeMap;
use std::process::Output;

const THERE: &str = "s3://bucket/gears";

/// One task at a time, so that the limit means the same on all machines.
fn run(port: u16, limit: usize, args: &[&str], corpus: &str) -> Output {
    let mut c = command(port, args);
    c.args(["--corpus", corpus]).env("REDLINE_SCRATCH_BYTES", limit.to_string());
    c.env("RAYON_NUM_THREADS", "1").env("SOURCE_DATE_EPOCH", "1770000000").output().unwrap()
}

#[test]
fn a_corpus_larger_than_the_scratch_space_is_worked_on_piece_by_piece() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("c");
    redline_samples::generate(&root, &Size { requests: 9, edits_per_request: 1, events: 60_000, renders: 24 }).unwrap();
    let here = root.to_str().unwrap();
    let server = Server::start();
    let all = files(&root);
    for (file, bytes) in &all {
        server.put(&format!("gears/{file}"), bytes);
    }
    // Half of what a copy of the corpus has; without media, two thirds of what its records have.
    let media = |f: &str| [".mp4", ".flac", ".png", ".step", ".jpg", ".webm"].iter().any(|e| f.ends_with(e));
    let bytes = |wanted: &dyn Fn(&str) -> bool| all.iter().filter(|(f, _)| wanted(f)).map(|(_, b)| b.len()).sum::<usize>();
    let (whole, records) = (bytes(&|_| true) / 2, bytes(&|f| !media(f)) * 2 / 3);

    let same = |limit: usize, args: &[&str]| {
        let (a, b) = (run(server.port, limit, args, here), run(server.port, limit, args, THERE));
        let text = |o: &Output| String::from_utf8_lossy(&o.stdout).into_owned();
        assert!(a.status.code() == b.status.code() && text(&a) == text(&b), "{args:?} {}", said(&b));
        assert!(text(&a).len() > 20, "{args:?} {}", said(&a));
    };
    same(records, &["stats"]);
    same(records, &["query", "SELECT session, count(*) AS n FROM events GROUP BY session ORDER BY 1"]);
    same(whole, &["check", "--no-recover"]);
    let pack = |corpus, to: &str| {
        let out = dir.path().join(to);
        let o = run(server.port, records, &["pack", "--out", out.to_str().unwrap()], corpus);
        assert!(o.status.success(), "{}", said(&o));
        files(&out)
    };
    let packed = pack(here, "here");
    assert!(packed.contains_key("events.parquet"), "{:?}", packed.keys());
    assert!(packed == pack(THERE, "there"), "the same tables, byte by byte");

    // The second release is compared with the first, of which a copy has the tables only.
    for version in ["1.0.0", "1.1.0"] {
        for corpus in [here, THERE] {
            let o = run(server.port, whole, &["release", version], corpus);
            assert!(o.status.success(), "{}", said(&o));
        }
        let prefix = format!("gears/releases/{version}/");
        let sent: BTreeMap<_, _> =
            server.list().into_iter().filter_map(|k| Some((k.strip_prefix(&prefix)?.to_owned(), server.get(&k)))).collect();
        let released = files(&root.join("releases").join(version));
        assert_eq!(released.keys().collect::<Vec<_>>(), sent.keys().collect::<Vec<_>>());
        let different: Vec<_> = released.iter().filter(|(file, bytes)| sent[*file] != **bytes).map(|(file, _)| file).collect();
        assert!(different.is_empty(), "{different:?}");
    }
    let o = run(server.port, whole, &["release", "1.1.0"], THERE);
    assert!(o.status.code() == Some(5) && said(&o).contains("s3://bucket/gears/releases/1.1.0: released already"), "{}", said(&o));

    // A session that is larger than the space is named.
    let mut sessions = BTreeMap::<String, usize>::new();
    for (file, bytes) in all.iter().filter(|(f, _)| f.starts_with("requests/") || f.starts_with("edits/")) {
        *sessions.entry(file.split('/').take(2).collect::<Vec<_>>().join("/")).or_default() += bytes.len();
    }
    let bytes = sessions.values().max().unwrap();
    // With two at a time, each has half.
    let mut c = command(server.port, &["check", "--corpus", THERE]);
    c.env("REDLINE_SCRATCH_BYTES", (bytes * 2 - 1).to_string()).env("RAYON_NUM_THREADS", "2");
    let o = c.output().unwrap();
    assert_eq!(o.status.code(), Some(5));
    let text = said(&o);
    let mut parts = text.splitn(3, ": ").skip(1);
    let place = parts.next().unwrap().strip_prefix("s3://bucket/gears/").unwrap();
    assert!(sessions.contains_key(place), "{text}");
    assert!(parts.next().unwrap().contains("bytes are needed here at a time, and"), "{text}");
}
