//! Pictures and samples out of a file, with their times on the container's clock.

use crate::open::open;
use crate::probe::{MediaInfo, decoder_context, no_decoder, probe_opened, to_ns};
use crate::rgb::ToRgb;
use crate::{AudioInfo, Error, Result, VideoInfo};
use ffmpeg_next as ff;
use std::path::{Path, PathBuf};

/// One stream of a file and its decoder.
struct Decoding {
    path: PathBuf,
    input: ff::format::context::Input,
    decoder: ff::decoder::Opened,
    stream: usize,
    time_base: ff::Rational,
    /// Time stamps of the last good frame, for error messages.
    last_ns: Option<i64>,
    packets: u64,
    draining: bool,
}

impl Decoding {
    fn open(path: &Path, input: ff::format::context::Input, stream: usize, kind: &'static str) -> Result<Self> {
        let s = input.stream(stream).ok_or_else(|| Error::NoStream { path: path.into(), kind })?;
        let mut context = decoder_context(path, &s)?;
        context.set_threading(ff::codec::threading::Config::kind(ff::codec::threading::Type::Frame));
        let mut d = context.decoder();
        // Without it the decoder could not take encoder delay out of the audio's times.
        d.set_packet_time_base(s.time_base());
        let decoder = match kind {
            "video" => d.video().map(|v| v.0),
            _ => d.audio().map(|a| a.0),
        };
        let decoder = decoder.map_err(|e| no_decoder(path, &s, e))?;
        let time_base = s.time_base();
        Ok(Self { path: path.into(), input, decoder, stream, time_base, last_ns: None, packets: 0, draining: false })
    }

    /// Decodes the next frame; false at the end. Any damage is an error.
    fn next(&mut self, frame: &mut ff::Frame) -> Result<bool> {
        loop {
            match self.decoder.receive_frame(frame) {
                Ok(()) => {
                    if frame.has_decode_errors() {
                        return Err(self.damaged("parts of a picture could not be decoded".into()));
                    }
                    self.last_ns = self.time_of(frame).or(self.last_ns);
                    return Ok(true);
                }
                Err(ff::Error::Eof) => return Ok(false),
                Err(ff::Error::Other { errno: ff::error::EAGAIN }) if !self.draining => self.feed()?,
                Err(e) => return Err(self.damaged(e.to_string())),
            }
        }
    }

    fn feed(&mut self) -> Result<()> {
        let mut packet = ff::Packet::empty();
        loop {
            match packet.read(&mut self.input) {
                Ok(()) if packet.stream() != self.stream => {}
                Ok(()) => {
                    if packet.is_corrupt() {
                        return Err(Error::Truncated { path: self.path.clone(), detail: format!("a frame {} is not whole", self.place()) });
                    }
                    self.packets += 1;
                    return self.decoder.send_packet(&packet).map_err(|e| self.damaged(e.to_string()));
                }
                Err(ff::Error::Eof) => {
                    self.draining = true;
                    return self.decoder.send_eof().map_err(|e| self.damaged(e.to_string()));
                }
                Err(e) => return Err(Error::read(&self.path, &format!("reading on {}", self.place()))(e)),
            }
        }
    }

    /// Packets that the container's index promises; `None` where the index does not list them all.
    fn indexed_packets(&self) -> Option<u64> {
        if !self.input.format().name().contains("mp4") {
            return None;
        }
        let s = self.input.stream(self.stream)?;
        // SAFETY: the stream belongs to the open input; the function only reads.
        u64::try_from(unsafe { ff::ffi::avformat_index_get_entries_count(s.as_ptr()) }).ok()
    }

    fn time_of(&self, frame: &ff::Frame) -> Option<i64> {
        frame.timestamp().or(frame.pts()).map(|t| to_ns(t, self.time_base))
    }

    fn place(&self) -> String {
        self.last_ns.map_or_else(|| "at its start".into(), |t| format!("after {:.2} s", redline_schemas::time::seconds(t)))
    }

    fn damaged(&self, what: String) -> Error {
        Error::Damaged { path: self.path.clone(), detail: format!("{}: {what}", self.place()) }
    }

    /// At the end of the stream: an error when the file promised more.
    fn check_complete(&self) -> Result<()> {
        match self.indexed_packets() {
            Some(n) if self.packets < n => {
                let detail = format!("{} of {n} frames are there, the rest is missing {}", self.packets, self.place());
                Err(Error::Truncated { path: self.path.clone(), detail })
            }
            _ => Ok(()),
        }
    }
}

/// A decoded picture.
#[derive(Debug, Clone)]
pub struct VideoFrame {
    /// When it is shown, on the container's clock.
    pub pts_ns: i64,
    /// The picture.
    pub rgb: image::RgbImage,
}

/// The pictures of a file, in order of time.
///
/// Damage and a missing end are errors; the iterator ends after one.
pub struct VideoFrames {
    info: VideoInfo,
    decoding: Decoding,
    rgb: ToRgb,
    failed: bool,
    whole: bool,
}

