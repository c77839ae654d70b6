//! What can be asked of a running recorder.

use crate::Error;
use std::fmt;
use std::str::FromStr;

/// What the pen does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Tool {
    /// Freehand.
    Pen,
    /// A straight arrow from where the button goes down to where it comes up.
    Arrow,
    /// Removes the strokes that it touches.
    Eraser,
}

impl Tool {
    /// All of them, in the order of the panel.
    pub const ALL: [Self; 3] = [Self::Pen, Self::Arrow, Self::Eraser];

    /// The name in commands and files.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pen => "pen",
            Self::Arrow => "arrow",
            Self::Eraser => "eraser",
        }
    }
}

/// A change of the pen.
#[derive(Debug, Clone, PartialEq)]
pub enum Pen {
    /// Red, green, blue.
    Colour([u8; 3]),
    /// The next colour of the palette.
    NextColour,
    /// Whether each new stroke takes the next colour.
    Cycle(bool),
    /// Width, screen pixels.
    Width(f32),
    /// What it does.
    Tool(Tool),
}

/// How an agent's run ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct EndRun {
    /// Why.
    pub stop: redline_schemas::RunStop,
    /// What the agent says of itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claimed_success: Option<bool>,
}

/// A command.
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    /// Switches drawing on or off; `None` changes over.
    Draw(Option<bool>),
    /// Changes the pen.
    Pen(Pen),
    /// Takes the last stroke away.
    Undo,
    /// Takes all strokes away.
    Clear,
    /// Stops writing until `resume`.
    Pause,
    /// Goes on.
    Resume,
    /// Pauses, or goes on.
    PauseToggle,
    /// Marks this moment.
    Mark(Option<String>),
    /// The last so many seconds are not to be kept.
    Cut(f64),
    /// The typed text is now this.
    Text(String),
    /// An agent's next step, see [`crate::steps::StepAsked`].
    Step(crate::steps::StepAsked),
    /// An agent's run ends.
    EndRun(EndRun),
    /// Ends the recording and keeps it.
    Stop,
    /// Ends the recording and puts it into the bin.
    Discard,
    /// Says how it is.
    Status,
}

/// The palette: told apart by name in speech, and on light and dark backgrounds.
pub const PALETTE: [(&str, [u8; 3]); 8] = [
    ("red", [0xe5, 0x39, 0x35]),
    ("blue", [0x1e, 0x88, 0xe5]),
    ("green", [0x2e, 0xa0, 0x43]),
    ("orange", [0xfb, 0x8c, 0x00]),
    ("purple", [0x8e, 0x24, 0xaa]),
    ("cyan", [0x00, 0xac, 0xc1]),
    ("yellow", [0xfd, 0xd8, 0x35]),
    ("black", [0x21, 0x21, 0x21]),
];

/// Widths that make sense on a screen, pixels.
pub const WIDTHS: std::ops::RangeInclusive<f32> = 1.0..=40.0;

/// The longest span that can be cut at once, seconds.
pub const MAX_CUT_S: f64 = 3600.0;

const COMMANDS: &str = "draw on|off, pen colour|width|tool|cycle VALUE, undo, clear, pause, resume, mark [NOTE], cut SECONDS, \
                        text TEXT, step JSON, end-run JSON, stop, discard, status";

impl FromStr for Command {
    type Err = Error;

    fn from_str(line: &str) -> Result<Self, Error> {
        let line = line.trim();
        let (verb, rest) = line.split_once(char::is_whitespace).map_or((line, ""), |(v, r)| (v, r.trim()));
        let bad = |what: String| Error::Options(format!("{what}; commands are: {COMMANDS}"));
        let bare = |c: Self| if rest.is_empty() { Ok(c) } else { Err(bad(format!("“{verb}” takes nothing after it"))) };
        match verb {
            "draw" => match rest {
                "on" => Ok(Self::Draw(Some(true))),
                "off" => Ok(Self::Draw(Some(false))),
                "" | "toggle" => Ok(Self::Draw(None)),
                _ => Err(bad(format!("“draw {rest}”: write draw on or draw off"))),
            },
            "pen" => parse_pen(rest).map(Self::Pen),
            "undo" => bare(Self::Undo),
            "clear" => bare(Self::Clear),
            "pause" if rest == "toggle" => Ok(Self::PauseToggle),
            "pause" => bare(Self::Pause),
            "resume" => bare(Self::Resume),
            "mark" => Ok(Self::Mark((!rest.is_empty()).then(|| rest.to_owned()))),
            "cut" => match rest.trim_end_matches('s').parse::<f64>() {
                Ok(s) if s > 0.0 && s <= MAX_CUT_S => Ok(Self::Cut(s)),
                _ => Err(Error::Options(format!("“cut {rest}”: give the seconds that are not to be kept, up to {MAX_CUT_S}"))),
            },
            // A JSON string, so that the text may hold newlines; anything else is taken as it is.
            "text" => Ok(Self::Text(serde_json::from_str(rest).unwrap_or_else(|_| rest.to_owned()))),
            "step" => serde_json::from_str(rest).map(Self::Step).map_err(|e| bad(format!("“step” takes a JSON object ({e})"))),
            "end-run" => serde_json::from_str(rest).map(Self::EndRun).map_err(|e| bad(format!("“end-run” takes a JSON object ({e})"))),
            "stop" => bare(Self::Stop),
            "discard" => bare(Self::Discard),
            "status" => bare(Self::Status),
            _ => Err(bad(format!("“{}” is no command", verb.chars().take(40).collect::<String>()))),
        }
    }
}

