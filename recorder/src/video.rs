//! The screen's way into the file: a thread that takes pictures on a grid of slots and scales them,
//! and one that encodes them.
//!
//! Pictures wait in a bounded pool. When the encoder falls behind, new pictures are dropped and
//! counted; their slots show the picture before, so nothing that follows is shifted.

use crate::grid::Slots;
use crate::marks::OpenGap;
use crate::screen::{FrameSource, Painter};
use crate::shared::Shared;
use crate::{Result, clock::monotonic_ns};
use crossbeam_channel::{Receiver, Sender, TryRecvError, bounded, unbounded};
use redline_media::{EncodeSettings, Scaler, ScreenEncoder, YuvPicture};
use redline_schemas::coords::{AreaAt, Rect};
use redline_schemas::time::FrameGrid;
use redline_schemas::{SessionDir, VideoTime, jsonl};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// Pictures that may wait for the encoder: half a second at 30 fps.
pub const QUEUE: usize = 15;

/// How long pictures may fail before the gap is marked.
const PATIENCE_NS: i64 = 500_000_000;

enum Message {
    Picture(YuvPicture, VideoTime),
    Dropped(VideoTime),
    /// The last picture stands up to and including this slot.
    Until(i64),
    /// The same, because it is paused.
    Paused(i64),
}

/// The running threads.
pub(crate) struct Video {
    capture: JoinHandle<()>,
    encode: JoinHandle<Result<()>>,
}

impl Video {
    /// Opens the encoder and starts both threads; returns once the first picture is in.
    pub(crate) fn start(
        shared: &Arc<Shared>,
        dir: &SessionDir,
        source: Box<dyn FrameSource>,
        painter: Option<Box<dyn Painter>>,
        settings: &EncodeSettings,
    ) -> Result<Self> {
        let encoder = ScreenEncoder::create(&dir.video_raw(), settings)?;
        let times = jsonl::Writer::create(&dir.video_times())?;
        let (send, receive) = unbounded();
        let (give_back, pool) = bounded(QUEUE);
        for _ in 0..QUEUE {
            let _ = give_back.send(YuvPicture::new(settings.width, settings.height));
        }
        let (first, begun) = bounded(1);
        let capture = {
            let shared = Arc::clone(shared);
            let scaler = Scaler::new(settings.width, settings.height);
            let area = source.area();
            let c = Capture { shared, source, painter, scaler, send, pool, area, fps: settings.fps, failing: None };
            spawn("screen", move || c.run(&first))?
        };
        let encode = {
            let shared = Arc::clone(shared);
            spawn("encode", move || {
                let r = encode(&shared, encoder, times, &receive, &give_back);
                // The capture thread must not wait for pictures that never come back.
                drop((receive, give_back));
                r
            })?
        };
        // A first picture comes at once or the screen can't be read; either way the thread says so.
        let _ = begun.recv_timeout(Duration::from_secs(5));
        Ok(Self { capture, encode })
    }

    /// Waits for both threads after `stop` was set.
    pub(crate) fn join(self) -> Result<()> {
        let _ = self.capture.join();
        self.encode.join().unwrap_or(Ok(()))
    }
}

pub(crate) fn spawn<T: Send + 'static>(name: &str, f: impl FnOnce() -> T + Send + 'static) -> Result<JoinHandle<T>> {
    let b = std::thread::Builder::new().name(format!("redline-{name}"));
    Ok(b.spawn(f).map_err(redline_schemas::Error::io(name, "could not start a thread"))?)
}

struct Capture {
    shared: Arc<Shared>,
    source: Box<dyn FrameSource>,
    painter: Option<Box<dyn Painter>>,
    scaler: Scaler,
    send: Sender<Message>,
    pool: Receiver<YuvPicture>,
    area: Rect,
    fps: u32,
    failing: Option<(i64, Option<OpenGap>)>,
}

