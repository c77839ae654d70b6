//! Any video as constant-rate H.264, and any audio as mono WAV, with their places in time.

use crate::rgb::Converter;
use crate::{AudioBlocks, EncodeSettings, Error, Result, ScreenEncoder, VideoFrames, WavWriter, YuvPicture};
use ffmpeg_next as ff;
use redline_schemas::coords::{Rect, video_size};
use redline_schemas::time::{AudioClock, AudioPiece, FrameGrid, NS_PER_S, from_seconds};
use std::path::Path;

/// The longest pause between two pictures that is bridged by repeating the first.
const MAX_PAUSE_NS: i64 = 3600 * NS_PER_S;

/// A jump of the audio's time stamps that starts a new piece; less is rounding.
const GAP_NS: i64 = 20_000_000;

/// What [`regrid`] wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Regridded {
    /// The size of the pictures.
    pub width: u32,
    /// The size of the pictures.
    pub height: u32,
    /// Frames written.
    pub frames: u64,
    /// Slots that repeat the picture before.
    pub repeated_slots: u64,
    /// Pictures left out, because another one fell into their slot.
    pub dropped_frames: u64,
    /// Mean and largest distance of a picture from its slot.
    pub error_ns: (i64, i64),
    /// The first picture's time in the source.
    pub first_ns: i64,
}

/// Re-encodes a video, at most `max_height` high, with one picture a slot of a `fps` grid that starts at the first picture.
///
/// The result is a raw recording for [`crate::finish_video`].
pub fn regrid(from: &Path, raw: &Path, max_height: u32, fps: u32, progress: &mut dyn FnMut(i64)) -> Result<Regridded> {
    let mut source = VideoFrames::open(from)?;
    let Some((first_ns, frame)) = source.next_raw()? else {
        return Err(Error::Truncated { path: from.into(), detail: "there is not one whole picture in it".into() });
    };
    let (width, height) = target_size(&frame, max_height);
    let mut encoder = ScreenEncoder::create(raw, &EncodeSettings::new(width, height, fps))?;
    let grid = FrameGrid { first_t_ns: first_ns, fps_num: fps.max(1), fps_den: 1 };
    let mut done = Regridded { width, height, frames: 0, repeated_slots: 0, dropped_frames: 0, error_ns: (0, 0), first_ns };
    let mut errors = (0_i128, 0_i128);
    let mut converter: Option<Converter> = None;
    let mut picture = YuvPicture::new(width, height);
    let mut shown = 0; // the slot that `picture` stands for
    let mut current = Some((first_ns, frame));
    while let Some((t, frame)) = current {
        let slot = grid.nearest_frame(t).max(shown);
        if t - grid.t_ns_of_frame(shown) > MAX_PAUSE_NS {
            return Err(Error::Damaged { path: from.into(), detail: format!("its time stamps jump by {} s", (t - first_ns) / NS_PER_S) });
        }
        if slot > shown {
            // Until now a later picture could have taken the slot; now it is settled.
            for s in shown..slot {
                encoder.encode(&mut picture, s)?;
                done.repeated_slots += u64::from(s > shown);
                done.frames += 1;
            }
        } else if converter.is_some() {
            done.dropped_frames += 1;
        }
        let c = match converter.take().filter(|c| c.fits(&frame)) {
            Some(c) => converter.insert(c),
            None => converter.insert(
                Converter::new(&frame, ff::format::Pixel::YUV420P, width, height).map_err(Error::read(from, "converting a picture"))?,
            ),
        };
        c.run(&frame, &mut picture.0).map_err(Error::read(from, "converting a picture"))?;
        errors.0 += i128::from((t - grid.t_ns_of_frame(slot)).abs());
        errors.1 += 1;
        done.error_ns.1 = done.error_ns.1.max((t - grid.t_ns_of_frame(slot)).abs());
        shown = slot;
        progress(t - first_ns);
        current = source.next_raw()?;
    }
    encoder.encode(&mut picture, shown)?;
    done.frames += 1;
    done.error_ns.0 = (errors.0 / errors.1.max(1)) as i64;
    encoder.finish()?;
    Ok(done)
}

/// Size for square pixels, at most `max_height` high, both sides even.
fn target_size(frame: &ff::frame::Video, max_height: u32) -> (u32, u32) {
    let sar = frame.aspect_ratio();
    let square = sar.numerator() > 0 && sar.denominator() > 0;
    let sar = if square { f64::from(sar.numerator()) / f64::from(sar.denominator()) } else { 1.0 };
    let width = (f64::from(frame.width()) * sar).round().clamp(2.0, f64::from(crate::MAX_SIDE)) as u32;
    video_size(Rect { x: 0, y: 0, width, height: frame.height() }, max_height)
}

/// What [`audio_to_wav`] wrote.
#[derive(Debug, Clone, PartialEq)]
pub struct ExtractedAudio {
    /// The samples on the container's clock, a piece for each stretch without a gap.
    pub clock: AudioClock,
    /// Largest absolute sample, 0 to 1.
    pub peak: f32,
}

/// Writes a file's audio as mono 16-bit WAV at its native rate.
pub fn audio_to_wav(from: &Path, wav: &Path) -> Result<ExtractedAudio> {
    let blocks = AudioBlocks::open(from)?;
    let rate = blocks.info().sample_rate;
    let mut writer = WavWriter::create(wav, rate)?;
    let mut pieces: Vec<AudioPiece> = Vec::new();
    let (mut written, mut peak) = (0_u64, 0_f32);
    for block in blocks {
        let block = block?;
        let due = pieces.last().map(|p| p.t0_ns + from_seconds(p.samples as f64 / f64::from(rate)));
        match pieces.last_mut().zip(due) {
            // An overlap cannot be told apart from wrong time stamps; the samples follow on.
            Some((p, due)) if block.pts_ns - due <= GAP_NS => p.samples += block.samples.len() as u64,
            _ => pieces.push(AudioPiece {
                first_sample: written,
                samples: block.samples.len() as u64,
                t0_ns: block.pts_ns,
                ppm: 0.0,
                residual_ns: 0,
                observations: 0,
            }),
        }
        let pcm: Vec<i16> = block.samples.iter().map(|s| (s * 32_768.0).round().clamp(-32_768.0, 32_767.0) as i16).collect();
        peak = block.samples.iter().fold(peak, |p, s| p.max(s.abs()));
        writer.write(&pcm)?;
        written += pcm.len() as u64;
    }
    writer.finish()?;
    Ok(ExtractedAudio { clock: AudioClock { sample_rate: rate, latency_ns: 0, pieces }, peak: peak.min(1.0) })
}
