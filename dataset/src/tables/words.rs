//! `words`.

use super::{Float, Id, Int, Label, Text, Time, Utc, table};
use redline_schemas::{Transcript, Utc as Wall, time};

table! {
    /// One row a spoken word of a transcript.
    "words", sorted by ["request_id", "transcript", "start_ns"] {
        /// The request in which it was said; join it with `session_id` of the events.
        request_id: Id,
        /// Which transcript it belongs to: automatic, oracle.
        transcript: Label,
        /// Number of its segment, from 0.
        segment: Int,
        /// Its number in the transcript, from 0.
        word: Int,
        /// Session time at which it begins.
        start_ns: Time ["ns"],
        /// Session time at which it ends.
        end_ns: Time ["ns"],
        /// UTC at which it begins.
        start_utc: Utc,
        /// As written, with its punctuation.
        text: Text,
        /// Confidence of text or alignment, 0 to 1.
        score: Option<Float>,
        /// How its times came about: aligned, inferred, interpolated, manual.
        timing: Label,
    }
}

/// Appends a transcript's words in order of time.
pub(crate) fn append(b: &mut Builder, request: &str, started: Wall, t: &Transcript) {
    let mut words: Vec<_> = t.segments.iter().enumerate().flat_map(|(s, seg)| seg.words.iter().map(move |w| (s, w))).enumerate().collect();
    words.sort_by_key(|(_, (_, w))| w.start_ns);
    for (i, (segment, w)) in words {
        b.append(Row {
            request_id: request,
            transcript: t.kind.as_str(),
            segment: segment as i64,
            word: i as i64,
            start_ns: w.start_ns,
            end_ns: w.end_ns,
            start_utc: time::utc_micros(started, w.start_ns),
            text: &w.text,
            score: w.score.map(f64::from),
            timing: w.timing.as_str(),
        });
    }
}
