//! The corpus format: the types that every stage of Redline shares.
//!
//! Stages talk through files in a corpus; this crate says what those files hold
//! ([`RequestManifest`], [`InputEvent`], [`Transcript`], …), where they lie
//! ([`Corpus`], [`SessionDir`]), how they are read and written without loss
//! ([`jsonl`], [`fsio`]) and how one clock and one picture relate all streams
//! ([`time`], [`coords`]).
//!
//! ```
//! use redline_schemas::time::FrameGrid;
//! let grid = FrameGrid::new(1_000_000, 30, 1).unwrap();
//! assert_eq!(grid.t_ns_of_frame(30), 1_001_000_000);
//! assert_eq!(grid.frame_at(1_001_000_000), 30);
//! ```

pub mod coords;
pub mod fsio;
pub mod json_schema;
pub mod jsonl;
pub mod picture;
pub mod step;
pub mod text;
pub mod time;

mod action;
mod corpus;
mod edit;
mod error;
mod events;
mod ids;
mod layout;
mod metrics;
mod model;
mod participant;
mod rating;
mod request;
mod review;
mod run;
mod session;
mod task;
mod transcript;

pub use action::*;
pub use corpus::*;
pub use edit::*;
pub use error::{Error, Result};
pub use events::*;
pub use ids::*;
pub use layout::*;
pub use metrics::*;
pub use model::*;
pub use participant::*;
pub use rating::*;
pub use request::*;
pub use review::*;
pub use run::*;
pub use session::*;
pub use task::*;
pub use transcript::*;

/// The corpus format's version, written into every manifest.
///
/// A reader accepts its own version only; `Error::Version` names both.
pub const FORMAT_VERSION: u32 = 1;

/// UTC wall-clock time, RFC 3339 in files.
pub type Utc = chrono::DateTime<chrono::Utc>;
