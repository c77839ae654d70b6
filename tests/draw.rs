//! Drawing over the screen: where, when and for how long ink is in the video and in `strokes.jsonl`.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod recording;
mod steering;

use recording::*;
use redline_desk::{Options, VirtualDesktop};
use redline_schemas::{StrokeEvent, StrokeKind};
use std::time::Duration;
use steering::*;
use x11rb::connection::Connection as _;
use x11rb::protocol::Event;
use x11rb::protocol::xproto::{ConnectionExt as _, CreateWindowAux, EventMask, WindowClass};
use x11rb::rust_connection::RustConnection;

const WIDTH: u32 = 960;
const HEIGHT: u32 = 720;
const S: i64 = 1_000_000_000;

/// Another program's window, grey, that counts the clicks which it gets.
struct Other {
    conn: RustConnection,
    window: u32,
}

impl Other {
    fn show(desk: &VirtualDesktop) -> Self {
        let (conn, screen) = x11rb::connect(Some(desk.display())).unwrap();
        let s = &conn.setup().roots[screen];
        let window = conn.generate_id().unwrap();
        let aux = CreateWindowAux::new().background_pixel(0x0080_8080).event_mask(EventMask::BUTTON_PRESS | EventMask::EXPOSURE);
        conn.create_window(s.root_depth, window, s.root, 0, 0, WIDTH as u16, HEIGHT as u16, 0, WindowClass::INPUT_OUTPUT, 0, &aux).unwrap();
        conn.map_window(window).unwrap();
        conn.flush().unwrap();
        while !matches!(conn.wait_for_event().unwrap(), Event::Expose(_)) {}
        Self { conn, window }
    }

    /// Clicks since the last call.
    fn clicks(&self) -> usize {
        // The server answers in order: what came before this is in the queue.
        self.conn.get_geometry(self.window).unwrap().reply().unwrap();
        let mut n = 0;
        while let Some(e) = self.conn.poll_for_event().unwrap() {
            n += usize::from(matches!(e, Event::ButtonPress(_)));
        }
        n
    }
}

fn desk_with(compositor: bool) -> VirtualDesktop {
    VirtualDesktop::start(Options { width: WIDTH, height: HEIGHT, compositor, sound: false, ..Options::default() }).unwrap()
}

/// The share of a line's pixels (a little inside its ends) that are red in a picture.
fn drawn(picture: &[[u8; 3]], from: (f64, f64), to: (f64, f64)) -> f64 {
    let n = 60;
    let hits = (3..=n - 3).filter(|i| {
        let t = f64::from(*i) / f64::from(n);
        let (x, y) = (from.0 + (to.0 - from.0) * t, from.1 + (to.1 - from.1) * t);
        red(picture[y.round() as usize * WIDTH as usize + x.round() as usize])
    });
    hits.count() as f64 / f64::from(n - 5)
}

fn temporary(compositor: bool) {
    let dir = tempfile::tempdir().unwrap();
    let desk = desk_with(compositor);
    let root = corpus(&desk, dir.path());
    let other = Other::show(&desk);
    let hand = Hand::new(&desk);
    hand.move_to(20, 700);
    let args = ["--no-mic", "--fps", "15", "--preset", "ultrafast", "--modality", "draw-temp", "--fade", "3", "--pen-width", "8"];
    let rec = Recorder::start(&desk, &root, &args);
    let origin = running_origin(&rec);

    // Off: clicks go through.
    hand.move_to(480, 360);
    hand.click(1);
    hand.sync();
    desk.wait_for("a click on the window below", |_| other.clicks() == 1).unwrap();

    // On: they draw instead.
    assert_eq!(ctl(&desk, &root, &["draw", "on"])["drawing"], true);
    let (from, to) = ((200, 200), (600, 400));
    let (begun, ended) = draw_line(&hand, origin, from, to);
    wait_status(&desk, &root, |s| s["drawing"]["strokes"] == 1);
    assert_eq!(other.clicks(), 0, "what draws does not click");
    hand.move_to(20, 700);
    wait_status(&desk, &root, |s| s["drawing"]["strokes"] == 0);

    // Off again: through again.
    ctl(&desk, &root, &["draw", "off"]);
    hand.move_to(400, 300);
    hand.click(1);
    hand.sync();
    desk.wait_for("a click after drawing", |_| other.clicks() == 1).unwrap();
    std::thread::sleep(Duration::from_millis(1_200));
    let (session, id) = (rec.dir(), rec.id.clone());
    let (_, code) = rec.stop();
    assert_eq!(code, Some(0));

    // The vectors.
    let m = manifest(&root, &id);
    let strokes: Vec<StrokeEvent> = lines(&session.strokes());
    let of = |k: StrokeKind| strokes.iter().filter(|e| e.kind == k).collect::<Vec<_>>();
    let (begin, end, vanish) = (of(StrokeKind::Begin), of(StrokeKind::End), of(StrokeKind::Vanish));
    assert_eq!((begin.len(), end.len(), vanish.len()), (1, 1, 1), "{strokes:?}");
    assert_eq!((begin[0].x, begin[0].y), (Some(200.0), Some(200.0)));
    assert_eq!((end[0].x, end[0].y), (Some(600.0), Some(400.0)));
    assert_eq!((begin[0].tool.as_deref(), begin[0].colour.as_deref(), begin[0].width), (Some("pen"), Some("#e53935"), Some(8.0)));
    assert_eq!(vanish[0].reason.as_deref(), Some("faded"));
    assert!(of(StrokeKind::Point).len() >= 10, "{}", strokes.len());
    let video = m.session.streams.video.as_ref().unwrap();
    // The screen has the video's size here.
    assert_eq!((video.width, video.height), (WIDTH, HEIGHT));
    assert!(strokes.iter().filter(|e| e.x.is_some()).all(|e| (e.x.unwrap() - e.vx.unwrap()).abs() < 0.01));
    assert!((begin[0].t_ns - begun).abs() < 100_000_000, "{} {begun}", begin[0].t_ns);
    assert!((end[0].t_ns - ended).abs() < 100_000_000);
    let life = vanish[0].t_ns - end[0].t_ns;
    assert!((3 * S..3 * S + 500_000_000).contains(&life), "{life}");
    assert_eq!(m.session.streams.strokes.as_ref().unwrap().count, strokes.len() as u64);

    // The picture: not before, there after it was drawn, weaker while fading, gone after its time.
    // The overlay is a frame behind at most; the rest is the loaded machine's slack.
    let after = |t: i64| taken_around(&session, t).1.unwrap();
    let before = |t: i64| taken_around(&session, t).0.unwrap();
    let fading = before(vanish[0].t_ns - 50_000_000);
    let wanted =
        [before(begin[0].t_ns - 50_000_000), before(vanish[0].t_ns - S - 100_000_000), fading, after(vanish[0].t_ns + 200_000_000)];
    let pictures = colours(&session.video(), WIDTH as usize, HEIGHT as usize, &wanted);
    let share: Vec<f64> = pictures.iter().map(|p| drawn(p, (200.0, 200.0), (600.0, 400.0))).collect();
    assert!(share[0] == 0.0 && share[1] > 0.95 && share[3] == 0.0, "{share:?} in {wanted:?}");
    let strong = |p: &[[u8; 3]]| p.iter().filter(|c| red(**c)).count();
    assert!(
        strong(&pictures[2]) * 10 < strong(&pictures[1]) * 9,
        "fading is to be seen: {} {}",
        strong(&pictures[2]),
        strong(&pictures[1])
    );
    // Nothing else changed: no black screen, no shadow.
    let grey = |p: &[[u8; 3]]| p.iter().filter(|c| c.iter().all(|v| v.abs_diff(0x80) < 14)).count();
    assert!(grey(&pictures[1]) * 100 > WIDTH as usize * HEIGHT as usize * 95, "{}", grey(&pictures[1]));
}

