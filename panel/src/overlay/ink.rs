//! What is drawn: strokes, their colours and their lives. No window and no clock of its own, so that it can be tested.

use redline_recorder::control::{PALETTE, Pen, Tool, WIDTHS};

/// The part of a temporary stroke's life in which it fades, at most, nanoseconds.
pub const FADE_NS: i64 = 1_000_000_000;

/// How long strokes stay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lasting {
    /// Until they are taken away.
    Static,
    /// So many nanoseconds after they are finished, fading at the end.
    Temporary(i64),
}

/// One stroke on the screen.
#[derive(Debug, Clone, PartialEq)]
pub struct Stroke {
    /// Its number in the session, from 1.
    pub id: u32,
    /// Pen or arrow.
    pub tool: Tool,
    /// Its colour.
    pub rgb: [u8; 3],
    /// Its width, pixels.
    pub width: f32,
    /// Where it runs, screen pixels.
    pub points: Vec<(f32, f32)>,
    /// When it was begun, monotonic.
    pub begun_ns: i64,
    /// When it was finished.
    pub ended_ns: Option<i64>,
}

/// What happened to a stroke, for `strokes.jsonl`: its number, screen pixels, and how it is drawn.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)] // The fields are named by what the enum says.
pub enum Note {
    /// The pen went down.
    Begin { id: u32, x: f32, y: f32, tool: Tool, rgb: [u8; 3], width: f32 },
    /// It moved.
    Point { id: u32, x: f32, y: f32 },
    /// It went up.
    End { id: u32, x: f32, y: f32 },
    /// The stroke left the screen.
    Vanish { id: u32, reason: &'static str },
}

/// A place on the screen that must be drawn anew, pixels: left, top, right, bottom (exclusive).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dirty {
    /// Left edge.
    pub x0: i32,
    /// Top edge.
    pub y0: i32,
    /// Right edge.
    pub x1: i32,
    /// Bottom edge.
    pub y1: i32,
}

impl Dirty {
    /// The smallest one that holds both.
    #[must_use]
    pub fn join(self, o: Self) -> Self {
        Self { x0: self.x0.min(o.x0), y0: self.y0.min(o.y0), x1: self.x1.max(o.x1), y1: self.y1.max(o.y1) }
    }

    /// The part inside a screen of this size; `None` when there is none.
    #[must_use]
    pub fn clip(self, width: i32, height: i32) -> Option<Self> {
        let c = Self { x0: self.x0.max(0), y0: self.y0.max(0), x1: self.x1.min(width), y1: self.y1.min(height) };
        (c.x0 < c.x1 && c.y0 < c.y1).then_some(c)
    }
}

/// The drawing.
#[derive(Debug, Clone)]
pub struct Ink {
    lasting: Lasting,
    /// What the pen does.
    pub tool: Tool,
    /// Its colour.
    pub rgb: [u8; 3],
    /// Its width.
    pub width: f32,
    /// Whether each new stroke takes the next colour.
    pub cycle: bool,
    /// Whether a stroke was drawn since the colour was chosen.
    used: bool,
    strokes: Vec<Stroke>,
    /// Whether the last stroke is still being drawn, or the eraser is down.
    down: bool,
    next_id: u32,
    notes: Vec<Note>,
    dirty: Option<Dirty>,
}

/// Room for the head of an arrow around its end, in widths of its line and at least in pixels.
pub const HEAD: (f32, f32) = (4.0, 14.0);

impl Ink {
    /// An empty drawing with a red pen.
    #[must_use]
    pub fn new(lasting: Lasting) -> Self {
        Self {
            lasting,
            tool: Tool::Pen,
            rgb: PALETTE[0].1,
            width: 4.0,
            cycle: false,
            used: false,
            strokes: Vec::new(),
            down: false,
            next_id: 1,
            notes: Vec::new(),
            dirty: None,
        }
    }

    /// Strokes on the screen, oldest first.
    #[must_use]
    pub fn strokes(&self) -> &[Stroke] {
        &self.strokes
    }

    /// What happened since the last call.
    pub fn take_notes(&mut self) -> Vec<Note> {
        std::mem::take(&mut self.notes)
    }

    /// What must be drawn anew since the last call.
    pub fn take_dirty(&mut self) -> Option<Dirty> {
        self.dirty.take()
    }

