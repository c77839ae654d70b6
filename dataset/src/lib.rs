//! From a corpus to a dataset that others can load and trust.
//!
//! [`check`] finds what is wrong, [`tables`] says what the published tables hold, [`pack`] writes them as Parquet,
//! [`release`] publishes a version that never changes.

pub mod check;
pub mod import;
pub mod pack;
pub mod release;
pub mod tables;

mod error;

pub use error::{Error, Result};
