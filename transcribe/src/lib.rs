//! From sound to words that have a place in time.

pub mod align;
pub mod cache;

mod error;

pub use error::{Error, Result};
