//! What the tests of drawing, of `redline ctl` and of the panel share.
#![allow(dead_code)] // Each test file uses its part.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use super::recording::{Hand, Recorder, now_ns, redline, run};
use redline_desk::VirtualDesktop;
use redline_schemas::{MarkEvent, MarkKind, RequestManifest, Timed, jsonl};
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::path::Path;
use std::time::{Duration, Instant};

/// Sends a command and gives the answer; it must be carried out.
pub fn ctl(desk: &VirtualDesktop, corpus: &Path, words: &[&str]) -> Value {
    let mut c = redline(desk);
    c.args(["ctl", "--json", "--corpus"]).arg(corpus).args(words);
    serde_json::from_slice(&run(c).stdout).unwrap()
}

/// Sends a command that must be refused; its exit code and what was said.
pub fn refused(desk: &VirtualDesktop, corpus: &Path, words: &[&str]) -> (Option<i32>, String) {
    let mut c = redline(desk);
    c.args(["ctl", "--corpus"]).arg(corpus).args(words);
    let o = c.output().unwrap();
    assert!(!o.status.success(), "{words:?} was carried out");
    (o.status.code(), String::from_utf8_lossy(&o.stderr).into_owned())
}

/// Waits until `status` fulfils `ready`.
pub fn wait_status(desk: &VirtualDesktop, corpus: &Path, ready: impl Fn(&Value) -> bool) -> Value {
    let until = Instant::now() + super::recording::PATIENCE;
    loop {
        let s = ctl(desk, corpus, &["status"]);
        if ready(&s) {
            return s;
        }
        assert!(Instant::now() < until, "{s}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Draws a line with the left button down, in steps as a hand does; session times of its start and end.
pub fn draw_line(hand: &Hand, origin_ns: i64, from: (i16, i16), to: (i16, i16)) -> (i64, i64) {
    hand.move_to(from.0, from.1);
    hand.sync();
    let begun = hand.button(1, true);
    for i in 1..=20_i32 {
        let at = |a: i16, b: i16| (i32::from(a) + (i32::from(b) - i32::from(a)) * i / 20) as i16;
        hand.move_to(at(from.0, to.0), at(from.1, to.1));
        hand.sync();
        std::thread::sleep(Duration::from_millis(10));
    }
    let ended = hand.button(1, false);
    hand.sync();
    (begun - origin_ns, ended - origin_ns)
}

/// All lines of a stream.
pub fn lines<T: DeserializeOwned + Timed>(path: &Path) -> Vec<T> {
    jsonl::read_all(path).unwrap().0
}

/// The marks of a kind.
pub fn marks(rec: &redline_schemas::SessionDir, kind: MarkKind) -> Vec<MarkEvent> {
    if !rec.marks().exists() {
        return Vec::new();
    }
    lines::<MarkEvent>(&rec.marks()).into_iter().filter(|m| m.kind == kind).collect()
}

/// The clock's reading at a session's start.
pub fn origin(m: &RequestManifest) -> i64 {
    m.session.clock.origin_ns.unwrap()
}

/// The running session's clock, before its manifest is final.
pub fn running_origin(rec: &Recorder) -> i64 {
    super::recording::manifest(&rec.corpus, &rec.id).session.clock.origin_ns.unwrap()
}

/// RGB pictures of frames, decoded by the `ffmpeg` program.
pub fn colours(video: &Path, width: usize, height: usize, wanted: &[i64]) -> Vec<Vec<[u8; 3]>> {
    let select: Vec<String> = wanted.iter().map(|n| format!("eq(n\\,{n})")).collect();
    let mut c = std::process::Command::new("ffmpeg");
    c.args(["-v", "error", "-i"]).arg(video).args(["-vf", &format!("select={}", select.join("+"))]);
    c.args(["-vsync", "0", "-f", "rawvideo", "-pix_fmt", "rgb24", "-"]);
    let out = run(c).stdout;
    assert_eq!(out.len(), wanted.len() * width * height * 3);
    out.chunks(width * height * 3).map(|p| p.chunks(3).map(|c| [c[0], c[1], c[2]]).collect()).collect()
}

/// Whether a pixel is as good as red.
pub fn red([r, g, b]: [u8; 3]) -> bool {
    r > 150 && g < 110 && b < 110
}

/// Sleeps until a session time: what is recorded then must have been shown for a while.
pub fn until(origin_ns: i64, t_ns: i64) {
    let left = origin_ns + t_ns - now_ns();
    if left > 0 {
        std::thread::sleep(Duration::from_nanos(left as u64));
    }
}

/// The recorder's socket in its runtime folder, which other files share.
pub fn socket_in(folder: &Path) -> std::path::PathBuf {
    let mut files = std::fs::read_dir(folder).unwrap().map(|f| f.unwrap().path());
    files.find(|f| f.extension().is_some_and(|e| e == "sock")).unwrap()
}

/// Sends a line to the recorder's socket and gives the answer: at once, without a program that must start first.
pub fn tell(desk: &VirtualDesktop, line: &str) -> Value {
    use std::io::{BufRead as _, BufReader, Write as _};
    let folder = &desk.env().iter().find(|(k, _)| k == "XDG_RUNTIME_DIR").unwrap().1;
    let socket = socket_in(&Path::new(folder).join("redline"));
    let s = std::os::unix::net::UnixStream::connect(socket).unwrap();
    (&s).write_all(format!("{line}\n").as_bytes()).unwrap();
    let mut answer = String::new();
    BufReader::new(&s).read_line(&mut answer).unwrap();
    serde_json::from_str(&answer).unwrap()
}

/// The frame of the first picture that was really taken at or after a session time, and the last before it: on a loaded
/// machine slots between show an older one.
pub fn taken_around(dir: &redline_schemas::SessionDir, t_ns: i64) -> (Option<i64>, Option<i64>) {
    let all: Vec<redline_schemas::VideoTime> = lines(&dir.video_times());
    let at = |t: &redline_schemas::VideoTime| t.slot;
    let before = all.iter().rev().filter(|v| v.t_ns + v.half_ns < t_ns).find_map(at);
    let after = all.iter().filter(|v| v.t_ns - v.half_ns >= t_ns).find_map(at);
    (before, after)
}

/// The mean brightness of every frame, decoded by the `ffmpeg` program.
pub fn mean_lumas(video: &Path, width: usize, height: usize) -> Vec<f64> {
    let mut c = std::process::Command::new("ffmpeg");
    c.args(["-v", "error", "-i"]).arg(video).args(["-vsync", "0", "-f", "rawvideo", "-pix_fmt", "gray", "-"]);
    run(c).stdout.chunks(width * height).map(|p| p.iter().map(|b| f64::from(*b)).sum::<f64>() / p.len() as f64).collect()
}
