//! The reference dataset's times: Unix seconds as floating-point numbers.

use redline_schemas::Utc;

/// The first and last second that is taken for a time: 2001 to 2100.
const RANGE: std::ops::Range<f64> = 978_000_000.0..4_102_000_000.0;

/// Nanoseconds since 1970 of Unix seconds; `None` for what is no time of this century.
#[must_use]
pub fn unix_ns(seconds: f64) -> Option<i64> {
    if !RANGE.contains(&seconds) {
        return None;
    }
    // The fraction is exact on its own; multiplying the whole would lose it.
    let whole = seconds.trunc();
    Some(whole as i64 * 1_000_000_000 + ((seconds - whole) * 1e9).round() as i64)
}

/// Unix seconds of nanoseconds since 1970: the nearest floating-point number.
#[must_use]
pub fn unix_seconds(ns: i64) -> f64 {
    let text = format!("{}.{:09}", ns.div_euclid(1_000_000_000), ns.rem_euclid(1_000_000_000));
    // Reading the decimal rounds once; dividing would round twice.
    text.parse().unwrap_or(ns as f64 / 1e9)
}

/// The time in an id such as `USER_1769174947.8063738`.
#[must_use]
pub fn time_of_id(id: &str) -> Option<i64> {
    unix_ns(id.rsplit_once('_')?.1.parse().ok()?)
}

/// UTC of nanoseconds since 1970.
#[must_use]
pub fn utc(ns: i64) -> Utc {
    Utc::from_timestamp_nanos(ns)
}

/// Nanoseconds since 1970 of UTC; saturates.
#[must_use]
pub fn ns_of(t: Utc) -> i64 {
    t.timestamp_nanos_opt().unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ids_carry_their_time() {
        assert_eq!(time_of_id("3YH2WFSRM22W7DKT_1769174947.5"), Some(1_769_174_947_500_000_000));
        for none in ["x", "x_y", "x_1e300", "x_NaN", "x_12"] {
            assert_eq!(time_of_id(none), None, "{none}");
        }
    }

    proptest! {
        #[test]
        fn seconds_come_back_bit_by_bit(s in 978_000_001.0_f64..4_000_000_000.0) {
            prop_assert_eq!(unix_seconds(unix_ns(s).unwrap()).to_bits(), s.to_bits());
        }
    }
}
