//! `redline record` on a virtual desktop: what it records is what was injected.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod recording;

use recording::*;
use redline_schemas::{InputEvent, InputKind, Status, jsonl};
use std::time::Duration;

const WIDTH: u32 = 1280;
const HEIGHT: u32 = 800;

#[test]
fn what_was_done_is_in_the_recording() {
    let dir = tempfile::tempdir().unwrap();
    let desk = desk(WIDTH, HEIGHT, true);
    let root = corpus(&desk, dir.path());
    let tone = dir.path().join("tone.wav");
    tone_wav(&tone, 1_000.0, 1.0);
    let hand = Hand::new(&desk);
    hand.move_to(100, 100);

    let rec = Recorder::start(&desk, &root, &[]);
    std::thread::sleep(Duration::from_millis(1_000));
    let places = [(300_i16, 200_i16), (900, 600), (640, 400)];
    let mut clicks = Vec::new();
    for (x, y) in places {
        hand.move_to(x, y);
        clicks.push(hand.click(1));
        std::thread::sleep(Duration::from_millis(400));
    }
    let played_from = now_ns();
    desk.play_wav(&tone).unwrap();
    let played_to = now_ns();
    // Ctrl+Z by name, a typed letter without it, a turn of the wheel.
    for (key, down) in [(0xffe3, true), (0x7a, true), (0x7a, false), (0xffe3, false), (0x70, true), (0x70, false)] {
        hand.key(key, down);
    }
    hand.click(4);
    hand.sync();
    std::thread::sleep(Duration::from_millis(500));
    let (dir, id) = (rec.dir(), rec.id.clone());
    let (out, code) = rec.stop();
    assert_eq!((code, out.trim()), (Some(0), id.as_str()));

    let m = manifest(&root, &id);
    assert_eq!(m.status, Status::Complete);
    let s = &m.session;
    let origin = s.clock.origin_ns.unwrap();

    // Video: codec, size, rate, length.
    let v = s.streams.video.as_ref().unwrap();
    let info = redline_media::probe(&dir.video()).unwrap();
    let got = info.need_video().unwrap();
    assert_eq!((got.codec.as_str(), got.width, got.height, got.fps), ("h264", 1152, 720, (30, 1)));
    assert_eq!((v.width, v.height, v.grid.fps_num, v.grid.fps_den), (1152, 720, 30, 1));
    let expected = s.duration_ns as f64 / 1e9 * 30.0;
    assert!((v.frames as f64 - expected).abs() <= (expected * 0.01).max(2.0), "{} frames, {expected} expected", v.frames);
    assert!(v.has_audio);
    assert!(!dir.video_raw().exists() && !dir.audio_raw().exists() && !dir.lock().exists());

    // Input: every click at its place, within 20 ms of its injection, with its place in the video.
    let (events, torn) = jsonl::read_all::<InputEvent>(&dir.input()).unwrap();
    assert_eq!(torn, None);
    assert!(events.windows(2).all(|w| w[0].t_ns <= w[1].t_ns), "in order");
    let pressed: Vec<_> = events.iter().filter(|e| e.kind == InputKind::Press).collect();
    assert_eq!(pressed.len(), 3);
    for ((e, at), (x, y)) in pressed.iter().zip(&clicks).zip(places) {
        let late_ms = (e.t_ns + origin - at) as f64 / 1e6;
        // The server stamps in whole milliseconds.
        assert!((-1.0..=20.0).contains(&late_ms), "a click came {late_ms} ms after its injection");
        assert_eq!((e.x, e.y, e.button.as_deref()), (Some(x.into()), Some(y.into()), Some("left")));
        assert!((e.vx.unwrap() - ((f64::from(x) + 0.5) * 0.9 - 0.5)).abs() < 0.01, "{:?}", e.vx);
        assert!((e.vy.unwrap() - ((f64::from(y) + 0.5) * 0.9 - 0.5)).abs() < 0.01, "{:?}", e.vy);
    }
    let keys: Vec<_> = events.iter().filter(|e| e.kind == InputKind::KeyPress).map(|e| e.key.as_deref().unwrap()).collect();
    assert_eq!(keys, ["ControlLeft", "KeyZ", "char"]);
    let wheel: Vec<_> = events.iter().filter(|e| e.kind == InputKind::Wheel).map(|e| (e.dx, e.dy)).collect();
    assert_eq!(wheel, [(Some(0.0), Some(1.0))]);

    // Picture: the pointer is where the mouse was, in the frames of that time.
    let half_later = |i: usize| v.grid.frame_at(clicks[i] - origin + 200_000_000);
    let shown = frames(&dir.video(), 1152, 720, &[0, half_later(0), half_later(1), half_later(2)]);
    for (i, (x, y)) in places.into_iter().enumerate() {
        let (vx, vy) = s.screen.as_ref().unwrap().map.to_video(0, x.into(), y.into()).unwrap();
        let (n, cx, cy) = shown[i + 1].change_near(&shown[0], vx, vy, 30.0);
        assert!(n > 20, "no pointer near {vx},{vy} in the frame of click {i}: {n} pixels changed");
        assert!((cx - vx).abs() < 15.0 && (cy - vy).abs() < 15.0, "the pointer is at {cx},{cy}, not {vx},{vy}");
        let (elsewhere, ..) = shown[(i + 1) % 3 + 1].change_near(&shown[0], vx, vy, 30.0);
        assert!(elsewhere < n / 4, "the pointer is also there when the mouse is elsewhere");
    }

    // Sound: the tone is where it was played, in the audio and in the video's sound track.
    let a = s.streams.audio.as_ref().unwrap();
    assert!(a.peak.unwrap() > 0.3 && a.peak.unwrap() < 0.7, "{:?}", a.peak);
    let flac = samples(&dir.audio());
    let clock = &a.clock;
    assert_eq!(flac.len() as u64, clock.samples());
    let at = |t_ns: i64| clock.sample_at(t_ns - origin).unwrap().round() as usize;
    let middle = (played_from + played_to) / 2;
    let loud = amplitude(&flac[at(middle) - 9_600..at(middle) + 9_600], 1_000.0);
    let quiet = amplitude(&flac[at(played_from) - 19_200..at(played_from)], 1_000.0);
    assert!(loud > 0.3 && quiet < 0.01, "the tone is {loud} while it plays and {quiet} before");
    let track = samples(&dir.video());
    let in_video = |t_ns: i64| ((t_ns - origin - v.grid.first_t_ns) as f64 / 1e9 * 48_000.0) as usize;
    let heard = amplitude(&track[in_video(middle) - 9_600..in_video(middle) + 9_600], 1_000.0);
    // Seconds are too short to know the microphone's drift well on a loaded machine: the pitch may be off by a thousandth.
    assert!(heard > 0.3, "the tone is {heard} in the video, {loud} in the audio: {clock:?}");
    let (from, to) = clock.span_ns().unwrap();
    assert!(from < 250_000_000 && s.duration_ns - to < 250_000_000, "audio from {from} to {to} of {}", s.duration_ns);
    // Its beginning is at the same time in both.
    let onset = |s: &[f32], from: usize| s[from..].iter().position(|v| v.abs() > 0.1).unwrap() + from;
    let a_ns = clock.t_ns_of_sample(onset(&flac, at(played_from)) as f64).unwrap();
    let v_ns = (onset(&track, in_video(played_from)) as f64 / 48_000.0 * 1e9) as i64 + v.grid.first_t_ns;
    assert!((a_ns - v_ns).abs() < 5_000_000, "the tone begins at {a_ns} in the audio and {v_ns} in the video");
}

