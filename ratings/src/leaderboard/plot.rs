//! Scores by modality and difficulty, and against time and cost.

use super::axis::{Axis, cost_tick, decimal, sexagesimal, time_tick};
use super::svg::{At, Svg, shortened, width_of};
use super::{Leaderboard, Row, dollars, duration};
use crate::{ACCEPTED_FROM, Maker, Score, normalised};

const WIDTH: f64 = 960.0;
const LEFT: f64 = 56.0;
const RIGHT: f64 = 20.0;

/// A drawing of the leaderboard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plot {
    /// Its file's name without the ending.
    pub name: &'static str,
    /// What it shows.
    pub title: &'static str,
    /// The drawing.
    pub svg: String,
}

/// All drawings that have something to show.
#[must_use]
pub fn plots(b: &Leaderboard) -> Vec<Plot> {
    let by_modality = |r: &Row| r.modality.map(|m| m.to_string()).unwrap_or_default();
    let by_difficulty = |r: &Row| r.difficulty.map(|d| d.to_string()).unwrap_or_default();
    let seconds = Against {
        what: "median time",
        value: |r| Some((r.seconds?.value, r.seconds?.n)),
        told: duration,
        tick: time_tick,
        rounds: sexagesimal,
    };
    let cost =
        Against { what: "mean cost", value: |r| Some((r.cost_usd?.value, r.cost_usd?.n)), told: dollars, tick: cost_tick, rounds: decimal };
    let all = [
        ("score_by_modality", "Score by modality", grouped(b, &b.by_modality, &by_modality, "Score by modality")),
        ("score_by_difficulty", "Score by difficulty", grouped(b, &b.by_difficulty, &by_difficulty, "Score by difficulty")),
        ("score_against_time", "Score against time", scatter(b, &seconds, "Score against time")),
        ("score_against_cost", "Score against cost", scatter(b, &cost, "Score against cost")),
    ];
    all.into_iter().filter_map(|(name, title, svg)| Some(Plot { name, title, svg: svg? })).collect()
}

fn title_of(s: Score) -> &'static str {
    match s {
        Score::InstructionFollowing => "Instruction following",
        Score::Quality => "Quality",
    }
}

/// The makers, in the tables' order; their place is their mark.
fn makers(b: &Leaderboard) -> Vec<&Maker> {
    b.overall.iter().map(|r| &r.maker).collect()
}

/// The scale of a panel, 0 to 1 upwards.
fn score_axis(s: &mut Svg, (left, right): (f64, f64), y: &dyn Fn(f64) -> f64) {
    for t in [0.0, 0.25, 0.5, 0.75, 1.0] {
        s.line("grid", (left, y(t)), (right, y(t)));
        s.text("soft", At::End, (left - 8.0, y(t) + 4.0), &format!("{t:.2}"));
    }
    let bar = y(normalised(ACCEPTED_FROM));
    s.line("bar", (left, bar), (right, bar));
    s.text("soft", At::End, (right - 4.0, bar - 5.0), "accepted from here");
}

/// Rows of marks and names; gives the height that they take.
fn legend(s: Option<&mut Svg>, makers: &[(usize, &Maker)], top: f64) -> f64 {
    let (mut x, mut y) = (LEFT, top + 12.0);
    let mut places = Vec::new();
    for (i, m) in makers {
        let name = shortened(&m.to_string());
        let wide = 34.0 + width_of(&name);
        if x + wide > WIDTH - RIGHT && x > LEFT {
            (x, y) = (LEFT, y + 22.0);
        }
        places.push((*i, (x, y), name));
        x += wide;
    }
    if let Some(s) = s {
        for (i, (x, y), name) in places {
            s.mark(i, (x + 8.0, y), &name);
            s.text("", At::Start, (x + 21.0, y + 4.5), &name);
        }
    }
    y + 18.0 - top
}

