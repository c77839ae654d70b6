//! Text onto pictures.

use crate::{Error, Result};
use ab_glyph::{Font, FontVec, Glyph, PxScale, ScaleFont, point};
use image::{Rgb, RgbImage};
use std::path::{Path, PathBuf};

/// Where a plain sans-serif font lies on common systems, and its bold companion.
const CANDIDATES: [(&str, &str); 6] = [
    ("/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf", "DejaVuSans-Bold.ttf"),
    ("/usr/share/fonts/TTF/DejaVuSans.ttf", "DejaVuSans-Bold.ttf"),
    ("/usr/share/fonts/dejavu-sans-fonts/DejaVuSans.ttf", "DejaVuSans-Bold.ttf"),
    ("/usr/share/fonts/truetype/liberation/LiberationSans-Regular.ttf", "LiberationSans-Bold.ttf"),
    ("/System/Library/Fonts/Supplemental/Arial.ttf", "Arial Bold.ttf"),
    ("C:\\Windows\\Fonts\\arial.ttf", "arialbd.ttf"),
];

/// The largest font file that is read.
const MAX_FONT_BYTES: u64 = 64 << 20;

/// A font in two weights.
pub struct Typeface {
    regular: FontVec,
    bold: Option<FontVec>,
}

/// How to write.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Style {
    pub(crate) size: f32,
    pub(crate) bold: bool,
    pub(crate) colour: Rgb<u8>,
}

impl Typeface {
    /// The given font file, or the first known one of the system.
    pub fn load(file: Option<&Path>) -> Result<Self> {
        if let Some(f) = file {
            return Ok(Self { regular: read(f)?, bold: None });
        }
        for (regular, bold) in CANDIDATES {
            let path = Path::new(regular);
            if path.is_file() {
                return Ok(Self { regular: read(path)?, bold: read(&path.with_file_name(bold)).ok() });
            }
        }
        Err(Error::NoFont { looked_at: CANDIDATES.iter().map(|c| PathBuf::from(c.0)).collect() })
    }

    fn font(&self, s: Style) -> &FontVec {
        self.bold.as_ref().filter(|_| s.bold).unwrap_or(&self.regular)
    }

    /// Width of `text`, pixels.
    pub(crate) fn width(&self, text: &str, s: Style) -> f32 {
        let font = self.font(s).as_scaled(PxScale::from(s.size));
        let ids: Vec<_> = text.chars().map(|c| font.glyph_id(c)).collect();
        let kern: f32 = ids.windows(2).map(|w| font.kern(w[0], w[1])).sum();
        ids.iter().map(|i| font.h_advance(*i)).sum::<f32>() + kern
    }

    /// Height from line to line, pixels.
    pub(crate) fn line_height(&self, s: Style) -> f32 {
        (s.size * 1.3).ceil()
    }

    /// Writes `text` with its top left at `x`, `y`; the x after it.
    pub(crate) fn draw(&self, on: &mut RgbImage, x: f32, y: f32, text: &str, s: Style) -> f32 {
        let font = self.font(s).as_scaled(PxScale::from(s.size));
        let baseline = y + font.ascent();
        let mut at = x;
        let mut last = None;
        for c in text.chars() {
            let mut glyph: Glyph = font.scaled_glyph(c);
            at += last.map_or(0.0, |l| font.kern(l, glyph.id));
            last = Some(glyph.id);
            glyph.position = point(at, baseline);
            at += font.h_advance(glyph.id);
            if let Some(outline) = font.outline_glyph(glyph) {
                let b = outline.px_bounds();
                outline.draw(|gx, gy, cover| blend(on, b.min.x as i64 + i64::from(gx), b.min.y as i64 + i64::from(gy), s.colour, cover));
            }
        }
        at
    }

    /// `words` in lines of at most `width` pixels, as indices; a word that is too long gets a line of its own.
    pub(crate) fn wrap(&self, words: &[&str], width: f32, s: Style) -> Vec<Vec<usize>> {
        let space = self.width(" ", s);
        let mut lines: Vec<Vec<usize>> = Vec::new();
        let mut used = 0.0;
        for (i, w) in words.iter().enumerate() {
            let w = self.width(w, s);
            match lines.last_mut() {
                Some(l) if used + space + w <= width => {
                    l.push(i);
                    used += space + w;
                }
                _ => {
                    lines.push(vec![i]);
                    used = w;
                }
            }
        }
        lines
    }
}

