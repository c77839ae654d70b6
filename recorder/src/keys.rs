//! Which keys are written down under which name.
//!
//! A password must never land in a corpus: unless asked otherwise, a key is named only when it
//! cannot be part of typed text.

use crate::Error;
use rdev::Key;
use std::collections::HashMap;
use std::str::FromStr;

/// The name written for a typed character.
pub const CHAR: &str = "char";

/// What is kept of the keyboard.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum KeyPolicy {
    /// Every key by name.
    All,
    /// Modifiers, function keys, Escape, Delete, Enter, and keys pressed together with Ctrl, Alt or
    /// Super by name; everything else as [`CHAR`].
    #[default]
    Shortcuts,
    /// Nothing.
    None,
}

impl FromStr for KeyPolicy {
    type Err = Error;
    fn from_str(s: &str) -> Result<Self, Error> {
        match s {
            "all" => Ok(Self::All),
            "shortcuts" => Ok(Self::Shortcuts),
            "none" => Ok(Self::None),
            _ => Err(Error::Options(format!("“{s}” is none of all, shortcuts, none"))),
        }
    }
}

fn is_modifier(k: Key) -> bool {
    use Key::*;
    matches!(k, Alt | AltGr | ControlLeft | ControlRight | MetaLeft | MetaRight | ShiftLeft | ShiftRight | CapsLock | NumLock)
}

/// Modifiers that make a shortcut. AltGr and Shift make characters, so they don't count.
fn makes_shortcut(k: Key) -> bool {
    use Key::*;
    matches!(k, Alt | ControlLeft | ControlRight | MetaLeft | MetaRight)
}

fn is_command_key(k: Key) -> bool {
    use Key::*;
    matches!(k, Escape | Delete | Return | KpReturn | F1 | F2 | F3 | F4 | F5 | F6 | F7 | F8 | F9 | F10 | F11 | F12)
}

/// The key's name: that of the US keyboard's key in its place.
#[must_use]
pub fn name(k: Key) -> String {
    match k {
        Key::Return => "Enter".into(),
        Key::Unknown(code) => format!("code{code}"),
        k => format!("{k:?}"),
    }
}

/// Follows the keyboard and says under which name each key is written.
#[derive(Debug, Default)]
pub struct KeyNamer {
    policy: KeyPolicy,
    held: HashMap<Key, String>,
}

impl KeyNamer {
    /// A namer for a policy.
    #[must_use]
    pub fn new(policy: KeyPolicy) -> Self {
        Self { policy, held: HashMap::new() }
    }

    /// The name for a press; `None`: not to be written.
    pub fn press(&mut self, k: Key) -> Option<String> {
        let open = is_modifier(k) || is_command_key(k) || self.held.keys().any(|h| makes_shortcut(*h));
        let n = if open || self.policy == KeyPolicy::All { name(k) } else { CHAR.into() };
        self.held.insert(k, n.clone());
        (self.policy != KeyPolicy::None).then_some(n)
    }

    /// The name for a release: that of its press, so that letting go of Ctrl first tells nothing.
    pub fn release(&mut self, k: Key) -> Option<String> {
        let n = self
            .held
            .remove(&k)
            .unwrap_or_else(|| if is_modifier(k) || is_command_key(k) || self.policy == KeyPolicy::All { name(k) } else { CHAR.into() });
        (self.policy != KeyPolicy::None).then_some(n)
    }

    /// Whether `k` is down.
    #[must_use]
    pub fn holds(&self, k: Key) -> bool {
        self.held.contains_key(&k)
    }

    /// Whether `chord` is held, `k` being its key that was just pressed.
    #[must_use]
    pub fn completes(&self, chord: &Chord, k: Key) -> bool {
        let held = |any: &[Key]| any.iter().any(|m| self.held.contains_key(m));
        k == chord.key
            && held(&[Key::ControlLeft, Key::ControlRight]) == chord.ctrl
            && held(&[Key::Alt]) == chord.alt
            && held(&[Key::ShiftLeft, Key::ShiftRight]) == chord.shift
            && held(&[Key::MetaLeft, Key::MetaRight]) == chord.meta
    }
}

/// A key with modifiers, e.g. `ctrl+shift+F9`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Chord {
    ctrl: bool,
    alt: bool,
    shift: bool,
    meta: bool,
    key: Key,
}

impl Chord {
    /// Whether every program uses it, such as a letter, Enter or Escape without Ctrl, Alt or Super: nothing to be listened
    /// for whatever window is in front.
    #[must_use]
    pub fn is_everyday(&self) -> bool {
        let enters = matches!(self.key, Key::Escape | Key::Delete | Key::Return | Key::KpReturn);
        !(self.ctrl || self.alt || self.meta) && (enters || !is_command_key(self.key))
    }
}

