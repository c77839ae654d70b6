use crate::{ParticipantId, RequestId, RevisionId, Tool, Utc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which of the two transcripts it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TranscriptKind {
    /// By the speech model.
    Automatic,
    /// Accepted after correction.
    Oracle,
}
crate::corpus::names!(TranscriptKind, Automatic => "automatic", Oracle => "oracle");

/// `transcript.automatic.json`, `transcript.oracle.json`. Times are session time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Transcript {
    /// [`crate::FORMAT_VERSION`].
    pub format_version: u32,
    /// The request it belongs to.
    pub request: RequestId,
    /// Automatic or oracle.
    pub kind: TranscriptKind,
    /// BCP 47, as given or detected; absent when nothing was said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    /// In order of time; empty when nothing was said.
    pub segments: Vec<Segment>,
    /// The speech model; absent for imports.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<SpeechModel>,
    /// What gave the words their times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aligner: Option<Aligner>,
    /// Settings of the run.
    #[serde(default)]
    pub parameters: serde_json::Value,
    /// What was left out or doubted, and why.
    #[serde(default)]
    pub guards: Vec<GuardDecision>,
    /// Set on oracle transcripts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correction: Option<Correction>,
    /// SHA-256 of the audio file it was made from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub audio_sha256: Option<String>,
    /// When it was made.
    pub created_utc: Utc,
    /// Who wrote this file.
    pub tool: Tool,
}

impl Transcript {
    /// All words in order.
    pub fn words(&self) -> impl Iterator<Item = &Word> {
        self.segments.iter().flat_map(|s| &s.words)
    }

    /// The segments' texts, one a line.
    #[must_use]
    pub fn text(&self) -> String {
        self.segments.iter().map(|s| s.text.trim()).collect::<Vec<_>>().join("\n")
    }
}

/// A stretch of speech.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Segment {
    /// Session time.
    pub start_ns: i64,
    /// Session time.
    pub end_ns: i64,
    /// Its text, as written (case, punctuation).
    pub text: String,
    /// Its words; their texts in order are `text` split at white space.
    pub words: Vec<Word>,
    /// Probability that it holds no speech, 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_speech_prob: Option<f32>,
    /// Mean log probability of its tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub avg_logprob: Option<f32>,
}

/// How a word got its times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Timing {
    /// Aligned with the sound.
    Aligned,
    /// Aligned as a wildcard, or next to words that were: less sure.
    Inferred,
    /// Spread between neighbours: a guess until aligned.
    Interpolated,
    /// Set by a person.
    Manual,
}
crate::corpus::names!(Timing, Aligned => "aligned", Inferred => "inferred", Interpolated => "interpolated", Manual => "manual");

/// A word, between white space, with its punctuation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Word {
    /// As written.
    pub text: String,
    /// Session time.
    pub start_ns: i64,
    /// Session time, not before `start_ns`.
    pub end_ns: i64,
    /// Confidence of text or alignment, 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<f32>,
    /// How the times came about.
    pub timing: Timing,
}

/// A speech recognition model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SpeechModel {
    /// Name, e.g. `base-q8_0`.
    pub name: String,
    /// SHA-256 of its file.
    pub sha256: String,
    /// Engine and version, e.g. `whisper.cpp 1.8.3`.
    pub engine: String,
}

/// An alignment method.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Aligner {
    /// Method, e.g. `whisper-dtw`, `ctc-phone`.
    pub name: String,
    /// Its version.
    pub version: String,
    /// SHA-256 of its model file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
}

/// A guard against invented text and what it decided.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GuardDecision {
    /// The guard, e.g. `no-speech`, `phantom-phrase`, `loop`.
    pub guard: String,
    /// Session time of the stretch.
    pub start_ns: i64,
    /// Session time of the stretch.
    pub end_ns: i64,
    /// The text in question.
    pub text: String,
    /// `dropped`, `kept` or `retried`.
    pub decision: String,
    /// The value that decided, with its name.
    pub reason: String,
}

/// How an oracle transcript came about.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Correction {
    /// The accepted revision.
    pub revision: RevisionId,
    /// Revisions made until acceptance, the first hand-in included.
    pub rounds: u32,
    /// Who corrected.
    pub corrected_by: ParticipantId,
    /// Who accepted; never the corrector.
    pub accepted_by: ParticipantId,
    /// When it was accepted.
    pub accepted_utc: Utc,
    /// Whether the text differs from the automatic one.
    pub changed: bool,
    /// Levenshtein distance to the automatic text, characters.
    pub char_edit_distance: u64,
    /// Levenshtein distance to the automatic text, words.
    pub word_edit_distance: u64,
    /// Characters of the automatic text.
    pub automatic_chars: u64,
}
