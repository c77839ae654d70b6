//! Audio files as the speech models want them: mono, 16 kHz, a block at a time.

use crate::{Error, Result};
use rubato::audioadapter_buffers::owned::InterleavedOwned;
use rubato::{Fft, FixedSync, Resampler};
use std::fs::File;
use std::path::{Path, PathBuf};
use symphonia::core::codecs::audio::{AudioDecoder, AudioDecoderOptions};
use symphonia::core::errors::Error as DecodeError;
use symphonia::core::formats::probe::Hint;
use symphonia::core::formats::{FormatOptions, FormatReader, TrackType};
use symphonia::core::io::MediaSourceStream;
use symphonia::core::meta::MetadataOptions;

/// The rate of everything behind this module, Hz.
pub const RATE: u32 = 16_000;

/// Rates that a file may have, Hz.
const RATES: std::ops::RangeInclusive<u32> = 1_000..=768_000;

/// The longest stretch of silence put in place of a damaged packet, seconds.
const LONGEST_GAP_S: u64 = 10;

/// Decodes, mixes down and resamples a file while it is read, so that its length needs no memory.
pub struct AudioReader {
    path: PathBuf,
    format: Box<dyn FormatReader>,
    decoder: Box<dyn AudioDecoder>,
    track: u32,
    rate: u32,
    resampler: Option<Resample>,
    interleaved: Vec<f32>,
    done: bool,
    frames: u64,
    damage: Vec<String>,
}

impl AudioReader {
    /// Opens a file; its first audio track is read.
    pub fn open(path: &Path) -> Result<Self> {
        let bad = |message: String| Error::Audio { path: path.into(), message };
        let file = File::open(path).map_err(redline_schemas::Error::io(path, "could not open"))?;
        let mut hint = Hint::new();
        if let Some(e) = path.extension().and_then(|e| e.to_str()) {
            hint.with_extension(e);
        }
        let source = MediaSourceStream::new(Box::new(file), Default::default());
        let format = symphonia::default::get_probe()
            .probe(&hint, source, FormatOptions::default(), MetadataOptions::default())
            .map_err(|e| bad(format!("not a readable audio file ({e})")))?;
        let track = format.default_track(TrackType::Audio).ok_or_else(|| bad("has no audio track".into()))?;
        let params = track.codec_params.as_ref().and_then(|p| p.audio()).ok_or_else(|| bad("its audio codec is not known".into()))?;
        let rate = params.sample_rate.ok_or_else(|| bad("does not say its sample rate".into()))?;
        if !RATES.contains(&rate) {
            return Err(bad(format!("a sample rate of {rate} Hz is outside {} to {} Hz", RATES.start(), RATES.end())));
        }
        let decoder = symphonia::default::get_codecs()
            .make_audio_decoder(params, &AudioDecoderOptions::default())
            .map_err(|e| bad(format!("its codec cannot be decoded ({e})")))?;
        let track = track.id;
        let resampler = if rate == RATE { None } else { Some(Resample::new(rate).map_err(bad)?) };
        Ok(Self {
            path: path.into(),
            format,
            decoder,
            track,
            rate,
            resampler,
            interleaved: Vec::new(),
            done: false,
            frames: 0,
            damage: Vec::new(),
        })
    }

    /// The file's own sample rate, Hz.
    #[must_use]
    pub fn native_rate(&self) -> u32 {
        self.rate
    }

    /// Frames of the file decoded so far, at its own rate.
    #[must_use]
    pub fn native_frames(&self) -> u64 {
        self.frames
    }

    /// What was damaged; silence stands in its place, so that later samples keep their time.
    #[must_use]
    pub fn damage(&self) -> &[String] {
        &self.damage
    }

    /// The next samples, mono at [`RATE`]; `None` after the last. Blocks have no fixed size.
    pub fn next_block(&mut self) -> Result<Option<Vec<f32>>> {
        while !self.done {
            let mono = match self.next_native()? {
                Some(m) => m,
                None => {
                    self.done = true;
                    return match &mut self.resampler {
                        Some(r) => r.finish().map(Some).map_err(|m| self.bad(m)),
                        None => Ok(None),
                    };
                }
            };
            let out = match &mut self.resampler {
                Some(r) => r.push(&mono).map_err(|message| Error::Audio { path: self.path.clone(), message })?,
                None => mono,
            };
            if !out.is_empty() {
                return Ok(Some(out));
            }
        }
        Ok(None)
    }

    /// The whole file; for short ones.
    pub fn read_all(mut self) -> Result<Vec<f32>> {
        let mut all = Vec::new();
        while let Some(b) = self.next_block()? {
            all.extend_from_slice(&b);
        }
        Ok(all)
    }

