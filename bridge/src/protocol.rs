//! The messages, version 1. JSON over HTTP on loopback; every request carries `Authorization: Bearer TOKEN`.
//!
//! Plug-in times (`*_client_ns`) are nanoseconds on any monotonic clock of the plug-in's choice; the bridge maps them.

use redline_schemas::{CommandKind, Entity, SelectionKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The protocol's version. A plug-in with another one is refused with a message that names both.
pub const PROTOCOL_VERSION: u32 = 1;

/// The largest JSON message, bytes.
pub const MAX_MESSAGE_BYTES: usize = 4 << 20;

/// The largest render or model file, bytes.
pub const MAX_FILE_BYTES: usize = 256 << 20;

/// The most events in one message.
pub const MAX_EVENTS: usize = 1000;

/// `POST /v1/hello`: a plug-in introduces itself, again after each loss of contact.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Hello {
    /// [`PROTOCOL_VERSION`].
    pub protocol: u32,
    /// A random name that the plug-in keeps as long as its program runs; its `seq` counts within it.
    #[schemars(regex(pattern = r"^[A-Za-z0-9_-]{8,64}$"))]
    pub client: String,
    /// The CAD program, e.g. `FreeCAD`.
    pub program: String,
    /// Its version.
    pub program_version: String,
    /// The open document's name, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub document: Option<String>,
}

/// Answer to [`Hello`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Welcome {
    /// [`PROTOCOL_VERSION`].
    pub protocol: u32,
    /// The last `seq` that is stored; the plug-in goes on after it.
    pub acknowledged: u64,
    /// Least time between two renders, milliseconds.
    pub render_interval_ms: u64,
    /// Whether model states are wanted after each command.
    pub wants_states: bool,
    /// Whether the final model is wanted when the session ends (`closing` in the bridge's file).
    #[serde(default)]
    pub wants_final: bool,
}

/// `POST /v1/bye`: everything was sent, the final model too if it was wanted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Bye {
    /// As in [`Hello`].
    pub client: String,
}

/// Answer to `GET /v1/clock`: session time, read while answering.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClockAnswer {
    /// Session time.
    pub t_ns: i64,
}

/// A round trip, as the plug-in saw it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RoundTrip {
    /// Plug-in's clock before asking.
    pub sent_client_ns: i64,
    /// What the bridge answered.
    pub t_ns: i64,
    /// Plug-in's clock after the answer.
    pub received_client_ns: i64,
}

/// `POST /v1/clock`: round trips for mapping the plug-in's clock; at least 8 at first, then some every minute.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClockReport {
    /// As in [`Hello`].
    pub client: String,
    /// In order.
    #[schemars(length(min = 1, max = 1000))]
    pub round_trips: Vec<RoundTrip>,
}

/// `POST /v1/events`: numbered events, in order. Sent again until acknowledged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Events {
    /// As in [`Hello`].
    pub client: String,
    /// Events with rising `seq`.
    #[schemars(length(max = 1000))]
    pub events: Vec<Event>,
}

/// Answer to [`Events`] and to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Acknowledged {
    /// All events up to this `seq` are stored; the plug-in may forget them.
    pub acknowledged: u64,
}

/// One event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Event {
    /// Running number, from 1, without gaps unless the plug-in had to drop events (which it says with `lost`).
    pub seq: u64,
    /// When it happened, on the plug-in's clock.
    pub client_ns: i64,
    /// What happened.
    #[serde(flatten)]
    pub what: What,
}

/// What happened in the CAD program.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum What {
    /// The selection changed.
    Selection {
        /// How.
        kind: SelectionKind,
        /// What it changed for.
        #[serde(default)]
        entity: Option<Entity>,
        /// Picked point in the model, millimetres.
        #[serde(default)]
        point: Option<[f64; 3]>,
        /// Picked point in the viewport, pixels from its top left.
        #[serde(default)]
        viewport: Option<[f64; 2]>,
        /// The whole selection after the change.
        #[serde(default)]
        set: Vec<Entity>,
    },
    /// A command, the camera or the document changed.
    Command {
        /// How.
        kind: CommandKind,
        /// The program's id of the command.
        #[serde(default)]
        command_id: Option<String>,
        /// Its name as people see it.
        #[serde(default)]
        name: Option<String>,
        /// Parameters or details.
        #[serde(default)]
        parameters: Option<serde_json::Value>,
    },
    /// The plug-in had to drop events (its buffer was full).
    Lost {
        /// How many.
        count: u64,
    },
}

/// An error answer's body.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Refusal {
    /// What is wrong and what to do.
    pub error: String,
}

/// Name and JSON Schema of every message.
#[must_use]
pub fn json_schemas() -> Vec<(&'static str, schemars::Schema)> {
    use schemars::schema_for;
    vec![
        ("hello", schema_for!(Hello)),
        ("welcome", schema_for!(Welcome)),
        ("clock_answer", schema_for!(ClockAnswer)),
        ("clock_report", schema_for!(ClockReport)),
        ("events", schema_for!(Events)),
        ("acknowledged", schema_for!(Acknowledged)),
        ("bye", schema_for!(Bye)),
        ("refusal", schema_for!(Refusal)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    /// `REDLINE_BLESS=1 cargo test -p redline-bridge` writes them anew.
    #[test]
    fn checked_in_schemas_are_fresh() {
        let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("json");
        for (name, schema) in json_schemas() {
            let path = dir.join(format!("{name}.schema.json"));
            let want = redline_schemas::json_schema::text(&schema);
            if std::env::var_os("REDLINE_BLESS").is_some() {
                std::fs::create_dir_all(&dir).unwrap();
                std::fs::write(&path, &want).unwrap();
            }
            let have = std::fs::read_to_string(&path).unwrap_or_default();
            assert!(have == want, "{} is stale: REDLINE_BLESS=1 cargo test -p redline-bridge", path.display());
        }
    }
}
