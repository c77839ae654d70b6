//! The thread that holds the devices and the recording, so that the window never waits.

use crate::browser;
use crate::cad::{Cad, Connection, StartCad};
use crate::overlay::{Overlay, ink::Lasting};
use crate::state::{Choice, Deed, Look, News, Shown, Take};
use crossbeam_channel::{Receiver, Sender, select, unbounded};
use redline_recorder::control::{Ask, Command, Pen, Server};
use redline_recorder::doctor::free_bytes;
use redline_recorder::level::Meter;
use redline_recorder::live::{Drawing, Ending, Live};
use redline_recorder::{Microphone, Prepared, RecordOptions, Recording, SessionManifest, bin};
use redline_schemas::{Consent, Corpus, FORMAT_VERSION, Modality, ParticipantId, RequestId, RequestManifest, Session, Status, Tool, fsio};
use redline_view::{Replay, What};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// How often the recording, or the microphone, is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// How often the disk is, while neither is open.
const IDLE_LOOK_EVERY: Duration = Duration::from_secs(1);

/// What the window asks beyond what the state machine says.
pub enum Task {
    /// Something that the state machine decided.
    Do(Deed),
    /// The typed text.
    Type(String),
    /// Options of the next take.
    Options(Box<Wishes>),
    /// Open this microphone for its level, or none.
    Listen(Option<Microphone>),
    /// End.
    Quit,
}

/// How the next take is recorded.
#[derive(Debug, Clone)]
pub struct Wishes {
    /// What and how.
    pub options: RecordOptions,
    /// Seconds after which a temporary stroke is gone.
    pub fade_s: f64,
    /// Each new stroke takes the next colour.
    pub cycle: bool,
}

/// Called whenever there is something new to show.
pub type Wake = Box<dyn Fn() + Send>;

/// The engine, seen from the window.
pub struct Engine {
    tasks: Sender<Task>,
    news: Receiver<News>,
    look: Arc<Mutex<Look>>,
    thread: Option<JoinHandle<()>>,
}

impl Engine {
    /// Starts it.
    pub fn start(corpus: Corpus, wishes: Wishes, start_cad: StartCad, wake: Wake) -> std::io::Result<Self> {
        let (tasks, todo) = unbounded();
        let (send, news) = unbounded();
        let look = Arc::new(Mutex::new(Look::default()));
        let to = Arc::clone(&look);
        let thread = std::thread::Builder::new().name("redline-engine".into()).spawn(move || {
            let mut w = Worker {
                corpus,
                wishes,
                start_cad,
                wake: Arc::new(Mutex::new(wake)),
                news: send,
                look: to,
                choice: None,
                prepared: None,
                live: None,
                cad: None,
                server: None,
                page: None,
                shown: None,
                said: None,
                meter: None,
                listen: None,
                paused: false,
                marks: 0,
                cuts: 0,
            };
            w.run(&todo);
        })?;
        Ok(Self { tasks, news, look, thread: Some(thread) })
    }

    /// Hands over a task.
    pub fn ask(&self, t: Task) {
        let _ = self.tasks.send(t);
    }

    /// What came back since the last call.
    pub fn news(&self) -> impl Iterator<Item = News> {
        self.news.try_iter()
    }

    /// How the recording, or the microphone, looks now.
    #[must_use]
    pub fn look(&self) -> Look {
        self.look.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        let _ = self.tasks.send(Task::Quit);
        if let Some(t) = self.thread.take() {
            let _ = t.join();
        }
    }
}

struct Worker {
    corpus: Corpus,
    wishes: Wishes,
    start_cad: StartCad,
    wake: Arc<Mutex<Wake>>,
    news: Sender<News>,
    look: Arc<Mutex<Look>>,
    choice: Option<Choice>,
    prepared: Option<Prepared>,
    live: Option<Live>,
    cad: Option<Box<dyn Cad>>,
    server: Option<(Server, Receiver<Ask>)>,
    /// The replay page of the take that was last played.
    page: Option<redline_view::Server>,
    /// What the window was last woken for.
    shown: Option<Shown>,
    /// What the recorder said last.
    said: Option<String>,
    meter: Option<Meter>,
    listen: Option<Microphone>,
    paused: bool,
    marks: u32,
    cuts: u32,
}

