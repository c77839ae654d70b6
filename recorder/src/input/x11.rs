//! Input of an X11 desktop through the RECORD extension, with the time at which the server saw each event.
//!
//! A recorder that stood still, or a machine under load, takes events late; the server stamped them when they
//! happened. Its stamps are milliseconds of the monotonic clock on the servers in use (Xorg, Xvfb); whether that holds here is
//! asked first, and where it does not, the time of arrival is all there is.

use super::Raw;
use crate::clock::monotonic_ns;
use crate::screen::{connect, no_screen};
use rdev::{Button, EventType, Key};
use x11rb::connection::{Connection, RequestConnection as _};
use x11rb::protocol::Event;
use x11rb::protocol::record::{self, ConnectionExt as _};
use x11rb::protocol::xproto::{
    AtomEnum, BUTTON_PRESS_EVENT, BUTTON_RELEASE_EVENT, ButtonPressEvent, ConnectionExt as _, CreateWindowAux, EventMask, KEY_PRESS_EVENT,
    KEY_RELEASE_EVENT, MOTION_NOTIFY_EVENT, PropMode, WindowClass,
};
use x11rb::rust_connection::RustConnection;
use x11rb::x11_utils::TryParse as _;

/// Category of a reply that carries events.
const FROM_SERVER: u8 = 0;

/// An event that arrives later than this after the server's stamp gets the stamp's time, nanoseconds. Below it the
/// arrival is the finer of the two: the stamp has milliseconds only, and a server may take it from a clock that ticks every 4 ms.
const LATE_NS: i64 = 5_000_000;

/// Hands every event to `on`, with its time; returns only when the server ends it, with why.
pub(super) fn listen(on: impl FnMut(Raw)) -> String {
    match follow(on) {
        Ok(()) => "the X11 server ended it".into(),
        Err(e) => e.to_string(),
    }
}

fn follow(mut on: impl FnMut(Raw)) -> crate::Result<()> {
    let (control, number) = connect()?;
    let (data, _) = connect()?;
    if control.extension_information(record::X11_EXTENSION_NAME).map_err(no_screen)?.is_none() {
        return Err(no_screen("the X11 server has no RECORD extension"));
    }
    let mut stamps = Stamps { monotonic: stamps_are_monotonic(&control, number)?, last_ns: i64::MIN };
    if !stamps.monotonic {
        tracing::info!("the X11 server's stamps are on a clock of its own: input carries its time of arrival");
    }
    let context = control.generate_id().map_err(no_screen)?;
    let range =
        record::Range { device_events: record::Range8 { first: KEY_PRESS_EVENT, last: MOTION_NOTIFY_EVENT }, ..record::Range::default() };
    control
        .record_create_context(context, 0, &[record::CS::ALL_CLIENTS.into()], &[range])
        .map_err(no_screen)?
        .check()
        .map_err(no_screen)?;
    for reply in data.record_enable_context(context).map_err(no_screen)? {
        let reply = reply.map_err(no_screen)?;
        if reply.category != FROM_SERVER || reply.client_swapped {
            continue;
        }
        let arrived_ns = monotonic_ns();
        let mut rest = &reply.data[..];
        // Every event of the core protocol has 32 bytes, and those asked for share one layout.
        while rest.len() >= 32 {
            let Ok((e, after)) = ButtonPressEvent::try_parse(rest) else { break };
            rest = after;
            if let Some(event) = event(&e) {
                on(Raw { at_ns: stamps.time_ns(e.time, arrived_ns), event });
            }
        }
    }
    Ok(())
}

/// Turns the server's stamps into times of the monotonic clock.
struct Stamps {
    monotonic: bool,
    last_ns: i64,
}

impl Stamps {
    fn time_ns(&mut self, stamp_ms: u32, arrived_ns: i64) -> i64 {
        let late_ms = ((arrived_ns / 1_000_000) as u32).wrapping_sub(stamp_ms) as i32;
        let stamped_ns = (arrived_ns / 1_000_000 - i64::from(late_ms)) * 1_000_000;
        let t_ns = if self.monotonic && arrived_ns - stamped_ns > LATE_NS { stamped_ns } else { arrived_ns };
        // Events are in order; the two ways of timing them must not turn it round.
        self.last_ns = self.last_ns.max(t_ns);
        self.last_ns
    }
}

/// Whether the server's stamps are the monotonic clock's: the stamp of a change made now lies between asking and answer.
fn stamps_are_monotonic(conn: &RustConnection, number: usize) -> crate::Result<bool> {
    let root = conn.setup().roots.get(number).ok_or_else(|| no_screen("the display has no screen"))?.root;
    let window = conn.generate_id().map_err(no_screen)?;
    let aux = CreateWindowAux::new().event_mask(EventMask::PROPERTY_CHANGE);
    conn.create_window(0, window, root, 0, 0, 1, 1, 0, WindowClass::INPUT_ONLY, 0, &aux).map_err(no_screen)?;
    let before_ms = monotonic_ns() / 1_000_000;
    conn.change_property(PropMode::REPLACE, window, AtomEnum::WM_NAME, AtomEnum::STRING, 8, 1, b"t").map_err(no_screen)?;
    conn.flush().map_err(no_screen)?;
    let stamp = loop {
        if let Event::PropertyNotify(e) = conn.wait_for_event().map_err(no_screen)? {
            break e.time;
        }
    };
    let after_ms = monotonic_ns() / 1_000_000;
    let since = stamp.wrapping_sub(before_ms as u32) as i32;
    Ok((-5..=(after_ms - before_ms) as i32 + 1).contains(&since))
}