impl VideoFrames {
    /// Opens a file's video.
    pub fn open(path: &Path) -> Result<Self> {
        let input = open(path)?;
        let info = probe_opened(path, &input)?.need_video()?.clone();
        let decoding = Decoding::open(path, input, info.stream, "video")?;
        Ok(Self { info, decoding, rgb: ToRgb::default(), failed: false, whole: true })
    }

    /// What the stream is.
    #[must_use]
    pub fn info(&self) -> &VideoInfo {
        &self.info
    }

    /// Goes to the last key frame not after `pts_ns`: frames before `pts_ns` may still come.
    pub fn seek(&mut self, pts_ns: i64) -> Result<()> {
        let t = (pts_ns / 1000).max(0);
        self.decoding.input.seek(t, ..t + 1).map_err(Error::read(&self.decoding.path, "seeking in it"))?;
        self.decoding.decoder.flush();
        self.decoding.draining = false;
        self.whole = false;
        Ok(())
    }

    /// The next picture as FFmpeg gives it, with its time.
    pub(crate) fn next_raw(&mut self) -> Result<Option<(i64, ff::frame::Video)>> {
        let mut frame = ff::frame::Video::empty();
        if !self.decoding.next(&mut frame)? {
            if self.whole {
                self.decoding.check_complete()?;
            }
            return Ok(None);
        }
        let Some(t) = self.decoding.time_of(&frame) else {
            return Err(self.decoding.damaged("a frame has no time stamp".into()));
        };
        Ok(Some((t, frame)))
    }

    /// Packets read so far.
    pub(crate) fn packets(&self) -> u64 {
        self.decoding.packets
    }

    fn next_rgb(&mut self) -> Result<Option<VideoFrame>> {
        let Some((pts_ns, frame)) = self.next_raw()? else { return Ok(None) };
        let rgb = self.rgb.convert(&frame).map_err(|e| self.decoding.damaged(format!("a picture could not be converted: {e}")))?;
        Ok(Some(VideoFrame { pts_ns, rgb }))
    }
}

impl Iterator for VideoFrames {
    type Item = Result<VideoFrame>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        let r = self.next_rgb().transpose();
        self.failed = !matches!(r, Some(Ok(_)));
        r
    }
}

/// The pictures on screen at the given times, which must rise: for each, the last frame not after it
/// (the first frame for times before it).
pub fn frames_at(path: &Path, times_ns: &[i64]) -> Result<Vec<VideoFrame>> {
    /// Decoding on is cheaper than seeking for less than this.
    const SEEK_NS: i64 = 4 * redline_schemas::time::NS_PER_S;
    let mut frames = VideoFrames::open(path)?;
    let mut shown: Option<(i64, ff::frame::Video)> = None;
    let mut next = frames.next_raw()?;
    let mut out = Vec::with_capacity(times_ns.len());
    for &t in times_ns {
        let at = next.as_ref().or(shown.as_ref()).map_or(0, |f| f.0);
        if t - at > SEEK_NS {
            frames.seek(t)?;
            next = frames.next_raw()?;
        }
        while next.as_ref().is_some_and(|f| f.0 <= t) {
            shown = next.take();
            next = frames.next_raw()?;
        }
        let Some((pts_ns, frame)) = shown.as_ref().or(next.as_ref()) else {
            return Err(Error::Truncated { path: path.into(), detail: "there is no frame in it".into() });
        };
        let rgb = frames.rgb.convert(frame).map_err(|e| frames.decoding.damaged(e.to_string()))?;
        out.push(VideoFrame { pts_ns: *pts_ns, rgb });
    }
    Ok(out)
}

/// A stretch of decoded audio, mixed to one channel.
#[derive(Debug, Clone)]
pub struct AudioBlock {
    /// When its first sample is heard, on the container's clock.
    pub pts_ns: i64,
    /// Samples, −1 to 1.
    pub samples: Vec<f32>,
}

/// The audio of a file at its native rate, mixed to one channel (the mean of all).
///
/// Encoder delay and edit lists are applied. Damage and a missing end are errors.
pub struct AudioBlocks {
    info: AudioInfo,
    decoding: Decoding,
    next_ns: i64,
    failed: bool,
}

impl AudioBlocks {
    /// Opens a file's audio.
    pub fn open(path: &Path) -> Result<Self> {
        let input = open(path)?;
        let info = probe_opened(path, &input)?.need_audio()?.clone();
        let decoding = Decoding::open(path, input, info.stream, "audio")?;
        Ok(Self { next_ns: info.start_ns, info, decoding, failed: false })
    }

    /// What the stream is.
    #[must_use]
    pub fn info(&self) -> &AudioInfo {
        &self.info
    }

