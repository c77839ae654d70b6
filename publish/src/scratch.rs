//! A bounded copy of what lies in storage, on this machine, for as long as a verb works with it.

use crate::need::{Bytes, Listed};
use crate::{AT_A_TIME, Error, Need, PART_BYTES, Progress, Result, Storage};
use futures::{StreamExt, TryStreamExt, stream};
use object_store::{ObjectStore, ObjectStoreExt, PutMode, PutOptions, UpdateVersion};
use std::collections::BTreeMap;
use std::path::{Component, Path};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::SystemTime;
use tokio::io::AsyncWriteExt;

/// The variable that says how many bytes a copy may have.
const LIMIT: &str = "REDLINE_SCRATCH_BYTES";

/// How many bytes a copy may have unless told otherwise.
const DEFAULT_LIMIT: u64 = 32 << 30;

/// How many bytes a copy may have: `REDLINE_SCRATCH_BYTES`, or 32 GiB.
pub fn scratch_limit() -> Result<u64> {
    match std::env::var(LIMIT) {
        Ok(n) => n.parse().map_err(|_| Error::Refused(format!("{LIMIT}: “{n}” is no number of bytes"))),
        Err(_) => Ok(DEFAULT_LIMIT),
    }
}

/// A copy in a temporary folder, which goes away with it.
#[derive(Debug)]
pub struct Scratch {
    dir: tempfile::TempDir,
    /// What was copied: its tag in the storage, and when the copy was written.
    got: BTreeMap<String, (Option<String>, SystemTime)>,
}

impl Scratch {
    /// Copies what `need` names, of requests only those in `requests` unless it is empty. Refused ([`Error::TooLarge`]) before anything
    /// is copied when that has more than `limit` bytes.
    pub fn fetch(from: &Storage, need: Need, requests: &[String], limit: u64, progress: Progress<'_>) -> Result<Self> {
        Self::fetch_below(from, None, need, &|file| asked_for(file, requests), limit, progress)
    }

    /// Copies the files below these folders whose names are `wanted`, and all that lies beside the folders at the top.
    pub fn fetch_folders(from: &Storage, folders: &[String], wanted: &(dyn Fn(&str) -> bool + Sync), limit: u64) -> Result<Self> {
        let wanted = |file: &str| file.rsplit_once('/').is_none_or(|(_, name)| wanted(name));
        Self::fetch_below(from, Some(folders), Need::All, &wanted, limit, &|_, _| {})
    }

    fn fetch_below(
        from: &Storage,
        folders: Option<&[String]>,
        need: Need,
        asked_for: &(dyn Fn(&str) -> bool + Sync),
        limit: u64,
        progress: Progress<'_>,
    ) -> Result<Self> {
        let dir = tempfile::tempdir().map_err(redline_dataset::Error::io(std::env::temp_dir(), "could not create a folder"))?;
        let work = async {
            let tagged = match folders {
                Some(folders) => from.list_folders(folders).await?,
                None => from.list_tagged().await?,
            };
            let there = Listed::new(from, &tagged)?;
            let files: Vec<(&String, u64, Bytes)> = there.wanted(need).filter(|(f, ..)| asked_for(f)).collect();
            let bytes: u64 = files.iter().filter(|f| f.2 == Bytes::All).map(|f| f.1).sum();
            if bytes > limit {
                return Err(Error::TooLarge { address: from.address().into(), bytes, limit });
            }
            let (done, all) = (AtomicUsize::new(0), files.len());
            let bring = |(file, size, bytes): (&String, u64, Bytes)| {
                let (file, done, root) = (file.clone(), &done, dir.path());
                async move {
                    let written = bring(from, &file, size, root, bytes).await?;
                    progress(done.fetch_add(1, Ordering::Relaxed) + 1, all);
                    Ok::<_, Error>((file, written))
                }
            };
            let got: Vec<_> = stream::iter(files.into_iter().map(bring)).buffer_unordered(AT_A_TIME).try_collect().await?;
            let tag = |file: &String| tagged.get(file).and_then(|t| t.1.clone());
            Ok(got.into_iter().map(|(file, written)| (file.clone(), (tag(&file), written))).collect())
        };
        let got = from.run(work)?;
        Ok(Self { dir, got })
    }

