//! The bin: takes that were discarded, kept until it is emptied.
//!
//! It lies beside the requests, in a folder that no other stage looks into.

use crate::{Error, Result};
use redline_schemas::{Corpus, Difficulty, Error as SchemaError, Modality, ModelId, ParticipantId, RequestId, RequestManifest, Utc, fsio};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// A take in the bin.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Binned {
    /// The request.
    pub id: RequestId,
    /// Size of all its files.
    pub bytes: u64,
    /// What its manifest says; absent when that cannot be read.
    #[serde(flatten)]
    pub manifest: Option<BinnedManifest>,
}

/// What is told of a take in the bin.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct BinnedManifest {
    /// Who.
    pub participant: ParticipantId,
    /// About which model.
    pub model: Option<ModelId>,
    /// How.
    pub modality: Modality,
    /// How difficult.
    pub difficulty: Difficulty,
    /// When it was recorded.
    pub started_utc: Utc,
    /// Its length.
    pub seconds: f64,
}

/// Where discarded requests lie.
#[must_use]
pub fn folder(corpus: &Corpus) -> PathBuf {
    corpus.root().join(".bin").join("requests")
}

/// Moves a request into the bin; where it is now.
pub fn discard(corpus: &Corpus, id: &RequestId) -> Result<PathBuf> {
    move_to(corpus.request_dir(id).path().into(), folder(corpus).join(id))
}

/// Takes a request out of the bin again.
pub fn restore(corpus: &Corpus, id: &RequestId) -> Result<PathBuf> {
    move_to(folder(corpus).join(id), corpus.request_dir(id).path().into())
}

/// What is in the bin, sorted.
pub fn list(corpus: &Corpus) -> Result<Vec<RequestId>> {
    let dir = folder(corpus);
    let entries = match std::fs::read_dir(&dir) {
        Ok(e) => e,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => return Err(SchemaError::io(&dir, "could not list")(e).into()),
    };
    let mut ids: Vec<RequestId> = entries.flatten().filter_map(|e| e.file_name().to_str().and_then(|n| RequestId::new(n).ok())).collect();
    ids.sort();
    Ok(ids)
}

/// What is in the bin, and what it is.
pub fn look(corpus: &Corpus) -> Result<Vec<Binned>> {
    let one = |id: RequestId| {
        let dir = folder(corpus).join(&id);
        let manifest = fsio::read_manifest::<RequestManifest>(&dir.join("request.json")).ok().map(|m| BinnedManifest {
            participant: m.participant,
            model: m.model,
            modality: m.modality,
            difficulty: m.difficulty,
            started_utc: m.session.clock.started_utc,
            seconds: redline_schemas::time::seconds(m.session.duration_ns),
        });
        Ok(Binned { bytes: size(&dir)?, id, manifest })
    };
    list(corpus)?.into_iter().map(one).collect()
}

/// Bytes of all files below a folder.
fn size(dir: &Path) -> Result<u64> {
    let mut sum = 0;
    for e in std::fs::read_dir(dir).map_err(SchemaError::io(dir, "could not list"))? {
        let e = e.map_err(SchemaError::io(dir, "could not list"))?;
        let path = e.path();
        let meta = e.metadata().map_err(SchemaError::io(&path, "could not look at"))?;
        sum += if meta.is_dir() { size(&path)? } else { meta.len() };
    }
    Ok(sum)
}

/// Removes what is in the bin for good; how many there were.
pub fn empty(corpus: &Corpus) -> Result<usize> {
    let ids = list(corpus)?;
    for id in &ids {
        let dir = folder(corpus).join(id);
        std::fs::remove_dir_all(&dir).map_err(SchemaError::io(&dir, "could not remove"))?;
    }
    Ok(ids.len())
}

fn move_to(from: PathBuf, to: PathBuf) -> Result<PathBuf> {
    if !from.is_dir() {
        return Err(Error::Schemas(SchemaError::Missing { path: from, message: "there is no such request here".into() }));
    }
    if to.exists() {
        return Err(SchemaError::Exists { path: to }.into());
    }
    if let Some(parent) = to.parent() {
        std::fs::create_dir_all(parent).map_err(SchemaError::io(parent, "could not create the folder"))?;
    }
    std::fs::rename(&from, &to).map_err(SchemaError::io(&from, "could not move"))?;
    Ok(to)
}

#[cfg(test)]
mod tests {
    use super::*;
    use redline_schemas::{CorpusManifest, FORMAT_VERSION, Protocol};

    #[test]
    fn a_take_goes_to_the_bin_and_comes_back() {
        let tmp = tempfile::tempdir().unwrap();
        let manifest = CorpusManifest {
            format_version: FORMAT_VERSION,
            name: "t".into(),
            licence: "MIT".into(),
            created_utc: chrono::Utc::now(),
            language: None,
            word_list: vec![],
            protocol: Protocol::default(),
            consent: None,
            splits: vec![],
            failure_labels: vec![],
        };
        let c = Corpus::create(tmp.path().join("c"), &manifest).unwrap();
        let id = RequestId::generate();
        assert!(discard(&c, &id).unwrap_err().to_string().contains("no such request"));
        assert!(restore(&c, &id).unwrap_err().to_string().contains("no such request"));
        std::fs::create_dir(c.request_dir(&id).path()).unwrap();
        std::fs::write(c.request_dir(&id).path().join("x"), "1").unwrap();
        discard(&c, &id).unwrap();
        assert!(c.request_ids().unwrap().is_empty());
        assert_eq!(list(&c).unwrap(), std::slice::from_ref(&id));
        assert_eq!(look(&c).unwrap(), [Binned { id: id.clone(), bytes: 1, manifest: None }]);
        restore(&c, &id).unwrap();
        assert_eq!(c.request_ids().unwrap(), std::slice::from_ref(&id));
        discard(&c, &id).unwrap();
        assert_eq!((empty(&c).unwrap(), list(&c).unwrap().len()), (1, 0));
    }
}