    /// Changes the pen.
    pub fn set(&mut self, p: &Pen) {
        match p {
            Pen::Colour(c) => (self.rgb, self.used) = (*c, false),
            Pen::NextColour => self.next_colour(),
            Pen::Cycle(b) => self.cycle = *b,
            Pen::Width(w) => self.width = w.clamp(*WIDTHS.start(), *WIDTHS.end()),
            Pen::Tool(t) => self.tool = *t,
        }
    }

    fn next_colour(&mut self) {
        let at = PALETTE.iter().position(|p| p.1 == self.rgb).map_or(0, |i| (i + 1) % PALETTE.len());
        (self.rgb, self.used) = (PALETTE[at].1, false);
    }

    /// The pen goes down.
    pub fn press(&mut self, t_ns: i64, x: f32, y: f32) {
        self.release(t_ns, x, y);
        self.down = true;
        if self.tool == Tool::Eraser {
            self.erase(x, y);
            return;
        }
        if self.cycle && self.used {
            self.next_colour();
        }
        self.used = true;
        let (id, tool, rgb, width) = (self.next_id, self.tool, self.rgb, self.width);
        self.next_id += 1;
        self.strokes.push(Stroke { id, tool, rgb, width, points: vec![(x, y)], begun_ns: t_ns, ended_ns: None });
        self.notes.push(Note::Begin { id, x, y, tool, rgb, width });
        self.soil(around(&[(x, y)], width));
    }

    /// The pen moves while it is down.
    pub fn drag(&mut self, x: f32, y: f32) {
        if !self.down {
            return;
        }
        if self.tool == Tool::Eraser {
            self.erase(x, y);
            return;
        }
        let Some(s) = self.strokes.last_mut().filter(|s| s.ended_ns.is_none()) else { return };
        let id = s.id;
        let touched = if s.tool == Tool::Arrow {
            let before = s.points.clone();
            s.points.truncate(1);
            s.points.push((x, y));
            around(&before, s.width).join(around(&s.points, s.width))
        } else {
            let Some(&(lx, ly)) = s.points.last() else { return };
            if (lx, ly) == (x, y) {
                return;
            }
            s.points.push((x, y));
            // Curves run through the middles between points, so the last three move.
            let tail = s.points.len().saturating_sub(4);
            self.notes.push(Note::Point { id, x, y });
            around(&s.points[tail..], s.width)
        };
        self.soil(touched);
    }

    /// The pen goes up.
    pub fn release(&mut self, t_ns: i64, x: f32, y: f32) {
        if !self.down {
            return;
        }
        self.down = false;
        if let Some(s) = self.strokes.last_mut().filter(|s| s.ended_ns.is_none()) {
            s.ended_ns = Some(t_ns);
            let note = Note::End { id: s.id, x, y };
            self.notes.push(note);
        }
    }

    /// Takes away what the eraser touches at a place.
    pub fn erase(&mut self, x: f32, y: f32) {
        let reach = self.width.max(6.0);
        self.remove("erased", |s| s.touches(x, y, reach));
    }

    /// Takes the last stroke away.
    pub fn undo(&mut self) {
        let Some(id) = self.strokes.last().map(|s| s.id) else { return };
        self.remove("undone", |s| s.id == id);
    }

    /// Takes all away.
    pub fn clear(&mut self) {
        self.remove("cleared", |_| true);
    }

    /// Takes away what was begun at or after `t_ns`.
    pub fn clear_since(&mut self, t_ns: i64) {
        self.remove("cleared", |s| s.begun_ns >= t_ns);
    }

    fn remove(&mut self, reason: &'static str, which: impl Fn(&Stroke) -> bool) {
        let mut gone = Vec::new();
        self.strokes.retain(|s| {
            let goes = which(s);
            if goes {
                gone.push((s.id, s.bounds(), s.ended_ns.is_none()));
            }
            !goes
        });
        for (id, bounds, open) in gone {
            self.notes.push(Note::Vanish { id, reason });
            self.soil(bounds);
            // What was being drawn is over.
            self.down &= !open;
        }
    }

