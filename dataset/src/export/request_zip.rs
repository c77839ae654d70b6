//! One request with its model and its participants as a zip that another corpus can take in.

use crate::{Error, Result};
use redline_schemas::{Corpus, Participant, ParticipantId, ParticipantsManifest, RequestId, RequestManifest, TranscriptKind, fsio};
use std::fs::File;
use std::io::{Read, Seek, Write};
use std::path::{Component, Path, PathBuf};
use zip::write::SimpleFileOptions;

/// What a zip may hold at most: a request of an hour is far below it.
const MAX_ENTRIES: usize = 100_000;
const MAX_BYTES: u64 = 64 << 30;

fn zip_error(path: &Path) -> impl Fn(zip::result::ZipError) -> Error {
    let path = path.to_path_buf();
    move |e| Error::Refused(format!("{}: not a usable zip of a request: {e}", path.display()))
}

/// Writes `requests/<id>`, its model's folder and the people who asked, corrected and accepted into `out`.
pub fn export_zip(corpus: &Corpus, id: &RequestId, out: &Path) -> Result<RequestManifest> {
    if out.exists() {
        return Err(redline_schemas::Error::Exists { path: out.into() }.into());
    }
    let request = corpus.request(id)?;
    let oracle = corpus.request_dir(id).transcript(TranscriptKind::Oracle)?;
    let mut named: Vec<ParticipantId> = vec![request.participant.clone()];
    named.extend(oracle.and_then(|t| t.correction).into_iter().flat_map(|c| [c.corrected_by, c.accepted_by]));
    for r in corpus.request_dir(id).revisions()?.into_iter().flat_map(|h| h.revisions) {
        named.push(r.revision.author);
        named.extend(r.decision.map(|d| d.reviewer));
    }
    named.extend(request.rejection.as_ref().map(|r| r.by.clone()));
    let people: Vec<Participant> = corpus.participants()?.participants.into_iter().filter(|p| named.contains(&p.id)).collect();
    let tmp = fsio::temporary_beside(out);
    let result = (|| {
        let file = File::create(&tmp).map_err(Error::io(out, "could not create"))?;
        let mut zip = zip::ZipWriter::new(file);
        let manifest = ParticipantsManifest { format_version: redline_schemas::FORMAT_VERSION, participants: people };
        zip.start_file("participants.json", SimpleFileOptions::default()).map_err(zip_error(out))?;
        let text = serde_json::to_vec_pretty(&manifest).map_err(|e| Error::Refused(format!("{}: {e}", out.display())))?;
        zip.write_all(&text).map_err(Error::io(out, "could not write"))?;
        add_folder(&mut zip, out, corpus.root(), corpus.request_dir(id).path())?;
        if let Some(m) = &request.model {
            add_folder(&mut zip, out, corpus.root(), &corpus.model_dir(m))?;
        }
        let file = zip.finish().map_err(zip_error(out))?;
        file.sync_all().map_err(Error::io(out, "could not write"))?;
        std::fs::rename(&tmp, out).map_err(Error::io(out, "could not write"))
    })();
    if result.is_err() {
        let _ = std::fs::remove_file(&tmp);
    }
    result.map(|()| request)
}

fn add_folder(zip: &mut zip::ZipWriter<File>, out: &Path, root: &Path, dir: &Path) -> Result<()> {
    let mut open = vec![dir.to_path_buf()];
    let mut files = Vec::new();
    while let Some(d) = open.pop() {
        for e in std::fs::read_dir(&d).map_err(Error::io(&d, "could not list"))?.flatten() {
            match e.file_type() {
                Ok(t) if t.is_dir() => open.push(e.path()),
                Ok(t) if t.is_file() => files.push(e.path()),
                _ => {}
            }
        }
    }
    files.sort();
    for path in files {
        let rel = path.strip_prefix(root).unwrap_or(&path);
        let name = rel.components().map(|c| c.as_os_str().to_string_lossy()).collect::<Vec<_>>().join("/");
        // Media are compressed already.
        let packed = path.extension().is_some_and(|e| ["mp4", "flac", "png", "jpg"].iter().any(|p| e == *p));
        let method = if packed { zip::CompressionMethod::Stored } else { zip::CompressionMethod::Deflated };
        zip.start_file(name, SimpleFileOptions::default().compression_method(method).large_file(true)).map_err(zip_error(out))?;
        let mut file = File::open(&path).map_err(Error::io(&path, "could not open"))?;
        std::io::copy(&mut file, zip).map_err(Error::io(&path, "could not copy"))?;
    }
    Ok(())
}

