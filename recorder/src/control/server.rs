//! The side that answers: reads lines from a local socket and hands them to whoever holds the recording.

use super::Command;
use super::client::socket_of;
use crate::video::spawn;
use crate::{Error, Result};
use crossbeam_channel::{Receiver, Sender, bounded, unbounded};
use redline_schemas::{Corpus, Error as SchemaError};
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// The longest line that is read, bytes: a typed text is the longest command.
const MAX_LINE: u64 = 8 << 20;
/// Connections at a time.
const MAX_CLIENTS: usize = 16;
/// How long the recording may take to answer.
const PATIENCE: Duration = Duration::from_secs(20);
/// How long a connection may be silent.
const IDLE: Duration = Duration::from_secs(600);

/// A command and where its answer goes.
pub struct Ask {
    /// What is asked.
    pub command: Command,
    answer: Option<Sender<Value>>,
}

impl Ask {
    /// A command whose answer nobody waits for.
    #[must_use]
    pub fn silent(command: Command) -> Self {
        Self { command, answer: None }
    }

    /// Answers: an object, or what was wrong.
    pub fn answer(self, result: Result<Value>) {
        let Some(to) = self.answer else {
            if let Err(e) = result {
                tracing::warn!("{}: {e}", self.command);
            }
            return;
        };
        let value = match result {
            Ok(mut v) => {
                if let Some(o) = v.as_object_mut() {
                    o.insert("ok".into(), true.into());
                    v
                } else {
                    json!({ "ok": true, "value": v })
                }
            }
            Err(e) => json!({ "ok": false, "error": e.to_string() }),
        };
        let _ = to.send(value);
    }
}

/// A listening socket; it is removed when this is dropped.
pub struct Server {
    path: PathBuf,
    closing: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Listens for commands to the recorder of `corpus`. Call it only while holding the corpus’s recording lock: a socket that
    /// is there already is that of a recorder that died.
    ///
    /// Commands come out of the receiver; others can be put in through the sender.
    pub fn start(corpus: &Corpus) -> Result<(Self, Sender<Ask>, Receiver<Ask>)> {
        let path = socket_of(corpus)?;
        let _ = std::fs::remove_file(&path);
        let open = || -> std::io::Result<UnixListener> {
            let l = UnixListener::bind(&path)?;
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600))?;
            Ok(l)
        };
        let listener = open().map_err(SchemaError::io(&path, "could not listen"))?;
        let (send, receive) = unbounded();
        let closing = Arc::new(AtomicBool::new(false));
        let thread = {
            let (closing, send) = (Arc::clone(&closing), send.clone());
            spawn("control", move || accept(&listener, &send, &closing))?
        };
        Ok((Self { path, closing, thread: Some(thread) }, send, receive))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.closing.store(true, Ordering::Release);
        // Wakes the thread that waits for a connection.
        let _ = UnixStream::connect(&self.path);
        if let Some(t) = self.thread.take() {
            let _ = t.join();
        }
        let _ = std::fs::remove_file(&self.path);
    }
}

fn accept(listener: &UnixListener, send: &Sender<Ask>, closing: &AtomicBool) {
    let clients = Arc::new(AtomicUsize::new(0));
    for stream in listener.incoming() {
        if closing.load(Ordering::Acquire) {
            return;
        }
        let Ok(stream) = stream else { continue };
        if !same_user(&stream) || clients.load(Ordering::Acquire) >= MAX_CLIENTS {
            continue;
        }
        clients.fetch_add(1, Ordering::AcqRel);
        let (send, mine) = (send.clone(), Arc::clone(&clients));
        let started = spawn("client", move || {
            let _ = serve(&stream, &send);
            mine.fetch_sub(1, Ordering::AcqRel);
        });
        if started.is_err() {
            clients.fetch_sub(1, Ordering::AcqRel);
        }
    }
}

/// Whether the other side belongs to this user.
fn same_user(s: &UnixStream) -> bool {
    let mut c = libc::ucred { pid: 0, uid: 0, gid: 0 };
    let mut len = std::mem::size_of::<libc::ucred>() as libc::socklen_t;
    // SAFETY: the call fills at most `len` bytes of `c`; `geteuid` has no preconditions.
    unsafe {
        libc::getsockopt(s.as_raw_fd(), libc::SOL_SOCKET, libc::SO_PEERCRED, (&raw mut c).cast(), &mut len) == 0 && c.uid == libc::geteuid()
    }
}

fn serve(stream: &UnixStream, send: &Sender<Ask>) -> std::io::Result<()> {
    stream.set_read_timeout(Some(IDLE))?;
    let mut input = BufReader::new(stream);
    loop {
        let mut line = Vec::new();
        if input.by_ref().take(MAX_LINE).read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        let whole = line.last() == Some(&b'\n') || (line.len() as u64) < MAX_LINE;
        let answer = if whole { hand_over(&line, send) } else { json!({ "ok": false, "error": "the line is too long" }) };
        let mut out = answer.to_string();
        out.push('\n');
        let mut to = stream;
        to.write_all(out.as_bytes())?;
        if !whole {
            return Ok(());
        }
    }
}

fn hand_over(line: &[u8], send: &Sender<Ask>) -> Value {
    let fail = |e: &Error| json!({ "ok": false, "error": e.to_string() });
    let Ok(line) = std::str::from_utf8(line) else { return fail(&Error::Options("the line is not UTF-8".into())) };
    let command = match line.parse::<Command>() {
        Ok(c) => c,
        Err(e) => return fail(&e),
    };
    let (to, from) = bounded(1);
    let late = || fail(&Error::Options("the recorder does not answer: it is ending, or its machine is overloaded".into()));
    if send.send(Ask { command, answer: Some(to) }).is_err() {
        return late();
    }
    from.recv_timeout(PATIENCE).unwrap_or_else(|_| late())
}
