//! Streams: every line is read once, none is kept.

use super::Options;
use super::files;
use super::finding::Findings;
use super::manifests::without_path;
use super::rule::{BOUNDS, COUNT, LINE, LOST, ORDER, SEQUENCE, SPAN, STROKE, TORN, TYPED, UNLISTED};
use redline_schemas::{
    AudioTime, CommandEvent, EventStream, InputEvent, MarkEvent, RenderEvent, SelectionEvent, Session, SessionDir, StrokeEvent, StrokeKind,
    TextEvent, TextKind, Timed, VideoTime, fsio, jsonl,
};
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::path::Path;

/// Events may lie this far outside the session: its end is stamped after the last of them was on its way.
const BOUND_SLACK_NS: i64 = 50_000_000;

/// The longest typed text that is replayed, characters.
const MAX_TEXT_CHARS: usize = 1 << 20;

/// Bad lines of a stream after which the rest is not read: it is another kind of file.
const MAX_BAD_LINES: u64 = 1000;

/// What the rules ask of a line.
trait Line: Timed + DeserializeOwned {
    /// How far before the line above it may lie: the bound on its clock's error.
    fn slack_ns(&self) -> i64 {
        0
    }
    /// The CAD program's running number.
    fn seq(&self) -> Option<u64> {
        None
    }
}

macro_rules! plain { ($($t:ty),*) => { $(impl Line for $t {})* } }
macro_rules! from_cad {
    ($($t:ty),*) => { $(impl Line for $t {
        fn slack_ns(&self) -> i64 { self.error_ns.max(0) }
        fn seq(&self) -> Option<u64> { Some(self.seq) }
    })* };
}
plain!(InputEvent, StrokeEvent, TextEvent, MarkEvent, VideoTime, AudioTime);
from_cad!(SelectionEvent, CommandEvent, RenderEvent);

/// One session's streams.
pub(super) struct Check<'a> {
    pub f: &'a mut Findings,
    pub dir: &'a SessionDir,
    pub manifest: &'a Path,
    pub session: &'a Session,
    pub options: &'a Options,
}

impl Check<'_> {
    /// All streams, and the files that follow from them.
    pub(super) fn run(mut self) {
        let s = &self.session.streams;
        let dir = self.dir;
        self.stream::<InputEvent>(&dir.input(), s.input.as_ref(), |_, _, _, _| {});
        self.stream::<SelectionEvent>(&dir.selections(), s.selections.as_ref(), |_, _, _, _| {});
        self.stream::<CommandEvent>(&dir.commands(), s.commands.as_ref(), |_, _, _, _| {});
        self.stream::<MarkEvent>(&dir.marks(), s.marks.as_ref(), |f, path, line, e| {
            if e.until_ns.is_some_and(|u| u < e.t_ns) {
                f.at(ORDER, path, line, "the span ends before it starts");
            }
        });
        let mut strokes = Strokes::default();
        self.stream::<StrokeEvent>(&dir.strokes(), s.strokes.as_ref(), |f, path, line, e| strokes.see(f, path, line, e));
        let mut typed = Typed::default();
        if self.stream::<TextEvent>(&dir.text_events(), s.text.as_ref(), |_, _, _, e| typed.see(e)) {
            typed.compare(self.f, dir);
        }
        let (manifest, options) = (self.manifest, self.options);
        self.stream::<RenderEvent>(&dir.renders(), s.renders.as_ref(), |f, _, _, e| {
            if let Some((path, _)) = files::resolve(f, manifest, dir.path(), &e.path).filter(|_| options.hashes) {
                files::sha256(f, &path, &e.sha256);
            }
        });
        // Raw clock readings have no entry of their own in the manifest. The microphone's own
        // time stamps jitter, so their order says nothing.
        self.raw::<VideoTime>(&dir.video_times());
        self.raw::<AudioTime>(&dir.audio_clock());
    }

    /// Checks one stream; false when there is none to read.
    fn stream<T: Line>(&mut self, usual: &Path, entry: Option<&EventStream>, mut each: impl FnMut(&mut Findings, &Path, u64, &T)) -> bool {
        let Some(entry) = entry else {
            if usual.symlink_metadata().is_ok_and(|m| m.len() > 0) {
                self.f.add(UNLISTED, usual, "not in the manifest");
            }
            return false;
        };
        let Some(path) = files::file_ref(self.f, self.manifest, self.dir.path(), &entry.file, self.options.hashes) else {
            return false;
        };
        if entry.lost > 0 {
            self.f.add(LOST, &path, format!("{} events could not be kept", entry.lost));
        }
        let end = self.session.duration_ns.saturating_add(BOUND_SLACK_NS);
        let (mut first, mut last, mut count, mut seq) = (None, None::<i64>, 0_u64, None);
        let complete = self.lines::<T>(&path, |f, line, e| {
            let t = e.t_ns();
            count += 1;
            first.get_or_insert(t);
            if let Some(before) = last.filter(|l| t < l.saturating_sub(e.slack_ns())) {
                f.at(ORDER, &path, line, format!("at {t} ns, after {before} ns in the line above"));
            }
            if t < -BOUND_SLACK_NS || t > end {
                f.at(BOUNDS, &path, line, format!("at {t} ns, outside the session’s 0 to {} ns", self.session.duration_ns));
            }
            if e.seq().is_some() && e.seq() == seq {
                f.at(SEQUENCE, &path, line, format!("number {} stands in the line above already", e.seq().unwrap_or_default()));
            }
            seq = e.seq();
            last = Some(t);
            each(f, &path, line, &e);
        });
        if complete && count != entry.count {
            self.f.add(COUNT, &path, format!("{count} lines, but {} recorded", entry.count));
        } else if complete && (first, last) != (entry.first_t_ns, entry.last_t_ns) {
            let show = |a: Option<i64>, b: Option<i64>| match (a, b) {
                (Some(a), Some(b)) => format!("{a} to {b} ns"),
                _ => "nothing".to_owned(),
            };
            let (is, recorded) = (show(first, last), show(entry.first_t_ns, entry.last_t_ns));
            self.f.add(SPAN, &path, format!("{is}, but {recorded} recorded"));
        }
        complete
    }

    /// Raw clock readings: whole and readable.
    fn raw<T: Line>(&mut self, path: &Path) {
        if path.symlink_metadata().is_ok_and(|m| m.is_file()) {
            self.lines::<T>(path, |_, _, _| {});
        }
    }

    /// Reads the lines; false when some could not be read.
    fn lines<T: Line>(&mut self, path: &Path, mut each: impl FnMut(&mut Findings, u64, T)) -> bool {
        let mut reader = match jsonl::Reader::<T>::open(path) {
            Ok(r) => r,
            Err(e) => {
                self.f.add(LINE, path, without_path(&e.to_string(), path));
                return false;
            }
        };
        let mut bad = 0;
        while let Some(item) = reader.next() {
            match item {
                Ok(e) => each(self.f, reader.line(), e),
                Err(e) => {
                    bad += 1;
                    self.f.at(
                        LINE,
                        path,
                        reader.line(),
                        without_path(&e.to_string(), path).trim_start_matches(|c: char| c.is_ascii_digit() || c == ':' || c == ' '),
                    );
                    if bad >= MAX_BAD_LINES {
                        self.f.at(LINE, path, reader.line(), "too many bad lines; the rest was not read");
                        break;
                    }
                }
            }
        }
        if let Some(bytes) = reader.torn() {
            self.f.add(TORN, path, format!("the last {bytes} bytes are half a line"));
        }
        bad == 0
    }
}