fn event(e: &ButtonPressEvent) -> Option<EventType> {
    let wheel = |delta_x, delta_y| EventType::Wheel { delta_x, delta_y };
    let button = match e.detail {
        1 => Button::Left,
        2 => Button::Middle,
        3 => Button::Right,
        n => Button::Unknown(n),
    };
    Some(match (e.response_type & 0x7f, e.detail) {
        (KEY_PRESS_EVENT, code) => EventType::KeyPress(key(code)),
        (KEY_RELEASE_EVENT, code) => EventType::KeyRelease(key(code)),
        // The wheel comes as buttons, and their release is no event.
        (BUTTON_PRESS_EVENT, 4) => wheel(0, 1),
        (BUTTON_PRESS_EVENT, 5) => wheel(0, -1),
        (BUTTON_PRESS_EVENT, 6) => wheel(-1, 0),
        (BUTTON_PRESS_EVENT, 7) => wheel(1, 0),
        (BUTTON_RELEASE_EVENT, 4..=7) => return None,
        (BUTTON_PRESS_EVENT, _) => EventType::ButtonPress(button),
        (BUTTON_RELEASE_EVENT, _) => EventType::ButtonRelease(button),
        (MOTION_NOTIFY_EVENT, _) => EventType::MouseMove { x: e.root_x.into(), y: e.root_y.into() },
        _ => return None,
    })
}

/// The key in its place on a US keyboard. X11's key codes are Linux's (`input-event-codes.h`) and eight.
fn key(code: u8) -> Key {
    use Key::*;
    #[rustfmt::skip]
    const FROM_9: [Key; 88] = [
        Escape, Num1, Num2, Num3, Num4, Num5, Num6, Num7, Num8, Num9, Num0, Minus, Equal, Backspace,
        Tab, KeyQ, KeyW, KeyE, KeyR, KeyT, KeyY, KeyU, KeyI, KeyO, KeyP, LeftBracket, RightBracket, Return,
        ControlLeft, KeyA, KeyS, KeyD, KeyF, KeyG, KeyH, KeyJ, KeyK, KeyL, SemiColon, Quote, BackQuote,
        ShiftLeft, BackSlash, KeyZ, KeyX, KeyC, KeyV, KeyB, KeyN, KeyM, Comma, Dot, Slash, ShiftRight,
        KpMultiply, Alt, Space, CapsLock, F1, F2, F3, F4, F5, F6, F7, F8, F9, F10, NumLock, ScrollLock,
        Kp7, Kp8, Kp9, KpMinus, Kp4, Kp5, Kp6, KpPlus, Kp1, Kp2, Kp3, Kp0, KpDelete,
        Unknown(92), Unknown(93), IntlBackslash, F11, F12,
    ];
    #[rustfmt::skip]
    const FROM_104: [Key; 16] = [
        KpReturn, ControlRight, KpDivide, PrintScreen, AltGr, Unknown(109), Home, UpArrow, PageUp, LeftArrow, RightArrow, End,
        DownArrow, PageDown, Insert, Delete,
    ];
    let at = |table: &[Key], from: u8| table.get(usize::from(code.wrapping_sub(from))).copied();
    at(&FROM_9, 9).or_else(|| at(&FROM_104, 104)).unwrap_or(match code {
        127 => Pause,
        133 => MetaLeft,
        134 => MetaRight,
        _ => Unknown(code.into()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_those_of_the_us_keyboard() {
        // From xkeyboard-config's `keycodes/evdev`.
        let known = [
            (9, Key::Escape),
            (22, Key::Backspace),
            (24, Key::KeyQ),
            (36, Key::Return),
            (49, Key::BackQuote),
            (50, Key::ShiftLeft),
            (61, Key::Slash),
            (65, Key::Space),
            (67, Key::F1),
            (76, Key::F10),
            (77, Key::NumLock),
            (79, Key::Kp7),
            (91, Key::KpDelete),
            (94, Key::IntlBackslash),
            (96, Key::F12),
            (104, Key::KpReturn),
            (108, Key::AltGr),
            (116, Key::DownArrow),
            (119, Key::Delete),
            (127, Key::Pause),
            (134, Key::MetaRight),
            (200, Key::Unknown(200)),
            (0, Key::Unknown(0)),
        ];
        for (code, expected) in known {
            assert_eq!(key(code), expected, "{code}");
        }
    }

    #[test]
    fn what_arrives_late_has_the_time_at_which_it_happened() {
        // 50 days: the stamp has wrapped round.
        let now = 50 * 86_400_000_000_000_i64;
        let stamp = |ago_ms: i64| ((now / 1_000_000) - ago_ms) as u32;
        let mut s = Stamps { monotonic: true, last_ns: i64::MIN };
        assert_eq!(s.time_ns(stamp(5_000), now), now - 5_000_000_000);
        assert_eq!(s.time_ns(stamp(20), now + 400_000), now - 20_000_000);
        assert_eq!(s.time_ns(stamp(1), now + 400_000), now + 400_000, "on time: the arrival is finer");
        assert_eq!(s.time_ns(stamp(20), now + 500_000), now + 400_000, "order is kept");
        let mut s = Stamps { monotonic: false, last_ns: i64::MIN };
        assert_eq!(s.time_ns(stamp(5_000), now), now);
    }
}
