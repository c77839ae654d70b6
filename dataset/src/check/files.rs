//! Files named in manifests, and what lies in a folder.

use super::finding::Findings;
use super::rule::{FILE_HASH, FILE_MISSING, FILE_PATH, FILE_SIZE, LINK};
use redline_schemas::{FileRef, fsio};
use std::fs::Metadata;
use std::path::{Component, Path, PathBuf};

/// Folders are followed this deep.
const MAX_DEPTH: usize = 8;

/// The file for a path in a manifest, when it is a plain one below `dir`.
pub(super) fn resolve(f: &mut Findings, manifest: &Path, dir: &Path, rel: &str) -> Option<(PathBuf, Metadata)> {
    let plain = !rel.is_empty() && !rel.contains('\\') && !rel.contains('\0');
    if !plain || !Path::new(rel).components().all(|c| matches!(c, Component::Normal(_))) {
        f.add(FILE_PATH, manifest, format!("“{rel}” is not a path below this folder"));
        return None;
    }
    let mut at = dir.to_path_buf();
    let mut meta = None;
    for c in Path::new(rel).components() {
        at.push(c);
        match std::fs::symlink_metadata(&at) {
            Ok(m) if m.file_type().is_symlink() => {
                f.add(LINK, &at, format!("“{rel}” leads over a symbolic link"));
                return None;
            }
            Ok(m) => meta = Some(m),
            Err(e) => {
                f.add(FILE_MISSING, manifest, format!("“{rel}”: {e}"));
                return None;
            }
        }
    }
    let meta = meta?;
    if !meta.is_file() {
        f.add(LINK, &at, format!("“{rel}” is no regular file"));
        return None;
    }
    Some((at, meta))
}

/// Checks a file against its reference; its path when it is there and safe to read.
pub(super) fn file_ref(f: &mut Findings, manifest: &Path, dir: &Path, r: &FileRef, hash: bool) -> Option<PathBuf> {
    let (path, meta) = resolve(f, manifest, dir, &r.path)?;
    if meta.len() != r.bytes {
        f.add(FILE_SIZE, &path, format!("{} bytes, but {} recorded", meta.len(), r.bytes));
    } else if hash {
        sha256(f, &path, &r.sha256);
    }
    Some(path)
}

/// Checks a file's hash.
pub(super) fn sha256(f: &mut Findings, path: &Path, want: &str) {
    match fsio::sha256_file(path) {
        Ok(h) if h == want => {}
        Ok(h) => f.add(FILE_HASH, path, format!("SHA-256 {h}, but {want} recorded")),
        Err(e) => f.add(FILE_MISSING, path, e.to_string()),
    }
}

/// All regular files below `dir`; links and the like are findings and not followed.
pub(super) fn walk(f: &mut Findings, dir: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut open = vec![(dir.to_path_buf(), 0)];
    while let Some((d, depth)) = open.pop() {
        let entries = match std::fs::read_dir(&d) {
            Ok(e) => e,
            Err(e) => {
                f.add(FILE_MISSING, &d, format!("could not list: {e}"));
                continue;
            }
        };
        for e in entries.flatten() {
            let path = e.path();
            match e.file_type() {
                Ok(t) if t.is_file() => files.push(path),
                Ok(t) if t.is_dir() && depth < MAX_DEPTH => open.push((path, depth + 1)),
                Ok(t) if t.is_dir() => f.add(FILE_PATH, &path, format!("more than {MAX_DEPTH} folders deep; not looked into")),
                _ => f.add(LINK, &path, "neither a regular file nor a folder"),
            }
        }
    }
    files.sort();
    files
}