    /// Requests in groups whose copies have at most `limit` bytes each, all or those in `requests`. One empty group when one copy will do.
    pub fn groups(from: &Storage, need: Need, requests: &[String], limit: u64) -> Result<Vec<Vec<String>>> {
        let tagged = from.run(from.list_tagged())?;
        let there = Listed::new(from, &tagged)?;
        let (mut always, mut each) = (0, BTreeMap::<&str, u64>::new());
        for (file, size, bytes) in there.wanted(need).filter(|(f, ..)| asked_for(f, requests)) {
            let size = if bytes == Bytes::All { size } else { 0 };
            match request_of(file) {
                Some(id) => *each.entry(id).or_default() += size,
                None => always += size,
            }
        }
        if always + each.values().sum::<u64>() <= limit {
            return Ok(vec![requests.to_vec()]);
        }
        if let Some(id) = requests.iter().find(|r| !each.contains_key(r.as_str())) {
            return Err(Error::Refused(format!("{}: no such request in this corpus", from.name(&format!("requests/{id}")))));
        }
        let (mut groups, mut used) = (Vec::<Vec<String>>::new(), u64::MAX);
        for (id, size) in each {
            if always + size > limit {
                return Err(Error::TooLarge { address: from.name(&format!("requests/{id}")), bytes: always + size, limit });
            }
            match groups.last_mut().filter(|_| used.saturating_add(size) <= limit) {
                Some(group) => {
                    group.push(id.into());
                    used += size;
                }
                None => {
                    groups.push(vec![id.into()]);
                    used = always + size;
                }
            }
        }
        Ok(groups)
    }

    /// Sends a file of the copy to where the copy came from, if it is new or changed; whether it was.
    ///
    /// Refused where somebody else wrote that file meanwhile: theirs stays.
    pub fn send(&self, to: &Storage, path: &Path) -> Result<bool> {
        let local = || redline_dataset::Error::io(path, "could not read");
        let file = path.strip_prefix(self.path()).ok().and_then(Path::to_str);
        let file = file.ok_or_else(|| Error::Refused(format!("{}: no file of {}", path.display(), self.path().display())))?;
        let got = self.got.get(file);
        let written = path.metadata().and_then(|m| m.modified()).map_err(local())?;
        if got.is_some_and(|g| g.1 == written) {
            return Ok(false);
        }
        let bytes = std::fs::read(path).map_err(local())?;
        let mode = match got {
            None => PutMode::Create,
            Some((tag, _)) => PutMode::Update(UpdateVersion { e_tag: tag.clone(), version: None }),
        };
        let object = to.object(file)?;
        to.run(async {
            match to.store.put_opts(&object, bytes.clone().into(), PutOptions { mode, ..PutOptions::default() }).await {
                Ok(_) => Ok(true),
                Err(e @ (object_store::Error::AlreadyExists { .. } | object_store::Error::Precondition { .. })) => {
                    // Perhaps this one's first try, whose answer was lost: the bytes decide.
                    let failed = || Error::store(to.name(file), "could not read back");
                    let theirs = to.store.get(&object).await.map_err(failed())?.bytes().await.map_err(failed())?;
                    let quarrel = Error::store(to.name(file), "was written by somebody else meanwhile; theirs stays");
                    if theirs == bytes { Ok(true) } else { Err(quarrel(e)) }
                }
                Err(e) => Err(Error::store(to.name(file), "could not upload")(e)),
            }
        })
    }

    /// Where the copy lies.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.dir.path()
    }
}

impl Drop for Scratch {
    /// Releases are read-only; their folders must be writable to go.
    fn drop(&mut self) {
        writable(self.dir.path());
    }
}

fn writable(dir: &Path) {
    use std::os::unix::fs::PermissionsExt;
    let _ = std::fs::set_permissions(dir, std::fs::Permissions::from_mode(0o700));
    for e in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        if e.file_type().is_ok_and(|t| t.is_dir()) {
            writable(&e.path());
        }
    }
}

/// Whether a file belongs to no request, or to one of these; all do when there are none.
fn asked_for(file: &str, requests: &[String]) -> bool {
    requests.is_empty() || request_of(file).is_none_or(|id| requests.iter().any(|r| r == id))
}

fn request_of(file: &str) -> Option<&str> {
    file.strip_prefix("requests/")?.split_once('/').map(|(id, _)| id)
}

