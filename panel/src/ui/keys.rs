//! The page on which keys are changed.

use super::Panel;
use super::parts::{buttons, card};
use super::theme::Palette;
use crate::settings::Action;
use eframe::egui::{self, Align, Button, Key, Layout, RichText, Ui, Vec2};

/// Width of the fields that show keys, points: room for three modifiers and a key.
const FIELD: f32 = 176.0;

impl Panel {
    pub(super) fn keys(&mut self, ui: &mut Ui) {
        let p = Palette::of(ui);
        let ctx = ui.ctx().clone();
        // The key that opens a field is not its new one: it listens from the next picture on.
        let listening = self.binding;
        card(ui, "KEYS, WHATEVER WINDOW IS IN FRONT", |ui| {
            for a in Action::ALL {
                ui.horizontal(|ui| {
                    ui.label(a.label());
                    ui.with_layout(Layout::right_to_left(Align::Center), |ui| self.key_field(ui, a));
                });
            }
            let help = "Choose a field, then press the new keys. Esc keeps the old ones, Delete takes them away.";
            ui.label(RichText::new(help).small().color(p.faint));
        });
        card(ui, "KEYS IN THIS WINDOW", |ui| {
            for (keys, what) in [
                ("Tab, Space", "Go through everything, press it"),
                ("R", "Record"),
                ("S, P, M, D", "Stop, pause, mark, draw"),
                ("P, K, T", "Play, keep, take again"),
                ("Esc", "Break off"),
            ] {
                ui.horizontal(|ui| {
                    ui.label(what);
                    ui.with_layout(Layout::right_to_left(Align::Center), |ui| ui.label(RichText::new(keys).monospace().color(p.faint)));
                });
            }
        });
        if buttons(ui, &["Done  Esc"]).is_some() {
            self.keys_open = false;
            self.binding = None;
        }
        if let Some(a) = listening.filter(|a| self.binding == Some(*a)) {
            self.listen_for_keys(a, &ctx);
        }
    }

    fn key_field(&mut self, ui: &mut Ui, a: Action) {
        let p = Palette::of(ui);
        let size = Vec2::new(FIELD, 30.0);
        if self.binding == Some(a) {
            // No button: its own keys would press it.
            let text = RichText::new("Press the keys…").color(p.on_accent);
            let field = Button::new(text).fill(p.accent).sense(egui::Sense::hover());
            ui.add(field.min_size(size));
            return;
        }
        let text = self.settings.key(a).map_or_else(|| "none".to_owned(), |k| k.to_string());
        let r = ui.add(Button::new(RichText::new(text).monospace()).min_size(size));
        if self.bound == Some(a) {
            self.bound = None;
            r.request_focus();
        }
        if r.clicked() {
            self.binding = Some(a);
            self.state.problem = None;
        }
    }

    fn listen_for_keys(&mut self, a: Action, ctx: &egui::Context) {
        let pressed = ctx.input(|i| {
            i.events.iter().find_map(|e| match e {
                egui::Event::Key { key, pressed: true, modifiers, repeat: false, .. } if !is_modifier(*key) => Some((*key, *modifiers)),
                _ => None,
            })
        });
        let Some((key, m)) = pressed else { return };
        let keys = match key {
            Key::Escape if m.is_none() => {
                (self.binding, self.bound) = (None, Some(a));
                self.state.problem = None;
                return;
            }
            Key::Delete | Key::Backspace if m.is_none() => String::new(),
            key => {
                let mut s = String::new();
                for (on, name) in [(m.ctrl, "ctrl+"), (m.alt, "alt+"), (m.shift, "shift+")] {
                    if on {
                        s.push_str(name);
                    }
                }
                s + key.name()
            }
        };
        match self.settings.bind(a, &keys) {
            Ok(()) => {
                (self.binding, self.bound) = (None, Some(a));
                self.state.problem = None;
                self.bind(ctx);
                if let Err(e) = self.settings.save() {
                    self.state.problem = Some(e.to_string());
                }
            }
            Err(why) => self.state.problem = Some(why),
        }
    }
}

/// Keys that are held with another one; they come as keys of their own first.
fn is_modifier(k: Key) -> bool {
    use Key::{AltLeft, AltRight, ControlLeft, ControlRight, ShiftLeft, ShiftRight, SuperLeft, SuperRight};
    matches!(k, AltLeft | AltRight | ControlLeft | ControlRight | ShiftLeft | ShiftRight | SuperLeft | SuperRight)
}
