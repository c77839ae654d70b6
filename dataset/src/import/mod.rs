//! What was recorded elsewhere, as sessions of a corpus.

mod harness;
mod harness_settings;
mod reference_raw;
mod reference_records;
pub(crate) mod reference_time;
mod still;
pub(crate) mod temporary;
mod video;

pub use harness::{HARNESS_SETTINGS, HarnessEdit, HarnessImport, HarnessOutcome, harness_folders};
pub use reference_raw::import_raw;
pub use reference_records::{ImportedRecords, REFERENCE_JSON, import_records};
pub use video::{ImportedVideo, VIDEO_FPS, VIDEO_HEIGHT, VideoImport, import_video};
