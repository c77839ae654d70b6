//! FLAC from a recorded WAV: the same samples in half the space.

use crate::audio_encode::AudioEncoder;
use crate::{Error, Result, WavReader};
use ff::format::sample::Type;
use ffmpeg_next as ff;
use std::path::Path;

/// Writes all of `wav` to `to`, sample for sample.
pub fn write_flac(wav: &WavReader, to: &Path) -> Result<()> {
    crate::init();
    let mut output = ff::format::output_as(to, "flac").map_err(Error::write(to, "could not create"))?;
    let mut encoder = AudioEncoder::open(to, &mut output, "flac", wav.rate(), ff::format::Sample::I16(Type::Packed), None)?;
    output.write_header().map_err(Error::write(to, "could not write"))?;
    let mut buf = vec![0; encoder.frame_size()];
    let mut at = 0;
    loop {
        let n = wav.read_at(at, &mut buf)?;
        if n == 0 {
            break;
        }
        encoder.encode(&mut output, n, |plane: &mut [i16]| plane[..n].copy_from_slice(&buf[..n]))?;
        at += n as u64;
    }
    encoder.finish(&mut output)?;
    output.write_trailer().map_err(Error::write(to, "could not write"))
}
