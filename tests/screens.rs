//! Several monitors, scaling and a window that moves: input lands on the right video pixels, and the picture agrees.

#![allow(clippy::unwrap_used)]

mod recording;

use recording::*;
use redline_desk::{Options, VirtualDesktop};
use redline_schemas::coords::Rect;
use redline_schemas::{InputEvent, InputKind, SessionDir, jsonl};
use std::path::Path;
use std::time::Duration;
use x11rb::connection::Connection;
use x11rb::protocol::xproto::{ConfigureWindowAux, ConnectionExt as _, CreateWindowAux, WindowClass};
use x11rb::wrapper::ConnectionExt as _;

fn presses(dir: &SessionDir) -> Vec<InputEvent> {
    let mut events = jsonl::read_all::<InputEvent>(&dir.input()).unwrap().0;
    events.retain(|e| e.kind == InputKind::Press);
    events
}

/// The video's frame number at a session time.
fn frame_at(root: &Path, id: &str, t_ns: i64) -> i64 {
    manifest(root, id).session.streams.video.unwrap().grid.frame_at(t_ns)
}

#[test]
fn the_second_monitor_has_its_own_pixels() {
    let dir = tempfile::tempdir().unwrap();
    let desk = desk(1600, 600, false);
    // Two monitors side by side on one X screen; the first takes the real output.
    for (name, geometry, output) in [("left", "800/211x600/159+0+0", "screen"), ("right", "800/211x600/159+800+0", "none")] {
        desk.output("xrandr", &["--setmonitor", name, geometry, output]).unwrap();
    }
    let root = corpus(&desk, dir.path());
    let hand = Hand::new(&desk);
    hand.move_to(100, 50);
    let rec = Recorder::start(&desk, &root, &["--no-mic", "--monitor", "right"]);
    std::thread::sleep(Duration::from_millis(700));
    hand.click(1);
    std::thread::sleep(Duration::from_millis(300));
    hand.move_to(1000, 300);
    std::thread::sleep(Duration::from_millis(300));
    hand.click(1);
    std::thread::sleep(Duration::from_millis(700));
    let (id, session) = (rec.id.clone(), rec.dir());
    assert_eq!(rec.stop().1, Some(0));

    let screen = manifest(&root, &id).session.screen.unwrap();
    assert_eq!(screen.map.areas[0].area, Rect { x: 800, y: 0, width: 800, height: 600 });
    let mut places: Vec<_> = screen.monitors.iter().map(|m| (m.name.clone(), m.area.x)).collect();
    places.sort();
    assert_eq!(places, [("left".to_owned(), 0), ("right".to_owned(), 800)]);
    // Small areas are not enlarged, so a video pixel is a screen pixel; what lies on the other monitor is outside.
    let p = presses(&session);
    let at: Vec<_> = p.iter().map(|e| (e.x.unwrap(), e.y.unwrap(), e.vx.unwrap(), e.vy.unwrap())).collect();
    assert_eq!(at, [(100.0, 50.0, -700.0, 50.0), (1000.0, 300.0, 200.0, 300.0)]);
    // The pointer is seen there when it has come over, and not before: its arrow reaches right and down.
    let wanted = [frame_at(&root, &id, p[0].t_ns), frame_at(&root, &id, p[1].t_ns) + 1];
    let shown = frames(&session.video(), 800, 600, &wanted);
    let (pixels, x, y) = shown[1].change_near(&shown[0], 200.0, 300.0, 40.0);
    assert!(pixels > 20 && (x - 206.0).abs() < 8.0 && (y - 308.0).abs() < 10.0, "{pixels} pixels changed around {x:.1}, {y:.1}");
}

#[test]
fn a_window_that_moves_is_followed() {
    let dir = tempfile::tempdir().unwrap();
    let options = Options { width: 1600, height: 1100, window_manager: false, sound: false, ..Options::default() };
    let desk = VirtualDesktop::start(options).unwrap();
    let root = corpus(&desk, dir.path());
    let (conn, number) = x11rb::connect(Some(desk.display())).unwrap();
    let parent = conn.setup().roots[number].root;
    let window = conn.generate_id().unwrap();
    let aux = CreateWindowAux::new().background_pixel(0x0040_6080);
    conn.create_window(24, window, parent, 50, 40, 1200, 900, 0, WindowClass::INPUT_OUTPUT, 0, &aux).unwrap();
    conn.change_property8(
        x11rb::protocol::xproto::PropMode::REPLACE,
        window,
        x11rb::protocol::xproto::AtomEnum::WM_NAME,
        x11rb::protocol::xproto::AtomEnum::STRING,
        b"redline moving window",
    )
    .unwrap();
    conn.map_window(window).unwrap();
    conn.sync().unwrap();
    let hand = Hand::new(&desk);
    hand.move_to(650, 540);
    let mut rec = Recorder::start(&desk, &root, &["--no-mic", "--window", "moving window"]);
    std::thread::sleep(Duration::from_millis(700));
    hand.click(1);
    std::thread::sleep(Duration::from_millis(300));
    conn.configure_window(window, &ConfigureWindowAux::new().x(250).y(140)).unwrap();
    conn.sync().unwrap();
    std::thread::sleep(Duration::from_millis(700));
    hand.click(1);
    std::thread::sleep(Duration::from_millis(500));
    assert!(rec.child.try_wait().unwrap().is_none(), "{:?}", rec.said());
    let (id, session) = (rec.id.clone(), rec.dir());
    assert_eq!(rec.stop().1, Some(0));

    let screen = manifest(&root, &id).session.screen.unwrap();
    assert_eq!((screen.source.as_str(), screen.map.video_width, screen.map.video_height), ("window", 960, 720));
    let places: Vec<_> = screen.map.areas.iter().map(|a| (a.area.x, a.area.y)).collect();
    assert_eq!(places, [(50, 40), (250, 140)]);
    let p = presses(&session);
    let near = |a: Option<f64>, b: f64| (a.unwrap() - b).abs() < 0.02;
    // 1200 x 900 becomes 960 x 720, four fifths: pixel middles are scaled, and the same screen pixel is another video pixel.
    assert!(near(p[0].vx, 600.5 * 0.8 - 0.5) && near(p[0].vy, 500.5 * 0.8 - 0.5), "{:?}", p[0]);
    assert!(near(p[1].vx, 400.5 * 0.8 - 0.5) && near(p[1].vy, 400.5 * 0.8 - 0.5), "{:?}", p[1]);
    // In the picture the pointer is at its new place, and it is gone from the old one.
    let wanted = [frame_at(&root, &id, p[0].t_ns), frame_at(&root, &id, p[1].t_ns) + 1];
    let shown = frames(&session.video(), 960, 720, &wanted);
    for (x, y) in [(480.0, 400.0), (320.0, 320.0)] {
        let (pixels, cx, cy) = shown[1].change_near(&shown[0], x, y, 30.0);
        assert!(
            pixels > 15 && (cx - x - 4.0).abs() < 8.0 && (cy - y - 6.0).abs() < 10.0,
            "{pixels} pixels changed around {cx:.1}, {cy:.1}"
        );
    }
}
