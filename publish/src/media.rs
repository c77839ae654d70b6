//! Media of a corpus in storage, copied by the storage itself into a release beside it.

use crate::{AT_A_TIME, Error, Result, Storage, read};
use futures::{StreamExt, TryStreamExt, stream};
use object_store::ObjectStoreExt;
use redline_dataset::pack;
use redline_dataset::release::{Media, SUMS_FILE, other_bytes};
use redline_schemas::Corpus;
use semver::Version;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Puts media and models into `releases/VERSION` beside the corpus. Their bytes come here only to be hashed, part by part.
#[derive(Debug)]
pub struct InPlace {
    corpus: Storage,
    release: Storage,
    /// The release, below the corpus's address.
    folder: String,
}

impl InPlace {
    /// For a release of the corpus at `corpus`; refused when there is one of that version.
    pub fn new(corpus: &Storage, version: &Version) -> Result<Self> {
        let folder = format!("releases/{version}");
        let release = Storage::open(&corpus.name(&folder))?;
        if release.has(SUMS_FILE)? {
            return Err(released(&release));
        }
        Ok(Self { corpus: corpus.clone(), release, folder })
    }

    /// Where the release lies.
    #[must_use]
    pub fn release(&self) -> &Storage {
        &self.release
    }

    async fn bring_all(&self, files: &BTreeMap<PathBuf, Option<String>>, progress: pack::Progress<'_>) -> Result<BTreeMap<String, String>> {
        let there = self.corpus.list_folders(std::slice::from_ref(&self.folder)).await?;
        let there: BTreeMap<&str, u64> =
            there.iter().filter_map(|(f, (size, _))| Some((f.strip_prefix(&self.folder)?.strip_prefix('/')?, *size))).collect();
        if there.contains_key(SUMS_FILE) {
            return Err(released(&self.release));
        }
        let work = |(path, hash): (&PathBuf, &Option<String>)| {
            let (path, hash, there) = (path.clone(), hash.clone(), &there);
            async move {
                let no_name = || Error::Refused(format!("{}: the name is not UTF-8", path.display()));
                let file = path.to_str().ok_or_else(no_name)?.to_owned();
                let hash = self.bring(&file, hash.as_deref(), there.get(file.as_str()).copied()).await?;
                Ok::<_, Error>((file, hash))
            }
        };
        let mut coming = stream::iter(files.iter().map(work)).buffer_unordered(AT_A_TIME);
        let mut brought = BTreeMap::new();
        progress("copying", 0, files.len());
        while let Some((file, hash)) = coming.try_next().await? {
            brought.insert(file, hash);
            progress("copying", brought.len(), files.len());
        }
        Ok(brought)
    }

    /// Brings one file; its hash. `there` is the size of what an unfinished release left.
    async fn bring(&self, file: &str, hash: Option<&str>, there: Option<u64>) -> Result<String> {
        let from = self.corpus.object(file)?;
        let size = self.corpus.store.head(&from).await.map_err(Error::store(self.corpus.name(file), "could not look at"))?.size;
        if let (Some(hash), Some(_)) = (hash, there.filter(|s| *s == size))
            && read::sha256(&self.release, file, size).await? == hash
        {
            return Ok(hash.to_owned());
        }
        let to = self.release.object(file)?;
        self.corpus.store.copy(&from, &to).await.map_err(Error::store(self.release.name(file), "could not copy to"))?;
        let now = read::sha256(&self.release, file, size).await?;
        if hash.is_some_and(|h| *h != now) {
            // A copy that can't be removed is part of no release.
            let _ = self.corpus.store.delete(&to).await;
            return Err(other_bytes(&self.corpus.name(file)).into());
        }
        Ok(now)
    }
}

fn released(at: &Storage) -> Error {
    Error::Refused(format!("{}: released already, and a release never changes: take a higher version", at.address()))
}

impl Media for InPlace {
    fn bring(
        &self,
        _: &Corpus,
        files: &BTreeMap<PathBuf, Option<String>>,
        _: &Path,
        progress: pack::Progress<'_>,
    ) -> redline_dataset::Result<BTreeMap<String, String>> {
        self.corpus.run(self.bring_all(files, progress)).map_err(|e| match e {
            Error::Dataset(e) => e,
            e => redline_dataset::Error::Refused(e.to_string()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use object_store::memory::InMemory;
    use redline_schemas::fsio::sha256_bytes;
    use std::sync::Arc;

    fn place(files: &[(&str, &[u8])]) -> InPlace {
        let store = Arc::new(InMemory::new());
        let at = |prefix: &str| Storage::with_store(store.clone(), prefix, &format!("s3://test/{prefix}")).unwrap();
        let (corpus, release) = (at("gears"), at("gears/releases/1.0.0"));
        for (file, bytes) in files {
            corpus.put(file, bytes.to_vec()).unwrap();
        }
        InPlace { corpus, release, folder: "releases/1.0.0".into() }
    }

    fn bring(at: &InPlace, files: &[(&str, Option<String>)]) -> Result<BTreeMap<String, String>> {
        let files = files.iter().map(|(f, h)| (PathBuf::from(f), h.clone())).collect();
        at.corpus.run(at.bring_all(&files, &|_, _, _| {}))
    }

    #[test]
    fn media_are_copied_beside_the_corpus_and_their_hashes_are_those_of_what_arrived() {
        let at =
            place(&[("requests/R1/screen.mp4", b"video"), ("models/M/iso.png", b"picture"), ("releases/1.0.0/models/M/iso.png", b"left")]);
        let files = [("requests/R1/screen.mp4", Some(sha256_bytes(b"video"))), ("models/M/iso.png", None)];
        for _ in 0..2 {
            let hashes = bring(&at, &files).unwrap();
            assert_eq!(hashes["requests/R1/screen.mp4"], sha256_bytes(b"video"));
            assert_eq!(hashes["models/M/iso.png"], sha256_bytes(b"picture"));
            assert_eq!(at.release.get("models/M/iso.png").unwrap().as_deref(), Some(&b"picture"[..]), "what was left is replaced");
        }
        at.release.put(SUMS_FILE, b"sums".to_vec()).unwrap();
        let e = bring(&at, &files).unwrap_err().to_string();
        assert!(e.contains("s3://test/gears/releases/1.0.0: released already"), "{e}");
    }

    #[test]
    fn other_bytes_than_the_manifest_names_and_missing_files_stop_the_release() {
        let at = place(&[("requests/R1/screen.mp4", b"video")]);
        let e = bring(&at, &[("requests/R1/screen.mp4", Some(sha256_bytes(b"other")))]).unwrap_err().to_string();
        assert!(e.contains("s3://test/gears/requests/R1/screen.mp4: its bytes are not those"), "{e}");
        assert!(!at.release.has("requests/R1/screen.mp4").unwrap(), "no copy stays");
        let e = bring(&at, &[("requests/R2/screen.mp4", None)]).unwrap_err().to_string();
        assert!(e.contains("s3://test/gears/requests/R2/screen.mp4: could not look at"), "{e}");
    }
}
