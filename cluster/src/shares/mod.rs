//! A job's shares as a table of the engine: each partition is one share, made where the engine wants it.

mod codec;
mod exec;
mod provider;
mod work;

pub use codec::{logical, physical};
pub use provider::SharesTable;

use crate::shelf::Shelf;
use anyhow::{Context, Result};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use redline_dataset::pack::{Common, Task};
use redline_dataset::tables;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What the rows of a share are.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// Ids of sessions, for [`crate::function`].
    Sessions,
    /// The parts that packing asks for, as Arrow's IPC bytes in pieces: their batches must come back as they were made.
    Parts,
    /// The rows of one of Redline's tables.
    Rows(String),
}

/// A job's shares, as far as a plan needs them: the shares themselves lie on the job's [`Shelf`].
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Shares {
    /// The corpus: a folder that all machines see, or an address in storage.
    pub place: String,
    /// The job's name.
    pub job: String,
    /// How many there are.
    pub count: usize,
    /// What their rows are.
    pub form: Form,
}

impl Shares {
    /// Puts tasks on a shelf of their own, `count` shares at most, neighbours together.
    pub fn of_tasks(place: &str, form: Form, common: &Common, tasks: &[Task], count: usize) -> Result<Self> {
        let numbered: Vec<(usize, &Task)> = tasks.iter().enumerate().collect();
        let shares: Vec<_> = numbered.chunks(tasks.len().div_ceil(count.max(1)).max(1)).collect();
        let s = Self { place: place.into(), job: name(tasks.first().map_or("none", |t| t.table.as_str())), count: shares.len(), form };
        let shelf = s.shelf()?;
        shelf.put(COMMON, &serde_json::to_vec(common)?)?;
        for (i, share) in shares.iter().enumerate() {
            shelf.put(&share_file(i), &serde_json::to_vec(share)?)?;
        }
        Ok(s)
    }

    /// Puts the ids of sessions on a shelf, in shares as they are dealt out.
    pub fn of_sessions(place: &str, verb: &str, shares: &[Vec<String>]) -> Result<Self> {
        let s = Self { place: place.into(), job: name(verb), count: shares.len(), form: Form::Sessions };
        let shelf = s.shelf()?;
        for (i, share) in shares.iter().enumerate() {
            shelf.put(&share_file(i), &serde_json::to_vec(share)?)?;
        }
        Ok(s)
    }

    /// Where they lie.
    pub fn shelf(&self) -> Result<Shelf> {
        Shelf::of(&self.place, &self.job)
    }

    /// The columns of a row.
    pub fn schema(&self) -> Result<SchemaRef> {
        Ok(match &self.form {
            Form::Sessions => Arc::new(Schema::new(vec![Field::new("id", DataType::Utf8, false)])),
            Form::Parts => Arc::new(Schema::new(vec![
                Field::new("task", DataType::UInt64, false),
                Field::new("torn", DataType::Utf8, false),
                Field::new("bytes", DataType::Binary, false),
            ])),
            // Metadata is of no use here, and plans carry schemas around.
            Form::Rows(t) => {
                let schema = tables::by_name(t).with_context(|| format!("no table is called “{t}”"))?.schema();
                let plain = schema.fields().iter().map(|f| f.as_ref().clone().with_metadata(Default::default()));
                Arc::new(Schema::new(plain.collect::<Vec<_>>()))
            }
        })
    }
}

/// What all tasks of a job have in common.
const COMMON: &str = "common.json";

fn share_file(i: usize) -> String {
    format!("shares/{i:06}.json")
}

/// A name that no other job has.
fn name(what: &str) -> String {
    static LAST: AtomicU64 = AtomicU64::new(0);
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |d| d.as_micros());
    format!("{what}-{now}-{}-{}", std::process::id(), LAST.fetch_add(1, Ordering::Relaxed))
}