impl Capture {
    fn run(mut self, first: &Sender<()>) {
        hurry();
        let mut slots: Option<Slots> = None;
        // A running guess of half the time that a picture takes, to centre it on its slot.
        let mut half_ns = 0_i64;
        while !self.shared.stopping() {
            if let Some(s) = &slots {
                sleep_until(&self.shared, s.due_ns() - half_ns);
                if self.shared.stopping() {
                    break;
                }
            }
            // The last picture stands: nothing of what is on the screen now is read.
            if self.shared.pauses.on()
                && let Some(s) = &mut slots
            {
                s.skip(self.shared.clock.now_ns());
                let _ = self.send.send(Message::Paused(s.last(self.shared.clock.now_ns())));
                continue;
            }
            match self.take(&mut slots) {
                Ok(time) => {
                    let _ = first.try_send(());
                    half_ns += (time.half_ns.min(20_000_000) - half_ns) / 8;
                }
                Err(e) => {
                    self.failed(&e);
                    match &mut slots {
                        Some(s) => s.skip(self.shared.clock.now_ns()),
                        None => std::thread::sleep(Duration::from_millis(30)),
                    }
                }
            }
        }
        let end_ns = self.shared.end_ns.load(Ordering::Acquire);
        if let Some((_, Some(gap))) = self.failing.take() {
            let _ = gap.end(&self.shared.marks, end_ns);
        }
        if let Some(s) = slots {
            let _ = self.send.send(Message::Until(s.last(end_ns)));
        }
    }

    /// Takes a picture and hands it on; its times. The first one begins the grid.
    fn take(&mut self, slots: &mut Option<Slots>) -> Result<VideoTime> {
        let mut grab = self.source.grab()?;
        let t_ns = self.shared.clock.at((grab.asked_ns + grab.got_ns) / 2);
        let half_ns = (grab.got_ns - grab.asked_ns) / 2;
        let grid = FrameGrid { first_t_ns: t_ns, fps_num: self.fps, fps_den: 1 };
        let slot = slots.get_or_insert(Slots::new(grid)).place(t_ns);
        let area = grab.canvas.area;
        let time = match self.pool.try_recv() {
            Ok(mut picture) => {
                if let Some(p) = &mut self.painter {
                    p.paint(t_ns, &mut grab.canvas);
                }
                let c = &grab.canvas;
                self.scaler.run(c.pixels, c.stride, c.width, c.height, c.order, &mut picture)?;
                let time = VideoTime { t_ns, half_ns, slot: Some(slot) };
                let _ = self.send.send(Message::Picture(picture, time));
                time
            }
            Err(TryRecvError::Empty) => {
                let time = VideoTime { t_ns, half_ns, slot: None };
                self.shared.dropped.fetch_add(1, Ordering::Relaxed);
                let _ = self.send.send(Message::Dropped(time));
                time
            }
            // The encoder is gone; it has said why.
            Err(TryRecvError::Disconnected) => VideoTime { t_ns, half_ns, slot: None },
        };
        self.shared.queued.store((QUEUE - self.pool.len().min(QUEUE)) as u64, Ordering::Relaxed);
        if area != self.area {
            self.moved(t_ns, area);
        }
        if let Some((_, gap)) = self.failing.take()
            && let Some(gap) = gap
        {
            self.shared.say("the screen can be recorded again".into());
            gap.end(&self.shared.marks, t_ns)?;
        }
        Ok(time)
    }

    fn moved(&mut self, t_ns: i64, area: Rect) {
        let resized = (area.width, area.height) != (self.area.width, self.area.height);
        self.area = area;
        self.shared.map.write().unwrap_or_else(PoisonError::into_inner).areas.push(AreaAt { t_ns, area });
        let note = if resized { "the captured area changed its size" } else { "the captured window moved" };
        if let Err(e) = self.shared.marks.area(t_ns, area, note.into()) {
            self.shared.fail(e);
        }
        if resized {
            self.shared.say(format!("{note}: now {}x{} pixels, scaled to the video's size", area.width, area.height));
        }
    }

