//! The designer's window, driven by its keys: consent, a take that is kept, the window out of the picture; a spoken take
//! with a CAD program beside it and its replay page; keys that are changed; what the window costs while nothing happens.

#![cfg(feature = "panel")]
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod plug_in;
mod recording;
mod steering;

use plug_in::PlugIn;
use recording::*;
use redline_desk::{Options, VirtualDesktop};
use redline_schemas::{CommandEvent, Corpus, Modality, Status};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
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

/// A corpus with P01 and the bracket, so that both are chosen already.
fn corpus_with_bracket(desk: &VirtualDesktop, dir: &Path) -> PathBuf {
    let root = corpus(desk, dir);
    let mut c = redline(desk);
    c.args(["model", "add", concat!(env!("CARGO_MANIFEST_DIR"), "/samples/bracket.step"), "--id", "bracket", "--corpus"]).arg(&root);
    run(c);
    root
}

/// Opens the panel beside an area of 800x600; its window.
fn open_panel(desk: &mut VirtualDesktop, root: &Path, dir: &Path, args: &[&str]) -> String {
    let mut panel = redline(desk);
    panel.args(["panel", "--fps", "10", "--preset", "ultrafast", "--region", "800x600+0+0"]).args(args);
    // Programs of the test come first.
    let path = format!("{}:{}", dir.join("bin").display(), std::env::var("PATH").unwrap_or_default());
    panel.arg("--corpus").arg(root).env("XDG_CONFIG_HOME", dir).env("PATH", path);
    desk.launch(&mut panel, "redline panel", "redline").unwrap();
    desk.wait_window("^Redline$").unwrap()
}

/// Gives the panel the keyboard and presses keys in it.
fn press(desk: &VirtualDesktop, window: &str, keys: &[&str]) {
    // A window takes the keyboard once the window manager has shown it.
    desk.wait_for("the keyboard's window", |d| d.output("xdotool", &["windowfocus", "--sync", window]).is_ok()).unwrap();
    for k in keys {
        desk.output("xdotool", &["key", k]).unwrap();
        // Keys that come within one picture would move the focus once.
        std::thread::sleep(Duration::from_millis(250));
    }
}

/// Waits until something is recorded, for some pictures; its id.
fn wait_recording(desk: &VirtualDesktop, root: &Path) -> String {
    let asked = || {
        let mut c = redline(desk);
        c.args(["ctl", "--json", "--corpus"]).arg(root).arg("status");
        c.output().unwrap().status.success()
    };
    desk.wait_for("the recording", |_| asked()).unwrap();
    wait_status(desk, root, |s| s["frames"].as_u64().unwrap() > 10)["request"].as_str().unwrap().to_owned()
}

fn wait_complete(desk: &VirtualDesktop, root: &Path, id: &str) {
    let done = || Corpus::open(root).unwrap().request(&id.parse().unwrap()).is_ok_and(|m| m.status == Status::Complete);
    desk.wait_for("the finished take", |_| done()).unwrap();
}

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
    // “I agree” has the keyboard.
    press(&desk, &window, &[]);
    desk.wait_for("the consent", |d| {
        let _ = d.output("xdotool", &["key", "space"]);
        std::thread::sleep(Duration::from_millis(400));
        consented().is_some()
    })
    .unwrap();
    assert_eq!(consented().unwrap().version, Corpus::open(&root).unwrap().manifest().unwrap().consent.unwrap().version);

    // A take: count-down, recording, a pause and its end.
    chord(&hand, F9);
    let id = wait_recording(&desk, &root);
    let (x, y) = hand.place_of(window.parse().unwrap());
    assert!(x >= 800 || y >= 600, "the panel at {x},{y} is in the picture");
    chord(&hand, F7);
    wait_status(&desk, &root, |s| s["paused"] == true);
    chord(&hand, F7);
    wait_status(&desk, &root, |s| s["paused"] == false);
    chord(&hand, F9);
    wait_complete(&desk, &root, &id);
    let m = manifest(&root, &id);
    assert_eq!((m.participant.as_str(), m.modality), ("P01", Modality::DrawStatic));
    assert_eq!(m.model.unwrap().as_str(), "bracket");
    assert!(m.session.streams.video.is_some());
}

