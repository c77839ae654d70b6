//! What this crate's own tests share.

use redline_schemas::{FORMAT_VERSION, RequestId, Segment, Timing, Tool, Transcript, TranscriptKind, Word};

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
