//! A corpus, or a part of it, for other programs.

mod reference;
mod request_zip;

pub use reference::{ExportedRecords, export_records};
pub use request_zip::{export_zip, import_zip};
