//! Recordings that something happens to: killed, stopped, disk full, microphone gone, screen resized.

#![allow(clippy::unwrap_used)]

mod recording;

use recording::*;
use redline_desk::VirtualDesktop;
use redline_schemas::{
    DiscontinuityCause, InputEvent, InputKind, MarkEvent, MarkKind, RequestManifest, SessionDir, Status, VideoTime, jsonl,
};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

fn recover(desk: &VirtualDesktop, corpus: &Path) -> serde_json::Value {
    let mut c = redline(desk);
    c.args(["recover", "--json", "--corpus"]).arg(corpus);
    serde_json::from_slice(&run(c).stdout).unwrap()
}

/// Frames that the `ffmpeg` program decodes without a complaint.
fn decoded_frames(video: &Path) -> u64 {
    let mut c = Command::new("ffprobe");
    c.args(["-v", "error", "-count_frames", "-select_streams", "v", "-show_entries", "stream=nb_read_frames", "-of", "csv=p=0"]).arg(video);
    let o = run(c);
    assert!(o.stderr.is_empty(), "{}", String::from_utf8_lossy(&o.stderr));
    String::from_utf8_lossy(&o.stdout).trim().trim_end_matches(',').parse().unwrap()
}

fn marks(dir: &SessionDir) -> Vec<MarkEvent> {
    jsonl::read_all(&dir.marks()).unwrap().0
}

/// Ends of video and audio and the last known sign of life.
fn ends(m: &RequestManifest) -> (i64, i64, i64) {
    let v = m.session.streams.video.as_ref().unwrap();
    let a = m.session.streams.audio.as_ref().unwrap();
    (v.grid.t_ns_of_frame(v.frames as i64), a.clock.span_ns().unwrap().1, m.session.duration_ns)
}

#[test]
fn a_killed_recorder_loses_less_than_a_second() {
    let dir = tempfile::tempdir().unwrap();
    let desk = desk(1280, 720, true);
    let root = corpus(&desk, dir.path());
    let hand = Hand::new(&desk);
    for (round, ms) in [1_700_u64, 900, 2_350, 1_210, 3_040].into_iter().enumerate() {
        let rec = Recorder::start(&desk, &root, &[]);
        // Input all the time, so that a lost event would be seen.
        let (mut sent, mut n) = (Vec::new(), 0_i16);
        while sent.is_empty() || now_ns() - sent[0] < ms as i64 * 1_000_000 {
            n += 1;
            sent.push(hand.move_to(10 + n % 1_000, 10 + n % 500));
            std::thread::sleep(Duration::from_millis(10));
        }
        hand.sync();
        rec.signal(libc::SIGKILL);
        let killed_ns = now_ns();
        let (id, session) = (rec.id.clone(), rec.dir());
        assert_eq!(rec.wait().1, None, "killed");
        assert_eq!(manifest(&root, &id).status, Status::Recording);

        let mended = recover(&desk, &root);
        assert_eq!(mended.as_array().unwrap().len(), 1, "round {round}: {mended}");
        assert_eq!(mended[0]["id"], id.as_str(), "round {round}: {mended}");
        let m = manifest(&root, &id);
        assert_eq!(m.status, Status::Recovered);
        let killed_ns = killed_ns - m.session.clock.origin_ns.unwrap();
        let (video, audio, alive) = ends(&m);
        assert!(killed_ns - video < 1_000_000_000, "round {round}: {} ms of video are gone", (killed_ns - video) / 1_000_000);
        assert!(killed_ns - audio < 1_000_000_000, "round {round}: {} ms of audio are gone", (killed_ns - audio) / 1_000_000);
        let early = killed_ns - alive;
        assert!((-60_000_000..1_000_000_000).contains(&early), "round {round}: last sign of life {early} ns before its death");
        let (events, torn) = jsonl::read_all::<InputEvent>(&session.input()).unwrap();
        assert_eq!(torn, None);
        let last = events.last().unwrap().t_ns;
        // 250 ms in the writer, and what a loaded machine takes to bring an event that far.
        assert!(killed_ns - last < 450_000_000, "round {round}: {} ms of events are gone", (killed_ns - last) / 1_000_000);
        let v = m.session.streams.video.as_ref().unwrap();
        assert_eq!(decoded_frames(&session.video()), v.frames, "the video plays to its end");
        assert!(v.has_audio && (v.frames as f64) > (ms as f64 / 1e3 - 1.0) * 30.0);
        assert_eq!(m.session.streams.audio.as_ref().unwrap().clock.samples(), samples(&session.audio()).len() as u64);
        let said: Vec<_> = marks(&session).into_iter().filter(|m| m.kind == MarkKind::Gap).collect();
        assert!(said.iter().any(|m| m.stream.as_deref() == Some("video")) || video >= alive, "what is missing is stated: {said:?}");
        assert!(!session.video_raw().exists() && !session.lock().exists());
    }
    assert_eq!(recover(&desk, &root), serde_json::json!([]), "nothing is mended twice");
}

