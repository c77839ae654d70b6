//! Pictures of a raw recording replaced by black ones.

use crate::{EncodeSettings, Error, Result, ScreenEncoder, VideoFrames, YuvPicture};
use std::path::Path;

/// Finer than the first encoding, so that the second one is not to be seen.
const CRF: u8 = 16;

/// Writes a [`ScreenEncoder`] file anew; frames (counted from 0) for which `black` says so are black.
///
/// Everything is encoded again: a picture is stored as its difference to the ones before, so no part of a black
/// picture's neighbours may be copied.
pub fn blank_frames(from: &Path, to: &Path, fps: u32, black: impl Fn(i64) -> bool) -> Result<()> {
    let mut source = VideoFrames::open(from)?;
    let (width, height) = (source.info().width, source.info().height);
    let mut encoder = ScreenEncoder::create(to, &EncodeSettings { crf: CRF, ..EncodeSettings::new(width, height, fps) })?;
    let mut dark = YuvPicture::new(width, height);
    for (plane, value) in [(0, 16), (1, 128), (2, 128)] {
        dark.0.data_mut(plane).fill(value);
    }
    let mut frame = 0;
    while let Some((_, picture)) = source.next_raw()? {
        if black(frame) {
            encoder.encode(&mut dark, frame)?;
        } else {
            let mut picture = YuvPicture(picture);
            // The decoder's choice of picture type is not the encoder's.
            picture.0.set_kind(ffmpeg_next::picture::Type::None);
            encoder.encode(&mut picture, frame)?;
        }
        frame += 1;
    }
    if frame == 0 {
        return Err(Error::Truncated { path: from.into(), detail: "not one whole frame is in it".into() });
    }
    encoder.finish()
}
