//! Work on a corpus in storage task by task: each copies what it reads, and forgets it.

use crate::{Error, Result, Scratch, Storage, scratch_limit};
use redline_dataset::pack::{Common, Engine, Here, Parts, SessionInfo, Task};
use redline_schemas::Corpus;
use std::sync::{Arc, Mutex, PoisonError};

/// What one task reads, on this machine until it is dropped.
#[derive(Debug)]
pub struct Bench {
    corpus: Corpus,
    _copy: Scratch,
}

impl Bench {
    /// A corpus that has what the task reads.
    #[must_use]
    pub fn corpus(&self) -> &Corpus {
        &self.corpus
    }
}

/// Benches for tasks on a corpus in storage.
#[derive(Debug)]
pub struct Benches {
    from: Storage,
    /// Bytes of one task's copy.
    limit: u64,
    /// That of the newest piece of a large stream, by table and session: the next piece has the same.
    large: Mutex<Option<(String, Arc<Bench>)>>,
}

impl Benches {
    /// For the corpus at `from`, and `tasks` at a time: all copies together have at most [`scratch_limit`] bytes.
    pub fn new(from: Storage, tasks: usize) -> Result<Self> {
        Ok(Self { from, limit: scratch_limit()? / tasks.max(1) as u64, large: Mutex::new(None) })
    }

    /// Copies what `task` reads.
    pub fn for_task(&self, task: &Task) -> Result<Arc<Bench>> {
        // Held while a large one is copied: who needs the same waits for it.
        let mut large = self.large.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(session) = task.piece_of() else {
            *large = None;
            drop(large);
            return self.fetch(task);
        };
        let name = format!("{} of {session}", task.table);
        if let Some((_, bench)) = large.as_ref().filter(|(n, _)| *n == name) {
            return Ok(Arc::clone(bench));
        }
        *large = None;
        let bench = self.fetch(task)?;
        *large = Some((name, Arc::clone(&bench)));
        Ok(bench)
    }

    fn fetch(&self, task: &Task) -> Result<Arc<Bench>> {
        let sessions = task.sessions.iter().map(SessionInfo::folder);
        let models = task.models.iter().map(|m| format!("models/{m}"));
        let folders: Vec<String> = sessions.chain(models).collect();
        let copy = Scratch::fetch_folders(&self.from, &folders, &|name| task.reads(name), self.limit).map_err(|e| {
            match (e, folders.as_slice()) {
                (Error::TooLarge { bytes, limit, .. }, [first, others @ ..]) => {
                    let more = if others.is_empty() { String::new() } else { format!(" and {} more", others.len()) };
                    Error::TooLarge { address: self.from.name(first) + &more, bytes, limit }
                }
                (e, _) => e,
            }
        })?;
        Ok(Arc::new(Bench { corpus: Corpus::open(copy.path()).map_err(redline_dataset::Error::from)?, _copy: copy }))
    }
}

/// This process with all its threads, which copy what each task reads: for a corpus that is larger than this machine's disk.
#[derive(Debug)]
pub struct Fetching(Arc<Benches>);

impl Fetching {
    /// For the corpus at `from`.
    pub fn new(from: Storage) -> Result<Self> {
        Ok(Self(Arc::new(Benches::new(from, Here::threads())?)))
    }
}

impl Engine for Fetching {
    /// `corpus` may be an outline: the rows are made of copies.
    fn parts(&self, _: &Corpus, common: &Arc<Common>, tasks: Vec<Task>) -> redline_dataset::Result<Parts> {
        let (benches, common) = (Arc::clone(&self.0), Arc::clone(common));
        Ok(Here::each(tasks, move |task| {
            let bench = benches.for_task(&task).map_err(|e| redline_dataset::Error::Refused(e.to_string()))?;
            task.work(bench.corpus(), &common)
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use object_store::memory::InMemory;

    fn task(session: &str, start: u64, end: u64) -> Task {
        let text = format!(
            r#"{{"table":"events","sessions":[{{"id":"{session}","kind":"request","started_utc":"2026-03-01T10:00:00Z"}}],
                "spans":[{{"session":0,"start":{start},"end":{end},"file_len":8}}]}}"#
        );
        serde_json::from_str(&text).unwrap()
    }

    #[test]
    fn pieces_of_a_large_stream_share_one_copy_and_whole_streams_have_their_own() {
        let at = Storage::with_store(Arc::new(InMemory::new()), "gears", "s3://test/gears").unwrap();
        for file in ["corpus.json", "requests/R1/input.jsonl", "requests/R1/commands.jsonl", "requests/R2/input.jsonl"] {
            at.put(file, vec![b' '; 8]).unwrap();
        }
        let benches = Benches { from: at, limit: 16, large: Mutex::new(None) };
        let [a, b, other, again] =
            [("R1", 0, 4), ("R1", 4, 8), ("R2", 0, 4), ("R1", 0, 4)].map(|(s, from, to)| benches.for_task(&task(s, from, to)).unwrap());
        assert!(Arc::ptr_eq(&a, &b) && !Arc::ptr_eq(&b, &other) && !Arc::ptr_eq(&a, &again));
        let there = |b: &Bench, file: &str| b.corpus().root().join(file).exists();
        assert!(there(&a, "requests/R1/input.jsonl") && !there(&a, "requests/R1/commands.jsonl") && !there(&a, "requests/R2/input.jsonl"));
        let [c, d] = [(); 2].map(|()| benches.for_task(&task("R1", 0, 8)).unwrap());
        assert!(!Arc::ptr_eq(&c, &d));
        let gone = d.corpus().root().to_owned();
        drop(d);
        assert!(!gone.exists());
    }
}