#[test]
fn a_second_recorder_is_refused_and_the_first_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let desk = desk(640, 480, false);
    let root = corpus(&desk, dir.path());
    let rec = Recorder::start(&desk, &root, &["--no-mic"]);
    let mut second = redline(&desk);
    second.args(["record", "--no-mic", "--participant", "P01", "--corpus"]).arg(&root);
    let o = second.output().unwrap();
    assert_eq!(o.status.code(), Some(8), "{}", String::from_utf8_lossy(&o.stderr));
    assert!(String::from_utf8_lossy(&o.stderr).contains(&rec.child.id().to_string()), "it says which process");
    // Nor may it be "recovered" from under the first.
    assert_eq!(recover(&desk, &root), serde_json::json!([]));
    let mut forced = redline(&desk);
    forced.arg("recover").arg(rec.dir().path());
    assert_eq!(forced.output().unwrap().status.code(), Some(8));
    // Nor in another corpus, since both would film this screen.
    let elsewhere = tempfile::tempdir().unwrap();
    let other = corpus(&desk, elsewhere.path());
    let mut third = redline(&desk);
    third.args(["record", "--no-mic", "--participant", "P01", "--corpus"]).arg(&other);
    let o = third.output().unwrap();
    let said = String::from_utf8_lossy(&o.stderr).into_owned();
    assert_eq!(o.status.code(), Some(8), "{said}");
    assert!(said.contains("is being recorded already") && said.contains(&rec.child.id().to_string()), "{said}");
    assert!(!other.join("requests").exists() || std::fs::read_dir(other.join("requests")).unwrap().count() == 0);
    let id = rec.id.clone();
    assert_eq!(rec.stop().1, Some(0));
    assert_eq!(manifest(&root, &id).status, Status::Complete);
    assert_eq!(std::fs::read_dir(root.join("requests")).unwrap().count(), 1, "the refused one left nothing");
}

#[test]
fn a_full_disk_ends_the_recording_and_keeps_it() {
    let dir = tempfile::tempdir().unwrap();
    let disk = dir.path().join("disk");
    std::fs::create_dir(&disk).unwrap();
    let mut mount = Command::new("mount");
    mount.args(["-t", "tmpfs", "-o", "size=1536k", "tmpfs"]).arg(&disk);
    run(mount);
    let _unmount = Unmount(&disk);
    let desk = desk(640, 480, true);
    let root = corpus(&desk, &disk);
    let rec = Recorder::start(&desk, &root, &[]);
    let (id, session) = (rec.id.clone(), rec.dir());
    let (_, code) = rec.wait();
    assert_eq!(code, Some(7));
    assert_eq!(manifest(&root, &id).status, Status::Recording);

    let mut more = Command::new("mount");
    more.args(["-o", "remount,size=64m"]).arg(&disk);
    run(more);
    let mended = recover(&desk, &root);
    assert_eq!(mended[0]["id"], id.as_str());
    let m = manifest(&root, &id);
    let (video, audio, alive) = ends(&m);
    assert!(alive > 3_000_000_000, "some seconds fit on the disk: {alive}");
    assert!(alive - video < 1_000_000_000 && alive - audio < 1_000_000_000, "{video} {audio} {alive}");
    assert_eq!(decoded_frames(&session.video()), m.session.streams.video.unwrap().frames);
}

struct Unmount<'a>(&'a Path);

impl Drop for Unmount<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(self.0).status();
    }
}

#[test]
fn a_microphone_that_vanishes_leaves_a_marked_gap_and_the_rest_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let desk = desk(640, 480, true);
    let root = corpus(&desk, dir.path());
    let mut rec = Recorder::start(&desk, &root, &[]);
    std::thread::sleep(Duration::from_millis(1_500));
    let lost_at = now_ns();
    // SAFETY: a signal to the desktop's own sound server.
    assert_eq!(unsafe { libc::kill(sound_server(&desk), libc::SIGKILL) }, 0);
    rec.wait_line("the microphone is gone");
    std::thread::sleep(Duration::from_millis(1_500));
    let (id, session) = (rec.id.clone(), rec.dir());
    assert_eq!(rec.stop().1, Some(0));
    let m = manifest(&root, &id);
    assert_eq!(m.status, Status::Complete);
    let lost_ns = lost_at - m.session.clock.origin_ns.unwrap();
    let gaps: Vec<_> = marks(&session).into_iter().filter(|m| m.kind == MarkKind::Gap).collect();
    assert_eq!(gaps.len(), 1);
    assert_eq!(gaps[0].stream.as_deref(), Some("audio"));
    assert!((gaps[0].t_ns - lost_ns).abs() < 1_000_000_000, "{} against {lost_ns}", gaps[0].t_ns);
    assert!((gaps[0].until_ns.unwrap() - m.session.duration_ns).abs() < 100_000_000);
    let (video, audio, end) = ends(&m);
    assert!(end - video < 200_000_000, "the video goes to the end");
    assert!((audio - gaps[0].t_ns).abs() < 1_000_000, "the audio ends at {audio}, the gap begins at {}", gaps[0].t_ns);
}

