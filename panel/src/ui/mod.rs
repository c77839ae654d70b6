//! The panel’s window. It draws the state and turns clicks into presses; what they mean is decided in [`crate::state`].

mod caption;
mod keys;
mod pages;
mod parts;
mod theme;

use crate::cad::StartCad;
use crate::engine::{Engine, Task, Wishes, agreed};
use crate::place;
use crate::protocol::{self, Known, View};
use crate::settings::{Action, Settings};
use crate::state::{Choice, Deed, Look, News, Phase, Press, State, Warning, Watch};
use eframe::egui::{self, Key, ViewportCommand};
use redline_recorder::screen::WindowInfo;
use redline_recorder::{Microphone, RecordOptions, Source, audio::MicrophoneInfo, hotkeys, monotonic_ns};
use redline_schemas::coords::Rect;
use redline_schemas::{Corpus, CorpusManifest, Difficulty, Modality, ModelId, ModelManifest, Monitor, Participant};
use std::collections::BTreeMap;
use std::time::Duration;

/// How fast the sign that something is under way moves.
const WAITING_STEP: Duration = Duration::from_millis(250);

/// For so long the microphone’s level is shown after another window came to the front: reading sound costs more than all else
/// here, and nobody is listened to without need.
const LISTEN_NS: i64 = 10_000_000_000;

/// The window’s size, points.
pub const SIZE: (f32, f32) = (420.0, 820.0);

/// What the panel starts with.
pub struct Start {
    /// The corpus.
    pub corpus: Corpus,
    /// Options that the panel does not show.
    pub options: RecordOptions,
    /// What was chosen on the command line.
    pub choice: Choice,
    /// Whether the area was chosen on the command line.
    pub source_given: bool,
    /// Whether the microphone was.
    pub microphone_given: bool,
    /// Light or dark, if it was said.
    pub dark: Option<bool>,
    /// Begins to listen to CAD programs for a take.
    pub cad: StartCad,
}

/// Why the panel could not be shown.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The corpus.
    #[error(transparent)]
    Schemas(#[from] redline_schemas::Error),
    /// The recorder.
    #[error(transparent)]
    Recorder(#[from] redline_recorder::Error),
    /// The window.
    #[error(
        "the panel’s window could not be opened: {0}\n\nhint: it needs an X11 display with OpenGL (software will do); `redline record` needs none"
    )]
    Window(String),
}

/// Shows the panel until it is closed.
pub fn run(start: Start) -> Result<(), Error> {
    // Asked first: a damaged corpus or a missing screen is said on the terminal.
    let manifest = start.corpus.manifest()?;
    redline_recorder::screen::monitors()?;
    let viewport = egui::ViewportBuilder::default()
        .with_title("Redline")
        .with_app_id("redline-panel")
        .with_inner_size([SIZE.0, SIZE.1])
        .with_min_inner_size([380.0, 560.0]);
    let options = eframe::NativeOptions { viewport, ..eframe::NativeOptions::default() };
    let made = move |cc: &eframe::CreationContext<'_>| -> Result<Box<dyn eframe::App>, Box<dyn std::error::Error + Send + Sync>> {
        theme::apply(&cc.egui_ctx);
        fonts(&cc.egui_ctx);
        Ok(Box::new(Panel::new(start, manifest, &cc.egui_ctx)?))
    };
    eframe::run_native("Redline", options, Box::new(made)).map_err(|e| Error::Window(e.to_string()))
}

/// Adds a font of the system behind the built-in ones, for scripts that they do not have.
fn fonts(ctx: &egui::Context) {
    let candidates = ["/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf", "/usr/share/fonts/TTF/DejaVuSans.ttf"];
    let Some(bytes) = candidates.iter().find_map(|p| std::fs::read(p).ok()) else { return };
    let mut f = egui::FontDefinitions::default();
    f.font_data.insert("system".into(), std::sync::Arc::new(egui::FontData::from_owned(bytes)));
    for family in [egui::FontFamily::Proportional, egui::FontFamily::Monospace] {
        f.families.entry(family).or_default().push("system".into());
    }
    ctx.set_fonts(f);
}

/// What part of the screen is recorded, as the panel offers it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Area {
    Window,
    Monitor,
    Region,
}