fn parse_pen(rest: &str) -> Result<Pen, Error> {
    let (what, value) = rest.split_once(char::is_whitespace).map_or((rest, ""), |(w, v)| (w, v.trim()));
    let bad = |hint: &str| Error::Options(format!("“pen {rest}”: {hint}"));
    match what {
        "colour" | "color" if value == "next" => Ok(Pen::NextColour),
        "colour" | "color" => parse_colour(value).map(Pen::Colour).ok_or_else(|| {
            let names: Vec<_> = PALETTE.iter().map(|p| p.0).collect();
            bad(&format!("write #rrggbb, next, or one of {}", names.join(", ")))
        }),
        "cycle" => match value {
            "on" => Ok(Pen::Cycle(true)),
            "off" => Ok(Pen::Cycle(false)),
            _ => Err(bad("write on or off")),
        },
        "width" => match value.parse::<f32>() {
            Ok(w) if WIDTHS.contains(&w) => Ok(Pen::Width(w)),
            _ => Err(bad("give a width of 1 to 40 pixels")),
        },
        "tool" => Tool::ALL.into_iter().find(|t| t.as_str() == value).map(Pen::Tool).ok_or_else(|| bad("write pen, arrow or eraser")),
        _ => Err(bad("write pen colour, pen width, pen tool or pen cycle")),
    }
}

/// `#rrggbb` or a name of the palette.
#[must_use]
pub fn parse_colour(s: &str) -> Option<[u8; 3]> {
    if let Some((_, rgb)) = PALETTE.iter().find(|p| p.0 == s) {
        return Some(*rgb);
    }
    let hex = s.strip_prefix('#').filter(|h| h.len() == 6 && h.bytes().all(|b| b.is_ascii_hexdigit()))?;
    let n = u32::from_str_radix(hex, 16).ok()?;
    Some([(n >> 16) as u8, (n >> 8) as u8, n as u8])
}

/// `#rrggbb`.
#[must_use]
pub fn colour_name([r, g, b]: [u8; 3]) -> String {
    format!("#{r:02x}{g:02x}{b:02x}")
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let on = |b: bool| if b { "on" } else { "off" };
        match self {
            Self::Draw(None) => f.write_str("draw toggle"),
            Self::Draw(Some(b)) => write!(f, "draw {}", on(*b)),
            Self::Pen(Pen::Colour(c)) => write!(f, "pen colour {}", colour_name(*c)),
            Self::Pen(Pen::NextColour) => f.write_str("pen colour next"),
            Self::Pen(Pen::Cycle(b)) => write!(f, "pen cycle {}", on(*b)),
            Self::Pen(Pen::Width(w)) => write!(f, "pen width {w}"),
            Self::Pen(Pen::Tool(t)) => write!(f, "pen tool {}", t.as_str()),
            Self::Undo => f.write_str("undo"),
            Self::Clear => f.write_str("clear"),
            Self::Pause => f.write_str("pause"),
            Self::Resume => f.write_str("resume"),
            Self::PauseToggle => f.write_str("pause toggle"),
            Self::Mark(None) => f.write_str("mark"),
            // A line is a command: a note has none of its own.
            Self::Mark(Some(n)) => write!(f, "mark {}", n.replace(['\n', '\r'], " ")),
            Self::Cut(s) => write!(f, "cut {s}"),
            Self::Text(t) => write!(f, "text {}", serde_json::Value::from(t.as_str())),
            Self::Step(s) => write!(f, "step {}", serde_json::to_string(s).map_err(|_| fmt::Error)?),
            Self::EndRun(e) => write!(f, "end-run {}", serde_json::to_string(e).map_err(|_| fmt::Error)?),
            Self::Stop => f.write_str("stop"),
            Self::Discard => f.write_str("discard"),
            Self::Status => f.write_str("status"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn commands_read_as_they_are_written() {
        let all = [
            "draw on",
            "draw off",
            "draw toggle",
            "pen colour #1e88e5",
            "pen colour next",
            "pen cycle on",
            "pen width 4.5",
            "pen tool arrow",
            "undo",
            "clear",
            "pause",
            "resume",
            "pause toggle",
            "mark",
            "mark this hole",
            "cut 5.5",
            "text \"a\\nb \u{5d0}\"",
            "step {\"action\":{\"kind\":\"click\",\"x\":1.0,\"y\":2.0,\"button\":1},\"note\":\"a\\nb\"}",
            "step {}",
            "end-run {\"stop\":\"done\",\"claimed_success\":true}",
            "stop",
            "discard",
            "status",
        ];
        for line in all {
            assert_eq!(line.parse::<Command>().unwrap().to_string(), line);
        }
        assert_eq!("pen colour red".parse::<Command>().unwrap(), Command::Pen(Pen::Colour([0xe5, 0x39, 0x35])));
        assert_eq!("text plain words".parse::<Command>().unwrap(), Command::Text("plain words".into()));
    }

    #[test]
    fn what_cannot_be_meant_is_refused_with_what_can() {
        for bad in
            ["", "jump", "draw maybe", "pen", "pen width 0", "pen width NaN", "pen colour #12", "cut", "cut -1", "cut inf", "stop now"]
        {
            let e = bad.parse::<Command>().unwrap_err().to_string();
            assert!(e.len() > 20, "{bad}: {e}");
        }
    }

    proptest! {
        #[test]
        fn any_text_survives_the_line(t in ".{0,40}") {
            let c = Command::Text(t);
            let line = c.to_string();
            prop_assert!(!line.contains('\n'));
            prop_assert_eq!(line.parse::<Command>().unwrap(), c);
        }

        #[test]
        fn any_line_is_no_panic(line in ".{0,60}") {
            let _ = line.parse::<Command>();
        }
    }
}
