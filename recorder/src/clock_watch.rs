//! Notices when the session's clock and the world's part: sleep, a clock set by hand, a recorder that was stopped.
//!
//! Three clocks are read together at intervals. `CLOCK_BOOTTIME` counts sleep and `CLOCK_MONOTONIC` does not: their
//! distance grows by the time slept. `CLOCK_REALTIME` also jumps when somebody sets it. When all three agree but the
//! next reading comes late, the recorder itself did not run.

use redline_schemas::{Discontinuity, DiscontinuityCause};

/// How often the clocks should be read, nanoseconds.
pub const INTERVAL_NS: i64 = 250_000_000;

/// A difference between two clocks that counts as a jump, nanoseconds: NTP slews by at most 500 ppm, 0.125 ms an interval.
pub const JUMP_NS: i64 = 20_000_000;

/// A reading that comes later than this counts as a stall, nanoseconds.
pub const STALL_NS: i64 = 1_000_000_000;

/// One reading of all clocks, nanoseconds each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reading {
    /// Session time (monotonic, does not count sleep).
    pub t_ns: i64,
    /// Time since boot, sleep included.
    pub boot_ns: i64,
    /// Wall time.
    pub wall_ns: i64,
}

/// Compares each reading with the one before.
#[derive(Debug, Clone, Default)]
pub struct ClockWatch {
    last: Option<Reading>,
}

impl ClockWatch {
    /// Takes in a reading; what it reveals, the later cause last.
    pub fn read(&mut self, now: Reading) -> Vec<Discontinuity> {
        let Some(before) = self.last.replace(now) else { return Vec::new() };
        let mono = now.t_ns.saturating_sub(before.t_ns);
        let slept = now.boot_ns.saturating_sub(before.boot_ns).saturating_sub(mono);
        let wall = now.wall_ns.saturating_sub(before.wall_ns).saturating_sub(mono);
        let mut found = Vec::new();
        let mut say = |wall_minus_monotonic_ns, cause| found.push(Discontinuity { t_ns: now.t_ns, wall_minus_monotonic_ns, cause });
        if slept.saturating_abs() > JUMP_NS {
            say(slept, DiscontinuityCause::Suspend);
        }
        if wall.saturating_sub(slept).saturating_abs() > JUMP_NS {
            say(wall.saturating_sub(slept), DiscontinuityCause::WallClockSet);
        }
        if mono > STALL_NS {
            say(0, DiscontinuityCause::Stall);
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: i64 = 1_000_000_000;

    fn after(mono: i64, boot: i64, wall: i64) -> Vec<(i64, DiscontinuityCause)> {
        let mut w = ClockWatch::default();
        assert!(w.read(Reading { t_ns: 10 * S, boot_ns: 500 * S, wall_ns: 1_700_000_000 * S }).is_empty());
        let r = w.read(Reading { t_ns: 10 * S + mono, boot_ns: 500 * S + boot, wall_ns: 1_700_000_000 * S + wall });
        r.into_iter().map(|d| (d.wall_minus_monotonic_ns, d.cause)).collect()
    }

    #[test]
    fn a_steady_clock_is_silent() {
        assert_eq!(after(S / 4, S / 4, S / 4), []);
        assert_eq!(after(S / 4, S / 4 + 3, S / 4 + 125_000), [], "NTP slews");
    }

    #[test]
    fn sleep_is_told_from_a_set_clock() {
        assert_eq!(after(S / 4, S / 4 + 60 * S, S / 4 + 60 * S), [(60 * S, DiscontinuityCause::Suspend)]);
        assert_eq!(after(S / 4, S / 4, S / 4 + 3600 * S), [(3600 * S, DiscontinuityCause::WallClockSet)]);
        assert_eq!(after(S / 4, S / 4, S / 4 - 2 * S), [(-2 * S, DiscontinuityCause::WallClockSet)]);
        let both = [(60 * S, DiscontinuityCause::Suspend), (-5 * S, DiscontinuityCause::WallClockSet)];
        assert_eq!(after(S / 4, S / 4 + 60 * S, S / 4 + 55 * S), both);
    }

    #[test]
    fn a_stopped_recorder_is_a_stall() {
        assert_eq!(after(5 * S, 5 * S, 5 * S), [(0, DiscontinuityCause::Stall)]);
    }

    #[test]
    fn hostile_readings_do_not_panic() {
        let mut w = ClockWatch::default();
        w.read(Reading { t_ns: i64::MIN, boot_ns: i64::MAX, wall_ns: i64::MIN });
        w.read(Reading { t_ns: i64::MAX, boot_ns: i64::MIN, wall_ns: i64::MAX });
    }
}
