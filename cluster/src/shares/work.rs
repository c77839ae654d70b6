//! What a share comes to.

use super::{COMMON, Form, Shares, share_file};
use anyhow::{Context, Result};
use datafusion::arrow::array::{ArrayRef, BinaryArray, RecordBatch, StringArray, UInt64Array};
use datafusion::arrow::compute::cast;
use datafusion::arrow::ipc::writer::StreamWriter;
use redline_dataset::pack::{Common, Part, Task};
use redline_publish::{Benches, Storage};
use redline_schemas::Corpus;
use std::sync::Arc;

/// Bytes of a part that travel together: the engine's messages have at most 16 MiB.
const PIECE: usize = 4 << 20;

/// Makes the rows of share `i`.
pub fn share(shares: &Shares, i: usize, each: &mut dyn FnMut(RecordBatch) -> Result<()>) -> Result<()> {
    let shelf = shares.shelf()?;
    let file = share_file(i);
    let bytes = shelf.get(&file)?.with_context(|| format!("{}: {file} of job {} is gone", shares.place, shares.job))?;
    let schema = shares.schema()?;
    if shares.form == Form::Sessions {
        let ids: Vec<String> = serde_json::from_slice(&bytes).context(file)?;
        // A row a batch, so that functions are called for one session at a time and what is done is noted at once.
        for id in ids {
            each(RecordBatch::try_new(Arc::clone(&schema), vec![Arc::new(StringArray::from(vec![id]))])?)?;
        }
        return Ok(());
    }
    let tasks: Vec<(u64, Task)> = serde_json::from_slice(&bytes).context(file)?;
    let common = shelf.get(COMMON)?.with_context(|| format!("{}: {COMMON} of job {} is gone", shares.place, shares.job))?;
    let common: Common = serde_json::from_slice(&common)?;
    let place = Place::open(&shares.place)?;
    for (number, task) in tasks {
        let part = place.work(&task, &common)?;
        if shares.form == Form::Parts {
            pieces(number, &part, |columns| each(RecordBatch::try_new(Arc::clone(&schema), columns)?))?;
        } else {
            let columns = part.batch.columns().iter().zip(schema.fields()).map(|(c, f)| cast(c, f.data_type()));
            each(RecordBatch::try_new(Arc::clone(&schema), columns.collect::<Result<_, _>>()?)?)?;
        }
    }
    shelf.put(&format!("done/{i:06}"), b"")
}

/// A part as rows of [`Form::Parts`].
fn pieces(task: u64, part: &Part, mut each: impl FnMut(Vec<ArrayRef>) -> Result<()>) -> Result<()> {
    let mut bytes = Vec::new();
    let mut w = StreamWriter::try_new(&mut bytes, &part.batch.schema())?;
    w.write(&part.batch)?;
    w.finish()?;
    drop(w);
    let torn = serde_json::to_string(&part.torn)?;
    for piece in bytes.chunks(PIECE) {
        each(vec![
            Arc::new(UInt64Array::from(vec![task])),
            Arc::new(StringArray::from(vec![torn.as_str()])),
            Arc::new(BinaryArray::from_vec(vec![piece])),
        ])?;
    }
    Ok(())
}

/// What a task reads, on this machine.
enum Place {
    Folder(Corpus),
    /// In storage: each task copies what it reads.
    Storage(Benches),
}

impl Place {
    fn open(place: &str) -> Result<Self> {
        Ok(if place.contains("://") { Self::Storage(Benches::new(Storage::open(place)?, 1)?) } else { Self::Folder(Corpus::open(place)?) })
    }

    fn work(&self, task: &Task, common: &Common) -> Result<Part> {
        Ok(match self {
            Self::Folder(corpus) => task.work(corpus, common)?,
            Self::Storage(benches) => task.work(benches.for_task(task)?.corpus(), common)?,
        })
    }
}
