//! Corpora of any size, for tests and benchmarks: whole in every part, and without people in them.
//!
//! Videos are real H.264 and audio is real FLAC, but a few recordings are shared out among all
//! requests, and what is "said" is a tone for each word. Streams and texts follow from the ids,
//! so equal sizes give equal streams. `redline check` finds no error in what comes out.

mod chance;
mod edits;
pub mod light;
mod media;
mod metrics;
pub mod onnx;
mod requests;
mod step;

use chance::Chance;
use rayon::prelude::*;
use redline_schemas::{
    Cell, Consent, ConsentText, Corpus, CorpusManifest, Difficulty, EventStream, FORMAT_VERSION, Modality, ModelId, ModelManifest,
    Participant, ParticipantId, ParticipantsManifest, Protocol, Role, SessionDir, Timed, TopologyCounts, Utc, VIEWS, fsio, jsonl,
};
use std::path::Path;

/// How much to make.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// Requests, three a model.
    pub requests: u32,
    /// Edits of each request.
    pub edits_per_request: u32,
    /// Events of all streams together: exactly as many, when there are at least 100 a session.
    pub events: u64,
    /// Pictures of models while they are edited.
    pub renders: u64,
}

impl Size {
    /// The reference dataset's size.
    pub const PAPER: Self = Self { requests: 192, edits_per_request: 2, events: 30_000, renders: 24_000 };
}

/// What was made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Made {
    /// Models.
    pub models: u64,
    /// Requests.
    pub requests: u64,
    /// Edits.
    pub edits: u64,
    /// Lines of input, strokes, selections, commands and typing.
    pub events: u64,
    /// Pictures.
    pub renders: u64,
}

/// Why nothing was made.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file of the corpus could not be written.
    #[error(transparent)]
    Schemas(#[from] redline_schemas::Error),
    /// A recording could not be made.
    #[error(transparent)]
    Media(#[from] redline_media::Error),
    /// A picture could not be made.
    #[error("could not encode a picture: {0}")]
    Picture(#[from] image::ImageError),
}

/// A result with this crate's error.
pub type Result<T, E = Error> = std::result::Result<T, E>;

pub(crate) fn io(path: &Path, action: &'static str) -> impl FnOnce(std::io::Error) -> Error {
    let e = redline_schemas::Error::io(path, action);
    move |source| Error::Schemas(e(source))
}

/// Lengths of the shared recordings, seconds.
const LENGTHS: [u32; 3] = [12, 20, 31];

/// People in the corpus.
const PEOPLE: u64 = 10;

pub(crate) fn person(n: u64) -> Result<ParticipantId> {
    Ok(ParticipantId::new(format!("P{:02}", n % PEOPLE + 1))?)
}

/// UTC at session time 0 of the `n`th session.
pub(crate) fn started(n: u64) -> Utc {
    chrono_at(1_772_359_200 + n as i64 * 900)
}

fn chrono_at(unix: i64) -> Utc {
    Utc::from_timestamp(unix, 0).unwrap_or_default()
}

/// What all sessions are made from.
pub(crate) struct Stock<'a> {
    pub corpus: &'a Corpus,
    pub size: &'a Size,
    pub recordings: Vec<media::Recording>,
    pub pictures: Vec<Vec<u8>>,
}

/// Share `i` of `n` of `total`, so that all shares make the total.
pub(crate) fn share(total: u64, n: u64, i: u64) -> u64 {
    let up_to = |i: u64| (total * i).checked_div(n).unwrap_or(0);
    up_to(i + 1) - up_to(i)
}

/// Makes a corpus in `dir`, which must hold none.
pub fn generate(dir: &Path, size: &Size) -> Result<Made> {
    let corpus = Corpus::create(dir, &manifest(size))?;
    corpus.write_participants(&people()?)?;
    let scratch = tempfile::tempdir().map_err(io(dir, "could not make a temporary folder"))?;
    let recordings = LENGTHS.par_iter().map(|s| media::Recording::make(scratch.path(), *s)).collect::<Result<Vec<_>>>()?;
    let pictures = (0..24).map(picture).collect::<Result<Vec<_>>>()?;
    let stock = Stock { corpus: &corpus, size, recordings, pictures };
    let models = u64::from(size.requests).div_ceil(3);
    (0..models).into_par_iter().try_for_each(|m| model(&stock, m))?;
    let requests = u64::from(size.requests);
    let edits = requests * u64::from(size.edits_per_request);
    // Two thirds of the events belong to edits, as most of the work does.
    let of_edits = if edits == 0 { 0 } else { size.events * 2 / 3 };
    let of_requests = (0..requests)
        .into_par_iter()
        .map(|i| requests::make(&stock, i, share(size.events - of_edits, requests, i)))
        .sum::<Result<u64>>()?;
    let (events, renders) = (0..edits)
        .into_par_iter()
        .map(|i| edits::make(&stock, i, share(of_edits, edits, i), share(size.renders, edits, i)))
        .try_reduce(|| (0, 0), |a, b| Ok((a.0 + b.0, a.1 + b.1)))?;
    Ok(Made { models, requests, edits, events: of_requests + events, renders })
}

/// The `i`th request's modality and difficulty: every cell gets its share.
pub(crate) fn cell(i: u64) -> (Modality, Difficulty) {
    let pick = |n: usize| i as usize % n;
    (Modality::ALL[pick(4)], Difficulty::ALL[(i as usize / 4) % 3])
}

fn manifest(size: &Size) -> CorpusManifest {
    let wanted = |m: Modality, d: Difficulty| (0..u64::from(size.requests)).filter(|i| cell(*i) == (m, d)).count() as u32;
    let cell = |modality, difficulty| Cell {
        modality,
        difficulty: Some(difficulty),
        parametric: None,
        assembly: None,
        wanted: wanted(modality, difficulty),
    };
    let cells = Modality::ALL.iter().flat_map(|m| Difficulty::ALL.iter().map(move |d| (*m, *d))).map(|(m, d)| cell(m, d)).collect();
    CorpusManifest {
        format_version: FORMAT_VERSION,
        name: "generated".into(),
        licence: "CC-BY-4.0".into(),
        created_utc: started(0),
        language: Some("en".into()),
        word_list: vec!["chamfer".into(), "fillet".into()],
        protocol: Protocol { edits_per_request: size.edits_per_request, cells, ..Protocol::default() },
        consent: Some(ConsentText { version: "1".into(), text: "What I record may be published.".into() }),
        splits: Vec::new(),
        failure_labels: Vec::new(),
    }
}

fn people() -> Result<ParticipantsManifest> {
    let one = |n| {
        Ok(Participant {
            id: person(n)?,
            roles: vec![Role::Requestor, Role::Editor, Role::Reviewer, Role::Rater],
            created_utc: started(0),
            consent: Some(Consent { version: "1".into(), given_utc: started(0) }),
            agent: None,
        })
    };
    Ok(ParticipantsManifest { format_version: FORMAT_VERSION, participants: (0..PEOPLE).map(one).collect::<Result<_>>()? })
}

fn picture(n: u32) -> Result<Vec<u8>> {
    let shade = |x: u32, y: u32| image::Rgb([(x * 4 + n * 9) as u8, (y * 6) as u8, (n * 10) as u8]);
    let mut bytes = std::io::Cursor::new(Vec::new());
    image::RgbImage::from_fn(64, 36, shade).write_to(&mut bytes, image::ImageFormat::Png)?;
    Ok(bytes.into_inner())
}

pub(crate) fn model_id(request: u64) -> Result<ModelId> {
    Ok(ModelId::new(format!("M{:04}", request / 3 + 1))?)
}

fn model(s: &Stock<'_>, m: u64) -> Result<()> {
    let id = model_id(m * 3)?;
    let dir = SessionDir::new(s.corpus.model_dir(&id));
    make_dir(&dir.path().join("views"))?;
    let mut chance = Chance::new(m);
    let step = dir.path().join("model.step");
    write(&step, step::cuboid("block", [10.0 + chance.below(90) as f64, 20.0, 5.0]).as_bytes())?;
    let mut views = std::collections::BTreeMap::new();
    for (v, view) in VIEWS.iter().enumerate() {
        let rel = format!("views/{view}.png");
        write(&dir.path().join(&rel), &s.pictures[v])?;
        views.insert((*view).to_owned(), rel);
    }
    let manifest = ModelManifest {
        format_version: FORMAT_VERSION,
        id,
        name: format!("Block {}", m + 1),
        created_utc: started(0),
        step: dir.file_ref(&step)?,
        native: None,
        parametric: m.is_multiple_of(2),
        assembly: false,
        counts: Some(TopologyCounts { bodies: 1, faces: 6, edges: 12, vertices: 8 }),
        views,
        source: Some("made for tests".into()),
    };
    Ok(fsio::write_json(&dir.path().join("model.json"), &manifest)?)
}

pub(crate) fn make_dir(path: &Path) -> Result<()> {
    std::fs::create_dir_all(path).map_err(io(path, "could not create the folder"))
}

pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    std::fs::write(path, bytes).map_err(io(path, "could not write"))
}

