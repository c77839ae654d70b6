//! Where a job keeps its shares and notes: below `.cache/jobs` of the corpus, in a folder or in storage.

use anyhow::{Context, Result};
use redline_publish::Storage;
use redline_schemas::fsio;
use std::path::{Component, Path, PathBuf};

/// Files of one job.
#[derive(Debug, Clone)]
pub enum Shelf {
    /// In a folder that all machines see.
    Folder(PathBuf),
    /// In storage, below a folder of it.
    Storage(Storage, String),
}

impl Shelf {
    /// The shelf of a job of the corpus at `place`.
    pub fn of(place: &str, job: &str) -> Result<Self> {
        // Names come over the wire, and must not lead out of the folder.
        let plain = Path::new(job).components().all(|c| matches!(c, Component::Normal(_)));
        anyhow::ensure!(plain, "{job}: no name for a job");
        let below = format!(".cache/jobs/{job}");
        Ok(if place.contains("://") { Self::Storage(Storage::open(place)?, below) } else { Self::Folder(Path::new(place).join(below)) })
    }

    /// Writes a file, whole or not at all.
    pub fn put(&self, name: &str, bytes: &[u8]) -> Result<()> {
        match self {
            Self::Folder(dir) => {
                let path = dir.join(name);
                if let Some(parent) = path.parent() {
                    std::fs::create_dir_all(parent).with_context(|| format!("{}: could not be made", parent.display()))?;
                }
                Ok(fsio::write_atomic(&path, bytes)?)
            }
            Self::Storage(s, below) => Ok(s.put(&format!("{below}/{name}"), bytes.to_vec())?),
        }
    }

    /// Reads a file; `None` when it is not there.
    pub fn get(&self, name: &str) -> Result<Option<Vec<u8>>> {
        match self {
            Self::Folder(dir) => match std::fs::read(dir.join(name)) {
                Ok(bytes) => Ok(Some(bytes)),
                Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
                Err(e) => Err(e).with_context(|| format!("{}: could not be read", dir.join(name).display())),
            },
            Self::Storage(s, below) => Ok(s.get(&format!("{below}/{name}"))?),
        }
    }

    /// How many files a folder has.
    pub fn count(&self, folder: &str) -> Result<usize> {
        match self {
            Self::Folder(dir) => {
                Ok(std::fs::read_dir(dir.join(folder)).map_or(0, |d| d.flatten().filter(|e| !hidden(&e.file_name())).count()))
            }
            Self::Storage(s, below) => Ok(s.count(&format!("{below}/{folder}"))?),
        }
    }

    /// Removes the job's files.
    pub fn remove(&self) -> Result<()> {
        match self {
            Self::Folder(dir) => match std::fs::remove_dir_all(dir) {
                Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
                    Err(e).with_context(|| format!("{}: could not be removed", dir.display()))
                }
                _ => Ok(()),
            },
            Self::Storage(s, below) => Ok(s.remove_below(below)?),
        }
    }
}

/// A file that is still being written.
fn hidden(name: &std::ffi::OsStr) -> bool {
    name.to_string_lossy().starts_with('.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_has_its_own_files_and_no_others() {
        let dir = tempfile::tempdir().unwrap();
        let place = dir.path().to_str().unwrap();
        let s = Shelf::of(place, "pack-1").unwrap();
        assert_eq!((s.get("done/1").unwrap(), s.count("done").unwrap()), (None, 0));
        s.put("done/1", b"a").unwrap();
        s.put("done/2", b"b").unwrap();
        assert_eq!((s.get("done/1").unwrap().as_deref(), s.count("done").unwrap()), (Some(&b"a"[..]), 2));
        assert!(Shelf::of(place, "../pack-1").is_err() && Shelf::of(place, "/etc").is_err());
        s.remove().unwrap();
        s.remove().unwrap();
        assert!(!dir.path().join(".cache/jobs/pack-1").exists());
    }
}