fn read(path: &Path) -> Result<FontVec> {
    let bytes = std::fs::metadata(path).map_err(Error::io(path, "could not open the font"))?.len();
    if bytes > MAX_FONT_BYTES {
        return Err(Error::Unsupported { path: path.into(), what: "too large for a font".into() });
    }
    let data = std::fs::read(path).map_err(Error::io(path, "could not read the font"))?;
    let what = "not a TrueType or OpenType font: name another with --font".to_owned();
    FontVec::try_from_vec(data).map_err(|_| Error::Unsupported { path: path.into(), what })
}

/// Mixes `colour` into a pixel; outside the picture nothing happens.
pub(crate) fn blend(on: &mut RgbImage, x: i64, y: i64, colour: Rgb<u8>, cover: f32) {
    if x < 0 || y < 0 || x >= i64::from(on.width()) || y >= i64::from(on.height()) {
        return;
    }
    let cover = cover.clamp(0.0, 1.0);
    let p = on.get_pixel_mut(x as u32, y as u32);
    for (a, b) in p.0.iter_mut().zip(colour.0) {
        *a = (f32::from(*a) * (1.0 - cover) + f32::from(b) * cover).round() as u8;
    }
}

/// A ring (or with `inner` 0 a disc) around `x`, `y`, smooth at its edges.
pub(crate) fn ring(on: &mut RgbImage, x: f32, y: f32, inner: f32, outer: f32, colour: Rgb<u8>) {
    let r = outer.ceil() as i64 + 1;
    let (cx, cy) = (x.round() as i64, y.round() as i64);
    for py in cy - r..=cy + r {
        for px in cx - r..=cx + r {
            let d = (px as f32 - x).hypot(py as f32 - y);
            let cover = (outer - d + 0.5).clamp(0.0, 1.0) * if inner > 0.0 { (d - inner + 0.5).clamp(0.0, 1.0) } else { 1.0 };
            blend(on, px, py, colour, cover);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INK: Style = Style { size: 20.0, bold: false, colour: Rgb([0, 0, 0]) };

    #[test]
    fn words_are_wrapped_and_none_is_lost() {
        let t = Typeface::load(None).unwrap();
        let words = ["round", "this", "edge", "with", "a", "three", "millimetre", "fillet"];
        let lines = t.wrap(&words, 120.0, INK);
        assert!(lines.len() > 2, "{lines:?}");
        assert_eq!(lines.concat(), (0..words.len()).collect::<Vec<_>>());
        for l in &lines {
            let text = l.iter().map(|i| words[*i]).collect::<Vec<_>>().join(" ");
            assert!(l.len() == 1 || t.width(&text, INK) <= 121.0, "{text}");
        }
    }

    #[test]
    fn ink_stays_in_its_box_and_off_the_edge_is_harmless() {
        let t = Typeface::load(None).unwrap();
        let mut p = RgbImage::from_pixel(200, 40, Rgb([255, 255, 255]));
        let end = t.draw(&mut p, 10.0, 5.0, "Édge Ø8", INK);
        let inked: Vec<_> = p.enumerate_pixels().filter(|(_, _, c)| c.0[0] < 128).map(|(x, y, _)| (x, y)).collect();
        assert!(inked.len() > 100);
        assert!(inked.iter().all(|(x, y)| *x >= 9 && (*x as f32) <= end && *y >= 4 && *y < 32));
        t.draw(&mut p, -50.0, -50.0, "outside", INK);
        t.draw(&mut p, 190.0, 35.0, "outside", INK);
    }

    #[test]
    fn a_missing_or_wrong_font_is_named() {
        let e = Typeface::load(Some(Path::new("/nonexistent.ttf"))).err().unwrap().to_string();
        assert!(e.contains("/nonexistent.ttf"), "{e}");
        let dir = tempfile::tempdir().unwrap();
        let p = dir.path().join("x.ttf");
        std::fs::write(&p, "no font").unwrap();
        let e = Typeface::load(Some(&p)).err().unwrap().to_string();
        assert!(e.contains("x.ttf") && e.contains("--font"), "{e}");
    }
}
