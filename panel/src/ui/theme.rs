//! Colours and sizes, light and dark.

use eframe::egui::{self, Color32, CornerRadius, FontFamily, FontId, Margin, Stroke, TextStyle, Theme, Vec2};

/// The panel’s own colours.
#[derive(Debug, Clone, Copy)]
pub struct Palette {
    /// Behind everything.
    pub ground: Color32,
    /// Cards.
    pub card: Color32,
    /// Lines around cards and fields.
    pub line: Color32,
    /// Text.
    pub text: Color32,
    /// Text that explains.
    pub faint: Color32,
    /// What is chosen, and the button that leads on.
    pub accent: Color32,
    /// Text on the accent.
    pub on_accent: Color32,
    /// Recording.
    pub red: Color32,
    /// Warnings.
    pub amber: Color32,
    /// Behind warnings.
    pub amber_ground: Color32,
    /// Behind problems.
    pub red_ground: Color32,
    /// Done.
    pub green: Color32,
    /// Fields.
    pub field: Color32,
}

const DARK: Palette = Palette {
    ground: Color32::from_rgb(0x17, 0x19, 0x1d),
    card: Color32::from_rgb(0x20, 0x23, 0x29),
    line: Color32::from_rgb(0x36, 0x3b, 0x44),
    text: Color32::from_rgb(0xea, 0xec, 0xf0),
    faint: Color32::from_rgb(0xa2, 0xaa, 0xb6),
    accent: Color32::from_rgb(0x6b, 0x9c, 0xff),
    on_accent: Color32::from_rgb(0x0c, 0x14, 0x26),
    red: Color32::from_rgb(0xff, 0x5a, 0x52),
    amber: Color32::from_rgb(0xff, 0xc2, 0x4b),
    amber_ground: Color32::from_rgb(0x39, 0x2f, 0x1a),
    red_ground: Color32::from_rgb(0x3d, 0x20, 0x20),
    green: Color32::from_rgb(0x5c, 0xc9, 0x83),
    field: Color32::from_rgb(0x2a, 0x2e, 0x36),
};

const LIGHT: Palette = Palette {
    ground: Color32::from_rgb(0xf3, 0xf4, 0xf7),
    card: Color32::from_rgb(0xff, 0xff, 0xff),
    line: Color32::from_rgb(0xd3, 0xd8, 0xe0),
    text: Color32::from_rgb(0x1b, 0x1f, 0x27),
    faint: Color32::from_rgb(0x5a, 0x63, 0x72),
    accent: Color32::from_rgb(0x1f, 0x5f, 0xd8),
    on_accent: Color32::WHITE,
    red: Color32::from_rgb(0xc9, 0x28, 0x25),
    amber: Color32::from_rgb(0x8a, 0x56, 0x00),
    amber_ground: Color32::from_rgb(0xff, 0xf2, 0xd6),
    red_ground: Color32::from_rgb(0xfd, 0xe7, 0xe6),
    green: Color32::from_rgb(0x1b, 0x7f, 0x45),
    field: Color32::from_rgb(0xf0, 0xf2, 0xf6),
};

impl Palette {
    /// That of the theme in use.
    #[must_use]
    pub fn of(ui: &egui::Ui) -> Self {
        if ui.visuals().dark_mode { DARK } else { LIGHT }
    }
}

/// Sets the look of all widgets.
pub fn apply(ctx: &egui::Context) {
    for (theme, p) in [(Theme::Dark, DARK), (Theme::Light, LIGHT)] {
        ctx.style_mut_of(theme, |s| {
            s.text_styles = [
                (TextStyle::Small, 12.0),
                (TextStyle::Body, 14.0),
                (TextStyle::Button, 14.0),
                (TextStyle::Heading, 18.0),
                (TextStyle::Monospace, 13.0),
            ]
            .map(|(k, size)| {
                let family = if k == TextStyle::Monospace { FontFamily::Monospace } else { FontFamily::Proportional };
                (k, FontId::new(size, family))
            })
            .into();
            s.spacing.item_spacing = Vec2::new(8.0, 8.0);
            s.spacing.button_padding = Vec2::new(12.0, 6.0);
            s.spacing.interact_size.y = 30.0;
            s.spacing.combo_width = 120.0;
            s.spacing.menu_margin = Margin::same(6);
            let v = &mut s.visuals;
            v.panel_fill = p.ground;
            v.window_fill = p.card;
            v.window_stroke = Stroke::new(1.0, p.line);
            v.extreme_bg_color = p.field;
            v.faint_bg_color = p.field;
            v.override_text_color = None;
            v.weak_text_color = Some(p.faint);
            v.hyperlink_color = p.accent;
            v.warn_fg_color = p.amber;
            v.error_fg_color = p.red;
            v.selection.bg_fill = p.accent.gamma_multiply(0.45);
            v.selection.stroke = Stroke::new(1.5, p.accent);
            let radius = CornerRadius::same(7);
            v.menu_corner_radius = radius;
            v.window_corner_radius = CornerRadius::same(10);
            let w = &mut v.widgets;
            // What has the focus is “active”: it must be seen on every ground, also on the accent’s.
            for (state, fill, line, width) in [
                (&mut w.noninteractive, p.card, p.line, 1.0),
                (&mut w.inactive, p.field, p.line, 1.0),
                (&mut w.hovered, p.field, p.accent, 1.0),
                (&mut w.active, p.field, p.text, 2.0),
                (&mut w.open, p.field, p.accent, 1.0),
            ] {
                state.bg_fill = fill;
                state.weak_bg_fill = fill;
                state.bg_stroke = Stroke::new(width, line);
                state.fg_stroke = Stroke::new(1.0, p.text);
                state.corner_radius = radius;
                state.expansion = 0.0;
            }
        });
    }
}
