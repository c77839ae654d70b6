//! A recording from start to finish.

use crate::clock_watch::{ClockWatch, INTERVAL_NS};
use crate::finalise::{Known, finalise, remove_raw};
use crate::input::Input;
use crate::lock::{self, Lock, LockInfo};
use crate::manifest::SessionManifest;
use crate::marks::Marks;
use crate::screen::{self, Painter};
use crate::shared::{Shared, StopReason};
use crate::sinks::{StrokeSink, TextSink};
use crate::video::{Video, spawn};
use crate::{Microphone, RecordOptions, Result, SessionClock, audio};
use redline_media::EncodeSettings;
use redline_schemas::coords::{ScreenMap, video_size};
use redline_schemas::{Corpus, Discontinuity, DiscontinuityCause, MarkEvent, MarkKind, Screen, Session, SessionDir, Status, Streams};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::Duration;

/// How far a recording is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Progress {
    /// Session time now.
    pub elapsed_ns: i64,
    /// Frames encoded, repeated ones included.
    pub frames: u64,
    /// Slots that show the picture before.
    pub repeated: u64,
    /// Slots that stood still because of a pause.
    pub paused_slots: u64,
    /// Pictures that were taken but not used.
    pub dropped: u64,
    /// Input events written.
    pub events: u64,
    /// Pictures waiting for the encoder.
    pub queued: u64,
    /// Peak of the last audio, 0 to 1; `None` without a microphone.
    pub level: Option<f32>,
    /// Length of all pauses so far.
    pub paused_ns: i64,
    /// Whether it is paused now.
    pub paused: bool,
}

/// A finished recording.
#[derive(Debug, Clone)]
pub struct Finished {
    /// The manifest as written.
    pub manifest: SessionManifest,
    /// Its path.
    pub path: PathBuf,
    /// Why it ended by itself, if it did.
    pub reason: Option<StopReason>,
}

/// A recording under way.
pub struct Recording {
    dir: SessionDir,
    manifest: SessionManifest,
    shared: Arc<Shared>,
    video: Option<Video>,
    audio: Option<audio::Audio>,
    microphone: Option<String>,
    fps: u32,
    input: Input,
    keeper: JoinHandle<(Lock, Vec<Discontinuity>)>,
    strokes: StrokeSink,
    text: TextSink,
    _locks: [Lock; 2],
}

/// The lock that keeps a second recorder out of a corpus.
#[must_use]
pub fn corpus_lock(corpus: &Corpus) -> PathBuf {
    corpus.root().join(".recording.lock")
}

impl Recording {
    /// Opens all devices, then starts the session's clock and every stream.
    ///
    /// `manifest` says whose session it is; its `session` and status are filled in. The session's
    /// folder must not exist. `painter` draws into the pictures, see [`Painter`].
    pub fn start(
        corpus: &Corpus,
        dir: SessionDir,
        manifest: SessionManifest,
        options: &RecordOptions,
        painter: Option<Box<dyn Painter>>,
    ) -> Result<Self> {
        Self::prepare(corpus, options)?.start(dir, manifest, options, painter)
    }

    /// Opens all devices and lets them settle, which takes up to some seconds; [`Prepared::start`] then begins at once.
    ///
    /// Nothing is written yet but the corpus’s lock, which goes when this is dropped.
    pub fn prepare(corpus: &Corpus, options: &RecordOptions) -> Result<Prepared> {
        options.validate()?;
        let mut corpus_lock = Lock::take(&corpus_lock(corpus))?.remove();
        let holder = LockInfo { pid: std::process::id(), ..LockInfo::default() };
        corpus_lock.write(&holder)?;
        // Devices first: when one is missing, nothing is left behind.
        let mut source = screen::open(options)?;
        source.grab()?;
        let mut screen_lock = lock::screen()?;
        screen_lock.write(&holder)?;
        let monitors = screen::monitors().unwrap_or_default();
        crate::input::prepare()?;
        let microphone = if options.microphone == Microphone::Off { None } else { Some(audio::open(&options.microphone)?) };
        Ok(Prepared { locks: [corpus_lock, screen_lock], source, monitors, microphone })
    }

    /// The session's folder.
    #[must_use]
    pub fn dir(&self) -> &SessionDir {
        &self.dir
    }

