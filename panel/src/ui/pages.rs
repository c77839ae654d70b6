//! The pages: choosing, consent, count-down, recording, deciding.

use super::parts::{buttons, card, clock, counted, free, meter, notice, row, segments, sentence, wide};
use super::theme::Palette;
use super::{Area, Panel, WAITING_STEP, difficulty_label, modality_label, modality_tag};
use crate::cad::Connection;
use crate::engine::Task;
use crate::settings::Action;
use crate::state::{Phase, Press, Take, Warning};
use eframe::egui::{
    self, Align, Button, CentralPanel, Color32, ComboBox, CornerRadius, Frame, Layout, Margin, RichText, ScrollArea, Sense, Stroke,
    TextEdit, Ui, Vec2,
};
use redline_recorder::Microphone;
use redline_recorder::control::{Command, PALETTE, Pen, Tool, WIDTHS};
use redline_schemas::Modality;

impl Panel {
    /// The whole window.
    pub(super) fn show(&mut self, ui: &mut Ui) {
        let p = Palette::of(ui);
        self.header(ui);
        self.footer(ui);
        self.leading(ui);
        let frame = Frame::new().fill(p.ground).inner_margin(Margin::symmetric(14, 10));
        CentralPanel::default().frame(frame).show(ui, |ui| {
            ScrollArea::vertical().auto_shrink([false, false]).show(ui, |ui| {
                ui.spacing_mut().item_spacing.y = 10.0;
                self.notices(ui);
                if self.keys_open && self.state.may_set_keys() {
                    return self.keys(ui);
                }
                match self.state.phase.clone() {
                    Phase::Setup => self.setup(ui),
                    Phase::Consent => self.consent(ui),
                    Phase::Countdown { ready, .. } => self.countdown(ui, ready),
                    Phase::Starting => waiting(ui, "Starting…"),
                    Phase::Live { paused, .. } => self.live(ui, paused),
                    Phase::Finishing { discard } => {
                        waiting(ui, if discard { "Moving the take to the bin…" } else { "Finishing the recording…" });
                    }
                    Phase::Review(take) => self.review(ui, &take),
                }
            });
        });
    }