    fn next_block(&mut self) -> Result<Option<AudioBlock>> {
        let mut frame = ff::frame::Audio::empty();
        if !self.decoding.next(&mut frame)? {
            self.decoding.check_complete()?;
            return Ok(None);
        }
        if frame.rate() != self.info.sample_rate {
            let what = format!("the sample rate changes from {} to {} Hz", self.info.sample_rate, frame.rate());
            return Err(self.decoding.damaged(what));
        }
        let samples = mono(&frame).ok_or_else(|| Error::Unsupported {
            path: self.decoding.path.clone(),
            what: format!("its audio has the sample format “{}”: convert it to 16-bit first", frame.format().name()),
        })?;
        let pts_ns = self.decoding.time_of(&frame).unwrap_or(self.next_ns);
        self.next_ns = pts_ns + to_ns(samples.len() as i64, ff::Rational(1, self.info.sample_rate as i32));
        Ok(Some(AudioBlock { pts_ns, samples }))
    }
}

impl Iterator for AudioBlocks {
    type Item = Result<AudioBlock>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        let r = self.next_block().transpose();
        self.failed = !matches!(r, Some(Ok(_)));
        r
    }
}

/// The mean of a frame's channels; `None` for a sample format that is not known.
fn mono(frame: &ff::frame::Audio) -> Option<Vec<f32>> {
    use ff::format::Sample;
    let (n, channels) = (frame.samples(), usize::from(frame.channels()).max(1));
    let size = frame.format().bytes();
    let decode: fn(&[u8]) -> f32 = match frame.format() {
        Sample::U8(_) => |b| (f32::from(b[0]) - 128.0) / 128.0,
        Sample::I16(_) => |b| f32::from(i16::from_ne_bytes([b[0], b[1]])) / 32_768.0,
        Sample::I32(_) => |b| i32::from_ne_bytes([b[0], b[1], b[2], b[3]]) as f32 / 2_147_483_648.0,
        Sample::F32(_) => |b| f32::from_ne_bytes([b[0], b[1], b[2], b[3]]),
        Sample::F64(_) => |b| f64::from_ne_bytes([b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7]]) as f32,
        _ => return None,
    };
    let mut out = vec![0.0; n];
    let scale = 1.0 / channels as f32;
    if frame.is_packed() {
        let data = frame.data(0).chunks_exact(size * channels);
        for (o, all) in out.iter_mut().zip(data) {
            *o = all.chunks_exact(size).map(decode).sum::<f32>() * scale;
        }
    } else {
        for c in 0..frame.planes() {
            for (o, b) in out.iter_mut().zip(frame.data(c).chunks_exact(size)) {
                *o += decode(b) * scale;
            }
        }
    }
    Some(out)
}

/// What a file turned out to hold when it was decoded from start to end.
#[derive(Debug, Clone, PartialEq)]
pub struct Verified {
    /// What it claims.
    pub info: MediaInfo,
    /// Pictures decoded.
    pub video_frames: u64,
    /// First and last picture's time.
    pub video_span_ns: Option<(i64, i64)>,
    /// Whether all pictures stand on a constant-rate grid, within a millisecond.
    pub regular: bool,
    /// Samples decoded.
    pub audio_samples: u64,
    /// First and last block's time.
    pub audio_span_ns: Option<(i64, i64)>,
}

/// Decodes all of a file's video and audio; fails when it is damaged or cut off.
pub fn verify_decodable(path: &Path) -> Result<Verified> {
    let info = crate::probe(path)?;
    let mut v = Verified { info, video_frames: 0, video_span_ns: None, regular: true, audio_samples: 0, audio_span_ns: None };
    let extend = |span: &mut Option<(i64, i64)>, t: i64| *span = Some(span.map_or((t, t), |(a, _)| (a, t)));
    if let Some(video) = &v.info.video {
        let mut frames = VideoFrames::open(path)?;
        while let Some((t, _)) = frames.next_raw()? {
            extend(&mut v.video_span_ns, t);
            let (first, _) = v.video_span_ns.unwrap_or((t, t));
            let due = first + to_ns(v.video_frames as i64 * i64::from(video.fps.1), ff::Rational(1, video.fps.0 as i32));
            v.regular &= (t - due).abs() <= 1_000_000;
            v.video_frames += 1;
        }
        // Pictures that an edit list hides are decoded but not shown.
        v.regular &= frames.packets() == v.video_frames;
        if v.video_frames == 0 {
            return Err(Error::Truncated { path: path.into(), detail: "there is not one whole picture in it".into() });
        }
    }
    if v.info.audio.is_some() {
        for block in AudioBlocks::open(path)? {
            let block = block?;
            extend(&mut v.audio_span_ns, block.pts_ns);
            v.audio_samples += block.samples.len() as u64;
        }
    }
    // Containers without a full index promise a length only.
    let end = [v.video_span_ns, v.audio_span_ns].into_iter().flatten().map(|s| s.1).max().unwrap_or(0);
    match v.info.duration_ns {
        Some(d) if d - end > MISSING_NS => {
            let s = redline_schemas::time::seconds;
            Err(Error::Truncated { path: path.into(), detail: format!("it ends after {:.1} of {:.1} s", s(end), s(d)) })
        }
        _ => Ok(v),
    }
}

/// A file may claim this much more than it holds: containers round, and streams end unevenly.
const MISSING_NS: i64 = 2 * redline_schemas::time::NS_PER_S;
