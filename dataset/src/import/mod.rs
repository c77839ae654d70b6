//! What was recorded elsewhere, as sessions of a corpus.

mod video;

pub use video::{ImportedVideo, VIDEO_FPS, VIDEO_HEIGHT, VideoImport, import_video};
