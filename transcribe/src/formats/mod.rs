//! Transcripts in the forms of other programs. All times here are seconds on a clock that the
//! caller chooses: the video's, the audio's, or the session's.

mod subtitles;
mod textgrid;
mod whisperx;

pub use subtitles::{srt, vtt};
pub use textgrid::textgrid;
pub use whisperx::{read_whisperx, whisperx};

use redline_schemas::{Segment, Transcript, Word};

/// A transcript's segments with all times put through `clock`; nothing lies before 0.
#[must_use]
pub fn on_clock(t: &Transcript, clock: &dyn Fn(i64) -> i64) -> Vec<Segment> {
    moved(&t.segments, &|ns| clock(ns).max(0))
}

/// Segments with all times put through `clock`.
#[must_use]
pub fn moved(segments: &[Segment], clock: &dyn Fn(i64) -> i64) -> Vec<Segment> {
    let word = |w: &Word| {
        let start_ns = clock(w.start_ns);
        Word { start_ns, end_ns: clock(w.end_ns).max(start_ns), ..w.clone() }
    };
    let segment = |s: &Segment| {
        let start_ns = clock(s.start_ns);
        Segment { start_ns, end_ns: clock(s.end_ns).max(start_ns), words: s.words.iter().map(word).collect(), ..s.clone() }
    };
    segments.iter().map(segment).collect()
}

#[cfg(test)]
pub(crate) mod samples {
    use redline_schemas::{Segment, Timing, Word};

    pub(crate) fn segments() -> Vec<Segment> {
        let word = |text: &str, start_ms: i64, end_ms: i64| Word {
            text: text.into(),
            start_ns: start_ms * 1_000_000,
            end_ns: end_ms * 1_000_000,
            score: Some(0.9),
            timing: Timing::Aligned,
        };
        let segment = |words: Vec<Word>| Segment {
            start_ns: words[0].start_ns,
            end_ns: words[words.len() - 1].end_ns,
            text: words.iter().map(|w| w.text.as_str()).collect::<Vec<_>>().join(" "),
            words,
            no_speech_prob: None,
            avg_logprob: None,
        };
        vec![
            segment(vec![word("Make", 500, 750), word("\"this\"", 750, 1000), word("<M6>", 1200, 1800)]),
            segment(vec![word("4,9", 3_661_500, 3_662_000)]),
        ]
    }
}