    /// The session's clock, for streams that others write.
    #[must_use]
    pub fn clock(&self) -> &SessionClock {
        &self.shared.clock
    }

    /// Screen to video pixels as of now.
    #[must_use]
    pub fn screen_map(&self) -> ScreenMap {
        self.shared.map.read().unwrap_or_else(std::sync::PoisonError::into_inner).clone()
    }

    /// Says where on the screen is recorded, whenever it is asked.
    pub fn area_now(&self) -> impl Fn() -> Option<redline_schemas::coords::Rect> + Send + use<> {
        let shared = Arc::clone(&self.shared);
        move || shared.map.read().unwrap_or_else(std::sync::PoisonError::into_inner).area_at(shared.clock.now_ns())
    }

    /// How far it is.
    #[must_use]
    pub fn progress(&self) -> Progress {
        let s = &self.shared;
        let elapsed_ns = s.clock.now_ns();
        Progress {
            elapsed_ns,
            frames: s.frames.load(Ordering::Relaxed),
            repeated: s.repeated.load(Ordering::Relaxed),
            paused_slots: s.paused.load(Ordering::Relaxed),
            dropped: s.dropped.load(Ordering::Relaxed),
            events: s.events.load(Ordering::Relaxed),
            queued: s.queued.load(Ordering::Relaxed),
            level: self.audio.as_ref().map(|_| f32::from_bits(s.level.load(Ordering::Relaxed))),
            paused_ns: s.pauses.total_ns(elapsed_ns),
            paused: s.pauses.on(),
        }
    }

    /// What the person should be told since the last call.
    #[must_use]
    pub fn messages(&self) -> Vec<String> {
        self.shared.take_messages()
    }

    /// Marks this moment.
    pub fn mark(&self, note: Option<String>) -> Result<i64> {
        self.shared.marks.now(MarkKind::Mark, note)
    }

    /// The writer of the strokes.
    #[must_use]
    pub fn strokes(&self) -> StrokeSink {
        self.strokes.clone()
    }

    /// The writer of the typed text.
    #[must_use]
    pub fn text(&self) -> TextSink {
        self.text.clone()
    }

    /// Stops writing until [`Self::resume`]: the last picture stands, sound and events of the time between are not kept.
    /// The clock goes on. False when it is paused already.
    pub fn pause(&self) -> Result<bool> {
        let t_ns = self.shared.clock.now_ns();
        if !self.shared.pauses.begin(t_ns) {
            return Ok(false);
        }
        self.shared.marks.write(&span(MarkKind::Pause, t_ns, None))?;
        Ok(true)
    }

    /// Goes on after a pause. False when nothing was paused.
    pub fn resume(&self) -> Result<bool> {
        let now = self.shared.clock.now_ns();
        let Some(t_ns) = self.shared.pauses.end(now) else { return Ok(false) };
        self.shared.marks.write(&span(MarkKind::Pause, t_ns, Some(now)))?;
        Ok(true)
    }

    /// The last `seconds` are not to be kept: they are marked at once, and taken out of every stream when the finished files
    /// are made. The span, session time.
    pub fn cut(&self, seconds: f64) -> Result<(i64, i64)> {
        let now = self.shared.clock.now_ns();
        let from = (now - redline_schemas::time::from_seconds(seconds.max(0.0))).max(0);
        self.shared.marks.write(&span(MarkKind::Cut, from, Some(now)))?;
        self.text.cut(from);
        Ok((from, now))
    }

    /// Something to leave messages with, for those who work beside the recorder.
    #[must_use]
    pub fn teller(&self) -> Box<dyn Fn(String) + Send + Sync> {
        let shared = Arc::clone(&self.shared);
        Box::new(move |m| shared.say(m))
    }

    /// An edit's work begins now.
    pub fn begin_edit(&mut self) -> Result<()> {
        let now = self.shared.clock.now_ns();
        if let SessionManifest::Edit(m) = &mut self.manifest {
            m.started_ns = Some(now);
        }
        self.manifest.save(&self.dir)
    }

    /// An edit's work ends now; what follows, such as the export of its result, does not count.
    pub fn end_edit(&mut self) {
        let now = self.shared.clock.now_ns();
        if let SessionManifest::Edit(m) = &mut self.manifest {
            m.stopped_ns = Some(now);
        }
    }