    fn failed(&mut self, e: &crate::Error) {
        let now = self.shared.clock.now_ns();
        let (since, gap) = self.failing.get_or_insert((now, None));
        if gap.is_none() && now - *since > PATIENCE_NS {
            let since = *since;
            self.shared.say(format!("no picture of the screen: {e}; the last one is repeated until there is a new one"));
            match OpenGap::begin(&self.shared.marks, since, "video", format!("no picture: {e}")) {
                Ok(g) => self.failing = Some((since, Some(g))),
                Err(e) => self.shared.fail(e),
            }
        }
    }
}

/// Asks for a higher priority for this thread, so that a busy machine does not cost pictures: it works for a few
/// milliseconds a picture and then sleeps. Where that is not allowed, nothing changes.
fn hurry() {
    #[cfg(target_os = "linux")]
    // SAFETY: a plain system call; on Linux it means the calling thread alone.
    unsafe {
        libc::setpriority(libc::PRIO_PROCESS, 0, -10);
    }
}

/// Sleeps until session time `t_ns`, in steps, so that a stop is seen.
fn sleep_until(shared: &Shared, t_ns: i64) {
    loop {
        let left = t_ns - shared.clock.at(monotonic_ns());
        if left <= 0 || shared.stopping() {
            return;
        }
        std::thread::sleep(Duration::from_nanos(left.min(50_000_000) as u64));
    }
}

/// The encoder thread: one frame for every slot, `video_times.jsonl` beside it.
fn encode(
    shared: &Shared,
    mut encoder: ScreenEncoder,
    mut times: jsonl::Writer<VideoTime>,
    receive: &Receiver<Message>,
    give_back: &Sender<YuvPicture>,
) -> Result<()> {
    let mut last: Option<(YuvPicture, i64)> = None;
    let mut work = |m: Option<Message>, encoder: &mut ScreenEncoder| -> Result<()> {
        // Slots in which no picture came show the one before.
        let repeat = |last: &mut Option<(YuvPicture, i64)>, until: i64, encoder: &mut ScreenEncoder, why: &AtomicU64| -> Result<()> {
            let Some((picture, slot)) = last else { return Ok(()) };
            while *slot + 1 < until {
                *slot += 1;
                encoder.encode(picture, *slot)?;
                shared.frames.fetch_add(1, Ordering::Relaxed);
                why.fetch_add(1, Ordering::Relaxed);
            }
            Ok(())
        };
        match m {
            Some(Message::Picture(mut picture, time)) => {
                let slot = time.slot.unwrap_or(0);
                repeat(&mut last, slot, encoder, &shared.repeated)?;
                encoder.encode(&mut picture, slot)?;
                shared.frames.fetch_add(1, Ordering::Relaxed);
                times.write(&time)?;
                if let Some((old, _)) = last.replace((picture, slot)) {
                    let _ = give_back.send(old);
                }
            }
            Some(Message::Dropped(time)) => times.write(&time)?,
            Some(Message::Until(slot)) => repeat(&mut last, slot + 1, encoder, &shared.repeated)?,
            Some(Message::Paused(slot)) => repeat(&mut last, slot + 1, encoder, &shared.paused)?,
            None => times.flush_if_due()?,
        }
        Ok(())
    };
    let mut failed = Ok(());
    loop {
        let m = match receive.recv_timeout(POLL) {
            Ok(m) => Some(m),
            Err(crossbeam_channel::RecvTimeoutError::Timeout) => None,
            Err(crossbeam_channel::RecvTimeoutError::Disconnected) => break,
        };
        if let Err(e) = work(m, &mut encoder) {
            shared.fail(e);
            failed = Err(());
            break;
        }
    }
    // What could be written is kept even when something failed.
    let finished = encoder.finish();
    let closed = times.finish();
    if failed.is_ok() {
        finished?;
        closed?;
    }
    Ok(())
}

/// How often silent writers look whether lines wait: keeps them under 250 ms in memory.
pub(crate) const POLL: Duration = Duration::from_millis(25);
