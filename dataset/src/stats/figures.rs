//! What is counted of one session: made on any machine, put together on one.

use crate::Result;
use redline_schemas::{
    Corpus, Correction, Difficulty, EditId, EditManifest, EventStream, Modality, ParticipantId, RequestId, SessionDir, Status, Streams,
    TranscriptKind, fsio,
};
use serde::{Deserialize, Serialize};

/// The longest typed text that is counted, bytes.
const MAX_TEXT_BYTES: u64 = 4 << 20;

/// A request's figures.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct RequestFigures {
    pub id: RequestId,
    pub modality: Modality,
    pub difficulty: Difficulty,
    pub status: Status,
    pub duration_ns: i64,
    pub counts: Counts,
    /// Words of the accepted transcript, else of the automatic one, else of the typed text.
    pub words: Option<u64>,
    /// Whether there is an automatic transcript.
    pub automatic: bool,
    /// What the accepted transcript says of its correction.
    pub correction: Option<Correction>,
}

/// An edit's figures.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct EditFigures {
    pub request: RequestId,
    pub participant: ParticipantId,
    pub status: Status,
    pub duration_ns: i64,
    pub counts: Counts,
}

/// Lines of a session's streams.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub(crate) struct Counts {
    pub events: u64,
    pub commands: u64,
    pub renders: u64,
}

impl Counts {
    fn of(s: &Streams) -> Self {
        let count = |s: &Option<EventStream>| s.as_ref().map_or(0, |s| s.count);
        let streams = [&s.input, &s.strokes, &s.selections, &s.commands, &s.text];
        Self { events: streams.into_iter().map(count).sum(), commands: count(&s.commands), renders: count(&s.renders) }
    }
}

/// Whether a session counts for more than its status.
pub(super) fn counts(status: Status) -> bool {
    matches!(status, Status::Complete | Status::Recovered)
}

pub(crate) fn request(corpus: &Corpus, id: &RequestId) -> Result<RequestFigures> {
    let r = corpus.request(id)?;
    let mut f = RequestFigures {
        id: id.clone(),
        modality: r.modality,
        difficulty: r.difficulty,
        status: r.status,
        duration_ns: r.session.duration_ns,
        counts: Counts::of(&r.session.streams),
        words: None,
        automatic: false,
        correction: None,
    };
    if counts(r.status) {
        read(&corpus.request_dir(id), &mut f)?;
    }
    Ok(f)
}

fn read(dir: &SessionDir, f: &mut RequestFigures) -> Result<()> {
    let automatic = dir.transcript(TranscriptKind::Automatic)?;
    let oracle = dir.transcript(TranscriptKind::Oracle)?;
    f.automatic = automatic.is_some();
    f.correction = oracle.as_ref().and_then(|o| o.correction.clone());
    f.words = match oracle.or(automatic) {
        Some(t) => Some(t.words().count() as u64),
        None if dir.text().is_file() => {
            let text = fsio::read_limited(&dir.text(), MAX_TEXT_BYTES)?;
            Some(String::from_utf8_lossy(&text).split_whitespace().count() as u64)
        }
        None => None,
    };
    Ok(())
}

pub(crate) fn edit(corpus: &Corpus, id: &EditId) -> Result<EditFigures> {
    let e = corpus.edit(id)?;
    Ok(EditFigures {
        duration_ns: duration_ns(&e),
        counts: Counts::of(&e.session.streams),
        request: e.request,
        participant: e.participant,
        status: e.status,
    })
}

/// From the first to the last moment of editing; the session's length where that is not known.
fn duration_ns(e: &EditManifest) -> i64 {
    match (e.started_ns, e.stopped_ns) {
        (Some(a), Some(b)) if b >= a => b.saturating_sub(a),
        _ => e.session.duration_ns,
    }
}
