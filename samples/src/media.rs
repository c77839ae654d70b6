//! A few real recordings; requests get copies of them.

use crate::Result;
use redline_media::{EncodeSettings, PixelOrder, Scaler, ScreenEncoder, WavReader, WavWriter, YuvPicture, finish_video, write_flac};
use redline_schemas::time::FrameGrid;
use std::path::{Path, PathBuf};

/// The video's size and rate.
pub(crate) const SIZE: (u32, u32) = (1280, 720);
pub(crate) const FPS: u32 = 30;
/// The sound's rate.
pub(crate) const RATE: u32 = 16_000;
/// A burst of sound starts every so often, one for each word.
pub(crate) const WORD_STEP_NS: i64 = 420_000_000;
/// How long a burst is.
pub(crate) const WORD_NS: i64 = 300_000_000;

/// A recording.
pub(crate) struct Recording {
    pub seconds: u32,
    pub video: PathBuf,
    pub audio: PathBuf,
}

impl Recording {
    /// Draws and sounds it into `dir`.
    pub(crate) fn make(dir: &Path, seconds: u32) -> Result<Self> {
        let (video, audio) = (dir.join(format!("{seconds}.mp4")), dir.join(format!("{seconds}.flac")));
        let wav_path = dir.join(format!("{seconds}.wav"));
        let mut wav = WavWriter::create(&wav_path, RATE)?;
        for second in 0..seconds {
            wav.write(&(0..RATE).map(|i| sound(u64::from(second * RATE + i))).collect::<Vec<_>>())?;
        }
        wav.finish()?;
        write_flac(&WavReader::open(&wav_path)?, &audio)?;

        let raw = dir.join(format!("{seconds}.part.mp4"));
        let mut encoder =
            ScreenEncoder::create(&raw, &EncodeSettings { preset: "ultrafast".into(), ..EncodeSettings::new(SIZE.0, SIZE.1, FPS) })?;
        let mut picture = YuvPicture::new(SIZE.0, SIZE.1);
        let mut scaler = Scaler::new(SIZE.0, SIZE.1);
        let stride = SIZE.0 as usize * 4;
        let mut pixels = vec![0x60; stride * SIZE.1 as usize];
        for slot in 0..i64::from(seconds * FPS) {
            // The picture changes five times a second, like a screen on which little moves.
            if slot % 6 == 0 {
                let at = (slot as usize * 7) % (SIZE.0 as usize - 40);
                pixels.fill(0x60);
                for row in 300..340 {
                    pixels[row * stride + at * 4..row * stride + (at + 40) * 4].fill(0xe0);
                }
                scaler.run(&pixels, stride, SIZE.0, SIZE.1, PixelOrder::Bgrx, &mut picture)?;
            }
            encoder.encode(&mut picture, slot)?;
        }
        encoder.finish()?;
        finish_video(&raw, &video, &FrameGrid { first_t_ns: 0, fps_num: FPS, fps_den: 1 }, None)?;
        Ok(Self { seconds, video, audio })
    }
}

/// A tone of 220 Hz in bursts.
fn sound(sample: u64) -> i16 {
    let t_ns = (sample * 1_000_000_000 / u64::from(RATE)) as i64;
    if t_ns % WORD_STEP_NS >= WORD_NS {
        return 0;
    }
    let t = t_ns as f64 / 1e9;
    ((t * 220.0 * std::f64::consts::TAU).sin() * 6000.0) as i16
}