/// Means of each group and maker, one panel a score, with lines from the lowest to the highest edit.
fn grouped(b: &Leaderboard, rows: &[Row], group: &dyn Fn(&Row) -> String, title: &str) -> Option<String> {
    const PANEL: f64 = 210.0;
    const BETWEEN: f64 = 74.0;
    let rated: Vec<&Row> = rows.iter().filter(|r| r.rated > 0).collect();
    let makers: Vec<(usize, &Maker)> = makers(b).into_iter().enumerate().filter(|(_, m)| rated.iter().any(|r| r.maker == **m)).collect();
    let mut groups: Vec<String> = rated.iter().map(|r| group(r)).collect();
    groups.dedup();
    if groups.is_empty() {
        return None;
    }
    let named = legend(None, &makers, 0.0);
    let top = named + 34.0;
    let mut s = Svg::new(WIDTH, top + 2.0 * PANEL + BETWEEN + 52.0);
    legend(Some(&mut s), &makers, 8.0);
    let wide = (WIDTH - LEFT - RIGHT) / groups.len() as f64;
    for (p, score) in Score::ALL.into_iter().enumerate() {
        let top = top + 14.0 + p as f64 * (PANEL + BETWEEN);
        let y = |v: f64| top + PANEL * (1.0 - v);
        s.text("head", At::Start, (LEFT, top - 12.0), title_of(score));
        score_axis(&mut s, (LEFT, WIDTH - RIGHT), &y);
        s.line("axis", (LEFT, y(0.0)), (WIDTH - RIGHT, y(0.0)));
        s.text("soft", At::End, (LEFT - 8.0, top + PANEL + 17.0), "n");
        for (g, name) in groups.iter().enumerate() {
            let left = LEFT + g as f64 * wide;
            if g > 0 {
                s.line("grid", (left, top), (left, top + PANEL + 34.0));
            }
            s.text("", At::Middle, (left + wide / 2.0, top + PANEL + 36.0), name);
            for (place, (i, maker)) in makers.iter().enumerate() {
                let Some(r) = rated.iter().find(|r| group(r) == *name && r.maker == **maker) else { continue };
                let Some(f) = r.score(score) else { continue };
                let x = left + wide * (0.5 + 0.86 * ((place as f64 + 0.5) / makers.len() as f64 - 0.5));
                s.spread(*i, (x, y(f.lowest)), (x, y(f.highest)));
                s.mark(*i, (x, y(f.mean)), &format!("{maker}, {name}: mean {:.2}, n {}", f.mean, f.n));
                s.text("soft", At::Middle, (x, top + PANEL + 17.0), &f.n.to_string());
            }
        }
    }
    Some(s.finish(title))
}

/// What scores are drawn against.
struct Against {
    what: &'static str,
    value: fn(&Row) -> Option<(f64, usize)>,
    told: fn(f64) -> String,
    tick: fn(f64) -> String,
    rounds: fn(f64, f64) -> Vec<f64>,
}

