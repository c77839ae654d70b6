//! Shares of a table that are made independently of each other, here or on another machine.

use super::engine::Common;
use super::lines::{self, Span};
use super::sessions::{People, Scope, SessionInfo, SessionKind};
use super::{rows, runs, streams};
use crate::check::{self, CHECK};
use crate::stats::figures;
use crate::tables::{self, TableBuilder};
use crate::{Error, Result};
use arrow::array::{ArrayRef, RecordBatch, StringArray};
use redline_schemas::{Corpus, EditId, ModelId, RequestId, SessionDir};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Sessions or models whose manifests one task reads.
const MANIFESTS_A_TASK: usize = 64;

/// What [`crate::stats`] reads of each session: no table that is packed, but made in the same way.
pub(crate) const FIGURES: &str = "figures";

/// A share of a table. Shares are the same on any number of machines, and so are the packed bytes.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Task {
    /// The table.
    pub table: String,
    /// The sessions that it reads.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sessions: Vec<SessionInfo>,
    /// The models that it reads.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub models: Vec<ModelId>,
    /// For a table of lines: which lines of the sessions' streams.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    spans: Vec<Span>,
}

/// The rows of a task, sorted in themselves.
#[derive(Debug)]
pub struct Part {
    /// As [`crate::tables::TableBuilder::finish`] makes them.
    pub batch: RecordBatch,
    /// Streams whose torn last line was dropped, below the corpus's folder.
    pub torn: Vec<PathBuf>,
}

/// The tasks of a table, in the order of its rows.
pub fn plan(corpus: &Corpus, scope: &Scope, table: &str) -> Result<Vec<Task>> {
    let task = || Task { table: table.into(), sessions: Vec::new(), models: Vec::new(), spans: Vec::new() };
    if let Some(file) = stream(table) {
        let tasks = lines::plan(corpus, &scope.sessions, file)?.into_iter();
        return Ok(tasks.map(|(sessions, spans)| Task { sessions, spans, ..task() }).collect());
    }
    let of = |kind: SessionKind| -> Vec<Task> {
        let these: Vec<&SessionInfo> = scope.sessions.iter().filter(|s| s.kind == kind).collect();
        these.chunks(MANIFESTS_A_TASK).map(|c| Task { sessions: c.iter().map(|s| (*s).clone()).collect(), ..task() }).collect()
    };
    Ok(match table {
        "participants" => vec![task()],
        "models" => scope.models.chunks(MANIFESTS_A_TASK).map(|c| Task { models: c.to_vec(), ..task() }).collect(),
        "requests" | "transcripts" | "words" | "revisions" => of(SessionKind::Request),
        "edits" | "ratings" | "metrics" => of(SessionKind::Edit),
        "runs" | "steps" | "scores" => of(SessionKind::Run),
        other => return Err(unknown(other)),
    })
}

/// A column of JSON.
fn json_rows(what: &'static str, rows: Vec<String>) -> Result<Part> {
    let column: ArrayRef = Arc::new(StringArray::from(rows));
    let batch = RecordBatch::try_from_iter([("json", column)]).map_err(Error::arrow(what))?;
    Ok(Part { batch, torn: Vec::new() })
}

fn to_json(value: &impl Serialize) -> Result<String> {
    serde_json::to_string(value).map_err(|e| Error::Refused(format!("figures cannot be written: {e}")))
}

fn unknown(table: &str) -> Error {
    Error::Refused(format!("nothing packs the table “{table}”"))
}

/// The stream that a table has a row a line of.
fn stream(table: &str) -> Option<fn(&SessionDir) -> PathBuf> {
    Some(match table {
        "events" => SessionDir::input,
        "strokes" => SessionDir::strokes,
        "selections" => SessionDir::selections,
        "commands" => SessionDir::commands,
        "typing" => SessionDir::text_events,
        "renders" => SessionDir::renders,
        "marks" => SessionDir::marks,
        _ => return None,
    })
}

impl Task {
    /// A task of whole sessions and models.
    pub(crate) fn new(table: &str, sessions: Vec<SessionInfo>, models: Vec<ModelId>) -> Self {
        Self { table: table.into(), sessions, models, spans: Vec::new() }
    }

    /// Tasks of whole sessions.
    pub(crate) fn of_sessions(table: &str, sessions: &[SessionInfo]) -> Vec<Self> {
        sessions.chunks(MANIFESTS_A_TASK).map(|c| Self::new(table, c.to_vec(), Vec::new())).collect()
    }

    /// Whether it reads files of this name in the folders of its sessions and models.
    #[must_use]
    pub fn reads(&self, name: &str) -> bool {
        if self.table == CHECK {
            return true;
        }
        let dir = SessionDir::new("");
        match stream(&self.table) {
            Some(file) => file(&dir) == Path::new(name),
            None => name.ends_with(".json") || [dir.text(), dir.steps()].iter().any(|f| f == Path::new(name)),
        }
    }

