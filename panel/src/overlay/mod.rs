//! Drawing over the screen: transparent, above all windows, and out of the mouse's way unless it is switched on.

pub mod ink;
pub mod raster;
mod window;

pub use window::TITLE;

use ink::{Dirty, Ink, Lasting, Note};
use redline_recorder::control::{Pen, Tool, colour_name};
use redline_recorder::live::{Drawing, DrawingState};
use redline_recorder::sinks::{StrokeDetail, StrokeSink};
use redline_recorder::{Error, monotonic_ns};
use redline_schemas::StrokeKind;
use redline_schemas::coords::Rect;
use std::io::{Read as _, Write as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use window::Windows;
use x11rb::connection::Connection as _;
use x11rb::protocol::Event;

/// How long a temporary stroke stays after it is finished, unless told otherwise.
pub const DEFAULT_LIFE: Duration = Duration::from_secs(4);

/// The least time between two raisings: two programs that both want to be on top must not fight.
const RAISE_EVERY: Duration = Duration::from_millis(250);

type Job = Box<dyn FnOnce(&mut Artist) + Send>;

/// The overlay of a recording. Its windows go when it is dropped.
pub struct Overlay {
    jobs: Option<crossbeam_channel::Sender<Job>>,
    wake: UnixStream,
    state: Arc<Mutex<DrawingState>>,
    thread: Option<JoinHandle<()>>,
}

/// Says where on the screen is recorded now; the mouse draws there.
pub type AreaOf = Box<dyn Fn() -> Option<Rect> + Send>;

fn no_overlay(reason: impl std::fmt::Display) -> Error {
    Error::Device {
        what: "no drawing over the screen".into(),
        reason: reason.to_string(),
        hint: "drawing needs an X11 display with the SHAPE extension; record in another modality without it",
    }
}

impl Overlay {
    /// Opens the overlay on the display that `DISPLAY` names; drawing is off.
    pub fn open(lasting: Lasting, sink: StrokeSink, area: AreaOf) -> redline_recorder::Result<Self> {
        let (conn, screen) = x11rb::connect(None).map_err(no_overlay)?;
        let windows = Windows::open(conn, screen).map_err(no_overlay)?;
        let (wake, woken) = UnixStream::pair().map_err(no_overlay)?;
        for s in [&wake, &woken] {
            s.set_nonblocking(true).map_err(no_overlay)?;
        }
        let (jobs, todo) = crossbeam_channel::unbounded();
        let ink = Ink::new(lasting);
        let state = Arc::new(Mutex::new(state_of(&ink, false)));
        let mut artist = Artist {
            windows,
            ink,
            sink,
            area,
            on: false,
            held: false,
            caught: None,
            ring: None,
            raised: Instant::now(),
            state: Arc::clone(&state),
        };
        let thread = std::thread::Builder::new()
            .name("redline-overlay".into())
            .spawn(move || {
                if let Err(e) = artist.run(&todo, &woken) {
                    tracing::warn!("drawing ended: {e}");
                }
                artist.leave();
            })
            .map_err(no_overlay)?;
        Ok(Self { jobs: Some(jobs), wake, state, thread: Some(thread) })
    }

    /// Runs a job on the overlay's thread and waits until its effect is on the screen.
    fn run(&self, job: impl FnOnce(&mut Artist) + Send + 'static) -> bool {
        let (done, wait) = crossbeam_channel::bounded(1);
        let job: Job = Box::new(move |a| {
            job(a);
            let _ = a.settle();
            let _ = done.send(());
        });
        let sent = self.jobs.as_ref().is_some_and(|j| j.send(job).is_ok());
        let _ = (&self.wake).write(&[1]);
        sent && wait.recv_timeout(Duration::from_secs(5)).is_ok()
    }
}

impl Drawing for Overlay {
    fn switch(&mut self, on: bool) -> redline_recorder::Result<()> {
        if self.run(move |a| a.on = on) { Ok(()) } else { Err(no_overlay("the connection to the display is lost")) }
    }

    fn pen(&mut self, p: &Pen) {
        let p = p.clone();
        self.run(move |a| a.ink.set(&p));
    }

    fn undo(&mut self) {
        self.run(|a| a.ink.undo());
    }

    fn clear(&mut self) {
        self.run(|a| a.ink.clear());
    }

    fn clear_since(&mut self, monotonic_ns: i64) {
        self.run(move |a| a.ink.clear_since(monotonic_ns));
    }

    fn state(&self) -> DrawingState {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Overlay {
    fn drop(&mut self) {
        self.jobs = None;
        let _ = (&self.wake).write(&[1]);
        if let Some(t) = self.thread.take() {
            let _ = t.join();
        }
    }
}

fn state_of(ink: &Ink, on: bool) -> DrawingState {
    DrawingState { on, tool: ink.tool, colour: ink.rgb, width: ink.width, cycle: ink.cycle, strokes: ink.strokes().len() }
}

/// What the overlay's thread holds.
struct Artist {
    windows: Windows,
    ink: Ink,
    sink: StrokeSink,
    area: AreaOf,
    on: bool,
    /// Whether the left button is down.
    held: bool,
    caught: Option<Dirty>,
    ring: Option<([u8; 3], f32)>,
    raised: Instant,
    state: Arc<Mutex<DrawingState>>,
}

type Outcome<T = ()> = Result<T, x11rb::errors::ReplyOrIdError>;

impl Artist {
    fn run(&mut self, todo: &crossbeam_channel::Receiver<Job>, woken: &UnixStream) -> Outcome {
        loop {
            while let Some(e) = self.windows.conn().poll_for_event()? {
                self.take(&e)?;
            }
            loop {
                match todo.try_recv() {
                    Ok(job) => job(self),
                    Err(crossbeam_channel::TryRecvError::Empty) => break,
                    Err(crossbeam_channel::TryRecvError::Disconnected) => return Ok(()),
                }
            }
            let wait_ns = self.settle()?;
            self.sleep(woken, wait_ns);
        }
    }

    /// Waits for an event, a job, or until ink must change.
    fn sleep(&self, woken: &UnixStream, wait_ns: Option<i64>) {
        // The captured window may have moved: looked at a few times a second.
        let ms = wait_ns.map_or(200, |w| (w / 1_000_000 + 1).clamp(1, 200)) as i32;
        let entry = |fd: i32| libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
        let mut fds = [entry(self.windows.conn().stream().as_raw_fd()), entry(woken.as_raw_fd())];
        // SAFETY: both descriptors are open for as long as `self` and `woken` live, and `fds` has two entries.
        unsafe { libc::poll(fds.as_mut_ptr(), 2, ms) };
        let mut bytes = [0; 64];
        while matches!((&*woken).read(&mut bytes), Ok(n) if n > 0) {}
    }

    fn take(&mut self, e: &Event) -> Outcome {
        let at_ns = monotonic_ns();
        match e {
            Event::ButtonPress(b) if b.detail == 1 && self.on && self.sink.open() => {
                self.held = true;
                self.ink.press(at_ns, b.root_x.into(), b.root_y.into());
            }
            Event::ButtonPress(b) if b.detail == 4 || b.detail == 5 => {
                let step = if b.detail == 4 { 1.0 } else { -1.0 };
                self.ink.set(&Pen::Width(self.ink.width + step));
            }
            Event::MotionNotify(m) if self.held => self.ink.drag(m.root_x.into(), m.root_y.into()),
            Event::ButtonRelease(b) if b.detail == 1 && self.held => {
                self.held = false;
                self.ink.release(at_ns, b.root_x.into(), b.root_y.into());
            }
            // Uncovered again: without a compositor nobody kept what was there.
            Event::Expose(x) => {
                let (x0, y0) = (i32::from(x.x), i32::from(x.y));
                self.draw(Dirty { x0, y0, x1: x0 + i32::from(x.width), y1: y0 + i32::from(x.height) }, at_ns, false)?;
            }
            Event::VisibilityNotify(v)
                if v.state != x11rb::protocol::xproto::Visibility::UNOBSCURED
                    && self.raised.elapsed() > RAISE_EVERY
                    && (self.on || !self.ink.strokes().is_empty()) =>
            {
                self.raised = Instant::now();
                self.windows.raise()?;
            }
            _ => {}
        }
        self.note(at_ns);
        Ok(())
    }

    /// Writes down what happened to strokes.
    fn note(&mut self, at_ns: i64) {
        for n in self.ink.take_notes() {
            let none = StrokeDetail::default();
            match n {
                Note::Begin { id, x, y, tool, rgb, width } => {
                    let d =
                        StrokeDetail { tool: Some(tool.as_str()), colour: Some(colour_name(rgb)), width: Some(width.into()), reason: None };
                    self.sink.write(at_ns, StrokeKind::Begin, id, Some((x.into(), y.into())), d);
                }
                Note::Point { id, x, y } => self.sink.write(at_ns, StrokeKind::Point, id, Some((x.into(), y.into())), none),
                Note::End { id, x, y } => self.sink.write(at_ns, StrokeKind::End, id, Some((x.into(), y.into())), none),
                Note::Vanish { id, reason } => {
                    self.sink.write(at_ns, StrokeKind::Vanish, id, None, StrokeDetail { reason: Some(reason), ..none });
                }
            }
        }
    }

    /// Brings the screen up to date; when ink changes next by itself, nanoseconds from now.
    fn settle(&mut self) -> Outcome<Option<i64>> {
        let now = monotonic_ns();
        if !self.on && self.held {
            // Switched off in the middle of a stroke: it ends where it is.
            self.held = false;
            let at = self.ink.strokes().last().and_then(|s| s.points.last().copied()).unwrap_or_default();
            self.ink.release(now, at.0, at.1);
        }
        let wait = self.ink.tick(now);
        self.note(now);
        let wanted = if self.on {
            (self.area)().map(|a| Dirty {
                x0: a.x,
                y0: a.y,
                x1: a.x.saturating_add_unsigned(a.width),
                y1: a.y.saturating_add_unsigned(a.height),
            })
        } else {
            None
        };
        if wanted.is_some() && self.caught.is_none() && self.windows.renew()? {
            self.draw(Dirty { x0: 0, y0: 0, x1: self.windows.width, y1: self.windows.height }, now, true)?;
        }
        let ring = (self.ink.rgb, if self.ink.tool == Tool::Eraser { self.ink.width.max(6.0) * 2.0 } else { self.ink.width });
        if wanted.is_some() && self.ring != Some(ring) {
            self.windows.ring(ring.0, ring.1)?;
            self.ring = Some(ring);
        }
        if wanted != self.caught {
            if wanted.is_some() {
                self.windows.raise()?;
            }
            self.windows.catch(wanted)?;
            self.caught = wanted;
        }
        if let Some(d) = self.ink.take_dirty() {
            self.draw(d, now, true)?;
        }
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) = state_of(&self.ink, self.on);
        Ok(wait)
    }

    fn draw(&self, d: Dirty, now: i64, reshape: bool) -> Outcome {
        let Some(d) = d.clip(self.windows.width, self.windows.height) else { return Ok(()) };
        let Some(p) = raster::draw(&self.ink, d, now, self.windows.fading) else { return Ok(()) };
        self.windows.put(d, &p, reshape)
    }

    /// At the end every stroke leaves the screen.
    fn leave(&mut self) {
        let now = monotonic_ns();
        if self.held {
            let at = self.ink.strokes().last().and_then(|s| s.points.last().copied()).unwrap_or_default();
            self.ink.release(now, at.0, at.1);
        }
        self.note(now);
    }
}
