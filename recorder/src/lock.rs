//! One recorder at a time: in a corpus, in a session's folder, and on a screen.
//!
//! The system gives a lock back when its holder dies, so a stale lock is never in the way. The
//! session's lock also tells how far the recording had come.

use crate::runtime_dir::runtime_dir;
use crate::{Error, Result};
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// What a lock file holds.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockInfo {
    /// The holder's process.
    pub pid: u32,
    /// Session time at which the holder was last alive.
    #[serde(default)]
    pub alive_ns: i64,
    /// Frames per second of the video.
    #[serde(default)]
    pub fps: Option<u32>,
    /// The microphone's name.
    #[serde(default)]
    pub microphone: Option<String>,
}

/// A held lock. The file stays when it is let go, so that what it says outlives a failure; see [`Lock::remove`].
#[derive(Debug)]
pub struct Lock {
    path: PathBuf,
    file: File,
    remove: bool,
}

impl Lock {
    /// Takes the lock, or says who holds it.
    pub fn take(path: &Path) -> Result<Self> {
        // Bounded: each round means that another holder let go between two calls.
        for _ in 0..100 {
            let file = OpenOptions::new()
                .read(true)
                .write(true)
                .create(true)
                .truncate(false)
                .open(path)
                .map_err(redline_schemas::Error::io(path, "could not create the lock"))?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    let pid = read(path).map_or(0, |i| i.pid);
                    return Err(Error::Busy { path: path.into(), pid });
                }
                Err(TryLockError::Error(e)) => return Err(redline_schemas::Error::io(path, "could not lock")(e).into()),
            }
            // The holder before may have removed the file after we opened it.
            let same = match (file.metadata(), std::fs::metadata(path)) {
                (Ok(a), Ok(b)) => a.ino() == b.ino() && a.dev() == b.dev(),
                _ => false,
            };
            if same {
                return Ok(Self { path: path.into(), file, remove: false });
            }
        }
        Err(Error::Busy { path: path.into(), pid: 0 })
    }

    /// Writes who holds it and how far it is.
    pub fn write(&mut self, info: &LockInfo) -> Result<()> {
        // Padded to one length, so that a reader never sees the rest of an older line.
        let text = format!("{:<PADDED$}\n", serde_json::to_string(info).unwrap_or_default());
        let write = |f: &mut File| f.seek(SeekFrom::Start(0)).and_then(|_| f.write_all(text.as_bytes()));
        Ok(write(&mut self.file).map_err(redline_schemas::Error::io(&self.path, "could not write"))?)
    }

    /// Removes the file when the lock is let go.
    #[must_use]
    pub fn remove(mut self) -> Self {
        self.remove = true;
        self
    }
}

/// Takes the lock of this desktop's screen: two recorders would each record the other's keys and strokes.
pub fn screen() -> Result<Lock> {
    let screen = std::env::var("DISPLAY").unwrap_or_default();
    let name: String = desktop_of(&screen).chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    match Lock::take(&runtime_dir()?.join(format!("screen-{name}.lock"))) {
        Ok(lock) => Ok(lock.remove()),
        Err(Error::Busy { pid, .. }) => Err(Error::ScreenBusy { screen, pid }),
        Err(e) => Err(e),
    }
}

/// The desktop that a display's name means: `:1` and `:1.0` are one.
fn desktop_of(display: &str) -> &str {
    match display.rsplit_once('.') {
        Some((desktop, number)) if desktop.contains(':') && number.bytes().all(|b| b.is_ascii_digit()) => desktop,
        _ => display,
    }
}

/// Characters that a lock's line is padded to.
const PADDED: usize = 400;

impl Drop for Lock {
    fn drop(&mut self) {
        if self.remove {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// Whether somebody holds the lock now; does not make the file.
#[must_use]
pub fn held(path: &Path) -> bool {
    File::open(path).is_ok_and(|f| matches!(f.try_lock(), Err(TryLockError::WouldBlock)))
}

/// What a lock file says, whoever holds it.
#[must_use]
pub fn read(path: &Path) -> Option<LockInfo> {
    let mut text = String::new();
    File::open(path).ok()?.take(4096).read_to_string(&mut text).ok()?;
    serde_json::from_str(text.trim()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_is_refused_and_told_who_holds_it() {
        let dir = tempfile::tempdir().unwrap();
        let p = dir.path().join("l");
        let mut first = Lock::take(&p).unwrap();
        let info = LockInfo { pid: 17, alive_ns: 12_345, fps: Some(30), microphone: Some("mic".into()) };
        first.write(&info).unwrap();
        first.write(&LockInfo { alive_ns: 5, ..info.clone() }).unwrap();
        assert!(matches!(Lock::take(&p), Err(Error::Busy { pid: 17, .. })));
        assert!(held(&p) && !held(&dir.path().join("other")));
        assert_eq!(read(&p).unwrap(), LockInfo { alive_ns: 5, ..info });
        drop(first.remove());
        assert!(!p.exists());
        Lock::take(&p).unwrap();
        assert!(p.exists(), "kept unless asked otherwise");
    }

    #[test]
    fn a_screens_number_makes_no_other_desktop() {
        for (display, desktop) in [(":1", ":1"), (":1.0", ":1"), ("host.net:0", "host.net:0"), ("host.net:0.1", "host.net:0"), ("", "")] {
            assert_eq!(desktop_of(display), desktop);
        }
    }

    #[test]
    fn the_lock_of_a_dead_recorder_is_taken_over() {
        let dir = tempfile::tempdir().unwrap();
        let p = dir.path().join("l");
        std::fs::write(&p, "{\"pid\":1,\"alive_ns\":77}\n").unwrap();
        assert_eq!(read(&p).unwrap().alive_ns, 77);
        Lock::take(&p).unwrap();
        assert_eq!(read(&p).unwrap().alive_ns, 77, "taking it leaves what it says");
    }
}
