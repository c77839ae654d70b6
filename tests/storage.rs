//! Verbs that work with a corpus in S3-compatible storage, compared with the same verbs on a folder.

#![allow(clippy::unwrap_used, clippy::expect_used)]
#![cfg(all(feature = "publish", feature = "query", feature = "transcribe"))]

#[allow(dead_code)]
#[path = "common/sample_corpus.rs"]
mod sample;

#[allow(dead_code)]
#[path = "common/s3.rs"]
mod s3;

use s3::{Server, command, files, redline, said};
use std::collections::BTreeMap;

#[test]
fn a_corpus_in_storage_gives_what_the_same_one_in_a_folder_does() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("c");
    sample::build(&root);
    let server = Server::start();
    for (file, bytes) in files(&root) {
        server.put(&format!("gears/{file}"), &bytes);
    }
    let before = server.list();
    let (here, there) = (root.to_str().unwrap(), "s3://bucket/gears");
    let same = |args: &[&str]| {
        let run = |corpus| redline(server.port, &[args, &["--corpus", corpus]].concat());
        let (a, b) = (run(here), run(there));
        assert_eq!(
            (a.status.code(), String::from_utf8_lossy(&a.stdout)),
            (b.status.code(), String::from_utf8_lossy(&b.stdout)),
            "{args:?} {}",
            said(&b)
        );
        assert!(a.stdout.len() > 20, "{args:?} {}", said(&a));
    };
    same(&["stats"]);
    same(&["query", "SELECT text FROM words ORDER BY 1"]);
    same(&["check", "--no-recover"]);
    let pack = |corpus, to: &str| {
        let out = dir.path().join(to);
        let o = redline(server.port, &["pack", "--out", out.to_str().unwrap(), "--corpus", corpus]);
        assert!(o.status.success(), "{}", said(&o));
        files(&out)
    };
    let packed = pack(here, "here");
    assert!(packed.contains_key("events.parquet"), "{:?}", packed.keys());
    assert!(packed == pack(there, "there"), "the same tables, byte by byte");
    assert_eq!(server.list(), before, "these only read");

    // Both at the same time of the clock, so that nothing may differ.
    let release = |corpus, version| {
        command(server.port, &["release", version, "--corpus", corpus]).env("SOURCE_DATE_EPOCH", "1770000000").output().unwrap()
    };
    for corpus in [here, there] {
        let o = release(corpus, "1.0.0");
        assert!(o.status.success(), "{}", said(&o));
    }
    let released = files(&root.join("releases/1.0.0"));
    let sent: BTreeMap<_, _> =
        server.list().into_iter().filter_map(|k| Some((k.strip_prefix("gears/releases/1.0.0/")?.to_owned(), server.get(&k)))).collect();
    assert_eq!(released.keys().collect::<Vec<_>>(), sent.keys().collect::<Vec<_>>());
    let different: Vec<_> = released.iter().filter(|(file, bytes)| sent[*file] != **bytes).map(|(file, _)| file).collect();
    assert!(different.is_empty(), "{different:?}");
    let o = redline(server.port, &["query", "SELECT count(*) AS n FROM words", "--in", "s3://bucket/gears/releases/1.0.0"]);
    let local = redline(server.port, &["query", "SELECT count(*) AS n FROM words", "--in", root.join("releases/1.0.0").to_str().unwrap()]);
    assert!(o.status.success() && o.stdout == local.stdout, "{}", said(&o));

    // A version that is there stays; one that is above it comes beside it.
    assert!(!release(there, "1.0.0").status.success());
    assert!(release(there, "1.1.0").status.success());
    let o = redline(server.port, &["verify", "s3://bucket/gears/releases/1.1.0"]);
    assert!(o.status.success(), "{}", said(&o));
}

