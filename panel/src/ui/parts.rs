//! Pieces that several pages use.

use super::theme::Palette;
use eframe::egui::{self, Align, Button, Color32, CornerRadius, Frame, Layout, Margin, Response, RichText, Sense, Stroke, Ui, Vec2};

/// A card with a title.
pub fn card<R>(ui: &mut Ui, title: &str, contents: impl FnOnce(&mut Ui) -> R) -> R {
    let p = Palette::of(ui);
    let frame =
        Frame::new().fill(p.card).stroke(Stroke::new(1.0, p.line)).corner_radius(CornerRadius::same(10)).inner_margin(Margin::same(12));
    frame
        .show(ui, |ui| {
            ui.set_width(ui.available_width());
            if !title.is_empty() {
                ui.label(RichText::new(title).small().strong().color(p.faint));
            }
            contents(ui)
        })
        .inner
}

/// A row of a form: a name at the left, a field that fills the rest.
pub fn row<R>(ui: &mut Ui, name: &str, field: impl FnOnce(&mut Ui) -> R) -> R {
    let p = Palette::of(ui);
    ui.horizontal(|ui| {
        ui.allocate_ui_with_layout(Vec2::new(92.0, 30.0), Layout::left_to_right(Align::Center), |ui| {
            ui.set_min_width(92.0);
            ui.label(RichText::new(name).color(p.faint));
        });
        field(ui)
    })
    .inner
}

/// Buttons side by side of which one is chosen; true when the choice changed.
pub fn segments<T: Copy + PartialEq>(ui: &mut Ui, chosen: &mut T, all: &[(T, String)], columns: usize) -> bool {
    let p = Palette::of(ui);
    let mut changed = false;
    let gap = 6.0;
    for line in all.chunks(columns.max(1)) {
        ui.horizontal(|ui| {
            ui.spacing_mut().item_spacing.x = gap;
            let n = columns.max(1) as f32;
            let width = (ui.available_width() - gap * (n - 1.0)) / n;
            for (value, text) in line {
                let on = *value == *chosen;
                let (fill, ink) = if on { (p.accent, p.on_accent) } else { (p.field, p.text) };
                let b = Button::new(RichText::new(text).color(ink)).fill(fill).min_size(Vec2::new(width, 32.0));
                if ui.add(b).clicked() && !on {
                    *chosen = *value;
                    changed = true;
                }
            }
        });
    }
    changed
}

/// A large button over the whole width.
pub fn wide(ui: &mut Ui, text: &str, fill: Color32, ink: Color32, height: f32) -> Response {
    let b = Button::new(RichText::new(text).size(16.0).strong().color(ink)).fill(fill).corner_radius(CornerRadius::same(9));
    // In a row, because there the text stands in the middle.
    ui.horizontal(|ui| ui.add(b.min_size(Vec2::new(ui.available_width(), height)))).inner
}

/// `n` buttons of one width side by side; which was pressed.
pub fn buttons(ui: &mut Ui, texts: &[&str]) -> Option<usize> {
    let mut pressed = None;
    ui.horizontal(|ui| {
        ui.spacing_mut().item_spacing.x = 6.0;
        let n = texts.len().max(1) as f32;
        let width = (ui.available_width() - 6.0 * (n - 1.0)) / n;
        for (i, t) in texts.iter().enumerate() {
            if ui.add(Button::new(*t).min_size(Vec2::new(width, 34.0))).clicked() {
                pressed = Some(i);
            }
        }
    });
    pressed
}

/// A coloured line of text that must be seen, with a sign: never by colour alone.
pub fn notice(ui: &mut Ui, sign: &str, text: &str, ink: Color32, ground: Color32) {
    let frame = Frame::new().fill(ground).corner_radius(CornerRadius::same(8)).inner_margin(Margin::symmetric(10, 7));
    frame.show(ui, |ui| {
        ui.set_width(ui.available_width());
        ui.horizontal_top(|ui| {
            ui.label(RichText::new(sign).strong().color(ink));
            ui.add(egui::Label::new(RichText::new(text).color(ink)).wrap());
        });
    });
}

/// A meter from −60 to 0 dB; `None`: there is no microphone.
pub fn meter(ui: &mut Ui, level: Option<f32>, width: f32) {
    let p = Palette::of(ui);
    let (rect, response) = ui.allocate_exact_size(Vec2::new(width, 10.0), Sense::hover());
    let db = level.filter(|l| *l > 0.0).map_or(-60.0, |l| 20.0 * l.log10());
    response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::ProgressIndicator, true, format!("level {db:.0} dB")));
    ui.painter().rect_filled(rect, CornerRadius::same(5), p.field);
    ui.painter().rect_stroke(rect, CornerRadius::same(5), Stroke::new(1.0, p.line), egui::StrokeKind::Inside);
    let share = ((db + 60.0) / 60.0).clamp(0.0, 1.0);
    if level.is_some() && share > 0.0 {
        let mut bar = rect.shrink(1.0);
        bar.set_width(bar.width() * share);
        let ink = if db > -3.0 {
            p.red
        } else if db > -12.0 {
            p.amber
        } else {
            p.green
        };
        ui.painter().rect_filled(bar, CornerRadius::same(4), ink);
    }
}

/// `m:ss`, or `h:mm:ss`.
#[must_use]
pub fn clock(seconds: i64) -> String {
    let (h, m, s) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    if h > 0 { format!("{h}:{m:02}:{s:02}") } else { format!("{m}:{s:02}") }
}

/// A number of things.
#[must_use]
pub fn counted(n: u64, thing: &str) -> String {
    format!("{n} {thing}{}", if n == 1 { "" } else { "s" })
}

/// Room on a disk, as people say it.
#[must_use]
pub fn free(bytes: u64) -> String {
    if bytes < 1_000_000_000 { format!("{} MB free", bytes / 1_000_000) } else { format!("{:.0} GB free", bytes as f64 / 1e9) }
}

/// An error’s text in a window: without what it advises at the command line, as a sentence.
#[must_use]
pub fn sentence(problem: &str) -> String {
    let text = problem.split("\n\nhint:").next().unwrap_or_default().trim();
    let mut letters = text.chars();
    let first: String = letters.next().into_iter().flat_map(char::to_uppercase).collect();
    let microphone = text.starts_with("no microphone");
    if microphone {
        return first + letters.as_str().trim_end_matches('.') + ". Choose another one under Microphone, or None.";
    }
    first + letters.as_str()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_and_figures_for_people() {
        let e = "no microphone to record: none has “x” in its name\n\nhint: `redline doctor` lists them";
        assert_eq!(sentence(e), "No microphone to record: none has “x” in its name. Choose another one under Microphone, or None.");
        let e = "no microphone to record: it is gone.\n\nhint: `redline doctor` lists them";
        assert_eq!(sentence(e), "No microphone to record: it is gone. Choose another one under Microphone, or None.");
        assert_eq!(sentence("/a/b: is full"), "/a/b: is full");
        assert_eq!([free(300_000_000), free(27_400_000_000)], ["300 MB free", "27 GB free"]);
        assert_eq!([counted(0, "mark"), counted(1, "mark")], ["0 marks", "1 mark"]);
    }

    #[test]
    fn times_for_people() {
        assert_eq!([clock(0), clock(61), clock(3_725)], ["0:00", "1:01", "1:02:05"]);
    }
}
