//! Transcripts in the forms of other programs. All times here are seconds on a clock that the
//! caller chooses: the video's, the audio's, or the session's.

mod subtitles;
mod textgrid;
mod whisperx;

pub use subtitles::{srt, vtt};
pub use textgrid::textgrid;
pub use whisperx::{read_whisperx, whisperx};

use redline_schemas::{Segment, Transcript, Word};

/// A transcript's segments with all times moved to another clock: `zero_ns` becomes 0, and nothing
/// lies before it.
#[must_use]
pub fn on_clock(t: &Transcript, zero_ns: i64) -> Vec<Segment> {
    let at = |ns: i64| ns.saturating_sub(zero_ns).max(0);
    let word = |w: &Word| Word { start_ns: at(w.start_ns), end_ns: at(w.end_ns), ..w.clone() };
    t.segments
        .iter()
        .map(|s| Segment { start_ns: at(s.start_ns), end_ns: at(s.end_ns), words: s.words.iter().map(word).collect(), ..s.clone() })
        .collect()
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
