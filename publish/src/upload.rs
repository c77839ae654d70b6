//! Uploading a release.

use crate::{AT_A_TIME, Error, PART_BYTES, Progress, Result, Storage, read};
use futures::{StreamExt, TryStreamExt, stream};
use object_store::{ObjectStore, ObjectStoreExt, PutMode, PutOptions, PutPayload, WriteMultipart};
use redline_dataset::publish::Published;
use redline_dataset::release::{SUMS_FILE, read_sums};
use redline_schemas::fsio;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::io::AsyncReadExt;

/// S3 takes at most 10,000 parts an object.
const MAX_PARTS: u64 = 9_000;

/// Parts of one object that are on their way at a time.
const PARTS_AT_A_TIME: usize = 2;

/// Uploads the release in `dir`; every object is read back and compared with its checksum.
///
/// Objects that are there with the right bytes are kept. Refused where another release, or anything that
/// is no part of this one, lies at that address.
pub fn publish(dir: &Path, to: &Storage, progress: Progress<'_>) -> Result<Published> {
    publish_rest(dir, &BTreeMap::new(), to, progress)
}

/// The same for a release of which some files are there already: they were read back and had these hashes.
pub fn publish_rest(dir: &Path, placed: &BTreeMap<String, String>, to: &Storage, progress: Progress<'_>) -> Result<Published> {
    let sums = read_sums(dir)?;
    let text = fsio::read_limited(&dir.join(SUMS_FILE), u64::MAX - 1).map_err(redline_dataset::Error::from)?;
    to.run(async {
        let there = to.list().await?;
        let published = read::sums(to, &there).await?;
        if published.as_ref().is_some_and(|(bytes, _)| *bytes != text) {
            return Err(Error::Refused(format!("{}: holds another release, and a release never changes", to.address())));
        }
        if let Some(other) = there.keys().find(|f| *f != SUMS_FILE && !sums.contains_key(*f)) {
            return Err(Error::Refused(format!("{}: is no part of this release; publish to an address of its own", to.name(other))));
        }
        let (copied, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let work = |(file, hash): (&String, &String)| {
            let (file, hash) = (file.clone(), hash.clone());
            let (copied, done, there, all) = (&copied, &done, &there, sums.len());
            async move {
                let placed = placed.get(&file) == Some(&hash) && there.contains_key(&file);
                if !placed && bring(dir, to, &file, &hash, there).await? {
                    copied.fetch_add(1, Ordering::Relaxed);
                }
                progress(done.fetch_add(1, Ordering::Relaxed) + 1, all);
                Ok::<_, Error>(())
            }
        };
        stream::iter(sums.iter().map(work)).buffer_unordered(AT_A_TIME).try_collect::<()>().await?;
        if published.is_none() {
            seal(to, &text).await?;
        }
        let copied = copied.into_inner();
        Ok(Published { to: to.address().into(), copied, kept: sums.len() - copied })
    })
}

/// Writes the checksums, unless somebody else wrote other ones meanwhile.
async fn seal(to: &Storage, text: &[u8]) -> Result<()> {
    let object = to.object(SUMS_FILE)?;
    let failed = || Error::store(to.name(SUMS_FILE), "could not upload");
    let create = PutOptions { mode: PutMode::Create, ..PutOptions::default() };
    match to.store.put_opts(&object, PutPayload::from(text.to_vec()), create).await {
        Ok(_) => {}
        // Storage without conditional writes: the list above said that there are none.
        Err(object_store::Error::NotImplemented { .. } | object_store::Error::NotSupported { .. }) => {
            to.store.put(&object, PutPayload::from(text.to_vec())).await.map_err(failed())?;
        }
        // Another publisher, or this one's first try whose answer was lost: the bytes decide.
        Err(object_store::Error::AlreadyExists { .. }) => {}
        Err(e) => return Err(failed()(e)),
    }
    let back = to.store.get(&object).await.map_err(failed())?.bytes().await.map_err(failed())?;
    if back == text {
        return Ok(());
    }
    Err(Error::Refused(format!("{}: another release was published there meanwhile", to.address())))
}

/// Brings one file there, unless it is; whether it was uploaded.
async fn bring(dir: &Path, to: &Storage, file: &str, hash: &str, there: &BTreeMap<String, u64>) -> Result<bool> {
    let path = dir.join(file);
    let local = |e| Error::Dataset(redline_dataset::Error::io(&path, "could not read")(e));
    let size = tokio::fs::metadata(&path).await.map_err(local)?.len();
    if there.get(file) == Some(&size) && read::sha256(to, file, size).await? == hash {
        return Ok(false);
    }
    let changed = || {
        let message = format!("{}: not as released: `redline verify` the release", path.display());
        Error::Dataset(redline_dataset::Error::Refused(message))
    };
    if size <= PART_BYTES {
        let bytes = tokio::fs::read(&path).await.map_err(local)?;
        if fsio::sha256_bytes(&bytes) != hash {
            return Err(changed());
        }
        to.store.put(&to.object(file)?, bytes.into()).await.map_err(Error::store(to.name(file), "could not upload"))?;
    } else {
        in_parts(&path, to, file, size, hash).await?.ok_or_else(changed)?;
    }
    if read::sha256(to, file, size).await? != hash {
        return Err(Error::Garbled { address: to.name(file) });
    }
    Ok(true)
}

/// Uploads a large file; `None` when its bytes are not those of `hash`, and then nothing is there.
async fn in_parts(path: &Path, to: &Storage, file: &str, size: u64, hash: &str) -> Result<Option<()>> {
    let failed = || Error::store(to.name(file), "could not upload");
    let local = |e| Error::Dataset(redline_dataset::Error::io(path, "could not read")(e));
    let mut input = tokio::fs::File::open(path).await.map_err(local)?;
    let part = PART_BYTES.max(size.div_ceil(MAX_PARTS)) as usize;
    let upload = to.store.put_multipart(&to.object(file)?).await.map_err(failed())?;
    let mut upload = WriteMultipart::new_with_chunk_size(upload, part);
    let mut sum = Sha256::new();
    let mut buf = vec![0; 1 << 20];
    let sent = async {
        loop {
            let n = input.read(&mut buf).await.map_err(local)?;
            let Some(bytes) = buf.get(..n).filter(|b| !b.is_empty()) else { return Ok::<_, Error>(()) };
            sum.update(bytes);
            upload.wait_for_capacity(PARTS_AT_A_TIME).await.map_err(failed())?;
            upload.write(bytes);
        }
    };
    let sent = sent.await;
    let right = read::hex(&sum.finalize()) == hash;
    if sent.is_err() || !right {
        // Parts that can't be removed now are the storage's to tidy up.
        let _ = upload.abort().await;
        return sent.map(|()| None);
    }
    upload.finish().await.map_err(failed())?;
    Ok(Some(()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verify;
    use object_store::memory::InMemory;
    use object_store::path::Path as ObjectPath;
    use redline_dataset::release::Damage;
    use std::sync::Arc;

    /// A folder that looks like a release to the uploader: files and their checksums.
    fn release(files: &[(&str, Vec<u8>)]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        let mut sums = BTreeMap::new();
        for (name, bytes) in files {
            let path = dir.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, bytes).unwrap();
            sums.insert(*name, fsio::sha256_bytes(bytes));
        }
        let text: String = sums.iter().map(|(f, h)| format!("{h}  {f}\n")).collect();
        std::fs::write(dir.path().join(SUMS_FILE), text).unwrap();
        dir
    }

    fn large() -> Vec<u8> {
        (0..(PART_BYTES * 2 + 12_345) as u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect()
    }

    fn place() -> (Arc<InMemory>, Storage) {
        let store = Arc::new(InMemory::new());
        let to = Storage::with_store(store.clone(), "gears/1.0.0", "s3://test/gears/1.0.0").unwrap();
        (store, to)
    }

    fn put(to: &Storage, file: &str, bytes: &[u8]) {
        to.run(async {
            to.store.put(&to.object(file)?, bytes.to_vec().into()).await.map_err(Error::store(file, "could not put"))?;
            Ok(())
        })
        .unwrap();
    }

    fn delete(to: &Storage, file: &str) {
        to.run(async { to.store.delete(&to.object(file)?).await.map_err(Error::store(file, "could not delete")) }).unwrap();
    }

    #[test]
    fn large_and_small_files_arrive_and_a_second_time_nothing_is_uploaded() {
        let r = release(&[("README.md", b"hello".to_vec()), ("requests/R 1/ä.mp4", large()), ("empty", vec![])]);
        let (_, to) = place();
        let done = publish(r.path(), &to, &|_, _| {}).unwrap();
        assert_eq!((done.copied, done.kept), (3, 0));
        let found = verify(&to, &|_, _| {}).unwrap();
        assert_eq!((found.files, found.bytes, found.damaged), (3, 5 + large().len() as u64, vec![]));
        let done = publish(r.path(), &to, &|_, _| {}).unwrap();
        assert_eq!((done.copied, done.kept), (0, 3));
    }

    #[test]
    fn an_upload_goes_on_where_it_stopped_and_is_no_release_before_its_checksums_are_there() {
        let r = release(&[("a", b"aa".to_vec()), ("b", b"bb".to_vec()), ("c", b"cc".to_vec())]);
        let (_, to) = place();
        put(&to, "a", b"aa");
        // Of the same size with other bytes, as after a fault of the storage.
        put(&to, "b", b"xx");
        let e = verify(&to, &|_, _| {}).unwrap_err().to_string();
        assert!(e.contains("unfinished upload"), "{e}");
        let done = publish(r.path(), &to, &|_, _| {}).unwrap();
        assert_eq!((done.copied, done.kept), (2, 1));
        assert!(verify(&to, &|_, _| {}).unwrap().damaged.is_empty());

        // What is lost or damaged later is found, and made good from the same release.
        delete(&to, "a");
        put(&to, "c", b"c?");
        put(&to, "d", b"more");
        let found = verify(&to, &|_, _| {}).unwrap().damaged;
        assert_eq!(found, [("a".into(), Damage::Missing), ("c".into(), Damage::Changed), ("d".into(), Damage::Extra)]);
        let e = publish(r.path(), &to, &|_, _| {}).unwrap_err().to_string();
        assert!(e.contains("gears/1.0.0/d: is no part of this release"), "{e}");
        delete(&to, "d");
        assert_eq!(publish(r.path(), &to, &|_, _| {}).unwrap().copied, 2);
    }

    #[test]
    fn another_release_is_never_overwritten_and_a_damaged_one_not_published() {
        let (one, two) = (release(&[("a", b"1".to_vec())]), release(&[("a", b"2".to_vec())]));
        let (store, to) = place();
        publish(one.path(), &to, &|_, _| {}).unwrap();
        let e = publish(two.path(), &to, &|_, _| {}).unwrap_err().to_string();
        assert!(e.contains("holds another release"), "{e}");
        assert!(verify(&to, &|_, _| {}).unwrap().damaged.is_empty());

        let other = Storage::with_store(store.clone(), "gears/2.0.0", "s3://test/gears/2.0.0").unwrap();
        for bytes in [b"3".to_vec(), large()] {
            let r = release(&[("a", bytes.clone())]);
            std::fs::write(r.path().join("a"), [&bytes[..bytes.len() - 1], b"?"].concat()).unwrap();
            let e = publish(r.path(), &other, &|_, _| {}).unwrap_err().to_string();
            assert!(e.contains("not as released"), "{e}");
        }
        let left = other.run(async { Ok(store.head(&ObjectPath::from("gears/2.0.0/a")).await.is_ok()) }).unwrap();
        assert!(!left, "nothing is there");
        assert!(matches!(verify(&other, &|_, _| {}), Err(Error::Refused(m)) if m.contains("nothing is there")));
    }
}
