//! What the published tables hold: one file a table.
//!
//! Each declares its row once; schema, builder and documentation follow from that. Tables are long:
//! a row an event or a word, never a list in a cell. `session_id` is a `request_id`, an `edit_id` or a `run_id`;
//! media columns hold paths relative to the folder that the corpus or release lies in.

mod column;
mod define;
pub mod docs;
#[cfg(test)]
mod golden;

pub mod commands;
pub mod edits;
pub mod events;
pub mod marks;
pub mod metrics;
pub mod models;
pub mod participants;
pub mod ratings;
pub mod renders;
pub mod requests;
pub mod revisions;
pub mod runs;
pub mod scores;
pub mod selections;
pub mod steps;
pub mod strokes;
pub mod transcripts;
pub mod typing;
pub mod words;

pub use column::{Audio, Bool, ColumnType, Float, Id, Image, Int, Json, Kind, Label, Media, Scalar, Text, Time, Utc, Video};
pub(crate) use define::table;
pub use define::{Column, TABLES_VERSION, Table, TableBuilder};

/// All tables, in the order in which they are explained.
pub const ALL: &[Table] = &[
    participants::TABLE,
    models::TABLE,
    requests::TABLE,
    edits::TABLE,
    transcripts::TABLE,
    words::TABLE,
    revisions::TABLE,
    events::TABLE,
    strokes::TABLE,
    selections::TABLE,
    commands::TABLE,
    typing::TABLE,
    renders::TABLE,
    marks::TABLE,
    ratings::TABLE,
    metrics::TABLE,
    runs::TABLE,
    steps::TABLE,
    scores::TABLE,
];

/// The table called `name`.
#[must_use]
pub fn by_name(name: &str) -> Option<&'static Table> {
    ALL.iter().find(|t| t.name == name)
}