struct Panel {
    corpus: Corpus,
    manifest: CorpusManifest,
    people: Vec<Participant>,
    models: BTreeMap<ModelId, ModelManifest>,
    all: Vec<Known>,
    view: View,
    state: State,
    settings: Settings,
    engine: Engine,
    options: RecordOptions,
    look: Look,
    watch: Watch,
    warnings: Vec<Warning>,
    microphones: Vec<MicrophoneInfo>,
    microphone: Microphone,
    windows: Vec<WindowInfo>,
    monitors: Vec<Monitor>,
    area: Area,
    window: Option<u32>,
    region: String,
    typed: String,
    cuts_seen: u32,
    /// The action that waits for its new keys.
    binding: Option<Action>,
    /// The action whose keys were just set: the focus goes back there.
    bound: Option<Action>,
    keys_open: bool,
    title: &'static str,
    focused: bool,
    /// Since when another window has the focus.
    away_ns: Option<i64>,
    /// Whether the microphone is open for its level.
    listening: bool,
    minimised: bool,
    /// The area of the screen that is recorded.
    recorded: Option<Rect>,
    pressed: crossbeam_channel::Receiver<Action>,
    press: crossbeam_channel::Sender<Action>,
}

impl Panel {
    fn new(s: Start, manifest: CorpusManifest, ctx: &egui::Context) -> Result<Self, Error> {
        let mut settings = Settings::load();
        settings.dark = s.dark.or(settings.dark);
        let microphone = match (&settings.microphone, s.microphone_given) {
            (Some(m), false) => Microphone::Named(m.clone()),
            _ => s.options.microphone.clone(),
        };
        let mut options = s.options;
        options.microphone = microphone.clone();
        let (area, region, window) = match &options.source {
            Source::Region(r) => (Area::Region, format!("{}x{}+{}+{}", r.width, r.height, r.x, r.y), None),
            Source::Window(w) if s.source_given => (Area::Window, String::new(), number(w)),
            _ if s.source_given => (Area::Monitor, String::new(), None),
            _ => (Area::Window, String::new(), None),
        };
        let wishes = Wishes { options: options.clone(), fade_s: settings.fade_s, cycle: settings.cycle };
        let repaint = ctx.clone();
        let engine = Engine::start(s.corpus.clone(), wishes, s.cad, Box::new(move || repaint.request_repaint()))
            .map_err(|e| Error::Window(e.to_string()))?;
        let (press, pressed) = crossbeam_channel::unbounded();
        let mut p = Self {
            people: Vec::new(),
            models: BTreeMap::new(),
            all: Vec::new(),
            view: View::default(),
            state: State::new(s.choice, settings.countdown_s),
            look: Look::default(),
            watch: Watch::default(),
            warnings: Vec::new(),
            microphones: redline_recorder::audio::microphones(),
            microphone,
            windows: Vec::new(),
            monitors: Vec::new(),
            area,
            window,
            region,
            typed: String::new(),
            cuts_seen: 0,
            binding: None,
            bound: None,
            keys_open: false,
            title: "Redline",
            focused: true,
            away_ns: None,
            listening: true,
            minimised: false,
            recorded: None,
            pressed,
            press,
            corpus: s.corpus,
            manifest,
            settings,
            engine,
            options,
        };
        p.reload();
        p.look_for_windows();
        p.set_theme(ctx);
        p.bind(ctx);
        p.engine.ask(Task::Listen(p.listened()));
        Ok(p)
    }

    fn set_theme(&self, ctx: &egui::Context) {
        ctx.set_theme(match self.settings.dark {
            Some(true) => egui::ThemePreference::Dark,
            Some(false) => egui::ThemePreference::Light,
            None => egui::ThemePreference::System,
        });
    }

    fn listened(&self) -> Option<Microphone> {
        (self.microphone != Microphone::Off).then(|| self.microphone.clone())
    }