impl std::fmt::Display for Chord {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (on, name) in [(self.ctrl, "Ctrl"), (self.alt, "Alt"), (self.shift, "Shift"), (self.meta, "Super")] {
            if on {
                write!(f, "{name}+")?;
            }
        }
        let key = name(self.key);
        f.write_str(key.strip_prefix("Key").unwrap_or(&key))
    }
}

impl FromStr for Chord {
    type Err = Error;
    fn from_str(s: &str) -> Result<Self, Error> {
        let bad = || Error::Options(format!("“{s}” is no key combination: write it like ctrl+shift+F9 or ctrl+alt+q"));
        let mut c = Self { ctrl: false, alt: false, shift: false, meta: false, key: Key::Escape };
        let mut parts: Vec<&str> = s.split('+').map(str::trim).collect();
        let key = parts.pop().ok_or_else(bad)?;
        for p in parts {
            match p.to_ascii_lowercase().as_str() {
                "ctrl" | "control" => c.ctrl = true,
                "alt" => c.alt = true,
                "shift" => c.shift = true,
                "super" | "meta" => c.meta = true,
                _ => return Err(bad()),
            }
        }
        c.key = parse_key(key).ok_or_else(bad)?;
        Ok(c)
    }
}

fn parse_key(s: &str) -> Option<Key> {
    use Key::*;
    const NAMED: [Key; 27] = [
        F1,
        F2,
        F3,
        F4,
        F5,
        F6,
        F7,
        F8,
        F9,
        F10,
        F11,
        F12,
        Escape,
        Delete,
        Return,
        Space,
        Tab,
        Home,
        End,
        PageUp,
        PageDown,
        Insert,
        Pause,
        PrintScreen,
        ScrollLock,
        UpArrow,
        DownArrow,
    ];
    const LETTERS: [Key; 26] = [
        KeyA, KeyB, KeyC, KeyD, KeyE, KeyF, KeyG, KeyH, KeyI, KeyJ, KeyK, KeyL, KeyM, KeyN, KeyO, KeyP, KeyQ, KeyR, KeyS, KeyT, KeyU, KeyV,
        KeyW, KeyX, KeyY, KeyZ,
    ];
    if let [b] = s.as_bytes() {
        return LETTERS.get(usize::from(b.to_ascii_lowercase().checked_sub(b'a')?)).copied();
    }
    NAMED.into_iter().find(|k| name(*k).eq_ignore_ascii_case(s))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(policy: KeyPolicy, keys: &[(bool, Key)]) -> Vec<Option<String>> {
        let mut n = KeyNamer::new(policy);
        keys.iter().map(|(down, k)| if *down { n.press(*k) } else { n.release(*k) }).collect()
    }

    #[test]
    fn a_password_leaves_no_trace() {
        use Key::*;
        let keys =
            [(true, ShiftLeft), (true, KeyS), (false, ShiftLeft), (false, KeyS), (true, Num7), (false, Num7), (true, AltGr), (true, KeyQ)];
        let names: Vec<_> = typed(KeyPolicy::Shortcuts, &keys).into_iter().flatten().collect();
        assert_eq!(names, ["ShiftLeft", "char", "ShiftLeft", "char", "char", "char", "AltGr", "char"]);
        assert!(typed(KeyPolicy::None, &keys).iter().all(Option::is_none));
        assert_eq!(typed(KeyPolicy::All, &keys)[1].as_deref(), Some("KeyS"));
    }

    #[test]
    fn shortcuts_are_named_and_their_release_too() {
        use Key::*;
        let keys = [(true, ControlLeft), (true, KeyZ), (false, ControlLeft), (false, KeyZ), (true, KeyZ), (true, F5), (true, Return)];
        let names: Vec<_> = typed(KeyPolicy::Shortcuts, &keys).into_iter().flatten().collect();
        assert_eq!(names, ["ControlLeft", "KeyZ", "ControlLeft", "KeyZ", "char", "F5", "Enter"]);
    }

    #[test]
    fn chords() {
        let c: Chord = "ctrl+shift+F9".parse().unwrap();
        let mut n = KeyNamer::new(KeyPolicy::None);
        n.press(Key::ControlLeft);
        n.press(Key::F9);
        assert!(!n.completes(&c, Key::F9), "shift is missing");
        n.press(Key::ShiftRight);
        assert!(n.completes(&c, Key::F9));
        n.press(Key::Alt);
        assert!(!n.completes(&c, Key::F9), "alt is too much");
        assert_eq!(c.to_string(), "Ctrl+Shift+F9");
        assert_eq!("super+alt+q".parse::<Chord>().unwrap().to_string(), "Alt+Super+Q");
        assert_eq!("alt+q".parse::<Chord>().unwrap().key, Key::KeyQ);
        for bad in ["", "ctrl+", "hyper+q", "ctrl+ä", "ctrl+zz"] {
            assert!(bad.parse::<Chord>().is_err(), "{bad}");
        }
    }
}
