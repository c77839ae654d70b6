//! Steering a running recorder from outside: one line a command, one line of JSON an answer, over a local socket.

mod client;
mod command;
mod server;

pub use client::{ask, socket_of};
pub use command::{Command, EndRun, MAX_CUT_S, PALETTE, Pen, Tool, WIDTHS, colour_name, parse_colour};
pub use server::{Ask, Server};
