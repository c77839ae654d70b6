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
    pub dropped: AtomicU64,
    pub events: AtomicU64,
    pub queued: AtomicU64,
    /// Peak level of the last stretch of audio, as bits of an f32.
    pub level: AtomicU32,
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
            dropped: AtomicU64::new(0),
            events: AtomicU64::new(0),
            queued: AtomicU64::new(0),
            level: AtomicU32::new(0),
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
