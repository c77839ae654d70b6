//! Kills a recorder at random moments and measures what is gone after `redline recover`.
//!
//! `cargo bench --bench kill` does it 50 times; `-- N` says another number.

#![allow(clippy::unwrap_used)]

#[path = "../tests/recording/mod.rs"]
mod recording;

use recording::*;
use redline_schemas::{InputEvent, jsonl};
use std::process::ExitCode;
use std::time::Duration;

/// What may be gone: of video and sound, and of events (what the writer may hold, and an event's way).
const STREAM_MS: f64 = 1_000.0;
const EVENTS_MS: f64 = 250.0;

fn main() -> ExitCode {
    let rounds = std::env::args().skip(1).find_map(|a| a.parse().ok()).unwrap_or(50);
    let dir = tempfile::tempdir().unwrap();
    let desk = desk(1280, 720, true);
    let root = corpus(&desk, dir.path());
    let hand = Hand::new(&desk);
    let mut lost: [Vec<f64>; 3] = Default::default();
    // A fixed sequence of "random" moments, so that a failure can be repeated (SplitMix64; Steele, Lea, Flood 2014).
    let mut state = 1_u64;
    for round in 0..rounds {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let ms = 300 + (z ^ (z >> 27)) % 3_000;
        let rec = Recorder::start(&desk, &root, &[]);
        let begun = now_ns();
        let mut n = 0_i16;
        while now_ns() - begun < ms as i64 * 1_000_000 {
            n += 1;
            hand.move_to(10 + n % 1_000, 10 + n % 500);
            std::thread::sleep(Duration::from_millis(5));
        }
        hand.sync();
        rec.signal(libc::SIGKILL);
        let killed_ns = now_ns();
        let (id, session) = (rec.id.clone(), rec.dir());
        rec.wait();
        let mut c = redline(&desk);
        c.args(["recover", "--corpus"]).arg(&root);
        run(c);
        let m = manifest(&root, &id);
        let killed_ns = killed_ns - m.session.clock.origin_ns.unwrap();
        let v = m.session.streams.video.as_ref().unwrap();
        let video = v.grid.t_ns_of_frame(v.frames as i64);
        let audio = m.session.streams.audio.as_ref().unwrap().clock.span_ns().unwrap().1;
        let events = jsonl::read_all::<InputEvent>(&session.input()).unwrap().0;
        let input = events.last().map_or(0, |e| e.t_ns);
        for (l, end) in lost.iter_mut().zip([video, audio, input]) {
            l.push((killed_ns - end) as f64 / 1e6);
        }
        eprintln!(
            "{:2}: killed after {:5} ms, gone: video {:4.0} ms, audio {:4.0} ms, events {:4.0} ms",
            round + 1,
            ms,
            lost[0][round],
            lost[1][round],
            lost[2][round]
        );
        std::fs::remove_dir_all(session.path()).unwrap();
    }
    println!("| stream | median gone, ms | 95 %, ms | most, ms | allowed, ms |\n|---|---|---|---|---|");
    let mut good = true;
    for ((name, allowed), l) in [("video", STREAM_MS), ("audio", STREAM_MS), ("events", EVENTS_MS)].into_iter().zip(&mut lost) {
        let Some(most) = l.iter().copied().reduce(f64::max) else { continue };
        l.sort_by(f64::total_cmp);
        println!("| {name} | {:.0} | {:.0} | {most:.0} | {allowed:.0} |", l[l.len() / 2], l[l.len() * 95 / 100]);
        good &= most <= allowed;
    }
    println!("\n{rounds} recordings killed; all of them mended");
    if good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
