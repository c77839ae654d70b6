//! A recording that takes commands, from hotkeys, a panel and the local socket alike.

use crate::control::{Command, Pen, Tool, colour_name};
use crate::doctor::free_bytes;
use crate::{Error, Finished, Recording, Result, StopReason, bin};
use redline_schemas::{Corpus, MarkKind, RequestId};
use serde_json::{Value, json};

/// The pen and what is on the screen.
#[derive(Debug, Clone, PartialEq)]
pub struct DrawingState {
    /// Whether the mouse draws.
    pub on: bool,
    /// What the pen does.
    pub tool: Tool,
    /// Its colour.
    pub colour: [u8; 3],
    /// Its width, screen pixels.
    pub width: f32,
    /// Whether each new stroke takes the next colour.
    pub cycle: bool,
    /// Strokes on the screen.
    pub strokes: usize,
}

/// Drawing over the screen.
pub trait Drawing: Send {
    /// Switches it on or off.
    fn switch(&mut self, on: bool) -> Result<()>;
    /// Changes the pen.
    fn pen(&mut self, p: &Pen);
    /// Takes the last stroke away.
    fn undo(&mut self);
    /// Takes all strokes away.
    fn clear(&mut self);
    /// Takes the strokes away that were begun at or after this reading of the monotonic clock.
    fn clear_since(&mut self, monotonic_ns: i64);
    /// How it is.
    fn state(&self) -> DrawingState;
}

/// How a recording ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// It is kept.
    Keep,
    /// It goes into the bin.
    Discard,
}

/// A recording under way and its drawing.
pub struct Live {
    corpus: Corpus,
    id: RequestId,
    recording: Recording,
    drawing: Option<Box<dyn Drawing>>,
    ending: Option<Ending>,
    cuts: u32,
    marks: u32,
}

impl Live {
    /// Takes over a recording. Without `drawing`, commands about it are refused.
    #[must_use]
    pub fn new(corpus: Corpus, id: RequestId, recording: Recording, drawing: Option<Box<dyn Drawing>>) -> Self {
        Self { corpus, id, recording, drawing, ending: None, cuts: 0, marks: 0 }
    }

    /// The recording.
    #[must_use]
    pub fn recording(&self) -> &Recording {
        &self.recording
    }

    /// Whether and how it was asked to end.
    #[must_use]
    pub fn ending(&self) -> Option<Ending> {
        self.ending.or(self.recording.wants_stop().map(|_| Ending::Keep))
    }

    /// How the drawing is; `None` without it.
    #[must_use]
    pub fn drawing(&self) -> Option<DrawingState> {
        self.drawing.as_ref().map(|d| d.state())
    }

    /// Carries out a command; what the one who asked is told.
    pub fn execute(&mut self, c: &Command) -> Result<Value> {
        match c {
            Command::Draw(on) => {
                let d = self.need_drawing()?;
                let on = on.unwrap_or(!d.state().on);
                d.switch(on)?;
                Ok(json!({ "drawing": on }))
            }
            Command::Pen(p) => self.drawn(|d| d.pen(p)),
            Command::Undo => self.drawn(|d| d.undo()),
            Command::Clear => self.drawn(|d| d.clear()),
            Command::Pause => Ok(json!({ "changed": self.recording.pause()?, "paused": true })),
            Command::Resume => Ok(json!({ "changed": self.recording.resume()?, "paused": false })),
            Command::PauseToggle if self.recording.progress().paused => self.execute(&Command::Resume),
            Command::PauseToggle => self.execute(&Command::Pause),
            Command::Mark(note) => {
                let t_ns = self.recording.mark(note.clone())?;
                self.marks += 1;
                Ok(json!({ "kind": MarkKind::Mark, "t_ns": t_ns }))
            }
            Command::Cut(seconds) => {
                let (from, until) = self.recording.cut(*seconds)?;
                self.cuts += 1;
                if let Some(d) = &mut self.drawing {
                    d.clear_since(self.recording.clock().monotonic(from));
                }
                Ok(json!({ "kind": MarkKind::Cut, "t_ns": from, "until_ns": until }))
            }
            Command::Text(t) => {
                self.recording.text().set(t);
                Ok(json!({ "characters": t.chars().count() }))
            }
            Command::Step(_) | Command::EndRun(_) => {
                Err(Error::Options("no run of an agent is being recorded: start one with `redline run start`".into()))
            }
            Command::Stop => self.end(Ending::Keep),
            Command::Discard => self.end(Ending::Discard),
            Command::Status => Ok(self.status()),
        }
    }

    fn end(&mut self, e: Ending) -> Result<Value> {
        // Whoever says first that it is not to be kept is believed.
        if self.ending != Some(Ending::Discard) {
            self.ending = Some(e);
        }
        Ok(json!({ "request": self.id }))
    }

    fn need_drawing(&mut self) -> Result<&mut Box<dyn Drawing>> {
        self.drawing.as_mut().ok_or_else(|| {
            Error::Options(
                "this recording has no drawing: it needs an X11 screen and a modality of draw-temp or draw-static, or --draw".into(),
            )
        })
    }

    fn drawn(&mut self, f: impl FnOnce(&mut dyn Drawing)) -> Result<Value> {
        let d = self.need_drawing()?;
        f(d.as_mut());
        Ok(json!({ "strokes": d.state().strokes }))
    }

    fn status(&self) -> Value {
        let p = self.recording.progress();
        let drawing = self.drawing().map(|d| {
            json!({
                "on": d.on, "tool": d.tool.as_str(), "colour": colour_name(d.colour), "width": d.width,
                "cycle": d.cycle, "strokes": d.strokes,
            })
        });
        json!({
            "request": self.id,
            "elapsed_ns": p.elapsed_ns,
            "paused": p.paused,
            "paused_ns": p.paused_ns,
            "frames": p.frames,
            "repeated": p.repeated,
            "paused_slots": p.paused_slots,
            "dropped": p.dropped,
            "queued": p.queued,
            "events": p.events,
            "level": p.level,
            "marks": self.marks,
            "cuts": self.cuts,
            "characters": self.recording.text().text().chars().count(),
            "drawing": drawing,
            "free_bytes": free_bytes(self.recording.dir().path()),
        })
    }

    /// Ends the recording as it was asked to: makes the finished files and, for a discarded take, moves them into the bin.
    pub fn finish(mut self) -> Result<(Finished, Ending)> {
        let ending = self.ending().unwrap_or(Ending::Keep);
        // Strokes that are still there vanish with the overlay, before their stream is closed.
        self.drawing = None;
        let mut finished = self.recording.stop()?;
        if ending == Ending::Discard {
            let to = bin::discard(&self.corpus, &self.id)?;
            if let Some(name) = finished.path.file_name() {
                finished.path = to.join(name);
            }
        }
        Ok((finished, ending))
    }

    /// Why it ended by itself, if it did.
    #[must_use]
    pub fn reason(&self) -> Option<StopReason> {
        self.recording.wants_stop()
    }
}
