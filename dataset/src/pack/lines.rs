//! Reads JSON Lines in parts that are parsed independently: whole small files together, large ones in pieces.

use super::sessions::SessionInfo;
use crate::{Error, Result};
use redline_schemas::{Corpus, SessionDir, jsonl::MAX_LINE_BYTES};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// Bytes of JSON Lines that one task parses. Fixed, so that the packed bytes don't depend on the machine.
pub(super) const PART_BYTES: u64 = 4 << 20;

/// Lines of one session's stream: those whose first byte lies in `start..end`.
#[derive(Debug, Clone)]
pub(super) struct Piece {
    pub path: PathBuf,
    pub start: u64,
    pub end: u64,
}

/// Which bytes of a session's stream belong to a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Span {
    /// Index into the task's sessions.
    pub session: usize,
    pub start: u64,
    pub end: u64,
    pub file_len: u64,
}

impl Span {
    /// Whether it is a part of a larger file.
    pub(super) fn is_part(&self) -> bool {
        self.start > 0 || self.end < self.file_len
    }
}

/// Splits a stream of all sessions into tasks; a task is either whole files or one span of a large file.
pub(super) fn plan(
    corpus: &Corpus,
    sessions: &[SessionInfo],
    file: fn(&SessionDir) -> PathBuf,
) -> Result<Vec<(Vec<SessionInfo>, Vec<Span>)>> {
    let mut tasks = Vec::new();
    let (mut small, mut small_bytes) = ((Vec::new(), Vec::new()), 0);
    for s in sessions {
        let path = file(&s.dir(corpus));
        let len = match std::fs::metadata(&path) {
            Ok(m) => m.len(),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => continue,
            Err(e) => return Err(Error::io(path, "could not look at")(e)),
        };
        if len == 0 {
            continue;
        }
        if small_bytes + len > PART_BYTES && !small.0.is_empty() {
            tasks.push(std::mem::take(&mut small));
            small_bytes = 0;
        }
        if len > PART_BYTES {
            let starts = (0..len).step_by(PART_BYTES as usize);
            let span = |start| Span { session: 0, start, end: (start + PART_BYTES).min(len), file_len: len };
            tasks.extend(starts.map(|start| (vec![s.clone()], vec![span(start)])));
        } else {
            small.1.push(Span { session: small.0.len(), start: 0, end: len, file_len: len });
            small.0.push(s.clone());
            small_bytes += len;
        }
    }
    if !small.0.is_empty() {
        tasks.push(small);
    }
    Ok(tasks)
}

impl Piece {
    /// Calls `each` for every line that is not blank; `each` says what is wrong with a bad one.
    ///
    /// A torn last line of the file is dropped; its length is returned.
    pub(super) fn for_each_line(&self, buf: &mut Vec<u8>, mut each: impl FnMut(&[u8]) -> Result<(), String>) -> Result<Option<u64>> {
        let first = self.load(buf)?;
        let mut at = first;
        while at < buf.len() {
            let (line, next) = match memchr::memchr(b'\n', &buf[at..]) {
                Some(n) => (&buf[at..at + n], at + n + 1),
                None => {
                    let line = &buf[at..];
                    // A complete object whose newline alone is missing is kept.
                    return match serde_json::from_slice::<serde::de::IgnoredAny>(line).map_err(|e| e.to_string()).and_then(|_| each(line)) {
                        Ok(()) => Ok(None),
                        Err(_) => Ok(Some(line.len() as u64)),
                    };
                }
            };
            if !line.trim_ascii().is_empty() {
                each(line).map_err(|message| self.bad_line(at - first, buf.get(first..).unwrap_or_default(), message))?;
            }
            at = next;
        }
        Ok(None)
    }

    /// Loads the piece's lines into `buf`; where the first one begins.
    fn load(&self, buf: &mut Vec<u8>) -> Result<usize> {
        let mut read = || -> std::io::Result<usize> {
            let mut f = File::open(&self.path)?;
            // The byte before tells whether a line begins at `start`.
            let from = self.start.saturating_sub(1);
            f.seek(SeekFrom::Start(from))?;
            buf.clear();
            (&mut f).take(self.end - from).read_to_end(buf)?;
            let first = if self.start == 0 { 0 } else { memchr::memchr(b'\n', buf).map_or(buf.len(), |n| n + 1) };
            // The last line may reach over the end.
            while first < buf.len() && buf.last() != Some(&b'\n') {
                let before = buf.len();
                (&mut f).take(1 << 16).read_to_end(buf)?;
                if buf.len() == before {
                    break;
                }
                if let Some(n) = memchr::memchr(b'\n', &buf[before..]) {
                    buf.truncate(before + n + 1);
                    break;
                }
                if buf.len() as u64 > self.end - from + MAX_LINE_BYTES {
                    return Err(std::io::Error::other(format!("a line is longer than {MAX_LINE_BYTES} bytes")));
                }
            }
            Ok(first)
        };
        read().map_err(Error::io(&self.path, "could not read"))
    }

