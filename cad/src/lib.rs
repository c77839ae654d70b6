//! What Redline knows about CAD models: [`step`] reads a file's own words, [`Examiner`] asks a CAD kernel.
//!
//! ```no_run
//! let facts = redline_cad::step::read_facts("bracket.step".as_ref())?;
//! println!("{} faces", facts.counts.faces);
//! # Ok::<(), redline_cad::Error>(())
//! ```

pub mod compare;
mod error;
mod facts;
pub mod features;
mod mesh;
pub mod page;
mod render;
pub mod step;

pub use error::{Error, Result};
pub use facts::{BoundingBox, DEFAULT_PATIENCE, Examiner, Facts, ModelFacts};
pub use mesh::Mesh;
