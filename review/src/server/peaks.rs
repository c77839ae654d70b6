//! The waveform's outline, computed once for a file, so that neither pages nor later servers decode an hour of sound.

use super::AppState;
use super::error::Reply;
use super::read::id;
use super::who::Who;
use crate::{Error, Result};
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use redline_schemas::{RequestId, fsio};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::fs::File;
use std::path::{Path as Dir, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;
use symphonia::core::codecs::audio::AudioDecoderOptions;
use symphonia::core::errors::Error as Decode;
use symphonia::core::formats::probe::Hint;
use symphonia::core::formats::{FormatOptions, TrackType};
use symphonia::core::io::MediaSourceStream;
use symphonia::core::meta::MetadataOptions;

/// Values for each second: finer than a screen shows before a person zooms far in.
const PER_S: u32 = 100;

/// Values at most (an hour and a half at [`PER_S`]); longer sound gets fewer for each second.
const MAX_VALUES: u64 = 540_000;

/// Outlines kept in memory.
const KEPT: usize = 32;

/// The largest outline that is read from the disk, bytes: [`MAX_VALUES`] twice over, four characters each.
const MAX_FILE_BYTES: u64 = 8 * MAX_VALUES;

/// Largest absolute sample of each stretch, in 1/127.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Peaks {
    values: Vec<u8>,
    duration_s: f64,
}

pub(crate) struct Cache {
    /// Where outlines outlive the server; may be deleted at any time.
    dir: PathBuf,
    /// As JSON, ready to be sent, by [`key`].
    kept: Mutex<HashMap<String, Bytes>>,
    /// One at a time: decoding takes a whole core.
    turn: Mutex<()>,
}

/// Stands for a request's sound as it is now: another file in its place has another size or time.
fn key(request: &RequestId, path: &Dir) -> Result<String> {
    let file = std::fs::metadata(path).map_err(|e| Error::NotFound(format!("this request has no sound: {}", e.kind())))?;
    let changed = file.modified().ok().and_then(|t| t.duration_since(SystemTime::UNIX_EPOCH).ok()).map_or(0, |d| d.as_nanos());
    Ok(fsio::sha256_bytes(format!("outline 1\n{request}\n{}\n{changed}", file.len()).as_bytes()))
}

/// Decodes a file and keeps the largest sample of each stretch.
fn compute(path: &Dir) -> Result<Peaks> {
    let wrong = |e: Decode| Error::State(format!("the sound can't be decoded: {e}"));
    let file = File::open(path).map_err(|e| Error::NotFound(format!("this request has no sound: {}", e.kind())))?;
    let mut hint = Hint::new();
    hint.with_extension("flac");
    let source = MediaSourceStream::new(Box::new(file), Default::default());
    let mut format =
        symphonia::default::get_probe().probe(&hint, source, FormatOptions::default(), MetadataOptions::default()).map_err(wrong)?;
    let unknown = || Error::State("the sound can't be decoded: no known track in it".into());
    let track = format.default_track(TrackType::Audio).ok_or_else(unknown)?;
    let (track_id, frames) = (track.id, track.num_frames.unwrap_or(0));
    let parameters = track.codec_params.as_ref().and_then(|p| p.audio()).ok_or_else(unknown)?;
    let rate = parameters.sample_rate.filter(|r| *r > 0).ok_or_else(unknown)?;
    let mut decoder = symphonia::default::get_codecs().make_audio_decoder(parameters, &AudioDecoderOptions::default()).map_err(wrong)?;
    let stretch = u64::from(rate / PER_S).max(1).max(frames.div_ceil(MAX_VALUES));
    let (mut values, mut largest, mut in_stretch, mut total) = (Vec::new(), 0_f32, 0, 0_u64);
    let mut samples: Vec<f32> = Vec::new();
    while let Some(packet) = format.next_packet().map_err(wrong)? {
        if packet.track_id != track_id {
            continue;
        }
        let decoded = match decoder.decode(&packet) {
            Ok(d) => d,
            // A damaged packet leaves a hole in the outline, no more.
            Err(Decode::DecodeError(_)) => continue,
            Err(e) => return Err(wrong(e)),
        };
        let channels = decoded.spec().channels().count().max(1);
        decoded.copy_to_vec_interleaved(&mut samples);
        for frame in samples.chunks(channels) {
            largest = frame.iter().fold(largest, |m, s| m.max(s.abs()));
            in_stretch += 1;
            total += 1;
            if in_stretch == stretch {
                values.push((largest.min(1.0) * 127.0).round() as u8);
                (largest, in_stretch) = (0.0, 0);
            }
        }
        if values.len() as u64 > MAX_VALUES * 2 {
            return Err(Error::State("the sound is too long to be drawn".into()));
        }
    }
    if in_stretch > 0 {
        values.push((largest.min(1.0) * 127.0).round() as u8);
    }
    Ok(Peaks { values, duration_s: total as f64 / f64::from(rate) })
}