    /// Reads the corpus again.
    fn reload(&mut self) {
        let read = || -> redline_schemas::Result<_> {
            let people = self.corpus.participants()?.participants;
            let mut models = BTreeMap::new();
            for id in self.corpus.model_ids()? {
                if let Ok(m) = self.corpus.model(&id) {
                    models.insert(id, m);
                }
            }
            Ok((people, models))
        };
        match read() {
            Ok((people, models)) => (self.people, self.models) = (people.into_iter().filter(|p| p.agent.is_none()).collect(), models),
            Err(e) => self.state.problem = Some(e.to_string()),
        }
        self.all = protocol::known(&self.corpus);
        if let ([one], None) = (&self.people[..], &self.state.choice.participant) {
            self.state.choice.participant = Some(one.id.clone());
        }
        if let (1, None) = (self.models.len(), &self.state.choice.model) {
            self.state.choice.model = self.models.keys().next().cloned();
        }
        self.chosen();
    }

    /// The choice changed.
    fn chosen(&mut self) {
        self.view = match &self.state.choice.model {
            Some(m) => protocol::view(&self.manifest.protocol, &self.models, m, &self.all),
            None => View::default(),
        };
        self.state.agreed = match &self.state.choice.participant {
            Some(p) => agreed(&self.corpus, p).unwrap_or(false),
            None => true,
        };
    }

    fn look_for_windows(&mut self) {
        self.monitors = redline_recorder::screen::monitors().unwrap_or_default();
        let mut all = redline_recorder::screen::windows().unwrap_or_default();
        all.retain(|w| w.title != "Redline");
        self.windows = all;
        if !self.windows.iter().any(|w| Some(w.id) == self.window) {
            // The largest one is most likely the CAD program.
            self.window = self.windows.iter().max_by_key(|w| u64::from(w.area.width) * u64::from(w.area.height)).map(|w| w.id);
        }
    }

    /// What is recorded, and where that is on the screen.
    fn source(&self) -> Result<(Source, Rect), String> {
        match self.area {
            Area::Window => {
                let w = self.windows.iter().find(|w| Some(w.id) == self.window).ok_or("Open the CAD program, then choose its window")?;
                Ok((Source::Window(format!("0x{:x}", w.id)), w.area))
            }
            Area::Monitor => {
                let m = self.monitors.iter().find(|m| m.primary).or(self.monitors.first()).ok_or("There is no monitor")?;
                Ok((Source::Monitor(m.name.clone()), m.area))
            }
            Area::Region => {
                let r = redline_recorder::parse_region(&self.region).map_err(|e| e.to_string())?;
                Ok((Source::Region(r), r))
            }
        }
    }

    /// Binds the keys anew.
    fn bind(&mut self, ctx: &egui::Context) {
        let bound = Action::ALL.into_iter().filter_map(|a| {
            let (send, repaint) = (self.press.clone(), ctx.clone());
            let deed: Box<dyn FnMut() + Send> = Box::new(move || {
                let _ = send.send(a);
                repaint.request_repaint();
            });
            Some((self.settings.key(a)?, deed))
        });
        if let Err(e) = hotkeys::bind(bound.collect()) {
            self.state.problem = Some(format!("the keys do not work: {e}"));
        }
    }

    fn do_press(&mut self, p: &Press, ctx: &egui::Context) {
        let starts = matches!(p, Press::Do(Action::Record) | Press::Retake) && matches!(self.state.phase, Phase::Setup | Phase::Review(_));
        if starts {
            self.look_for_windows();
            self.keys_open = false;
            match self.source() {
                Ok((source, at)) => {
                    self.options.source = source;
                    self.options.microphone = self.microphone.clone();
                    let w = Wishes { options: self.options.clone(), fade_s: self.settings.fade_s, cycle: self.settings.cycle };
                    self.engine.ask(Task::Options(Box::new(w)));
                    if self.state.missing().is_none() && self.state.agreed {
                        self.recorded = Some(at);
                        self.step_aside(at, ctx);
                    }
                }
                Err(why) => {
                    self.state.problem = Some(why);
                    return;
                }
            }
        }
        let deeds = self.state.press(p, monotonic_ns());
        self.carry_out(deeds);
    }

