//! Packing on the cluster: workers make the rows, this process writes them.

use crate::client;
use crate::shares::{Form, Shares, SharesTable};
use anyhow::{Context, Result, anyhow};
use datafusion::arrow::array::{AsArray, RecordBatch};
use datafusion::arrow::datatypes::UInt64Type;
use datafusion::arrow::ipc::reader::StreamReader;
use datafusion::execution::SendableRecordBatchStream;
use futures::StreamExt as _;
use redline_dataset::pack::{Common, Engine, Part, Parts, Task};
use redline_schemas::Corpus;
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Handle;

/// Shares of a table at most: enough for a hundred workers to end at about the same time.
const SHARES: usize = 500;

/// A scheduler with its workers.
#[derive(Debug)]
pub struct Cluster {
    /// Where the scheduler listens.
    pub scheduler: SocketAddr,
    /// The corpus, as all machines know it.
    pub place: String,
    /// The threads that talk to the scheduler. Not to be used from one of them.
    pub handle: Handle,
}

impl Engine for Cluster {
    fn parts(&self, _: &Corpus, common: &Arc<Common>, tasks: Vec<Task>) -> redline_dataset::Result<Parts> {
        self.start(common, &tasks).map(|p| Box::new(p) as Parts).map_err(refused)
    }
}

fn refused(e: anyhow::Error) -> redline_dataset::Error {
    redline_dataset::Error::Refused(format!("the cluster: {e:#}"))
}

impl Cluster {
    fn start(&self, common: &Common, tasks: &[Task]) -> Result<Coming> {
        let shares = Shares::of_tasks(&self.place, Form::Parts, common, tasks, SHARES)?;
        let job = Job::watched(shares.clone(), tasks.first().map_or("", |t| t.table.as_str()), &self.handle)?;
        let stream = self.handle.block_on(async {
            let ctx = client::connect(self.scheduler, shares.count).await?;
            let frame = ctx.read_table(Arc::new(SharesTable::new(shares)?))?;
            anyhow::Ok(frame.execute_stream().await?)
        })?;
        Ok(Coming {
            stream,
            handle: self.handle.clone(),
            next: 0,
            total: tasks.len() as u64,
            pieces: VecDeque::new(),
            failed: false,
            _job: job,
        })
    }
}

/// A job whose files go away with it, and whose progress is told.
struct Job {
    shares: Shares,
    watch: tokio::task::JoinHandle<()>,
}

impl Job {
    /// Says on standard error how many shares the workers have made, all of them together.
    fn watched(shares: Shares, table: &str, handle: &Handle) -> Result<Self> {
        let (shelf, total, table) = (shares.shelf()?, shares.count, table.to_owned());
        let watch = handle.spawn(async move {
            let mut before = 0;
            loop {
                tokio::time::sleep(Duration::from_secs(1)).await;
                let shelf = shelf.clone();
                if let Ok(Ok(now)) = tokio::task::spawn_blocking(move || shelf.count("done")).await
                    && now != before
                {
                    eprintln!("{table}: {now} of {total} shares");
                    before = now;
                }
            }
        });
        Ok(Self { shares, watch })
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        self.watch.abort();
        if let Err(e) = self.shares.shelf().and_then(|s| s.remove()) {
            tracing::warn!("job {}: its files could not be removed: {e:#}", self.shares.job);
        }
    }
}

/// Parts as they come back.
struct Coming {
    stream: SendableRecordBatchStream,
    handle: Handle,
    /// The task whose part is next.
    next: u64,
    total: u64,
    /// Rows that came and are not used yet.
    pieces: VecDeque<Piece>,
    failed: bool,
    _job: Job,
}

struct Piece {
    task: u64,
    torn: String,
    bytes: Vec<u8>,
}

impl Coming {
    /// One part: all pieces of the next task.
    fn part(&mut self) -> Result<Option<Part>> {
        let (mut bytes, mut torn) = (Vec::new(), String::new());
        while let Some(p) = self.piece()? {
            if p.task != self.next {
                anyhow::ensure!(p.task == self.next + 1, "part {} came where {} was expected", p.task, self.next);
                self.pieces.push_front(p);
                break;
            }
            bytes.extend(p.bytes);
            torn = p.torn;
        }
        if self.next == self.total {
            anyhow::ensure!(bytes.is_empty(), "more parts than tasks came back");
            return Ok(None);
        }
        anyhow::ensure!(!bytes.is_empty(), "part {} of {} did not come back", self.next, self.total);
        self.next += 1;
        let mut batches = StreamReader::try_new(bytes.as_slice(), None)?;
        let batch = batches.next().context("a part without rows came back")??;
        Ok(Some(Part { batch, torn: serde_json::from_str(&torn)? }))
    }

    fn piece(&mut self) -> Result<Option<Piece>> {
        while self.pieces.is_empty() {
            let Some(batch) = self.handle.block_on(self.stream.next()) else { return Ok(None) };
            self.pieces.extend(pieces(&batch?)?);
        }
        Ok(self.pieces.pop_front())
    }
}

fn pieces(batch: &RecordBatch) -> Result<Vec<Piece>> {
    let other = || anyhow!("parts of another version came back");
    let [task, torn, bytes] = batch.columns() else { return Err(other()) };
    let task = task.as_primitive_opt::<UInt64Type>().with_context(other)?;
    let (torn, bytes) = (torn.as_string_opt::<i32>().with_context(other)?, bytes.as_binary_opt::<i32>().with_context(other)?);
    let row = |i| Piece { task: task.value(i), torn: torn.value(i).to_owned(), bytes: bytes.value(i).to_vec() };
    Ok((0..batch.num_rows()).map(row).collect())
}

impl Iterator for Coming {
    type Item = redline_dataset::Result<Part>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed {
            return None;
        }
        let part = self.part().map_err(refused).transpose();
        self.failed = matches!(part, Some(Err(_)));
        part
    }
}
