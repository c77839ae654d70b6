//! Which files of what lies in storage a verb works with.

use crate::storage::Tagged;
use crate::{Error, Result, Storage};
use redline_dataset::release::SUMS_FILE;
use semver::Version;
use std::collections::BTreeSet;

/// Endings of files that hold recordings, pictures and shapes: tables, figures and queries do without.
const PICTURES: &[&str] = &["mp4", "mkv", "webm", "mov", "png", "jpg", "jpeg", "stl", "glb"];
const SOUND_AND_SHAPES: &[&str] = &["flac", "wav", "opus", "ogg", "mp3", "m4a", "step", "stp"];

/// Manifests of corpora, sessions, models and tasks.
const MANIFESTS: &[&str] = &["corpus.json", "participants.json", "request.json", "edit.json", "run.json", "model.json"];

/// Streams that name files which a release publishes.
const FILE_LISTS: &[&str] = &["renders.jsonl", "steps.jsonl"];

/// Which files a verb works with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// All, finished releases too.
    All,
    /// A corpus without media and releases.
    Records,
    /// The records of requests, and the sound and shapes that transcribing looks at.
    Speech,
    /// The tables of a release.
    Tables,
    /// What says which sessions there are, and how long their streams are: of these, empty files of that length.
    Outline,
    /// What checking and releasing read besides single sessions: short records, the newest release's tables; of all else the length.
    Skeleton,
}

/// What of a file is copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bytes {
    All,
    /// None: a file of that length takes its place.
    Length,
}

impl Need {
    /// What of a file of the corpus, or of the release, is needed.
    fn of(self, file: &str) -> Option<Bytes> {
        let name = file.rsplit('/').next().unwrap_or_default();
        let ending = name.rsplit_once('.').map_or(String::new(), |(_, e)| e.to_ascii_lowercase());
        let one_of = |list: &[&str]| list.contains(&ending.as_str());
        let all = |wanted: bool| wanted.then_some(Bytes::All);
        match self {
            Self::All => all(true),
            Self::Records => all(!one_of(PICTURES) && !one_of(SOUND_AND_SHAPES)),
            Self::Speech => all(!one_of(PICTURES) && !["edits/", "runs/"].iter().any(|d| file.starts_with(d))),
            Self::Tables => all(file == "release.json" || ending == "parquet"),
            Self::Outline if ending == "jsonl" => Some(Bytes::Length),
            Self::Outline => all(MANIFESTS.contains(&name)),
            Self::Skeleton => all(ending == "json" || FILE_LISTS.contains(&name) || !file.contains('/')).or(Some(Bytes::Length)),
        }
    }

    /// What of a file of a corpus's release is needed.
    fn of_release(self, file: &str, newest: bool) -> Option<Bytes> {
        let known = newest && (file.ends_with(".parquet") || ["release.json", "CHANGELOG.md", SUMS_FILE].contains(&file));
        match self {
            Self::All => Some(Bytes::All),
            Self::Skeleton => Some(if known { Bytes::All } else { Bytes::Length }),
            _ => None,
        }
    }
}

/// What lies in storage.
pub(crate) struct Listed<'a> {
    files: &'a Tagged,
    /// Versions of releases that are whole.
    releases: BTreeSet<Version>,
}

impl<'a> Listed<'a> {
    pub(crate) fn new(from: &Storage, files: &'a Tagged) -> Result<Self> {
        if files.is_empty() {
            return Err(Error::Refused(format!("{}: nothing is there", from.address())));
        }
        let whole = files.keys().filter_map(|f| f.strip_prefix("releases/")?.strip_suffix(SUMS_FILE)?.strip_suffix('/'));
        let releases = whole.filter_map(|v| Version::parse(v).ok()).collect();
        Ok(Self { files, releases })
    }

    /// The files that are needed, with their sizes. Uploads of releases that did not come to their end are left out: they are no releases.
    pub(crate) fn wanted(&self, need: Need) -> impl Iterator<Item = (&'a String, u64, Bytes)> {
        self.files.iter().filter_map(move |(file, (size, _))| Some((file, *size, self.of(need, file)?)))
    }

    fn of(&self, need: Need, file: &str) -> Option<Bytes> {
        let Some(inside) = file.strip_prefix("releases/") else { return need.of(file) };
        let Some((version, file)) = inside.split_once('/') else { return need.of_release(inside, false) };
        let version = Version::parse(version).ok().filter(|v| self.releases.contains(v))?;
        need.of_release(file, self.releases.last() == Some(&version))
    }
}