    fn carry_out(&mut self, deeds: Vec<Deed>) {
        for d in deeds {
            let reload = matches!(d, Deed::Consent(_) | Deed::Bin(_) | Deed::Keep(..));
            if matches!(d, Deed::Begin) {
                self.typed.clear();
                self.cuts_seen = 0;
            }
            self.engine.ask(Task::Do(d));
            if reload {
                // Agreed is known already; the rest is read when the engine has written it.
                self.all = protocol::known(&self.corpus);
            }
        }
    }

    /// Leaves the recorded area: beside it where there is room, else minimised.
    fn step_aside(&mut self, recorded: Rect, ctx: &egui::Context) {
        let Some(now) = ctx.input(|i| i.viewport().outer_rect) else { return };
        let scale = ctx.pixels_per_point();
        let size = ((now.width() * scale) as u32, (now.height() * scale) as u32);
        let areas: Vec<Rect> = self.monitors.iter().map(|m| m.area).collect();
        let at = ((now.min.x * scale) as i32, (now.min.y * scale) as i32);
        match place::beside(recorded, &areas, size, at) {
            Some(to) if to != at => {
                ctx.send_viewport_cmd(ViewportCommand::OuterPosition(egui::pos2(to.0 as f32 / scale, to.1 as f32 / scale)))
            }
            Some(_) => {}
            // What is typed is typed into this window: it stays.
            None if self.state.choice.modality == Modality::Text => self.recorded = None,
            None => self.minimised = true,
        }
    }

    /// Takes in what happened since the last picture.
    fn catch_up(&mut self, ctx: &egui::Context) {
        while let Ok(a) = self.pressed.try_recv() {
            if self.binding.is_none() {
                self.do_press(&Press::Do(a), ctx);
            }
        }
        let now = monotonic_ns();
        let before = std::mem::discriminant(&self.state.phase);
        let news: Vec<News> = self.engine.news().collect();
        for n in news {
            let ended = matches!(n, News::Ended(_) | News::Binned);
            let deeds = self.state.hear(n, now);
            self.carry_out(deeds);
            if ended {
                self.reload();
            }
        }
        let deeds = self.state.tick(now);
        self.carry_out(deeds);
        if before != std::mem::discriminant(&self.state.phase) {
            self.phase_changed(ctx);
        }
        self.look = self.engine.look();
        if self.look.cuts > self.cuts_seen {
            self.cuts_seen = self.look.cuts;
            // What was typed in the cut span is gone from the recording, so from the box too.
            self.typed.clone_from(&self.look.text);
        }
        let live = matches!(self.state.phase, Phase::Live { .. });
        self.warnings = self.watch.see(&self.look, live, now);
        let title = match self.state.phase {
            Phase::Live { paused: false, .. } => "● Recording – Redline",
            Phase::Live { paused: true, .. } => "❚❚ Paused – Redline",
            _ => "Redline",
        };
        // Each command to the window has it drawn anew, so only when it changes.
        if title != self.title {
            self.title = title;
            ctx.send_viewport_cmd(ViewportCommand::Title(title.into()));
        }
        // The engine and every event have the window drawn; what only time changes is looked at here.
        let next = self.watch.next_ns().map(|t| Duration::from_nanos((t - now).max(0).unsigned_abs()));
        let after = match self.state.phase {
            Phase::Countdown { .. } => Some(Duration::from_millis(100)),
            Phase::Starting | Phase::Finishing { .. } => Some(WAITING_STEP),
            _ => next,
        };
        if let Some(after) = after {
            ctx.request_repaint_after(after);
        }
        self.follow_focus(ctx, now);
    }

    /// In front again, the window looks again; in the background it lets go of the microphone after a while.
    fn follow_focus(&mut self, ctx: &egui::Context, now: i64) {
        let focused = ctx.input(|i| i.viewport().focused.unwrap_or(true));
        if focused && !self.focused && matches!(self.state.phase, Phase::Setup) {
            // A participant or a model may have been added meanwhile.
            self.reload();
            self.look_for_windows();
        }
        if focused {
            if !self.listening || (!self.focused && self.look.level.is_none()) {
                self.listening = true;
                self.engine.ask(Task::Listen(self.listened()));
            }
            self.away_ns = None;
        } else if self.listening && !self.state.busy() {
            let left = *self.away_ns.get_or_insert(now) + LISTEN_NS - now;
            if left <= 0 {
                self.listening = false;
                self.engine.ask(Task::Listen(None));
            } else {
                ctx.request_repaint_after(Duration::from_nanos(left.unsigned_abs()));
            }
        }
        self.focused = focused;
    }

