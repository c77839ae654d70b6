//! Automatic metrics of edits: what a CAD kernel says of the final model, and how near it is to the requestor's own.

mod measure;
mod references;

pub use measure::Measurer;

use redline_schemas::EditMetrics;

/// What became of an edit.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// Measured now; its `metrics.json` is written.
    Measured(Box<EditMetrics>),
    /// Nothing has changed since it was measured.
    UpToDate(Box<EditMetrics>),
    /// It can't be measured yet, and why.
    NotYet(&'static str),
}
