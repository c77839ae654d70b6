//! Files that are either the old or the new one, never half of either.

use crate::{Error, FORMAT_VERSION, Result};
use serde::{Serialize, de::DeserializeOwned};
use sha2::{Digest, Sha256};
use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

/// The largest manifest that is read, bytes: hostile input must not fill the memory.
pub const MAX_MANIFEST_BYTES: u64 = 64 << 20;

/// Replaces `path` by `bytes`: written beside it, synced, renamed over it, folder synced.
pub fn write_atomic(path: &Path, bytes: &[u8]) -> Result<()> {
    let tmp = temporary_beside(path);
    let write = || -> std::io::Result<()> {
        let mut f = File::create(&tmp)?;
        f.write_all(bytes)?;
        f.sync_all()?;
        fs::rename(&tmp, path)?;
        sync_parent(path)
    };
    write().map_err(|e| {
        let _ = fs::remove_file(&tmp);
        Error::io(path, "could not write")(e)
    })
}

/// A name in the same folder (so that a rename is atomic), unique to this process.
#[must_use]
pub fn temporary_beside(path: &Path) -> PathBuf {
    let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    path.with_file_name(format!(".{name}.{}.tmp", ulid::Ulid::new()))
}

/// Makes a rename in `path`'s folder durable.
pub fn sync_parent(path: &Path) -> std::io::Result<()> {
    match path.parent().filter(|p| !p.as_os_str().is_empty()) {
        Some(dir) => File::open(dir)?.sync_all(),
        None => Ok(()),
    }
}

/// Writes `value` as pretty JSON with a final newline, atomically.
pub fn write_json<T: Serialize>(path: &Path, value: &T) -> Result<()> {
    let mut bytes = serde_json::to_vec_pretty(value).map_err(|e| Error::Parse { path: path.into(), line: None, message: e.to_string() })?;
    bytes.push(b'\n');
    write_atomic(path, &bytes)
}

/// Reads a whole text file of at most `max` bytes.
pub fn read_limited(path: &Path, max: u64) -> Result<Vec<u8>> {
    let f = File::open(path).map_err(Error::io(path, "could not open"))?;
    let mut bytes = Vec::new();
    f.take(max + 1).read_to_end(&mut bytes).map_err(Error::io(path, "could not read"))?;
    if bytes.len() as u64 > max {
        return Err(Error::Parse { path: path.into(), line: None, message: format!("larger than {max} bytes; this is not such a file") });
    }
    Ok(bytes)
}

/// Reads a JSON file without a format version.
pub fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T> {
    let bytes = read_limited(path, MAX_MANIFEST_BYTES)?;
    serde_json::from_slice(&bytes).map_err(|e| parse_error(path, &e))
}

/// Reads a manifest: its `format_version` is looked at first, so that a newer one gets
/// [`Error::Version`] and not a complaint about some field.
pub fn read_manifest<T: DeserializeOwned>(path: &Path) -> Result<T> {
    #[derive(serde::Deserialize)]
    struct Versioned {
        format_version: u64,
    }
    let bytes = read_limited(path, MAX_MANIFEST_BYTES)?;
    let v: Versioned = serde_json::from_slice(&bytes).map_err(|e| parse_error(path, &e))?;
    if v.format_version != u64::from(FORMAT_VERSION) {
        return Err(Error::Version { path: path.into(), found: v.format_version, wanted: FORMAT_VERSION });
    }
    serde_json::from_slice(&bytes).map_err(|e| parse_error(path, &e))
}

fn parse_error(path: &Path, e: &serde_json::Error) -> Error {
    Error::Parse {
        path: path.into(),
        line: Some(e.line() as u64),
        message: format!("not a valid file of its kind: {e}; put a good copy in its place"),
    }
}

/// SHA-256 of a file, lower-case hexadecimal.
pub fn sha256_file(path: &Path) -> Result<String> {
    let mut f = File::open(path).map_err(Error::io(path, "could not open"))?;
    let mut h = Sha256::new();
    let mut buf = vec![0; 1 << 20];
    loop {
        let n = f.read(&mut buf).map_err(Error::io(path, "could not read"))?;
        if n == 0 {
            return Ok(hex(&h.finalize()));
        }
        h.update(&buf[..n]);
    }
}

/// SHA-256 of bytes, lower-case hexadecimal.
#[must_use]
pub fn sha256_bytes(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut s, b| {
        let _ = write!(s, "{b:02x}");
        s
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, serde::Serialize, serde::Deserialize, PartialEq)]
    struct M {
        format_version: u32,
        name: String,
    }

    #[test]
    fn a_newer_version_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let p = dir.path().join("m.json");
        write_json(&p, &M { format_version: 99, name: "x".into() }).unwrap();
        let e = read_manifest::<M>(&p).unwrap_err().to_string();
        assert!(e.contains("m.json") && e.contains("99"), "{e}");
    }

    #[test]
    fn a_truncated_manifest_names_file_and_line() {
        let dir = tempfile::tempdir().unwrap();
        let p = dir.path().join("m.json");
        fs::write(&p, "{\n \"format_version\": 1,\n \"na").unwrap();
        let e = read_manifest::<M>(&p).unwrap_err().to_string();
        assert!(e.contains("m.json:3") && e.contains("a good copy"), "{e}");
    }

    #[test]
    fn a_failed_write_leaves_the_old_file_and_no_rubbish() {
        let dir = tempfile::tempdir().unwrap();
        let p = dir.path().join("sub");
        fs::create_dir(&p).unwrap();
        fs::write(p.join("keep"), "x").unwrap();
        assert!(write_atomic(&p, b"new").is_err(), "a folder can't be replaced by a file");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn sha256_is_the_standard_one() {
        assert_eq!(sha256_bytes(b"abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }
}
