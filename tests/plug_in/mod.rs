//! A CAD program that is the plug-ins' client module alone.
#![allow(dead_code)] // Each test file uses its part.
#![allow(clippy::unwrap_used, clippy::expect_used)] // A test that cannot go on has failed.

use super::recording::PATIENCE;
use redline_desk::VirtualDesktop;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::{Duration, Instant};

/// Sends a command every 20 ms, then its final model where one is wanted.
const PLUG_IN: &str = r#"
import os, sys, time
from redline_client import Client

client = Client("Test CAD", "1").start()
log = open(os.environ["SENT"], "w")
n = 0
while not client.closing:
    if client.active:
        n += 1
        client.event("command", kind="started" if n % 2 else "ended", command_id="Pad", name=str(n))
        log.write("%d\n" % time.monotonic_ns())
        log.flush()
    time.sleep(0.02)
if client.wants_final:
    client.file("final", "step", open(os.environ["RESULT"], "rb").read())
client.goodbye()
while client.active:
    time.sleep(0.01)
"#;

pub struct PlugIn {
    child: Child,
    sent: PathBuf,
}

impl PlugIn {
    pub fn start(desk: &VirtualDesktop, dir: &Path) -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let (script, sent) = (dir.join("plug_in.py"), dir.join("sent.txt"));
        std::fs::write(&script, PLUG_IN).unwrap();
        let mut c = desk.command("python3");
        c.arg("-B").arg(script).env("PYTHONPATH", root.join("recorder/plugins/common"));
        c.env("SENT", &sent).env("RESULT", root.join("samples/bracket.step"));
        Self { child: c.spawn().unwrap(), sent }
    }

    /// When it sent each command, on the monotonic clock.
    pub fn sent(&self) -> Vec<i64> {
        std::fs::read_to_string(&self.sent).unwrap_or_default().lines().filter_map(|l| l.parse().ok()).collect()
    }

    pub fn wait_sent(&self, n: usize) {
        let until = Instant::now() + PATIENCE;
        while self.sent().len() < n {
            assert!(Instant::now() < until, "the plug-in sends nothing");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for PlugIn {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
