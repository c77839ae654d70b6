//! JSON Lines: append-only streams that survive a crash.
//!
//! A writer flushes at least every [`FLUSH_INTERVAL`]; a reader drops a torn last line and says so.

use crate::{Error, Result};
use serde::{Serialize, de::DeserializeOwned};
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The longest time that a written line may stay in memory while lines keep coming;
/// callers that may fall silent call [`Writer::flush_if_due`] from a timer.
pub const FLUSH_INTERVAL: Duration = Duration::from_millis(200);

/// The longest line that is read, bytes.
pub const MAX_LINE_BYTES: u64 = 16 << 20;

/// Appends one JSON object a line.
pub struct Writer<T> {
    path: PathBuf,
    out: BufWriter<File>,
    last_flush: Instant,
    dirty: bool,
    count: u64,
    kind: PhantomData<fn(&T)>,
}

impl<T: Serialize> Writer<T> {
    /// Creates the file; it must not exist.
    pub fn create(path: &Path) -> Result<Self> {
        let f = OpenOptions::new().write(true).create_new(true).open(path).map_err(|e| {
            if e.kind() == std::io::ErrorKind::AlreadyExists {
                Error::Exists { path: path.into() }
            } else {
                Error::io(path, "could not create")(e)
            }
        })?;
        Ok(Self {
            path: path.into(),
            out: BufWriter::with_capacity(1 << 16, f),
            last_flush: Instant::now(),
            dirty: false,
            count: 0,
            kind: PhantomData,
        })
    }

    /// Appends one line, and flushes when it is due.
    pub fn write(&mut self, item: &T) -> Result<()> {
        let mut line =
            serde_json::to_vec(item).map_err(|e| Error::Parse { path: self.path.clone(), line: None, message: e.to_string() })?;
        line.push(b'\n');
        self.out.write_all(&line).map_err(Error::io(&self.path, "could not write"))?;
        self.count += 1;
        self.dirty = true;
        self.flush_if_due()
    }

    /// Flushes when lines have waited for [`FLUSH_INTERVAL`].
    pub fn flush_if_due(&mut self) -> Result<()> {
        if self.dirty && self.last_flush.elapsed() >= FLUSH_INTERVAL { self.flush() } else { Ok(()) }
    }

    /// Hands all lines to the system.
    pub fn flush(&mut self) -> Result<()> {
        self.out.flush().map_err(Error::io(&self.path, "could not write"))?;
        self.last_flush = Instant::now();
        self.dirty = false;
        Ok(())
    }

    /// Lines written.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Flushes, syncs to disk and closes; the number of lines.
    pub fn finish(mut self) -> Result<u64> {
        self.flush()?;
        self.out.get_ref().sync_all().map_err(Error::io(&self.path, "could not sync"))?;
        Ok(self.count)
    }
}

/// Reads lines one by one; see [`Reader::torn`] after the end.
pub struct Reader<T> {
    path: PathBuf,
    input: BufReader<File>,
    buf: Vec<u8>,
    line: u64,
    torn: Option<u64>,
    done: bool,
    kind: PhantomData<fn() -> T>,
}

impl<T: DeserializeOwned> Reader<T> {
    /// Opens the file.
    pub fn open(path: &Path) -> Result<Self> {
        let f = File::open(path).map_err(Error::io(path, "could not open"))?;
        Ok(Self {
            path: path.into(),
            input: BufReader::with_capacity(1 << 16, f),
            buf: Vec::new(),
            line: 0,
            torn: None,
            done: false,
            kind: PhantomData,
        })
    }

    /// Bytes of a torn last line that was dropped, known once the iterator has ended.
    #[must_use]
    pub fn torn(&self) -> Option<u64> {
        self.torn
    }

    /// The number (from 1) of the line read last.
    #[must_use]
    pub fn line(&self) -> u64 {
        self.line
    }

