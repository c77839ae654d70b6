//! The plug-ins' Python: its own unit tests, and its client module against the real bridge.
#![allow(clippy::unwrap_used, clippy::expect_used)] // A test that cannot go on has failed.

use redline_bridge::{Bridge, Wants};
use redline_schemas::{CommandEvent, RenderEvent, SelectionEvent, SessionDir, jsonl};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

fn plugins() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../recorder/plugins")
}

fn python(args: &[&str], script: &str) -> Command {
    let mut c = Command::new("python3");
    c.args(args).arg(script).env("PYTHONDONTWRITEBYTECODE", "1").env("PYTHONPATH", plugins().join("common"));
    c
}

#[test]
fn the_plug_ins_own_tests_pass() {
    let tests = plugins().join("tests");
    let out = python(&["-m", "unittest", "discover", "-v", "-s"], &tests.to_string_lossy()).output().unwrap();
    let said = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success(), "{said}");
    assert!(said.contains("test_an_edit_from_selection_to_final_model") && said.contains("Ran 9 tests"), "{said}");
}

#[test]
fn the_client_module_and_the_bridge_understand_each_other() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("run/bridge.json");
    let session = SessionDir::new(dir.path());
    let begun = Instant::now();
    let wants = Wants { final_model: true, ..Wants::default() };
    let bridge = Bridge::start(session.clone(), file.clone(), wants, move || begun.elapsed().as_nanos() as i64, |_| {}).unwrap();
    let script = dir.path().join("plug_in.py");
    std::fs::write(
        &script,
        r#"
import time
from redline_client import Client

client = Client("Test", "1").start()
face = {"kind": "face", "id": "Face7", "path": "Body/Pad", "document": "part"}
client.event("selection", kind="added", entity=face, point=[1.0, 2.0, 3.0], viewport=[4.0, 5.0], set=[face])
while not client.active:
    time.sleep(0.01)
for i in range(300):
    client.event("command", kind="started", command_id="C%d" % i)
client.file("render", "png", b"png", after_command=2)
while not client.closing:
    time.sleep(0.01)
client.file("final", "step", b"ISO")
client.goodbye()
while client.active:
    time.sleep(0.01)
"#,
    )
    .unwrap();
    let mut child = python(&[], &script.to_string_lossy()).env("REDLINE_BRIDGE", &file).spawn().unwrap();
    let until = Instant::now() + Duration::from_secs(60);
    while jsonl::read_all::<CommandEvent>(&session.commands()).map_or(0, |c| c.0.len()) < 300 {
        assert!(Instant::now() < until, "no events from the client");
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(bridge.drain(Duration::from_secs(60)).is_empty(), "it said goodbye");
    assert!(child.wait().unwrap().success());
    bridge.stop().unwrap();

    let selections = jsonl::read_all::<SelectionEvent>(&session.selections()).unwrap().0;
    assert_eq!(selections.len(), 1, "what came before the session was noticed is there");
    assert_eq!(selections[0].entity.as_ref().map(|e| e.id.as_str()), Some("Face7"));
    let commands = jsonl::read_all::<CommandEvent>(&session.commands()).unwrap().0;
    assert_eq!(commands.len(), 300);
    assert!(commands.windows(2).all(|w| w[0].seq + 1 == w[1].seq && w[0].t_ns <= w[1].t_ns));
    assert!(commands.iter().all(|c| c.error_ns < 50_000_000 && c.t_ns >= 0 && c.t_ns <= begun.elapsed().as_nanos() as i64));
    let files = jsonl::read_all::<RenderEvent>(&session.renders()).unwrap().0;
    assert_eq!(files.iter().map(|f| f.path.as_str()).collect::<Vec<_>>(), ["renders/000001.png", "final.step"]);
}
