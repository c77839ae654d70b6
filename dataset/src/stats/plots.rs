//! Box plots: one picture a measure, a group of boxes a modality, a colour a difficulty.

use super::{Measure, Stats, Summary};
use crate::{Error, Result};
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::{FontStyle, register_font};
use redline_schemas::{Difficulty, Modality};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

const SIZE: (u32, u32) = (1000, 560);
const FAMILY: &str = "sans-serif";

/// Where DejaVu Sans or something like it lies.
const FONTS: [&str; 5] = [
    "/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf",
    "/usr/share/fonts/dejavu-sans-fonts/DejaVuSans.ttf",
    "/usr/share/fonts/TTF/DejaVuSans.ttf",
    "/usr/share/fonts/truetype/liberation/LiberationSans-Regular.ttf",
    "/System/Library/Fonts/Supplemental/Arial.ttf",
];

/// Difficulties differ in lightness too, so that they can be told apart without colour.
fn colour(d: Difficulty) -> RGBColor {
    match d {
        Difficulty::Easy => RGBColor(158, 202, 225),
        Difficulty::Medium => RGBColor(66, 146, 198),
        Difficulty::Hard => RGBColor(8, 69, 148),
    }
}

/// The files that were written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Plots {
    /// An SVG and a PNG for each measure that has values.
    pub files: Vec<PathBuf>,
}

fn refused(what: impl std::fmt::Display) -> Error {
    Error::Refused(format!("could not draw a plot: {what}"))
}

fn font() -> Result<()> {
    static DONE: OnceLock<bool> = OnceLock::new();
    let found = *DONE.get_or_init(|| {
        let bytes = FONTS.iter().find_map(|p| std::fs::read(p).ok());
        // The library keeps fonts for ever; this one is read once.
        bytes.is_some_and(|b| register_font(FAMILY, FontStyle::Normal, Box::leak(b.into_boxed_slice())).is_ok())
    });
    if found { Ok(()) } else { Err(refused("no font found: install fonts-dejavu-core")) }
}

/// Draws every measure that has values as SVG and PNG into `dir`, which is made when it is not there.
pub fn draw(stats: &Stats, dir: &Path) -> Result<Plots> {
    font()?;
    std::fs::create_dir_all(dir).map_err(Error::io(dir, "could not create the folder"))?;
    let mut plots = Plots::default();
    for m in stats.measures.iter().filter(|m| !m.groups.is_empty()) {
        let svg = dir.join(format!("{}.svg", m.name));
        plot(SVGBackend::new(&svg, SIZE).into_drawing_area(), stats, m)?;
        let png = dir.join(format!("{}.png", m.name));
        plot(BitMapBackend::new(&png, SIZE).into_drawing_area(), stats, m)?;
        plots.files.extend([svg, png]);
    }
    Ok(plots)
}

fn plot<B: DrawingBackend>(area: DrawingArea<B, Shift>, stats: &Stats, m: &Measure) -> Result<()>
where
    B::ErrorType: 'static,
{
    boxes(&area, stats, m).map_err(refused)?;
    area.present().map_err(refused)
}

type Drawn<B> = std::result::Result<(), DrawingAreaErrorKind<<B as DrawingBackend>::ErrorType>>;

