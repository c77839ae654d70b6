//! `transcripts`.

use super::{Bool, Id, Int, Json, Label, Text, Utc, table};
use redline_schemas::{ParticipantId, Transcript};

table! {
    /// One row a transcript of a request.
    "transcripts", sorted by ["request_id", "transcript"] {
        /// The request.
        request_id: Id,
        /// By the speech model (automatic) or accepted after correction (oracle).
        transcript: Label,
        /// The text, segments one a line.
        text: Text,
        /// BCP 47; absent when nothing was said.
        language: Option<Label>,
        /// Segments in it.
        segments: Int ["segments"],
        /// Words in it.
        words: Int ["words"],
        /// Name of the speech model.
        model: Option<Label>,
        /// SHA-256 of the speech model.
        model_sha256: Option<Label>,
        /// Engine that ran the speech model, with its version.
        engine: Option<Label>,
        /// What gave the words their times, with its version.
        aligner: Option<Label>,
        /// Settings of the run.
        parameters: Option<Json>,
        /// What was left out or doubted, and why.
        guards: Option<Json>,
        /// Who corrected it (oracle only).
        corrected_by: Option<Id>,
        /// Who accepted it, never the corrector (oracle only).
        accepted_by: Option<Id>,
        /// When it was accepted (oracle only).
        accepted_utc: Option<Utc>,
        /// Revisions until acceptance (oracle only).
        rounds: Option<Int> ["revisions"],
        /// Whether the text differs from the automatic one (oracle only).
        changed: Option<Bool>,
        /// Levenshtein distance to the automatic text (oracle only).
        char_edit_distance: Option<Int> ["characters"],
        /// Levenshtein distance to the automatic text (oracle only).
        word_edit_distance: Option<Int> ["words"],
        /// When it was made.
        created_utc: Utc,
    }
}

/// Appends a transcript; `publish` gives a participant's published name.
pub(crate) fn append(b: &mut Builder, request: &str, t: &Transcript, publish: &dyn Fn(&ParticipantId) -> String) {
    let c = t.correction.as_ref();
    b.append(Row {
        request_id: request,
        transcript: t.kind.as_str(),
        text: &t.text(),
        language: t.language.as_deref(),
        segments: t.segments.len() as i64,
        words: t.words().count() as i64,
        model: t.model.as_ref().map(|m| m.name.as_str()),
        model_sha256: t.model.as_ref().map(|m| m.sha256.as_str()),
        engine: t.model.as_ref().map(|m| m.engine.as_str()),
        aligner: t.aligner.as_ref().map(|a| format!("{} {}", a.name, a.version)).as_deref(),
        parameters: (!t.parameters.is_null()).then(|| t.parameters.to_string()).as_deref(),
        guards: (!t.guards.is_empty()).then(|| serde_json::to_string(&t.guards).unwrap_or_default()).as_deref(),
        corrected_by: c.map(|c| publish(&c.corrected_by)).as_deref(),
        accepted_by: c.map(|c| publish(&c.accepted_by)).as_deref(),
        accepted_utc: c.map(|c| c.accepted_utc.timestamp_micros()),
        rounds: c.map(|c| i64::from(c.rounds)),
        changed: c.map(|c| c.changed),
        char_edit_distance: c.map(|c| c.char_edit_distance as i64),
        word_edit_distance: c.map(|c| c.word_edit_distance as i64),
        created_utc: t.created_utc.timestamp_micros(),
    });
}