/// A mark a maker, one panel a score; makers without the value are named below.
fn scatter(b: &Leaderboard, x: &Against, title: &str) -> Option<String> {
    const PANEL: f64 = 270.0;
    const BETWEEN: f64 = 84.0;
    const TOP: f64 = 34.0;
    let points: Vec<(usize, &Row, f64, usize)> = b
        .overall
        .iter()
        .enumerate()
        .filter(|(_, r)| r.rated > 0)
        .filter_map(|(i, r)| (x.value)(r).filter(|(v, _)| v.is_finite() && *v >= 0.0).map(|(v, n)| (i, r, v, n)))
        .collect();
    if points.is_empty() {
        return None;
    }
    let without: Vec<String> =
        b.overall.iter().filter(|r| !points.iter().any(|p| p.1.maker == r.maker)).map(|r| shortened(&r.maker.to_string())).collect();
    let axis = Axis::around(&points.iter().map(|p| p.2).collect::<Vec<_>>(), &x.rounds);
    let below = TOP + 2.0 * PANEL + BETWEEN;
    let mut s = Svg::new(WIDTH, below + if without.is_empty() { 56.0 } else { 78.0 });
    let (left, right) = (LEFT, WIDTH - RIGHT);
    for (p, score) in Score::ALL.into_iter().enumerate() {
        let top = TOP + p as f64 * (PANEL + BETWEEN);
        let y = |v: f64| top + PANEL * (1.0 - v);
        let at = |v: f64| left + (right - left) * axis.place(v);
        s.text("head", At::Start, (left, top - 14.0), title_of(score));
        score_axis(&mut s, (left, right), &y);
        for t in &axis.ticks {
            s.line("grid", (at(*t), top), (at(*t), top + PANEL));
            s.text("soft", At::Middle, (at(*t), top + PANEL + 16.0), &(x.tick)(*t));
        }
        s.line("axis", (left, y(0.0)), (right, y(0.0)));
        s.text("soft", At::Middle, ((left + right) / 2.0, top + PANEL + 36.0), &format!("{}{}", x.what, axis.kind()));
        let mut marks: Vec<Mark> = Vec::new();
        for (i, r, v, n) in &points {
            let Some(f) = r.score(score) else { continue };
            let of = format!("{}: {} {} (n {n}), mean score {:.2} (n {})", r.maker, x.what, (x.told)(*v), f.mean, f.n);
            let label = format!("{} · n {}", shortened(&r.maker.to_string()), f.n);
            marks.push(Mark { maker: *i, at: (at(*v), y(f.mean)), label, title: of });
        }
        draw_labelled(&mut s, &marks, &Area { left, right, top, bottom: top + PANEL }, y(normalised(ACCEPTED_FROM)));
    }
    if !without.is_empty() {
        let text = format!("Not drawn, because rating or {} is not known: {}", x.what, without.join(", "));
        let most = ((WIDTH - LEFT - RIGHT) / 6.6) as usize;
        let text = if text.chars().count() > most { text.chars().take(most).chain(['…']).collect() } else { text };
        s.text("soft", At::Start, (LEFT, below + 62.0), &text);
    }
    Some(s.finish(title))
}

struct Mark {
    maker: usize,
    at: (f64, f64),
    label: String,
    title: String,
}

/// A place on the drawing.
#[derive(Clone, Copy)]
struct Area {
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
}

impl Area {
    fn meets(&self, o: &Self) -> bool {
        self.left < o.right && o.left < self.right && self.top < o.bottom && o.top < self.bottom
    }

    fn holds(&self, o: &Self) -> bool {
        self.left <= o.left && o.right <= self.right && self.top <= o.top && o.bottom <= self.bottom
    }

    fn around((x, y): (f64, f64)) -> Self {
        Self { left: x - 8.0, right: x + 8.0, top: y - 8.0, bottom: y + 8.0 }
    }
}