    fn bad(&self, message: String) -> Error {
        Error::Audio { path: self.path.clone(), message }
    }

    fn note_damage(&mut self, what: String) {
        tracing::warn!("{}: {what}", self.path.display());
        self.damage.push(what);
    }

    fn next_native(&mut self) -> Result<Option<Vec<f32>>> {
        loop {
            let packet = match self.format.next_packet() {
                Ok(Some(p)) => p,
                Ok(None) => return Ok(None),
                Err(DecodeError::IoError(e)) if e.kind() == std::io::ErrorKind::UnexpectedEof => {
                    self.note_damage("the file ends in the middle of a packet".into());
                    return Ok(None);
                }
                Err(e) if self.frames > 0 => {
                    self.note_damage(format!("unreadable after {} frames ({e})", self.frames));
                    return Ok(None);
                }
                Err(e) => return Err(self.bad(format!("not readable ({e})"))),
            };
            if packet.track_id != self.track {
                continue;
            }
            let mono = match self.decoder.decode(&packet) {
                Ok(buffer) => {
                    if buffer.spec().rate() != self.rate {
                        let now = buffer.spec().rate();
                        return Err(self.bad(format!("changes its sample rate from {} to {now} Hz", self.rate)));
                    }
                    let channels = buffer.spec().channels().count().max(1);
                    self.interleaved.resize(buffer.samples_interleaved(), 0.0);
                    buffer.copy_to_slice_interleaved(&mut self.interleaved);
                    mix_down(&self.interleaved, channels)
                }
                Err(DecodeError::DecodeError(e)) => {
                    let frames = packet.dur.get().min(LONGEST_GAP_S * u64::from(self.rate));
                    let at = self.frames;
                    self.note_damage(format!("{frames} damaged frames at {at} became silence ({e})"));
                    vec![0.0; frames as usize]
                }
                Err(e) => return Err(self.bad(format!("could not be decoded ({e})"))),
            };
            self.frames += mono.len() as u64;
            if !mono.is_empty() {
                return Ok(Some(mono));
            }
        }
    }
}

/// The mean of the channels; values that are no numbers become silence.
fn mix_down(interleaved: &[f32], channels: usize) -> Vec<f32> {
    let mean = |f: &[f32]| f.iter().sum::<f32>() / channels as f32;
    interleaved.chunks_exact(channels).map(mean).map(|s| if s.is_finite() { s } else { 0.0 }).collect()
}

/// Any rate to [`RATE`], in fixed chunks, without the filter's delay.
struct Resample {
    inner: Fft<f32>,
    from: u32,
    waiting: Vec<f32>,
    skip: usize,
    taken: u64,
    given: u64,
}

impl Resample {
    fn new(from: u32) -> Result<Self, String> {
        let inner = Fft::<f32>::new(from as usize, RATE as usize, 4096, 1, FixedSync::Input).map_err(|e| e.to_string())?;
        let skip = inner.output_delay();
        Ok(Self { inner, from, waiting: Vec::new(), skip, taken: 0, given: 0 })
    }

    fn push(&mut self, samples: &[f32]) -> Result<Vec<f32>, String> {
        self.taken += samples.len() as u64;
        self.waiting.extend_from_slice(samples);
        let mut out = Vec::new();
        let mut at = 0;
        loop {
            let need = self.inner.input_frames_next();
            let Some(chunk) = self.waiting.get(at..at + need) else { break };
            self.chunk(chunk.to_vec(), &mut out)?;
            at += need;
        }
        self.waiting.drain(..at);
        Ok(out)
    }

    fn chunk(&mut self, chunk: Vec<f32>, out: &mut Vec<f32>) -> Result<(), String> {
        let frames = chunk.len();
        let input = InterleavedOwned::new_from(chunk, 1, frames).map_err(|e| e.to_string())?;
        let made = self.inner.process(&input, None).map_err(|e| e.to_string())?.take_data();
        let skip = self.skip.min(made.len());
        self.skip -= skip;
        self.given += (made.len() - skip) as u64;
        out.extend_from_slice(&made[skip..]);
        Ok(())
    }

    /// Silence pushes out what is still in the filter; exactly as many samples as came, rescaled.
    fn finish(&mut self) -> Result<Vec<f32>, String> {
        let want = ((u128::from(self.taken) * u128::from(RATE) + u128::from(self.from / 2)) / u128::from(self.from)) as u64;
        let mut out = Vec::new();
        let before = self.given;
        while self.given < want {
            let need = self.inner.input_frames_next();
            let mut chunk: Vec<f32> = self.waiting.drain(..self.waiting.len().min(need)).collect();
            chunk.resize(need, 0.0);
            self.chunk(chunk, &mut out)?;
        }
        out.truncate(want.saturating_sub(before) as usize);
        Ok(out)
    }
}
