//! What this crate's own tests share.

use redline_schemas::{Corpus, FORMAT_VERSION, RequestId, Segment, Timing, Tool, Transcript, TranscriptKind, Word, fsio};

pub(crate) fn word(text: &str, start_ns: i64, end_ns: i64) -> Word {
    Word { text: text.into(), start_ns, end_ns, score: Some(0.8), timing: Timing::Aligned }
}

pub(crate) fn transcript(request: &str, segments: &[&[Word]]) -> Transcript {
    let segment = |words: &&[Word]| Segment {
        start_ns: words.first().map_or(0, |w| w.start_ns),
        end_ns: words.last().map_or(0, |w| w.end_ns),
        text: words.iter().map(|w| w.text.as_str()).collect::<Vec<_>>().join(" "),
        words: words.to_vec(),
        no_speech_prob: None,
        avg_logprob: None,
    };
    Transcript {
        format_version: FORMAT_VERSION,
        request: RequestId::new(request).unwrap(),
        kind: TranscriptKind::Automatic,
        language: Some("en".into()),
        segments: segments.iter().map(segment).collect(),
        model: None,
        aligner: None,
        parameters: serde_json::Value::Null,
        guards: vec![],
        correction: None,
        audio_sha256: None,
        created_utc: chrono::Utc::now(),
        tool: Tool::redline(),
    }
}

/// A corpus with one transcribed request without media.
pub(crate) fn corpus_with_request(participant: &str, heard: &str) -> (tempfile::TempDir, Corpus, RequestId) {
    let dir = tempfile::tempdir().unwrap();
    let utc = chrono::Utc::now();
    let manifest = serde_json::json!({
        "format_version": FORMAT_VERSION, "name": "t", "licence": "CC0-1.0", "created_utc": utc,
        "protocol": serde_json::to_value(redline_schemas::Protocol::default()).unwrap(),
    });
    let corpus = Corpus::create(dir.path(), &serde_json::from_value(manifest).unwrap()).unwrap();
    let id = RequestId::generate();
    std::fs::create_dir_all(corpus.request_dir(&id).path()).unwrap();
    let request = serde_json::json!({
        "format_version": FORMAT_VERSION, "id": id, "participant": participant, "modality": "interactive", "difficulty": "easy",
        "status": "complete", "tool": Tool::redline(),
        "session": { "clock": { "name": "file", "started_utc": utc, "alignment": "container" }, "duration_ns": 10_000_000_000_i64, "streams": {} },
    });
    fsio::write_json(&corpus.request_dir(&id).request_json(), &request).unwrap();
    let words: Vec<Word> = heard.split(' ').zip(0..).map(|(t, i)| word(t, i * 1_000, i * 1_000 + 900)).collect();
    let path = corpus.request_dir(&id).transcript_path(TranscriptKind::Automatic);
    fsio::write_json(&path, &transcript(id.as_str(), &[&words])).unwrap();
    (dir, corpus, id)
}
