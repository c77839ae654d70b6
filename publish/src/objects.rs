//! Small objects in storage: notes that processes on several machines leave for each other.

use crate::{AT_A_TIME, Error, Result, Storage};
use futures::{StreamExt, TryStreamExt, stream};
use object_store::{ObjectStore, ObjectStoreExt};

impl Storage {
    /// Writes a small object, over what is there.
    pub fn put(&self, file: &str, bytes: Vec<u8>) -> Result<()> {
        let object = self.object(file)?;
        self.apart(async {
            self.store.put(&object, bytes.into()).await.map(|_| ()).map_err(Error::store(self.name(file), "could not upload"))
        })
    }

    /// Reads a small object; `None` when it is not there.
    pub fn get(&self, file: &str) -> Result<Option<Vec<u8>>> {
        let object = self.object(file)?;
        let failed = || Error::store(self.name(file), "could not read");
        self.apart(async {
            match self.store.get(&object).await {
                Ok(got) => Ok(Some(got.bytes().await.map_err(failed())?.to_vec())),
                Err(object_store::Error::NotFound { .. }) => Ok(None),
                Err(e) => Err(failed()(e)),
            }
        })
    }

    /// Whether an object is there.
    pub fn has(&self, file: &str) -> Result<bool> {
        let object = self.object(file)?;
        self.apart(async {
            match self.store.head(&object).await {
                Ok(_) => Ok(true),
                Err(object_store::Error::NotFound { .. }) => Ok(false),
                Err(e) => Err(Error::store(self.name(file), "could not look at")(e)),
            }
        })
    }

    /// How many objects lie below a folder.
    pub fn count(&self, folder: &str) -> Result<usize> {
        let prefix = self.object(folder)?;
        let failed = Error::store(self.name(folder), "could not list what is there");
        self.apart(async { self.store.list(Some(&prefix)).try_fold(0, |n, _| async move { Ok(n + 1) }).await.map_err(failed) })
    }

    /// Removes what lies below a folder.
    pub fn remove_below(&self, folder: &str) -> Result<()> {
        let prefix = self.object(folder)?;
        let failed = || Error::store(self.name(folder), "could not remove");
        self.apart(async {
            let all: Vec<_> = self.store.list(Some(&prefix)).map_ok(|o| o.location).try_collect().await.map_err(failed())?;
            let remove = |o| async move { self.store.delete(&o).await };
            stream::iter(all).map(remove).buffer_unordered(AT_A_TIME).try_collect::<Vec<()>>().await.map_err(failed())?;
            Ok(())
        })
    }

    /// As [`Storage::run`], also where a runtime's own thread calls it.
    fn apart<T: Send>(&self, work: impl Future<Output = Result<T>> + Send) -> Result<T> {
        std::thread::scope(|s| match s.spawn(|| self.run(work)).join() {
            Ok(done) => done,
            Err(panic) => std::panic::resume_unwind(panic),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use object_store::memory::InMemory;
    use std::sync::Arc;

    #[test]
    fn notes_are_written_read_counted_and_removed_also_inside_of_a_runtime() {
        let at = Storage::with_store(Arc::new(InMemory::new()), "gears", "s3://test/gears").unwrap();
        let runtime = tokio::runtime::Builder::new_multi_thread().build().unwrap();
        runtime.block_on(async {
            assert_eq!(at.get("jobs/a/1").unwrap(), None);
            for (file, bytes) in [("jobs/a/1", "x"), ("jobs/a/2", "y"), ("jobs/b", "z"), ("jobs/a/1", "new")] {
                at.put(file, bytes.into()).unwrap();
            }
            assert_eq!(at.get("jobs/a/1").unwrap().as_deref(), Some(&b"new"[..]));
            assert_eq!(at.count("jobs/a").unwrap(), 2);
            assert_eq!((at.has("jobs/b").unwrap(), at.has("jobs/c").unwrap()), (true, false));
            at.remove_below("jobs/a").unwrap();
            assert_eq!((at.count("jobs/a").unwrap(), at.get("jobs/b").unwrap().is_some()), (0, true));
        });
    }
}
