//! From a corpus to a dataset that others can load and trust.
//!
//! [`import`] and [`export`] are the ways in and out, [`check`] finds what is wrong, [`stats`] counts, [`tables`] says what the published tables hold, [`pack`] writes them as Parquet,
//! [`release`] publishes a version that never changes, [`runs`] reports what agents did.

pub mod check;
pub mod export;
pub mod import;
pub mod pack;
pub mod publish;
pub mod release;
pub mod runs;
pub mod stats;
pub mod tables;

mod error;

pub use error::{Error, Result};
