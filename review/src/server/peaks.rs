//! The waveform's outline, computed once, so that a page need not decode an hour of sound.

use super::AppState;
use super::error::Reply;
use super::read::id;
use super::who::Who;
use crate::{Error, Result};
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use redline_schemas::RequestId;
use serde::Serialize;
use std::collections::HashMap;
use std::fs::File;
use std::sync::{Mutex, PoisonError};
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

/// Largest absolute sample of each stretch, in 1/127.
#[derive(Debug, Serialize)]
pub(super) struct Peaks {
    values: Vec<u8>,
    duration_s: f64,
}

#[derive(Default)]
pub(crate) struct Cache {
    /// As JSON, ready to be sent.
    kept: Mutex<HashMap<RequestId, Bytes>>,
    /// One at a time: decoding takes a whole core.
    turn: Mutex<()>,
}

/// Decodes a file and keeps the largest sample of each stretch.
fn compute(path: &std::path::Path) -> Result<Peaks> {
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
    fn look(&self, request: &RequestId) -> Option<Bytes> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).get(request).cloned()
    }

    fn get(&self, request: &RequestId, path: &std::path::Path) -> Result<Bytes> {
        if let Some(p) = self.look(request) {
            return Ok(p);
        }
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(p) = self.look(request) {
            return Ok(p);
        }
        let peaks = serde_json::to_vec(&compute(path)?).map(Bytes::from).map_err(|e| Error::Invalid(e.to_string()))?;
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= KEPT {
            kept.clear();
        }
        kept.insert(request.clone(), peaks.clone());
        Ok(peaks)
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
