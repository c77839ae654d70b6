//! The session's clock: CLOCK_MONOTONIC, counted from the session's start.

use crate::clock_watch::Reading;
use redline_schemas::{Alignment, Clock, Discontinuity, Utc};

/// Nanoseconds on CLOCK_MONOTONIC.
#[must_use]
pub fn monotonic_ns() -> i64 {
    read(libc::CLOCK_MONOTONIC)
}

fn read(clock: libc::clockid_t) -> i64 {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `t` is a valid timespec that the call fills.
    unsafe { libc::clock_gettime(clock, &mut t) };
    t.tv_sec * 1_000_000_000 + t.tv_nsec
}

/// Session time.
#[derive(Debug, Clone)]
pub struct SessionClock {
    origin_ns: i64,
    started_utc: Utc,
}

impl SessionClock {
    /// A clock that reads 0 now.
    #[must_use]
    pub fn start() -> Self {
        Self { origin_ns: monotonic_ns(), started_utc: chrono::Utc::now() }
    }

    /// Session time now.
    #[must_use]
    pub fn now_ns(&self) -> i64 {
        self.at(monotonic_ns())
    }

    /// Session time of a reading of the monotonic clock.
    #[must_use]
    pub fn at(&self, monotonic_ns: i64) -> i64 {
        monotonic_ns - self.origin_ns
    }

    /// The monotonic clock's reading at a session time.
    #[must_use]
    pub fn monotonic(&self, t_ns: i64) -> i64 {
        t_ns.saturating_add(self.origin_ns)
    }

    /// All clocks at once, for [`crate::clock_watch`].
    #[must_use]
    pub fn reading(&self) -> Reading {
        Reading { t_ns: self.now_ns(), boot_ns: read(libc::CLOCK_BOOTTIME), wall_ns: read(libc::CLOCK_REALTIME) }
    }

    /// For the manifest.
    #[must_use]
    pub fn manifest(&self, discontinuities: Vec<Discontinuity>) -> Clock {
        Clock {
            name: "CLOCK_MONOTONIC".into(),
            started_utc: self.started_utc,
            origin_ns: Some(self.origin_ns),
            alignment: Alignment::Measured,
            discontinuities,
        }
    }
}
