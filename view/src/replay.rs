//! A session as the page shows it: seconds on the session's clock.

use crate::Result;
use redline_schemas::time::seconds;
use redline_schemas::{
    CommandEvent, CommandKind, Corpus, EditId, EventStream, InputEvent, InputKind, MarkEvent, RenderEvent, RequestId, RunId,
    SelectionEvent, SelectionKind, Session, SessionDir, StepEvent, StrokeEvent, StrokeKind, TextEvent, TextKind, Transcript,
    TranscriptKind, jsonl,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::path::PathBuf;

/// Which session.
#[derive(Debug, Clone)]
pub enum What {
    /// A request.
    Request(RequestId),
    /// An edit.
    Edit(EditId),
    /// An agent's run.
    Run(RunId),
}

/// What the page shows.
#[derive(Debug, Serialize)]
pub struct Replay {
    /// What it is, for the page's head.
    pub title: String,
    /// Length, seconds.
    pub duration: f64,
    /// The video.
    pub video: Option<ReplayVideo>,
    /// All words, in order.
    pub words: Vec<ReplayWord>,
    /// Where the words come from, e.g. `automatic transcript`.
    pub words_from: Option<String>,
    /// The pointer's way: time, x, y in video pixels.
    pub pointer: Vec<(f64, f64, f64)>,
    /// Events, a track for each kind; empty ones are left out.
    pub tracks: Vec<Track>,
    /// Files that the page may ask for, by number.
    #[serde(skip)]
    pub files: Vec<PathBuf>,
}

/// The video and its place on the clock.
#[derive(Debug, Serialize)]
pub struct ReplayVideo {
    /// Session time of the first frame, seconds.
    pub first: f64,
    /// Width, pixels.
    pub width: u32,
    /// Height, pixels.
    pub height: u32,
    /// Frames per second.
    pub fps: f64,
    /// Its number among the files.
    pub file: usize,
}

/// A word.
#[derive(Debug, Serialize)]
pub struct ReplayWord {
    /// As written.
    pub text: String,
    /// From.
    pub start: f64,
    /// To.
    pub end: f64,
    /// Whether a new segment begins with it.
    pub first: bool,
    /// How it got its times.
    pub timing: &'static str,
}

/// Events of a kind.
#[derive(Debug, Serialize)]
pub struct Track {
    /// `clicks`, `strokes`, …
    pub name: &'static str,
    /// In order of time.
    pub items: Vec<Item>,
}

/// An event or a span.
#[derive(Debug, Serialize)]
pub struct Item {
    /// When.
    pub t: f64,
    /// Until when; absent for a moment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<f64>,
    /// What, for people.
    pub label: String,
    /// The number of a picture among the files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub picture: Option<usize>,
}

fn item(t_ns: i64, label: String) -> Item {
    Item { t: seconds(t_ns), until: None, label, picture: None }
}

impl Replay {
    /// Reads a session.
    pub fn load(corpus: &Corpus, what: &What) -> Result<Self> {
        match what {
            What::Request(id) => {
                let m = corpus.request(id)?;
                let title = format!("Request {id} · {} · {} · by {}", m.modality, m.difficulty, m.participant);
                Self::read(title, &corpus.request_dir(id), &m.session)
            }
            What::Edit(id) => {
                let m = corpus.edit(id)?;
                let title = format!("Edit {id} of request {} · by {}", m.request, m.participant);
                Self::read(title, &corpus.edit_dir(id), &m.session)
            }
            What::Run(id) => {
                let m = corpus.run(id)?;
                let dir = corpus.run_dir(id);
                let outcome = dir.verification()?.map_or("nobody verified it", |v| if v.passed() { "passed" } else { "failed" });
                let title = format!("Run {id} of task {} · {} {} · {outcome}", m.task, m.agent.name, m.agent.version);
                Self::read(title, &dir, &m.session)
            }
        }
    }

    fn read(title: String, dir: &SessionDir, session: &Session) -> Result<Self> {
        let mut files = Vec::new();
        let mut file = |path: PathBuf| {
            files.push(path);
            files.len() - 1
        };
        let s = &session.streams;
        let video = s.video.as_ref().map(|v| ReplayVideo {
            first: seconds(v.grid.first_t_ns),
            width: v.width,
            height: v.height,
            fps: f64::from(v.grid.fps_num) / f64::from(v.grid.fps_den.max(1)),
            file: file(dir.path().join(&v.file.path)),
        });
        let transcript = match dir.transcript(TranscriptKind::Oracle)? {
            Some(t) => Some(t),
            None => dir.transcript(TranscriptKind::Automatic)?,
        };
        let input: Vec<InputEvent> = events(dir, s.input.as_ref())?;
        let renders: Vec<RenderEvent> = events(dir, s.renders.as_ref())?;
        let mut picture = |path: &str| {
            let inside = std::path::Path::new(path).components().all(|c| matches!(c, std::path::Component::Normal(_)));
            (inside && [".png", ".jpg"].iter().any(|e| path.ends_with(e))).then(|| file(dir.path().join(path)))
        };
        let render =
            |r: RenderEvent| Item { picture: picture(&r.path), ..item(r.t_ns, format!("{:?}: {}", r.kind, r.path).to_lowercase()) };
        let renders = renders.into_iter().map(render).collect();
        let steps: Vec<StepEvent> = if dir.steps().exists() { jsonl::read_all(&dir.steps())?.0 } else { Vec::new() };
        // A step lasts until the next one.
        let ends = steps.iter().skip(1).map(|s| s.t_ns).chain([session.duration_ns]);
        let step = |(s, end): (&StepEvent, i64)| Item {
            until: Some(seconds(end)),
            picture: picture(&s.screenshot),
            ..item(s.t_ns, step_label(s))
        };
        let steps = steps.iter().zip(ends).map(step).collect();
        let mut tracks = vec![
            Track { name: "clicks", items: clicks(&input) },
            Track { name: "keys", items: keys(&input) },
            Track { name: "strokes", items: strokes(&events(dir, s.strokes.as_ref())?) },
            Track { name: "text", items: events(dir, s.text.as_ref())?.iter().map(typing).collect() },
            Track { name: "selections", items: events(dir, s.selections.as_ref())?.iter().filter_map(selection).collect() },
            Track { name: "commands", items: commands(&events(dir, s.commands.as_ref())?) },
            Track { name: "renders", items: renders },
            Track { name: "steps", items: steps },
            Track { name: "marks", items: events(dir, s.marks.as_ref())?.iter().map(mark).collect() },
        ];
        tracks.retain(|t| !t.items.is_empty());
        let pointer = input.iter().filter_map(|e| Some((seconds(e.t_ns), e.vx?, e.vy?))).collect();
        let words = transcript.iter().flat_map(words).collect();
        let words_from = transcript.as_ref().map(|t| format!("{} transcript", t.kind));
        Ok(Self { title, duration: seconds(session.duration_ns), video, words, words_from, pointer, tracks, files })
    }
}

fn events<T: DeserializeOwned>(dir: &SessionDir, stream: Option<&EventStream>) -> Result<Vec<T>> {
    match stream {
        Some(s) => Ok(jsonl::read_all(&dir.path().join(&s.file.path))?.0),
        None => Ok(Vec::new()),
    }
}

fn words(t: &Transcript) -> Vec<ReplayWord> {
    let of = |s: &redline_schemas::Segment| {
        let word = |(i, w): (usize, &redline_schemas::Word)| ReplayWord {
            text: w.text.clone(),
            start: seconds(w.start_ns),
            end: seconds(w.end_ns),
            first: i == 0,
            timing: w.timing.as_str(),
        };
        s.words.iter().enumerate().map(word).collect::<Vec<_>>()
    };
    t.segments.iter().flat_map(of).collect()
}

/// A press up to its release.
fn clicks(input: &[InputEvent]) -> Vec<Item> {
    let press = |(i, e): (usize, &InputEvent)| {
        let up = input[i..].iter().find(|r| r.kind == InputKind::Release && r.button == e.button);
        let at = e.vx.zip(e.vy).map(|(x, y)| format!(" at {x:.0}, {y:.0}")).unwrap_or_default();
        let label = format!("{} button{at}", e.button.as_deref().unwrap_or("some"));
        Item { until: up.map(|r| seconds(r.t_ns)), ..item(e.t_ns, label) }
    };
    input.iter().enumerate().filter(|(_, e)| e.kind == InputKind::Press).map(press).collect()
}

fn keys(input: &[InputEvent]) -> Vec<Item> {
    let pressed = input.iter().filter(|e| e.kind == InputKind::KeyPress);
    pressed.map(|e| item(e.t_ns, e.key.clone().unwrap_or_else(|| "key".into()))).collect()
}

/// A stroke from pen down until it vanishes.
fn strokes(all: &[StrokeEvent]) -> Vec<Item> {
    let begin = |b: &StrokeEvent| {
        let of = |k: StrokeKind| all.iter().find(|e| e.kind == k && e.stroke == b.stroke);
        let gone = of(StrokeKind::Vanish).or_else(|| of(StrokeKind::End));
        let label = format!("{} {}", b.tool.as_deref().unwrap_or("stroke"), b.stroke);
        Item { until: gone.map(|e| seconds(e.t_ns)), ..item(b.t_ns, label) }
    };
    all.iter().filter(|e| e.kind == StrokeKind::Begin).map(begin).collect()
}

fn typing(e: &TextEvent) -> Item {
    let label = match e.kind {
        TextKind::Insert => format!("+ {}", e.text.as_deref().unwrap_or_default()),
        TextKind::Delete => format!("− {} characters", e.len.unwrap_or(0)),
    };
    item(e.t_ns, label)
}

fn selection(e: &SelectionEvent) -> Option<Item> {
    let id = e.entity.as_ref().map(|x| x.id.clone()).unwrap_or_default();
    match e.kind {
        SelectionKind::Added => Some(item(e.t_ns, format!("+ {id}"))),
        SelectionKind::Removed => Some(item(e.t_ns, format!("− {id}"))),
        SelectionKind::Cleared => Some(item(e.t_ns, "cleared".into())),
        SelectionKind::Preselected => None,
    }
}

/// A command from its start to its end; other events are moments.
fn commands(all: &[CommandEvent]) -> Vec<Item> {
    let name = |e: &CommandEvent| e.name.clone().or_else(|| e.command_id.clone()).unwrap_or_else(|| format!("{:?}", e.kind).to_lowercase());
    let mut items: Vec<Item> = Vec::new();
    for (i, e) in all.iter().enumerate() {
        match e.kind {
            CommandKind::Started => {
                let done =
                    |x: &&CommandEvent| matches!(x.kind, CommandKind::Ended | CommandKind::Cancelled) && x.command_id == e.command_id;
                let end = all[i..].iter().find(done);
                let cancelled = end.is_some_and(|x| x.kind == CommandKind::Cancelled);
                let label = if cancelled { format!("{} (cancelled)", name(e)) } else { name(e) };
                items.push(Item { until: end.map(|x| seconds(x.t_ns)), ..item(e.t_ns, label) });
            }
            CommandKind::Saved | CommandKind::Changed => items.push(item(e.t_ns, name(e))),
            CommandKind::Ended | CommandKind::Cancelled => {
                let started = |x: &CommandEvent| x.kind == CommandKind::Started && x.command_id == e.command_id;
                if !all[..i].iter().any(started) {
                    items.push(item(e.t_ns, name(e)));
                }
            }
            CommandKind::Camera => {}
        }
    }
    items
}

/// What was done, or that it is the end, and the note.
fn step_label(s: &StepEvent) -> String {
    let action = s.action.as_ref().map_or_else(|| "the end".to_owned(), ToString::to_string);
    let note = s.note.as_ref().map(|n| format!(" – {n}")).unwrap_or_default();
    format!("{}: {action}{note}", s.step)
}

fn mark(e: &MarkEvent) -> Item {
    let label = format!("{:?} {}", e.kind, e.note.as_deref().unwrap_or_default()).to_lowercase();
    Item { until: e.until_ns.map(seconds), ..item(e.t_ns, label.trim().to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(t_ns: i64, kind: CommandKind, id: &str) -> CommandEvent {
        CommandEvent { t_ns, kind, command_id: Some(id.into()), name: None, parameters: None, seq: 0, error_ns: 0 }
    }

    #[test]
    fn commands_become_spans() {
        use CommandKind::*;
        let all = [
            command(1_000_000_000, Started, "Fillet"),
            command(2_000_000_000, Camera, "view"),
            command(3_000_000_000, Ended, "Fillet"),
            command(4_000_000_000, Started, "Pad"),
            command(5_000_000_000, Cancelled, "Pad"),
            command(6_000_000_000, Ended, "Export"),
        ];
        let got: Vec<_> = commands(&all).into_iter().map(|i| (i.t, i.until, i.label)).collect();
        let want = [(1.0, Some(3.0), "Fillet"), (4.0, Some(5.0), "Pad (cancelled)"), (6.0, None, "Export")];
        assert_eq!(got, want.map(|(t, u, l)| (t, u, l.to_owned())));
    }

    #[test]
    fn clicks_last_until_their_button_is_released() {
        let e = |t_ns, kind, button: &str| InputEvent { button: Some(button.into()), ..InputEvent::new(t_ns, kind) };
        let input = [
            e(1_000_000_000, InputKind::Press, "left"),
            e(1_500_000_000, InputKind::Press, "right"),
            e(2_000_000_000, InputKind::Release, "left"),
            e(3_000_000_000, InputKind::Release, "right"),
        ];
        assert_eq!(clicks(&input).iter().map(|i| (i.t, i.until)).collect::<Vec<_>>(), [(1.0, Some(2.0)), (1.5, Some(3.0))]);
    }
}