/// Takes the request of a zip into a corpus; nothing is left behind when it fails.
pub fn import_zip(corpus: &Corpus, file: &Path) -> Result<RequestManifest> {
    let staging = fsio::temporary_beside(&corpus.root().join("import"));
    std::fs::create_dir(&staging).map_err(Error::io(&staging, "could not create the folder"))?;
    let done = take_in(corpus, file, &staging);
    let _ = std::fs::remove_dir_all(&staging);
    done
}

fn take_in(corpus: &Corpus, file: &Path, staging: &Path) -> Result<RequestManifest> {
    let refuse = |what: String| Error::Refused(format!("{}: {what}", file.display()));
    let input = File::open(file).map_err(Error::io(file, "could not open"))?;
    unpack(file, input, staging)?;
    let other = open_parts(staging, file)?;
    let ids = other.request_ids()?;
    let [id] = ids.as_slice() else { return Err(refuse(format!("{} requests in it; one is wanted", ids.len()))) };
    let request = other.request(id)?;
    if request.id != *id {
        return Err(refuse(format!("its request is {} by its folder and {} by its manifest", id, request.id)));
    }
    let target = corpus.request_dir(id);
    if target.path().exists() {
        return Err(redline_schemas::Error::Exists { path: target.path().into() }.into());
    }
    let mut people = corpus.participants()?;
    for p in other.participants()?.participants {
        if !people.participants.iter().any(|q| q.id == p.id) {
            people.participants.push(p);
        }
    }
    people.participants.sort_by(|a, b| a.id.cmp(&b.id));
    if !people.participants.iter().any(|p| p.id == request.participant) {
        return Err(refuse(format!("its participant {} is in neither", request.participant)));
    }
    if let Some(m) = request.model.as_ref().filter(|m| !corpus.model_dir(m).exists()) {
        other.model(m)?;
        put(&other.model_dir(m), &corpus.model_dir(m))?;
    }
    corpus.write_participants(&people)?;
    put(other.request_dir(id).path(), target.path())?;
    Ok(request)
}

/// The unpacked zip as a corpus; it lacks only `corpus.json`.
fn open_parts(staging: &Path, file: &Path) -> Result<Corpus> {
    // A corpus is known by its manifest, which a zip of a request does not hold; it is never read here.
    std::fs::write(staging.join("corpus.json"), "{}").map_err(Error::io(file, "could not unpack"))?;
    Ok(Corpus::open(staging)?)
}

fn put(from: &Path, to: &Path) -> Result<()> {
    if let Some(parent) = to.parent() {
        std::fs::create_dir_all(parent).map_err(Error::io(parent, "could not create the folder"))?;
    }
    std::fs::rename(from, to).map_err(Error::io(to, "could not put in place"))
}

fn unpack(path: &Path, input: impl Read + Seek, to: &Path) -> Result<()> {
    let bad = zip_error(path);
    let refuse = |what: String| Error::Refused(format!("{}: {what}", path.display()));
    let mut zip = zip::ZipArchive::new(input).map_err(&bad)?;
    if zip.len() > MAX_ENTRIES {
        return Err(refuse(format!("{} files in it; at most {MAX_ENTRIES} are taken", zip.len())));
    }
    let mut left = MAX_BYTES;
    for i in 0..zip.len() {
        let entry = zip.by_index(i).map_err(&bad)?;
        if entry.is_dir() {
            continue;
        }
        let name = entry.name().to_owned();
        let plain = Path::new(&name).components().all(|c| matches!(c, Component::Normal(_))) && !name.contains('\\') && !entry.is_symlink();
        let known = name == "participants.json" || name.starts_with("requests/") || name.starts_with("models/");
        if !plain || !known {
            return Err(refuse(format!("“{}” has no place in a request’s zip", name.escape_debug())));
        }
        let target: PathBuf = to.join(&name);
        if let Some(parent) = target.parent() {
            std::fs::create_dir_all(parent).map_err(Error::io(parent, "could not create the folder"))?;
        }
        let mut out = File::create_new(&target).map_err(Error::io(&target, "could not create"))?;
        // The size in a zip's index is a claim: what comes out is counted.
        let n = std::io::copy(&mut entry.take(left + 1), &mut out).map_err(|e| refuse(format!("“{name}”: {e}")))?;
        left = left.checked_sub(n).ok_or_else(|| refuse(format!("more than {MAX_BYTES} bytes in it")))?;
    }
    Ok(())
}
