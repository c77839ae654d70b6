use crate::Error;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// What an agent did with mouse and keys; places are screen pixels.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Action {
    /// Moved the mouse.
    Move {
        /// Where to.
        x: f64,
        /// Where to.
        y: f64,
    },
    /// Pressed a button and let it go.
    Click {
        /// Where.
        x: f64,
        /// Where.
        y: f64,
        /// 1 left, 2 middle, 3 right.
        button: u8,
    },
    /// Clicked twice with the left button.
    DoubleClick {
        /// Where.
        x: f64,
        /// Where.
        y: f64,
    },
    /// Moved with a button held down.
    Drag {
        /// Where from.
        x: f64,
        /// Where from.
        y: f64,
        /// Where to.
        to_x: f64,
        /// Where to.
        to_y: f64,
        /// 1 left, 2 middle, 3 right.
        button: u8,
    },
    /// Turned the wheel.
    Scroll {
        /// Where.
        x: f64,
        /// Where.
        y: f64,
        /// Notches; down is positive.
        notches: i32,
    },
    /// Pressed keys together, such as `ctrl+s`.
    Key {
        /// The keys.
        keys: String,
    },
    /// Typed a text.
    Type {
        /// The text.
        text: String,
    },
    /// Did nothing for a while.
    Wait,
}

impl Action {
    /// The name in tables.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Move { .. } => "move",
            Self::Click { .. } => "click",
            Self::DoubleClick { .. } => "double_click",
            Self::Drag { .. } => "drag",
            Self::Scroll { .. } => "scroll",
            Self::Key { .. } => "key",
            Self::Type { .. } => "type",
            Self::Wait => "wait",
        }
    }

    /// Where it began, if it has a place.
    #[must_use]
    pub fn place(&self) -> Option<(f64, f64)> {
        match self {
            Self::Move { x, y }
            | Self::Click { x, y, .. }
            | Self::DoubleClick { x, y }
            | Self::Drag { x, y, .. }
            | Self::Scroll { x, y, .. } => Some((*x, *y)),
            Self::Key { .. } | Self::Type { .. } | Self::Wait => None,
        }
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Move { x, y } => write!(f, "move {x} {y}"),
            Self::Click { x, y, button: 1 } => write!(f, "click {x} {y}"),
            Self::Click { x, y, button } => write!(f, "click {x} {y} {button}"),
            Self::DoubleClick { x, y } => write!(f, "double_click {x} {y}"),
            Self::Drag { x, y, to_x, to_y, button: 1 } => write!(f, "drag {x} {y} {to_x} {to_y}"),
            Self::Drag { x, y, to_x, to_y, button } => write!(f, "drag {x} {y} {to_x} {to_y} {button}"),
            Self::Scroll { x, y, notches } => write!(f, "scroll {x} {y} {notches}"),
            Self::Key { keys } => write!(f, "key {keys}"),
            Self::Type { text } => write!(f, "type {text}"),
            Self::Wait => f.write_str("wait"),
        }
    }
}

impl FromStr for Action {
    type Err = Error;

    fn from_str(s: &str) -> Result<Self, Error> {
        let (kind, rest) = s.split_once(char::is_whitespace).unwrap_or((s, ""));
        let numbers: Option<Vec<f64>> = rest.split_whitespace().map(|n| n.parse().ok().filter(|n: &f64| n.is_finite())).collect();
        let button = |b: f64| (1.0..=9.0).contains(&b).then_some(b as u8);
        let action = match (kind, numbers.as_deref()) {
            ("move", Some(&[x, y])) => Some(Self::Move { x, y }),
            ("click", Some(&[x, y])) => Some(Self::Click { x, y, button: 1 }),
            ("click", Some(&[x, y, b])) => button(b).map(|button| Self::Click { x, y, button }),
            ("double_click", Some(&[x, y])) => Some(Self::DoubleClick { x, y }),
            ("drag", Some(&[x, y, to_x, to_y])) => Some(Self::Drag { x, y, to_x, to_y, button: 1 }),
            ("drag", Some(&[x, y, to_x, to_y, b])) => button(b).map(|button| Self::Drag { x, y, to_x, to_y, button }),
            ("scroll", Some(&[x, y, n])) if n.fract() == 0.0 && n.abs() < 1e6 => Some(Self::Scroll { x, y, notches: n as i32 }),
            ("key", _) if !rest.trim().is_empty() => Some(Self::Key { keys: rest.trim().into() }),
            // As it was typed, blanks and all.
            ("type", _) if !rest.is_empty() => Some(Self::Type { text: rest.into() }),
            ("wait", Some(&[])) => Some(Self::Wait),
            _ => None,
        };
        action.ok_or_else(|| {
            Error::Value(format!(
                "“{}” is no action; write move X Y, click X Y [BUTTON], double_click X Y, drag X Y X Y [BUTTON], scroll X Y NOTCHES, \
                 key KEYS, type TEXT or wait",
                s.chars().take(80).collect::<String>()
            ))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn actions_read_as_they_are_written() {
        let all = [
            "move 1 2",
            "click 10 20.5",
            "click 10 20 3",
            "double_click 1 1",
            "drag 1 2 3 4",
            "drag 1 2 3 4 2",
            "scroll 5 5 -3",
            "key ctrl+s",
            "type  two  blanks",
            "wait",
        ];
        for s in all {
            let a: Action = s.parse().unwrap();
            assert_eq!(a.to_string(), s);
            assert!(s.starts_with(a.kind()));
            assert_eq!(serde_json::from_value::<Action>(serde_json::to_value(&a).unwrap()).unwrap(), a);
        }
        assert_eq!("click 10 20".parse::<Action>().unwrap(), Action::Click { x: 10.0, y: 20.0, button: 1 });
    }

    #[test]
    fn others_are_refused() {
        for bad in
            ["", "click", "click 1", "click a b", "click 1 NaN", "click 1 2 0", "scroll 1 2 0.5", "key", "type", "wait 3", "jump 1 2"]
        {
            assert!(bad.parse::<Action>().is_err(), "{bad}");
        }
    }
}
