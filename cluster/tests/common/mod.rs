//! What the tests of the cluster share: a corpus of spoken requests, a scheduler and workers on loopback.

#![allow(clippy::unwrap_used, clippy::expect_used, dead_code)]

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

#[path = "../../../tests/common/s3_server.rs"]
pub mod s3;

pub const SENTENCES: [&str; 8] = [
    "Fillet this edge by two millimeters.",
    "Move the hole to the left by ten millimeters.",
    "Make the bracket thicker and round the corners.",
    "Delete the small rib on the back side.",
    "Chamfer the outer edge and mirror the plate.",
    "Drill four holes into the corners of the flange.",
    "Extrude the sketch by fifteen millimeters.",
    "Shell the part with a wall of two millimeters.",
];

pub fn redline() -> PathBuf {
    std::env::var_os("REDLINE_BIN").map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/debug/redline"), PathBuf::from)
}

pub fn run(c: &mut Command) -> Vec<u8> {
    let out = c.output().unwrap();
    assert!(out.status.success(), "{c:?}: {}", String::from_utf8_lossy(&out.stderr));
    out.stdout
}

/// A corpus in which each sentence is spoken in a request of its own; one more has a broken sound.
pub fn corpus(root: &Path, dir: &Path) {
    let consent = dir.join("consent.txt");
    std::fs::write(&consent, "What I record may be published.").unwrap();
    run(Command::new(redline()).arg("init").arg(root).args(["--language", "en", "--consent"]).arg(&consent));
    for p in ["P01", "P02"] {
        run(Command::new(redline()).args(["participant", "add", p, "--consented", "--corpus"]).arg(root));
    }
    for (i, s) in SENTENCES.iter().enumerate() {
        let (wav, mp4) = (dir.join(format!("{i}.wav")), dir.join(format!("{i}.mp4")));
        run(Command::new("espeak-ng").args(["-v", "en-us", "-s", "140", "-w"]).arg(&wav).arg(s));
        let mut c = Command::new("ffmpeg");
        c.args(["-v", "error", "-y", "-f", "lavfi", "-i", "color=gray:s=320x180:r=30", "-i"]).arg(&wav);
        run(c.args(["-shortest", "-pix_fmt", "yuv420p"]).arg(&mp4));
        let mut c = Command::new(redline());
        c.args([
            "import",
            "video",
            "--participant",
            ["P01", "P02"][i % 2],
            "--modality",
            "interactive",
            "--difficulty",
            "easy",
            "--corpus",
        ]);
        run(c.arg(root).arg(&mp4));
    }
}

pub fn copy(from: &Path, to: &Path) {
    run(Command::new("cp").arg("-a").arg(from).arg(to));
}

pub fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// Two free ports, one after the other.
pub fn free_pair() -> u16 {
    loop {
        let p = free_port();
        if p < u16::MAX && TcpListener::bind(("127.0.0.1", p + 1)).is_ok() {
            return p;
        }
    }
}

pub struct Running(pub Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The program, with a server's settings where there is one.
pub fn cluster(server: Option<u16>) -> Command {
    let mut c = Command::new(env!("CARGO_BIN_EXE_redline-cluster"));
    if let Some(port) = server {
        s3::settings(&mut c, port);
    }
    c
}

pub fn start(args: &[String], server: Option<u16>, log: &Path) -> Running {
    let log = std::fs::File::create(log).unwrap();
    let mut c = cluster(server);
    // Transcripts made by workers carry the time that those made here do.
    c.env("SOURCE_DATE_EPOCH", "1770000000");
    c.args(args).env("REDLINE_BIN", redline()).env("RUST_LOG", "info").stdout(log.try_clone().unwrap()).stderr(log).stdin(Stdio::null());
    Running(c.spawn().unwrap())
}

pub fn wait_for(what: &str, mut is: impl FnMut() -> bool) {
    let until = Instant::now() + Duration::from_secs(120);
    while !is() {
        assert!(Instant::now() < until, "{what} did not come");
        std::thread::sleep(Duration::from_millis(50));
    }
}

pub fn listens(port: u16) -> bool {
    std::net::TcpStream::connect(("127.0.0.1", port)).is_ok()
}

/// The transcripts of a corpus, whole but for when they were made.
pub fn transcripts(root: &Path) -> BTreeMap<String, serde_json::Value> {
    let requests = std::fs::read_dir(root.join("requests")).unwrap().map(|e| e.unwrap().path());
    requests
        .filter_map(|r| {
            let mut t: serde_json::Value = serde_json::from_slice(&std::fs::read(r.join("transcript.automatic.json")).ok()?).unwrap();
            t.as_object_mut().unwrap().remove("created_utc").unwrap();
            Some((r.file_name()?.to_str()?.to_owned(), t))
        })
        .collect()
}

/// A scheduler and two workers; the address of the scheduler.
pub fn scheduler_and_workers(dir: &Path, server: Option<u16>) -> (String, Running, Vec<Running>) {
    let port = free_port();
    let at = format!("127.0.0.1:{port}");
    let args = ["scheduler", "--listen", &at, "--worker-timeout", "6"].map(String::from);
    let scheduler = start(&args, server, &dir.join("scheduler.log"));
    wait_for("the scheduler", || listens(port));
    let workers = (0..2).map(|i| worker(dir, &at, server, i)).collect();
    (at, scheduler, workers)
}

/// One more worker.
pub fn worker(dir: &Path, at: &str, server: Option<u16>, i: usize) -> Running {
    let listen = free_pair();
    let args = ["worker", "--scheduler", at, "--listen", &format!("127.0.0.1:{listen}")].map(String::from);
    let w = start(&args, server, &dir.join(format!("worker-{i}.log")));
    wait_for("a worker", || listens(listen));
    w
}

/// The Whisper model of the tests.
pub fn model() -> String {
    let cache = std::env::var_os("REDLINE_CACHE")
        .map_or_else(|| PathBuf::from(std::env::var_os("HOME").unwrap()).join(".cache/redline"), PathBuf::from);
    cache.join("models/ggml-tiny.en-q8_0.bin").display().to_string()
}