    fn header(&mut self, ui: &mut Ui) {
        let p = Palette::of(ui);
        let (fill, ink, text) = match self.state.phase {
            Phase::Live { paused: false, .. } => {
                (p.red, if ui.visuals().dark_mode { Color32::BLACK } else { Color32::WHITE }, "●  Recording")
            }
            Phase::Live { paused: true, .. } => {
                (p.amber, if ui.visuals().dark_mode { Color32::BLACK } else { Color32::WHITE }, "❚❚  Paused")
            }
            _ => (p.card, p.text, "Not recording"),
        };
        let frame = Frame::new().fill(fill).inner_margin(Margin::symmetric(14, 8));
        egui::Panel::top("head").frame(frame).show_separator_line(false).show(ui, |ui| {
            ui.horizontal(|ui| {
                ui.label(RichText::new(text).strong().color(ink));
                ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                    if let Phase::Live { .. } = self.state.phase {
                        let s = (self.look.elapsed_ns - self.look.paused_ns) / 1_000_000_000;
                        ui.label(RichText::new(clock(s)).monospace().size(17.0).color(ink));
                    } else {
                        ui.label(RichText::new(&self.manifest.name).color(p.faint));
                    }
                });
            });
        });
    }

    fn footer(&mut self, ui: &mut Ui) {
        let p = Palette::of(ui);
        let frame = Frame::new().fill(p.card).inner_margin(Margin::symmetric(14, 6));
        egui::Panel::bottom("foot").frame(frame).show_separator_line(false).show(ui, |ui| {
            ui.horizontal(|ui| {
                let keys = if self.keys_open { "Done with keys" } else { "Keys" };
                if ui.add_enabled(self.state.may_set_keys(), Button::new(RichText::new(keys).small()).frame_when_inactive(false)).clicked()
                {
                    self.keys_open = !self.keys_open;
                    self.binding = None;
                }
                let dark = ui.visuals().dark_mode;
                if ui.add(Button::new(RichText::new(if dark { "Light" } else { "Dark" }).small()).frame_when_inactive(false)).clicked() {
                    self.settings.dark = Some(!dark);
                    self.set_theme(ui.ctx());
                }
                ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                    let free = self.look.free_bytes.map_or(String::new(), free);
                    ui.label(RichText::new(free).small().color(p.faint));
                });
            });
        });
    }

    /// The button that leads on, always in sight.
    fn leading(&mut self, ui: &mut Ui) {
        if self.state.phase != Phase::Setup || self.keys_open {
            return;
        }
        let p = Palette::of(ui);
        let frame = Frame::new().fill(p.ground).inner_margin(Margin::symmetric(14, 8));
        egui::Panel::bottom("lead").frame(frame).show_separator_line(false).show(ui, |ui| {
            let text = match self.settings.key(Action::Record) {
                Some(k) => format!("●  Record    {k}"),
                None => "●  Record".into(),
            };
            let ink = if ui.visuals().dark_mode { Color32::BLACK } else { Color32::WHITE };
            self.level(ui);
            if wide(ui, &text, p.red, ink, 46.0).clicked() {
                self.do_press(&Press::Do(Action::Record), &ui.ctx().clone());
            }
        });
    }

    fn notices(&mut self, ui: &mut Ui) {
        let p = Palette::of(ui);
        if let Some(problem) = self.state.problem.clone() {
            ui.horizontal_top(|ui| {
                let width = ui.available_width() - 58.0;
                ui.allocate_ui(Vec2::new(width, 0.0), |ui| notice(ui, "✖", &sentence(&problem), p.red, p.red_ground));
                if ui.add(Button::new("OK").frame_when_inactive(false)).clicked() {
                    self.state.problem = None;
                }
            });
        }
        // What was recorded is decided about: how the microphone is now does not matter.
        let deciding = matches!(self.state.phase, Phase::Review(_) | Phase::Consent | Phase::Finishing { .. });
        for w in self.warnings.iter().filter(|w| !(deciding && **w == Warning::Silent)) {
            notice(ui, "⚠", w.text(), p.amber, p.amber_ground);
        }
    }

    fn setup(&mut self, ui: &mut Ui) {
        card(ui, "REQUEST", |ui| self.request_fields(ui));
        card(ui, "STILL WANTED", |ui| self.wanted(ui));
        card(ui, "RECORD", |ui| self.source_fields(ui));
    }

    fn request_fields(&mut self, ui: &mut Ui) {
        let p = Palette::of(ui);
        let before = self.state.choice.clone();
        row(ui, "Participant", |ui| {
            let now = self.state.choice.participant.as_ref().map_or_else(|| "Choose…".into(), ToString::to_string);
            ComboBox::from_id_salt("participant").selected_text(now).width(ui.available_width()).show_ui(ui, |ui| {
                for one in &self.people {
                    ui.selectable_value(&mut self.state.choice.participant, Some(one.id.clone()), one.id.to_string());
                }
            });
        });
        if self.people.is_empty() {
            ui.label(RichText::new("No participants yet: redline participant add P01").color(p.faint));
        }
        row(ui, "Model", |ui| {
            let now =
                self.state.choice.model.as_ref().and_then(|m| self.models.get(m)).map_or_else(|| "Choose…".into(), |m| m.name.clone());
            ComboBox::from_id_salt("model").selected_text(now).width(ui.available_width()).truncate().show_ui(ui, |ui| {
                for (id, m) in &self.models {
                    let name = if m.name == id.as_str() { m.name.clone() } else { format!("{} ({id})", m.name) };
                    ui.selectable_value(&mut self.state.choice.model, Some(id.clone()), name);
                }
            });
        });
        if self.models.is_empty() {
            ui.label(RichText::new("No models yet: redline model add part.step").color(p.faint));
        }
        let modalities: Vec<_> = self.manifest.protocol.modalities.iter().map(|m| (*m, modality_label(*m).to_owned())).collect();
        segments(ui, &mut self.state.choice.modality, &modalities, 2);
        let difficulties: Vec<_> = self
            .manifest
            .protocol
            .difficulties
            .iter()
            .map(|d| (d.difficulty, format!("{} · {} min", difficulty_label(d.difficulty), d.guide_minutes)))
            .collect();
        let n = difficulties.len();
        segments(ui, &mut self.state.choice.difficulty, &difficulties, n);
        if before != self.state.choice {
            self.chosen();
        }
    }

    fn wanted(&mut self, ui: &mut Ui) {
        let p = Palette::of(ui);
        if self.state.choice.model.is_none() {
            ui.label(RichText::new("Choose a model to see what is missing for it.").color(p.faint));
            return;
        }
        let tag = |ui: &mut Ui, name: &str, have: u32, wanted: u32| {
            let done = have >= wanted;
            let sign = if wanted == 0 {
                ""
            } else if done {
                "✔ "
            } else {
                ""
            };
            let text = if wanted == 0 { format!("{name} {have}") } else { format!("{sign}{name} {have}/{wanted}") };
            let ink = if done && wanted > 0 { p.green } else { p.text };
            let frame = Frame::new().fill(p.field).corner_radius(CornerRadius::same(6)).inner_margin(Margin::symmetric(8, 4));
            frame.show(ui, |ui| ui.label(RichText::new(text).color(ink)));
        };
        ui.label(RichText::new(format!("This model: {} of {}", self.view.model.have, self.view.model.wanted)).color(p.faint));
        ui.horizontal_wrapped(|ui| {
            for (d, c) in &self.view.difficulties {
                tag(ui, difficulty_label(*d), c.have, c.wanted);
            }
        });
        ui.label(RichText::new("Models of this kind").color(p.faint));
        ui.horizontal_wrapped(|ui| {
            for (m, c) in &self.view.modalities {
                tag(ui, modality_tag(*m), c.have, c.wanted);
            }
        });
    }

    fn source_fields(&mut self, ui: &mut Ui) {
        let p = Palette::of(ui);
        let areas = [(Area::Window, "Window".to_owned()), (Area::Region, "Area".to_owned()), (Area::Monitor, "Whole screen".to_owned())];
        if segments(ui, &mut self.area, &areas, 3) {
            self.look_for_windows();
        }
        match self.area {
            Area::Window => row(ui, "Window", |ui| {
                let now =
                    self.windows.iter().find(|w| Some(w.id) == self.window).map_or_else(|| "No window is open".into(), |w| w.title.clone());
                let shown = ComboBox::from_id_salt("window").selected_text(now).width(ui.available_width()).truncate().show_ui(ui, |ui| {
                    for w in &self.windows {
                        ui.selectable_value(&mut self.window, Some(w.id), &w.title);
                    }
                });
                if shown.response.clicked() {
                    self.look_for_windows();
                }
            }),
            Area::Region => row(ui, "Area", |ui| {
                ui.add(TextEdit::singleline(&mut self.region).hint_text("1280x720+0+0").desired_width(f32::INFINITY));
            }),
            Area::Monitor => {
                let stays = self.state.choice.modality == Modality::Text && self.monitors.len() < 2;
                let text = if stays {
                    "Everything on the screen is recorded, this window too: you type into it."
                } else {
                    "Everything on the screen is recorded; this window hides itself."
                };
                ui.label(RichText::new(text).color(p.faint));
            }
        }
        let before = self.microphone.clone();
        row(ui, "Microphone", |ui| {
            let now = match &self.microphone {
                Microphone::Off => "None".to_owned(),
                Microphone::Named(n) => n.clone(),
                Microphone::Default => "The system’s".to_owned(),
            };
            let field = ComboBox::from_id_salt("microphone").selected_text(now).width(ui.available_width()).truncate();
            let shown = field.show_ui(ui, |ui| {
                ui.selectable_value(&mut self.microphone, Microphone::Default, "The system’s");
                for m in &self.microphones {
                    ui.selectable_value(&mut self.microphone, Microphone::Named(m.name.clone()), &m.name);
                }
                ui.selectable_value(&mut self.microphone, Microphone::Off, "None");
            });
            if shown.response.clicked() {
                self.microphones = redline_recorder::audio::microphones();
            }
        });
        if before != self.microphone {
            self.settings.microphone = match &self.microphone {
                Microphone::Named(n) => Some(n.clone()),
                _ => None,
            };
            self.listening = true;
            self.engine.ask(Task::Listen(self.listened()));
        }
        if self.state.choice.modality == Modality::DrawTemp {
            row(ui, "Fade after", |ui| {
                ui.add(egui::DragValue::new(&mut self.settings.fade_s).range(0.5..=60.0).speed(0.1).suffix(" s"));
            });
        }
    }

    /// The microphone’s level, beside the button that records.
    fn level(&self, ui: &mut Ui) {
        let p = Palette::of(ui);
        row(ui, "Level", |ui| {
            let width = ui.available_width();
            match (self.look.level, &self.microphone) {
                (Some(_), _) => meter(ui, self.look.level, width),
                (None, Microphone::Off) => {
                    ui.label(RichText::new("no sound is recorded").color(p.faint));
                }
                (None, _) if !self.listening => {
                    ui.label(RichText::new("shown while this window is in front").color(p.faint));
                }
                (None, _) => {
                    ui.label(RichText::new("no microphone is open").color(p.amber));
                }
            }
        });
    }

    fn consent(&mut self, ui: &mut Ui) {
        let p = Palette::of(ui);
        let (text, version) =
            self.manifest.consent.as_ref().map_or((String::new(), String::new()), |c| (c.text.clone(), c.version.clone()));
        let who = self.state.choice.participant.as_ref().map_or_else(String::new, ToString::to_string);
        card(ui, "CONSENT", |ui| {
            ui.label(RichText::new(format!("{who}, before your first recording")).heading());
            ScrollArea::vertical().id_salt("consent").max_height(360.0).show(ui, |ui| {
                ui.label(&text);
            });
            ui.label(
                RichText::new(format!("Version {version}. That you agreed, and when, is written into the corpus.")).small().color(p.faint),
            );
        });
        let ctx = ui.ctx().clone();
        let agree = wide(ui, "I agree", p.accent, p.on_accent, 44.0);
        if ui.memory(|m| m.focused().is_none()) {
            agree.request_focus();
        }
        if agree.clicked() {
            self.do_press(&Press::Agree, &ctx);
        }
        if buttons(ui, &["Not now  Esc"]).is_some() {
            self.do_press(&Press::Decline, &ctx);
        }
    }

    fn countdown(&mut self, ui: &mut Ui, ready: bool) {
        let p = Palette::of(ui);
        let left = self.state.seconds_left(redline_recorder::monotonic_ns()).unwrap_or(0);
        ui.add_space(90.0);
        ui.vertical_centered(|ui| {
            let big = if left > 0 { left.to_string() } else { "…".into() };
            ui.label(RichText::new(big).size(110.0).strong().color(p.accent));
            ui.label(RichText::new(if ready { "Everything is ready." } else { "Screen and microphone are getting ready." }).color(p.faint));
            ui.label(RichText::new("Speak as soon as it says Recording.").color(p.text));
        });
        ui.add_space(40.0);
        if buttons(ui, &["Cancel  Esc"]).is_some() {
            self.do_press(&Press::Cancel, &ui.ctx().clone());
        }
    }

    fn live(&mut self, ui: &mut Ui, paused: bool) {
        let p = Palette::of(ui);
        let ctx = ui.ctx().clone();
        card(ui, "", |ui| {
            let c = &self.state.choice;
            let model = c.model.as_ref().and_then(|m| self.models.get(m)).map_or("", |m| m.name.as_str());
            let guide = self.manifest.protocol.difficulties.iter().find(|d| d.difficulty == c.difficulty).map_or(0, |d| d.guide_minutes);
            ui.label(RichText::new(model).heading());
            let line = format!("{} · {} · guide {guide} min of editing", modality_label(c.modality), difficulty_label(c.difficulty));
            ui.label(RichText::new(line).color(p.faint));
            row(ui, "Microphone", |ui| {
                let width = ui.available_width();
                match self.look.level {
                    Some(_) => meter(ui, self.look.level, width),
                    None => {
                        ui.label(RichText::new("none").color(p.faint));
                    }
                }
            });
            match &self.look.cad {
                Connection::Off => {}
                Connection::Waiting => {
                    row(ui, "CAD program", |ui| ui.label(RichText::new("none connected").color(p.faint)));
                }
                Connection::Connected(names) => {
                    row(ui, "CAD program", |ui| ui.add(egui::Label::new(RichText::new(format!("✔ {names}")).color(p.green)).truncate()));
                }
            }
            let facts = [
                counted(self.look.marks.into(), "mark"),
                counted(self.look.cuts.into(), "cut"),
                format!("{} lost", counted(self.look.dropped, "picture")),
            ]
            .join(" · ");
            ui.label(RichText::new(facts).small().color(p.faint));
            if let Some(said) = &self.look.said {
                ui.label(RichText::new(said).small().color(p.faint));
            }
        });
        if self.state.choice.modality == Modality::Text {
            self.text_box(ui);
        }
        if self.look.drawing.is_some() {
            self.pen(ui);
        }
        let pause = if paused { "Resume  P" } else { "Pause  P" };
        let pressed = buttons(ui, &[pause, "Mark  M", "Cut last 10 s"]);
        if let Some(a) = pressed.map(|i| [Action::Pause, Action::Mark, Action::Cut][i]) {
            self.do_press(&Press::Do(a), &ctx);
        }
        let text = match self.settings.key(Action::Record) {
            Some(k) => format!("■  Stop    {k}"),
            None => "■  Stop".into(),
        };
        if wide(ui, &text, p.accent, p.on_accent, 48.0).clicked() {
            self.do_press(&Press::Do(Action::Record), &ctx);
        }
        if buttons(ui, &["Discard this take"]).is_some() {
            self.do_press(&Press::Discard, &ctx);
        }
    }

    fn text_box(&mut self, ui: &mut Ui) {
        let paused = matches!(self.state.phase, Phase::Live { paused: true, .. });
        let changed = card(ui, "WHAT SHOULD BE CHANGED", |ui| {
            let edit = TextEdit::multiline(&mut self.typed)
                .id_salt("typed")
                .desired_width(f32::INFINITY)
                .desired_rows(9)
                .hint_text("Type the request here")
                .char_limit(100_000);
            let r = ui.add_enabled(!paused, edit);
            if ui.memory(|m| m.focused().is_none()) && !paused {
                r.request_focus();
            }
            r.changed()
        });
        if changed {
            self.engine.ask(Task::Type(self.typed.clone()));
        }
    }

    fn pen(&mut self, ui: &mut Ui) {
        let p = Palette::of(ui);
        let ctx = ui.ctx().clone();
        let Some(d) = self.look.drawing.clone() else { return };
        let mut wanted = None;
        card(ui, "DRAWING", |ui| {
            let (text, fill, ink) = if d.on { ("Drawing is on  D", p.accent, p.on_accent) } else { ("Drawing is off  D", p.field, p.text) };
            if wide(ui, text, fill, ink, 34.0).clicked() {
                wanted = Some(Press::Do(Action::Draw));
            }
            let mut tool = d.tool;
            let tools = [(Tool::Pen, "Pen".to_owned()), (Tool::Arrow, "Arrow".to_owned()), (Tool::Eraser, "Eraser".to_owned())];
            if segments(ui, &mut tool, &tools, 3) {
                wanted = Some(Press::Command(Command::Pen(Pen::Tool(tool))));
            }
            ui.horizontal(|ui| {
                ui.spacing_mut().item_spacing.x = 7.0;
                for (name, rgb) in PALETTE {
                    let (rect, r) = ui.allocate_exact_size(Vec2::splat(30.0), Sense::click());
                    r.widget_info(|| egui::WidgetInfo::selected(egui::Role::RadioButton, true, d.colour == rgb, name));
                    let c = Color32::from_rgb(rgb[0], rgb[1], rgb[2]);
                    ui.painter().circle_filled(rect.center(), 10.0, c);
                    ui.painter().circle_stroke(rect.center(), 10.0, Stroke::new(1.0, p.faint));
                    if d.colour == rgb || r.has_focus() {
                        ui.painter().circle_stroke(rect.center(), 13.5, Stroke::new(2.0, p.text));
                    }
                    if r.on_hover_text(name).clicked() {
                        wanted = Some(Press::Command(Command::Pen(Pen::Colour(rgb))));
                    }
                }
            });
            row(ui, "Width", |ui| {
                let mut w = d.width;
                ui.spacing_mut().slider_width = (ui.available_width() - 60.0).max(60.0);
                if ui.add(egui::Slider::new(&mut w, *WIDTHS.start()..=24.0).step_by(1.0)).changed() {
                    wanted = Some(Press::Command(Command::Pen(Pen::Width(w))));
                }
            });
            let mut cycle = d.cycle;
            if ui.checkbox(&mut cycle, "Each stroke takes the next colour").changed() {
                self.settings.cycle = cycle;
                wanted = Some(Press::Command(Command::Pen(Pen::Cycle(cycle))));
            }
            match buttons(ui, &["Undo", "Clear"]) {
                Some(0) => wanted = Some(Press::Do(Action::Undo)),
                Some(_) => wanted = Some(Press::Do(Action::Clear)),
                None => {}
            }
        });
        if let Some(w) = wanted {
            self.do_press(&w, &ctx);
        }
    }

    /// Where the take can be watched; also for who has no browser on this desktop.
    fn page_address(&self, ui: &mut Ui) {
        let p = Palette::of(ui);
        let Some(page) = &self.state.page else { return };
        if page.no_browser {
            notice(ui, "⚠", "No browser opened. The take is shown at:", p.amber, p.amber_ground);
        }
        ui.horizontal(|ui| {
            ui.label(RichText::new(&page.address).monospace().color(if page.no_browser { p.text } else { p.faint }));
            ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                if ui.button("Copy").clicked() {
                    ui.ctx().copy_text(page.address.clone());
                }
            });
        });
    }

    fn review(&mut self, ui: &mut Ui, take: &Take) {
        let p = Palette::of(ui);
        let ctx = ui.ctx().clone();
        card(ui, "TAKE", |ui| {
            ui.label(RichText::new(format!("{} recorded", clock(take.seconds as i64))).heading());
            let c = &self.state.choice;
            let model = c.model.as_ref().and_then(|m| self.models.get(m)).map_or("", |m| m.name.as_str());
            ui.label(
                RichText::new(format!("{model} · {} · {}", modality_label(c.modality), difficulty_label(c.difficulty))).color(p.faint),
            );
            let mut facts = Vec::new();
            if take.strokes > 0 {
                facts.push(counted(take.strokes, "stroke"));
            }
            if take.cuts > 0 {
                facts.push(counted(take.cuts.into(), "cut"));
            }
            match &take.cad {
                Connection::Off => {}
                Connection::Waiting => facts.push("no CAD program took part".into()),
                Connection::Connected(names) => facts.push(format!("with {names}")),
            }
            if !facts.is_empty() {
                ui.label(RichText::new(facts.join(" · ")).color(p.faint));
            }
            if !take.text.is_empty() {
                ui.label(RichText::new(&take.text).italics());
            }
            ui.label(RichText::new(take.id.to_string()).small().monospace().color(p.faint));
        });
        if take.silent && self.state.choice.modality != Modality::Text {
            notice(ui, "⚠", "Nothing but silence came from the microphone. Record it again?", p.amber, p.amber_ground);
        }
        for n in &take.notes {
            notice(ui, "⚠", n, p.amber, p.amber_ground);
        }
        if buttons(ui, &["▶  Play in the browser  P"]).is_some() {
            self.do_press(&Press::Play, &ctx);
        }
        self.page_address(ui);
        card(ui, "NOTE", |ui| {
            let edit = TextEdit::multiline(&mut self.state.note).desired_rows(3).desired_width(f32::INFINITY);
            ui.add(edit.hint_text("Anything that whoever works with this should know"));
        });
        if wide(ui, "✔  Keep  K", p.accent, p.on_accent, 48.0).clicked() {
            self.do_press(&Press::Keep, &ctx);
        }
        match buttons(ui, &["Retake  T", "Discard"]) {
            Some(0) => self.do_press(&Press::Retake, &ctx),
            Some(_) => self.do_press(&Press::Discard, &ctx),
            None => {}
        }
        ui.label(
            RichText::new("Retake and Discard put this take into the bin; nothing is lost until it is emptied.").small().color(p.faint),
        );
    }
}

/// Three dots that fill up: a few pictures a second are enough.
fn waiting(ui: &mut Ui, text: &str) {
    let p = Palette::of(ui);
    let step = (ui.input(|i| i.time) / WAITING_STEP.as_secs_f64()) as i64 % 4;
    ui.add_space(180.0);
    ui.vertical_centered(|ui| {
        let (rect, _) = ui.allocate_exact_size(Vec2::new(84.0, 28.0), Sense::hover());
        for i in 0..3_i64 {
            let at = rect.left_center() + Vec2::new(14.0 + 28.0 * i as f32, 0.0);
            ui.painter().circle_filled(at, 7.0, if i < step { p.accent } else { p.line });
        }
        ui.add_space(8.0);
        ui.label(RichText::new(text).heading());
    });
}
