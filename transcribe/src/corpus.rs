//! A corpus's requests, and their automatic transcripts.

use crate::align::ForcedAligner;
use crate::engine::Engine;
use crate::recognise::{Hints, Recogniser};
use crate::{Error, Result, guards, pieces, vad};
use redline_schemas::time::AudioClock;
use redline_schemas::{
    Aligner, Corpus, FORMAT_VERSION, RequestId, RequestManifest, SessionDir, Status, Tool, Transcript, TranscriptKind, fsio,
};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

/// Everything that decides what a transcript says, besides the audio.
pub struct Setup<'e> {
    /// The speech model.
    pub engine: &'e Engine,
    /// SHA-256 of the voice activity model.
    pub vad_sha256: String,
    /// What gives the final word times.
    pub aligner: Option<&'e dyn ForcedAligner>,
}

/// A request to be transcribed.
#[derive(Debug, Clone)]
pub struct Job {
    /// Its id.
    pub request: RequestId,
    dir: SessionDir,
    hints: Hints,
    audio: Option<(PathBuf, AudioClock)>,
    audio_sha256: Option<String>,
}

impl Job {
    /// The request's folder.
    #[must_use]
    pub fn dir(&self) -> &SessionDir {
        &self.dir
    }

    /// Length of the audio, seconds.
    #[must_use]
    pub fn audio_s(&self) -> f64 {
        self.audio.as_ref().map_or(0.0, |(_, c)| c.samples() as f64 / f64::from(c.sample_rate.max(1)))
    }
}

/// What is to be done about a request.
#[derive(Debug)]
pub enum Plan {
    /// Transcribe it.
    Todo(Box<Job>),
    /// Its transcript is there, made from the same audio, model and settings.
    Done(Box<Transcript>),
    /// It cannot be transcribed now.
    NotYet(&'static str),
}

/// Whisper's code of a BCP 47 language: its primary subtag, if Whisper knows it. `auto` is `None`.
pub fn whisper_language(engine: &Engine, language: &str) -> Result<Option<String>> {
    let primary = language.split(['-', '_']).next().unwrap_or_default().to_ascii_lowercase();
    if primary == "auto" {
        return Ok(None);
    }
    let usable = |c: &char| c.is_ascii_lowercase();
    if !(2..=3).contains(&primary.len()) || !primary.chars().all(|c| usable(&c)) || whisper_rs::get_lang_id(&primary).is_none() {
        return Err(Error::Engine(format!("“{language}” is not a language that Whisper knows; give a code such as en or de, or auto")));
    }
    if !engine.is_multilingual() && primary != "en" {
        return Err(Error::Engine(format!("the model {} knows English only, not “{language}”", engine.model().name)));
    }
    Ok(Some(primary))
}

impl Setup<'_> {
    /// Looks at a request. `word_list` is as [`crate::prompt::word_list`] makes it, `language` Whisper's code.
    pub fn plan(&self, corpus: &Corpus, id: &RequestId, language: Option<String>, word_list: Vec<String>, force: bool) -> Result<Plan> {
        let manifest: RequestManifest = corpus.request(id)?;
        if manifest.status == Status::Recording {
            return Ok(Plan::NotYet("still being recorded, or to be mended with `redline recover`"));
        }
        let dir = corpus.request_dir(id);
        let audio = match &manifest.session.streams.audio {
            None => None,
            Some(a) => {
                let path = dir.path().join(&a.file.path);
                let inside = std::path::Path::new(&a.file.path).components().all(|c| matches!(c, std::path::Component::Normal(_)));
                if !inside {
                    return Err(Error::Audio { path: dir.request_json(), message: "its audio lies outside its folder".into() });
                }
                Some((path, a.clock.clone()))
            }
        };
        let audio_sha256 = audio.as_ref().map(|(p, _)| fsio::sha256_file(p)).transpose()?;
        let job = Job { request: id.clone(), dir, hints: Hints { language, word_list }, audio, audio_sha256 };
        // A transcript that cannot be read is made anew.
        let old = if force { None } else { job.dir.transcript(TranscriptKind::Automatic).ok().flatten() };
        match old.filter(|t| self.made(t, &job)) {
            Some(t) => Ok(Plan::Done(Box::new(t))),
            None => Ok(Plan::Todo(Box::new(job))),
        }
    }

    fn made(&self, t: &Transcript, job: &Job) -> bool {
        t.request == job.request
            && t.audio_sha256 == job.audio_sha256
            && t.model.as_ref() == Some(self.engine.model())
            && t.parameters == self.parameters(&job.hints)
    }

    fn parameters(&self, hints: &Hints) -> Value {
        json!({
            "language": hints.language.as_deref().unwrap_or("auto"),
            "word_list": hints.word_list,
            "temperatures": guards::TEMPERATURES.map(|t| format!("{t}")),
            "vad": {
                "model_sha256": self.vad_sha256,
                "enter": format!("{}", vad::ENTER),
                "leave": format!("{}", vad::LEAVE),
                "min_silence_ms": vad::MIN_SILENCE * vad::WINDOW as u64 / 16,
                "min_speech_ms": vad::MIN_SPEECH * vad::WINDOW as u64 / 16,
            },
            "merge_pause_ms": pieces::MERGE_PAUSE / 16,
            "longest_piece_ms": pieces::LONGEST / 16,
            "aligner": self.aligner.map(|a| a.describe()),
        })
    }

    /// Transcribes a request and writes its `transcript.automatic.json` in one step.
    pub fn transcribe(
        &self,
        worker: &mut Recogniser<'_>,
        job: &Job,
        stop: &AtomicBool,
        progress: &mut dyn FnMut(f64),
    ) -> Result<Transcript> {
        let r = match &job.audio {
            Some((path, clock)) if clock.samples() > 0 => worker.recognise(path, clock, &job.hints, stop, progress)?,
            _ => Default::default(),
        };
        let attention = || Aligner {
            name: "whisper-dtw".into(),
            version: whisper_rs::get_whisper_version().into(),
            sha256: Some(self.engine.model().sha256.clone()),
        };
        let aligner = (!r.segments.is_empty()).then(|| match self.aligner {
            Some(a) if r.aligned => a.describe(),
            _ => attention(),
        });
        let t = Transcript {
            format_version: FORMAT_VERSION,
            request: job.request.clone(),
            kind: TranscriptKind::Automatic,
            language: r.language,
            segments: r.segments,
            model: Some(self.engine.model().clone()),
            aligner,
            parameters: self.parameters(&job.hints),
            guards: r.guards,
            correction: None,
            audio_sha256: job.audio_sha256.clone(),
            created_utc: redline_schemas::time::made_utc()?,
            tool: Tool::redline(),
        };
        fsio::write_json(&job.dir.transcript_path(TranscriptKind::Automatic), &t)?;
        Ok(t)
    }
}
