//! `redline ctl`: a running recording is steered from outside, and a cut span is in no stream.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod recording;
mod steering;

use recording::*;
use redline_schemas::{InputEvent, MarkKind, Status, StrokeEvent, TextEvent, Timed};
use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;
use steering::*;

const S: i64 = 1_000_000_000;

fn screen_of(desk: &redline_desk::VirtualDesktop, colour: &str) {
    desk.output("xsetroot", &["-solid", colour]).unwrap();
}

#[test]
fn a_cut_span_is_in_no_stream() {
    let dir = tempfile::tempdir().unwrap();
    let desk = desk(640, 480, true);
    let root = corpus(&desk, dir.path());
    let tone = dir.path().join("tone.wav");
    tone_wav(&tone, 1_000.0, 0.5);
    let hand = Hand::new(&desk);
    screen_of(&desk, "#808080");
    let rec = Recorder::start(&desk, &root, &["--modality", "draw-static", "--draw", "on", "--pen-width", "8"]);
    let origin = running_origin(&rec);
    draw_line(&hand, origin, (50, 50), (250, 50));
    ctl(&desk, &root, &["text", "kept"]);
    desk.play_wav(&tone).unwrap();
    until(origin, now_ns() - origin + S);

    // The secret: a white screen, a tone, a stroke, words, a note.
    let secret_from = now_ns() - origin;
    screen_of(&desk, "#ffffff");
    draw_line(&hand, origin, (50, 200), (250, 200));
    ctl(&desk, &root, &["text", "kept password"]);
    ctl(&desk, &root, &["mark", "a secret"]);
    desk.play_wav(&tone).unwrap();
    screen_of(&desk, "#808080");
    std::thread::sleep(Duration::from_millis(300));
    let seconds = (now_ns() - origin - secret_from) as f64 / 1e9 + 0.5;
    let cut = tell(&desk, &format!("cut {seconds:.3}"));
    let (from, until_ns) = (cut["t_ns"].as_i64().unwrap(), cut["until_ns"].as_i64().unwrap());
    assert!(from < secret_from, "{cut}");
    assert_eq!(ctl(&desk, &root, &["status"])["drawing"]["strokes"], 1, "ink of the span is gone at once");

    std::thread::sleep(Duration::from_millis(400));
    ctl(&desk, &root, &["text", "kept and more"]);
    draw_line(&hand, origin, (50, 350), (250, 350));
    desk.play_wav(&tone).unwrap();
    std::thread::sleep(Duration::from_millis(600));
    let (session, id) = (rec.dir(), rec.id.clone());
    assert_eq!(rec.stop().1, Some(0));

    let inside = |t: i64| from <= t && t < until_ns;
    let m = manifest(&root, &id);
    assert_eq!(m.status, Status::Complete);
    let cuts = marks(&session, MarkKind::Cut);
    assert_eq!((cuts.len(), cuts[0].t_ns, cuts[0].until_ns), (1, from, Some(until_ns)));
    assert!(marks(&session, MarkKind::Mark).is_empty());
    let input: Vec<InputEvent> = lines(&session.input());
    let strokes: Vec<StrokeEvent> = lines(&session.strokes());
    let text: Vec<TextEvent> = lines(&session.text_events());
    assert!(input.iter().all(|e| !inside(e.t_ns())));
    assert!(input.iter().any(|e| e.t_ns() < from) && input.iter().any(|e| e.t_ns() >= until_ns), "the rest is there");
    assert!(strokes.iter().all(|e| !inside(e.t_ns()) && e.stroke != 2), "{strokes:?}");
    assert!(strokes.iter().any(|e| e.stroke == 1) && strokes.iter().any(|e| e.stroke == 3));
    assert!(text.iter().all(|e| !inside(e.t_ns())));
    assert_eq!(std::fs::read_to_string(session.text()).unwrap(), "kept and more");

    // Sound: the tone before and after it is there, between them is silence.
    let a = m.session.streams.audio.as_ref().unwrap();
    let heard = samples(&session.audio());
    let at = |t: i64| (a.clock.sample_at(t).unwrap() * 48_000.0 / f64::from(a.clock.sample_rate)).max(0.0) as usize;
    let peak = |s: &[f32]| s.iter().fold(0.0_f32, |m, v| m.max(v.abs()));
    assert!(peak(&heard[at(from)..at(until_ns)]) < 0.001);
    assert!(amplitude(&heard[..at(from)], 1_000.0) > 0.01);
    assert!(amplitude(&heard[at(until_ns)..], 1_000.0) > 0.01);
    let muxed = samples(&session.video());
    let grid = &m.session.streams.video.as_ref().unwrap().grid;
    let in_video = |t: i64| ((t - grid.first_t_ns).max(0) as f64 * 48_000.0 / 1e9) as usize;
    assert!(peak(&muxed[in_video(from) + 2_400..in_video(until_ns) - 2_400]) < 0.01, "nor is it in the video's own sound");

    // Pictures: black in the span, as they were outside it.
    let v = m.session.streams.video.as_ref().unwrap();
    let all = mean_lumas(&session.video(), v.width as usize, v.height as usize);
    assert_eq!(all.len() as u64, v.frames);
    for (i, mean) in all.into_iter().enumerate() {
        let t = v.grid.t_ns_of_frame(i as i64);
        if inside(t) {
            assert!(mean < 20.0, "frame {i} at {t} shows something: {mean}");
        } else if t < from - 100_000_000 || t > until_ns + 100_000_000 {
            assert!((90.0..200.0).contains(&mean), "frame {i} at {t}: {mean}");
        }
    }
    // Nothing else of it lies about.
    for f in std::fs::read_dir(session.path()).unwrap() {
        let name = f.unwrap().file_name().to_string_lossy().into_owned();
        assert!(!name.contains(".part.") && !name.ends_with(".tmp"), "{name}");
    }
    let mut check = redline(&desk);
    check.args(["check", "--corpus"]).arg(&root);
    let said = check.output().unwrap();
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    for rule in ["RL4", "typed", "stroke"] {
        assert!(!said.contains(&format!("{rule} error")), "{said}");
    }
}

