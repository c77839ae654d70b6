//! What Redline knows about CAD models.
//!
//! ```no_run
//! let facts = redline_cad::step::read_facts("bracket.step".as_ref())?;
//! println!("{} faces", facts.counts.faces);
//! # Ok::<(), redline_cad::Error>(())
//! ```

mod error;
pub mod step;

pub use error::{Error, Result};
