//! An existing video as a request.

use super::temporary::Temporary;
use crate::{Error, Result};
use redline_media::{Verified, VideoInfo};
use redline_schemas::time::{AudioClock, FrameGrid};
use redline_schemas::{
    Alignment, AudioStream, Clock, Corpus, Difficulty, FORMAT_VERSION, ImportedFrom, Modality, ModelId, ParticipantId, RequestId,
    RequestManifest, Session, SessionDir, Status, Streams, Tool, Utc, VideoStream, fsio,
};
use std::path::{Path, PathBuf};

/// The height that a request's video has at most, pixels.
pub const VIDEO_HEIGHT: u32 = 720;

/// The rate that a request's video has, frames per second.
pub const VIDEO_FPS: u32 = 30;

/// The largest typed text that is taken in.
const MAX_TEXT_BYTES: u64 = 1 << 20;

/// What to import.
#[derive(Debug, Clone)]
pub struct VideoImport {
    /// The video.
    pub file: PathBuf,
    /// The new request's id; a new one when absent.
    pub id: Option<RequestId>,
    /// Who asks in it; must be a participant of the corpus.
    pub participant: ParticipantId,
    /// The model it is about; must be in the corpus.
    pub model: Option<ModelId>,
    /// How.
    pub modality: Modality,
    /// How much work it asks for.
    pub difficulty: Difficulty,
    /// A file with the typed text.
    pub text: Option<PathBuf>,
    /// A remark.
    pub note: Option<String>,
}

/// What [`import_video`] made.
#[derive(Debug, Clone)]
pub struct ImportedVideo {
    /// The request.
    pub manifest: RequestManifest,
    /// Whether the pictures were taken over as they are, without encoding anew.
    pub copied: bool,
}

/// Makes a request of a video.
///
/// H.264 that is at most 720 high on a regular 30 fps grid is copied; anything else is encoded anew.
/// Nothing is left behind when it fails. `progress` gets the time done and the whole length.
pub fn import_video(corpus: &Corpus, job: &VideoImport, progress: &mut dyn FnMut(i64, i64)) -> Result<ImportedVideo> {
    if !corpus.participants()?.participants.iter().any(|p| p.id == job.participant) {
        let (file, id) = (corpus.participants_path(), &job.participant);
        return Err(Error::Refused(format!("{}: no participant {id}: add one with `redline participant add {id}`", file.display())));
    }
    if let Some(m) = &job.model {
        corpus.model(m)?;
    }
    let text = job.text.as_deref().map(read_text).transpose()?;
    let verified = redline_media::verify_decodable(&job.file)?;
    let video = verified.info.need_video()?.clone();
    let id = job.id.clone().unwrap_or_else(RequestId::generate);
    let target = corpus.request_dir(&id);
    if target.path().exists() {
        return Err(redline_schemas::Error::Exists { path: target.path().into() }.into());
    }
    let temporary = Temporary::beside(target.path())?;
    let dir = temporary.path().to_path_buf();

    let (session, copied) = Import { file: &job.file, verified: &verified, video: &video, to: SessionDir::new(&dir) }.run(progress)?;
    if let Some(t) = text {
        fsio::write_atomic(&SessionDir::new(&dir).text(), t.as_bytes())?;
    }
    let name = job.file.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    let manifest = RequestManifest {
        format_version: FORMAT_VERSION,
        id,
        participant: job.participant.clone(),
        model: job.model.clone(),
        modality: job.modality,
        difficulty: job.difficulty,
        status: Status::Complete,
        rejection: None,
        session,
        note: job.note.clone(),
        imported_from: Some(ImportedFrom { name, sha256: fsio::sha256_file(&job.file)? }),
        tool: Tool::redline(),
    };
    fsio::write_json(&SessionDir::new(&dir).request_json(), &manifest)?;
    temporary.keep_as(target.path())?;
    Ok(ImportedVideo { manifest, copied })
}

struct Import<'a> {
    file: &'a Path,
    verified: &'a Verified,
    video: &'a VideoInfo,
    to: SessionDir,
}

/// Audio on the container's clock, and the WAV that holds it.
struct Audio {
    clock: AudioClock,
    peak: f32,
    wav: PathBuf,
}

