//! The corpus that a verb works on: a folder that all machines see, or an address in storage.

use anyhow::{Context, Result};
use redline_publish::{Need, Scratch, Storage, scratch_limit};
use redline_schemas::Corpus;
use std::path::Path;

/// A corpus, as this process and as the workers see it.
pub struct Place {
    /// What is here: the folder, or a copy of what this process needs of it.
    pub corpus: Corpus,
    /// As all machines know it.
    pub address: String,
    /// The storage; its copy goes away with it.
    pub copy: Option<(Storage, Scratch)>,
}

impl Place {
    /// Opens a corpus; of one in storage, this process gets what `need` names.
    pub fn open(place: &str, need: Need) -> Result<Self> {
        if !place.contains("://") {
            let root = std::fs::canonicalize(place).with_context(|| format!("{place}: there is no such corpus"))?;
            let address = root.to_str().with_context(|| format!("{}: the path is not UTF-8", root.display()))?.to_owned();
            return Ok(Self { corpus: Corpus::open(&root)?, address, copy: None });
        }
        let limit = scratch_limit()?;
        let storage = Storage::open(place)?;
        let copy = Scratch::fetch(&storage, need, &[], limit, &|_, _| {})?;
        let corpus = Corpus::open(copy.path()).with_context(|| format!("{place}: no corpus is there"))?;
        Ok(Self { corpus, address: storage.address().to_owned(), copy: Some((storage, copy)) })
    }

    /// A path below the corpus's folder, as people know it.
    pub fn told(&self, path: &Path) -> String {
        match (&self.copy, path.strip_prefix(self.corpus.root())) {
            (Some(_), Ok(inside)) => format!("{}/{}", self.address, inside.display()),
            _ => path.display().to_string(),
        }
    }
}
