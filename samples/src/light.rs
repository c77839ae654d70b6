//! Very many sessions at little cost: a manifest and input events each, no recordings, texts or models. For packing, not for
//! checking.

use crate::requests::{clock, pointer, request_id, screen};
use crate::{Chance, Made, Result, Size, cell, make_dir, manifest, people, person, write};
use rayon::prelude::*;
use redline_schemas::time::NS_PER_S;
use redline_schemas::{Corpus, EventStream, FORMAT_VERSION, FileRef, RequestManifest, Session, Status, Streams, Timed, Tool, fsio};
use std::path::Path;

const LENGTH_NS: i64 = 20 * NS_PER_S;

/// Makes a corpus in `dir`, which must hold none: requests with so many input events each.
pub fn generate(dir: &Path, requests: u64, events: u64) -> Result<Made> {
    let none = Size { requests: 0, edits_per_request: 0, events: 0, renders: 0 };
    let corpus = Corpus::create(dir, &manifest(&none))?;
    corpus.write_participants(&people()?)?;
    (0..requests).into_par_iter().try_for_each(|i| request(&corpus, i, events))?;
    Ok(Made { requests, events: requests * events, ..Made::default() })
}

fn request(corpus: &Corpus, i: u64, events: u64) -> Result<()> {
    let id = request_id(i)?;
    let dir = corpus.request_dir(&id);
    make_dir(dir.path())?;
    let input = pointer(&mut Chance::new(i), events, LENGTH_NS);
    let mut lines = Vec::new();
    for e in &input {
        lines.extend(json(e, &dir.input())?);
        lines.push(b'\n');
    }
    // Plain writes: a sync for each of a million files would take hours.
    write(&dir.input(), &lines)?;
    let file = FileRef { path: "input.jsonl".into(), sha256: fsio::sha256_bytes(&lines), bytes: lines.len() as u64 };
    let (first_t_ns, last_t_ns) = (input.first().map(Timed::t_ns), input.last().map(Timed::t_ns));
    let streams = Streams { input: Some(EventStream { file, count: events, first_t_ns, last_t_ns, lost: 0 }), ..Streams::default() };
    let (modality, difficulty) = cell(i);
    let m = RequestManifest {
        format_version: FORMAT_VERSION,
        id,
        participant: person(i)?,
        model: None,
        modality,
        difficulty,
        status: Status::Complete,
        rejection: None,
        session: Session { clock: clock(i), duration_ns: LENGTH_NS, screen: Some(screen()), streams },
        note: None,
        imported_from: None,
        tool: Tool::redline(),
    };
    write(&dir.request_json(), &json(&m, &dir.request_json())?)
}

fn json(value: &impl serde::Serialize, path: &Path) -> Result<Vec<u8>> {
    let failed = |e: serde_json::Error| crate::Error::Schemas(redline_schemas::Error::io(path, "could not write")(e.into()));
    serde_json::to_vec(value).map_err(failed)
}