#[test]
fn a_temporary_stroke_without_a_compositor() {
    temporary(false);
}

#[test]
fn a_temporary_stroke_with_a_compositor() {
    temporary(true);
}

#[test]
fn static_strokes_stay_until_they_are_taken_away() {
    let dir = tempfile::tempdir().unwrap();
    let desk = desk_with(false);
    let root = corpus(&desk, dir.path());
    let _other = Other::show(&desk);
    let hand = Hand::new(&desk);
    let rec = Recorder::start(
        &desk,
        &root,
        &["--no-mic", "--fps", "15", "--preset", "ultrafast", "--modality", "draw-static", "--draw", "on", "--pen-width", "8"],
    );
    let origin = running_origin(&rec);
    let (_, drawn_ns) = draw_line(&hand, origin, (100, 100), (400, 100));
    ctl(&desk, &root, &["pen", "tool", "arrow"]);
    ctl(&desk, &root, &["pen", "colour", "next"]);
    draw_line(&hand, origin, (100, 300), (400, 300));
    wait_status(&desk, &root, |s| s["drawing"]["strokes"] == 2);
    ctl(&desk, &root, &["undo"]);
    assert_eq!(ctl(&desk, &root, &["status"])["drawing"]["strokes"], 1);
    // Longer than temporary ones live.
    hand.move_to(20, 700);
    until(origin, drawn_ns + 5 * S);
    ctl(&desk, &root, &["clear"]);
    std::thread::sleep(Duration::from_millis(1_200));
    let session = rec.dir();
    assert_eq!(rec.stop().1, Some(0));

    let strokes: Vec<StrokeEvent> = lines(&session.strokes());
    let gone: Vec<_> = strokes.iter().filter(|e| e.kind == StrokeKind::Vanish).map(|e| (e.stroke, e.reason.as_deref().unwrap())).collect();
    assert_eq!(gone, [(2, "undone"), (1, "cleared")]);
    let begins: Vec<_> = strokes
        .iter()
        .filter(|e| e.kind == StrokeKind::Begin)
        .map(|e| (e.tool.as_deref().unwrap(), e.colour.as_deref().unwrap()))
        .collect();
    assert_eq!(begins, [("pen", "#e53935"), ("arrow", "#1e88e5")]);
    let cleared = strokes.iter().find(|e| e.reason.as_deref() == Some("cleared")).unwrap().t_ns;
    let wanted = [taken_around(&session, drawn_ns + 4 * S).1.unwrap(), taken_around(&session, cleared + 200_000_000).1.unwrap()];
    let pictures = colours(&session.video(), WIDTH as usize, HEIGHT as usize, &wanted);
    assert!(drawn(&pictures[0], (100.0, 100.0), (400.0, 100.0)) > 0.95);
    assert_eq!(drawn(&pictures[1], (100.0, 100.0), (400.0, 100.0)), 0.0);
    let mut check = redline(&desk);
    check.args(["check", "--json", "--corpus"]).arg(&root);
    let found = String::from_utf8(check.output().unwrap().stdout).unwrap();
    assert!(!found.contains("RL4") || !found.contains("stroke"), "{found}");
}