#[test]
fn a_thousand_events_a_second_are_complete_and_in_order() {
    let dir = tempfile::tempdir().unwrap();
    let desk = desk(640, 480, false);
    let root = corpus(&desk, dir.path());
    let hand = Hand::new(&desk);
    hand.move_to(639, 479);
    let rec = Recorder::start(&desk, &root, &["--no-mic"]);
    let sent = hand.moves_at(1_000, 3.0);
    std::thread::sleep(Duration::from_millis(300));
    let (id, session) = (rec.id.clone(), rec.dir());
    assert_eq!(rec.stop().1, Some(0));
    let (events, _) = jsonl::read_all::<InputEvent>(&session.input()).unwrap();
    let moves: Vec<_> = events.iter().filter(|e| e.kind == InputKind::Move).collect();
    // First where the pointer rested as the recording began, then all that was sent.
    assert_eq!((moves[0].x, moves[0].y), (Some(639.0), Some(479.0)));
    assert!(moves[0].t_ns < 500_000_000, "{:?}", moves[0]);
    assert_eq!(moves.len() as u64, 1 + sent, "complete");
    for (i, e) in moves[1..].iter().enumerate() {
        assert_eq!((e.x, e.y), (Some((1 + i % 600) as f64), Some((1 + i / 600 % 400) as f64)), "event {i} in order");
    }
    assert!(events.windows(2).all(|w| w[0].t_ns <= w[1].t_ns));
    assert_eq!(manifest(&root, &id).session.streams.input.unwrap().lost, 0);
}

