//! Where the socket is, and the side that asks.

use super::Command;
use crate::{Error, Result};
use redline_schemas::{Corpus, Error as SchemaError, fsio};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

/// The longest answer that is read, bytes.
const MAX_ANSWER: u64 = 16 << 20;
/// How long an answer may take: a stop makes the finished files after it has answered.
const PATIENCE: Duration = Duration::from_secs(30);

/// The socket of the recorder that works in `corpus`. Its folder is made, for this user only.
///
/// It lies in the system's folder for running programs: a corpus may be on a disk that has no sockets, and its path may
/// be longer than a socket's may.
pub fn socket_of(corpus: &Corpus) -> Result<PathBuf> {
    let root = std::fs::canonicalize(corpus.root()).map_err(SchemaError::io(corpus.root(), "could not look at"))?;
    let name = fsio::sha256_bytes(root.as_os_str().as_encoded_bytes());
    Ok(folder()?.join(format!("record-{}.sock", &name[..16])))
}

fn folder() -> Result<PathBuf> {
    // SAFETY: the call has no preconditions and cannot fail.
    let me = unsafe { libc::geteuid() };
    let dir = match std::env::var_os("XDG_RUNTIME_DIR").filter(|d| !d.is_empty()) {
        Some(d) => PathBuf::from(d).join("redline"),
        None => std::env::temp_dir().join(format!("redline-{me}")),
    };
    match std::fs::DirBuilder::new().mode(0o700).create(&dir) {
        Err(e) if e.kind() != std::io::ErrorKind::AlreadyExists => {
            return Err(SchemaError::io(&dir, "could not create the folder")(e).into());
        }
        _ => {}
    }
    // In a folder that others may write to, somebody else’s folder could lie in wait under this name.
    let look = || std::fs::symlink_metadata(&dir).map_err(SchemaError::io(&dir, "could not look at"));
    let mut m = look()?;
    // Our own one, into which others could look but not write: older versions made it so.
    if m.is_dir() && m.uid() == me && m.mode() & 0o022 == 0 && m.mode() & 0o077 != 0 {
        std::fs::set_permissions(&dir, std::fs::Permissions::from_mode(0o700))
            .map_err(SchemaError::io(&dir, "could not close to others"))?;
        m = look()?;
    }
    if !m.is_dir() || m.uid() != me || m.mode() & 0o077 != 0 {
        return Err(Error::Options(format!(
            "{}: must be a folder of this user that nobody else may enter: remove it, or set XDG_RUNTIME_DIR",
            dir.display()
        )));
    }
    Ok(dir)
}

/// Asks the recorder that works in `corpus`; its answer. An answer that it could not do it is an error.
pub fn ask(corpus: &Corpus, command: &Command) -> Result<serde_json::Value> {
    let path = socket_of(corpus)?;
    let nobody = |e: std::io::Error| Error::Device {
        what: format!("no recorder is at work in {}", corpus.root().display()),
        reason: e.to_string(),
        hint: "start one with `redline record` or `redline panel`, or name its corpus with --corpus",
    };
    let broken = SchemaError::io(&path, "could not talk to the recorder");
    let stream = UnixStream::connect(&path).map_err(nobody)?;
    let talk = || -> std::io::Result<String> {
        stream.set_read_timeout(Some(PATIENCE))?;
        (&stream).write_all(format!("{command}\n").as_bytes())?;
        let mut line = String::new();
        BufReader::new((&stream).take(MAX_ANSWER)).read_line(&mut line)?;
        Ok(line)
    };
    let line = talk().map_err(broken)?;
    let answer: serde_json::Value = serde_json::from_str(&line).map_err(|e| SchemaError::Parse {
        path,
        line: None,
        message: format!("no answer of a recorder: {e}"),
    })?;
    if answer["ok"] == true {
        return Ok(answer);
    }
    Err(Error::Options(answer["error"].as_str().unwrap_or("the recorder could not do it").to_owned()))
}