/// Copies one object, part by part, or only its length.
async fn bring(from: &Storage, file: &str, size: u64, root: &Path, bytes: Bytes) -> Result<SystemTime> {
    // Names come from outside, and must not lead out of the folder.
    if !Path::new(file).components().all(|c| matches!(c, Component::Normal(_))) {
        return Err(Error::Refused(format!("{}: no name for a file", from.name(file))));
    }
    let (object, path) = (from.object(file)?, root.join(file));
    let local = |e| Error::Dataset(redline_dataset::Error::io(&path, "could not write")(e));
    if let Some(folder) = path.parent() {
        tokio::fs::create_dir_all(folder).await.map_err(local)?;
    }
    let mut out = tokio::fs::File::create_new(&path).await.map_err(local)?;
    let mut at = 0;
    if bytes == Bytes::Length {
        out.set_len(size).await.map_err(local)?;
        at = size;
    }
    while at < size {
        let end = (at + PART_BYTES).min(size);
        let part = from.store.get_range(&object, at..end).await.map_err(Error::store(from.name(file), "could not read"))?;
        if part.len() as u64 != end - at {
            return Err(Error::Refused(format!("{}: changed while it was read; try again", from.name(file))));
        }
        out.write_all(&part).await.map_err(local)?;
        at = end;
    }
    out.flush().await.map_err(local)?;
    out.metadata().await.and_then(|m| m.modified()).map_err(local)
}

#[cfg(test)]
mod tests {
    use super::*;
    use object_store::memory::InMemory;
    use std::sync::Arc;

    fn place(files: &[(&str, usize)]) -> Storage {
        let at = Storage::with_store(Arc::new(InMemory::new()), "gears", "s3://test/gears").unwrap();
        for (file, size) in files {
            let bytes: Vec<u8> = (0..*size).map(|i| (i % 251) as u8).collect();
            at.run(async { at.store.put(&at.object(file)?, bytes.into()).await.map_err(Error::store(*file, "could not put")) }).unwrap();
        }
        at
    }

    fn names(s: &Scratch, files: &[&str]) -> Vec<bool> {
        files.iter().map(|f| s.path().join(f).is_file()).collect()
    }

    #[test]
    fn a_verb_gets_what_it_needs_and_unfinished_releases_stay_away() {
        let large = PART_BYTES as usize + 7;
        let files = ["corpus.json", "requests/R1/screen.mp4", "releases/1.0.0/SHA256SUMS", "releases/1.1.0/release.json"];
        let at = place(&[(files[0], 3), (files[1], large), (files[2], 0), (files[3], 5)]);
        let all = Scratch::fetch(&at, Need::All, &[], u64::MAX, &|_, _| {}).unwrap();
        assert_eq!(names(&all, &files), [true, true, true, false]);
        let video = std::fs::read(all.path().join(files[1])).unwrap();
        assert!(video.len() == large && video.iter().enumerate().all(|(i, b)| *b == (i % 251) as u8));
        let records = Scratch::fetch(&at, Need::Records, &[], u64::MAX, &|_, _| {}).unwrap();
        assert_eq!(names(&records, &files), [true, false, false, false]);
        let gone = records.path().to_owned();
        drop(records);
        assert!(!gone.exists());
    }

    #[test]
    fn what_is_new_or_changed_is_sent_and_never_over_somebody_elses() {
        let at = place(&[("corpus.json", 3), ("old.json", 4), ("kept.json", 5)]);
        let copies = [(); 2].map(|()| Scratch::fetch(&at, Need::Speech, &[], u64::MAX, &|_, _| {}).unwrap());
        let send = |i: usize, file: &str, bytes: Option<&str>| {
            let path = copies[i].path().join(file);
            if let Some(bytes) = bytes {
                std::fs::remove_file(&path).ok();
                std::fs::write(&path, bytes).unwrap();
            }
            copies[i].send(&at, &path)
        };
        assert!(!send(0, "kept.json", None).unwrap());
        assert!(send(0, "new.json", Some("1")).unwrap());
        assert!(send(0, "old.json", Some("1")).unwrap());
        assert!(send(1, "new.json", Some("1")).unwrap(), "the same bytes are no quarrel");
        for file in ["new.json", "old.json"] {
            let e = send(1, file, Some("2")).unwrap_err().to_string();
            assert!(e.contains(file) && e.contains("theirs stays"), "{e}");
        }
        let now = Scratch::fetch(&at, Need::All, &[], u64::MAX, &|_, _| {}).unwrap();
        assert_eq!(std::fs::read(now.path().join("old.json")).unwrap(), b"1");
    }

    #[test]
    fn only_the_requests_asked_for_are_copied() {
        let at = place(&[("corpus.json", 1), ("requests/A/request.json", 2), ("requests/AB/request.json", 3)]);
        let copy = Scratch::fetch(&at, Need::Speech, &["A".into()], 3, &|_, _| {}).unwrap();
        assert!(copy.path().join("requests/A/request.json").exists() && copy.path().join("corpus.json").exists());
        assert!(!copy.path().join("requests/AB").exists());
    }

