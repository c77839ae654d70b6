//! What a media file holds, without decoding it.

use crate::open::open;
use crate::{Error, Result};
use ffmpeg_next as ff;
use redline_schemas::time::NS_PER_S;
use std::path::{Path, PathBuf};

/// The largest width or height that is read, pixels.
pub const MAX_SIDE: u32 = 16_384;

/// What a media file holds.
#[derive(Debug, Clone, PartialEq)]
pub struct MediaInfo {
    /// The file.
    pub path: PathBuf,
    /// Its size.
    pub bytes: u64,
    /// The container, by FFmpeg's name, e.g. `mov,mp4,m4a,3gp,3g2,mj2`.
    pub container: String,
    /// Its length, as the container says.
    pub duration_ns: Option<i64>,
    /// When it was made, as the container says.
    pub created_utc: Option<redline_schemas::Utc>,
    /// The best video stream.
    pub video: Option<VideoInfo>,
    /// The best audio stream.
    pub audio: Option<AudioInfo>,
}

/// A video stream.
#[derive(Debug, Clone, PartialEq)]
pub struct VideoInfo {
    /// Index in the file.
    pub stream: usize,
    /// Codec name, e.g. `h264`.
    pub codec: String,
    /// Pixel format, e.g. `yuv420p`.
    pub pixel_format: String,
    /// Width, pixels.
    pub width: u32,
    /// Height, pixels.
    pub height: u32,
    /// Mean frame rate, numerator and denominator, in lowest terms.
    pub fps: (u32, u32),
    /// Frames, when the container counts them.
    pub frames: Option<u64>,
    /// Time of the first frame on the container's clock (edit lists applied).
    pub start_ns: i64,
    /// Its length, when the container says.
    pub duration_ns: Option<i64>,
}

/// An audio stream.
#[derive(Debug, Clone, PartialEq)]
pub struct AudioInfo {
    /// Index in the file.
    pub stream: usize,
    /// Codec name, e.g. `aac`.
    pub codec: String,
    /// Samples a second.
    pub sample_rate: u32,
    /// Channels.
    pub channels: u16,
    /// Time of the first sample on the container's clock (edit lists applied).
    pub start_ns: i64,
    /// Its length, when the container says.
    pub duration_ns: Option<i64>,
}

impl MediaInfo {
    /// The video stream, or an error that says there is none.
    pub fn need_video(&self) -> Result<&VideoInfo> {
        self.video.as_ref().ok_or_else(|| Error::NoStream { path: self.path.clone(), kind: "video" })
    }

    /// The audio stream, or an error that says there is none.
    pub fn need_audio(&self) -> Result<&AudioInfo> {
        self.audio.as_ref().ok_or_else(|| Error::NoStream { path: self.path.clone(), kind: "audio" })
    }
}

/// Reads a file's headers. A file without any video or audio is refused.
///
/// It says what the file claims; [`crate::verify_decodable`] finds out whether that is true.
pub fn probe(path: &Path) -> Result<MediaInfo> {
    probe_opened(path, &open(path)?)
}

pub(crate) fn probe_opened(path: &Path, input: &ff::format::context::Input) -> Result<MediaInfo> {
    let bytes = std::fs::metadata(path).map_err(Error::io(path, "could not look at"))?.len();
    let duration = input.duration();
    let info = MediaInfo {
        path: path.into(),
        bytes,
        container: input.format().name().to_owned(),
        duration_ns: (duration > 0).then(|| to_ns(duration, ff::Rational(1, ff::ffi::AV_TIME_BASE))),
        created_utc: created(input),
        video: best(input, ff::media::Type::Video).map(|s| video(path, &s)).transpose()?,
        audio: best(input, ff::media::Type::Audio).map(|s| audio(path, &s)).transpose()?,
    };
    if info.video.is_none() && info.audio.is_none() {
        return Err(Error::NotMedia { path: path.into(), reason: "no video or audio in it".into() });
    }
    Ok(info)
}