/// Each label stands as near to its mark as it can without touching another label or mark; `bar` is where a line is named.
fn draw_labelled(s: &mut Svg, marks: &[Mark], panel: &Area, bar: f64) {
    const LINE: f64 = 16.0;
    const OFF: f64 = 13.0;
    let mut taken: Vec<Area> = marks.iter().map(|m| Area::around(m.at)).collect();
    taken.push(Area { left: panel.right - 120.0, right: panel.right, top: bar - LINE, bottom: bar });
    let mut order: Vec<&Mark> = marks.iter().collect();
    order.sort_by(|a, b| a.at.1.total_cmp(&b.at.1).then(a.at.0.total_cmp(&b.at.0)));
    for m in order {
        let (x, y) = m.at;
        let wide = width_of(&m.label);
        let place = |on_right: bool, lines: f64| {
            let left = if on_right { x + OFF } else { x - OFF - wide };
            let middle = y + lines * LINE;
            (on_right, Area { left, right: left + wide, top: middle - LINE / 2.0, bottom: middle + LINE / 2.0 })
        };
        let distances = (0..=20).flat_map(|i| [f64::from(i), -f64::from(i)]);
        let mut places = distances.flat_map(|d| [place(true, d), place(false, d)]);
        let free = |(_, b): &(bool, Area)| panel.holds(b) && !taken.iter().any(|t| t.meets(b));
        let (on_right, b) = places.find(free).unwrap_or_else(|| place(x - panel.left < panel.right - x, 0.0));
        let middle = (b.top + b.bottom) / 2.0;
        let (edge, anchor) = if on_right { (b.left, At::Start) } else { (b.right, At::End) };
        if (middle - y).abs() > 1.0 {
            s.line("lead", (x, y), (edge + if on_right { -3.0 } else { 3.0 }, middle));
        }
        s.text("name", anchor, (edge, middle + 4.5), &m.label);
        taken.push(b);
    }
    for m in marks {
        s.mark(m.maker, m.at, &m.title);
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{program, sample};
    use super::*;

    #[test]
    fn every_figure_is_drawn_with_its_n() {
        let b = Leaderboard::of_edits("c".into(), &sample());
        let all = plots(&b);
        let names: Vec<_> = all.iter().map(|p| p.name).collect();
        assert_eq!(names, ["score_by_modality", "score_by_difficulty", "score_against_time", "score_against_cost"]);
        // Requestor, others, better and worse at text; others and better drawn; two panels; and the legend's four.
        assert_eq!(all[0].svg.matches("<path").count(), 6 * 2 + 4, "{}", all[0].svg);
        assert!(all[0].svg.contains("better, text: mean 0.75, n 1"));
        assert!(all[2].svg.contains("better: median time 20 s (n 3), mean score 0.54 (n 2)"), "{}", all[2].svg);
        assert!(all[2].svg.contains("better · n 2") && all[2].svg.contains("not known: silent"));
        assert!(all[3].svg.contains("mean cost is not known: requestor, other people, silent"));
        assert_eq!(all[3].svg.matches("<path").count(), 2 * 2);
        assert!(plots(&Leaderboard::of_edits("c".into(), &sample()[7..])).is_empty(), "nothing is rated");
    }

    #[test]
    fn drawings_are_whole_whatever_a_model_is_called() {
        let mut edits = sample();
        edits[4].maker = program("</text><script>alert(1)</script>");
        for p in plots(&Leaderboard::of_edits("c".into(), &edits)) {
            assert!(!p.svg.contains("<script") && p.svg.contains("&lt;/text&gt;&lt;script"), "{}", p.name);
        }
    }

    #[test]
    fn labels_stay_apart_and_inside() {
        let mut s = Svg::new(200.0, 100.0);
        let mark = |x: f64, y: f64| Mark { maker: 0, at: (x, y), label: "label".into(), title: String::new() };
        let panel = Area { left: 0.0, right: 200.0, top: 0.0, bottom: 100.0 };
        draw_labelled(&mut s, &[mark(190.0, 90.0), mark(188.0, 91.0), mark(20.0, 10.0), mark(22.0, 12.0)], &panel, -50.0);
        let svg = s.finish("t");
        let number = |t: &str, key: &str| -> f64 { t.split(key).nth(1).unwrap().split('"').next().unwrap().parse().unwrap() };
        let boxes: Vec<Area> = svg
            .split("<text ")
            .skip(1)
            .map(|t| {
                let (x, y) = (number(t, " x=\""), number(t, " y=\"") - 4.5);
                let left = if t.contains("\"end\"") { x - width_of("label") } else { x };
                Area { left, right: left + width_of("label"), top: y - 8.0, bottom: y + 8.0 }
            })
            .collect();
        assert_eq!(boxes.len(), 4, "{svg}");
        for (i, b) in boxes.iter().enumerate() {
            assert!(b.left >= 0.0 && b.right <= 200.0 && b.top >= 0.0 && b.bottom <= 100.0, "{svg}");
            assert!(!boxes[..i].iter().any(|o| o.meets(b)), "{svg}");
        }
    }
}