    #[test]
    fn an_outline_has_manifests_and_the_length_of_streams() {
        let at =
            place(&[("corpus.json", 1), ("requests/A/request.json", 2), ("requests/A/input.jsonl", 1 << 20), ("requests/A/words.json", 9)]);
        let copy = Scratch::fetch(&at, Need::Outline, &[], 3, &|_, _| {}).unwrap();
        assert_eq!(names(&copy, &["corpus.json", "requests/A/request.json", "requests/A/words.json"]), [true, true, false]);
        assert_eq!(copy.path().join("requests/A/input.jsonl").metadata().unwrap().len(), 1 << 20);
    }

    #[test]
    fn a_skeleton_has_all_names_short_records_and_the_newest_release_only() {
        let files = [
            "names.key",
            "requests/R/transcript.automatic.json",
            "requests/R/input.jsonl",
            "requests/R/screen.mp4",
            "edits/E/renders.jsonl",
            "releases/9.0.0/SHA256SUMS",
            "releases/9.0.0/tables/test/words.parquet",
            "releases/10.0.0/SHA256SUMS",
            "releases/10.0.0/tables/test/words.parquet",
            "releases/10.0.0/requests/R/screen.mp4",
        ];
        let at = place(&[&files.map(|f| (f, 5))[..], &[("releases/11.0.0/release.json", 5)]].concat());
        let copy = Scratch::fetch(&at, Need::Skeleton, &[], 25, &|_, _| {}).unwrap();
        let zero = |f: &str| std::fs::read(copy.path().join(f)).unwrap() == [0; 5];
        let without = files.map(zero);
        assert_eq!(without, [false, false, true, true, false, true, true, false, false, true]);
        assert!(!copy.path().join("releases/11.0.0").exists(), "no release");
    }

    #[test]
    fn folders_come_with_what_lies_at_the_top_and_nothing_else() {
        let files =
            ["corpus.json", "requests/A/request.json", "requests/A/scores/P.json", "requests/A/input.jsonl", "requests/AB/request.json"];
        let at = place(&files.map(|f| (f, 1)));
        let json = |name: &str| name.ends_with(".json");
        let copy = Scratch::fetch_folders(&at, &["requests/A".into()], &json, 3).unwrap();
        assert_eq!(names(&copy, &files), [true, true, true, false, false]);
        let copy = Scratch::fetch_folders(&at, &[], &json, 1).unwrap();
        assert_eq!(names(&copy, &files), [true, false, false, false, false], "none is not all");
    }

    #[test]
    fn what_is_larger_than_allowed_is_refused_and_so_is_nothing() {
        let at = place(&[("corpus.json", 60), ("screen.mp4", 41)]);
        assert!(Scratch::fetch(&at, Need::Records, &[], 60, &|_, _| {}).is_ok());
        let e = Scratch::fetch(&at, Need::All, &[], 100, &|_, _| {}).unwrap_err().to_string();
        assert!(e.contains("s3://test/gears: 101 bytes are needed here at a time, and 100 allowed"), "{e}");
        let e = Scratch::fetch(&place(&[]), Need::All, &[], 100, &|_, _| {}).unwrap_err().to_string();
        assert!(e.contains("nothing is there"), "{e}");
    }

    #[test]
    fn requests_make_groups_that_fit_each_with_what_all_need() {
        let sizes = [("corpus.json", 10), ("requests/A/audio.flac", 40), ("requests/B/audio.flac", 50), ("requests/C/audio.flac", 30)];
        let at = place(&[&sizes[..], &[("requests/C/screen.mp4", 5000), ("edits/E/audio.flac", 5000)]].concat());
        let groups = |requests: &[&str], limit| {
            let requests: Vec<String> = requests.iter().map(|r| (*r).to_owned()).collect();
            Scratch::groups(&at, Need::Speech, &requests, limit)
        };
        assert_eq!(groups(&[], 130).unwrap(), [[""; 0]], "all at once");
        assert_eq!(groups(&[], 129).unwrap(), [&["A", "B"][..], &["C"]]);
        assert_eq!(groups(&[], 60).unwrap(), [["A"], ["B"], ["C"]]);
        assert_eq!(groups(&["C", "A"], 80).unwrap(), [["C", "A"]]);
        assert_eq!(groups(&["C", "A"], 79).unwrap(), [["A"], ["C"]]);
        for g in groups(&[], 60).unwrap() {
            Scratch::fetch(&at, Need::Speech, &g, 60, &|_, _| {}).unwrap();
        }
        let e = groups(&[], 59).unwrap_err().to_string();
        assert!(e.contains("s3://test/gears/requests/B: 60 bytes are needed here at a time, and 59 allowed"), "{e}");
    }
}
