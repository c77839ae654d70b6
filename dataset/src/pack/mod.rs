//! Parquet files from a corpus.
//!
//! Every table streams: parts are read and parsed in parallel, put in order, and encoded column by column
//! in parallel. Memory is bounded by a few parts a core and one row group's encoded bytes, whatever the
//! corpus's size; equal input gives equal bytes on any machine.

mod lines;
mod ordered;
mod sessions;
mod streams;
mod writer;

pub use sessions::{Scope, SessionInfo, SessionKind};
pub use writer::DEFAULT_ROW_GROUP_ROWS;

use crate::tables::{self, Table, TableBuilder};
use crate::{Error, Result};
use arrow::array::RecordBatch;
use ordered::Ordered;
use redline_schemas::{Corpus, SessionDir, TranscriptKind, fsio};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use writer::TableWriter;

/// Sessions or models whose manifests one task reads.
const MANIFESTS_A_TASK: usize = 64;

/// The largest typed text that is read, bytes.
const MAX_TEXT_BYTES: u64 = 16 << 20;

/// How to pack.
#[derive(Debug, Clone)]
pub struct Options {
    /// Rows of a row group.
    pub row_group_rows: usize,
    /// Tables to write; empty: all.
    pub tables: Vec<String>,
}

impl Default for Options {
    fn default() -> Self {
        Self { row_group_rows: DEFAULT_ROW_GROUP_ROWS, tables: Vec::new() }
    }
}

/// What was packed.
#[derive(Debug, Clone, Serialize)]
pub struct Summary {
    /// In the order of [`tables::ALL`].
    pub tables: Vec<Packed>,
    /// Sessions left out because their recording has not ended.
    pub unfinished: Vec<String>,
    /// Streams whose torn last line was dropped.
    pub torn: Vec<PathBuf>,
}

/// A packed table.
#[derive(Debug, Clone, Serialize)]
pub struct Packed {
    /// The table.
    pub table: &'static str,
    /// Its file; none when there are no rows, because Hugging Face `datasets` can't load an empty table.
    pub path: Option<PathBuf>,
    /// Rows.
    pub rows: u64,
    /// Row groups.
    pub row_groups: usize,
    /// Size, bytes.
    pub bytes: u64,
}

/// Called with a table's name, the tasks done and the tasks in all.
pub type Progress<'a> = &'a dyn Fn(&str, usize, usize);

/// Packs what is in `scope` into `out`, one file a table.
///
/// Files are made in a folder beside `out` and moved into it when all are complete.
pub fn pack(corpus: &Corpus, scope: Scope, out: &Path, options: &Options, progress: Progress<'_>) -> Result<Summary> {
    if let Some(unknown) = options.tables.iter().find(|t| tables::by_name(t).is_none()) {
        let known: Vec<_> = tables::ALL.iter().map(|t| t.name).collect();
        return Err(Error::Refused(format!("no table is called “{unknown}”; there are {}", known.join(", "))));
    }
    std::fs::create_dir_all(out).map_err(Error::io(out, "could not create the folder"))?;
    let work = Temporary(fsio::temporary_beside(&out.join("tables")));
    std::fs::create_dir(&work.0).map_err(Error::io(&work.0, "could not create the folder"))?;
    let p = Packer { corpus: Arc::new(corpus.clone()), scope: Arc::new(scope), dir: &work.0, options, progress };
    let (mut packed, mut torn) = (Vec::new(), Vec::new());
    for t in tables::ALL.iter().filter(|t| options.tables.is_empty() || options.tables.iter().any(|n| n == t.name)) {
        packed.push(p.table(t, &mut torn)?);
    }
    for t in &mut packed {
        let to = out.join(file_name(t.table));
        match t.path.take() {
            Some(from) => {
                std::fs::rename(&from, &to).map_err(Error::io(&to, "could not put in place"))?;
                t.path = Some(to);
            }
            // What an earlier run left there would be taken for this one's.
            None => match std::fs::remove_file(&to) {
                Err(e) if e.kind() != std::io::ErrorKind::NotFound => return Err(Error::io(&to, "could not remove")(e)),
                _ => {}
            },
        }
    }
    fsio::sync_parent(&out.join("x")).map_err(Error::io(out, "could not sync"))?;
    torn.sort();
    torn.dedup();
    Ok(Summary { tables: packed, unfinished: p.scope.unfinished.clone(), torn })
}

/// The name of a table's file.
#[must_use]
pub fn file_name(table: &str) -> String {
    format!("{table}.parquet")
}

/// Writes batches into one file of a table: those that [`TableBuilder::finish`] makes, in the table's order.
/// Rows and row groups.
pub fn write_batches(
    table: &'static Table,
    path: &Path,
    row_group_rows: usize,
    batches: impl IntoIterator<Item = RecordBatch>,
) -> Result<(u64, usize)> {
    let mut w = TableWriter::create(table, path, row_group_rows)?;
    batches.into_iter().try_for_each(|b| w.write(&b))?;
    w.finish()
}