impl Worker {
    fn run(&mut self, todo: &Receiver<Task>) {
        let never = crossbeam_channel::never();
        loop {
            let asked = self.server.as_ref().map_or(&never, |s| &s.1);
            select! {
                recv(todo) -> t => match t {
                    Ok(Task::Quit) | Err(_) => break,
                    Ok(t) => self.take(t),
                },
                recv(asked) -> a => if let Ok(a) = a {
                    self.asked(a);
                },
                default(self.pause()) => {}
            }
            self.look_around();
        }
        // The window is gone: what is being recorded is kept.
        if self.live.is_some() {
            self.finish(Ending::Keep);
        }
    }

    /// How long nothing has to be looked at.
    fn pause(&self) -> Duration {
        if self.live.is_some() || self.meter.is_some() { LOOK_EVERY } else { IDLE_LOOK_EVERY }
    }

    fn say(&self, n: News) {
        let _ = self.news.send(n);
        wake(&self.wake);
    }

    fn take(&mut self, t: Task) {
        let r = match t {
            Task::Do(d) => self.carry_out(d),
            Task::Type(text) => {
                if let Some(l) = &self.live {
                    l.recording().text().set(&text);
                }
                Ok(())
            }
            Task::Options(w) => {
                self.wishes = *w;
                Ok(())
            }
            Task::Listen(m) => {
                self.listen = m;
                self.meter = None;
                self.open_meter()
            }
            Task::Quit => Ok(()),
        };
        if let Err(e) = r {
            self.say(News::Failed(e.to_string()));
        }
    }

    /// The level is shown while nothing is recorded; a microphone has one listener at a time.
    fn open_meter(&mut self) -> redline_recorder::Result<()> {
        if self.live.is_some() || self.prepared.is_some() || self.meter.is_some() {
            return Ok(());
        }
        if let Some(m) = &self.listen {
            self.meter = Some(Meter::open(m)?);
        }
        Ok(())
    }

    fn carry_out(&mut self, d: Deed) -> redline_recorder::Result<()> {
        match d {
            Deed::Prepare(choice) => {
                self.meter = None;
                self.prepared = None;
                self.page = None;
                self.choice = Some(choice);
                match Recording::prepare(&self.corpus, &self.wishes.options) {
                    Ok(p) => {
                        self.prepared = Some(p);
                        self.say(News::Ready);
                    }
                    Err(e) => {
                        let _ = self.open_meter();
                        return Err(e);
                    }
                }
            }
            Deed::Begin => {
                let (id, lacks) = self.begin()?;
                // In this order: a failure before the beginning would mean that nothing is recorded.
                self.say(News::Begun(id));
                if let Some(why) = lacks {
                    self.say(News::Failed(why));
                }
            }
            Deed::Abandon => {
                self.prepared = None;
                let _ = self.open_meter();
            }
            Deed::Command(c) => {
                self.execute(&c)?;
            }
            Deed::Finish(e) => self.finish(e),
            Deed::Consent(p) => consent(&self.corpus, &p)?,
            Deed::Bin(id) => {
                self.page = None;
                bin::discard(&self.corpus, &id)?;
            }
            Deed::Keep(id, note) => keep(&self.corpus, &id, &note)?,
            Deed::Play(id) => {
                if let Err(e) = self.play(&id) {
                    self.say(News::Failed(format!("the take cannot be shown: {e}")));
                }
            }
        }
        Ok(())
    }