#[test]
fn a_cut_holds_when_the_recorder_dies() {
    let dir = tempfile::tempdir().unwrap();
    let desk = desk(640, 480, false);
    let root = corpus(&desk, dir.path());
    let hand = Hand::new(&desk);
    let rec = Recorder::start(&desk, &root, &["--no-mic"]);
    let origin = running_origin(&rec);
    until(origin, S);
    screen_of(&desk, "#ffffff");
    hand.move_to(300, 300);
    hand.click(1);
    std::thread::sleep(Duration::from_millis(500));
    screen_of(&desk, "#808080");
    let cut = tell(&desk, "cut 1.5");
    let (from, until_ns) = (cut["t_ns"].as_i64().unwrap(), cut["until_ns"].as_i64().unwrap());
    until(origin, until_ns + S);
    // The encoder of a loaded machine is behind.
    wait_status(&desk, &root, |s| s["frames"].as_i64().unwrap() > until_ns * 30 / S + 15);
    let session = rec.dir();
    rec.signal(libc::SIGKILL);
    rec.wait();
    let mut c = redline(&desk);
    c.args(["recover", "--corpus"]).arg(&root);
    run(c);
    let input: Vec<InputEvent> = lines(&session.input());
    assert!(input.iter().all(|e| !(from..until_ns).contains(&e.t_ns())));
    let m = manifest(&root, session.path().file_name().unwrap().to_str().unwrap());
    let v = m.session.streams.video.as_ref().unwrap();
    let middle = v.grid.frame_at((from + until_ns) / 2);
    let p = &frames(&session.video(), v.width as usize, v.height as usize, &[middle])[0];
    assert!(p.pixels.iter().all(|b| *b < 40));
}

