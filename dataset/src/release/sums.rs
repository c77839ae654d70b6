//! `SHA256SUMS`, and `redline verify`.

use crate::{Error, Result};
use rayon::prelude::*;
use redline_schemas::fsio;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

/// The file with the checksums of all others.
pub const SUMS_FILE: &str = "SHA256SUMS";

/// The largest `SHA256SUMS` that is read, bytes.
const MAX_SUMS_BYTES: u64 = 1 << 30;

/// What is wrong with a file of a release.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Damage {
    /// Its bytes are not those that were released.
    Changed,
    /// It is not there.
    Missing,
    /// It is there and was not released.
    Extra,
    /// It could not be read.
    Unreadable,
}

/// What [`verify`] found.
#[derive(Debug, Clone, Serialize)]
pub struct Verified {
    /// Files that the release has.
    pub files: usize,
    /// Bytes hashed.
    pub bytes: u64,
    /// Path and damage, sorted; empty for an intact release.
    pub damaged: Vec<(String, Damage)>,
}

/// All regular files (and anything odd, such as links) below `dir`, with `/` in the paths.
pub(crate) fn files_below(dir: &Path) -> Result<Vec<String>> {
    let (mut found, mut todo) = (Vec::new(), vec![PathBuf::new()]);
    while let Some(rel) = todo.pop() {
        let here = dir.join(&rel);
        for e in std::fs::read_dir(&here).map_err(Error::io(&here, "could not list"))? {
            let e = e.map_err(Error::io(&here, "could not list"))?;
            let path = rel.join(e.file_name());
            if e.file_type().map_err(Error::io(dir.join(&path), "could not look at"))?.is_dir() {
                todo.push(path);
            } else {
                found.push(path.components().map(|c| c.as_os_str().to_string_lossy()).collect::<Vec<_>>().join("/"));
            }
        }
    }
    found.sort();
    Ok(found)
}

/// Writes `SHA256SUMS` over everything in `dir`, and over what lies elsewhere.
pub(super) fn write(dir: &Path, elsewhere: &BTreeMap<String, String>) -> Result<usize> {
    let files: Vec<String> = files_below(dir)?.into_iter().filter(|f| f != SUMS_FILE).collect();
    let mut sums: BTreeMap<String, String> =
        files.par_iter().map(|f| Ok((f.clone(), fsio::sha256_file(&dir.join(f))?))).collect::<Result<_>>()?;
    sums.extend(elsewhere.clone());
    fsio::write_atomic(&dir.join(SUMS_FILE), text(&sums).as_bytes())?;
    Ok(sums.len())
}

fn text(sums: &BTreeMap<String, String>) -> String {
    sums.iter().map(|(path, hash)| format!("{hash}  {path}\n")).collect()
}

/// Path → hash, as `SHA256SUMS` says.
pub fn read(dir: &Path) -> Result<BTreeMap<String, String>> {
    let path = dir.join(SUMS_FILE);
    if !path.is_file() {
        return Err(redline_schemas::Error::Missing {
            path: dir.into(),
            message: format!("not a release (no {SUMS_FILE} in it), or an incomplete download"),
        }
        .into());
    }
    parse(&path, &fsio::read_limited(&path, MAX_SUMS_BYTES)?)
}

/// Path → hash from the text of a `SHA256SUMS`; `path` names it in errors.
pub fn parse(path: &Path, bytes: &[u8]) -> Result<BTreeMap<String, String>> {
    let bad = |line: usize| redline_schemas::Error::Parse {
        path: path.into(),
        line: Some(line as u64),
        message: "not as it was written: download it again".into(),
    };
    let all = std::str::from_utf8(bytes).map_err(|_| bad(1))?;
    let mut sums = BTreeMap::new();
    for (i, line) in all.lines().enumerate() {
        let (hash, file) = line.split_once("  ").ok_or_else(|| bad(i + 1))?;
        let hex = hash.len() == 64 && hash.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
        let inside = !file.is_empty() && Path::new(file).components().all(|c| matches!(c, Component::Normal(_)));
        if !hex || !inside {
            return Err(bad(i + 1).into());
        }
        sums.insert(file.to_owned(), hash.to_owned());
    }
    // Anything that parses but was not written like this has been changed.
    if text(&sums) != all {
        return Err(bad(all.lines().count().max(1)).into());
    }
    Ok(sums)
}

/// Checks every file of a release against its checksum, and that there is no other file.
///
/// `progress` gets the files done and their number, from any thread.
pub fn verify(dir: &Path, progress: &(dyn Fn(usize, usize) + Sync)) -> Result<Verified> {
    let sums = read(dir)?;
    let done = std::sync::atomic::AtomicUsize::new(0);
    let checked: Vec<(u64, Option<(String, Damage)>)> = sums
        .par_iter()
        .map(|(file, hash)| {
            let path = dir.join(file);
            let found = match std::fs::symlink_metadata(&path) {
                Err(e) if e.kind() == std::io::ErrorKind::NotFound => (0, Some(Damage::Missing)),
                Err(_) => (0, Some(Damage::Unreadable)),
                Ok(m) if !m.is_file() => (0, Some(Damage::Changed)),
                Ok(m) => match fsio::sha256_file(&path) {
                    Ok(h) if h == *hash => (m.len(), None),
                    Ok(_) => (m.len(), Some(Damage::Changed)),
                    Err(_) => (0, Some(Damage::Unreadable)),
                },
            };
            progress(done.fetch_add(1, std::sync::atomic::Ordering::Relaxed) + 1, sums.len());
            (found.0, found.1.map(|d| (file.clone(), d)))
        })
        .collect();
    let bytes = checked.iter().map(|c| c.0).sum();
    let mut damaged: Vec<_> = checked.into_iter().filter_map(|c| c.1).collect();
    damaged.extend(files_below(dir)?.into_iter().filter(|f| f != SUMS_FILE && !sums.contains_key(f)).map(|f| (f, Damage::Extra)));
    damaged.sort();
    Ok(Verified { files: sums.len(), bytes, damaged })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn made() -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for (path, bytes) in [("a.txt", &b"a"[..]), ("tables/test/b.parquet", &[0, 255, 7, 10, 13]), ("empty", b"")] {
            let path = dir.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, bytes).unwrap();
        }
        assert_eq!(write(dir.path(), &BTreeMap::new()).unwrap(), 3);
        dir
    }

    proptest! {
        #[test]
        fn any_changed_added_or_lost_byte_of_any_file_is_found(
            which in any::<prop::sample::Index>(), at in any::<prop::sample::Index>(), bits in 1_u8.., how in 0..3
        ) {
            let dir = made();
            let whole = verify(dir.path(), &|_, _| {}).unwrap().damaged;
            prop_assert!(whole.is_empty(), "{:?}", whole);
            let files = files_below(dir.path()).unwrap();
            let path = dir.path().join(which.get(&files));
            let mut bytes = std::fs::read(&path).unwrap();
            match how {
                0 if !bytes.is_empty() => *at.get_mut(&mut bytes) ^= bits,
                1 if !bytes.is_empty() => {
                    bytes.remove(at.index(bytes.len()));
                }
                _ => bytes.insert(at.index(bytes.len() + 1), bits),
            }
            std::fs::write(&path, &bytes).unwrap();
            let found = verify(dir.path(), &|_, _| {});
            prop_assert!(found.is_err() || !found.unwrap().damaged.is_empty(), "{} {}", path.display(), how);
        }
    }
}
