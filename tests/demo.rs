//! The demo, as a stranger would run it on a machine without display.
#![allow(clippy::unwrap_used, clippy::expect_used)] // A test that cannot go on has failed.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

fn demo(out: &Path) -> Command {
    let mut c = Command::new(env!("CARGO_BIN_EXE_redline"));
    c.args(["--json", "demo", "--seconds", "20", "--out"]).arg(out);
    c.env_remove("DISPLAY").env_remove("WAYLAND_DISPLAY").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    c
}

/// All processes: id, parent's id, command line.
fn processes() -> Vec<(u32, u32, String)> {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let of = |dir: PathBuf| -> Option<(u32, u32, String)> {
        let pid = dir.file_name()?.to_str()?.parse().ok()?;
        let stat = std::fs::read_to_string(dir.join("stat")).ok()?;
        let mut rest = stat.rsplit_once(')')?.1.split_whitespace();
        let dead = rest.next()? == "Z";
        let parent = rest.next()?.parse().ok()?;
        let line = String::from_utf8_lossy(&std::fs::read(dir.join("cmdline")).ok()?).replace('\0', " ");
        (!dead).then_some((pid, parent, line))
    };
    entries.filter_map(|e| of(e.path())).collect()
}

fn descendants(of: u32) -> Vec<(u32, String)> {
    let all = processes();
    let mut found = vec![(of, String::new())];
    let mut i = 0;
    while i < found.len() {
        let parent = found[i].0;
        found.extend(all.iter().filter(|p| p.1 == parent).map(|p| (p.0, p.2.clone())));
        i += 1;
    }
    found.split_off(1)
}

/// Waits for the end; what it started must end with it.
fn finish(child: Child) -> (Output, Vec<(u32, String)>) {
    let id = child.id();
    let seen = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let done = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let watch = {
        let (seen, done) = (seen.clone(), done.clone());
        std::thread::spawn(move || {
            while !done.load(std::sync::atomic::Ordering::Relaxed) {
                for p in descendants(id) {
                    let mut all = seen.lock().unwrap();
                    if !all.contains(&p) {
                        all.push(p);
                    }
                }
                std::thread::sleep(Duration::from_millis(100));
            }
        })
    };
    let out = child.wait_with_output().unwrap();
    done.store(true, std::sync::atomic::Ordering::Relaxed);
    watch.join().unwrap();
    let seen = seen.lock().unwrap().clone();
    (out, seen)
}

