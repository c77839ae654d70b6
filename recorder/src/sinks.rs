//! Streams that the person makes: strokes and typed text, stamped and written as they come.

use crate::shared::Shared;
use crate::typing::TypedText;
use crate::{Result, monotonic_ns};
use redline_schemas::{SessionDir, StrokeEvent, StrokeKind, TextEvent, jsonl};
use serde::Serialize;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// A file that is made with its first line: a session without drawing has no empty `strokes.jsonl`.
struct Lazy<T> {
    path: PathBuf,
    writer: Option<jsonl::Writer<T>>,
    closed: bool,
}

impl<T: Serialize> Lazy<T> {
    fn write(&mut self, item: &T) -> Result<()> {
        if self.closed {
            return Ok(());
        }
        let w = match &mut self.writer {
            Some(w) => w,
            None => self.writer.insert(jsonl::Writer::create(&self.path)?),
        };
        w.write(item)?;
        // People draw and type slowly: every line can go out at once.
        Ok(w.flush()?)
    }

    fn close(&mut self) -> Result<()> {
        self.closed = true;
        match self.writer.take() {
            Some(w) => Ok(w.finish().map(drop)?),
            None => Ok(()),
        }
    }
}

/// What a stroke event says beyond when and where.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StrokeDetail {
    /// `pen` or `arrow` (begin only).
    pub tool: Option<&'static str>,
    /// `#rrggbb` (begin only).
    pub colour: Option<String>,
    /// Width, screen pixels (begin only).
    pub width: Option<f64>,
    /// Why it vanished (vanish only).
    pub reason: Option<&'static str>,
}

/// The writer of `strokes.jsonl`; clones write to the same file.
#[derive(Clone)]
pub struct StrokeSink {
    shared: Arc<Shared>,
    file: Arc<Mutex<(Lazy<StrokeEvent>, i64)>>,
}

impl StrokeSink {
    pub(crate) fn new(shared: Arc<Shared>, dir: &SessionDir) -> Self {
        let lazy = Lazy { path: dir.strokes(), writer: None, closed: false };
        Self { shared, file: Arc::new(Mutex::new((lazy, 0))) }
    }

    /// Whether strokes are being kept now: not in a pause.
    #[must_use]
    pub fn open(&self) -> bool {
        !self.shared.pauses.on()
    }

    /// Writes an event of stroke `stroke` (from 1) at `at_ns` on the monotonic clock, at a place in screen pixels.
    ///
    /// When it cannot be written, the recording ends with what is there, as with every stream.
    pub fn write(&self, at_ns: i64, kind: StrokeKind, stroke: u32, at: Option<(f64, f64)>, d: StrokeDetail) {
        let mut f = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        // Lines of a stream are in order of time, whichever thread they come from.
        let t_ns = self.shared.clock.at(at_ns).max(f.1);
        f.1 = t_ns;
        let video = at.and_then(|(x, y)| {
            let map = self.shared.map.read().unwrap_or_else(PoisonError::into_inner);
            map.to_video(t_ns, x, y)
        });
        let round = |v: f64| (v * 100.0).round() / 100.0;
        let e = StrokeEvent {
            t_ns,
            kind,
            stroke,
            x: at.map(|a| round(a.0)),
            y: at.map(|a| round(a.1)),
            vx: video.map(|v| round(v.0)),
            vy: video.map(|v| round(v.1)),
            tool: d.tool.map(Into::into),
            colour: d.colour,
            width: d.width,
            reason: d.reason.map(Into::into),
        };
        if let Err(e) = f.0.write(&e) {
            self.shared.fail(e);
        }
    }

    pub(crate) fn close(&self) -> Result<()> {
        self.file.lock().unwrap_or_else(PoisonError::into_inner).0.close()
    }
}

/// The writer of `text.jsonl`; clones write to the same file.
#[derive(Clone)]
pub struct TextSink {
    shared: Arc<Shared>,
    file: Arc<Mutex<(Lazy<TextEvent>, TypedText)>>,
}

impl TextSink {
    pub(crate) fn new(shared: Arc<Shared>, dir: &SessionDir) -> Self {
        let lazy = Lazy { path: dir.text_events(), writer: None, closed: false };
        Self { shared, file: Arc::new(Mutex::new((lazy, TypedText::default()))) }
    }

    /// The typed text is now `text`: what changed is written with the time of this call. In a pause nothing is; what
    /// changed meanwhile comes as one change after it.
    pub fn set(&self, text: &str) {
        if self.shared.pauses.on() {
            return;
        }
        let mut f = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let t_ns = self.shared.clock.at(monotonic_ns());
        let events = f.1.set(text, t_ns);
        for e in &events {
            if let Err(e) = f.0.write(e) {
                self.shared.fail(e);
                return;
            }
        }
    }

    /// The text as recorded.
    #[must_use]
    pub fn text(&self) -> String {
        self.file.lock().unwrap_or_else(PoisonError::into_inner).1.text()
    }

    /// Takes out what was typed from session time `from_ns` on; the text that is left.
    pub(crate) fn cut(&self, from_ns: i64) -> String {
        let left = self.file.lock().unwrap_or_else(PoisonError::into_inner).1.before(from_ns);
        self.set(&left);
        left
    }

    pub(crate) fn close(&self) -> Result<()> {
        self.file.lock().unwrap_or_else(PoisonError::into_inner).0.close()
    }
}
