//! What the tests of recording share: a corpus, a running `redline record`, injected input, decoded pictures.
#![allow(dead_code)] // Each test file uses its part.
#![allow(clippy::unwrap_used)]

use redline_desk::{Options, VirtualDesktop};
use redline_schemas::{Corpus, RequestManifest, SessionDir};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use x11rb::connection::Connection;
use x11rb::protocol::xproto::{ConnectionExt as _, KeyButMask};
use x11rb::protocol::xtest::ConnectionExt as _;
use x11rb::rust_connection::RustConnection;

/// How long anything may take on a loaded machine.
pub const PATIENCE: Duration = Duration::from_secs(60);

pub fn desk(width: u32, height: u32, sound: bool) -> VirtualDesktop {
    VirtualDesktop::start(Options { width, height, sound, ..Options::default() }).unwrap()
}

pub fn redline(desk: &VirtualDesktop) -> Command {
    desk.command(env!("CARGO_BIN_EXE_redline"))
}

pub fn run(mut c: Command) -> Output {
    let o = c.output().unwrap();
    assert!(o.status.success(), "{c:?}: {}", String::from_utf8_lossy(&o.stderr));
    o
}

/// A corpus with participant P01.
pub fn corpus(desk: &VirtualDesktop, dir: &Path) -> PathBuf {
    let root = dir.join("corpus");
    let mut c = redline(desk);
    c.arg("init").arg(&root);
    run(c);
    let mut c = redline(desk);
    c.args(["participant", "add", "P01", "--corpus"]).arg(&root);
    run(c);
    root
}

/// A running recorder.
pub struct Recorder {
    pub child: Child,
    pub id: String,
    pub corpus: PathBuf,
    folder: &'static str,
    talk: Arc<Mutex<Vec<String>>>,
}

impl Recorder {
    /// Starts `redline record` and waits until it records.
    pub fn start(desk: &VirtualDesktop, corpus: &Path, args: &[&str]) -> Self {
        let mut c = redline(desk);
        c.args(["record", "--participant", "P01", "--corpus"]).arg(corpus).args(args);
        Self::start_command(c, corpus, "requests")
    }

    /// Starts a command that records into a new folder of `folder` (`requests` or `edits`).
    pub fn start_command(mut c: Command, corpus: &Path, folder: &'static str) -> Self {
        let mut child = c.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let talk = Arc::new(Mutex::new(Vec::new()));
        listen(child.stderr.take().unwrap(), Arc::clone(&talk));
        let mut r = Self { child, id: String::new(), corpus: corpus.into(), folder, talk };
        r.id = r.wait_line("recording ").split_whitespace().nth(1).unwrap().to_owned();
        r
    }

    /// Waits for a line on standard error that begins with or contains `text`.
    pub fn wait_line(&mut self, text: &str) -> String {
        let until = Instant::now() + PATIENCE;
        loop {
            if let Some(l) = self.talk.lock().unwrap().iter().find(|l| l.contains(text)) {
                return l.clone();
            }
            let ended = self.child.try_wait().unwrap();
            assert!(ended.is_none() && Instant::now() < until, "no “{text}” from the recorder ({ended:?}): {:?}", self.said());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    pub fn said(&self) -> Vec<String> {
        self.talk.lock().unwrap().clone()
    }

    pub fn dir(&self) -> SessionDir {
        SessionDir::new(self.corpus.join(self.folder).join(&self.id))
    }

    pub fn signal(&self, signal: i32) {
        // SAFETY: a signal to our own child, which has not been waited for yet.
        assert_eq!(unsafe { libc::kill(self.child.id() as i32, signal) }, 0);
    }

    /// Ends it as Ctrl-C does; what it printed, and its exit code.
    pub fn stop(self) -> (String, Option<i32>) {
        self.signal(libc::SIGINT);
        self.wait()
    }

    /// Waits for its end.
    pub fn wait(mut self) -> (String, Option<i32>) {
        use std::io::Read;
        let mut out = String::new();
        self.child.stdout.take().unwrap().read_to_string(&mut out).unwrap();
        (out, self.child.wait().unwrap().code())
    }
}

fn listen(from: ChildStderr, to: Arc<Mutex<Vec<String>>>) {
    std::thread::spawn(move || {
        for l in BufReader::new(from).lines().map_while(Result::ok) {
            to.lock().unwrap().push(l);
        }
    });
}

pub fn manifest(corpus: &Path, id: &str) -> RequestManifest {
    Corpus::open(corpus).unwrap().request(&id.parse().unwrap()).unwrap()
}

/// CLOCK_MONOTONIC, the recorder's clock.
pub fn now_ns() -> i64 {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call fills `t`.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut t) };
    t.tv_sec * 1_000_000_000 + t.tv_nsec
}

/// Injects input and knows when.
pub struct Hand {
    conn: RustConnection,
    root: u32,
}