    /// How much of a stroke is to be seen at `t_ns`, 0 to 1.
    #[must_use]
    pub fn strength(&self, s: &Stroke, t_ns: i64) -> f32 {
        let (Lasting::Temporary(life), Some(ended)) = (self.lasting, s.ended_ns) else { return 1.0 };
        let left = life - (t_ns - ended);
        let fade = FADE_NS.min(life).max(1);
        (left as f32 / fade as f32).clamp(0.0, 1.0)
    }

    /// Lets time pass: strokes whose time is over vanish, fading ones are drawn anew. When it must be called again at the
    /// latest, nanoseconds from now; `None`: not before something else happens.
    pub fn tick(&mut self, t_ns: i64) -> Option<i64> {
        let Lasting::Temporary(life) = self.lasting else { return None };
        let over = |s: &Stroke| s.ended_ns.is_some_and(|e| t_ns - e >= life);
        if self.strokes.iter().any(over) {
            self.remove("faded", over);
        }
        let fade = FADE_NS.min(life);
        let mut wait: Option<i64> = None;
        let mut fading = Vec::new();
        for s in &self.strokes {
            let Some(ended) = s.ended_ns else { continue };
            let to_fade = ended + life - fade - t_ns;
            let due = if to_fade > 0 {
                to_fade
            } else {
                fading.push(s.bounds());
                // A step a frame is as fine as the video shows.
                33_000_000.min(ended + life - t_ns)
            };
            wait = Some(wait.map_or(due, |w| w.min(due)));
        }
        for b in fading {
            self.soil(b);
        }
        wait
    }

    fn soil(&mut self, d: Dirty) {
        self.dirty = Some(self.dirty.map_or(d, |o| o.join(d)));
    }
}

impl Stroke {
    /// What it covers, with room for its width and an arrow's head.
    #[must_use]
    pub fn bounds(&self) -> Dirty {
        around(&self.points, self.width)
    }

    fn touches(&self, x: f32, y: f32, reach: f32) -> bool {
        let reach = reach + self.width / 2.0;
        match &self.points[..] {
            [(px, py)] => (px - x).hypot(py - y) <= reach,
            points => points.windows(2).any(|w| distance(w[0], w[1], (x, y)) <= reach),
        }
    }
}

/// Distance of a point from a line's stretch.
fn distance(a: (f32, f32), b: (f32, f32), p: (f32, f32)) -> f32 {
    let (dx, dy) = (b.0 - a.0, b.1 - a.1);
    let long = dx * dx + dy * dy;
    let t = if long > 0.0 { (((p.0 - a.0) * dx + (p.1 - a.1) * dy) / long).clamp(0.0, 1.0) } else { 0.0 };
    (a.0 + t * dx - p.0).hypot(a.1 + t * dy - p.1)
}

