//! One picture of a session: frames with the words spoken under them.

use crate::typeface::{Style, ring};
use crate::{Result, Typeface, frames_at};
use image::{Rgb, RgbImage, imageops};
use redline_schemas::time::seconds;
use redline_schemas::{InputEvent, InputKind, VideoStream, Word};
use std::path::Path;

const PAPER: Rgb<u8> = Rgb([250, 250, 248]);
const INK: Rgb<u8> = Rgb([24, 24, 24]);
const MUTED: Rgb<u8> = Rgb([105, 105, 105]);
const FRAME: Rgb<u8> = Rgb([190, 190, 190]);
const POINTER: Rgb<u8> = Rgb([214, 30, 30]);
const HALO: Rgb<u8> = Rgb([255, 255, 255]);

/// Space around and between cells, pixels.
const GAP: u32 = 18;

/// Lines of words under a frame; more end in an ellipsis.
const MAX_LINES: usize = 6;

/// What a contact sheet shows.
#[derive(Debug)]
pub struct SheetContent<'a> {
    /// The line on top.
    pub title: &'a str,
    /// The video file.
    pub video: &'a Path,
    /// The video's place on the session's clock.
    pub stream: &'a VideoStream,
    /// Words on the session's clock, in order.
    pub words: Vec<&'a Word>,
    /// Mouse and keys, in order.
    pub input: &'a [InputEvent],
}

/// How a contact sheet is laid out.
#[derive(Debug, Clone, Copy)]
pub struct SheetLayout {
    /// Frames shown.
    pub frames: u32,
    /// Frames side by side.
    pub columns: u32,
    /// Width of a frame, pixels.
    pub cell_width: u32,
}

impl Default for SheetLayout {
    fn default() -> Self {
        Self { frames: 12, columns: 3, cell_width: 560 }
    }
}

impl SheetLayout {
    fn bounded(self) -> Self {
        let frames = self.frames.clamp(1, 200);
        Self { frames, columns: self.columns.clamp(1, 20).min(frames), cell_width: self.cell_width.clamp(80, 1920) }
    }
}

/// A stretch of the session, shown by the frame in its middle.
struct Cell<'a> {
    t_ns: i64,
    words: Vec<&'a Word>,
    pointer: Option<(f64, f64)>,
    clicks: Vec<(f64, f64)>,
}

