//! `--corpus s3://BUCKET/PREFIX`: a verb works with a copy of what it needs, and sends back what it made.

use super::CorpusArg;
#[cfg(feature = "dataset")]
use redline_dataset::release::{Copied, Media, Released};
use redline_schemas::Corpus;
use std::path::{Path, PathBuf};
#[cfg(feature = "dataset")]
use std::sync::Arc;

#[cfg(feature = "publish")]
pub use redline_publish::Need;

/// Which files a verb works with; without `publish` all of them are in a folder anyway.
#[cfg(not(feature = "publish"))]
#[derive(Clone, Copy)]
#[allow(dead_code)] // Not every build has every verb.
pub enum Need {
    All,
    Records,
    #[cfg(feature = "transcribe")]
    Speech,
    #[cfg(feature = "query")]
    Tables,
    Outline,
    Skeleton,
}

/// A corpus or release: a folder, or the copy of what lies in storage. The copy goes away with it.
pub struct Place {
    folder: PathBuf,
    #[cfg(feature = "publish")]
    copy: Option<(redline_publish::Storage, redline_publish::Scratch)>,
    /// Whether the copy has only what is read besides single sessions: each task copies the rest for itself.
    #[cfg(feature = "publish")]
    by_task: bool,
}

impl Place {
    /// The folder, or a copy of what lies at the address.
    pub fn of(place: &Path, need: Need) -> anyhow::Result<Self> {
        Self::of_requests(place, need, &[])
    }

    /// The same, with these requests only, or all when there are none.
    pub fn of_requests(place: &Path, need: Need, requests: &[String]) -> anyhow::Result<Self> {
        match place.to_str().filter(|p| p.contains("://")) {
            Some(address) => Self::fetch(address, need, requests),
            None => Ok(Self {
                folder: place.to_owned(),
                #[cfg(feature = "publish")]
                copy: None,
                #[cfg(feature = "publish")]
                by_task: false,
            }),
        }
    }

    /// The folder, or a copy of `whole`; where that is more than may be copied, of `besides`, and the sessions task by task.
    #[cfg(feature = "dataset")]
    pub fn for_tasks(place: &Path, whole: Need, besides: Need) -> anyhow::Result<Self> {
        let all = Self::of(place, whole);
        #[cfg(feature = "publish")]
        if let Err(e) = &all
            && matches!(e.downcast_ref(), Some(redline_publish::Error::TooLarge { .. }))
        {
            tracing::info!("{e}: so sessions are copied as they are needed");
            return Ok(Self { by_task: true, ..Self::of(place, besides)? });
        }
        let _ = besides;
        all
    }

    /// Requests in groups, each for [`Place::of_requests`]: all at once where that is no more than may be copied.
    #[cfg(feature = "transcribe")]
    pub fn groups(place: &Path, need: Need, requests: Vec<String>) -> anyhow::Result<Vec<Vec<String>>> {
        #[cfg(feature = "publish")]
        if let Some(address) = place.to_str().filter(|p| p.contains("://")) {
            let (storage, limit) = (redline_publish::Storage::open(address)?, limit()?);
            return Ok(redline_publish::Scratch::groups(&storage, need, &requests, limit)?);
        }
        let _ = (place, need);
        Ok(vec![requests])
    }

    /// What makes the rows of tasks.
    #[cfg(feature = "dataset")]
    pub fn engine(&self) -> anyhow::Result<Arc<dyn redline_dataset::pack::Engine>> {
        #[cfg(feature = "publish")]
        if let Some((storage, _)) = self.copy.as_ref().filter(|_| self.by_task) {
            return Ok(Arc::new(redline_publish::Fetching::new(storage.clone())?));
        }
        Ok(Arc::new(redline_dataset::pack::Here))
    }

    /// A path below the folder, as people know it.
    #[cfg(feature = "dataset")]
    pub fn told(&self, path: &Path) -> String {
        #[cfg(feature = "publish")]
        if let (Some((storage, _)), Ok(inside)) = (&self.copy, path.strip_prefix(&self.folder)) {
            return format!("{}/{}", storage.address(), inside.display());
        }
        path.display().to_string()
    }