fn around(points: &[(f32, f32)], width: f32) -> Dirty {
    let room = (width * HEAD.0).max(HEAD.1) + width + 2.0;
    let mut d = Dirty { x0: i32::MAX, y0: i32::MAX, x1: i32::MIN, y1: i32::MIN };
    for (x, y) in points {
        let p = Dirty {
            x0: (x - room).floor() as i32,
            y0: (y - room).floor() as i32,
            x1: (x + room).ceil() as i32,
            y1: (y + room).ceil() as i32,
        };
        d = d.join(p);
    }
    d
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: i64 = 1_000_000_000;

    fn line(ink: &mut Ink, t: i64, from: (f32, f32), to: (f32, f32)) {
        ink.press(t, from.0, from.1);
        ink.drag(to.0, to.1);
        ink.release(t, to.0, to.1);
    }

    fn vanished(ink: &mut Ink) -> Vec<(u32, &'static str)> {
        ink.take_notes()
            .into_iter()
            .filter_map(|n| match n {
                Note::Vanish { id, reason } => Some((id, reason)),
                _ => None,
            })
            .collect()
    }

    #[test]
    fn a_temporary_stroke_fades_and_goes_and_a_static_one_stays() {
        let mut ink = Ink::new(Lasting::Temporary(3 * S));
        line(&mut ink, 0, (10.0, 10.0), (50.0, 10.0));
        ink.take_dirty();
        assert_eq!(ink.tick(S), Some(S), "it fades from two seconds on");
        assert_eq!(ink.take_dirty(), None);
        let s = ink.strokes()[0].clone();
        assert_eq!((ink.strength(&s, 2 * S), ink.strength(&s, 5 * S / 2), ink.strength(&s, 3 * S)), (1.0, 0.5, 0.0));
        assert_eq!(ink.tick(5 * S / 2), Some(33_000_000));
        assert!(ink.take_dirty().is_some());
        assert_eq!(ink.tick(3 * S), None);
        assert_eq!((vanished(&mut ink), ink.strokes().len()), (vec![(1, "faded")], 0));

        let mut ink = Ink::new(Lasting::Static);
        line(&mut ink, 0, (10.0, 10.0), (50.0, 10.0));
        assert_eq!(ink.tick(3600 * S), None);
        let s = ink.strokes()[0].clone();
        assert_eq!(ink.strength(&s, 3600 * S), 1.0);
    }

    #[test]
    fn a_stroke_that_is_still_drawn_does_not_fade() {
        let mut ink = Ink::new(Lasting::Temporary(S));
        ink.press(0, 1.0, 1.0);
        assert_eq!(ink.tick(100 * S), None);
        assert_eq!(ink.strokes().len(), 1);
        ink.release(100 * S, 1.0, 1.0);
        ink.tick(101 * S);
        assert!(ink.strokes().is_empty());
    }

    #[test]
    fn colours_take_turns() {
        let mut ink = Ink::new(Lasting::Static);
        ink.set(&Pen::Cycle(true));
        let mut seen = Vec::new();
        for i in 0..PALETTE.len() {
            line(&mut ink, i as i64, (0.0, 0.0), (9.0, 9.0));
            seen.push(ink.strokes()[i].rgb);
        }
        assert!(seen.len() >= 6);
        assert_eq!(seen, PALETTE.map(|p| p.1));
        line(&mut ink, 99, (0.0, 0.0), (9.0, 9.0));
        assert_eq!(ink.rgb, PALETTE[0].1);
        ink.set(&Pen::Colour(PALETTE[4].1));
        line(&mut ink, 99, (0.0, 0.0), (9.0, 9.0));
        assert_eq!(ink.rgb, PALETTE[4].1, "a chosen colour is used first");
    }

    #[test]
    fn eraser_undo_and_clear_say_why() {
        let mut ink = Ink::new(Lasting::Static);
        for y in [10.0, 100.0, 200.0, 300.0] {
            line(&mut ink, 0, (10.0, y), (90.0, y));
        }
        ink.take_notes();
        ink.set(&Pen::Tool(Tool::Eraser));
        line(&mut ink, 1, (50.0, 50.0), (50.0, 104.0));
        assert_eq!(vanished(&mut ink), [(2, "erased")]);
        ink.undo();
        assert_eq!(vanished(&mut ink), [(4, "undone")]);
        ink.clear();
        assert_eq!(vanished(&mut ink), [(1, "cleared"), (3, "cleared")]);
        ink.undo();
        assert!(ink.take_notes().is_empty());
    }

    #[test]
    fn an_arrow_has_two_points_and_events_are_whole() {
        let mut ink = Ink::new(Lasting::Static);
        ink.set(&Pen::Tool(Tool::Arrow));
        ink.press(0, 10.0, 10.0);
        for i in 0..20 {
            ink.drag(10.0 + i as f32, 10.0);
        }
        ink.release(1, 30.0, 10.0);
        assert_eq!(ink.strokes()[0].points.len(), 2);
        let notes = ink.take_notes();
        assert!(matches!(notes[..], [Note::Begin { id: 1, .. }, Note::End { id: 1, .. }]), "{notes:?}");
        ink.press(5, 0.0, 0.0);
        ink.clear_since(5);
        ink.drag(9.0, 9.0);
        assert_eq!(ink.strokes().len(), 1, "what was being drawn is over");
    }

    #[test]
    fn only_what_changed_is_drawn_anew() {
        let mut ink = Ink::new(Lasting::Static);
        ink.press(0, 100.0, 100.0);
        for i in 0..200 {
            ink.drag(100.0 + i as f32, 100.0);
        }
        ink.take_dirty();
        ink.drag(301.0, 100.0);
        let d = ink.take_dirty().unwrap();
        assert!(d.x0 > 250 && d.x1 < 350 && d.y1 - d.y0 < 60, "{d:?}");
        assert_eq!(Dirty { x0: -5, y0: -5, x1: 10, y1: 0 }.clip(100, 100), None);
    }
}