    fn phase_changed(&mut self, ctx: &egui::Context) {
        // What had the keyboard on the page before is gone, or means something else now.
        ctx.memory_mut(|m| {
            if let Some(id) = m.focused() {
                m.surrender_focus(id);
            }
        });
        match self.state.phase {
            Phase::Live { .. } if self.state.choice.modality == Modality::Text => ctx.send_viewport_cmd(ViewportCommand::Focus),
            Phase::Starting | Phase::Live { .. } if self.minimised => ctx.send_viewport_cmd(ViewportCommand::Minimized(true)),
            Phase::Setup | Phase::Review(_) if self.minimised => {
                self.minimised = false;
                ctx.send_viewport_cmd(ViewportCommand::Minimized(false));
                ctx.send_viewport_cmd(ViewportCommand::Focus);
            }
            _ => {}
        }
    }

    /// Keys of the window itself: all can be done without the mouse.
    fn window_keys(&mut self, ctx: &egui::Context) {
        if self.binding.is_some() || ctx.text_edit_focused() {
            return;
        }
        let hit = |k| ctx.input(|i| i.key_pressed(k) && i.modifiers.is_none());
        if self.keys_open && self.state.may_set_keys() {
            if hit(Key::Escape) {
                self.keys_open = false;
            }
            return;
        }
        let press = match self.state.phase {
            Phase::Countdown { .. } if hit(Key::Escape) => Some(Press::Cancel),
            Phase::Consent if hit(Key::Escape) => Some(Press::Decline),
            Phase::Setup if hit(Key::R) => Some(Press::Do(Action::Record)),
            Phase::Live { .. } if hit(Key::S) => Some(Press::Do(Action::Record)),
            Phase::Live { .. } if hit(Key::P) => Some(Press::Do(Action::Pause)),
            Phase::Live { .. } if hit(Key::M) => Some(Press::Do(Action::Mark)),
            Phase::Live { .. } if hit(Key::D) => Some(Press::Do(Action::Draw)),
            Phase::Review(_) if hit(Key::K) => Some(Press::Keep),
            Phase::Review(_) if hit(Key::T) => Some(Press::Retake),
            Phase::Review(_) if hit(Key::P) => Some(Press::Play),
            _ => None,
        };
        if let Some(p) = press {
            self.do_press(&p, ctx);
        }
    }
}

fn number(w: &str) -> Option<u32> {
    w.strip_prefix("0x").and_then(|h| u32::from_str_radix(h, 16).ok()).or_else(|| w.parse().ok())
}

impl eframe::App for Panel {
    fn logic(&mut self, ctx: &egui::Context, _: &mut eframe::Frame) {
        self.catch_up(ctx);
    }

    fn ui(&mut self, ui: &mut egui::Ui, _: &mut eframe::Frame) {
        let ctx = ui.ctx().clone();
        self.window_keys(&ctx);
        self.show(ui);
        self.caption(&ctx);
    }

    fn on_exit(&mut self, _: Option<&eframe::glow::Context>) {
        hotkeys::unbind();
        if let Err(e) = self.settings.save() {
            tracing::warn!("{e}");
        }
    }
}

/// Names of modalities for people.
fn modality_label(m: Modality) -> &'static str {
    match m {
        Modality::Text => "Typing",
        Modality::Interactive => "Talking",
        Modality::DrawTemp => "Drawing, fading",
        Modality::DrawStatic => "Drawing, staying",
    }
}

/// Their short names, for counts.
fn modality_tag(m: Modality) -> &'static str {
    match m {
        Modality::Text => "Typing",
        Modality::Interactive => "Talking",
        Modality::DrawTemp => "Fading",
        Modality::DrawStatic => "Staying",
    }
}

/// Names of difficulties for people.
fn difficulty_label(d: Difficulty) -> &'static str {
    match d {
        Difficulty::Easy => "Easy",
        Difficulty::Medium => "Medium",
        Difficulty::Hard => "Hard",
    }
}