#[test]
fn a_stopped_process_does_not_shift_what_follows() {
    let dir = tempfile::tempdir().unwrap();
    let desk = desk(640, 480, true);
    let root = corpus(&desk, dir.path());
    let hand = Hand::new(&desk);
    hand.move_to(100, 100);
    let rec = Recorder::start(&desk, &root, &[]);
    std::thread::sleep(Duration::from_millis(1_000));
    rec.signal(libc::SIGSTOP);
    std::thread::sleep(Duration::from_millis(1_000));
    let clicked_meanwhile = hand.click(1);
    std::thread::sleep(Duration::from_millis(2_000));
    rec.signal(libc::SIGCONT);
    std::thread::sleep(Duration::from_millis(1_500));
    hand.move_to(400, 300);
    let clicked = hand.click(3);
    std::thread::sleep(Duration::from_millis(700));
    let (id, session) = (rec.id.clone(), rec.dir());
    assert_eq!(rec.stop().1, Some(0));
    let m = manifest(&root, &id);
    let (origin, v) = (m.session.clock.origin_ns.unwrap(), m.session.streams.video.as_ref().unwrap());
    let d = &m.session.clock.discontinuities;
    assert!(d.iter().any(|d| d.cause == DiscontinuityCause::Stall), "{d:?}");
    assert!(v.repeated_slots >= 80, "{} slots were repeated", v.repeated_slots);
    let expected = m.session.duration_ns as f64 / 1e9 * 30.0;
    assert!((v.frames as f64 - expected).abs() <= expected * 0.01 + 2.0, "{} frames, {expected} expected", v.frames);
    let stall = marks(&session).into_iter().find(|m| m.kind == MarkKind::Discontinuity).unwrap();
    assert!(stall.until_ns.unwrap() - stall.t_ns > 2_500_000_000, "the mark spans the stall: {stall:?}");
    // After it the click and its picture are still at the same time.
    let events = jsonl::read_all::<InputEvent>(&session.input()).unwrap().0;
    let presses: Vec<_> = events.iter().filter(|e| e.kind == InputKind::Press).collect();
    assert_eq!(presses.len(), 2);
    // The click that nobody was awake to see has the time at which it was made: to the server's own millisecond.
    let late_ms = (presses[0].t_ns + origin - clicked_meanwhile) as f64 / 1e6;
    assert!((-5.0..=5.0).contains(&late_ms), "in the stall: {late_ms} ms");
    let late_ms = (presses[1].t_ns + origin - clicked) as f64 / 1e6;
    assert!((-1.0..=20.0).contains(&late_ms), "{late_ms} ms");
    let (w, h) = (v.width as usize, v.height as usize);
    let at = v.grid.frame_at(clicked - origin);
    let shown = frames(&session.video(), w, h, &[0, at - 15, at + 6]);
    assert!(shown[2].change_near(&shown[0], 400.0, 300.0, 25.0).0 > 20, "the pointer is there after the click");
    assert!(shown[1].change_near(&shown[0], 400.0, 300.0, 25.0).0 < 5, "and half a second before it is not");
    // The audio goes on at the right time too: its pieces do not overlap, and it ends with the session.
    let (_, audio, end) = ends(&m);
    assert!((end - audio).abs() < 300_000_000, "the audio ends at {audio}, the session at {end}");
}