    /// Makes the rows.
    pub fn work(&self, corpus: &Corpus, common: &Common) -> Result<Part> {
        let people = &common.people;
        use tables::{commands, events, marks, renders, selections, strokes, typing};
        match self.table.as_str() {
            "participants" => self.each(people.participants.iter(), |b, p| {
                tables::participants::append(b, &people.published(&p.id), p);
                Ok(())
            }),
            "models" => self.each(self.models.iter(), |b, id| {
                tables::models::append(b, &corpus.model(id)?);
                Ok(())
            }),
            "requests" => self.rows(corpus, people, rows::request),
            "edits" => self.rows(corpus, people, rows::edit),
            "transcripts" => self.rows(corpus, people, rows::transcripts),
            "words" => self.rows(corpus, people, rows::words),
            "revisions" => self.rows(corpus, people, rows::revisions),
            "ratings" => self.rows(corpus, people, rows::ratings),
            "metrics" => self.each(self.sessions.iter(), |b, s| rows::metrics(b, corpus, &common.edits, s)),
            "runs" => self.rows(corpus, people, runs::run_row),
            "steps" => self.rows(corpus, people, runs::step_rows),
            "scores" => self.rows(corpus, people, runs::score_rows),
            "events" => self.lines::<events::Builder>(corpus, |b, s, l| {
                let e: events::Event<'_> = serde_json::from_slice(l).map_err(|e| e.to_string())?;
                events::append(b, s, &e);
                Ok(())
            }),
            "strokes" => self.lines::<strokes::Builder>(corpus, |b, s, l| {
                strokes::append(b, s, &streams::line(l)?);
                Ok(())
            }),
            "selections" => self.lines::<selections::Builder>(corpus, |b, s, l| {
                selections::append(b, s, &streams::line(l)?);
                Ok(())
            }),
            "commands" => self.lines::<commands::Builder>(corpus, |b, s, l| {
                commands::append(b, s, &streams::line(l)?);
                Ok(())
            }),
            "typing" => self.lines::<typing::Builder>(corpus, |b, s, l| {
                typing::append(b, s, &streams::line(l)?);
                Ok(())
            }),
            "renders" => self.lines::<renders::Builder>(corpus, |b, s, l| {
                renders::append(b, s, &streams::line(l)?);
                Ok(())
            }),
            "marks" => self.lines::<marks::Builder>(corpus, |b, s, l| {
                marks::append(b, s, &streams::line(l)?);
                Ok(())
            }),
            FIGURES => self.figures(corpus),
            CHECK => {
                let context = common.check.as_ref().ok_or_else(|| Error::Refused("nothing to check against".into()))?;
                json_rows(CHECK, check::look(corpus, context, self)?)
            }
            other => Err(unknown(other)),
        }
    }

    /// A row a session: what is counted of it, as JSON.
    fn figures(&self, corpus: &Corpus) -> Result<Part> {
        let json = |s: &SessionInfo| match s.kind {
            SessionKind::Request => to_json(&figures::request(corpus, &RequestId::new(&s.id)?)?),
            SessionKind::Edit => to_json(&figures::edit(corpus, &EditId::new(&s.id)?)?),
            SessionKind::Run => Err(Error::Refused("runs have no figures of their own".into())),
        };
        let rows: Vec<String> = self.sessions.iter().map(json).collect::<Result<_>>()?;
        json_rows(FIGURES, rows)
    }

    fn each<B: TableBuilder, I>(&self, mut items: impl Iterator<Item = I>, append: impl Fn(&mut B, I) -> Result<()>) -> Result<Part> {
        let mut b = B::default();
        items.try_for_each(|i| append(&mut b, i))?;
        Ok(Part { batch: b.finish().map_err(Error::arrow(B::TABLE.name))?, torn: Vec::new() })
    }

    fn rows<B: TableBuilder>(
        &self,
        corpus: &Corpus,
        people: &People,
        append: fn(&mut B, &Corpus, &People, &SessionInfo) -> Result<()>,
    ) -> Result<Part> {
        self.each(self.sessions.iter(), |b, s| append(b, corpus, people, s))
    }

    fn lines<B: TableBuilder>(&self, corpus: &Corpus, append: streams::AppendLine<B>) -> Result<Part> {
        let file = stream(&self.table).ok_or_else(|| unknown(&self.table))?;
        streams::parse(corpus, &self.sessions, &self.spans, file, append)
    }

    /// The folder of the session, when this is a piece of a large stream: its rows may overlap with those of the next piece.
    #[must_use]
    pub fn piece_of(&self) -> Option<String> {
        self.spans.first().filter(|s| s.is_part())?;
        self.sessions.first().map(SessionInfo::folder)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_read_what_their_rows_are_made_of() {
        let files = ["request.json", "transcript.oracle.json", "text.md", "steps.jsonl", "input.jsonl", "renders.jsonl", "screen.mp4"];
        let text = SessionDir::new("").text();
        let files = files.map(|f| if f == "text.md" { text.to_str().unwrap() } else { f });
        let of = |table: &str| files.map(|f| Task::new(table, Vec::new(), Vec::new()).reads(f));
        assert_eq!(of("words"), [true, true, true, true, false, false, false]);
        assert_eq!(of("events"), [false, false, false, false, true, false, false]);
        assert_eq!(of("renders"), [false, false, false, false, false, true, false]);
        assert_eq!(of(CHECK), [true; 7]);
    }
}
