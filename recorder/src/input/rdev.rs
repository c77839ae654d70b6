//! Input through rdev, where the platform has no better way: events carry their time of arrival.

use super::Raw;
use crate::clock::monotonic_ns;

/// Hands every event to `on`; returns only when the platform ends it, with why.
pub(super) fn listen(mut on: impl FnMut(Raw) + 'static) -> String {
    let result = rdev::listen(move |e| on(Raw { at_ns: monotonic_ns(), event: e.event_type }));
    result.err().map_or_else(|| "the listener ended".into(), |e| format!("{e:?}"))
}
