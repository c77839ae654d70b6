//! How media and models get into a release.

use crate::{Error, Result, pack};
use redline_schemas::{Corpus, fsio};
use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

/// Brings media and models into a release.
pub trait Media: std::fmt::Debug + Send + Sync {
    /// Brings `files`, by their paths inside corpus and release, each with its hash where that is known, into the release that is
    /// being made in `to`. What was put elsewhere than into that folder is returned, with its hash.
    ///
    /// A file whose bytes are not those of its hash stops the release.
    fn bring(
        &self,
        corpus: &Corpus,
        files: &BTreeMap<PathBuf, Option<String>>,
        to: &Path,
        progress: pack::Progress<'_>,
    ) -> Result<BTreeMap<String, String>>;
}

/// Copies them into the folder.
#[derive(Debug, Clone, Copy, Default)]
pub struct Copied;

impl Media for Copied {
    fn bring(
        &self,
        corpus: &Corpus,
        files: &BTreeMap<PathBuf, Option<String>>,
        to: &Path,
        progress: pack::Progress<'_>,
    ) -> Result<BTreeMap<String, String>> {
        for (i, (rel, hash)) in files.iter().enumerate() {
            progress("copying", i, files.len());
            let (from, to) = (corpus.root().join(rel), to.join(rel));
            if !rel.components().all(|c| matches!(c, Component::Normal(_))) {
                return Err(Error::Refused(format!("{}: a manifest names a file outside its folder", from.display())));
            }
            if from.symlink_metadata().is_ok_and(|m| !m.is_file()) {
                return Err(Error::Refused(format!("{}: not a regular file, so it is not published", from.display())));
            }
            if let Some(dir) = to.parent() {
                std::fs::create_dir_all(dir).map_err(Error::io(dir, "could not create the folder"))?;
            }
            std::fs::copy(&from, &to).map_err(Error::io(&from, "could not copy"))?;
            if let Some(hash) = hash
                && fsio::sha256_file(&to)? != *hash
            {
                return Err(other_bytes(&from.display().to_string()));
            }
        }
        Ok(BTreeMap::new())
    }
}

/// A file has other bytes than its manifest says.
#[must_use]
pub fn other_bytes(name: &str) -> Error {
    Error::Refused(format!("{name}: its bytes are not those that its manifest names"))
}
