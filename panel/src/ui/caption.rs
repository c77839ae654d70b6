//! What is being typed, at the foot of the recorded area: the window that it is typed into stays out of
//! the picture, and the video should show the typing.

use super::Panel;
use crate::state::Phase;
use eframe::egui::{self, Align, CentralPanel, Color32, Frame, Layout, Margin, RichText, ViewportBuilder, ViewportId, X11WindowType};
use redline_schemas::Modality;
use redline_schemas::coords::Rect;

/// Height, and the space left around, pixels of the screen.
const HEIGHT: u32 = 84;
const MARGIN: u32 = 16;
/// Characters that fit into it; the last ones are shown.
const SHOWN: usize = 240;

/// Where the caption lies in a recorded area; none where it would cover most of it.
fn place(area: Rect) -> Option<Rect> {
    let (width, height) = (area.width.checked_sub(2 * MARGIN)?, HEIGHT);
    (width >= 200 && area.height >= 4 * height).then(|| Rect {
        x: area.x + MARGIN as i32,
        y: area.y + area.height as i32 - (height + MARGIN) as i32,
        width,
        height,
    })
}

/// The end of a text.
fn tail(text: &str, characters: usize) -> String {
    let left_out = text.chars().count().saturating_sub(characters);
    let shown = text.chars().skip(left_out).collect::<String>();
    if left_out > 0 { format!("…{shown}") } else { shown }
}

impl Panel {
    /// Shows the caption while a request is typed.
    pub(super) fn caption(&self, ctx: &egui::Context) {
        let typing = matches!(self.state.phase, Phase::Live { .. }) && self.state.choice.modality == Modality::Text;
        let Some(at) = self.recorded.filter(|_| typing && !self.typed.is_empty()).and_then(place) else { return };
        let scale = ctx.pixels_per_point();
        let window = ViewportBuilder::default()
            .with_title("Typing")
            .with_position(egui::pos2(at.x as f32 / scale, at.y as f32 / scale))
            .with_inner_size(egui::vec2(at.width as f32 / scale, at.height as f32 / scale))
            .with_decorations(false)
            .with_resizable(false)
            .with_taskbar(false)
            .with_active(false)
            .with_always_on_top()
            .with_mouse_passthrough(true)
            .with_window_type(X11WindowType::Notification)
            .with_override_redirect(true);
        let text = tail(self.typed.trim_end_matches('\n'), SHOWN);
        ctx.show_viewport_immediate(ViewportId::from_hash_of("caption"), window, |ui, _| {
            let frame = Frame::new().fill(Color32::from_rgb(20, 22, 26)).inner_margin(Margin::symmetric(16, 8));
            CentralPanel::default().frame(frame).show(ui, |ui| {
                ui.with_layout(Layout::bottom_up(Align::Min), |ui| ui.label(RichText::new(&text).size(18.0).color(Color32::WHITE)));
            });
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_caption_lies_inside_at_the_foot_or_nowhere() {
        let area = Rect { x: 100, y: 50, width: 800, height: 600 };
        assert_eq!(place(area), Some(Rect { x: 116, y: 550, width: 768, height: 84 }));
        assert_eq!(place(Rect { width: 180, ..area }), None);
        assert_eq!(place(Rect { height: 300, ..area }), None);
        assert_eq!(place(Rect { width: 20, ..area }), None);
    }

    #[test]
    fn the_end_of_the_text_is_shown() {
        assert_eq!(tail("M6 ⌀8", 5), "M6 ⌀8");
        assert_eq!(tail("M6 ⌀8", 2), "…⌀8");
        assert_eq!(tail("", 2), "");
    }
}
