//! Where the socket is, and the side that asks.

use super::Command;
use crate::runtime_dir::runtime_dir;
use crate::{Error, Result};
use redline_schemas::{Corpus, Error as SchemaError, fsio};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
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
    Ok(runtime_dir()?.join(format!("record-{}.sock", &name[..16])))
}

/// Asks the recorder that works in `corpus`; its answer. An answer that it could not do it is an error.
pub fn ask(corpus: &Corpus, command: &Command) -> Result<serde_json::Value> {
    let path = socket_of(corpus)?;
    let nobody = |e: std::io::Error| Error::Device {
        what: format!("no recorder is at work in {}", corpus.root().display()),
        reason: e.to_string(),
        hint: "start one with `redline record`, `redline run start` or `redline panel`, or name its corpus with --corpus",
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