const KEY_PRESS: u8 = 2;
const KEY_RELEASE: u8 = 3;
const BUTTON_PRESS: u8 = 4;
const BUTTON_RELEASE: u8 = 5;
const MOTION: u8 = 6;

impl Hand {
    pub fn new(desk: &VirtualDesktop) -> Self {
        let (conn, screen) = x11rb::connect(Some(desk.display())).unwrap();
        let root = conn.setup().roots[screen].root;
        Self { conn, root }
    }

    /// The connection, and the root window.
    pub fn connection(&self) -> (&RustConnection, u32) {
        (&self.conn, self.root)
    }

    fn fake(&self, kind: u8, detail: u8, x: i16, y: i16) -> i64 {
        let at = now_ns();
        self.conn.xtest_fake_input(kind, detail, 0, self.root, x, y, 0).unwrap();
        self.conn.flush().unwrap();
        at
    }

    /// When it was sent.
    pub fn move_to(&self, x: i16, y: i16) -> i64 {
        self.fake(MOTION, 0, x, y)
    }

    /// Presses a button or lets it go; when.
    pub fn button(&self, button: u8, down: bool) -> i64 {
        self.fake(if down { BUTTON_PRESS } else { BUTTON_RELEASE }, button, 0, 0)
    }

    /// When the button went down.
    pub fn click(&self, button: u8) -> i64 {
        self.click_times(button).0
    }

    /// When the button went down, and when up.
    pub fn click_times(&self, button: u8) -> (i64, i64) {
        let down = self.fake(BUTTON_PRESS, button, 0, 0);
        std::thread::sleep(Duration::from_millis(20));
        (down, self.fake(BUTTON_RELEASE, button, 0, 0))
    }

    pub fn key(&self, keysym: u32, down: bool) {
        let code = self.keycode(keysym);
        self.fake(if down { KEY_PRESS } else { KEY_RELEASE }, code, 0, 0);
    }

    fn keycode(&self, keysym: u32) -> u8 {
        let s = self.conn.setup();
        let (min, max) = (s.min_keycode, s.max_keycode);
        let m = self.conn.get_keyboard_mapping(min, max - min + 1).unwrap().reply().unwrap();
        let per = usize::from(m.keysyms_per_keycode);
        let i = m.keysyms.chunks(per).position(|k| k.contains(&keysym)).unwrap();
        min + i as u8
    }

    /// Gives the screen another size, as a person does in the display settings.
    pub fn resize_screen(&self, width: u16, height: u16) {
        use x11rb::protocol::randr::{ConnectionExt as _, ModeInfo, Rotation};
        let c = &self.conn;
        let r = c.randr_get_screen_resources(self.root).unwrap().reply().unwrap();
        let (crtc, output) = (r.crtcs[0], r.outputs[0]);
        let name = format!("{width}x{height}-test");
        let mode = ModeInfo {
            width,
            height,
            dot_clock: 60 * u32::from(width) * u32::from(height),
            htotal: width,
            vtotal: height,
            name_len: name.len() as u16,
            ..ModeInfo::default()
        };
        let mode = c.randr_create_mode(self.root, mode, name.as_bytes()).unwrap().reply().unwrap().mode;
        c.randr_add_output_mode(output, mode).unwrap().check().unwrap();
        let set = |mode: u32, outputs: &[u32]| {
            c.randr_set_crtc_config(crtc, 0, r.config_timestamp, 0, 0, mode, Rotation::ROTATE0, outputs).unwrap().reply().unwrap();
        };
        // A screen cannot get smaller than what it shows.
        set(0, &[]);
        c.randr_set_screen_size(self.root, width, height, 200, 150).unwrap().check().unwrap();
        set(mode, &[output]);
        self.sync();
    }

    /// Where a window's content is on the screen.
    pub fn place_of(&self, window: u32) -> (i32, i32) {
        let p = self.conn.translate_coordinates(window, self.root, 0, 0).unwrap().reply().unwrap();
        (p.dst_x.into(), p.dst_y.into())
    }

    /// Divides the screen into monitors side by side, each as wide as the screen over their number.
    pub fn divide_screen(&self, names: &[&str]) {
        use x11rb::protocol::randr::{ConnectionExt as _, MonitorInfo};
        let g = self.conn.get_geometry(self.root).unwrap().reply().unwrap();
        let r = self.conn.randr_get_screen_resources(self.root).unwrap().reply().unwrap();
        let width = g.width / names.len() as u16;
        for (i, n) in names.iter().enumerate() {
            let name = self.conn.intern_atom(false, n.as_bytes()).unwrap().reply().unwrap().atom;
            let m = MonitorInfo {
                name,
                primary: i == 0,
                automatic: false,
                x: (width * i as u16) as i16,
                y: 0,
                width,
                height: g.height,
                width_in_millimeters: 100,
                height_in_millimeters: 100,
                outputs: if i == 0 { r.outputs.clone() } else { Vec::new() },
            };
            self.conn.randr_set_monitor(self.root, m).unwrap().check().unwrap();
        }
    }