fn boxes<B: DrawingBackend>(area: &DrawingArea<B, Shift>, stats: &Stats, m: &Measure) -> Drawn<B> {
    area.fill(&WHITE)?;
    // Durations read better in minutes once they are that long.
    let top = m.groups.iter().map(|g| g.summary.max).fold(0.0, f64::max);
    let minutes = m.unit == "s" && top > 300.0;
    let (unit, scale) = if minutes { ("min", 60.0) } else { (m.unit, 1.0) };
    let guide = |d: Difficulty| {
        let g = stats.guide_times.iter().find(|g| g.difficulty == d).filter(|_| m.name == "edit_seconds")?;
        Some(f64::from(g.guide_minutes) * 60.0 / scale)
    };
    let guides = Difficulty::ALL.iter().filter_map(|d| guide(*d)).fold(0.0, f64::max);
    let used: Vec<Modality> = Modality::ALL.iter().copied().filter(|x| m.groups.iter().any(|g| g.modality == Some(*x))).collect();
    let n: u64 = m.groups.iter().find(|g| g.modality.is_none() && g.difficulty.is_none()).map_or(0, |g| g.summary.n);
    let height = (top / scale).max(guides).max(1e-9) * 1.08;

    let mut chart = ChartBuilder::on(area)
        .margin(16)
        .margin_top(56)
        .x_label_area_size(52)
        .y_label_area_size(72)
        .build_cartesian_2d(0.0..used.len() as f64, 0.0..height)?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .light_line_style(TRANSPARENT)
        .x_labels(0)
        .disable_x_axis()
        .y_desc(axis(m, unit))
        .label_style((FAMILY, 15))
        .draw()?;

    area.draw(&Text::new(format!("{} (n = {n})", m.title), (24, 16), (FAMILY, 24).into_font().color(&BLACK)))?;
    let plot = chart.plotting_area();
    let centred = |size: i32| {
        use plotters::style::text_anchor::{HPos, Pos, VPos};
        (FAMILY, size).into_font().color(&BLACK).pos(Pos::new(HPos::Center, VPos::Top))
    };
    let (_, bottom) = plot.get_pixel_range();
    for (i, modality) in used.iter().enumerate() {
        let x = plot.map_coordinate(&(i as f64 + 0.5, 0.0)).0;
        area.draw(&Text::new(modality.to_string(), (x, bottom.end + 26), centred(16)))?;
        for (k, &d) in Difficulty::ALL.iter().enumerate() {
            let Some(g) = m.groups.iter().find(|g| g.modality == Some(*modality) && g.difficulty == Some(d)) else { continue };
            let x = i as f64 + 0.22 + 0.28 * k as f64;
            one_box(plot, x, &g.summary, scale, colour(d))?;
            if let Some(t) = guide(d) {
                plot.draw(&PathElement::new([(x - 0.13, t), (x + 0.13, t)], RED.stroke_width(3)))?;
            }
            let px = plot.map_coordinate(&(x, 0.0)).0;
            area.draw(&Text::new(format!("{}", g.summary.n), (px, bottom.end + 6), centred(12)))?;
        }
    }
    legend(area, guides > 0.0)
}

fn axis(m: &Measure, unit: &str) -> String {
    if m.unit == "s" { format!("{} in {unit}", m.title.split(' ').next().unwrap_or("Time")) } else { format!("{unit} (number)") }
}

/// Box from quartile to quartile, line at the median, whiskers to the extremes, dot at the mean.
fn one_box<B: DrawingBackend>(
    plot: &DrawingArea<B, Cartesian2d<plotters::coord::types::RangedCoordf64, plotters::coord::types::RangedCoordf64>>,
    x: f64,
    s: &Summary,
    scale: f64,
    fill: RGBColor,
) -> Drawn<B> {
    const HALF: f64 = 0.1;
    let line =
        |a: (f64, f64), b: (f64, f64), width: u32| PathElement::new([(a.0, a.1 / scale), (b.0, b.1 / scale)], BLACK.stroke_width(width));
    plot.draw(&line((x, s.min), (x, s.q1), 1))?;
    plot.draw(&line((x, s.q3), (x, s.max), 1))?;
    for end in [s.min, s.max] {
        plot.draw(&line((x - HALF / 2.0, end), (x + HALF / 2.0, end), 1))?;
    }
    let corners = [(x - HALF, s.q1 / scale), (x + HALF, s.q3 / scale)];
    plot.draw(&Rectangle::new(corners, fill.filled()))?;
    plot.draw(&Rectangle::new(corners, BLACK.stroke_width(1)))?;
    plot.draw(&line((x - HALF, s.median), (x + HALF, s.median), 3))?;
    plot.draw(&Circle::new((x, s.mean / scale), 4, WHITE.filled()))?;
    plot.draw(&Circle::new((x, s.mean / scale), 4, BLACK.stroke_width(1)))
}

/// At the right top, beside the title.
fn legend<B: DrawingBackend>(area: &DrawingArea<B, Shift>, guide: bool) -> Drawn<B> {
    let small = || (FAMILY, 14).into_font().color(&BLACK);
    let mut x = SIZE.0 as i32 - 16 - 84 * 3 - if guide { 110 } else { 0 };
    let y = 24;
    for &d in Difficulty::ALL {
        area.draw(&Rectangle::new([(x, y), (x + 14, y + 12)], colour(d).filled()))?;
        area.draw(&Text::new(d.to_string(), (x + 19, y), small()))?;
        x += 84;
    }
    if guide {
        area.draw(&PathElement::new([(x, y + 6), (x + 18, y + 6)], RED.stroke_width(3)))?;
        area.draw(&Text::new("guide time", (x + 23, y), small()))?;
    }
    Ok(())
}
