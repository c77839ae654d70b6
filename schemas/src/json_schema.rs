//! JSON Schemas of the corpus's files, generated from the types and checked in under `schemas/json/`.

use schemars::{Schema, schema_for};

/// Name (without `.schema.json`) and schema of every kind of file.
#[must_use]
pub fn all() -> Vec<(&'static str, Schema)> {
    vec![
        ("corpus", schema_for!(crate::CorpusManifest)),
        ("participants", schema_for!(crate::ParticipantsManifest)),
        ("model", schema_for!(crate::ModelManifest)),
        ("request", schema_for!(crate::RequestManifest)),
        ("edit", schema_for!(crate::EditManifest)),
        ("transcript", schema_for!(crate::Transcript)),
        ("revision", schema_for!(crate::Revision)),
        ("revisions", schema_for!(crate::RevisionHistory)),
        ("ratings", schema_for!(crate::Ratings)),
        ("task", schema_for!(crate::TaskManifest)),
        ("run", schema_for!(crate::RunManifest)),
        ("steps", schema_for!(crate::StepEvent)),
        ("verification", schema_for!(crate::Verification)),
        ("run_scores", schema_for!(crate::RunScores)),
        ("metrics", schema_for!(crate::EditMetrics)),
        ("input", schema_for!(crate::InputEvent)),
        ("strokes", schema_for!(crate::StrokeEvent)),
        ("selections", schema_for!(crate::SelectionEvent)),
        ("commands", schema_for!(crate::CommandEvent)),
        ("text", schema_for!(crate::TextEvent)),
        ("renders", schema_for!(crate::RenderEvent)),
        ("marks", schema_for!(crate::MarkEvent)),
        ("video_times", schema_for!(crate::VideoTime)),
        ("audio_clock", schema_for!(crate::AudioTime)),
    ]
}

/// The file's text for a schema.
#[must_use]
pub fn text(schema: &Schema) -> String {
    serde_json::to_string_pretty(schema).unwrap_or_default() + "\n"
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    /// `REDLINE_BLESS=1 cargo test -p redline-schemas` writes them anew.
    #[test]
    fn checked_in_schemas_are_fresh() {
        let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("json");
        for (name, schema) in super::all() {
            let path = dir.join(format!("{name}.schema.json"));
            let want = super::text(&schema);
            if std::env::var_os("REDLINE_BLESS").is_some() {
                std::fs::create_dir_all(&dir).unwrap();
                std::fs::write(&path, &want).unwrap();
            }
            let have = std::fs::read_to_string(&path).unwrap_or_default();
            assert!(have == want, "{} is stale: REDLINE_BLESS=1 cargo test -p redline-schemas", path.display());
        }
    }
}
