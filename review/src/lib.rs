//! The oracle correction loop: a requestor corrects the automatic transcript of the own request, a
//! different expert accepts it or returns it, and the accepted text is written beside the request.
//!
//! [`Flow`] holds the rules and [`Store`](store::Store) the state (SQLite); [`serve()`] puts a web page on top.
//! Aligning accepted texts again is brought in from outside, see [`Realigner`].
//!
//! ```
//! use redline_review::text::distance;
//! let d = distance("make the fill it bigger", "make the fillet bigger");
//! assert_eq!((d.chars, d.words), (2, 2));
//! ```

pub mod carry;
pub mod flow;
pub mod rate;
pub mod stats;
pub mod store;
pub mod text;

mod error;
mod import;
mod oracle;
mod realign;
mod reject;
mod scan;
mod server;
#[cfg(test)]
mod testing;

pub use error::{Error, Result};
pub use flow::{Flow, Person};
pub use realign::{RETRY_MS, Realigner};
pub use server::{Options, serve};
