//! How long ink takes from the mouse to the screen, while the recorder works.
//!
//! A mouse move is injected with the button held, and the place is grabbed from the screen until it has the pen's colour.
//! The time ends when that grab has come back, so it holds a grab's own time too. `cargo bench --bench ink` measures 200
//! moves without and with a compositor; `-- N` says another number.

#![allow(clippy::unwrap_used)]

#[path = "../tests/recording/mod.rs"]
mod recording;

use recording::*;
use redline_desk::{Options, VirtualDesktop};
use std::process::ExitCode;
use std::time::Duration;
use x11rb::connection::Connection as _;
use x11rb::protocol::xproto::{ConnectionExt as _, ImageFormat};
use x11rb::rust_connection::RustConnection;

/// A frame of the recording: what 95 of 100 moves must stay under.
const FRAME_MS: f64 = 1_000.0 / 30.0;

/// Between two moves, so that each is seen alone: a hand's mouse sends one every 8 ms.
const PACE: Duration = Duration::from_millis(24);

/// Pixels between two moves: more than the pen is wide.
const STEP: i16 = 14;

struct Eye {
    conn: RustConnection,
    root: u32,
}

impl Eye {
    /// Whether the pen's red is at a place of the screen.
    fn sees_ink(&self, x: i16, y: i16) -> bool {
        let p = self.conn.get_image(ImageFormat::Z_PIXMAP, self.root, x, y, 1, 1, !0).unwrap().reply().unwrap().data;
        p[2] > 180 && p[1] < 110 && p[0] < 110
    }
}

/// Milliseconds for each move, and for a grab alone.
fn measure(moves: usize, compositor: bool) -> (Vec<f64>, f64) {
    let dir = tempfile::tempdir().unwrap();
    let desk = VirtualDesktop::start(Options { compositor, sound: false, ..Options::default() }).unwrap();
    let root = corpus(&desk, dir.path());
    let hand = Hand::new(&desk);
    let (conn, screen) = x11rb::connect(Some(desk.display())).unwrap();
    let eye = Eye { root: conn.setup().roots[screen].root, conn };
    let rec = Recorder::start(&desk, &root, &["--no-mic", "--modality", "draw-static", "--draw", "on", "--pen-width", "6"]);
    let mut taken = Vec::new();
    let mut y = 60;
    while taken.len() < moves {
        hand.move_to(40, y);
        hand.sync();
        hand.button(1, true);
        hand.sync();
        for i in 1..=40 {
            let x = 40 + i * STEP;
            std::thread::sleep(PACE);
            assert!(!eye.sees_ink(x, y), "nothing is drawn there yet");
            let sent = hand.move_to(x, y);
            while !eye.sees_ink(x, y) {
                assert!(now_ns() - sent < PATIENCE.as_nanos() as i64, "no ink at {x},{y}");
            }
            taken.push((now_ns() - sent) as f64 / 1e6);
        }
        hand.button(1, false);
        hand.sync();
        y = 60 + (y - 60 + 24) % 960;
    }
    let from = now_ns();
    for _ in 0..200 {
        eye.sees_ink(10, 10);
    }
    let grab = (now_ns() - from) as f64 / 200.0 / 1e6;
    assert_eq!(rec.stop().1, Some(0));
    taken.truncate(moves);
    (taken, grab)
}

fn main() -> ExitCode {
    let moves = std::env::args().skip(1).find_map(|a| a.parse().ok()).unwrap_or(200);
    println!("| screen | moves | median, ms | 95 %, ms | most, ms | a grab alone, ms |\n|---|---|---|---|---|---|");
    let mut good = true;
    for (name, compositor) in [("without a compositor", false), ("with picom", true)] {
        let (mut ms, grab) = measure(moves, compositor);
        ms.sort_by(f64::total_cmp);
        let at = |share: usize| ms[(ms.len() * share / 100).min(ms.len() - 1)];
        println!("| {name} | {} | {:.1} | {:.1} | {:.1} | {grab:.2} |", ms.len(), at(50), at(95), at(100));
        good &= at(95) <= FRAME_MS;
    }
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    println!("\n1920x1080, recorded at 30 frames a second meanwhile; load average {}", load.split(' ').next().unwrap_or_default());
    if good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