fn assert_all_ended(seen: &[(u32, String)]) {
    let deadline = Instant::now() + Duration::from_secs(10);
    loop {
        let alive: Vec<_> = processes().into_iter().filter(|p| seen.contains(&(p.0, p.2.clone()))).collect();
        if alive.is_empty() {
            return;
        }
        assert!(Instant::now() < deadline, "still running: {alive:?}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn the_demo_shows_what_was_said_and_where_the_pointer_was() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("demo");
    let (output, seen) = finish(demo(&out).spawn().unwrap());
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{err}");
    let shown: Value = serde_json::from_slice(&output.stdout).unwrap();

    let words = shown["words"].as_array().unwrap();
    let plain = |w: &Value| w["word"].as_str().unwrap().to_lowercase().trim_matches(|c: char| !c.is_alphanumeric()).to_owned();
    let mut rest = words.iter();
    let mut find = |wanted: &[&str]| -> Value {
        rest.find(|w| wanted.contains(&plain(w).as_str()))
            .unwrap_or_else(|| panic!("{wanted:?} is not there in order: {}", shown["transcript"]))
            .clone()
    };
    let (hole, wider) = (find(&["hole"]), find(&["wider"]));
    find(&["sixteen", "16", "16mm"]);
    let edge = find(&["edge"]);
    find(&["radius"]);
    let small = find(&["hole"]);
    let at = |w: &Value| (w["mouse"][0].as_f64().unwrap(), w["mouse"][1].as_f64().unwrap());
    let near = |a: (f64, f64), b: (f64, f64), by: f64| assert!((a.0 - b.0).hypot(a.1 - b.1) < by, "{a:?} is not near {b:?}");
    // The pointer circles the bore while it is spoken of; the edge is above and left of it.
    near(at(&hole), at(&wider), 150.0);
    assert!(at(&edge).1 < at(&wider).1 - 100.0 && at(&edge).0 < at(&wider).0 - 30.0, "{edge} {wider}");
    assert!(at(&small).1 > at(&edge).1 && at(&small).1 < at(&wider).1, "{small}");
    assert_eq!(words.iter().map(|w| w["clicks"].as_u64().unwrap()).sum::<u64>(), 3);
    let times: Vec<_> = words.iter().map(|w| w["start_s"].as_f64().unwrap()).collect();
    assert!(times.is_sorted() && times[0] > 0.0 && *times.last().unwrap() < 20.5, "{times:?}");

    let rows = |t: &str| {
        shown["tables"].as_array().unwrap().iter().find(|x| x["table"] == t).unwrap_or_else(|| panic!("no table {t}"))["rows"].as_u64()
    };
    assert_eq!(rows("words"), Some(words.len() as u64));
    assert_eq!((rows("requests"), rows("participants"), rows("models")), (Some(1), Some(1), Some(1)));
    assert!(rows("events").unwrap() > 200, "the pointer moved all the time");
    for t in shown["tables"].as_array().unwrap() {
        assert_eq!(t["path"].as_str().is_some_and(|p| Path::new(p).is_file()), t["rows"].as_u64() > Some(0), "{t}");
    }
    let folder = PathBuf::from(shown["folder"].as_str().unwrap());
    let video = redline_media::probe(&folder.join("video.mp4")).unwrap().video.unwrap();
    assert_eq!((video.width, video.height, video.fps), (1280, 720, (30, 1)));
    let frames = video.frames.unwrap();
    assert!((594..=606).contains(&frames), "{frames}");
    let sheet = std::fs::read(shown["contact_sheet"].as_str().unwrap()).unwrap();
    assert!(sheet.starts_with(b"\x89PNG") && sheet.len() > 100_000, "{}", sheet.len());
    for command in ["record", "transcribe", "check", "pack", "contact-sheet"] {
        assert!(
            err.contains(&format!("$ redline {command}")) || err.contains(&format!("$ redline --json {command}")),
            "{command} is not shown"
        );
    }
    assert!(seen.iter().any(|p| p.1.contains("Xvfb")) && seen.iter().any(|p| p.1.contains("f3d")), "{seen:?}");
    assert_all_ended(&seen);
}

#[test]
fn ctrl_c_ends_all_that_was_started_and_keeps_the_recording() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("demo");
    let child = demo(&out).spawn().unwrap();
    let id = child.id();
    let requests = out.join("corpus/requests");
    let (stop, path) = (id.to_string(), requests.clone());
    let killer = std::thread::spawn(move || {
        let deadline = Instant::now() + Duration::from_secs(120);
        let recording = |d: &Path| std::fs::read_dir(d).is_ok_and(|mut e| e.any(|e| e.unwrap().path().join("input.jsonl").exists()));
        while !recording(&path) {
            assert!(Instant::now() < deadline, "no recording began");
            std::thread::sleep(Duration::from_millis(50));
        }
        std::thread::sleep(Duration::from_secs(3));
        assert!(Command::new("kill").args(["-INT", &stop]).status().unwrap().success());
    });
    let (output, seen) = finish(child);
    killer.join().unwrap();
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && err.contains("stopped"), "{err}");
    assert_all_ended(&seen);
    let request = std::fs::read_dir(requests).unwrap().next().unwrap().unwrap().path();
    assert!(request.join("video.mp4").is_file(), "the recorder finalised: {err}");
}