/// A folder that goes away with its owner.
struct Temporary(PathBuf);

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

struct Packer<'a> {
    corpus: Arc<Corpus>,
    scope: Arc<Scope>,
    dir: &'a Path,
    options: &'a Options,
    progress: Progress<'a>,
}

impl Packer<'_> {
    fn table(&self, t: &'static Table, torn: &mut Vec<PathBuf>) -> Result<Packed> {
        use tables::{commands, events, marks, renders, selections, strokes, typing};
        match t.name {
            "participants" => {
                let mut b = tables::participants::Builder::default();
                for p in &self.scope.participants {
                    tables::participants::append(&mut b, &self.scope.published(&p.id), p);
                }
                let batch = b.finish().map_err(Error::arrow(t.name));
                self.write(t, 1, std::iter::once(batch))
            }
            "models" => {
                let corpus = Arc::clone(&self.corpus);
                self.manifests(t, &self.scope.models, move |b, id| {
                    tables::models::append(b, &corpus.model(id)?);
                    Ok(())
                })
            }
            "requests" => self.sessions(t, SessionKind::Request, request_row),
            "edits" => self.sessions(t, SessionKind::Edit, edit_row),
            "transcripts" => self.sessions(t, SessionKind::Request, transcript_rows),
            "words" => self.sessions(t, SessionKind::Request, word_rows),
            "revisions" => self.sessions(t, SessionKind::Request, revision_rows),
            "ratings" => self.sessions(t, SessionKind::Edit, rating_rows),
            "events" => self.stream::<events::Builder>(t, SessionDir::input, torn, |b, s, l| {
                let e: events::Event<'_> = serde_json::from_slice(l).map_err(|e| e.to_string())?;
                events::append(b, s, &e);
                Ok(())
            }),
            "strokes" => self.stream::<strokes::Builder>(t, SessionDir::strokes, torn, |b, s, l| {
                strokes::append(b, s, &streams::line(l)?);
                Ok(())
            }),
            "selections" => self.stream::<selections::Builder>(t, SessionDir::selections, torn, |b, s, l| {
                selections::append(b, s, &streams::line(l)?);
                Ok(())
            }),
            "commands" => self.stream::<commands::Builder>(t, SessionDir::commands, torn, |b, s, l| {
                commands::append(b, s, &streams::line(l)?);
                Ok(())
            }),
            "typing" => self.stream::<typing::Builder>(t, SessionDir::text_events, torn, |b, s, l| {
                typing::append(b, s, &streams::line(l)?);
                Ok(())
            }),
            "renders" => self.stream::<renders::Builder>(t, SessionDir::renders, torn, |b, s, l| {
                renders::append(b, s, &streams::line(l)?);
                Ok(())
            }),
            "marks" => self.stream::<marks::Builder>(t, SessionDir::marks, torn, |b, s, l| {
                marks::append(b, s, &streams::line(l)?);
                Ok(())
            }),
            other => Err(Error::Refused(format!("nothing packs the table “{other}”"))),
        }
    }

    /// A table with rows made from manifests.
    fn manifests<B: TableBuilder + 'static, I: Clone + Send + 'static>(
        &self,
        t: &'static Table,
        ids: &[I],
        append: impl Fn(&mut B, &I) -> Result<()> + Send + Sync + 'static,
    ) -> Result<Packed> {
        let tasks: Vec<Vec<I>> = ids.chunks(MANIFESTS_A_TASK).map(<[I]>::to_vec).collect();
        let n = tasks.len();
        let batches = Ordered::new(tasks, move |ids| {
            let mut b = B::default();
            ids.iter().try_for_each(|id| append(&mut b, id))?;
            b.finish().map_err(Error::arrow(B::TABLE.name))
        });
        self.write(t, n, batches)
    }

    fn sessions<B: TableBuilder + 'static>(
        &self,
        t: &'static Table,
        kind: SessionKind,
        append: fn(&mut B, &Corpus, &Scope, &SessionInfo) -> Result<()>,
    ) -> Result<Packed> {
        let which: Vec<usize> = (0..self.scope.sessions.len()).filter(|&i| self.scope.sessions[i].kind == kind).collect();
        let (corpus, scope) = (Arc::clone(&self.corpus), Arc::clone(&self.scope));
        self.manifests(t, &which, move |b, &i| append(b, &corpus, &scope, &scope.sessions[i]))
    }

    /// A table with a row a line.
    fn stream<B: TableBuilder + 'static>(
        &self,
        t: &'static Table,
        file: fn(&SessionDir) -> PathBuf,
        torn: &mut Vec<PathBuf>,
        append: streams::AppendLine<B>,
    ) -> Result<Packed> {
        let tasks = lines::plan(&self.scope, file)?;
        let n = tasks.len();
        let scope = Arc::clone(&self.scope);
        let mut parts = Ordered::new(tasks, move |pieces: Vec<lines::Piece>| streams::parse(&scope, &pieces, append));
        let mut merge = streams::Merge::default();
        let batches = std::iter::from_fn(|| {
            loop {
                let ready = match parts.next() {
                    Some(Ok(mut p)) => {
                        torn.append(&mut p.torn);
                        merge.push(p, &self.scope)
                    }
                    Some(Err(e)) => Err(e),
                    None => return merge.finish(&self.scope).transpose(),
                };
                if let Some(r) = ready.transpose() {
                    return Some(r);
                }
            }
        });
        self.write(t, n, batches)
    }

    fn write(&self, t: &'static Table, tasks: usize, batches: impl Iterator<Item = Result<RecordBatch>>) -> Result<Packed> {
        let path = self.dir.join(file_name(t.name));
        let mut w = TableWriter::create(t, &path, self.options.row_group_rows)?;
        (self.progress)(t.name, 0, tasks);
        for (i, b) in batches.enumerate() {
            w.write(&b?)?;
            (self.progress)(t.name, (i + 1).min(tasks), tasks);
        }
        let (rows, row_groups) = w.finish()?;
        if rows == 0 {
            return Ok(Packed { table: t.name, path: None, rows, row_groups, bytes: 0 });
        }
        let bytes = std::fs::metadata(&path).map_err(Error::io(&path, "could not look at"))?.len();
        Ok(Packed { table: t.name, path: Some(path), rows, row_groups, bytes })
    }
}

