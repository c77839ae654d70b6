//! Reading back: the hash of an object, and the check of a whole release.

use crate::{AT_A_TIME, Error, PART_BYTES, Progress, Result, Storage};
use futures::{StreamExt, TryStreamExt, stream};
use object_store::ObjectStoreExt;
use redline_dataset::release::{Damage, SUMS_FILE, Verified, parse_sums};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The largest `SHA256SUMS` that is read, bytes.
const MAX_SUMS_BYTES: u64 = 1 << 30;

/// SHA-256 of an object, read part by part so that memory stays bounded and a broken line costs one part.
pub(crate) async fn sha256(to: &Storage, file: &str, size: u64) -> Result<String> {
    let object = to.object(file)?;
    let mut hash = Sha256::new();
    let mut at = 0;
    while at < size {
        let end = (at + PART_BYTES).min(size);
        let part = to.store.get_range(&object, at..end).await.map_err(Error::store(to.name(file), "could not read back"))?;
        if part.len() as u64 != end - at {
            return Err(Error::Garbled { address: to.name(file) });
        }
        hash.update(&part);
        at = end;
    }
    Ok(hex(&hash.finalize()))
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

/// The checksums at a place, `None` when there are none: nothing, or an unfinished upload.
pub(crate) async fn sums(to: &Storage, there: &BTreeMap<String, u64>) -> Result<Option<(Vec<u8>, BTreeMap<String, String>)>> {
    let Some(size) = there.get(SUMS_FILE) else { return Ok(None) };
    if *size > MAX_SUMS_BYTES {
        return Err(Error::Refused(format!("{}: larger than {MAX_SUMS_BYTES} bytes; this is no release", to.name(SUMS_FILE))));
    }
    let failed = || Error::store(to.name(SUMS_FILE), "could not read");
    let got = to.store.get(&to.object(SUMS_FILE)?).await.map_err(failed())?;
    let bytes = got.bytes().await.map_err(failed())?.to_vec();
    let sums = parse_sums(to.name(SUMS_FILE).as_ref(), &bytes)?;
    Ok(Some((bytes, sums)))
}

/// Checks every object of a published release against its checksum, and that there is no other one.
pub fn verify(from: &Storage, progress: Progress<'_>) -> Result<Verified> {
    from.run(async {
        let there = from.list().await?;
        let Some((_, sums)) = sums(from, &there).await? else {
            let what = if there.is_empty() { "nothing is there" } else { "an unfinished upload: `redline publish` again goes on with it" };
            return Err(Error::Refused(format!("{}: no release ({what})", from.address())));
        };
        let done = AtomicUsize::new(0);
        let check = |(file, hash): (&String, &String)| {
            let size = there.get(file).copied();
            let (file, hash) = (file.clone(), hash.clone());
            let (done, all) = (&done, sums.len());
            async move {
                let damage = match size {
                    None => Some(Damage::Missing),
                    Some(size) => (sha256(from, &file, size).await? != hash).then_some(Damage::Changed),
                };
                progress(done.fetch_add(1, Ordering::Relaxed) + 1, all);
                Ok::<_, Error>((size.unwrap_or(0), damage.map(|d| (file, d))))
            }
        };
        let checked: Vec<_> = stream::iter(sums.iter().map(check)).buffer_unordered(AT_A_TIME).try_collect().await?;
        let bytes = checked.iter().map(|c| c.0).sum();
        let mut damaged: Vec<_> = checked.into_iter().filter_map(|c| c.1).collect();
        let extra = there.keys().filter(|f| *f != SUMS_FILE && !sums.contains_key(*f));
        damaged.extend(extra.map(|f| (f.clone(), Damage::Extra)));
        damaged.sort();
        Ok(Verified { files: sums.len(), bytes, damaged })
    })
}