#[test]
fn a_spoken_take_with_a_cad_program_is_played_in_the_browser() {
    let dir = tempfile::tempdir().unwrap();
    let mut desk = VirtualDesktop::start(Options { width: 1400, height: 900, ..Options::default() }).unwrap();
    let root = corpus_with_bracket(&desk, dir.path());
    // The system's opener is one that writes down what it was given.
    let (bin, opened) = (dir.path().join("bin"), dir.path().join("opened.txt"));
    std::fs::create_dir(&bin).unwrap();
    std::fs::write(bin.join("xdg-open"), format!("#!/bin/sh\necho \"$1\" > '{0}.new' && mv '{0}.new' '{0}'\n", opened.display())).unwrap();
    std::fs::set_permissions(bin.join("xdg-open"), std::fs::Permissions::from_mode(0o755)).unwrap();
    let tone = dir.path().join("tone.wav");
    tone_wav(&tone, 1_000.0, 1.0);
    let plug_in = PlugIn::start(&desk, dir.path());
    let window = open_panel(&mut desk, &root, dir.path(), &["--modality", "interactive"]);
    let hand = Hand::new(&desk);

    // The keys are listened for once the window is there; pressed again until they are heard.
    let listening = || Corpus::open(&root).unwrap().request_ids().unwrap().len() == 1 || recording_lock(&root);
    desk.wait_for("the panel's keys", |_| {
        if !listening() {
            chord(&hand, F9);
            std::thread::sleep(Duration::from_millis(500));
        }
        listening()
    })
    .unwrap();
    let id = wait_recording(&desk, &root);
    plug_in.wait_sent(10);
    let spoken = now_ns();
    desk.play_wav(&tone).unwrap();
    let silent = now_ns();
    plug_in.wait_sent(plug_in.sent().len() + 10);
    let stopped = now_ns();
    chord(&hand, F9);
    wait_complete(&desk, &root, &id);

    let m = manifest(&root, &id);
    assert_eq!(m.modality, Modality::Interactive);
    let session = Corpus::open(&root).unwrap().request_dir(&m.id);
    // The tone is there, at its time, and only then.
    let a = m.session.streams.audio.as_ref().unwrap();
    let heard = samples(&session.audio());
    let origin = origin(&m);
    let at =
        |t: i64| ((a.clock.sample_at(t - origin).unwrap() * 48_000.0 / f64::from(a.clock.sample_rate)).max(0.0) as usize).min(heard.len());
    let loud = |x: &&f32| x.abs() > 0.05;
    let (from, until) = (heard.iter().position(|x| loud(&x)).unwrap(), heard.iter().rposition(|x| loud(&x)).unwrap());
    assert!((0.9..1.1).contains(&((until - from) as f64 / 48_000.0)), "{from} {until}");
    assert!(from + 4_800 >= at(spoken) && until <= at(silent) + 9_600, "{from}..{until} is not in {}..{}", at(spoken), at(silent));
    assert!(amplitude(&heard[from..until], 1_000.0) > 0.1 && a.peak.unwrap() > 0.1);
    // So is what the CAD program did.
    let commands: Vec<CommandEvent> = lines(&session.commands());
    let sent = plug_in.sent();
    // The program went on after the stop; what it sent then may be there or not.
    let surely = sent.iter().filter(|at| **at < stopped).count();
    assert!((surely..=sent.len()).contains(&commands.len()), "{} of {surely} to {}", commands.len(), sent.len());
    assert!(commands.iter().zip(&sent).all(|(c, at)| (c.t_ns + origin - at).abs() < 20_000_000));
    assert!(m.session.streams.renders.is_none(), "nobody asked for a final model");

    // P shows the replay page.
    desk.wait_for("the page", |d| {
        press(d, &window, &["p"]);
        std::thread::sleep(Duration::from_millis(300));
        opened.exists()
    })
    .unwrap();
    let address = std::fs::read_to_string(&opened).unwrap().trim().to_owned();
    assert!(address.starts_with("http://127.0.0.1:"), "{address}");
    let replay = ureq::get(format!("{address}replay.json")).call().unwrap().body_mut().read_to_string().unwrap();
    assert!(replay.contains(&id) && replay.contains("\"commands\""), "{replay}");
    // A take that goes into the bin is not shown any more.
    press(&desk, &window, &["t"]);
    let binned = || root.join(".bin/requests").join(&id).exists();
    desk.wait_for("the bin", |_| binned()).unwrap();
    assert!(ureq::get(format!("{address}replay.json")).call().is_err());
}

