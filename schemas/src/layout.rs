//! Where a corpus's files lie. No other code joins these names.

use crate::{
    CorpusManifest, EditId, EditManifest, EditMetrics, Error, FileRef, ModelId, ModelManifest, ParticipantsManifest, Ratings, RequestId,
    RequestManifest, Result, RevisionHistory, RunId, RunManifest, RunScores, TaskId, TaskManifest, Transcript, TranscriptKind,
    Verification, fsio,
};
use std::path::{Path, PathBuf};

/// The largest `names.key` that is read.
const MAX_KEY_BYTES: u64 = 4096;

/// A corpus folder.
#[derive(Debug, Clone)]
pub struct Corpus {
    root: PathBuf,
}

macro_rules! list {
    ($ids:ident, $dir:ident, $t:ty, $doc:literal) => {
        #[doc = $doc]
        ///
        /// Sorted; folders whose name is no valid id are passed over (`redline check` reports them).
        pub fn $ids(&self) -> Result<Vec<$t>> {
            let dir = self.root.join(stringify!($dir));
            let entries = match std::fs::read_dir(&dir) {
                Ok(e) => e,
                Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
                Err(e) => return Err(Error::io(dir, "could not list")(e)),
            };
            let mut ids = Vec::new();
            for e in entries {
                let e = e.map_err(Error::io(&dir, "could not list"))?;
                if !e.file_type().is_ok_and(|t| t.is_dir()) {
                    continue;
                }
                if let Some(id) = e.file_name().to_str().and_then(|n| <$t>::new(n).ok()) {
                    ids.push(id);
                }
            }
            ids.sort();
            Ok(ids)
        }
    };
}

impl Corpus {
    /// Opens an existing corpus; its manifest must be there.
    pub fn open(root: impl Into<PathBuf>) -> Result<Self> {
        let c = Self { root: root.into() };
        if !c.manifest_path().is_file() {
            return Err(Error::Missing {
                path: c.root,
                message: "not a corpus (no corpus.json in it); make one with `redline init`".into(),
            });
        }
        Ok(c)
    }

    /// Makes a new corpus. The folder may exist, but must hold no corpus yet.
    pub fn create(root: impl Into<PathBuf>, manifest: &CorpusManifest) -> Result<Self> {
        let c = Self { root: root.into() };
        if c.manifest_path().exists() {
            return Err(Error::Exists { path: c.manifest_path() });
        }
        for d in ["", "models", "requests", "edits", "releases"] {
            let dir = c.root.join(d);
            std::fs::create_dir_all(&dir).map_err(Error::io(dir, "could not create the folder"))?;
        }
        c.write_participants(&ParticipantsManifest { format_version: crate::FORMAT_VERSION, participants: Vec::new() })?;
        c.names_key()?;
        fsio::write_json(&c.manifest_path(), manifest)?;
        Ok(c)
    }

    /// The secret that decides which published names participants get (`names.key`): without it they can't be led back, with it
    /// every release of the same people gives the same. Made when it is missing; never published.
    pub fn names_key(&self) -> Result<String> {
        let path = self.root.join("names.key");
        if path.exists() {
            let bytes = fsio::read_limited(&path, MAX_KEY_BYTES)?;
            return Ok(String::from_utf8_lossy(&bytes).trim().to_owned());
        }
        // The last 16 characters of a ULID are random: 80 bits each.
        let key: String = (0..2).flat_map(|_| RequestId::generate().as_str().chars().skip(10).collect::<Vec<_>>()).collect();
        fsio::write_atomic(&path, format!("{key}\n").as_bytes())?;
        Ok(key)
    }

    /// The folder.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// `corpus.json`.
    #[must_use]
    pub fn manifest_path(&self) -> PathBuf {
        self.root.join("corpus.json")
    }

    /// Reads `corpus.json`.
    pub fn manifest(&self) -> Result<CorpusManifest> {
        fsio::read_manifest(&self.manifest_path())
    }

    /// `participants.json`.
    #[must_use]
    pub fn participants_path(&self) -> PathBuf {
        self.root.join("participants.json")
    }

    /// Reads `participants.json`.
    pub fn participants(&self) -> Result<ParticipantsManifest> {
        fsio::read_manifest(&self.participants_path())
    }

    /// Replaces `participants.json`.
    pub fn write_participants(&self, p: &ParticipantsManifest) -> Result<()> {
        fsio::write_json(&self.participants_path(), p)
    }

    list!(model_ids, models, ModelId, "Ids of all models.");
    list!(request_ids, requests, RequestId, "Ids of all requests.");
    list!(edit_ids, edits, EditId, "Ids of all edits.");
    list!(run_ids, runs, RunId, "Ids of all runs of agents.");

