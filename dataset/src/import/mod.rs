//! What was recorded elsewhere, as sessions of a corpus.

mod reference_raw;
mod reference_records;
pub(crate) mod reference_time;
mod video;

pub use reference_raw::import_raw;
pub use reference_records::{ImportedRecords, REFERENCE_JSON, import_records};
pub use video::{ImportedVideo, VIDEO_FPS, VIDEO_HEIGHT, VideoImport, import_video};