#[test]
fn what_is_typed_is_seen_in_the_picture_and_recorded_whole() {
    let dir = tempfile::tempdir().unwrap();
    let mut desk = VirtualDesktop::start(Options { width: 1400, height: 900, sound: false, ..Options::default() }).unwrap();
    let root = corpus_with_bracket(&desk, dir.path());
    let window = open_panel(&mut desk, &root, dir.path(), &["--no-mic", "--modality", "text"]);
    let hand = Hand::new(&desk);
    // A button of the window has the keyboard before: it must not keep it.
    press(&desk, &window, &["Tab", "Tab"]);
    desk.wait_for("the panel's keys", |_| {
        if !recording_lock(&root) {
            chord(&hand, F9);
            std::thread::sleep(Duration::from_millis(500));
        }
        recording_lock(&root)
    })
    .unwrap();
    let id = wait_recording(&desk, &root);
    desk.output("xdotool", &["type", "--delay", "60", "Drill M6, pdm then 2.5 mm"]).unwrap();
    let stream = Corpus::open(&root).unwrap().request_dir(&id.parse().unwrap()).text_events();
    let typed = || -> usize {
        let events = if stream.exists() { lines::<redline_schemas::TextEvent>(&stream) } else { Vec::new() };
        events.iter().filter_map(|e| e.text.as_ref()).map(|t| t.chars().count()).sum()
    };
    desk.wait_for("the last letter", |_| typed() == 25).unwrap();
    let shown = wait_status(&desk, &root, |_| true)["frames"].as_i64().unwrap();
    wait_status(&desk, &root, |s| s["frames"].as_i64().unwrap() > shown + 10);
    chord(&hand, F9);
    wait_complete(&desk, &root, &id);
    let m = manifest(&root, &id);
    let session = Corpus::open(&root).unwrap().request_dir(&m.id);
    assert_eq!(std::fs::read_to_string(session.text()).unwrap(), "Drill M6, pdm then 2.5 mm");
    // Letters were no shortcuts.
    assert!(m.session.streams.marks.is_none_or(|s| s.count == 0), "a letter set a mark");
    // The caption at the foot of 800x600, 16 pixels from the edges: dark, with white letters; not there before.
    let v = m.session.streams.video.as_ref().unwrap();
    assert_eq!((v.width, v.height), (800, 600));
    let pictures = frames(&session.video(), 800, 600, &[3, v.frames as i64 - 3]);
    let inside = |i: &usize| (20..780).contains(&(i % 800)) && (505..580).contains(&(i / 800));
    let count = |l: &Luma, is: fn(u8) -> bool| l.pixels.iter().enumerate().filter(|(i, p)| inside(i) && is(**p)).count();
    let (dark, white) = (|l: &Luma| count(l, |p| p < 45), |l: &Luma| count(l, |p| p > 180));
    assert!(dark(&pictures[1]) > 50_000 && white(&pictures[1]) > 200, "{} {}", dark(&pictures[1]), white(&pictures[1]));
    assert!(dark(&pictures[0]) < 1_000 || white(&pictures[0]) == 0);
}

/// Whether somebody records, or is about to.
fn recording_lock(root: &Path) -> bool {
    root.join(".recording.lock").exists()
}

#[test]
fn keys_are_changed_by_keyboard_alone() {
    let dir = tempfile::tempdir().unwrap();
    let mut desk = VirtualDesktop::start(Options { width: 1400, height: 900, sound: false, ..Options::default() }).unwrap();
    let root = corpus_with_bracket(&desk, dir.path());
    let hand = Hand::new(&desk);
    let settings = dir.path().join("redline/panel.json");
    let keys = || {
        let text = std::fs::read_to_string(&settings).unwrap_or_default();
        serde_json::from_str::<serde_json::Value>(&text).ok().and_then(|v| v["keys"].as_object().cloned()).unwrap_or_default()
    };
    let mut window = String::new();
    let mut changed = keys();
    for _ in 0..3 {
        window = open_panel(&mut desk, &root, dir.path(), &["--no-mic"]);
        // Keys is the first button of all; its page's first field is that of Record.
        desk.wait_for("the keys’ page", |d| {
            press(d, &window, &["Tab", "space", "Tab", "Tab", "space"]);
            std::thread::sleep(Duration::from_millis(600));
            // Keys that are everybody's are refused, and the field goes on listening.
            press(d, &window, &["k", "ctrl+shift+F11"]);
            std::thread::sleep(Duration::from_millis(600));
            !keys().is_empty()
        })
        .unwrap();
        changed = keys();
        if changed.contains_key("record") {
            break;
        }
        // On a loaded machine the focus may have gone one field further: once more from the beginning.
        let pid: i32 = desk.output("xdotool", &["getwindowpid", &window]).unwrap().trim().parse().unwrap();
        // SAFETY: a signal to the panel that this test opened.
        assert_eq!(unsafe { libc::kill(pid, libc::SIGTERM) }, 0);
        desk.wait_for("the panel’s end", |d| d.output("xdotool", &["getwindowpid", &window]).is_err()).unwrap();
        std::fs::remove_file(&settings).unwrap();
    }
    assert!(changed.len() == 1 && changed["record"] == "Ctrl+Shift+F11", "{changed:?}");
    // Back to the take: the new keys record, the old ones do nothing.
    press(&desk, &window, &["Escape"]);
    chord(&hand, F9);
    std::thread::sleep(Duration::from_millis(300));
    assert!(!recording_lock(&root));
    chord(&hand, 0xffc8);
    let id = wait_recording(&desk, &root);
    chord(&hand, 0xffc8);
    wait_complete(&desk, &root, &id);
}