/// Draws the sheet: equal stretches of the session, each with the frame in its middle, the pointer then
/// (ring) and the clicks in the stretch (dots), and under it the words whose middle falls into the stretch.
/// The word spoken while the frame was on screen is bold.
pub fn contact_sheet(content: &SheetContent<'_>, layout: SheetLayout, face: &Typeface) -> Result<RgbImage> {
    let layout = layout.bounded();
    let cells = cells(content, layout.frames);
    let grid = content.stream.grid;
    let pts: Vec<i64> = cells.iter().map(|c| c.t_ns - grid.first_t_ns).collect();
    let frames = frames_at(content.video, &pts)?;

    let text = Style { size: 19.0, bold: false, colour: INK };
    let line = face.line_height(text);
    let lines: Vec<Vec<Vec<usize>>> = cells.iter().map(|c| face.wrap(&texts(c), layout.cell_width as f32 - 4.0, text)).collect();
    let rows = layout.frames.div_ceil(layout.columns);
    let row_lines: Vec<usize> =
        lines.chunks(layout.columns as usize).map(|r| r.iter().map(Vec::len).max().unwrap_or(0).min(MAX_LINES)).collect();
    let (vw, vh) = (content.stream.width.max(1), content.stream.height.max(1));
    let height = (u64::from(layout.cell_width) * u64::from(vh) / u64::from(vw)).max(1) as u32;
    let caption = |row: usize| (line * (1.3 + row_lines[row] as f32)).ceil() as u32;
    let head = GAP + 34;
    let total = head + (0..rows as usize).map(|r| height + caption(r) + GAP).sum::<u32>();
    let mut sheet = RgbImage::from_pixel(GAP + layout.columns * (layout.cell_width + GAP), total, PAPER);
    face.draw(&mut sheet, GAP as f32, 14.0, content.title, Style { size: 22.0, bold: true, colour: INK });

    let mut y = head;
    for (i, (cell, frame)) in cells.iter().zip(&frames).enumerate() {
        let (row, column) = (i / layout.columns as usize, i as u32 % layout.columns);
        if column == 0 && row > 0 {
            y += height + caption(row - 1) + GAP;
        }
        let x = GAP + column * (layout.cell_width + GAP);
        border(&mut sheet, x, y, layout.cell_width, height);
        let small = imageops::resize(&frame.rgb, layout.cell_width, height, imageops::FilterType::CatmullRom);
        imageops::replace(&mut sheet, &small, i64::from(x), i64::from(y));
        let scale = f64::from(layout.cell_width) / f64::from(vw);
        let at = |(vx, vy): (f64, f64)| (x as f32 + ((vx + 0.5) * scale) as f32, y as f32 + ((vy + 0.5) * scale) as f32);
        for c in &cell.clicks {
            let (px, py) = at(*c);
            ring(&mut sheet, px, py, 0.0, 6.5, HALO);
            ring(&mut sheet, px, py, 0.0, 4.5, POINTER);
        }
        if let Some(p) = cell.pointer.filter(|p| inside(*p, vw, vh)) {
            let (px, py) = at(p);
            ring(&mut sheet, px, py, 14.0, 20.0, HALO);
            ring(&mut sheet, px, py, 15.5, 18.5, POINTER);
        }
        let top = (y + height) as f32 + line * 0.2;
        let time = Style { bold: true, ..text };
        let after = face.draw(&mut sheet, x as f32, top, &clock_text(cell.t_ns), time);
        face.draw(&mut sheet, after + 14.0, top + 2.0, &facts(cell), Style { size: 15.0, colour: MUTED, ..text });
        let words = texts(cell);
        for (n, l) in lines[i].iter().take(MAX_LINES).enumerate() {
            let mut wx = x as f32;
            let wy = top + line * (n as f32 + 1.0);
            for w in l {
                let now = cell.words[*w].start_ns <= cell.t_ns && cell.t_ns < cell.words[*w].end_ns;
                wx = face.draw(&mut sheet, wx, wy, words[*w], Style { bold: now, ..text }) + face.width(" ", text);
            }
            if n + 1 == MAX_LINES && lines[i].len() > MAX_LINES {
                face.draw(&mut sheet, wx, wy, "…", text);
            }
        }
    }
    Ok(sheet)
}

fn texts<'a>(c: &Cell<'a>) -> Vec<&'a str> {
    c.words.iter().map(|w| w.text.as_str()).collect()
}

fn cells<'a>(content: &SheetContent<'a>, n: u32) -> Vec<Cell<'a>> {
    let s = content.stream;
    let (from, to) = (s.grid.t_ns_of_frame(0), s.grid.t_ns_of_frame(s.frames.max(1) as i64));
    let at = |i: u32| from + ((i128::from(to - from) * i128::from(i)) / i128::from(n)) as i64;
    (0..n)
        .map(|i| {
            // Words and clicks outside the video belong to its first and last stretch.
            let (a, b) = (if i == 0 { i64::MIN } else { at(i) }, if i + 1 == n { i64::MAX } else { at(i + 1) });
            let t_ns = (at(i) + at(i + 1)) / 2;
            let within = |t: i64| a <= t && t < b;
            let until = content.input.partition_point(|e| e.t_ns <= t_ns);
            Cell {
                t_ns,
                words: content.words.iter().copied().filter(|w| within((w.start_ns + w.end_ns) / 2)).collect(),
                pointer: content.input[..until].iter().rev().find_map(|e| e.vx.zip(e.vy)),
                clicks: content
                    .input
                    .iter()
                    .filter(|e| e.kind == InputKind::Press && within(e.t_ns))
                    .filter_map(|e| e.vx.zip(e.vy))
                    .filter(|p| inside(*p, s.width, s.height))
                    .collect(),
            }
        })
        .collect()
}