    /// A run ends, and why; what the agent says of itself.
    pub fn end_run(&mut self, stop: Option<redline_schemas::RunStop>, claimed_success: Option<bool>) {
        if let SessionManifest::Run(m) = &mut self.manifest {
            (m.stop, m.claimed_success) = (stop, claimed_success);
        }
    }

    /// Writes a mark of any kind.
    pub fn write_mark(&self, mark: &MarkEvent) -> Result<()> {
        self.shared.marks.write(mark)
    }

    /// Why the recording wants to end, if it does: the caller should call [`Self::stop`].
    #[must_use]
    pub fn wants_stop(&self) -> Option<StopReason> {
        self.shared.wanted()
    }

    /// Ends all streams and makes the finished files.
    ///
    /// When the disk is full, what was recorded stays as it is and an error says so;
    /// [`crate::recover`] finishes it when there is room again.
    pub fn stop(mut self) -> Result<Finished> {
        let s = Arc::clone(&self.shared);
        let resumed = self.resume();
        let end_ns = s.clock.now_ns();
        s.end_ns.store(end_ns, Ordering::Release);
        s.stop.store(true, Ordering::Release);
        let video = self.video.map_or(Ok(()), Video::join);
        let input = self.input.join();
        let audio = self.audio.take().map_or(Ok(()), audio::Audio::join);
        let (lock, discontinuities) = self.keeper.join().map_or((None, Vec::new()), |(l, d)| (Some(l), d));
        let drawn = self.strokes.close();
        let typed = self.text.close();
        if let Some(e) = s.take_failure() {
            return Err(e);
        }
        video.and(input).and(audio).and(resumed.map(drop)).and(drawn).and(typed)?;
        let session = self.manifest.session_mut();
        session.duration_ns = end_ns;
        session.clock.discontinuities = discontinuities;
        finalise(&self.dir, session, &Known { fps: self.fps, microphone: self.microphone.as_deref() })?;
        self.manifest.conclude(&self.dir)?;
        self.manifest.set_status(Status::Complete);
        self.manifest.save(&self.dir)?;
        remove_raw(&self.dir);
        drop(lock.map(Lock::remove));
        Ok(Finished { path: self.manifest.path(&self.dir), manifest: self.manifest, reason: s.wanted() })
    }
}

/// Opened devices, before the session begins.
pub struct Prepared {
    locks: [Lock; 2],
    source: Box<dyn screen::FrameSource>,
    monitors: Vec<redline_schemas::Monitor>,
    microphone: Option<audio::Opened>,
}

impl Prepared {
    /// Starts the session’s clock and every stream, see [`Recording::start`]. `options` must be those it was prepared with.
    pub fn start(
        mut self,
        dir: SessionDir,
        manifest: SessionManifest,
        options: &RecordOptions,
        painter: Option<Box<dyn Painter>>,
    ) -> Result<Recording> {
        create_dir(dir.path())?;
        // The person may have resized or moved things while the microphone settled.
        self.source.grab()?;
        self.begin(dir.clone(), manifest, options, painter).inspect_err(|_| {
            // Nothing was recorded yet.
            let _ = std::fs::remove_dir_all(dir.path());
        })
    }