#[test]
fn a_pause_is_a_marked_gap_on_the_clock() {
    let dir = tempfile::tempdir().unwrap();
    let desk = desk(640, 480, true);
    let root = corpus(&desk, dir.path());
    let hand = Hand::new(&desk);
    let rec = Recorder::start(&desk, &root, &[]);
    let origin = running_origin(&rec);
    until(origin, S);
    hand.move_to(100, 100);
    hand.sync();
    assert_eq!(ctl(&desk, &root, &["pause"])["changed"], true);
    assert_eq!(ctl(&desk, &root, &["pause"])["changed"], false);
    screen_of(&desk, "#ffffff");
    hand.move_to(200, 200);
    hand.click(1);
    hand.sync();
    ctl(&desk, &root, &["text", "typed in the pause"]);
    std::thread::sleep(Duration::from_millis(1_500));
    screen_of(&desk, "#404040");
    std::thread::sleep(Duration::from_millis(200));
    // The encoder of a loaded machine is behind.
    let live = wait_status(&desk, &root, |s| s["paused_slots"].as_i64().unwrap() > 30);
    assert_eq!(live["paused"], true);
    ctl(&desk, &root, &["resume"]);
    hand.move_to(300, 300);
    hand.sync();
    std::thread::sleep(Duration::from_millis(1_200));
    let (session, id) = (rec.dir(), rec.id.clone());
    ctl(&desk, &root, &["stop"]);
    assert_eq!(rec.wait().1, Some(0));

    let pauses = marks(&session, MarkKind::Pause);
    assert_eq!(pauses.len(), 1);
    let (from, to) = (pauses[0].t_ns, pauses[0].until_ns.unwrap());
    assert!(to - from > 1_600_000_000, "{from} {to}");
    let input: Vec<InputEvent> = lines(&session.input());
    assert!(input.iter().all(|e| !(from..to).contains(&e.t_ns())));
    assert!(input.iter().any(|e| e.x == Some(300.0) && e.t_ns() >= to), "what follows stands at its own time");
    let m = manifest(&root, &id);
    let v = m.session.streams.video.as_ref().unwrap();
    let end = v.grid.t_ns_of_frame(v.frames as i64);
    assert!((end - m.session.duration_ns).abs() < 100_000_000, "the clock goes on");
    // Slots of the pause are no missed ones.
    let slots = (to - from) * 30 / S;
    assert!((v.paused_slots as i64 - slots).abs() <= 3, "{} of {slots}", v.paused_slots);
    let taken = lines::<redline_schemas::VideoTime>(&session.video_times()).iter().filter(|t| t.slot.is_some()).count() as u64;
    assert_eq!(v.frames, taken + v.repeated_slots + v.paused_slots);
    assert!(live["paused_slots"].as_i64().unwrap() > 30, "{live}");
    let shown = |t: i64| v.grid.frame_at(t);
    let p = frames(&session.video(), v.width as usize, v.height as usize, &[shown(from) - 2, shown((from + to) / 2), shown(to + S)]);
    let mean = |l: &Luma| l.pixels.iter().map(|b| f64::from(*b)).sum::<f64>() / l.pixels.len() as f64;
    assert!((mean(&p[0]) - mean(&p[1])).abs() < 3.0, "the picture before the pause stands");
    assert!((mean(&p[2]) - mean(&p[1])).abs() > 10.0);
    let a = m.session.streams.audio.as_ref().unwrap();
    assert!(a.clock.pieces.len() >= 2, "the audio has a gap: {:?}", a.clock.pieces);
    let spoken: i64 = (a.clock.samples() as f64 * 1e9 / f64::from(a.clock.sample_rate)) as i64;
    assert!((m.session.duration_ns - (to - from) - spoken).abs() < 400_000_000, "{spoken}");
}

