//! Keys that work whatever window has the focus.
//!
//! They are listened for, not taken away: the program with the focus sees them too, so they should be combinations that
//! CAD programs do not use.

use crate::input;
use crate::keys::{Chord, KeyNamer, KeyPolicy};
use crate::{Error, Result};
use rdev::{EventType, Key};
use std::sync::{Mutex, PoisonError};

type Deed = Box<dyn FnMut() + Send>;

struct Listening {
    keys: KeyNamer,
    bound: Vec<(Chord, Deed)>,
}

static LISTENING: Mutex<Option<Listening>> = Mutex::new(None);

/// Does `deed` on the listener's thread whenever its keys are pressed; replaces what was bound before. A deed must be short.
pub fn bind(bound: Vec<(Chord, Deed)>) -> Result<()> {
    for (i, (c, _)) in bound.iter().enumerate() {
        if bound[..i].iter().any(|(o, _)| o == c) {
            return Err(Error::Options(format!("{c} is bound twice")));
        }
    }
    input::prepare()?;
    *LISTENING.lock().unwrap_or_else(PoisonError::into_inner) = Some(Listening { keys: KeyNamer::new(KeyPolicy::None), bound });
    Ok(())
}

/// Binds nothing any more.
pub fn unbind() {
    *LISTENING.lock().unwrap_or_else(PoisonError::into_inner) = None;
}

/// Called by the listener for every event of the desktop.
pub(crate) fn see(e: &EventType) {
    let mut l = LISTENING.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(l) = l.as_mut() else { return };
    match e {
        EventType::KeyPress(k) => l.press(*k),
        EventType::KeyRelease(k) => {
            l.keys.release(*k);
        }
        _ => {}
    }
}

impl Listening {
    fn press(&mut self, k: Key) {
        // A held key repeats; its deed is done once.
        let repeated = self.keys.holds(k);
        self.keys.press(k);
        if repeated {
            return;
        }
        for (c, deed) in &mut self.bound {
            if self.keys.completes(c, k) {
                deed();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    #[test]
    fn a_deed_is_done_once_a_press() {
        let done = Arc::new(AtomicU32::new(0));
        let count = Arc::clone(&done);
        let deed: Deed = Box::new(move || {
            count.fetch_add(1, Ordering::Relaxed);
        });
        let mut l = Listening { keys: KeyNamer::new(KeyPolicy::None), bound: vec![("ctrl+shift+d".parse().unwrap(), deed)] };
        for k in [Key::ControlLeft, Key::ShiftLeft, Key::KeyD, Key::KeyD] {
            l.press(k);
        }
        assert_eq!(done.load(Ordering::Relaxed), 1);
        l.keys.release(Key::KeyD);
        l.press(Key::KeyD);
        l.press(Key::KeyA);
        assert_eq!(done.load(Ordering::Relaxed), 2);
    }
}
