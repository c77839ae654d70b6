//! Rows made from manifests and transcripts.

use super::sessions::{People, SessionInfo};
use crate::{Result, tables};
use redline_schemas::{Corpus, SessionDir, TranscriptKind, fsio};
use std::collections::BTreeSet;

/// The largest typed text that is read, bytes.
const MAX_TEXT_BYTES: u64 = 16 << 20;

pub(super) fn request(b: &mut tables::requests::Builder, corpus: &Corpus, people: &People, s: &SessionInfo) -> Result<()> {
    let r = corpus.request(&redline_schemas::RequestId::new(&s.id)?)?;
    tables::requests::append(b, &r, &people.published(&r.participant), instruction(&s.dir(corpus))?.as_ref());
    Ok(())
}

/// The oracle transcript, else the typed text, else the automatic transcript.
pub(crate) fn instruction(dir: &SessionDir) -> Result<Option<tables::requests::Instruction>> {
    use tables::requests::Instruction;
    if let Some(t) = dir.transcript(TranscriptKind::Oracle)? {
        return Ok(Some(Instruction { text: t.text(), source: "oracle" }));
    }
    let typed = dir.text();
    if typed.exists() {
        let bytes = fsio::read_limited(&typed, MAX_TEXT_BYTES)?;
        let text = String::from_utf8_lossy(&bytes).trim_end().to_owned();
        return Ok(Some(Instruction { text, source: "typed" }));
    }
    Ok(dir.transcript(TranscriptKind::Automatic)?.map(|t| Instruction { text: t.text(), source: "automatic" }))
}

pub(super) fn edit(b: &mut tables::edits::Builder, corpus: &Corpus, people: &People, s: &SessionInfo) -> Result<()> {
    let e = corpus.edit(&redline_schemas::EditId::new(&s.id)?)?;
    tables::edits::append(b, &e, &people.published(&e.participant));
    Ok(())
}

pub(super) fn transcripts(b: &mut tables::transcripts::Builder, corpus: &Corpus, people: &People, s: &SessionInfo) -> Result<()> {
    let dir = s.dir(corpus);
    for kind in TranscriptKind::ALL {
        if let Some(t) = dir.transcript(*kind)? {
            tables::transcripts::append(b, &s.id, &t, &|p| people.published(p));
        }
    }
    Ok(())
}

pub(super) fn words(b: &mut tables::words::Builder, corpus: &Corpus, _: &People, s: &SessionInfo) -> Result<()> {
    let dir = s.dir(corpus);
    for kind in TranscriptKind::ALL {
        if let Some(t) = dir.transcript(*kind)? {
            tables::words::append(b, &s.id, s.started_utc, &t);
        }
    }
    Ok(())
}

pub(super) fn revisions(b: &mut tables::revisions::Builder, corpus: &Corpus, people: &People, s: &SessionInfo) -> Result<()> {
    for r in s.dir(corpus).revisions()?.iter().flat_map(|h| &h.revisions) {
        tables::revisions::append(b, r, &|p| people.published(p));
    }
    Ok(())
}

pub(super) fn ratings(b: &mut tables::ratings::Builder, corpus: &Corpus, people: &People, s: &SessionInfo) -> Result<()> {
    let Some(all) = s.dir(corpus).ratings()? else { return Ok(()) };
    let request = corpus.edit(&redline_schemas::EditId::new(&s.id)?)?.request;
    let packed = all.ratings.iter().filter(|r| people.raters.as_ref().is_none_or(|w| w.contains(&r.rater)));
    let mut ratings: Vec<_> = packed.map(|r| (people.published(&r.rater), r)).collect();
    ratings.sort_by(|a, b| a.0.cmp(&b.0));
    for (name, r) in ratings {
        let is_agent = people.participants.iter().any(|p| p.id == r.rater && p.agent.is_some());
        tables::ratings::append(b, &s.id, request.as_str(), &name, is_agent, r);
    }
    Ok(())
}

/// `edits` are those that are packed: a reference that is not among them is not named.
pub(super) fn metrics(b: &mut tables::metrics::Builder, corpus: &Corpus, edits: &BTreeSet<String>, s: &SessionInfo) -> Result<()> {
    let Some(m) = s.dir(corpus).metrics()? else { return Ok(()) };
    let request = corpus.edit(&redline_schemas::EditId::new(&s.id)?)?.request;
    tables::metrics::append(b, request.as_str(), &m, m.reference.as_ref().map(|r| r.as_str()).filter(|r| edits.contains(*r)));
    Ok(())
}