/// Writes a stream and its manifest entry.
pub(crate) fn stream<T: serde::Serialize + Timed>(dir: &SessionDir, path: &Path, events: &[T]) -> Result<Option<EventStream>> {
    let mut w = jsonl::Writer::create(path)?;
    for e in events {
        w.write(e)?;
    }
    let count = w.finish()?;
    let (first_t_ns, last_t_ns) = (events.first().map(Timed::t_ns), events.last().map(Timed::t_ns));
    Ok(Some(EventStream { file: dir.file_ref(path)?, count, first_t_ns, last_t_ns, lost: 0 }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_make_the_total() {
        assert_eq!((0..7).map(|i| share(100, 7, i)).sum::<u64>(), 100);
        assert_eq!(share(5, 0, 0), 0);
    }

    #[test]
    fn a_small_corpus_holds_what_was_asked_for() {
        let dir = tempfile::tempdir().unwrap();
        let size = Size { requests: 4, edits_per_request: 1, events: 1500, renders: 6 };
        let made = generate(&dir.path().join("c"), &size).unwrap();
        assert_eq!(made, Made { models: 2, requests: 4, edits: 4, events: 1500, renders: 6 });
        let c = Corpus::open(dir.path().join("c")).unwrap();
        let lines: u64 = c
            .request_ids()
            .unwrap()
            .iter()
            .map(|r| c.request(r).unwrap().session.streams)
            .chain(c.edit_ids().unwrap().iter().map(|e| c.edit(e).unwrap().session.streams))
            .flat_map(|s| [s.input, s.strokes, s.selections, s.commands, s.text])
            .flatten()
            .map(|s| s.count)
            .sum();
        assert_eq!(lines, 1500);
    }
}