#[test]
fn requests_in_storage_are_transcribed_there_as_in_a_folder() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("c");
    let server = Server::start();
    let here = root.to_str().unwrap();
    let run = |args: &[&str]| {
        let o = redline(server.port, args);
        assert!(o.status.success(), "{args:?} {}", said(&o));
        o
    };
    run(&["init", here, "--language", "en"]);
    run(&["participant", "add", "P01", "--corpus", here]);
    for (i, text) in ["Fillet this edge.", "Move the hole to the left."].iter().enumerate() {
        let (wav, mp4) = (dir.path().join("said.wav"), dir.path().join(format!("{i}.mp4")));
        let tool = |program: &str, args: &[&str]| {
            assert!(std::process::Command::new(program).args(args).status().expect("make setup installs it").success());
        };
        tool("espeak-ng", &["-v", "en-us", "-s", "140", "-w", wav.to_str().unwrap(), text]);
        let grey = ["-v", "error", "-y", "-f", "lavfi", "-i", "color=gray:s=320x180:r=30", "-i", wav.to_str().unwrap(), "-shortest"];
        tool("ffmpeg", &[&grey[..], &[mp4.to_str().unwrap()]].concat());
        let import = ["import", "video", "--participant", "P01", "--modality", "interactive", "--difficulty", "easy", "--corpus", here];
        run(&[&import[..], &[mp4.to_str().unwrap()]].concat());
    }
    for (file, bytes) in files(&root) {
        server.put(&format!("gears/{file}"), &bytes);
    }
    let model = redline_transcribe::cache::models_dir().unwrap().join("ggml-tiny.en-q8_0.bin");
    let model = model.to_str().unwrap();
    let mut ids: Vec<_> =
        std::fs::read_dir(root.join("requests")).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    ids.sort();
    // One by name, then what is left; the second run does not do the first one again.
    let one = run(&["transcribe", &ids[0], "--json", "--whisper-model", model, "--corpus", "s3://bucket/gears"]);
    assert!(server.list().contains(&format!("gears/requests/{}/transcript.automatic.json", ids[0])), "{}", said(&one));
    let of = |id: &str| server.get(&format!("gears/requests/{id}/transcript.automatic.json"));
    let first = of(&ids[0]);
    // Both together are more than may be copied: they come one after the other.
    let bytes = files(&root).iter().filter(|(f, _)| !f.ends_with(".mp4")).map(|(_, b)| b.len()).sum::<usize>();
    let limited = ["transcribe", "--whisper-model", model, "--corpus", "s3://bucket/gears"];
    let o = command(server.port, &limited).env("REDLINE_SCRATCH_BYTES", (bytes - 1).to_string()).output().unwrap();
    assert!(o.status.success(), "{}", said(&o));
    assert!(of(&ids[0]) == first, "what was finished stays");
    run(&["transcribe", "--whisper-model", model, "--corpus", here]);
    let text = |bytes: &[u8]| {
        let mut t: serde_json::Value = serde_json::from_slice(bytes).unwrap();
        t.as_object_mut().unwrap().remove("created_utc").unwrap();
        t
    };
    for id in &ids {
        let local = std::fs::read(root.join("requests").join(id).join("transcript.automatic.json")).unwrap();
        assert_eq!(text(&of(id)), text(&local));
        assert!(text(&local)["segments"].as_array().is_some_and(|s| !s.is_empty()));
    }
    // Done again, it takes the place of what was there.
    run(&["transcribe", &ids[0], "--force", "--whisper-model", model, "--corpus", "s3://bucket/gears"]);
    assert!(of(&ids[0]) != first && text(&of(&ids[0])) == text(&first));

    // Aligned there as here, one by name and one since it is there.
    let again = |corpus: &str| run(&["align", &ids[1], "--force", "--corpus", corpus]);
    let before = of(&ids[1]);
    again(here);
    again("s3://bucket/gears");
    let local = std::fs::read(root.join("requests").join(&ids[1]).join("transcript.automatic.json")).unwrap();
    assert_eq!(text(&of(&ids[1])), text(&local));
    assert!(of(&ids[1]) != before, "what was aligned is sent");
    let kept = of(&ids[0]);
    run(&["align", "--corpus", "s3://bucket/gears"]);
    assert!(of(&ids[0]) == kept, "what is aligned already is left alone");
}

#[test]
fn what_cannot_be_done_in_storage_is_said() {
    let server = Server::start();
    server.put("gears/corpus.json", b"{}");
    let o = command(server.port, &["stats", "--corpus", "s3://bucket/gears"]).env("REDLINE_SCRATCH_BYTES", "1").output().unwrap();
    assert!(
        o.status.code() == Some(5) && said(&o).contains("2 bytes are needed here at a time, and 1 allowed"),
        "{:?} {}",
        o.status,
        said(&o)
    );
    let o = redline(server.port, &["stats", "--corpus", "s3://bucket/none"]);
    assert!(o.status.code() == Some(5) && said(&o).contains("s3://bucket/none: nothing is there"), "{}", said(&o));
    let o = redline(server.port, &["participant", "list", "--corpus", "s3://bucket/gears"]);
    assert!(o.status.code() == Some(5) && said(&o).contains("works with folders only"), "{}", said(&o));
}
