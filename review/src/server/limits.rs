//! Rate limits: a bucket of tokens for each session, and one for each address that tries keys.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// Tokens a bucket holds, and how many come back each second.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rate {
    pub burst: f64,
    pub per_s: f64,
}

/// What one session may ask.
pub(crate) const SESSION: Rate = Rate { burst: 300.0, per_s: 60.0 };

/// How often one address may try an invitation or a session key that is not valid.
pub(crate) const TRIES: Rate = Rate { burst: 30.0, per_s: 0.5 };

/// Buckets kept at most; full ones are forgotten first, they say nothing.
const MAX_BUCKETS: usize = 20_000;

#[derive(Default)]
pub(crate) struct Limits {
    buckets: Mutex<HashMap<String, (f64, Instant)>>,
}

impl Limits {
    /// Takes a token; `false` when there is none.
    pub fn take(&self, key: &str, rate: Rate) -> bool {
        self.take_at(key, rate, Instant::now())
    }

    /// Whether a token is left, without taking it.
    pub fn has(&self, key: &str, rate: Rate) -> bool {
        let buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        buckets.get(key).is_none_or(|(n, at)| n + at.elapsed().as_secs_f64() * rate.per_s >= 1.0)
    }

    fn take_at(&self, key: &str, rate: Rate, now: Instant) -> bool {
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        if buckets.len() >= MAX_BUCKETS && !buckets.contains_key(key) {
            buckets.retain(|_, (n, at)| *n + now.duration_since(*at).as_secs_f64() * TRIES.per_s < TRIES.burst);
            if buckets.len() >= MAX_BUCKETS {
                return false;
            }
        }
        let (n, at) = buckets.entry(key.to_owned()).or_insert((rate.burst, now));
        *n = (*n + now.duration_since(*at).as_secs_f64() * rate.per_s).min(rate.burst);
        *at = now;
        let ok = *n >= 1.0;
        if ok {
            *n -= 1.0;
        }
        ok
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_burst_is_taken_then_the_rate_holds() {
        let l = Limits::default();
        let rate = Rate { burst: 3.0, per_s: 1.0 };
        let t = Instant::now();
        let taken = (0..5).filter(|_| l.take_at("a", rate, t)).count();
        assert_eq!(taken, 3);
        assert!(l.take_at("b", rate, t), "each key has its own");
        assert!(!l.take_at("a", rate, t + Duration::from_millis(900)));
        assert!(l.take_at("a", rate, t + Duration::from_millis(2_000)));
    }
}
