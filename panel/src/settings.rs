//! What the panel remembers between runs: keys, the last choices, light or dark. Nothing of it lies in the corpus.

use redline_recorder::Chord;
use redline_schemas::fsio;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Something that keys are bound to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    /// Starts a take, or ends it.
    Record,
    /// Pauses, or goes on.
    Pause,
    /// Marks the moment.
    Mark,
    /// Switches drawing on and off.
    Draw,
    /// Takes the last stroke away.
    Undo,
    /// Takes all strokes away.
    Clear,
    /// Does not keep the last ten seconds.
    Cut,
}

impl Action {
    /// All of them, in the order of the panel.
    pub const ALL: [Self; 7] = [Self::Record, Self::Pause, Self::Mark, Self::Draw, Self::Undo, Self::Clear, Self::Cut];

    /// For people.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::Record => "Record / stop",
            Self::Pause => "Pause / resume",
            Self::Mark => "Mark this moment",
            Self::Draw => "Drawing on / off",
            Self::Undo => "Undo stroke",
            Self::Clear => "Clear strokes",
            Self::Cut => "Don’t keep the last 10 s",
        }
    }

    fn default_key(self) -> &'static str {
        match self {
            Self::Record => "ctrl+shift+F9",
            Self::Draw => "ctrl+shift+F8",
            Self::Pause => "ctrl+shift+F7",
            Self::Mark => "ctrl+shift+F6",
            Self::Undo => "ctrl+shift+F5",
            Self::Clear => "ctrl+shift+F4",
            Self::Cut => "ctrl+shift+F3",
        }
    }
}

/// What is remembered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Settings {
    /// Keys as written by people, for actions that do not have their usual ones; empty: none.
    pub keys: std::collections::BTreeMap<Action, String>,
    /// Dark, light, or as the system has it.
    pub dark: Option<bool>,
    /// The microphone by name; absent: the system's.
    pub microphone: Option<String>,
    /// A temporary stroke is gone so many seconds after it is finished.
    pub fade_s: f64,
    /// Seconds counted down before a take.
    pub countdown_s: u32,
    /// Each new stroke takes the next colour.
    pub cycle: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self { keys: std::collections::BTreeMap::new(), dark: None, microphone: None, fade_s: 4.0, countdown_s: 3, cycle: true }
    }
}

impl Settings {
    /// The keys of an action; `None` when there are none, or unreadable ones.
    #[must_use]
    pub fn key(&self, a: Action) -> Option<Chord> {
        self.keys.get(&a).map_or(a.default_key(), String::as_str).parse().ok()
    }

    /// Gives an action other keys. Keys of another action are refused, and so is what is no combination.
    pub fn bind(&mut self, a: Action, keys: &str) -> Result<(), String> {
        if keys.trim().is_empty() {
            self.keys.insert(a, String::new());
            return Ok(());
        }
        let chord: Chord = keys.parse().map_err(|e: redline_recorder::Error| e.to_string())?;
        if chord.is_everyday() {
            return Err(format!("Every program uses {chord}. Hold Ctrl or Alt with it"));
        }
        if let Some(other) = Action::ALL.into_iter().find(|o| *o != a && self.key(*o) == Some(chord)) {
            return Err(format!("{chord} is taken: {}", other.label()));
        }
        self.keys.insert(a, chord.to_string());
        Ok(())
    }

    /// Reads them; what is not there or cannot be read gives the usual ones.
    #[must_use]
    pub fn load() -> Self {
        file().and_then(|p| fsio::read_json(&p).ok()).unwrap_or_default()
    }

    /// Writes them.
    pub fn save(&self) -> redline_schemas::Result<()> {
        let Some(p) = file() else { return Ok(()) };
        if let Some(dir) = p.parent() {
            std::fs::create_dir_all(dir).map_err(redline_schemas::Error::io(dir, "could not create the folder"))?;
        }
        fsio::write_json(&p, self)
    }
}

fn file() -> Option<PathBuf> {
    let set = |v: &str| std::env::var_os(v).filter(|d| !d.is_empty()).map(PathBuf::from);
    let dir = set("XDG_CONFIG_HOME").or_else(|| set("HOME").map(|h| h.join(".config")))?;
    Some(dir.join("redline").join("panel.json"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_changed_and_never_bound_twice() {
        let mut s = Settings::default();
        for a in Action::ALL {
            assert!(s.key(a).is_some(), "{a:?}");
        }
        s.bind(Action::Draw, "alt+d").unwrap();
        assert_eq!(s.key(Action::Draw).unwrap().to_string(), "Alt+D");
        let e = s.bind(Action::Mark, "Alt+D").unwrap_err();
        assert!(e.contains("Drawing on / off"), "{e}");
        assert!(s.bind(Action::Mark, "hyper+x").is_err());
        assert!(s.bind(Action::Mark, "k").unwrap_err().contains("Ctrl or Alt"));
        assert!(s.bind(Action::Mark, "shift+k").is_err() && s.bind(Action::Mark, "Enter").is_err());
        s.bind(Action::Mark, "F12").unwrap();
        s.bind(Action::Mark, "").unwrap();
        assert_eq!(s.key(Action::Mark), None);
        let text = serde_json::to_string(&s).unwrap();
        assert_eq!(serde_json::from_str::<Settings>(&text).unwrap(), s);
    }
}
