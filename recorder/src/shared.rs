//! What a recording's threads share.

use crate::marks::Marks;
use crate::{Error, SessionClock};
use redline_schemas::coords::ScreenMap;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError, RwLock};

/// Why a recording ended or should end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopReason {
    /// The stop keys were pressed.
    Keys,
    /// The disk is full or not writable any more.
    Storage,
    /// A stream failed in a way that it cannot go on from.
    Failed,
}

/// State that every thread sees.
pub(crate) struct Shared {
    pub clock: SessionClock,
    pub marks: Marks,
    pub map: RwLock<ScreenMap>,
    pub stop: AtomicBool,
    /// Session time at which recording ends; set with `stop`.
    pub end_ns: AtomicI64,
    pub frames: AtomicU64,
    pub repeated: AtomicU64,
    /// Slots that stood still because of a pause.
    pub paused: AtomicU64,
    pub dropped: AtomicU64,
    pub events: AtomicU64,
    pub queued: AtomicU64,
    /// Peak level of the last stretch of audio, as bits of an f32.
    pub level: AtomicU32,
    pub pauses: Pauses,
    wanted: Mutex<Option<(StopReason, Option<Error>)>>,
    messages: Mutex<Vec<String>>,
}

impl Shared {
    pub(crate) fn new(clock: SessionClock, marks: Marks, map: ScreenMap) -> Self {
        Self {
            clock,
            marks,
            map: RwLock::new(map),
            stop: AtomicBool::new(false),
            end_ns: AtomicI64::new(i64::MAX),
            frames: AtomicU64::new(0),
            repeated: AtomicU64::new(0),
            paused: AtomicU64::new(0),
            dropped: AtomicU64::new(0),
            events: AtomicU64::new(0),
            queued: AtomicU64::new(0),
            level: AtomicU32::new(0),
            pauses: Pauses::default(),
            wanted: Mutex::new(None),
            messages: Mutex::new(Vec::new()),
        }
    }

    pub(crate) fn stopping(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }

    /// Asks for the end; the first reason stays.
    pub(crate) fn want_stop(&self, reason: StopReason, error: Option<Error>) {
        let mut w = self.wanted.lock().unwrap_or_else(PoisonError::into_inner);
        if w.is_none() {
            *w = Some((reason, error));
        }
    }

    /// Reports that a stream cannot be written: the recording ends with what is there.
    pub(crate) fn fail(&self, error: Error) {
        let reason = if error.is_storage() { StopReason::Storage } else { StopReason::Failed };
        self.say(format!("recording stops: {error}"));
        self.want_stop(reason, Some(error));
    }

    pub(crate) fn wanted(&self) -> Option<StopReason> {
        self.wanted.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(|w| w.0)
    }

    pub(crate) fn take_failure(&self) -> Option<Error> {
        self.wanted.lock().unwrap_or_else(PoisonError::into_inner).as_mut().and_then(|w| w.1.take())
    }

    /// Leaves a message for the person at the recorder.
    pub(crate) fn say(&self, message: String) {
        tracing::info!("{message}");
        self.messages.lock().unwrap_or_else(PoisonError::into_inner).push(message);
    }

    pub(crate) fn take_messages(&self) -> Vec<String> {
        std::mem::take(&mut *self.messages.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// When the recording was paused: nothing of these spans is written.
#[derive(Debug, Default)]
pub(crate) struct Pauses {
    /// Start and end, session time; the last one's end is `i64::MAX` while it lasts.
    spans: RwLock<Vec<(i64, i64)>>,
}

impl Pauses {
    /// Begins one; false when it is paused already.
    pub(crate) fn begin(&self, t_ns: i64) -> bool {
        let mut s = self.spans.write().unwrap_or_else(PoisonError::into_inner);
        if s.last().is_some_and(|l| l.1 == i64::MAX) {
            return false;
        }
        s.push((t_ns, i64::MAX));
        true
    }

    /// Ends it; when it began, or `None` when nothing was paused.
    pub(crate) fn end(&self, t_ns: i64) -> Option<i64> {
        let mut s = self.spans.write().unwrap_or_else(PoisonError::into_inner);
        let last = s.last_mut().filter(|l| l.1 == i64::MAX)?;
        last.1 = t_ns.max(last.0);
        Some(last.0)
    }

    /// Whether it is paused now.
    pub(crate) fn on(&self) -> bool {
        self.spans.read().unwrap_or_else(PoisonError::into_inner).last().is_some_and(|l| l.1 == i64::MAX)
    }

    /// Whether a pause covers any of the time from `from_ns` to `until_ns`, both included.
    pub(crate) fn touch(&self, from_ns: i64, until_ns: i64) -> bool {
        self.spans.read().unwrap_or_else(PoisonError::into_inner).iter().any(|s| from_ns < s.1 && s.0 <= until_ns)
    }

    /// Length of all pauses up to `t_ns`, nanoseconds.
    pub(crate) fn total_ns(&self, t_ns: i64) -> i64 {
        self.spans.read().unwrap_or_else(PoisonError::into_inner).iter().map(|s| (s.1.min(t_ns) - s.0).max(0)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_begin_and_end_once() {
        let p = Pauses::default();
        assert!(p.begin(10) && !p.begin(12) && p.on());
        assert!(p.touch(50, 50) && !p.touch(0, 9) && p.touch(0, 10));
        assert_eq!((p.end(20), p.end(21)), (Some(10), None));
        assert!(!p.on() && !p.touch(20, 30) && p.touch(19, 30));
        assert_eq!(p.total_ns(15), 5);
        assert_eq!(p.total_ns(99), 10);
    }
}