impl Cache {
    /// Keeps outlines in `dir`, which need not exist.
    pub fn new(dir: PathBuf) -> Self {
        Self { dir, kept: Mutex::default(), turn: Mutex::default() }
    }

    fn look(&self, key: &str) -> Option<Bytes> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).get(key).cloned()
    }

    fn file(&self, key: &str) -> PathBuf {
        self.dir.join(format!("{key}.json"))
    }

    /// What an earlier server left; a file that is no outline is made anew.
    fn read(&self, key: &str) -> Option<Bytes> {
        let bytes = fsio::read_limited(&self.file(key), MAX_FILE_BYTES).ok()?;
        serde_json::from_slice::<Peaks>(&bytes).ok().map(|_| Bytes::from(bytes))
    }

    fn write(&self, key: &str, bytes: &[u8]) {
        let made = std::fs::create_dir_all(&self.dir).map_err(|e| e.to_string());
        let written = made.and_then(|()| fsio::write_atomic(&self.file(key), bytes).map_err(|e| e.to_string()));
        if let Err(e) = written {
            tracing::warn!("a waveform could not be kept for the next time: {e}");
        }
    }

    fn get(&self, request: &RequestId, path: &Dir) -> Result<Bytes> {
        let key = key(request, path)?;
        if let Some(p) = self.look(&key) {
            return Ok(p);
        }
        if let Some(p) = self.read(&key) {
            self.keep(key, &p);
            return Ok(p);
        }
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(p) = self.look(&key) {
            return Ok(p);
        }
        let peaks = serde_json::to_vec(&compute(path)?).map(Bytes::from).map_err(|e| Error::Invalid(e.to_string()))?;
        self.write(&key, &peaks);
        self.keep(key, &peaks);
        Ok(peaks)
    }

    fn keep(&self, key: String, peaks: &Bytes) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= KEPT {
            kept.clear();
        }
        kept.insert(key, peaks.clone());
    }
}

pub(super) async fn get(State(app): State<AppState>, Path(request): Path<String>, who: Who) -> Reply<Response> {
    let what = format!("peaks {request}");
    let peaks = who.run(&app, &what, move |app, who| {
        let request: RequestId = id(&request)?;
        app.flow.visible(who, &request)?;
        app.peaks.get(&request, &app.flow.corpus.request_dir(&request).audio())
    });
    Ok(([(header::CONTENT_TYPE, "application/json")], peaks.await?).into_response())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1,000 samples of 16 bit, mono, 8 kHz, all of one value.
    fn wav(path: &Dir, value: i16) {
        let mut b = Vec::new();
        b.extend_from_slice(b"RIFF");
        b.extend_from_slice(&2_036_u32.to_le_bytes());
        b.extend_from_slice(b"WAVEfmt ");
        for n in [16_u32, 0x0001_0001, 8_000, 16_000, 0x0010_0002] {
            b.extend_from_slice(&n.to_le_bytes());
        }
        b.extend_from_slice(b"data");
        b.extend_from_slice(&2_000_u32.to_le_bytes());
        b.extend(std::iter::repeat_n(value.to_le_bytes(), 1_000).flatten());
        std::fs::write(path, b).unwrap();
    }

    fn largest(bytes: &Bytes) -> u8 {
        serde_json::from_slice::<Peaks>(bytes).unwrap().values.into_iter().max().unwrap()
    }

    #[test]
    fn an_outline_outlives_the_server_and_is_made_anew_when_the_sound_changed_or_it_is_gone() {
        let dir = tempfile::tempdir().unwrap();
        let (sound, kept) = (dir.path().join("audio.flac"), dir.path().join("cache/peaks"));
        let id = RequestId::generate();
        wav(&sound, i16::MAX);
        assert_eq!(largest(&Cache::new(kept.clone()).get(&id, &sound).unwrap()), 127);
        let files = || std::fs::read_dir(&kept).unwrap().map(|e| e.unwrap().path()).collect::<Vec<_>>();
        let [file] = files().try_into().unwrap();

        // It is what the next server sends.
        std::fs::write(&file, r#"{"values":[5],"duration_s":1.0}"#).unwrap();
        assert_eq!(largest(&Cache::new(kept.clone()).get(&id, &sound).unwrap()), 5);
        // Damaged, or gone: made anew.
        std::fs::write(&file, "{").unwrap();
        assert_eq!(largest(&Cache::new(kept.clone()).get(&id, &sound).unwrap()), 127);
        std::fs::remove_dir_all(&kept).unwrap();
        assert_eq!(largest(&Cache::new(kept.clone()).get(&id, &sound).unwrap()), 127);
        // Another sound in the same place, also while the server runs.
        let running = Cache::new(kept.clone());
        assert_eq!(largest(&running.get(&id, &sound).unwrap()), 127);
        wav(&sound, i16::MAX / 2);
        let later = SystemTime::now() + std::time::Duration::from_secs(5);
        File::options().append(true).open(&sound).unwrap().set_modified(later).unwrap();
        assert_eq!(largest(&running.get(&id, &sound).unwrap()), 63);
    }
}
