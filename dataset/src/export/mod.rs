//! A corpus, or a part of it, for other programs.

mod harness;
mod reference;
mod request_zip;

pub use harness::{HarnessTask, Views, export_harness, harness_requests};
pub use reference::{ExportedRecords, export_records};
pub use request_zip::{export_zip, import_zip};