/// Strokes begin once and end once.
#[derive(Default)]
struct Strokes(BTreeMap<u32, StrokeKind>);

impl Strokes {
    fn see(&mut self, f: &mut Findings, path: &Path, line: u64, e: &StrokeEvent) {
        use StrokeKind::{Begin, End, Point, Vanish};
        let before = self.0.insert(e.stroke, e.kind);
        let fits = match e.kind {
            Begin => before.is_none(),
            Point | End => matches!(before, Some(Begin | Point)),
            Vanish => matches!(before, Some(Begin | Point | End)),
        };
        if !fits {
            let what = match e.kind {
                Begin => "begins a second time",
                Point => "goes on without being drawn",
                End => "ends without being drawn",
                Vanish => "vanishes without being there",
            };
            f.at(STROKE, path, line, format!("stroke {} {what}", e.stroke));
        }
    }
}

/// Typed text, replayed.
#[derive(Default)]
struct Typed {
    text: Vec<char>,
    broken: bool,
}

impl Typed {
    fn see(&mut self, e: &TextEvent) {
        let at = usize::try_from(e.pos).unwrap_or(usize::MAX);
        match (e.kind, &e.text, e.len) {
            (TextKind::Insert, Some(t), _) if at <= self.text.len() && self.text.len() + t.len() <= MAX_TEXT_CHARS => {
                self.text.splice(at..at, t.chars());
            }
            (TextKind::Delete, _, Some(n)) if at.saturating_add(usize::try_from(n).unwrap_or(usize::MAX)) <= self.text.len() => {
                self.text.drain(at..at + n as usize);
            }
            _ => self.broken = true,
        }
    }

    fn compare(&self, f: &mut Findings, dir: &SessionDir) {
        let path = dir.text();
        if self.broken {
            f.add(TYPED, &dir.text_events(), "an event changes text that is not there");
            return;
        }
        let plain = path.symlink_metadata().is_ok_and(|m| m.is_file());
        let have = if plain { fsio::read_limited(&path, 4 * MAX_TEXT_CHARS as u64).ok() } else { None };
        let Some(have) = have.and_then(|b| String::from_utf8(b).ok()) else {
            f.add(TYPED, &path, "no readable text beside its key events");
            return;
        };
        let typed: String = self.text.iter().collect();
        if have.trim_end() != typed.trim_end() {
            f.add(TYPED, &path, format!("{} characters, but typing them gives {} others", have.chars().count(), self.text.len()));
        }
    }
}
