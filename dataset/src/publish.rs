//! `redline publish`: copies a release to a folder, such as a mounted share.
//!
//! A copy that was cut off goes on where it stopped. The checksums are written last: until they are
//! there, `redline verify` takes the copy for incomplete.

use crate::release::{SUMS_FILE, files_below, read_sums};
use crate::{Error, Result};
use redline_schemas::fsio;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// What was published.
#[derive(Debug, Clone, Serialize)]
pub struct Published {
    /// The folder.
    pub to: PathBuf,
    /// Files copied now.
    pub copied: usize,
    /// Files that were there already with the right bytes.
    pub kept: usize,
}

/// Copies the release in `dir` to the folder `to`; every file is read back and compared with its checksum.
pub fn publish(dir: &Path, to: &Path, progress: &dyn Fn(usize, usize)) -> Result<Published> {
    let sums = read_sums(dir)?;
    std::fs::create_dir_all(to).map_err(Error::io(to, "could not create the folder"))?;
    let there = files_below(to)?;
    let partial = |f: &str| f.rsplit('/').next().is_some_and(|n| n.starts_with('.') && n.ends_with(".tmp"));
    if let Some(other) = there.iter().find(|f| *f != SUMS_FILE && !sums.contains_key(*f) && !partial(f)) {
        return Err(Error::Refused(format!("{}: is no part of this release; publish into a folder of its own", to.join(other).display())));
    }
    if there.iter().any(|f| f == SUMS_FILE) && read_sums(to)? != sums {
        return Err(Error::Refused(format!("{}: holds another release, and a release never changes", to.display())));
    }
    for f in there.iter().filter(|f| partial(f)) {
        std::fs::remove_file(to.join(f)).map_err(Error::io(to.join(f), "could not remove"))?;
    }
    let mut done = Published { to: to.into(), copied: 0, kept: 0 };
    for (i, (file, hash)) in sums.iter().enumerate() {
        progress(i, sums.len());
        let target = to.join(file);
        if target.is_file() && fsio::sha256_file(&target)? == *hash {
            done.kept += 1;
            continue;
        }
        copy(&dir.join(file), &target, hash)?;
        done.copied += 1;
    }
    let text = fsio::read_limited(&dir.join(SUMS_FILE), u64::MAX - 1)?;
    fsio::write_atomic(&to.join(SUMS_FILE), &text)?;
    Ok(done)
}

fn copy(from: &Path, to: &Path, hash: &str) -> Result<()> {
    if let Some(parent) = to.parent() {
        std::fs::create_dir_all(parent).map_err(Error::io(parent, "could not create the folder"))?;
    }
    let part = fsio::temporary_beside(to);
    let copied = (|| {
        std::fs::copy(from, &part).map_err(Error::io(from, "could not copy"))?;
        if fsio::sha256_file(&part)? != hash {
            return Err(Error::Refused(format!("{}: not as released: `redline verify` the release", from.display())));
        }
        std::fs::rename(&part, to).map_err(Error::io(to, "could not put in place"))
    })();
    if copied.is_err() {
        let _ = std::fs::remove_file(&part);
    }
    copied
}