#[test]
fn a_resized_screen_is_marked_and_mapped() {
    let dir = tempfile::tempdir().unwrap();
    let desk = desk(1280, 720, false);
    let root = corpus(&desk, dir.path());
    let hand = Hand::new(&desk);
    hand.move_to(10, 10);
    let mut rec = Recorder::start(&desk, &root, &["--no-mic"]);
    std::thread::sleep(Duration::from_millis(700));
    hand.resize_screen(800, 600);
    rec.wait_line("changed its size");
    hand.move_to(400, 300);
    hand.click(1);
    std::thread::sleep(Duration::from_millis(700));
    let (id, session) = (rec.id.clone(), rec.dir());
    assert_eq!(rec.stop().1, Some(0));
    let m = manifest(&root, &id);
    let map = &m.session.screen.as_ref().unwrap().map;
    let sizes: Vec<_> = map.areas.iter().map(|a| (a.area.width, a.area.height)).collect();
    assert_eq!(sizes, [(1280, 720), (800, 600)]);
    assert!(marks(&session).iter().any(|m| m.kind == MarkKind::Resize && m.area.is_some()));
    let v = m.session.streams.video.as_ref().unwrap();
    assert_eq!((v.width, v.height), (1280, 720), "the video keeps its size");
    assert_eq!(decoded_frames(&session.video()), v.frames);
    let events = jsonl::read_all::<InputEvent>(&session.input()).unwrap().0;
    let press = events.iter().find(|e| e.kind == InputKind::Press).unwrap();
    let (vx, vy) = (press.vx.unwrap(), press.vy.unwrap());
    assert!((vx - 640.3).abs() < 0.1 && (vy - 360.1).abs() < 0.1, "{vx},{vy}: the new screen fills the picture");
    // The pointer is there in the picture.
    let shown = frames(&session.video(), 1280, 720, &[v.frames as i64 - 15, v.frames as i64 - 1]);
    assert_eq!(shown.len(), 2);
}

#[test]
fn bad_surroundings_give_one_clear_error_each() {
    let dir = tempfile::tempdir().unwrap();
    let desk = desk(640, 480, false);
    let root = corpus(&desk, dir.path());
    let record = |change: &dyn Fn(&mut Command)| {
        let mut c = redline(&desk);
        c.args(["record", "--duration", "1", "--participant", "P01", "--corpus"]).arg(&root);
        change(&mut c);
        let o = c.output().unwrap();
        (o.status.code(), String::from_utf8_lossy(&o.stderr).into_owned())
    };
    let (code, said) = record(&|c| {
        c.env_remove("DISPLAY").arg("--no-mic");
    });
    assert!(code == Some(4) && said.contains("no screen to record") && said.contains("hint:"), "{code:?} {said}");
    let (code, said) = record(&|c| {
        c.env("DISPLAY", ":65000").arg("--no-mic");
    });
    assert!(code == Some(4) && said.contains(":65000"), "{code:?} {said}");
    let (code, said) = record(&|c| {
        c.args(["--mic", "no such microphone"]);
    });
    assert!(code == Some(4) && said.contains("no microphone to record"), "{code:?} {said}");
    let (code, said) = record(&|c| {
        c.args(["--no-mic", "--monitor", "nowhere"]);
    });
    assert!(code == Some(4) && said.contains("there are: "), "{code:?} {said}");
    let (code, said) = record(&|c| {
        c.args(["--no-mic", "--window", "no such window"]);
    });
    assert!(code == Some(4) && said.contains("no such window"), "{code:?} {said}");
    assert_eq!(std::fs::read_dir(root.join("requests")).unwrap().count(), 0, "nothing is left behind");

    let mut doctor = redline(&desk);
    doctor.args(["doctor", "--json"]).env_remove("DISPLAY");
    let o = doctor.output().unwrap();
    assert_eq!(o.status.code(), Some(4));
    let found: serde_json::Value = serde_json::from_slice(&o.stdout).unwrap();
    assert_eq!(found["can_record"], false);
    assert_eq!(found["findings"][0]["what"], "screen");
    assert_eq!(found["findings"][0]["verdict"], "stops");
}

/// Times and slots of a recording as they were taken.
#[test]
fn the_grid_is_kept_under_its_own_times() {
    let dir = tempfile::tempdir().unwrap();
    let desk = desk(640, 480, false);
    let root = corpus(&desk, dir.path());
    let rec = Recorder::start(&desk, &root, &["--no-mic", "--duration", "3", "--fps", "25"]);
    let (id, session) = (rec.id.clone(), rec.dir());
    let (out, code) = rec.wait();
    assert_eq!((code, out.trim()), (Some(0), id.as_str()));
    let m = manifest(&root, &id);
    let v = m.session.streams.video.as_ref().unwrap();
    assert_eq!((v.grid.fps_num, v.grid.fps_den), (25, 1));
    assert!((m.session.duration_ns - 3_000_000_000).abs() < 300_000_000, "{}", m.session.duration_ns);
    let times = jsonl::read_all::<VideoTime>(&session.video_times()).unwrap().0;
    assert_eq!(times[0].t_ns, v.grid.first_t_ns);
    let used: Vec<_> = times.iter().filter_map(|t| Some((t.slot?, t.t_ns))).collect();
    assert!(used.windows(2).all(|w| w[0].0 < w[1].0 && w[0].1 < w[1].1), "slots and times rise");
    for (slot, t) in &used {
        let off = (t - v.grid.t_ns_of_frame(*slot)).abs();
        assert!(off <= 20_000_001, "slot {slot} shows a picture taken {off} ns beside it");
    }
    assert_eq!(v.frames, used.len() as u64 + v.repeated_slots);
}
