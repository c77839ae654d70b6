//! Maps a plug-in's clock onto the session's by round trips, as NTP does (RFC 5905, section 8): the session's answer
//! was read somewhere between asking and having it, so the offset is known to half a round trip.

use crate::protocol::RoundTrip;

/// Offset between a plug-in's clock and the session's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offset {
    /// Session time minus plug-in time.
    pub offset_ns: i64,
    /// Bound of its error: half of the round trip it rests on.
    pub error_ns: i64,
    /// Plug-in time at which it was measured.
    at_client_ns: i64,
}

/// The offsets measured so far.
///
/// Between two measurements the better one is taken, whose bound is widened by [`DRIFT_PPM`] for its age.
#[derive(Debug, Clone, Default)]
pub struct ClockMap {
    offsets: Vec<Offset>,
}

/// Assumed bound on the drift between two clocks of one machine, parts per million.
pub const DRIFT_PPM: i64 = 100;

/// The most measurements that are kept; older ones are of no use any more.
const MAX_OFFSETS: usize = 64;

impl ClockMap {
    /// Takes in round trips; impossible ones (negative duration, overflow) are passed over. The best of a report is kept.
    pub fn report(&mut self, trips: &[RoundTrip]) {
        let best = trips
            .iter()
            .filter_map(|r| {
                let rtt = r.received_client_ns.checked_sub(r.sent_client_ns).filter(|d| *d >= 0)?;
                let middle = r.sent_client_ns + rtt / 2;
                Some(Offset { offset_ns: r.t_ns.checked_sub(middle)?, error_ns: rtt - rtt / 2, at_client_ns: middle })
            })
            .min_by_key(|o| o.error_ns);
        if let Some(o) = best {
            self.offsets.push(o);
            if self.offsets.len() > MAX_OFFSETS {
                self.offsets.remove(0);
            }
        }
    }

    /// Session time of plug-in time `client_ns`, and the bound of its error; `None` before the first report.
    #[must_use]
    pub fn session_time(&self, client_ns: i64) -> Option<(i64, i64)> {
        let bound =
            |o: &Offset| o.error_ns.saturating_add(client_ns.saturating_sub(o.at_client_ns).saturating_abs() / 1_000_000 * DRIFT_PPM);
        let best = self.offsets.iter().min_by_key(|o| bound(o))?;
        Some((client_ns.saturating_add(best.offset_ns), bound(best)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_quickest_round_trip_decides() {
        let mut m = ClockMap::default();
        assert_eq!(m.session_time(5), None);
        m.report(&[
            RoundTrip { sent_client_ns: 1000, t_ns: 90_000, received_client_ns: 9000 },
            RoundTrip { sent_client_ns: 10_000, t_ns: 60_100, received_client_ns: 10_200 },
            RoundTrip { sent_client_ns: 10, t_ns: 0, received_client_ns: 5 },
        ]);
        assert_eq!(m.session_time(20_000), Some((70_000, 100)));
    }

    #[test]
    fn an_old_measurement_is_trusted_less() {
        let mut m = ClockMap::default();
        m.report(&[RoundTrip { sent_client_ns: 0, t_ns: 100, received_client_ns: 200 }]);
        assert_eq!(m.session_time(1_000_000_100), Some((1_000_000_100, 100 + 100_000)), "100 ppm of a second");
    }

    proptest! {
        #[test]
        fn the_true_time_is_within_the_bound(offset in -10_i64.pow(15)..10_i64.pow(15), trips in prop::collection::vec((0_i64..10_i64.pow(10), 0_i64..50_000_000, 0_i64..50_000_000), 1..20), at in 0_i64..10_i64.pow(10)) {
            let trips: Vec<_> = trips.into_iter().map(|(sent, there, back)| RoundTrip { sent_client_ns: sent, t_ns: sent + there + offset, received_client_ns: sent + there + back }).collect();
            let mut m = ClockMap::default();
            m.report(&trips);
            let (t, bound) = m.session_time(at).unwrap();
            prop_assert!((t - (at + offset)).abs() <= bound);
        }

        #[test]
        fn hostile_times_do_not_panic(a: i64, b: i64, c: i64, d: i64) {
            let mut m = ClockMap::default();
            m.report(&[RoundTrip { sent_client_ns: a, t_ns: b, received_client_ns: c }]);
            let _ = m.session_time(d);
        }
    }
}