    fn begin(
        self,
        dir: SessionDir,
        mut manifest: SessionManifest,
        options: &RecordOptions,
        painter: Option<Box<dyn Painter>>,
    ) -> Result<Recording> {
        let mut lock = Lock::take(&dir.lock())?;
        let area = self.source.area();
        let (width, height) = video_size(area, options.height);
        let map = ScreenMap::fixed(area, width, height);
        let clock = SessionClock::start();
        let microphone = self.microphone.as_ref().map(|m| m.name.clone());
        let info = LockInfo { pid: std::process::id(), alive_ns: 0, fps: Some(options.fps), microphone: microphone.clone() };
        lock.write(&info)?;
        *manifest.session_mut() = Session {
            clock: clock.manifest(Vec::new()),
            duration_ns: 0,
            screen: Some(Screen {
                map: map.clone(),
                monitors: self.monitors,
                source: screen::source_name(&options.source).into(),
                title: self.source.title(),
                backend: self.source.backend().into(),
            }),
            streams: Streams::default(),
        };
        manifest.set_status(Status::Recording);
        manifest.save(&dir)?;
        let marks = Marks::create(&dir.marks(), clock.clone())?;
        let shared = Arc::new(Shared::new(clock, marks, map));
        let settings = EncodeSettings { preset: options.preset.clone(), ..EncodeSettings::new(width, height, options.fps) };
        let input = Input::start(&shared, &dir, options.keys, options.stop_chord)?;
        let audio = self.microphone.map(|m| m.start(&shared, &dir)).transpose()?;
        let video = if options.video { Some(Video::start(&shared, &dir, self.source, painter, &settings)?) } else { None };
        let keeper = {
            let k = Keeper { shared: Arc::clone(&shared), dir: dir.clone(), manifest: manifest.clone(), lock, info };
            spawn("keeper", move || k.run())?
        };
        let (strokes, text) = (StrokeSink::new(Arc::clone(&shared), &dir), TextSink::new(Arc::clone(&shared), &dir));
        Ok(Recording {
            dir,
            manifest,
            shared,
            video,
            audio,
            microphone,
            fps: options.fps,
            input,
            keeper,
            strokes,
            text,
            _locks: self.locks,
        })
    }
}

fn span(kind: MarkKind, t_ns: i64, until_ns: Option<i64>) -> MarkEvent {
    MarkEvent { t_ns, kind, until_ns, stream: None, note: None, area: None }
}

fn create_dir(dir: &Path) -> Result<()> {
    if dir.exists() {
        return Err(redline_schemas::Error::Exists { path: dir.into() }.into());
    }
    Ok(std::fs::create_dir_all(dir).map_err(redline_schemas::Error::io(dir, "could not create the folder"))?)
}

/// Says that the recorder lives, and watches the clocks, until the stop.
struct Keeper {
    shared: Arc<Shared>,
    dir: SessionDir,
    manifest: SessionManifest,
    lock: Lock,
    info: LockInfo,
}

/// How often the lock is touched.
const BEAT: Duration = Duration::from_millis(100);

impl Keeper {
    fn run(mut self) -> (Lock, Vec<Discontinuity>) {
        let mut watch = ClockWatch::default();
        let mut found = Vec::new();
        let mut read_ns = i64::MIN;
        while !self.shared.stopping() {
            let now = self.shared.clock.reading();
            self.info.alive_ns = now.t_ns;
            if let Err(e) = self.lock.write(&self.info) {
                self.shared.fail(e);
            }
            if now.t_ns.saturating_sub(read_ns) >= INTERVAL_NS {
                let before_ns = read_ns.max(0);
                read_ns = now.t_ns;
                let new = watch.read(now);
                if !new.is_empty() {
                    self.jumped(before_ns, &new);
                    found.extend(new);
                    // At once, so that a crash does not take the knowledge with it.
                    self.manifest.session_mut().clock.discontinuities.clone_from(&found);
                    if let Err(e) = self.manifest.save(&self.dir) {
                        self.shared.fail(e);
                    }
                }
            }
            std::thread::sleep(BEAT);
        }
        (self.lock, found)
    }

    fn jumped(&self, before_ns: i64, new: &[Discontinuity]) {
        for d in new {
            let by = d.wall_minus_monotonic_ns as f64 / 1e9;
            let note = match d.cause {
                DiscontinuityCause::Suspend => format!("the machine slept for {by:.1} s, which the session’s clock does not count"),
                DiscontinuityCause::WallClockSet => format!("the wall clock was set by {by:+.3} s; session times do not depend on it"),
                DiscontinuityCause::Stall => {
                    let long = (d.t_ns - before_ns) as f64 / 1e9;
                    format!("the recorder did not run for {long:.1} s: pictures are missing, and input has the display server's times")
                }
            };
            let until_ns = (d.cause == DiscontinuityCause::Stall).then_some(d.t_ns);
            let t_ns = if until_ns.is_some() { before_ns } else { d.t_ns };
            let m = MarkEvent { t_ns, kind: MarkKind::Discontinuity, until_ns, stream: None, note: Some(note.clone()), area: None };
            if let Err(e) = self.shared.marks.write(&m) {
                self.shared.fail(e);
            }
            self.shared.say(note);
        }
    }
}