    /// Begins the session; its id, and what the recording lacks.
    fn begin(&mut self) -> redline_recorder::Result<(RequestId, Option<String>)> {
        let (Some(p), Some(choice)) = (self.prepared.take(), self.choice.clone()) else {
            return Err(redline_recorder::Error::Options("the devices are not open: start the take again".into()));
        };
        let manifest = request(&choice)?;
        let id = manifest.id.clone();
        let dir = self.corpus.request_dir(&id);
        let recording = p.start(dir, SessionManifest::Request(Box::new(manifest)), &self.wishes.options, None)?;
        let drawing = match choice.modality {
            Modality::DrawTemp => Some(Lasting::Temporary((self.wishes.fade_s * 1e9) as i64)),
            Modality::DrawStatic => Some(Lasting::Static),
            _ => None,
        };
        let mut problem = None;
        self.cad = (self.start_cad)(&recording).unwrap_or_else(|why| {
            problem = Some(why);
            None
        });
        let drawing = drawing.and_then(|lasting| {
            let area = Box::new(recording.area_now());
            match Overlay::open(lasting, recording.strokes(), area) {
                Ok(mut o) => {
                    o.pen(&Pen::Cycle(self.wishes.cycle));
                    Some(Box::new(o) as Box<dyn Drawing>)
                }
                Err(e) => {
                    problem = Some(e.to_string());
                    None
                }
            }
        });
        match Server::start(&self.corpus) {
            Ok((s, _, asked)) => self.server = Some((s, asked)),
            Err(e) => problem = Some(e.to_string()),
        }
        (self.paused, self.marks, self.cuts, self.said) = (false, 0, 0, None);
        self.live = Some(Live::new(self.corpus.clone(), id.clone(), recording, drawing));
        Ok((id, problem))
    }

    fn execute(&mut self, c: &Command) -> redline_recorder::Result<serde_json::Value> {
        let Some(l) = &mut self.live else { return Err(redline_recorder::Error::Options("nothing is being recorded".into())) };
        let r = l.execute(c)?;
        match c {
            Command::Mark(_) => self.marks += 1,
            Command::Cut(_) => self.cuts += 1,
            _ => {}
        }
        Ok(r)
    }

    /// A command from the local socket.
    fn asked(&mut self, a: Ask) {
        let r = self.execute(&a.command);
        a.answer(r);
    }

    fn look_around(&mut self) {
        let mut look = Look { free_bytes: free_bytes(self.corpus.root()), ..Look::default() };
        let mut ending = None;
        let mut said = Vec::new();
        if let Some(l) = &self.live {
            if let Some(m) = l.recording().messages().pop() {
                self.said = Some(m);
            }
            let p = l.recording().progress();
            look = Look {
                elapsed_ns: p.elapsed_ns,
                paused_ns: p.paused_ns,
                level: p.level,
                dropped: p.dropped,
                frames: p.frames,
                drawing: l.drawing(),
                marks: self.marks,
                cuts: self.cuts,
                text: l.recording().text().text(),
                cad: self.cad.as_ref().map_or(Connection::Off, |c| c.connection()),
                said: self.said.clone(),
                ..look
            };
            if p.paused != self.paused {
                self.paused = p.paused;
                said.push(News::Paused(p.paused));
            }
            ending = l.ending();
        } else if let Some(m) = &self.meter {
            look.level = m.level();
            if look.level.is_none() {
                self.meter = None;
            }
        }
        // Drawing the window costs more than recording sound: only when there is something new to see.
        let shown = look.shown();
        let new = self.shown.as_ref() != Some(&shown);
        self.shown = Some(shown);
        *self.look.lock().unwrap_or_else(PoisonError::into_inner) = look;
        if new {
            wake(&self.wake);
        }
        for n in said {
            self.say(n);
        }
        if let Some(e) = ending {
            // Ended by the socket, by its keys, or because the disk is full.
            self.say(News::WantsEnd);
            self.finish(e);
        }
    }

    /// Serves a take’s replay page, and shows it in the browser.
    fn play(&mut self, id: &RequestId) -> redline_view::Result<()> {
        let page = redline_view::Server::start(Replay::load(&self.corpus, &What::Request(id.clone()))?, 0)?;
        let address = page.address().to_owned();
        // The one before is not asked for any more.
        self.page = Some(page);
        self.say(News::Page(address.clone()));
        let (news, woken, of) = (self.news.clone(), Arc::clone(&self.wake), address.clone());
        browser::open(&address, move || {
            let _ = news.send(News::NoBrowser(of));
            wake(&woken);
        });
        Ok(())
    }

