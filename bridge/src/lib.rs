//! The bridge between the recorder and CAD programs.
//!
//! While a session is recorded, [`Bridge`] listens on a random loopback port. A plug-in finds port and token in a file
//! that only the user can read ([`discovery`]), introduces itself, maps its clock onto the session's by round trips
//! ([`clock_map`]) and posts numbered events, which the bridge writes once each into the session's
//! `selections.jsonl`, `commands.jsonl` and `renders.jsonl` ([`sink`]). `docs/bridge.md` describes the messages.

pub mod clock_map;
pub mod discovery;
pub mod protocol;
pub mod sink;

mod error;
mod server;

pub use error::{Error, Result};
pub use server::{Bridge, ClientInfo, Wants};