    fn next_line(&mut self) -> Result<Option<T>> {
        loop {
            self.buf.clear();
            let n = std::io::Read::take(&mut self.input, MAX_LINE_BYTES)
                .read_until(b'\n', &mut self.buf)
                .map_err(Error::io(&self.path, "could not read"))?;
            if n == 0 {
                return Ok(None);
            }
            self.line += 1;
            if self.buf.last() != Some(&b'\n') {
                if n as u64 == MAX_LINE_BYTES {
                    return Err(self.bad(format!("longer than {MAX_LINE_BYTES} bytes")));
                }
                // A complete object whose newline alone is missing is kept.
                return match serde_json::from_slice(&self.buf) {
                    Ok(v) => Ok(Some(v)),
                    Err(_) => {
                        self.torn = Some(n as u64);
                        Ok(None)
                    }
                };
            }
            if self.buf.trim_ascii().is_empty() {
                continue;
            }
            return match serde_json::from_slice(&self.buf) {
                Ok(v) => Ok(Some(v)),
                Err(e) => Err(self.bad(format!("corrupt line ({e}); the lines before and after it are intact: mend or delete this one"))),
            };
        }
    }

    fn bad(&self, message: String) -> Error {
        Error::Parse { path: self.path.clone(), line: Some(self.line), message }
    }
}

impl<T: DeserializeOwned> Iterator for Reader<T> {
    type Item = Result<T>;

    /// After a corrupt line the next ones can still be read; after an I/O error nothing follows.
    fn next(&mut self) -> Option<Self::Item> {
        if self.done {
            return None;
        }
        let item = self.next_line().transpose();
        self.done = matches!(item, None | Some(Err(Error::Io { .. })));
        item
    }
}

/// All lines of a file, and the bytes of a torn last line that was dropped.
pub fn read_all<T: DeserializeOwned>(path: &Path) -> Result<(Vec<T>, Option<u64>)> {
    let mut r = Reader::open(path)?;
    let items = r.by_ref().collect::<Result<Vec<T>>>()?;
    Ok((items, r.torn()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn file(text: &[u8]) -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let p = dir.path().join("s.jsonl");
        std::fs::write(&p, text).unwrap();
        (dir, p)
    }

    #[test]
    fn a_torn_last_line_is_dropped_and_reported() {
        let (_d, p) = file(b"[1]\n[2]\n[3");
        let (v, torn) = read_all::<Vec<i32>>(&p).unwrap();
        assert_eq!((v, torn), (vec![vec![1], vec![2]], Some(2)));
    }

    #[test]
    fn a_whole_last_line_without_newline_is_kept() {
        let (_d, p) = file(b"[1]\n[2]");
        assert_eq!(read_all::<Vec<i32>>(&p).unwrap(), (vec![vec![1], vec![2]], None));
    }

    #[test]
    fn a_corrupt_line_in_the_middle_is_an_error_with_its_number_and_the_rest_can_be_read() {
        let (_d, p) = file(b"[1]\n\xff\xfe\n[3]\n");
        let all: Vec<_> = Reader::<Vec<i32>>::open(&p).unwrap().collect();
        assert_eq!(all.len(), 3);
        assert!(all[1].as_ref().unwrap_err().to_string().contains("s.jsonl:2"));
        assert_eq!(all[2].as_ref().unwrap(), &vec![3]);
    }

    #[test]
    fn an_existing_stream_is_never_overwritten() {
        let (_d, p) = file(b"[1]\n");
        assert!(matches!(Writer::<i32>::create(&p), Err(Error::Exists { .. })));
    }

    proptest! {
        #[test]
        fn any_cut_keeps_all_whole_lines(items in prop::collection::vec(".{0,20}", 0..20), cut in 0.0_f64..1.0) {
            let dir = tempfile::tempdir().unwrap();
            let p = dir.path().join("s.jsonl");
            let mut w = Writer::create(&p).unwrap();
            for i in &items { w.write(i).unwrap(); }
            prop_assert_eq!(w.finish().unwrap() as usize, items.len());
            let bytes = std::fs::read(&p).unwrap();
            let cut = (bytes.len() as f64 * cut) as usize;
            std::fs::write(&p, &bytes[..cut]).unwrap();
            let whole = bytes[..cut].iter().filter(|b| **b == b'\n').count();
            let (got, _) = read_all::<String>(&p).unwrap();
            prop_assert!(got.len() == whole || got.len() == whole + 1);
            prop_assert_eq!(&got[..], &items[..got.len()]);
        }
    }
}
