//! Clicks through the loudspeaker, or from a microphone whose rate is wrong on purpose.

use super::Moment;
use super::patch::sleep_until;
use crate::audio_fit::{Way, fit};
use crate::clock::monotonic_ns;
use crate::{Error, Result, SessionClock};
use cpal::traits::{DeviceTrait, HostTrait, StreamTrait};
use redline_schemas::AudioTime;
use redline_schemas::time::AudioClock;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

/// Time between two clicks. Not a whole number of frames, so that no pattern hides an error.
pub const PERIOD_NS: i64 = 1_013_000_000;
/// A click: a tone of 4 kHz for 3 ms.
const TONE_HZ: f64 = 4_000.0;
const LONG_S: f64 = 0.003;
const LOUD: f64 = 0.7;

/// The click track's value at sample `n`: the first click stands at one period.
fn value(n: u64, rate: f64) -> f32 {
    let period = click_samples(rate);
    let into = (n % period) as f64 / rate;
    if n < period || into > LONG_S {
        return 0.0;
    }
    // A cosine: full loudness from the first sample on, which makes the onset sharp.
    (LOUD * (std::f64::consts::TAU * TONE_HZ * into).cos()) as f32
}

fn click_samples(rate: f64) -> u64 {
    (PERIOD_NS as f64 / 1e9 * rate).round() as u64
}

/// A click track that is being played.
pub enum Clicks {
    /// Through the system's loudspeaker.
    Loudspeaker(Loudspeaker),
    /// Into the pipe that the sound server takes for a microphone.
    Crystal(Crystal),
}

impl Clicks {
    /// Ends it; when each click sounded.
    pub fn stop(self, clock: &SessionClock) -> Result<Vec<Moment>> {
        match self {
            Self::Loudspeaker(l) => Ok(l.stop(clock)),
            Self::Crystal(c) => c.stop(clock),
        }
    }
}

/// Plays through the default output.
pub struct Loudspeaker {
    stream: cpal::Stream,
    rate: u32,
    times: Arc<Mutex<Vec<AudioTime>>>,
}

fn no_sound(reason: impl std::fmt::Display) -> Error {
    Error::Device {
        what: "no loudspeaker to play clicks through".into(),
        reason: reason.to_string(),
        hint: "`redline sync-test --virtual` brings its own",
    }
}

impl Loudspeaker {
    /// Opens the default output and plays.
    pub fn play() -> Result<Self> {
        let device = cpal::default_host().default_output_device().ok_or_else(|| no_sound("the system has none"))?;
        let config = device.default_output_config().map_err(no_sound)?;
        let (rate, channels) = (config.sample_rate(), usize::from(config.channels()).max(1));
        let times = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&times);
        let mut n = 0_u64;
        let stream = device
            .build_output_stream(
                config.config(),
                move |data: &mut [f32], info: &cpal::OutputCallbackInfo| {
                    let callback_ns = monotonic_ns();
                    let t = info.timestamp();
                    let ahead = t.playback.saturating_duration_since(t.callback);
                    let samples = (data.len() / channels) as u32;
                    let time = AudioTime { t_ns: callback_ns + ahead.as_nanos() as i64, callback_ns, sample: n, samples };
                    seen.lock().unwrap_or_else(PoisonError::into_inner).push(time);
                    for frame in data.chunks_mut(channels) {
                        frame.fill(value(n, f64::from(rate)));
                        n += 1;
                    }
                },
                |e| tracing::info!("loudspeaker: {e}"),
                None,
            )
            .map_err(no_sound)?;
        stream.play().map_err(no_sound)?;
        Ok(Self { stream, rate, times })
    }

    fn stop(self, clock: &SessionClock) -> Vec<Moment> {
        drop(self.stream);
        let times = self.times.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let Some(last) = times.last() else { return Vec::new() };
        let total = last.sample + u64::from(last.samples);
        // While the buffer is being filled, callbacks do not come at the pace of the sound.
        let steady: Vec<AudioTime> = times.into_iter().filter(|t| t.sample >= u64::from(self.rate)).collect();
        let played = AudioClock { sample_rate: self.rate, latency_ns: 0, pieces: fit(&steady, self.rate, total, Way::Played) };
        // The error of the fit, not of one callback: it rests on all of them.
        let error_of = |p: &redline_schemas::time::AudioPiece| (p.residual_ns as f64 / f64::from(p.observations.max(1)).sqrt()) as i64;
        let half_ns = |n: u64| played.pieces.iter().rev().find(|p| p.first_sample <= n).map_or(i64::MAX, error_of);
        let period = click_samples(self.rate.into());
        let clicks = (1..).map(|i| i * period).take_while(|n| *n < total);
        clicks.filter_map(|n| Some(Moment { t_ns: clock.at(played.t_ns_of_sample(n as f64)?), half_ns: half_ns(n) })).collect()
    }
}

/// Samples a second of the virtual microphone, as the sound server believes.
pub const CRYSTAL_RATE: u32 = 48_000;
/// The virtual microphone hands over this much at a time.
const CHUNK: u64 = 240;

/// A microphone whose crystal is off: samples go into a pipe at a rate of our choice by the monotonic clock.
pub struct Crystal {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<std::io::Result<u64>>,
    path: PathBuf,
    start_ns: i64,
    rate: f64,
}

impl Crystal {
    /// Feeds the pipe at `path` with `CRYSTAL_RATE · (1 + ppm/10⁶)` samples a second.
    pub fn feed(path: &Path, ppm: f64) -> Result<Self> {
        let rate = f64::from(CRYSTAL_RATE) * (1.0 + ppm / 1e6);
        let mut pipe =
            std::fs::OpenOptions::new().write(true).open(path).map_err(redline_schemas::Error::io(path, "could not open the pipe"))?;
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let start_ns = monotonic_ns();
        let thread = crate::video::spawn("crystal", move || {
            let mut n = 0_u64;
            let mut bytes = Vec::with_capacity(CHUNK as usize * 2);
            while !stopped.load(Ordering::Relaxed) {
                bytes.clear();
                for k in n..n + CHUNK {
                    bytes.extend(((value(k, rate) * 32_767.0) as i16).to_le_bytes());
                }
                n += CHUNK;
                // Nobody can hear a sample before it was made.
                sleep_until(start_ns + (n as f64 * 1e9 / rate) as i64);
                pipe.write_all(&bytes)?;
            }
            Ok(n)
        })?;
        Ok(Self { stop, thread, path: path.into(), start_ns, rate })
    }

    fn stop(self, clock: &SessionClock) -> Result<Vec<Moment>> {
        self.stop.store(true, Ordering::Relaxed);
        let made = self.thread.join().unwrap_or(Ok(0)).map_err(redline_schemas::Error::io(&self.path, "could not write"))?;
        let at = |n: u64| self.start_ns + (n as f64 * 1e9 / self.rate).round() as i64;
        let period = click_samples(self.rate);
        Ok((1..).map(|i| i * period).take_while(|n| *n < made).map(|n| Moment { t_ns: clock.at(at(n)), half_ns: 0 }).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clicks_stand_where_they_should_and_are_silent_between() {
        let rate = 48_000.0;
        let first = click_samples(rate);
        assert_eq!(first, 48_624);
        assert!((0..first).all(|n| value(n, rate) == 0.0));
        assert!(value(first, rate) > 0.69, "loud from the first sample on");
        assert!((first + 145..2 * first).all(|n| value(n, rate) == 0.0));
    }
}
