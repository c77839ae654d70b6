//! A request's text, corrected or not, to a transcript with aligned words.

use super::{AlignedWord, Alignment, ForcedAligner, Problem, ProblemKind, SAMPLE_RATE, TextSegment, align_text};
use crate::audio::AudioReader;
use crate::{Error, Result};
use redline_schemas::time::AudioClock;
use redline_schemas::{FORMAT_VERSION, GuardDecision, RequestManifest, Segment, SessionDir, Tool, Transcript, TranscriptKind, Word, fsio};
use similar::{Algorithm, DiffOp, capture_diff_slices};
use std::ops::Range;

/// The guard's name under which a transcript records text that does not fit the sound.
pub const GUARD: &str = "alignment";
/// A pause between known words at which a long text is cut, nanoseconds.
const PAUSE_NS: i64 = 400_000_000;
/// More words than this are cut even without a pause.
const MOST_WORDS: usize = 40;

/// Aligns `text`, one segment a line, with a request's audio.
///
/// Rough times come from the request's automatic transcript where the text is the same, so that
/// an hour of text needs no hour-wide search. What does not fit the sound stands in the
/// transcript's `guards`, under [`GUARD`]. Nothing is written: that is the caller's business.
pub fn realign(
    aligner: &dyn ForcedAligner,
    dir: &SessionDir,
    manifest: &RequestManifest,
    kind: TranscriptKind,
    text: &str,
) -> Result<Transcript> {
    let automatic = dir.transcript(TranscriptKind::Automatic)?;
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|l| !l.is_empty()).collect();
    let audio = manifest.session.streams.audio.as_ref();
    let (segments, guards) = match audio {
        None if lines.is_empty() => (Vec::new(), Vec::new()),
        None => {
            return Err(Error::Audio { path: dir.request_json(), message: "has no audio stream to align a text with".into() });
        }
        Some(stream) => {
            let samples = AudioReader::open(&dir.path().join(&stream.file.path))?.read_all()?;
            let clock = WordClock { clock: &stream.clock, len: samples.len() };
            let pieces = pieces(&lines, automatic.as_ref(), &clock);
            let texts: Vec<TextSegment> = pieces.iter().map(|p| p.text.clone()).collect();
            let aligned = align_text(aligner, &samples, &texts)?;
            let guards = aligned.problems.iter().map(|p| guard(p, &clock)).collect();
            (segments(&lines, &pieces, &aligned, &clock), guards)
        }
    };
    Ok(Transcript {
        format_version: FORMAT_VERSION,
        request: manifest.id.clone(),
        kind,
        language: automatic.as_ref().and_then(|a| a.language.clone()),
        segments,
        model: automatic.and_then(|a| a.model),
        aligner: Some(aligner.describe()),
        parameters: serde_json::json!({ "words_from": "text" }),
        guards,
        correction: None,
        audio_sha256: audio.map(|a| fsio::sha256_file(&dir.path().join(&a.file.path))).transpose()?,
        created_utc: redline_schemas::time::made_utc()?,
        tool: Tool::redline(),
    })
}

/// From samples at 16 kHz to session time, over the file's own samples.
struct WordClock<'a> {
    clock: &'a AudioClock,
    len: usize,
}

impl WordClock<'_> {
    fn ratio(&self) -> f64 {
        f64::from(self.clock.sample_rate) / f64::from(SAMPLE_RATE)
    }

    fn t_ns(&self, sample: usize) -> i64 {
        let t = self.clock.t_ns_of_sample(sample as f64 * self.ratio()).unwrap_or(0);
        // Rounding while resampling must not put a word behind the last sample.
        self.clock.span_ns().map_or(t, |(first, last)| t.clamp(first, last))
    }

    fn sample(&self, t_ns: i64) -> usize {
        let s = self.clock.sample_at(t_ns).unwrap_or(0.0) / self.ratio();
        (s.max(0.0) as usize).min(self.len)
    }
}

/// A part of one line.
struct Piece {
    line: usize,
    text: TextSegment,
}

