//! The designer's window, driven by its keys: consent, a take that is kept, and the window out of the picture.

#![cfg(feature = "panel")]
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod recording;
mod steering;

use recording::*;
use redline_desk::{Options, VirtualDesktop};
use redline_schemas::{Corpus, Modality, Status};
use std::time::Duration;
use steering::*;

/// Ctrl+Shift and a key that works everywhere.
fn chord(hand: &Hand, keysym: u32) {
    for (key, down) in [(0xffe3, true), (0xffe1, true), (keysym, true), (keysym, false), (0xffe1, false), (0xffe3, false)] {
        hand.key(key, down);
    }
    hand.sync();
}

const F9: u32 = 0xffc6;
const F7: u32 = 0xffc4;

#[test]
fn a_take_by_keyboard_alone() {
    let dir = tempfile::tempdir().unwrap();
    let options = Options { width: 1400, height: 900, sound: false, ..Options::default() };
    let mut desk = VirtualDesktop::start(options).unwrap();
    let root = dir.path().join("corpus");
    let text = dir.path().join("consent.md");
    std::fs::write(&text, "You agree to be recorded.").unwrap();
    for args in [
        vec!["init", root.to_str().unwrap(), "--consent", text.to_str().unwrap()],
        vec!["participant", "add", "P01", "--corpus", root.to_str().unwrap()],
        vec![
            "model",
            "add",
            concat!(env!("CARGO_MANIFEST_DIR"), "/samples/bracket.step"),
            "--id",
            "bracket",
            "--corpus",
            root.to_str().unwrap(),
        ],
    ] {
        let mut c = redline(&desk);
        c.args(args);
        run(c);
    }
    let mut panel = redline(&desk);
    panel.args(["panel", "--no-mic", "--fps", "10", "--preset", "ultrafast", "--region", "800x600+0+0", "--modality", "draw-static"]);
    panel.arg("--corpus").arg(&root).env("XDG_CONFIG_HOME", dir.path());
    desk.launch(&mut panel, "redline panel", "redline").unwrap();
    let window = desk.wait_window("^Redline$").unwrap();
    let hand = Hand::new(&desk);

    // Without consent the key leads to the text, not to a recording.
    let consented = || Corpus::open(&root).unwrap().participants().unwrap().participants[0].consent.clone();
    assert!(consented().is_none());
    std::thread::sleep(Duration::from_millis(1_500));
    chord(&hand, F9);
    // Tab to “I agree”, which comes before “Not now”, past the two buttons of the foot.
    desk.output("xdotool", &["windowfocus", "--sync", &window]).unwrap();
    desk.wait_for("the consent", |d| {
        let _ = d.output("xdotool", &["key", "Tab", "key", "space"]);
        std::thread::sleep(Duration::from_millis(400));
        consented().is_some()
    })
    .unwrap();
    assert_eq!(consented().unwrap().version, Corpus::open(&root).unwrap().manifest().unwrap().consent.unwrap().version);

    // A take: count-down, recording, a pause and its end.
    chord(&hand, F9);
    let asked = || {
        let mut c = redline(&desk);
        c.args(["ctl", "--json", "--corpus"]).arg(&root).arg("status");
        c.output().unwrap().status.success()
    };
    desk.wait_for("the recording", |_| asked()).unwrap();
    let id = wait_status(&desk, &root, |s| s["frames"].as_u64().unwrap() > 10)["request"].as_str().unwrap().to_owned();
    let (x, y) = hand.place_of(window.parse().unwrap());
    assert!(x >= 800 || y >= 600, "the panel at {x},{y} is in the picture");
    chord(&hand, F7);
    wait_status(&desk, &root, |s| s["paused"] == true);
    chord(&hand, F7);
    wait_status(&desk, &root, |s| s["paused"] == false);
    chord(&hand, F9);
    let done = || Corpus::open(&root).unwrap().request(&id.parse().unwrap()).is_ok_and(|m| m.status == Status::Complete);
    desk.wait_for("the finished take", |_| done()).unwrap();
    let m = manifest(&root, &id);
    assert_eq!((m.participant.as_str(), m.modality), ("P01", Modality::DrawStatic));
    assert_eq!(m.model.unwrap().as_str(), "bracket");
    assert!(m.session.streams.video.is_some());
}