fn inside((x, y): (f64, f64), w: u32, h: u32) -> bool {
    x >= 0.0 && y >= 0.0 && x < f64::from(w) && y < f64::from(h)
}

fn facts(c: &Cell<'_>) -> String {
    let mut parts = Vec::new();
    if let Some((x, y)) = c.pointer {
        parts.push(format!("pointer {x:.0}, {y:.0}"));
    }
    match c.clicks.len() {
        0 => {}
        1 => parts.push("1 click".into()),
        n => parts.push(format!("{n} clicks")),
    }
    parts.join(" · ")
}

/// `m:ss.s`, rounded to tenths.
fn clock_text(t_ns: i64) -> String {
    let tenths = (seconds(t_ns) * 10.0).round() as i64;
    format!("{}:{:02}.{}", tenths / 600, tenths / 10 % 60, tenths % 10)
}

fn border(on: &mut RgbImage, x: u32, y: u32, w: u32, h: u32) {
    let outer = RgbImage::from_pixel(w + 2, h + 2, FRAME);
    imageops::replace(on, &outer, i64::from(x) - 1, i64::from(y) - 1);
}

#[cfg(test)]
mod tests {
    use super::*;
    use redline_schemas::time::FrameGrid;
    use redline_schemas::{FileRef, Timing};

    fn stream() -> VideoStream {
        VideoStream {
            file: FileRef { path: "video.mp4".into(), bytes: 0, sha256: String::new() },
            codec: "h264".into(),
            width: 320,
            height: 240,
            grid: FrameGrid::new(500_000_000, 30, 1).unwrap(),
            frames: 120,
            repeated_slots: 0,
            paused_slots: 0,
            dropped_frames: 0,
            capture_error_ns: None,
            has_audio: false,
        }
    }

    fn word(text: &str, start_ns: i64, end_ns: i64) -> Word {
        Word { text: text.into(), start_ns, end_ns, score: None, timing: Timing::Aligned }
    }

    #[test]
    fn every_word_and_click_is_in_one_cell_and_the_pointer_is_the_last_known_one() {
        let words = [word("before", 0, 100), word("one", 600_000_000, 900_000_000), word("late", 9_000_000_000, 9_100_000_000)];
        let mut input = vec![];
        for (t, kind, x) in
            [(700_000_000, InputKind::Move, 10.0), (2_000_000_000, InputKind::Press, 20.0), (2_600_000_000, InputKind::Move, 30.0)]
        {
            input.push(InputEvent { vx: Some(x), vy: Some(5.0), ..InputEvent::new(t, kind) });
        }
        let s = stream();
        let content = SheetContent { title: "t", video: Path::new("v"), stream: &s, words: words.iter().collect(), input: &input };
        let cells = cells(&content, 4);
        assert_eq!(cells.iter().map(|c| c.t_ns).collect::<Vec<_>>(), [1_000_000_000, 2_000_000_000, 3_000_000_000, 4_000_000_000]);
        assert_eq!(cells.iter().map(|c| texts(c).join(" ")).collect::<Vec<_>>(), ["before one", "", "", "late"]);
        assert_eq!(cells.iter().map(|c| c.pointer.unwrap().0).collect::<Vec<_>>(), [10.0, 20.0, 30.0, 30.0]);
        assert_eq!(cells.iter().map(|c| c.clicks.len()).collect::<Vec<_>>(), [0, 1, 0, 0]);
    }

    #[test]
    fn times_are_readable() {
        assert_eq!(clock_text(0), "0:00.0");
        assert_eq!(clock_text(59_960_000_000), "1:00.0");
        assert_eq!(clock_text(83_440_000_000), "1:23.4");
    }
}
