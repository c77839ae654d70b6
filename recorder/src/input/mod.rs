//! Mouse, wheel and keys of the whole desktop.
//!
//! A platform's listener cannot always be stopped and there is one a process, so it runs from its first use to
//! the process's end and hands events to the session that is being recorded, if there is one.

#[cfg(not(target_os = "linux"))]
#[path = "rdev.rs"]
mod platform;
#[cfg(target_os = "linux")]
#[path = "x11.rs"]
mod platform;

use crate::clock::monotonic_ns;
use crate::keys::{Chord, KeyNamer, KeyPolicy};
use crate::screen::no_screen;
use crate::shared::{Shared, StopReason};
use crate::video::{POLL, spawn};
use crate::{Error, Result};
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, unbounded};
use rdev::{Button, EventType};
use redline_schemas::{InputEvent, InputKind, SessionDir, jsonl};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// An event as the platform tells it.
struct Raw {
    /// When it happened, as well as the platform knows, on the monotonic clock.
    at_ns: i64,
    event: EventType,
}

static SINK: Mutex<Option<Sender<Raw>>> = Mutex::new(None);
static FAILED: OnceLock<String> = OnceLock::new();
static LISTENER: OnceLock<()> = OnceLock::new();

fn listen() {
    LISTENER.get_or_init(|| {
        let started = spawn("input", || {
            let why = platform::listen(|raw| {
                crate::hotkeys::see(&raw.event);
                if let Some(s) = SINK.lock().unwrap_or_else(PoisonError::into_inner).as_ref() {
                    let _ = s.send(raw);
                }
            });
            let _ = FAILED.set(why);
        });
        if let Err(e) = started {
            let _ = FAILED.set(e.to_string());
        }
    });
}

/// Starts the listener and gives it the time to say that it cannot.
pub(crate) fn prepare() -> Result<()> {
    // The listener ends the process when there is no display; asking first gives an error instead.
    crate::screen::monitors()?;
    listen();
    let until = Instant::now() + Duration::from_millis(150);
    while Instant::now() < until {
        if let Some(why) = FAILED.get() {
            return Err(Error::Device {
                what: "mouse and keys cannot be recorded".into(),
                reason: why.clone(),
                hint: "the X11 server needs the RECORD extension; on macOS allow input monitoring",
            });
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok(())
}

/// Where the pointer is now, screen pixels.
fn pointer() -> Result<(f64, f64)> {
    use x11rb::connection::Connection;
    use x11rb::protocol::xproto::ConnectionExt as _;
    let (conn, screen) = crate::screen::connect()?;
    let root = conn.setup().roots.get(screen).ok_or_else(|| no_screen("the display has no screen"))?.root;
    let p = conn.query_pointer(root).map_err(no_screen)?.reply().map_err(no_screen)?;
    Ok((p.root_x.into(), p.root_y.into()))
}

/// The running thread.
pub(crate) struct Input {
    thread: JoinHandle<Result<()>>,
}

impl Input {
    pub(crate) fn start(shared: &Arc<Shared>, dir: &SessionDir, keys: KeyPolicy, stop_chord: Option<Chord>) -> Result<Self> {
        let writer = jsonl::Writer::create(&dir.input())?;
        let (send, receive) = unbounded();
        let at = pointer().ok();
        *SINK.lock().unwrap_or_else(PoisonError::into_inner) = Some(send);
        let shared = Arc::clone(shared);
        let thread = spawn("events", move || {
            let mut w = Writer { shared: &shared, writer, namer: KeyNamer::new(keys), stop_chord, at };
            let r = w.run(&receive);
            w.writer.finish()?;
            r
        })?;
        Ok(Self { thread })
    }

    /// Waits for the thread after `stop` was set.
    pub(crate) fn join(self) -> Result<()> {
        // Events that the server sent before the end are still on their way for a moment.
        std::thread::sleep(Duration::from_millis(20));
        *SINK.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.thread.join().unwrap_or(Ok(()))
    }
}

struct Writer<'a> {
    shared: &'a Shared,
    writer: jsonl::Writer<InputEvent>,
    namer: KeyNamer,
    stop_chord: Option<Chord>,
    at: Option<(f64, f64)>,
}

impl Writer<'_> {
    fn run(&mut self, receive: &Receiver<Raw>) -> Result<()> {
        // Where the pointer rests before it moves for the first time is what the first words point at.
        if let Some((x, y)) = self.at {
            let raw = Raw { at_ns: monotonic_ns(), event: EventType::MouseMove { x, y } };
            if let Err(e) = self.take(&raw) {
                self.shared.fail(e);
                return Ok(());
            }
        }
        loop {
            let r = match receive.recv_timeout(POLL) {
                Ok(raw) => self.take(&raw),
                Err(RecvTimeoutError::Timeout) => self.writer.flush_if_due().map_err(Error::from),
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            };
            if let Err(e) = r {
                self.shared.fail(e);
                return Ok(());
            }
        }
    }

    fn take(&mut self, raw: &Raw) -> Result<()> {
        let t_ns = self.shared.clock.at(raw.at_ns);
        let Some(mut e) = self.event(t_ns, raw.event) else { return Ok(()) };
        // The session's window is kept by time: the listener runs before and after it.
        if t_ns < 0 || self.shared.pauses.touch(t_ns, t_ns) || t_ns > self.shared.end_ns.load(Ordering::Acquire) {
            return Ok(());
        }
        if let (Some(x), Some(y)) = (e.x, e.y) {
            let map = self.shared.map.read().unwrap_or_else(PoisonError::into_inner);
            if let Some((vx, vy)) = map.to_video(t_ns, x, y) {
                // A hundredth of a pixel: finer digits carry nothing.
                (e.vx, e.vy) = (Some((vx * 100.0).round() / 100.0), Some((vy * 100.0).round() / 100.0));
            }
        }
        self.shared.events.fetch_add(1, Ordering::Relaxed);
        Ok(self.writer.write(&e)?)
    }

    fn event(&mut self, t_ns: i64, raw: EventType) -> Option<InputEvent> {
        let pointed = |kind, at: Option<(f64, f64)>| {
            let mut e = InputEvent::new(t_ns, kind);
            (e.x, e.y) = (at.map(|p| p.0), at.map(|p| p.1));
            e
        };
        Some(match raw {
            EventType::MouseMove { x, y } => {
                self.at = Some((x, y));
                pointed(InputKind::Move, self.at)
            }
            EventType::ButtonPress(b) => InputEvent { button: Some(button(b)), ..pointed(InputKind::Press, self.at) },
            EventType::ButtonRelease(b) => InputEvent { button: Some(button(b)), ..pointed(InputKind::Release, self.at) },
            EventType::Wheel { delta_x, delta_y } => {
                InputEvent { dx: Some(delta_x as f64), dy: Some(delta_y as f64), ..pointed(InputKind::Wheel, self.at) }
            }
            EventType::KeyPress(k) => {
                let key = self.namer.press(k);
                if self.stop_chord.is_some_and(|c| self.namer.completes(&c, k)) {
                    self.shared.want_stop(StopReason::Keys, None);
                }
                InputEvent { key: Some(key?), ..InputEvent::new(t_ns, InputKind::KeyPress) }
            }
            EventType::KeyRelease(k) => InputEvent { key: Some(self.namer.release(k)?), ..InputEvent::new(t_ns, InputKind::KeyRelease) },
        })
    }
}

fn button(b: Button) -> String {
    match b {
        Button::Left => "left".into(),
        Button::Middle => "middle".into(),
        Button::Right => "right".into(),
        Button::Unknown(n) => n.to_string(),
    }
}