    /// Sends pointer moves one after the other at a rate; how many.
    pub fn moves_at(&self, per_second: u64, seconds: f64) -> u64 {
        let begun = Instant::now();
        let n = (per_second as f64 * seconds) as u64;
        for i in 0..n {
            let due = Duration::from_nanos(i * 1_000_000_000 / per_second);
            std::thread::sleep(due.saturating_sub(begun.elapsed()));
            // No two in a row at the same place: the server reports no move then.
            self.move_to(1 + (i % 600) as i16, 1 + (i / 600 % 400) as i16);
        }
        self.sync();
        n
    }

    /// Returns when the server has taken in everything sent so far.
    pub fn sync(&self) {
        let p = self.conn.query_pointer(self.root).unwrap().reply().unwrap();
        assert!(!p.mask.contains(KeyButMask::BUTTON5));
    }
}

/// A decoded picture, luma only.
pub struct Luma {
    pub width: usize,
    pub height: usize,
    pub pixels: Vec<u8>,
}

/// Frames of a video by number, decoded by the `ffmpeg` program, not by our own code.
pub fn frames(video: &Path, width: usize, height: usize, wanted: &[i64]) -> Vec<Luma> {
    let select: Vec<String> = wanted.iter().map(|n| format!("eq(n\\,{n})")).collect();
    let mut c = Command::new("ffmpeg");
    c.args(["-v", "error", "-i"]).arg(video).args(["-vf", &format!("select={}", select.join("+"))]);
    c.args(["-vsync", "0", "-f", "rawvideo", "-pix_fmt", "gray", "-"]);
    let out = run(c).stdout;
    assert_eq!(out.len(), wanted.len() * width * height, "{} frames of {width}x{height}", wanted.len());
    out.chunks(width * height).map(|p| Luma { width, height, pixels: p.to_vec() }).collect()
}

impl Luma {
    /// Mean place of the pixels that differ from `other`, and how many they are, inside a square around a place.
    pub fn change_near(&self, other: &Self, x: f64, y: f64, reach: f64) -> (usize, f64, f64) {
        let (mut n, mut sx, mut sy) = (0_usize, 0.0, 0.0);
        for (i, (a, b)) in self.pixels.iter().zip(&other.pixels).enumerate() {
            let (px, py) = ((i % self.width) as f64, (i / self.width) as f64);
            if a.abs_diff(*b) > 40 && (px - x).abs() <= reach && (py - y).abs() <= reach {
                n += 1;
                sx += px;
                sy += py;
            }
        }
        (n, sx / n.max(1) as f64, sy / n.max(1) as f64)
    }
}

/// Mono samples of any media file at 48 kHz, decoded by the `ffmpeg` program.
pub fn samples(file: &Path) -> Vec<f32> {
    let mut c = Command::new("ffmpeg");
    c.args(["-v", "error", "-i"]).arg(file).args(["-vn", "-ac", "1", "-ar", "48000", "-f", "f32le", "-"]);
    run(c).stdout.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()
}

/// A WAV of silence with a tone in it.
pub fn tone_wav(path: &Path, hz: f64, seconds: f64) {
    let mut w = redline_media::WavWriter::create(path, 48_000).unwrap();
    let n = (seconds * 48_000.0) as usize;
    let tone: Vec<i16> = (0..n).map(|i| ((i as f64 * hz * std::f64::consts::TAU / 48_000.0).sin() * 16_000.0) as i16).collect();
    w.write(&tone).unwrap();
    w.finish().unwrap();
}

/// Strength of a frequency in a stretch of 48 kHz samples, as the amplitude of its sine (Goertzel).
pub fn amplitude(samples: &[f32], hz: f64) -> f64 {
    let w = std::f64::consts::TAU * hz / 48_000.0;
    let (mut re, mut im) = (0.0, 0.0);
    for (i, s) in samples.iter().enumerate() {
        re += f64::from(*s) * (w * i as f64).cos();
        im += f64::from(*s) * (w * i as f64).sin();
    }
    2.0 * (re * re + im * im).sqrt() / samples.len().max(1) as f64
}

/// The process at the other end of the desktop's sound socket.
pub fn sound_server(desk: &VirtualDesktop) -> i32 {
    use std::os::fd::AsRawFd as _;
    let socket = desk.env().iter().find(|(k, _)| k == "PULSE_SERVER").unwrap().1.trim_start_matches("unix:").to_owned();
    let s = std::os::unix::net::UnixStream::connect(socket).unwrap();
    let mut c = libc::ucred { pid: 0, uid: 0, gid: 0 };
    let mut len = std::mem::size_of::<libc::ucred>() as libc::socklen_t;
    // SAFETY: the call fills at most `len` bytes of `c`.
    let r = unsafe { libc::getsockopt(s.as_raw_fd(), libc::SOL_SOCKET, libc::SO_PEERCRED, (&raw mut c).cast(), &mut len) };
    assert_eq!(r, 0);
    c.pid
}