    #[cfg(feature = "publish")]
    fn fetch(address: &str, need: Need, requests: &[String]) -> anyhow::Result<Self> {
        let (storage, limit) = (redline_publish::Storage::open(address)?, limit()?);
        let bar = super::pack::progress_bar();
        bar.set_message("fetching");
        let copy = redline_publish::Scratch::fetch(&storage, need, requests, limit, &|done, of| {
            bar.set_length(of as u64);
            bar.set_position(done as u64);
        });
        bar.finish_and_clear();
        let copy = copy?;
        Ok(Self { folder: copy.path().to_owned(), copy: Some((storage, copy)), by_task: false })
    }

    #[cfg(not(feature = "publish"))]
    fn fetch(address: &str, _: Need, _: &[String]) -> anyhow::Result<Self> {
        use crate::exit::{Exit, WithExit as _};
        Err(anyhow::anyhow!("{address}: this redline was built without `publish`, for folders only")).exit(Exit::Input)
    }

    /// The folder to work with.
    #[cfg(feature = "query")]
    pub fn path(&self) -> &Path {
        &self.folder
    }

    /// Whether that is a copy: what is written there is lost.
    #[cfg(all(feature = "dataset", feature = "recorder"))]
    pub fn is_copy(&self) -> bool {
        #[cfg(feature = "publish")]
        return self.copy.is_some();
        #[cfg(not(feature = "publish"))]
        false
    }

    /// As [`CorpusArg::open`].
    pub fn corpus(&self) -> anyhow::Result<Corpus> {
        CorpusArg { corpus: self.folder.clone() }.open()
    }

    /// As [`CorpusArg::open_any`].
    #[cfg(feature = "dataset")]
    pub fn corpus_any(&self) -> anyhow::Result<Corpus> {
        CorpusArg { corpus: self.folder.clone() }.open_any()
    }

    /// Sends a file that was written into the copy; nothing for a folder.
    #[cfg(feature = "transcribe")]
    pub fn send(&self, path: &Path) -> anyhow::Result<()> {
        #[cfg(feature = "publish")]
        if let Some((storage, copy)) = &self.copy {
            copy.send(storage, path)?;
        }
        let _ = path;
        Ok(())
    }

    /// How media and models get into a release: in storage they stay there.
    #[cfg(feature = "dataset")]
    pub fn media(&self, version: &semver::Version) -> anyhow::Result<Arc<dyn Media>> {
        #[cfg(feature = "publish")]
        if let Some((storage, _)) = &self.copy {
            return Ok(Arc::new(redline_publish::InPlace::new(storage, version)?));
        }
        let _ = version;
        Ok(Arc::new(Copied))
    }

    /// Sends what of a release was made here to where [`Place::media`] brought the rest; its address, or `None` for a folder.
    #[cfg(feature = "dataset")]
    pub fn send_release(&self, release: &Released) -> anyhow::Result<Option<String>> {
        #[cfg(feature = "publish")]
        if let Some((storage, _)) = &self.copy {
            let to = format!("{}/releases/{}", storage.address(), release.manifest.version);
            let at = redline_publish::Storage::open(&to)?;
            redline_publish::publish_rest(&release.path, &release.elsewhere, &at, &|_, _| {})?;
            return Ok(Some(to));
        }
        let _ = release;
        Ok(None)
    }
}

/// Requests that are worked on together.
#[cfg(feature = "transcribe")]
pub struct Batch {
    pub place: Place,
    pub corpus: Corpus,
    pub ids: Vec<redline_schemas::RequestId>,
}

#[cfg(feature = "transcribe")]
impl Batch {
    /// These requests, or all when there are none.
    pub fn fetch(place: &Path, requests: &[String]) -> anyhow::Result<Self> {
        use crate::exit::{Exit, WithExit as _};
        let place = Place::of_requests(place, Need::Speech, requests)?;
        let corpus = place.corpus()?;
        let mut ids = corpus.request_ids()?;
        if !requests.is_empty() {
            let all = std::mem::take(&mut ids);
            for r in requests {
                let there = all.iter().find(|id| id.as_str() == r);
                let missing = || anyhow::anyhow!("{}: no such request in this corpus", corpus.root().join("requests").join(r).display());
                ids.push(there.cloned().ok_or_else(missing).exit(Exit::Input)?);
            }
        }
        Ok(Self { place, corpus, ids })
    }
}

/// Bytes that may be copied to this machine.
#[cfg(feature = "publish")]
fn limit() -> anyhow::Result<u64> {
    use crate::exit::{Exit, WithExit as _};
    redline_publish::scratch_limit().exit(Exit::Input)
}
