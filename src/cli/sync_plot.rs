//! The sync test's plot: every measured error over time.

use anyhow::{Context, bail};
use plotters::prelude::*;
use redline_recorder::sync::report::{ErrorAt, Report};
use std::path::Path;

/// Where Debian and its kin, Fedora and macOS keep a plain font.
const FONTS: [&str; 4] = [
    "/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf",
    "/usr/share/fonts/dejavu-sans-fonts/DejaVuSans.ttf",
    "/usr/share/fonts/TTF/DejaVuSans.ttf",
    "/System/Library/Fonts/Supplemental/Arial.ttf",
];

/// Draws `report` into a PNG.
pub fn draw(path: &Path, report: &Report) -> anyhow::Result<()> {
    let Some(font) = FONTS.iter().find_map(|f| std::fs::read(f).ok()) else {
        bail!("no font found: install fonts-dejavu-core");
    };
    // plotters wants it for ever; it is one font a run.
    if plotters::style::register_font("sans-serif", FontStyle::Normal, Box::leak(font.into_boxed_slice())).is_err() {
        bail!("the font cannot be read");
    }
    draw_with_font(path, report).with_context(|| format!("could not draw {}", path.display()))
}

fn draw_with_font(path: &Path, report: &Report) -> anyhow::Result<()> {
    let streams = [("video", &report.video, BLUE), ("audio", &report.audio, RED), ("input", &report.input, GREEN)];
    let ms = |e: &ErrorAt| (e.t_ns as f64 / 1e9, e.error_ns as f64 / 1e6);
    let all: Vec<(f64, f64)> = streams.iter().flat_map(|(_, s, _)| s.errors.iter().map(ms)).collect();
    let end = all.iter().fold(1.0_f64, |m, p| m.max(p.0));
    let far = all.iter().fold(6.0_f64, |m, p| m.max(p.1.abs())) * 1.1;
    let root = BitMapBackend::new(path, (1200, 600)).into_drawing_area();
    root.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&root)
        .caption("claimed minus true time", ("sans-serif", 24))
        .margin(12)
        .x_label_area_size(44)
        .y_label_area_size(64)
        .build_cartesian_2d(0.0..end, -far..far)?;
    chart.configure_mesh().x_desc("session time, s").y_desc("error, ms").label_style(("sans-serif", 16)).draw()?;
    for limit in [-5.0, 5.0] {
        chart.draw_series(LineSeries::new([(0.0, limit), (end, limit)], BLACK.mix(0.4)))?;
    }
    for (i, (name, s, colour)) in streams.into_iter().enumerate() {
        // Shape as well as colour tells them apart.
        let mark = move |p: (f64, f64)| -> DynElement<'static, BitMapBackend<'_>, (f64, f64)> {
            match i {
                0 => Circle::new(p, 3, colour.filled()).into_dyn(),
                1 => Cross::new(p, 4, colour).into_dyn(),
                _ => TriangleMarker::new(p, 4, colour.filled()).into_dyn(),
            }
        };
        chart.draw_series(s.errors.iter().map(ms).map(mark))?.label(name).legend(move |(x, y)| match i {
            0 => Circle::new((x + 8, y), 4, colour.filled()).into_dyn(),
            1 => Cross::new((x + 8, y), 5, colour).into_dyn(),
            _ => TriangleMarker::new((x + 8, y), 5, colour.filled()).into_dyn(),
        });
    }
    let corner = SeriesLabelPosition::LowerLeft;
    chart
        .configure_series_labels()
        .position(corner)
        .background_style(WHITE.mix(0.8))
        .border_style(BLACK)
        .label_font(("sans-serif", 16))
        .draw()?;
    root.present()?;
    Ok(())
}