impl Import<'_> {
    fn run(&self, progress: &mut dyn FnMut(i64, i64)) -> Result<(Session, bool)> {
        let mut audio = self.verified.info.audio.is_some().then(|| self.extract_audio()).transpose()?;
        let video_ns = self.verified.video_span_ns.map_or(0, |s| s.0);
        let audio_ns = audio.as_ref().and_then(|a| a.clock.pieces.first()).map(|p| p.t0_ns);
        // The session starts with whatever comes first, so that no time in it is negative.
        let origin_ns = audio_ns.map_or(video_ns, |a| a.min(video_ns));
        for p in audio.iter_mut().flat_map(|a| &mut a.clock.pieces) {
            p.t0_ns -= origin_ns;
        }
        let grid = FrameGrid::new(video_ns - origin_ns, VIDEO_FPS, 1)?;
        let copied = self.can_copy() && origin_ns == video_ns;
        let video = if copied { self.copy(grid)? } else { self.encode(grid, audio.as_ref(), progress)? };
        let audio = audio.map(|a| self.finish_audio(a)).transpose()?;
        let end = grid.t_ns_of_frame(video.frames as i64).max(audio.as_ref().and_then(|a| a.clock.span_ns()).map_or(0, |s| s.1));
        let clock = Clock {
            name: "file".into(),
            started_utc: self.started_utc()?,
            origin_ns: None,
            alignment: Alignment::Container,
            discontinuities: Vec::new(),
        };
        let streams = Streams { video: Some(video), audio, ..Streams::default() };
        Ok((Session { clock, duration_ns: end, screen: None, streams }, copied))
    }

    fn can_copy(&self) -> bool {
        let v = self.video;
        let audio = self.verified.info.audio.as_ref();
        v.codec == "h264"
            && v.pixel_format == "yuv420p"
            && v.height <= VIDEO_HEIGHT
            && v.fps == (VIDEO_FPS, 1)
            && self.verified.regular
            && audio.is_none_or(|a| a.codec == "aac")
    }

    fn copy(&self, grid: FrameGrid) -> Result<VideoStream> {
        redline_media::remux(self.file, &self.to.video())?;
        let frames = self.verified.video_frames;
        let stream = self.stream(grid, (self.video.width, self.video.height), frames, self.verified.info.audio.is_some())?;
        Ok(stream)
    }

    fn encode(&self, grid: FrameGrid, audio: Option<&Audio>, progress: &mut dyn FnMut(i64, i64)) -> Result<VideoStream> {
        let total = self.verified.info.duration_ns.unwrap_or(0);
        let raw = self.to.video_raw();
        let done = redline_media::regrid(self.file, &raw, VIDEO_HEIGHT, VIDEO_FPS, &mut |t| progress(t, total))?;
        let wav = audio.map(|a| redline_media::WavReader::open(&a.wav)).transpose()?;
        let mux = wav.as_ref().zip(audio).map(|(wav, a)| redline_media::MuxAudio { wav, clock: &a.clock });
        let muxed = redline_media::finish_video(&raw, &self.to.video(), &grid, mux)?;
        std::fs::remove_file(&raw).map_err(Error::io(&raw, "could not remove"))?;
        let mut s = self.stream(grid, (done.width, done.height), muxed.frames, muxed.has_audio)?;
        s.repeated_slots = done.repeated_slots;
        s.dropped_frames = done.dropped_frames;
        s.capture_error_ns = Some(done.error_ns);
        Ok(s)
    }

    fn stream(&self, grid: FrameGrid, (width, height): (u32, u32), frames: u64, has_audio: bool) -> Result<VideoStream> {
        let path = self.to.video();
        // What was written is looked at again: a file that players cannot read must not enter the corpus.
        let written = redline_media::probe(&path)?;
        let found = written.need_video()?;
        if found.frames != Some(frames) || (found.width, found.height) != (width, height) || found.start_ns != 0 {
            return Err(Error::Refused(format!(
                "{}: the video written has {:?} frames of {}x{} from {} ns on, not {frames} of {width}x{height} from 0 on: please report this video",
                self.file.display(),
                found.frames,
                found.width,
                found.height,
                found.start_ns
            )));
        }
        Ok(VideoStream {
            file: self.to.file_ref(&path)?,
            codec: "h264".into(),
            width,
            height,
            grid,
            frames,
            repeated_slots: 0,
            paused_slots: 0,
            dropped_frames: 0,
            capture_error_ns: None,
            has_audio,
        })
    }

    fn extract_audio(&self) -> Result<Audio> {
        let wav = self.to.audio_raw();
        let found = redline_media::audio_to_wav(self.file, &wav)?;
        Ok(Audio { clock: found.clock, peak: found.peak, wav })
    }

    fn finish_audio(&self, a: Audio) -> Result<AudioStream> {
        let path = self.to.audio();
        redline_media::write_flac(&redline_media::WavReader::open(&a.wav)?, &path)?;
        std::fs::remove_file(&a.wav).map_err(Error::io(&a.wav, "could not remove"))?;
        Ok(AudioStream {
            file: self.to.file_ref(&path)?,
            codec: "flac".into(),
            channels: 1,
            clock: a.clock,
            device: None,
            peak: Some(a.peak),
        })
    }

    /// When the video was made: as the container says, else the file's own date.
    fn started_utc(&self) -> Result<Utc> {
        if let Some(t) = self.verified.info.created_utc {
            return Ok(t);
        }
        let meta = std::fs::metadata(self.file).and_then(|m| m.modified());
        Ok(meta.map_err(Error::io(self.file, "could not look at"))?.into())
    }
}

fn read_text(path: &Path) -> Result<String> {
    let bytes = fsio::read_limited(path, MAX_TEXT_BYTES)?;
    String::from_utf8(bytes).map_err(|_| Error::Refused(format!("{}: not UTF-8 text: save it as UTF-8", path.display())))
}
