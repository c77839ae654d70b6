//! Media files: what is in them, frames and samples out of them, and new ones.
//!
//! ```no_run
//! let info = redline_media::probe("request.mp4".as_ref())?;
//! let video = info.need_video()?;
//! println!("{}x{} at {}/{} fps", video.width, video.height, video.fps.0, video.fps.1);
//! # Ok::<_, redline_media::Error>(())
//! ```
//!
//! All work is done by FFmpeg's libraries; what they print is silenced, and their errors come
//! back as [`Error`], which names the file and says what to do.

mod audio_encode;
mod blank;
mod contact_sheet;
mod decode;
mod encode;
mod error;
mod flac;
mod mux;
mod open;
mod probe;
mod remux;
mod rgb;
mod scale;
mod tags;
mod transcode;
mod typeface;
mod wav;

pub use blank::blank_frames;
pub use contact_sheet::{SheetContent, SheetLayout, contact_sheet};
pub use decode::{AudioBlock, AudioBlocks, Verified, VideoFrame, VideoFrames, frames_at, verify_decodable};
pub use encode::{EncodeSettings, ScreenEncoder, has_encoder};
pub use error::{Error, Result};
pub use flac::write_flac;
pub use mux::{MuxAudio, MuxedVideo, finish_video, whole_fragments};
pub use open::init;
pub use probe::{AudioInfo, MAX_SIDE, MediaInfo, VideoInfo, probe};
pub use remux::remux;
pub use scale::{PixelOrder, Scaler, YuvPicture};
pub use tags::tags;
pub use transcode::{ExtractedAudio, Regridded, audio_to_wav, regrid};
pub use typeface::Typeface;
pub use wav::{WavReader, WavWriter};

pub use image::ImageFormat;
