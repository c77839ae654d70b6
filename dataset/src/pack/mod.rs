//! Parquet files from a corpus.
//!
//! Every table streams: it is planned as tasks ([`plan`]), an [`Engine`] makes their rows in parallel, here or on many
//! machines, and they are put in order and encoded column by column. Memory is bounded by a few parts a core and one row
//! group's encoded bytes, besides the list of sessions; equal input gives equal bytes on any machines.

mod engine;
mod lines;
mod ordered;
mod rows;
mod runs;
mod sessions;
mod streams;
mod task;
mod writer;

pub use engine::{Common, Engine, Here, Parts};
pub(crate) use rows::instruction;
pub use sessions::{People, Scope, SessionInfo, SessionKind};
pub(crate) use task::FIGURES;
pub use task::{Part, Task, plan};
pub use writer::DEFAULT_ROW_GROUP_ROWS;

use crate::tables::{self, Table};
use crate::{Error, Result};
use arrow::array::RecordBatch;
use redline_schemas::{Corpus, fsio};
use serde::Serialize;
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use streams::Merge;
use writer::TableWriter;

/// How to pack.
#[derive(Debug, Clone)]
pub struct Options {
    /// Rows of a row group.
    pub row_group_rows: usize,
    /// Tables to write; empty: all.
    pub tables: Vec<String>,
    /// What makes the rows.
    pub engine: Arc<dyn Engine>,
}

impl Default for Options {
    fn default() -> Self {
        Self { row_group_rows: DEFAULT_ROW_GROUP_ROWS, tables: Vec::new(), engine: Arc::new(Here) }
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
    let (mut packed, mut torn) = (Vec::new(), Vec::new());
    let edits = scope.sessions.iter().filter(|s| s.kind == SessionKind::Edit).map(|s| s.id.clone()).collect();
    let common = Arc::new(Common { people: Arc::clone(&scope.people), edits, ..Common::default() });
    let p = Packer { corpus, scope: &scope, common: &common, dir: &work.0, options, progress };
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
    Ok(Summary { tables: packed, unfinished: scope.unfinished, torn })
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

/// Packs tables into a folder.
struct Packer<'a> {
    corpus: &'a Corpus,
    scope: &'a Scope,
    common: &'a Arc<Common>,
    dir: &'a Path,
    options: &'a Options,
    progress: Progress<'a>,
}

impl Packer<'_> {
    fn table(&self, t: &'static Table, torn: &mut Vec<PathBuf>) -> Result<Packed> {
        let Self { corpus, scope, common, dir, options, progress } = self;

        let tasks = task::plan(corpus, scope, t.name)?;
        let n = tasks.len();
        let mut pieces_of: VecDeque<Option<String>> = tasks.iter().map(Task::piece_of).collect();
        let path = dir.join(file_name(t.name));
        let mut w = TableWriter::create(t, &path, options.row_group_rows)?;
        progress(t.name, 0, n);
        let mut merge = Merge::default();
        let parts = if n == 0 { Box::new(std::iter::empty()) } else { options.engine.parts(corpus, common, tasks)? };
        for (i, part) in parts.enumerate() {
            let mut part = part?;
            torn.extend(part.torn.drain(..).map(|p| corpus.root().join(p)));
            let Some(piece_of) = pieces_of.pop_front() else {
                return Err(Error::Refused(format!("{}: more parts than tasks came back", t.name)));
            };
            if let Some(ready) = merge.push(part.batch, piece_of)? {
                w.write(&ready)?;
            }
            progress(t.name, i + 1, n);
        }
        if !pieces_of.is_empty() {
            return Err(Error::Refused(format!("{}: {} of {n} parts did not come back", t.name, pieces_of.len())));
        }
        if let Some(rest) = merge.finish()? {
            w.write(&rest)?;
        }
        let (rows, row_groups) = w.finish()?;
        if rows == 0 {
            return Ok(Packed { table: t.name, path: None, rows, row_groups, bytes: 0 });
        }
        let bytes = std::fs::metadata(&path).map_err(Error::io(&path, "could not look at"))?.len();
        Ok(Packed { table: t.name, path: Some(path), rows, row_groups, bytes })
    }
}