/// The best stream of a kind; cover pictures are no video.
pub(crate) fn best(input: &ff::format::context::Input, kind: ff::media::Type) -> Option<ff::Stream<'_>> {
    input.streams().best(kind).filter(|s| !s.disposition().contains(ff::format::stream::Disposition::ATTACHED_PIC))
}

fn video(path: &Path, s: &ff::Stream<'_>) -> Result<VideoInfo> {
    let d = decoder_context(path, s)?.decoder().video().map_err(|e| no_decoder(path, s, e))?;
    let (width, height) = (d.width(), d.height());
    if width == 0 || height == 0 {
        return Err(Error::Truncated { path: path.into(), detail: "not even the picture size could be read".into() });
    }
    if width > MAX_SIDE || height > MAX_SIDE {
        let what = format!("a picture of {width}x{height}; at most {MAX_SIDE} pixels a side are read");
        return Err(Error::Unsupported { path: path.into(), what });
    }
    let rate = [s.avg_frame_rate(), s.rate()].into_iter().find(|r| r.numerator() > 0 && r.denominator() > 0);
    let Some(rate) = rate.map(|r| r.reduce()) else {
        return Err(Error::Truncated { path: path.into(), detail: "its frame rate is not known: it has fewer than two frames".into() });
    };
    Ok(VideoInfo {
        stream: s.index(),
        codec: s.parameters().id().name().to_owned(),
        pixel_format: d.format().descriptor().map_or("unknown", |f| f.name()).to_owned(),
        width,
        height,
        fps: (rate.numerator() as u32, rate.denominator() as u32),
        frames: u64::try_from(s.frames()).ok().filter(|n| *n > 0),
        start_ns: start(s),
        duration_ns: (s.duration() > 0).then(|| to_ns(s.duration(), s.time_base())),
    })
}

fn audio(path: &Path, s: &ff::Stream<'_>) -> Result<AudioInfo> {
    let d = decoder_context(path, s)?.decoder().audio().map_err(|e| no_decoder(path, s, e))?;
    if d.rate() == 0 || d.channels() == 0 {
        return Err(Error::Truncated { path: path.into(), detail: "not even the audio's sample rate could be read".into() });
    }
    Ok(AudioInfo {
        stream: s.index(),
        codec: s.parameters().id().name().to_owned(),
        sample_rate: d.rate(),
        channels: d.channels(),
        start_ns: start(s),
        duration_ns: (s.duration() > 0).then(|| to_ns(s.duration(), s.time_base())),
    })
}

pub(crate) fn decoder_context(path: &Path, s: &ff::Stream<'_>) -> Result<ff::codec::Context> {
    ff::codec::Context::from_parameters(s.parameters()).map_err(Error::read(path, "its stream parameters"))
}

pub(crate) fn no_decoder(path: &Path, s: &ff::Stream<'_>, e: ff::Error) -> Error {
    let codec = s.parameters().id().name();
    match e {
        ff::Error::DecoderNotFound => Error::Unsupported {
            path: path.into(),
            what: format!("there is no decoder for its codec “{codec}”: re-encode it to H.264"),
        },
        e => Error::Damaged { path: path.into(), detail: format!("its {codec} stream cannot be decoded: {e}") },
    }
}

/// The container's own date; unset clocks (1904, 1970) are no dates.
fn created(input: &ff::format::context::Input) -> Option<redline_schemas::Utc> {
    const YEAR_2000: i64 = 946_684_800;
    let t: redline_schemas::Utc = input.metadata().get("creation_time")?.parse().ok()?;
    (t.timestamp() >= YEAR_2000).then_some(t)
}

fn start(s: &ff::Stream<'_>) -> i64 {
    match s.start_time() {
        ff::ffi::AV_NOPTS_VALUE => 0,
        t => to_ns(t, s.time_base()),
    }
}

/// A time stamp in a stream's time base as nanoseconds, rounded to the nearest.
pub(crate) fn to_ns(t: i64, base: ff::Rational) -> i64 {
    let n = i128::from(t) * i128::from(base.numerator()) * i128::from(NS_PER_S);
    let d = i128::from(base.denominator().max(1));
    let ns = (2 * n + d).div_euclid(2 * d);
    ns.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64
}