#[test]
fn commands_are_answered_or_refused_with_a_reason() {
    let dir = tempfile::tempdir().unwrap();
    let desk = desk(640, 480, false);
    let root = corpus(&desk, dir.path());
    let (code, said) = refused(&desk, &root, &["status"]);
    assert!(code == Some(4) && said.contains("no recorder is at work"), "{code:?} {said}");
    let rec = Recorder::start(&desk, &root, &["--no-mic"]);
    for (words, why) in [
        (&["jump"][..], "commands are"),
        (&["cut", "-3"][..], "give the seconds"),
        (&["pen", "width", "900"][..], "1 to 40"),
        (&["draw", "on"][..], "no drawing"),
    ] {
        let (_, said) = refused(&desk, &root, words);
        assert!(said.contains(why), "{words:?}: {said}");
    }
    // The socket is this user's alone.
    let folder = desk.env().iter().find(|(k, _)| k == "XDG_RUNTIME_DIR").unwrap().1.clone();
    let folder = std::path::Path::new(&folder).join("redline");
    assert_eq!(std::fs::metadata(&folder).unwrap().permissions().mode() & 0o777, 0o700);
    let socket = socket_in(&folder);
    assert_eq!(std::fs::metadata(&socket).unwrap().permissions().mode() & 0o777, 0o600);
    // Lines that no client would send.
    {
        use std::io::{BufRead as _, BufReader, Write as _};
        let s = std::os::unix::net::UnixStream::connect(&socket).unwrap();
        (&s).write_all(b"\xff\xfe\nstatus\nmark by hand\n").unwrap();
        let mut answers = BufReader::new(&s).lines().map(|l| serde_json::from_str::<serde_json::Value>(&l.unwrap()).unwrap());
        assert_eq!(answers.next().unwrap()["ok"], false);
        assert_eq!(answers.next().unwrap()["request"], rec.id.as_str());
        assert_eq!(answers.next().unwrap()["ok"], true);
    }
    let status = wait_status(&desk, &root, |s| s["frames"].as_u64().unwrap() > 5);
    assert_eq!((status["marks"].as_u64(), status["paused"].as_bool()), (Some(1), Some(false)));
    // Keys do the same.
    let hand = Hand::new(&desk);
    for (key, down) in [(0xffe3, true), (0xffe1, true), (0xffc3, true), (0xffc3, false), (0xffe1, false), (0xffe3, false)] {
        hand.key(key, down);
    }
    wait_status(&desk, &root, |s| s["marks"] == 2);
    // A discarded take is in the bin, whole.
    let id = rec.id.clone();
    ctl(&desk, &root, &["discard"]);
    let (out, code) = rec.wait();
    assert_eq!((out.trim(), code), ("", Some(0)));
    assert!(!root.join("requests").join(&id).exists());
    assert!(root.join(".bin/requests").join(&id).join("video.mp4").is_file());
    let bin = |args: &[&str]| {
        let mut c = redline(&desk);
        c.args(["bin", "--json"]).args(args).arg("--corpus").arg(&root);
        c.output().unwrap()
    };
    let listed = |o: std::process::Output| serde_json::from_slice::<serde_json::Value>(&o.stdout).unwrap();
    let all = listed(bin(&["list"]));
    assert_eq!((&all[0]["id"], &all[0]["participant"], &all[0]["modality"]), (&id.as_str().into(), &"P01".into(), &"interactive".into()));
    assert!(all[0]["seconds"].as_f64().unwrap() > 0.1 && all[0]["bytes"].as_u64().unwrap() > 1_000, "{all}");
    // Back among the requests, whole.
    assert_eq!(listed(bin(&["restore", &id]))["request"], id.as_str());
    assert_eq!(manifest(&root, &id).status, Status::Complete);
    assert_eq!((listed(bin(&["list"])), bin(&["restore", &id]).status.code()), (serde_json::json!([]), Some(5)));
    // And again into the bin, which is emptied only when that was meant.
    std::fs::rename(root.join("requests").join(&id), root.join(".bin/requests").join(&id)).unwrap();
    let o = bin(&["empty"]);
    assert!(o.status.code() == Some(1) && String::from_utf8_lossy(&o.stderr).contains("--yes"), "{o:?}");
    assert!(root.join(".bin/requests").join(&id).exists());
    assert_eq!(listed(bin(&["empty", "--yes"]))["removed"], 1);
    assert!(!root.join(".bin/requests").join(&id).exists());
    assert!(!socket.exists());
}