/// Cuts lines into pieces where the automatic transcript knows a pause, with their rough places.
fn pieces(lines: &[&str], automatic: Option<&Transcript>, clock: &WordClock<'_>) -> Vec<Piece> {
    let words: Vec<(usize, &str)> = lines.iter().enumerate().flat_map(|(l, t)| t.split_whitespace().map(move |w| (l, w))).collect();
    let old: Vec<&Word> = automatic.iter().flat_map(|a| a.words()).collect();
    let known = matched(&words.iter().map(|(_, w)| plain(w)).collect::<Vec<_>>(), &old.iter().map(|w| plain(&w.text)).collect::<Vec<_>>());
    let time = |i: usize| known[i].map(|o| (old[o].start_ns, old[o].end_ns));
    let mut cuts: Vec<Range<usize>> = Vec::new();
    let mut first = 0;
    for i in 1..=words.len() {
        let ends = i == words.len() || words[i].0 != words[i - 1].0 || {
            let gap = time(i - 1).zip(time(i)).map(|((_, a), (b, _))| b - a);
            gap.is_some_and(|g| g >= PAUSE_NS || (g >= 0 && i - first >= MOST_WORDS))
        };
        if ends {
            cuts.push(first..i);
            first = i;
        }
    }
    cuts.into_iter()
        .map(|r| {
            let times: Vec<(i64, i64)> = r.clone().filter_map(time).collect();
            // One word that happens to be the same says nothing of where its line is.
            let sure = times.len() * 2 >= r.len();
            let span = times.first().zip(times.last()).filter(|_| sure).map(|(a, b)| (clock.sample(a.0), clock.sample(b.1)));
            let text = words[r.clone()].iter().map(|(_, w)| *w).collect::<Vec<_>>().join(" ");
            Piece { line: words[r.start].0, text: TextSegment { text, span } }
        })
        .collect()
}

fn plain(word: &str) -> String {
    word.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// For each new word the old word that it equals, in order.
fn matched(new: &[String], old: &[String]) -> Vec<Option<usize>> {
    let mut out = vec![None; new.len()];
    for op in capture_diff_slices(Algorithm::Myers, old, new) {
        if let DiffOp::Equal { old_index, new_index, len } = op {
            (0..len).for_each(|k| out[new_index + k] = Some(old_index + k));
        }
    }
    out
}

fn segments(lines: &[&str], pieces: &[Piece], aligned: &Alignment, clock: &WordClock<'_>) -> Vec<Segment> {
    let mut words: Vec<Vec<&AlignedWord>> = vec![Vec::new(); lines.len()];
    for (piece, times) in pieces.iter().zip(&aligned.segments) {
        words[piece.line].extend(times);
    }
    let segment = |text: &str, times: Vec<&AlignedWord>| {
        let words: Vec<Word> = text
            .split_whitespace()
            .zip(times)
            .map(|(w, t)| Word {
                text: w.into(),
                start_ns: clock.t_ns(t.start),
                end_ns: clock.t_ns(t.end),
                score: Some(t.score),
                timing: t.timing,
            })
            .collect();
        let (start_ns, end_ns) = (words.first().map_or(0, |w| w.start_ns), words.last().map_or(0, |w| w.end_ns));
        Segment { start_ns, end_ns, text: text.into(), words, no_speech_prob: None, avg_logprob: None }
    };
    lines.iter().zip(words).map(|(text, times)| segment(text, times)).collect()
}

fn guard(p: &Problem, clock: &WordClock<'_>) -> GuardDecision {
    let reason = match &p.kind {
        ProblemKind::NotInSound(score) => format!("the text does not seem to belong to the audio: mean score {score:.2}"),
        ProblemKind::WordsMissing => "these words are not in the audio; their times are interpolated".into(),
        ProblemKind::Failed(why) => format!("could not be aligned ({why}); its times are interpolated"),
    };
    GuardDecision {
        guard: GUARD.into(),
        start_ns: clock.t_ns(p.start),
        end_ns: clock.t_ns(p.end),
        text: p.text.clone(),
        decision: "kept".into(),
        reason,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_words_keep_their_old_place_and_new_ones_have_none() {
        let s = |t: &str| t.split(' ').map(plain).collect::<Vec<_>>();
        assert_eq!(matched(&s("Add the big fillet, here"), &s("add the fillet here")), [Some(0), Some(1), None, Some(2), Some(3)]);
    }

    #[test]
    fn words_never_leave_the_audio() {
        let clock = AudioClock::nominal(48_000, 48_000, 5_000);
        let c = WordClock { clock: &clock, len: 16_000 };
        assert_eq!(c.t_ns(0), 5_000);
        assert_eq!(c.t_ns(16_001), 1_000_005_000);
        assert_eq!(c.sample(500_005_000), 8_000);
        assert_eq!(c.sample(-1), 0);
    }
}
