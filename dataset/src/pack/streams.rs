//! The tables made of JSON Lines streams: parsed in parts, sorted by session and time.

use super::lines::{self, Piece, Span};
use super::sessions::SessionInfo;
use super::task::Part;
use crate::tables::TableBuilder;
use crate::{Error, Result};
use arrow::array::{AsArray, Int64Array, RecordBatch, UInt32Array};
use arrow::compute::{concat_batches, take_record_batch};
use arrow::datatypes::Int64Type;
use redline_schemas::{Corpus, SessionDir};
use serde::de::DeserializeOwned;
use std::path::{Path, PathBuf};

/// What appends a line to a table.
pub(super) type AppendLine<B> = fn(&mut B, &SessionInfo, &[u8]) -> Result<(), String>;

/// Parses a line into its type.
pub(super) fn line<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, String> {
    serde_json::from_slice(bytes).map_err(|e| e.to_string())
}

/// Parses the lines of one task.
pub(super) fn parse<B: TableBuilder>(
    corpus: &Corpus,
    sessions: &[SessionInfo],
    spans: &[Span],
    file: fn(&SessionDir) -> PathBuf,
    append: AppendLine<B>,
) -> Result<Part> {
    let (mut b, mut buf) = (B::default(), Vec::new());
    let (mut ends, mut torn) = (Vec::with_capacity(spans.len()), Vec::new());
    for span in spans {
        let Some(session) = sessions.get(span.session) else { continue };
        let piece = Piece { path: file(&session.dir(corpus)), start: span.start, end: span.end };
        if piece.for_each_line(&mut buf, |l| append(&mut b, session, l))?.is_some() {
            let inside = piece.path.strip_prefix(corpus.root()).map(Path::to_path_buf);
            torn.push(inside.unwrap_or(piece.path));
        }
        ends.push(b.rows());
    }
    let batch = b.finish().map_err(Error::arrow(B::TABLE.name))?;
    let batch = sort_within(batch, &ends).map_err(Error::arrow(B::TABLE.name))?;
    Ok(Part { batch, torn })
}

fn times(batch: &RecordBatch) -> Option<&Int64Array> {
    batch.column_by_name("t_ns")?.as_primitive_opt::<Int64Type>()
}

/// Sorts each stretch of rows that ends at one of `ends` by time; rows of one time keep their order.
fn sort_within(batch: RecordBatch, ends: &[usize]) -> Result<RecordBatch, arrow::error::ArrowError> {
    let Some(t) = times(&batch).map(Int64Array::values) else { return Ok(batch) };
    let mut starts = std::iter::once(0).chain(ends.iter().copied());
    let sorted = ends.iter().all(|&e| starts.next().and_then(|s| t.get(s..e)).is_none_or(|s| s.is_sorted()));
    if sorted {
        return Ok(batch);
    }
    let mut order: Vec<u32> = (0..t.len() as u32).collect();
    let mut start = 0;
    for &e in ends {
        if let Some(rows) = order.get_mut(start..e) {
            rows.sort_by_key(|&i| t[i as usize]);
        }
        start = e;
    }
    take_record_batch(&batch, &UInt32Array::from(order))
}

/// Rows ready for the table, and the folder of the session that they are a piece of.
struct Held {
    batch: RecordBatch,
    piece_of: Option<String>,
}

/// Sorts across the pieces of a large stream: neighbours that overlap in time are merged.
#[derive(Default)]
pub(super) struct Merge {
    held: Option<Held>,
    /// Last time handed on, of the session in `held`.
    done: Option<(String, i64)>,
}

impl Merge {
    /// Takes the next rows, and the folder of the session when they are a piece of a large stream; what is ready to be written.
    pub(super) fn push(&mut self, batch: RecordBatch, piece_of: Option<String>) -> Result<Option<RecordBatch>> {
        let next = Held { batch, piece_of };
        if next.batch.num_rows() == 0 {
            return Ok(None);
        }
        let Some(held) = self.held.take() else {
            self.held = Some(next);
            return Ok(None);
        };
        let overlap = held.piece_of.is_some()
            && held.piece_of == next.piece_of
            && last(&held.batch).zip(first(&next.batch)).is_some_and(|(l, f)| f < l);
        if !overlap {
            self.held = Some(next);
            return self.hand_on(held).map(Some);
        }
        let (n, total) = (held.batch.num_rows(), held.batch.num_rows() + next.batch.num_rows());
        let merge = || -> Result<RecordBatch, arrow::error::ArrowError> {
            let both = concat_batches(&held.batch.schema(), [&held.batch, &next.batch])?;
            sort_within(both, &[total])
        };
        let both = merge().map_err(Error::arrow("events"))?;
        self.held = Some(Held { batch: both.slice(n, total - n), ..next });
        self.hand_on(Held { batch: both.slice(0, n), ..held }).map(Some)
    }

    /// What is left.
    pub(super) fn finish(&mut self) -> Result<Option<RecordBatch>> {
        self.held.take().map(|h| self.hand_on(h)).transpose()
    }

    fn hand_on(&mut self, part: Held) -> Result<RecordBatch> {
        if let (Some(s), Some((done_session, done))) = (&part.piece_of, &self.done)
            && s == done_session
            && first(&part.batch).is_some_and(|f| f < *done)
        {
            return Err(Error::Refused(format!(
                "{s}: a stream is out of order by more than {} MiB of lines; `redline check` names the lines",
                lines::PART_BYTES >> 20
            )));
        }
        self.done = part.piece_of.zip(last(&part.batch));
        Ok(part.batch)
    }
}

fn first(b: &RecordBatch) -> Option<i64> {
    times(b)?.values().first().copied()
}

fn last(b: &RecordBatch) -> Option<i64> {
    let t = times(b)?;
    t.values().get(t.len().checked_sub(1)?).copied()
}