fn request_row(b: &mut tables::requests::Builder, corpus: &Corpus, scope: &Scope, s: &SessionInfo) -> Result<()> {
    let r = corpus.request(&redline_schemas::RequestId::new(&s.id)?)?;
    tables::requests::append(b, &r, &scope.published(&r.participant), instruction(s)?.as_ref());
    Ok(())
}

/// The oracle transcript, else the typed text, else the automatic transcript.
fn instruction(s: &SessionInfo) -> Result<Option<tables::requests::Instruction>> {
    use tables::requests::Instruction;
    if let Some(t) = s.dir.transcript(TranscriptKind::Oracle)? {
        return Ok(Some(Instruction { text: t.text(), source: "oracle" }));
    }
    let typed = s.dir.text();
    if typed.exists() {
        let bytes = fsio::read_limited(&typed, MAX_TEXT_BYTES)?;
        let text = String::from_utf8_lossy(&bytes).trim_end().to_owned();
        return Ok(Some(Instruction { text, source: "typed" }));
    }
    Ok(s.dir.transcript(TranscriptKind::Automatic)?.map(|t| Instruction { text: t.text(), source: "automatic" }))
}

fn edit_row(b: &mut tables::edits::Builder, corpus: &Corpus, scope: &Scope, s: &SessionInfo) -> Result<()> {
    let e = corpus.edit(&redline_schemas::EditId::new(&s.id)?)?;
    tables::edits::append(b, &e, &scope.published(&e.participant));
    Ok(())
}

fn transcript_rows(b: &mut tables::transcripts::Builder, _: &Corpus, scope: &Scope, s: &SessionInfo) -> Result<()> {
    for kind in TranscriptKind::ALL {
        if let Some(t) = s.dir.transcript(*kind)? {
            tables::transcripts::append(b, &s.id, &t, &|p| scope.published(p));
        }
    }
    Ok(())
}

fn word_rows(b: &mut tables::words::Builder, _: &Corpus, _: &Scope, s: &SessionInfo) -> Result<()> {
    for kind in TranscriptKind::ALL {
        if let Some(t) = s.dir.transcript(*kind)? {
            tables::words::append(b, &s.id, s.started_utc, &t);
        }
    }
    Ok(())
}

fn revision_rows(b: &mut tables::revisions::Builder, _: &Corpus, scope: &Scope, s: &SessionInfo) -> Result<()> {
    for r in s.dir.revisions()?.iter().flat_map(|h| &h.revisions) {
        tables::revisions::append(b, r, &|p| scope.published(p));
    }
    Ok(())
}

fn rating_rows(b: &mut tables::ratings::Builder, corpus: &Corpus, scope: &Scope, s: &SessionInfo) -> Result<()> {
    let Some(all) = s.dir.ratings()? else { return Ok(()) };
    let request = corpus.edit(&redline_schemas::EditId::new(&s.id)?)?.request;
    let packed = all.ratings.iter().filter(|r| scope.raters.as_ref().is_none_or(|w| w.contains(&r.rater)));
    let mut ratings: Vec<_> = packed.map(|r| (scope.published(&r.rater), r)).collect();
    ratings.sort_by(|a, b| a.0.cmp(&b.0));
    for (name, r) in ratings {
        let is_agent = scope.participants.iter().any(|p| p.id == r.rater && p.agent.is_some());
        tables::ratings::append(b, &s.id, request.as_str(), &name, is_agent, r);
    }
    Ok(())
}