    fn finish(&mut self, e: Ending) {
        let Some(mut live) = self.live.take() else { return };
        self.server = None;
        if e == Ending::Discard {
            let _ = live.execute(&Command::Discard);
        }
        // What plug-ins still hold of a discarded take is not waited for.
        let keep = live.ending() != Some(Ending::Discard);
        let connection = self.cad.as_ref().map_or(Connection::Off, |c| c.connection());
        let notes = self.cad.take().filter(|_| keep).map(|c| c.finish(live.recording())).unwrap_or_default();
        let (text, paused_ns) = (live.recording().text().text(), live.recording().progress().paused_ns);
        let n = match live.finish() {
            Ok((_, Ending::Discard)) => News::Binned,
            Ok((f, Ending::Keep)) => {
                let s = f.manifest.session();
                match RequestId::new(f.manifest.id()) {
                    Ok(id) => News::Ended(Take {
                        id,
                        seconds: (s.duration_ns - paused_ns) as f64 / 1e9,
                        text,
                        strokes: strokes(&self.corpus, f.manifest.id()),
                        silent: s.streams.audio.as_ref().is_some_and(|a| a.peak == Some(0.0)),
                        cuts: self.cuts,
                        cad: connection,
                        notes,
                    }),
                    Err(e) => News::Failed(e.to_string()),
                }
            }
            Err(e) => News::Failed(format!("the recording could not be finished; it is kept, and `redline recover` mends it: {e}")),
        };
        self.say(n);
        if let Err(e) = self.open_meter() {
            self.say(News::Failed(e.to_string()));
        }
    }
}

/// How many strokes were drawn.
fn strokes(corpus: &Corpus, id: &str) -> u64 {
    let Ok(id) = RequestId::new(id) else { return 0 };
    let path = corpus.request_dir(&id).strokes();
    let all = redline_schemas::jsonl::read_all::<redline_schemas::StrokeEvent>(&path).map(|r| r.0).unwrap_or_default();
    all.iter().filter(|e| e.kind == redline_schemas::StrokeKind::Begin).count() as u64
}

fn request(c: &Choice) -> redline_recorder::Result<RequestManifest> {
    let Some(participant) = c.participant.clone() else {
        return Err(redline_recorder::Error::Options("nobody was chosen who asks".into()));
    };
    Ok(RequestManifest {
        format_version: FORMAT_VERSION,
        id: RequestId::generate(),
        participant,
        model: c.model.clone(),
        modality: c.modality,
        difficulty: c.difficulty,
        status: Status::Recording,
        rejection: None,
        session: Session::begun(),
        note: None,
        imported_from: None,
        tool: Tool::redline(),
    })
}

/// Writes down that a participant agrees to the text in force, now.
pub fn consent(corpus: &Corpus, who: &ParticipantId) -> redline_recorder::Result<()> {
    let Some(text) = corpus.manifest()?.consent else { return Ok(()) };
    let mut all = corpus.participants()?;
    if let Some(p) = all.participants.iter_mut().find(|p| p.id == *who) {
        p.consent = Some(Consent { version: text.version, given_utc: chrono::Utc::now() });
        corpus.write_participants(&all)?;
    }
    Ok(())
}

/// Whether a participant has agreed to the text in force, or there is none.
pub fn agreed(corpus: &Corpus, who: &ParticipantId) -> redline_recorder::Result<bool> {
    let text = corpus.manifest()?.consent;
    let all = corpus.participants()?;
    Ok(all.participants.iter().find(|p| p.id == *who).is_some_and(|p| p.agrees_to(text.as_ref())))
}

fn keep(corpus: &Corpus, id: &RequestId, note: &str) -> redline_recorder::Result<()> {
    if note.trim().is_empty() {
        return Ok(());
    }
    let mut m = corpus.request(id)?;
    m.note = Some(note.trim().to_owned());
    Ok(fsio::write_json(&corpus.request_dir(id).request_json(), &m)?)
}

/// Has the window drawn anew.
fn wake(w: &Mutex<Wake>) {
    w.lock().unwrap_or_else(PoisonError::into_inner)();
}