    fn bad_line(&self, at: usize, lines: &[u8], message: String) -> Error {
        let before = |p: &Path| -> std::io::Result<u64> {
            let (mut f, mut n, mut buf) = (File::open(p)?.take(self.start), 0, vec![0; 1 << 16]);
            loop {
                match f.read(&mut buf)? {
                    0 => return Ok(n),
                    k => n += memchr::memchr_iter(b'\n', &buf[..k]).count() as u64,
                }
            }
        };
        // A piece that starts inside a line skips to the next one.
        let mid = self.start > 0 && !self.starts_at_line();
        let line = before(&self.path).ok().map(|b| b + u64::from(mid) + memchr::memchr_iter(b'\n', &lines[..at]).count() as u64 + 1);
        redline_schemas::Error::Parse {
            path: self.path.clone(),
            line,
            message: format!("corrupt line ({message}); the lines before and after it are intact: mend or delete this one"),
        }
        .into()
    }

    fn starts_at_line(&self) -> bool {
        let byte = || -> std::io::Result<u8> {
            let mut f = File::open(&self.path)?;
            f.seek(SeekFrom::Start(self.start - 1))?;
            let mut b = [0];
            f.read_exact(&mut b)?;
            Ok(b[0])
        };
        byte().is_ok_and(|b| b == b'\n')
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn pieces(path: &Path, cuts: &[u64]) -> Vec<Piece> {
        let len = std::fs::metadata(path).unwrap().len();
        let mut at: Vec<u64> = cuts.iter().map(|c| c % (len + 1)).chain([0, len]).collect();
        at.sort_unstable();
        at.windows(2).map(|w| Piece { path: path.into(), start: w[0], end: w[1] }).filter(|p| p.start < p.end).collect()
    }

    proptest! {
        #[test]
        fn however_a_file_is_cut_every_line_is_read_once(lines in prop::collection::vec("[0-9]{1,12}", 1..30), cuts in prop::collection::vec(0_u64..400, 0..6)) {
            let dir = tempfile::tempdir().unwrap();
            let p = dir.path().join("s.jsonl");
            std::fs::write(&p, lines.join("\n") + "\n").unwrap();
            let mut got = Vec::new();
            for piece in pieces(&p, &cuts) {
                piece.for_each_line(&mut Vec::new(), |l| { got.push(String::from_utf8(l.to_vec()).unwrap()); Ok(()) }).unwrap();
            }
            prop_assert_eq!(got, lines);
        }

        #[test]
        fn a_bad_line_is_named_by_its_number_in_the_file(bad in 0_usize..20, cuts in prop::collection::vec(0_u64..100, 0..4)) {
            let dir = tempfile::tempdir().unwrap();
            let p = dir.path().join("s.jsonl");
            let text: String = (0..20).map(|i| if i == bad { "bad\n" } else { "123\n" }).collect();
            std::fs::write(&p, text).unwrap();
            let e = pieces(&p, &cuts).iter().find_map(|piece| piece.for_each_line(&mut Vec::new(), |l| if l == b"bad" { Err("no".into()) } else { Ok(()) }).err()).unwrap();
            let want = format!("s.jsonl:{}:", bad + 1);
            prop_assert!(e.to_string().contains(&want), "{} {}", e, want);
        }
    }

    #[test]
    fn a_torn_last_line_is_dropped_and_a_whole_one_kept() {
        let dir = tempfile::tempdir().unwrap();
        let p = dir.path().join("s.jsonl");
        for (text, want, torn) in [("{}\n{\"a\":", 1, Some(5)), ("{}\n{}", 2, None)] {
            std::fs::write(&p, text).unwrap();
            let mut n = 0;
            let t = pieces(&p, &[])[0]
                .for_each_line(&mut Vec::new(), |l| {
                    serde_json::from_slice::<serde_json::Value>(l).map(|_| n += 1).map_err(|e| e.to_string())
                })
                .unwrap();
            assert_eq!((n, t), (want, torn));
        }
    }
}
