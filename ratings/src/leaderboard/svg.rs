//! Drawings that follow the reader's light or dark theme, alone and inside a page; makers differ in shape and colour.

use std::fmt::Write as _;

/// Light and dark colours; each shape has one until they are all used.
const COLOURS: [(&str, &str); 8] = [
    ("#1b5fb4", "#7db4ff"),
    ("#b3541e", "#ffa463"),
    ("#1d7a46", "#5fd08d"),
    ("#7a3fae", "#c79bff"),
    ("#a3244f", "#ff8db0"),
    ("#5c6670", "#b4bec8"),
    ("#7a6200", "#e3c84c"),
    ("#0f7480", "#57cbd8"),
];

const STYLE: &str = "\
.rl{font-family:system-ui,'DejaVu Sans',sans-serif;font-size:13px}\
.rl .paper{fill:#fff}.rl text{fill:#16191d}.rl .soft{fill:#5a6370;font-size:11.5px}.rl .head{font-weight:600}\
.rl .grid{stroke:#e3e7ec;fill:none}.rl .axis{stroke:#8b95a1;fill:none}.rl .bar{stroke:#5a6370;fill:none;stroke-dasharray:5 4}\
.rl .mark{stroke:#fff;stroke-width:1}.rl .spread{stroke-width:2;opacity:.45}.rl .lead{stroke:#8b95a1;fill:none;stroke-width:.8}\
.rl .name{paint-order:stroke;stroke:#fff;stroke-width:4px;stroke-linejoin:round}\
";
const DARK: &str = "\
.rl .paper{fill:#191e24}.rl text{fill:#e9edf2}.rl .soft{fill:#9ba6b3}.rl .grid{stroke:#2c343d}.rl .axis{stroke:#6d7884}\
.rl .bar{stroke:#9ba6b3}.rl .mark{stroke:#191e24}.rl .lead{stroke:#6d7884}.rl .name{stroke:#191e24}\
";

/// Where a text's given place is in it.
#[derive(Clone, Copy)]
pub(super) enum At {
    Start,
    Middle,
    End,
}

/// A drawing.
pub(super) struct Svg {
    width: f64,
    height: f64,
    body: String,
}

impl Svg {
    pub(super) fn new(width: f64, height: f64) -> Self {
        Self { width, height, body: String::new() }
    }

    pub(super) fn line(&mut self, class: &str, (x1, y1): (f64, f64), (x2, y2): (f64, f64)) {
        let _ = writeln!(self.body, "<line class=\"{class}\" x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\"/>");
    }

    pub(super) fn text(&mut self, class: &str, at: At, (x, y): (f64, f64), text: &str) {
        let anchor = match at {
            At::Start => "start",
            At::Middle => "middle",
            At::End => "end",
        };
        let _ = writeln!(self.body, "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{}</text>", escape(text));
    }

    /// From the lowest to the highest, in the maker's colour.
    pub(super) fn spread(&mut self, maker: usize, (x1, y1): (f64, f64), (x2, y2): (f64, f64)) {
        let c = colour(maker);
        let _ = writeln!(self.body, "<line class=\"spread s{c}\" x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\"/>");
    }

    /// A maker's mark; `title` is told by the pointer and to those who listen.
    pub(super) fn mark(&mut self, maker: usize, (x, y): (f64, f64), title: &str) {
        let _ = write!(self.body, "<path class=\"mark m{}\" d=\"", colour(maker));
        for (i, (dx, dy)) in outline(maker).into_iter().enumerate() {
            let _ = write!(self.body, "{}{:.1} {:.1}", if i == 0 { 'M' } else { 'L' }, x + dx, y + dy);
        }
        let _ = writeln!(self.body, "Z\"><title>{}</title></path>", escape(title));
    }

    /// The whole file; `title` says what is in it.
    pub(super) fn finish(self, title: &str) -> String {
        let (w, h, t) = (self.width, self.height, escape(title));
        let mut light = STYLE.to_owned();
        let mut dark = DARK.to_owned();
        for (i, (l, d)) in COLOURS.iter().enumerate() {
            let _ = write!(light, ".rl .m{i}{{fill:{l}}}.rl .s{i}{{stroke:{l}}}");
            let _ = write!(dark, ".rl .m{i}{{fill:{d}}}.rl .s{i}{{stroke:{d}}}");
        }
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"rl\" viewBox=\"0 0 {w} {h}\" width=\"{w}\" height=\"{h}\" role=\"img\" \
             aria-label=\"{t}\"><title>{t}</title>\n<style>{light}@media(prefers-color-scheme:dark){{{dark}}}</style>\n\
             <rect class=\"paper\" width=\"{w}\" height=\"{h}\"/>\n{}</svg>\n",
            self.body
        )
    }
}

/// Eight shapes with eight colours; then the same shapes with the next colour.
fn colour(maker: usize) -> usize {
    (maker + maker / COLOURS.len()) % COLOURS.len()
}

fn outline(maker: usize) -> Vec<(f64, f64)> {
    let around = |n: usize, turn: f64, radius: &dyn Fn(usize) -> f64| -> Vec<(f64, f64)> {
        let angle = |i: usize| std::f64::consts::TAU * (i as f64 / n as f64 + turn);
        (0..n).map(|i| (radius(i) * angle(i).sin(), -radius(i) * angle(i).cos())).collect()
    };
    const A: f64 = 2.2;
    const B: f64 = 6.5;
    match maker % 8 {
        0 => around(24, 0.0, &|_| 6.0),
        1 => around(4, 0.125, &|_| 7.6),
        2 => around(3, 0.0, &|_| 8.0),
        3 => around(4, 0.0, &|_| 7.8),
        4 => around(3, 0.5, &|_| 8.0),
        5 => vec![(-A, -B), (A, -B), (A, -A), (B, -A), (B, A), (A, A), (A, B), (-A, B), (-A, A), (-B, A), (-B, -A), (-A, -A)],
        6 => around(10, 0.0, &|i| if i % 2 == 0 { 8.5 } else { 3.6 }),
        _ => around(6, 0.0, &|_| 7.0),
    }
}

/// About how wide a text is, pixels at 13 px.
pub(super) fn width_of(text: &str) -> f64 {
    text.chars().count() as f64 * 7.6
}

/// A name that leaves room for others, with its beginning and its end; whole names are in the tables.
pub(super) fn shortened(name: &str) -> String {
    const MAX: usize = 34;
    const END: usize = 14;
    let n = name.chars().count();
    if n <= MAX {
        return name.to_owned();
    }
    name.chars().take(MAX - END - 1).chain(['…']).chain(name.chars().skip(n - END)).collect()
}

/// Text in HTML and SVG.
pub(super) fn escape(s: &str) -> String {
    let hostile = |c: char| c.is_control() && c != '\n';
    s.replace(hostile, "\u{fffd}").replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn makers_look_different() {
        let looks: std::collections::BTreeSet<_> = (0..64).map(|i| (i % 8, colour(i))).collect();
        assert_eq!(looks.len(), 64);
    }

    #[test]
    fn names_are_text() {
        assert_eq!(escape("<b a=\"&\">\0"), "&lt;b a=&quot;&amp;&quot;&gt;\u{fffd}");
        assert_eq!(shortened("a-rather-long-name-of-a-model-2026-preview"), "a-rather-long-name-…l-2026-preview");
        assert_eq!(shortened(&"ä".repeat(34)).chars().count(), 34);
    }
}