/// Another program's window; it goes with the connection.
struct Other(u32, #[allow(dead_code)] x11rb::rust_connection::RustConnection);

impl Other {
    fn show(desk: &VirtualDesktop) -> Self {
        use x11rb::connection::Connection as _;
        use x11rb::protocol::xproto::{ConnectionExt as _, CreateWindowAux, WindowClass};
        let (conn, screen) = x11rb::connect(Some(desk.display())).unwrap();
        let root = conn.setup().roots[screen].root;
        let window = conn.generate_id().unwrap();
        let aux = CreateWindowAux::new().background_pixel(0x0080_8080);
        conn.create_window(0, window, root, 0, 0, 300, 200, 0, WindowClass::INPUT_OUTPUT, 0, &aux).unwrap();
        conn.map_window(window).unwrap();
        conn.flush().unwrap();
        Self(window, conn)
    }
}

/// CPU time that a process or a thread has used, seconds.
fn cpu_seconds(stat: &str) -> f64 {
    let stat = std::fs::read_to_string(stat).unwrap();
    // The name may hold anything, so the fields are counted from its end.
    let ticks: f64 = stat.rsplit(')').next().unwrap().split_whitespace().skip(11).take(2).map(|n| n.parse::<f64>().unwrap()).sum();
    // SAFETY: a plain question to the system.
    ticks / unsafe { libc::sysconf(libc::_SC_CLK_TCK) } as f64
}

/// The share of a core that is used in the next five seconds.
fn share(stat: &str) -> f64 {
    let (from, begun) = (cpu_seconds(stat), std::time::Instant::now());
    std::thread::sleep(Duration::from_secs(5));
    (cpu_seconds(stat) - from) / begun.elapsed().as_secs_f64()
}

#[test]
fn a_window_in_which_nothing_happens_costs_next_to_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let mut desk = VirtualDesktop::start(Options { width: 1400, height: 900, ..Options::default() }).unwrap();
    let root = corpus_with_bracket(&desk, dir.path());
    let window = open_panel(&mut desk, &root, dir.path(), &[]);
    let pid = desk.output("xdotool", &["getwindowpid", &window]).unwrap().trim().to_owned();
    press(&desk, &window, &[]);
    // The first pictures and the warning of the silent microphone are over.
    std::thread::sleep(Duration::from_secs(5));
    // The window is drawn by the first thread; the microphone is open, and read by another one.
    let drawing = share(&format!("/proc/{pid}/task/{pid}/stat"));
    // Another window in front: the microphone is closed after a while.
    let other = Other::show(&desk);
    press(&desk, &other.0.to_string(), &[]);
    let reads = || {
        std::fs::read_dir(format!("/proc/{pid}/task"))
            .unwrap()
            .flatten()
            .any(|t| std::fs::read_to_string(t.path().join("comm")).is_ok_and(|n| n.starts_with("cpal")))
    };
    assert!(reads(), "the microphone is open while the window is in front");
    desk.wait_for("the microphone's end", |_| !reads()).unwrap();
    std::thread::sleep(Duration::from_secs(1));
    let all = share(&format!("/proc/{pid}/stat"));
    eprintln!("in front: drawing takes {:.1} % of a core; in the background all takes {:.1} %", drawing * 100.0, all * 100.0);
    assert!(drawing < 0.03 && all < 0.03, "{:.1} %, {:.1} %", drawing * 100.0, all * 100.0);
    // In front again, it listens again.
    press(&desk, &window, &[]);
    desk.wait_for("the microphone", |_| reads()).unwrap();
}