#[test]
fn one_of_several_monitors_is_recorded_at_its_place() {
    let dir = tempfile::tempdir().unwrap();
    let desk = desk(1600, 600, false);
    let root = corpus(&desk, dir.path());
    let hand = Hand::new(&desk);
    hand.divide_screen(&["LEFT", "RIGHT"]);
    hand.move_to(10, 10);
    let rec = Recorder::start(&desk, &root, &["--no-mic", "--monitor", "RIGHT", "--height", "300"]);
    std::thread::sleep(Duration::from_millis(500));
    hand.move_to(1_200, 300);
    hand.click(1);
    hand.move_to(100, 100);
    hand.click(3);
    std::thread::sleep(Duration::from_millis(500));
    let (id, session) = (rec.id.clone(), rec.dir());
    assert_eq!(rec.stop().1, Some(0));
    let m = manifest(&root, &id);
    let screen = m.session.screen.as_ref().unwrap();
    let names: Vec<_> = screen.monitors.iter().map(|m| m.name.as_str()).collect();
    assert_eq!(names, ["LEFT", "RIGHT"]);
    let a = screen.map.areas[0].area;
    assert_eq!((a.x, a.y, a.width, a.height), (800, 0, 800, 600));
    let (events, _) = jsonl::read_all::<InputEvent>(&session.input()).unwrap();
    let at: Vec<_> = events.iter().filter(|e| e.kind == InputKind::Press).map(|e| (e.vx.unwrap(), e.vy.unwrap())).collect();
    // Screen pixel 1200 is the monitor's pixel 400; half of that in the video. The other monitor lies outside the picture.
    assert_eq!(at, [(199.75, 149.75), (-350.25, 49.75)]);
}

#[test]
fn a_window_is_followed_when_it_moves() {
    let dir = tempfile::tempdir().unwrap();
    let mut desk = desk(1000, 800, false);
    let root = corpus(&desk, dir.path());
    let mut xclock = desk.command("xclock");
    xclock.args(["-geometry", "300x200+50+60", "-update", "1", "-title", "part to edit"]);
    desk.launch(&mut xclock, "xclock", "x11-apps").unwrap();
    let window = desk.wait_window("part to edit").unwrap();
    let rec = Recorder::start(&desk, &root, &["--no-mic", "--window", "PART to"]);
    std::thread::sleep(Duration::from_millis(500));
    desk.output("xdotool", &["windowmove", "--sync", &window, "500", "400"]).unwrap();
    std::thread::sleep(Duration::from_millis(700));
    let (x, y) = Hand::new(&desk).place_of(window.trim().parse().unwrap());
    let (id, _) = (rec.id.clone(), rec.dir());
    assert_eq!(rec.stop().1, Some(0));
    let m = manifest(&root, &id);
    let screen = m.session.screen.as_ref().unwrap();
    assert_eq!((screen.source.as_str(), screen.title.as_deref()), ("window", Some("part to edit")));
    let (first, last) = (screen.map.areas.first().unwrap().area, screen.map.areas.last().unwrap().area);
    assert_eq!((first.width, first.height), (300, 200));
    assert_eq!((last.x, last.y, last.width, last.height), (x, y, 300, 200));
    assert!(first.x < 200 && last.x >= 500, "{first:?} {last:?}");
}

#[test]
fn the_portable_way_of_reading_the_screen_works_too() {
    let dir = tempfile::tempdir().unwrap();
    let desk = desk(640, 480, false);
    let root = corpus(&desk, dir.path());
    let hand = Hand::new(&desk);
    hand.move_to(20, 20);
    let rec = Recorder::start(&desk, &root, &["--no-mic", "--capture", "xcap"]);
    std::thread::sleep(Duration::from_millis(700));
    hand.move_to(320, 240);
    std::thread::sleep(Duration::from_millis(1_300));
    let (id, session) = (rec.id.clone(), rec.dir());
    assert_eq!(rec.stop().1, Some(0));
    let m = manifest(&root, &id);
    assert_eq!(m.session.screen.as_ref().unwrap().backend, "xcap");
    let v = m.session.streams.video.as_ref().unwrap();
    let expected = m.session.duration_ns as f64 / 1e9 * 30.0;
    assert!((v.frames as f64 - expected).abs() <= expected * 0.02 + 2.0, "{} frames, {expected} expected", v.frames);
    let shown = frames(&session.video(), 640, 480, &[0, v.frames as i64 - 1]);
    assert!(shown[1].change_near(&shown[0], 320.0, 240.0, 30.0).0 > 20, "the pointer is drawn in");
}