    /// `models/<id>`.
    #[must_use]
    pub fn model_dir(&self, id: &ModelId) -> PathBuf {
        self.root.join("models").join(id)
    }

    /// Reads a model's manifest.
    pub fn model(&self, id: &ModelId) -> Result<ModelManifest> {
        fsio::read_manifest(&self.model_dir(id).join("model.json"))
    }

    /// The folder of a request.
    #[must_use]
    pub fn request_dir(&self, id: &RequestId) -> SessionDir {
        SessionDir::new(self.root.join("requests").join(id))
    }

    /// Reads a request's manifest.
    pub fn request(&self, id: &RequestId) -> Result<RequestManifest> {
        fsio::read_manifest(&self.request_dir(id).request_json())
    }

    /// The folder of an edit.
    #[must_use]
    pub fn edit_dir(&self, id: &EditId) -> SessionDir {
        SessionDir::new(self.root.join("edits").join(id))
    }

    /// Reads an edit's manifest.
    pub fn edit(&self, id: &EditId) -> Result<EditManifest> {
        fsio::read_manifest(&self.edit_dir(id).edit_json())
    }

    /// The folder of a run.
    #[must_use]
    pub fn run_dir(&self, id: &RunId) -> SessionDir {
        SessionDir::new(self.root.join("runs").join(id))
    }

    /// Reads a run's manifest.
    pub fn run(&self, id: &RunId) -> Result<RunManifest> {
        fsio::read_manifest(&self.run_dir(id).run_json())
    }

    /// Ids of all tasks, sorted; files whose name is no valid id are passed over.
    pub fn task_ids(&self) -> Result<Vec<TaskId>> {
        let names = json_files(&self.tasks_dir())?;
        Ok(names.into_iter().filter_map(|n| TaskId::new(n).ok()).collect())
    }

    /// `tasks/<id>.json`.
    #[must_use]
    pub fn task_path(&self, id: &TaskId) -> PathBuf {
        self.tasks_dir().join(format!("{id}.json"))
    }

    /// Reads a task.
    pub fn task(&self, id: &TaskId) -> Result<TaskManifest> {
        fsio::read_manifest(&self.task_path(id))
    }

    /// `review.sqlite`.
    #[must_use]
    pub fn review_db(&self) -> PathBuf {
        self.root.join("review.sqlite")
    }

    /// `tasks/`: what agents are asked to do.
    #[must_use]
    pub fn tasks_dir(&self) -> PathBuf {
        self.root.join("tasks")
    }

    /// `.cache`: what can be made anew from the other files at any time.
    #[must_use]
    pub fn cache_dir(&self) -> PathBuf {
        self.root.join(".cache")
    }

    /// `releases/<version>`.
    #[must_use]
    pub fn release_dir(&self, version: &str) -> PathBuf {
        self.root.join("releases").join(version)
    }
}

/// Names, without their ending, of the JSON files in a folder that need not exist; sorted.
fn json_files(dir: &Path) -> Result<Vec<String>> {
    let entries = match std::fs::read_dir(dir) {
        Ok(e) => e,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => return Err(Error::io(dir, "could not list")(e)),
    };
    let mut names = Vec::new();
    for e in entries {
        let e = e.map_err(Error::io(dir, "could not list"))?;
        let name = e.file_name();
        let Some(name) = name.to_str().and_then(|n| n.strip_suffix(".json")).filter(|n| !n.starts_with('.')) else { continue };
        names.push(name.to_owned());
    }
    names.sort();
    Ok(names)
}

/// The folder of one session (a request, an edit or a run).
#[derive(Debug, Clone)]
pub struct SessionDir {
    dir: PathBuf,
}

