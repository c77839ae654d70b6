//! Strokes as pixels.

use super::ink::{Dirty, HEAD, Ink, Stroke};
use redline_recorder::control::Tool;
use tiny_skia::{Color, LineCap, LineJoin, Paint, Path, PathBuilder, Pixmap, PixmapPaint, Stroke as Line, Transform};

/// How fading is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fading {
    /// Strokes become transparent.
    Alpha,
    /// Strokes become thinner: where nothing mixes windows, a pixel is there or not.
    Width,
}

/// Draws what lies in `clip` at `t_ns` (monotonic): premultiplied RGBA, row by row.
#[must_use]
pub fn draw(ink: &Ink, clip: Dirty, t_ns: i64, fading: Fading) -> Option<Pixmap> {
    let (w, h) = (u32::try_from(clip.x1 - clip.x0).ok()?, u32::try_from(clip.y1 - clip.y0).ok()?);
    let mut out = Pixmap::new(w, h)?;
    let shift = Transform::from_translate(-clip.x0 as f32, -clip.y0 as f32);
    for s in ink.strokes() {
        let b = s.bounds();
        if b.x1 <= clip.x0 || b.x0 >= clip.x1 || b.y1 <= clip.y0 || b.y0 >= clip.y1 {
            continue;
        }
        let strength = ink.strength(s, t_ns);
        if strength <= 0.0 {
            continue;
        }
        match fading {
            Fading::Alpha if strength < 1.0 => {
                // As a whole: a stroke that crosses itself must not be darker there.
                let mut layer = Pixmap::new(w, h)?;
                stroke(&mut layer, s, s.width, shift, true);
                let paint = PixmapPaint { opacity: strength, ..PixmapPaint::default() };
                out.draw_pixmap(0, 0, layer.as_ref(), &paint, Transform::identity(), None);
            }
            Fading::Alpha => stroke(&mut out, s, s.width, shift, true),
            Fading::Width => stroke(&mut out, s, (s.width * strength).max(1.0), shift, false),
        }
    }
    Some(out)
}

fn stroke(to: &mut Pixmap, s: &Stroke, width: f32, shift: Transform, smooth: bool) {
    let [r, g, b] = s.rgb;
    let mut paint = Paint::default();
    paint.set_color(Color::from_rgba8(r, g, b, 255));
    paint.anti_alias = smooth;
    let line = Line { width, line_cap: LineCap::Round, line_join: LineJoin::Round, ..Line::default() };
    for p in paths(s, width) {
        to.stroke_path(&p, &paint, &line, shift, None);
    }
}

fn paths(s: &Stroke, width: f32) -> Vec<Path> {
    let mut b = PathBuilder::new();
    match (&s.points[..], s.tool) {
        ([], _) => return Vec::new(),
        ([(x, y)], _) => {
            // A dot; a path of no length would not be drawn.
            b.move_to(*x, *y);
            b.line_to(x + 0.01, *y);
        }
        ([from, .., to], Tool::Arrow) => {
            b.move_to(from.0, from.1);
            b.line_to(to.0, to.1);
            let (dx, dy) = (to.0 - from.0, to.1 - from.1);
            let long = dx.hypot(dy).max(0.01);
            let head = (width * HEAD.0).max(HEAD.1).min(long);
            let (ux, uy) = (dx / long * head, dy / long * head);
            for side in [0.5_f32, -0.5] {
                b.move_to(to.0, to.1);
                b.line_to(to.0 - ux - uy * side, to.1 - uy + ux * side);
            }
        }
        (points, _) => {
            // Through the middles between points: the corners of the mouse's pixels go away.
            let mid = |a: (f32, f32), c: (f32, f32)| ((a.0 + c.0) / 2.0, (a.1 + c.1) / 2.0);
            b.move_to(points[0].0, points[0].1);
            for w in points.windows(2).skip(1) {
                let m = mid(w[0], w[1]);
                b.quad_to(w[0].0, w[0].1, m.0, m.1);
            }
            if let Some(last) = points.last() {
                b.line_to(last.0, last.1);
            }
        }
    }
    b.finish().into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::super::ink::Lasting;
    use super::*;

    const S: i64 = 1_000_000_000;

    fn ink() -> Ink {
        let mut ink = Ink::new(Lasting::Temporary(2 * S));
        ink.press(0, 20.0, 20.0);
        ink.drag(60.0, 20.0);
        ink.release(0, 60.0, 20.0);
        ink
    }

    const ALL: Dirty = Dirty { x0: 0, y0: 0, x1: 100, y1: 50 };

    #[test]
    fn a_clip_shows_the_same_as_the_whole() {
        let ink = ink();
        let whole = draw(&ink, ALL, 0, Fading::Alpha).unwrap();
        let clip = Dirty { x0: 30, y0: 10, x1: 50, y1: 30 };
        let part = draw(&ink, clip, 0, Fading::Alpha).unwrap();
        for y in 0..20 {
            for x in 0..20 {
                let (a, b) = (whole.pixel(x + 30, y + 10).unwrap(), part.pixel(x, y).unwrap());
                assert!(a.alpha().abs_diff(b.alpha()) <= 2, "at {x},{y}");
            }
        }
        let p = whole.pixel(40, 20).unwrap();
        assert_eq!([p.red(), p.green(), p.blue(), p.alpha()], [0xe5, 0x39, 0x35, 255]);
        assert_eq!(whole.pixel(40, 30).unwrap().alpha(), 0);
    }

    #[test]
    fn fading_is_to_be_seen_both_ways() {
        let ink = ink();
        let alpha = draw(&ink, ALL, 3 * S / 2, Fading::Alpha).unwrap();
        assert!((120..=135).contains(&alpha.pixel(40, 20).unwrap().alpha()));
        let count = |t| draw(&ink, ALL, t, Fading::Width).unwrap().pixels().iter().filter(|p| p.alpha() > 0).count();
        assert!(count(3 * S / 2) < count(0) * 3 / 4);
        let hard = draw(&ink, ALL, 0, Fading::Width).unwrap();
        assert!(hard.pixels().iter().all(|p| matches!(p.alpha(), 0 | 255)));
    }
}
