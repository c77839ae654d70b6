//! `events`.

use super::{Float, Id, Label, Time, Utc, table};
use redline_schemas::{InputKind, time};

table! {
    /// One row an event of mouse, wheel or keys.
    "events", sorted by ["session_id", "t_ns"] {
        /// The request or edit during which it happened.
        session_id: Id,
        /// What the session is: request, edit, run.
        session: Label,
        /// Session time.
        t_ns: Time ["ns"],
        /// The same moment as wall-clock time.
        utc: Utc,
        /// What happened: move, press, release, wheel, key_press, key_release.
        kind: Label,
        /// Pointer on the screen, from the left.
        x: Option<Float> ["screen pixels"],
        /// Pointer on the screen, from the top.
        y: Option<Float> ["screen pixels"],
        /// Pointer in the video, from the left; may lie outside the picture.
        vx: Option<Float> ["video pixels"],
        /// Pointer in the video, from the top; may lie outside the picture.
        vy: Option<Float> ["video pixels"],
        /// left, middle, right or the button's number.
        button: Option<Label>,
        /// The wheel's turn, positive to the right.
        dx: Option<Float> ["wheel steps"],
        /// The wheel's turn, positive away from the user.
        dy: Option<Float> ["wheel steps"],
        /// The key's name; `char` for a typed character whose identity is not kept.
        key: Option<Label>,
    }
}

/// An input event with borrowed text; the same fields as [`redline_schemas::InputEvent`].
#[derive(Debug, Clone, PartialEq, serde::Deserialize)]
pub(crate) struct Event<'a> {
    pub t_ns: i64,
    pub kind: InputKind,
    #[serde(default)]
    pub x: Option<f64>,
    #[serde(default)]
    pub y: Option<f64>,
    #[serde(default)]
    pub vx: Option<f64>,
    #[serde(default)]
    pub vy: Option<f64>,
    #[serde(default, borrow)]
    pub button: Option<std::borrow::Cow<'a, str>>,
    #[serde(default)]
    pub dx: Option<f64>,
    #[serde(default)]
    pub dy: Option<f64>,
    #[serde(default, borrow)]
    pub key: Option<std::borrow::Cow<'a, str>>,
}

/// Appends an event of a session.
#[inline]
pub(crate) fn append(b: &mut Builder, s: &crate::pack::SessionInfo, e: &Event<'_>) {
    b.append(Row {
        session_id: &s.id,
        session: s.kind.as_str(),
        t_ns: e.t_ns,
        utc: time::utc_micros(s.started_utc, e.t_ns),
        kind: kind(e.kind),
        x: e.x,
        y: e.y,
        vx: e.vx,
        vy: e.vy,
        button: e.button.as_deref(),
        dx: e.dx,
        dy: e.dy,
        key: e.key.as_deref(),
    });
}

fn kind(k: InputKind) -> &'static str {
    match k {
        InputKind::Move => "move",
        InputKind::Press => "press",
        InputKind::Release => "release",
        InputKind::Wheel => "wheel",
        InputKind::KeyPress => "key_press",
        InputKind::KeyRelease => "key_release",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use redline_schemas::InputEvent;

    proptest! {
        #[test]
        fn numbers_of_a_line_come_back_to_the_last_bit(bits in prop::collection::vec(any::<u64>(), 6), t_ns in any::<i64>()) {
            let number = |i: usize| Some(f64::from_bits(bits[i])).filter(|v| v.is_finite());
            let event = InputEvent {
                x: number(0), y: number(1), vx: number(2), vy: number(3), dx: number(4), dy: number(5),
                ..InputEvent::new(t_ns, InputKind::Wheel)
            };
            let line = serde_json::to_vec(&event).unwrap();
            let back: Event<'_> = serde_json::from_slice(&line).unwrap();
            let all = |v: [Option<f64>; 6]| v.map(|v| v.map(f64::to_bits));
            prop_assert_eq!(all([back.x, back.y, back.vx, back.vy, back.dx, back.dy]), all([event.x, event.y, event.vx, event.vy, event.dx, event.dy]));
            prop_assert_eq!(back.t_ns, t_ns);
        }
    }
}