macro_rules! files {
    ($($(#[$m:meta])* $f:ident => $name:literal;)*) => {
        $($(#[$m])* #[must_use] pub fn $f(&self) -> PathBuf { self.dir.join($name) })*
    };
}

impl SessionDir {
    /// A session's folder; it need not exist yet.
    #[must_use]
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        Self { dir: dir.into() }
    }

    /// The folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.dir
    }

    files! {
        /// Manifest of a request.
        request_json => "request.json";
        /// Manifest of an edit.
        edit_json => "edit.json";
        /// Manifest of a run.
        run_json => "run.json";
        /// What an agent saw and did.
        steps => "steps.jsonl";
        /// What the operator saw of the task's checks.
        verification_path => "verification.json";
        /// Scores of a run, a file a scorer.
        scores_dir => "scores";
        /// Finished video.
        video => "video.mp4";
        /// Video while it is recorded: fragmented MP4, readable after a crash.
        video_raw => "video.part.mp4";
        /// Raw capture times of the pictures.
        video_times => "video_times.jsonl";
        /// Finished audio.
        audio => "audio.flac";
        /// Audio while it is recorded: a WAV whose header is mended on recovery.
        audio_raw => "audio.part.wav";
        /// Raw time stamps of the microphone.
        audio_clock => "audio_clock.jsonl";
        /// Mouse, wheel, keys.
        input => "input.jsonl";
        /// Drawing.
        strokes => "strokes.jsonl";
        /// CAD selections.
        selections => "selections.jsonl";
        /// CAD commands.
        commands => "commands.jsonl";
        /// Typing.
        text_events => "text.jsonl";
        /// The final typed text.
        text => "text.txt";
        /// Renders and model states.
        renders => "renders.jsonl";
        /// Marks, pauses, gaps, cuts.
        marks => "marks.jsonl";
        /// How the oracle transcript came about.
        revisions_path => "revisions.json";
        /// What raters think of an edit.
        ratings_path => "ratings.json";
        /// What programs measured of an edit.
        metrics_path => "metrics.json";
        /// Held while a recorder writes here.
        lock => "recording.lock";
    }

    /// `transcript.<kind>.json`.
    #[must_use]
    pub fn transcript_path(&self, kind: TranscriptKind) -> PathBuf {
        self.dir.join(format!("transcript.{kind}.json"))
    }

    /// Reads a transcript, `None` when there is none yet.
    pub fn transcript(&self, kind: TranscriptKind) -> Result<Option<Transcript>> {
        let p = self.transcript_path(kind);
        if p.exists() { fsio::read_manifest(&p).map(Some) } else { Ok(None) }
    }

    /// Reads the corrections' history, `None` when nothing was decided yet.
    pub fn revisions(&self) -> Result<Option<RevisionHistory>> {
        let p = self.revisions_path();
        if p.exists() { fsio::read_manifest(&p).map(Some) } else { Ok(None) }
    }

    /// Reads an edit's ratings, `None` when nobody rated it yet.
    pub fn ratings(&self) -> Result<Option<Ratings>> {
        let p = self.ratings_path();
        if p.exists() { fsio::read_manifest(&p).map(Some) } else { Ok(None) }
    }

    /// Reads a run's verification, `None` when nobody verified it yet.
    pub fn verification(&self) -> Result<Option<Verification>> {
        let p = self.verification_path();
        if p.exists() { fsio::read_manifest(&p).map(Some) } else { Ok(None) }
    }

    /// A scorer's file.
    #[must_use]
    pub fn scores_path(&self, scorer: &str) -> PathBuf {
        self.scores_dir().join(format!("{scorer}.json"))
    }

    /// Names of those who scored a run, sorted.
    pub fn scorers(&self) -> Result<Vec<String>> {
        json_files(&self.scores_dir())
    }

    /// Reads a run's scores, in the order in which they were given.
    pub fn run_scores(&self) -> Result<Vec<RunScores>> {
        let mut all: Vec<RunScores> = self.scorers()?.iter().map(|s| fsio::read_manifest(&self.scores_path(s))).collect::<Result<_>>()?;
        all.sort_by(|a, b| (a.scored_utc, &a.scorer).cmp(&(b.scored_utc, &b.scorer)));
        Ok(all)
    }

    /// Reads an edit's metrics, `None` when nothing was measured yet.
    pub fn metrics(&self) -> Result<Option<EditMetrics>> {
        let p = self.metrics_path();
        if p.exists() { fsio::read_manifest(&p).map(Some) } else { Ok(None) }
    }

    /// A [`FileRef`] (size and hash) for a file in the folder.
    pub fn file_ref(&self, path: &Path) -> Result<FileRef> {
        let bytes = std::fs::metadata(path).map_err(Error::io(path, "could not look at"))?.len();
        let rel = path.strip_prefix(&self.dir).unwrap_or(path);
        let rel = rel.components().map(|c| c.as_os_str().to_string_lossy()).collect::<Vec<_>>().join("/");
        Ok(FileRef { path: rel, bytes, sha256: fsio::sha256_file(path)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Protocol;

    fn manifest() -> CorpusManifest {
        CorpusManifest {
            format_version: crate::FORMAT_VERSION,
            name: "t".into(),
            licence: "CC-BY-4.0".into(),
            created_utc: chrono::Utc::now(),
            language: None,
            word_list: vec![],
            protocol: Protocol::default(),
            consent: None,
            splits: vec![],
            failure_labels: vec![],
        }
    }

    #[test]
    fn a_corpus_is_made_once_and_reads_back() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("c");
        assert!(matches!(Corpus::open(&root), Err(Error::Missing { .. })));
        let c = Corpus::create(&root, &manifest()).unwrap();
        assert!(matches!(Corpus::create(&root, &manifest()), Err(Error::Exists { .. })));
        assert_eq!(c.manifest().unwrap().protocol, Protocol::default());
        assert!(c.request_ids().unwrap().is_empty());
    }
}
