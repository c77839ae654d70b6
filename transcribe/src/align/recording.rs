//! A whole recording: cut at pauses, aligned piece by piece, every word kept.

use super::{AlignedWord, ForcedAligner, interpolate};
use crate::Result;
use redline_schemas::Timing;

/// A stretch of text, with its rough place if it is known.
#[derive(Debug, Clone, PartialEq)]
pub struct TextSegment {
    /// Words between white space.
    pub text: String,
    /// First sample and the one after the last, at 16 kHz, if known.
    pub span: Option<(usize, usize)>,
}

/// A stretch whose words could not all be aligned.
#[derive(Debug, Clone, PartialEq)]
pub struct Problem {
    /// First sample, 16 kHz.
    pub start: usize,
    /// The sample after the last.
    pub end: usize,
    /// The words in question.
    pub text: String,
    /// What is wrong.
    pub kind: ProblemKind,
}

/// What is wrong with a stretch.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum ProblemKind {
    /// Hardly a word of it is in the sound: the text belongs to something else. Mean score.
    NotInSound(f32),
    /// These words of it are not in the sound.
    WordsMissing,
    /// The aligner gave up.
    Failed(String),
}

/// What came of a text: the words of every segment, in order, and what did not fit.
#[derive(Debug, Clone, Default)]
pub struct Alignment {
    /// As many as segments, each as many words as its text.
    pub segments: Vec<Vec<AlignedWord>>,
    /// In order of time.
    pub problems: Vec<Problem>,
}

/// A text whose words fit worse than this on average is not what is said.
const NOT_IN_SOUND: f32 = 0.35;
/// Fewer words than this are not judged as a text.
const FEWEST_JUDGED: usize = 3;
/// The longest stretch that is aligned at once, samples, unless a segment is longer.
const WINDOW: usize = 60 * 16_000;

struct Window {
    segments: std::ops::Range<usize>,
    audio: std::ops::Range<usize>,
}

/// Aligns a recording's text (16 kHz, mono) with its sound.
///
/// Every word gets a time, in order, inside the recording; a piece that fails keeps its words,
/// spread over its place and flagged, and is reported.
pub fn align_text(aligner: &dyn ForcedAligner, audio: &[f32], segments: &[TextSegment]) -> Result<Alignment> {
    let mut out = Alignment { segments: vec![Vec::new(); segments.len()], problems: Vec::new() };
    for w in windows(segments, audio.len(), WINDOW.min(aligner.longest())) {
        let words: Vec<(usize, &str)> =
            w.segments.clone().flat_map(|s| segments[s].text.split_whitespace().map(move |word| (s, word))).collect();
        if words.is_empty() {
            continue;
        }
        let texts: Vec<&str> = words.iter().map(|(_, t)| *t).collect();
        let sound = &audio[w.audio.clone()];
        let aligned = match aligner.align(sound, &texts) {
            Ok(a) => a,
            Err(e) => {
                out.problems.push(problem(&w, &texts, ProblemKind::Failed(e.to_string())));
                interpolate(&mut vec![None; texts.len()], sound.len())
            }
        };
        judge(&w, &texts, &aligned, &mut out.problems);
        for ((segment, _), a) in words.iter().zip(aligned) {
            out.segments[*segment].push(AlignedWord { start: a.start + w.audio.start, end: a.end + w.audio.start, ..a });
        }
    }
    Ok(out)
}

fn problem(w: &Window, texts: &[&str], kind: ProblemKind) -> Problem {
    Problem { start: w.audio.start, end: w.audio.end, text: texts.join(" "), kind }
}

fn judge(w: &Window, texts: &[&str], aligned: &[AlignedWord], problems: &mut Vec<Problem>) {
    let judged: Vec<f32> =
        texts.iter().zip(aligned).filter(|(t, _)| !super::normalise::readings(t).is_empty()).map(|(_, a)| a.score).collect();
    let mean = judged.iter().sum::<f32>() / judged.len().max(1) as f32;
    if judged.len() >= FEWEST_JUDGED && mean < NOT_IN_SOUND {
        problems.push(problem(w, texts, ProblemKind::NotInSound(mean)));
        return;
    }
    let missing = |i: usize| aligned[i].timing == Timing::Interpolated && !super::normalise::readings(texts[i]).is_empty();
    let mut i = 0;
    while i < aligned.len() {
        let run = (i..aligned.len()).take_while(|k| missing(*k)).count();
        if run > 0 {
            problems.push(Problem {
                start: w.audio.start + aligned[i].start,
                end: w.audio.start + aligned[i + run - 1].end,
                text: texts[i..i + run].join(" "),
                kind: ProblemKind::WordsMissing,
            });
        }
        i += run.max(1);
    }
}

/// Groups segments into windows of at most `longest` samples, cut in the middle of the pauses.
fn windows(segments: &[TextSegment], len: usize, longest: usize) -> Vec<Window> {
    let span = |i: usize| segments.get(i).and_then(|s| s.span).map(|(a, b)| (a.min(len), b.min(len).max(a.min(len))));
    if segments.is_empty() {
        return Vec::new();
    }
    // Places where the text may be cut: between two segments whose rough times say where.
    let cuts: Vec<(usize, usize)> = (1..segments.len())
        .filter_map(|i| {
            let ((_, a), (b, _)) = (span(i - 1)?, span(i)?);
            (b >= a).then_some((i, a.midpoint(b)))
        })
        .collect();
    let mut out = Vec::new();
    let (mut first, mut from) = (0, 0);
    while len - from > longest {
        // The last cut that keeps the window short enough, else the first one that there is.
        let later = cuts.iter().filter(|(i, at)| *i > first && *at > from);
        let Some(&(next, at)) = later.clone().take_while(|(_, at)| at - from <= longest).last().or(later.clone().next()) else { break };
        out.push(Window { segments: first..next, audio: from..at });
        (first, from) = (next, at);
    }
    out.push(Window { segments: first..segments.len(), audio: from..len });
    out.into_iter().map(|w| tighten(w, &span, longest)).collect()
}

/// Cuts off silence around a window that is too long, as far as the rough times allow.
fn tighten(mut w: Window, span: &impl Fn(usize) -> Option<(usize, usize)>, longest: usize) -> Window {
    const MARGIN: usize = 2 * 16_000;
    if w.audio.len() > longest
        && let (Some((start, _)), Some((_, end))) = (span(w.segments.start), span(w.segments.end - 1))
    {
        w.audio = start.saturating_sub(MARGIN).max(w.audio.start)..(end + MARGIN).min(w.audio.end);
    }
    w
}

#[cfg(test)]
mod tests {
    use super::*;
    use redline_schemas::Aligner;

    /// Places words evenly; fails on pieces that hold a value above 0.9.
    struct Even;

    impl ForcedAligner for Even {
        fn describe(&self) -> Aligner {
            Aligner { name: "even".into(), version: "1".into(), sha256: None }
        }

        fn longest(&self) -> usize {
            1_000_000
        }

        fn align(&self, audio: &[f32], words: &[&str]) -> Result<Vec<AlignedWord>> {
            if audio.iter().any(|s| *s > 0.9) {
                return Err(crate::Error::TooLong { samples: audio.len(), max: 0 });
            }
            let step = audio.len() / words.len();
            Ok((0..words.len())
                .map(|i| AlignedWord { start: i * step, end: (i + 1) * step, score: 0.9, timing: Timing::Aligned })
                .collect())
        }
    }

    fn segment(text: &str, span: Option<(usize, usize)>) -> TextSegment {
        TextSegment { text: text.into(), span }
    }

    #[test]
    fn long_recordings_are_cut_in_pauses() {
        let s = 16_000;
        let segments = [segment("a b", Some((0, 40 * s))), segment("c", Some((50 * s, 55 * s))), segment("d", Some((70 * s, 80 * s)))];
        let w = windows(&segments, 90 * s, 60 * s);
        let cuts: Vec<_> = w.iter().map(|w| (w.segments.clone(), w.audio.clone())).collect();
        assert_eq!(cuts, [(0..1, 0..45 * s), (1..3, 45 * s..90 * s)]);
    }

    #[test]
    fn a_piece_that_fails_keeps_its_words_and_is_reported() {
        let s = 16_000;
        let mut audio = vec![0.0; 100 * s];
        audio[80 * s] = 1.0;
        let segments = [segment("one two", Some((0, 40 * s))), segment("three four", Some((60 * s, 90 * s)))];
        let a = align_text(&Even, &audio, &segments).unwrap();
        assert_eq!(a.segments[0].iter().map(|w| w.timing).collect::<Vec<_>>(), [Timing::Aligned; 2]);
        assert_eq!(
            a.segments[1].iter().map(|w| (w.start, w.end, w.timing)).collect::<Vec<_>>(),
            [(50 * s, 75 * s, Timing::Interpolated), (75 * s, 100 * s, Timing::Interpolated)]
        );
        assert!(matches!(&a.problems[0].kind, ProblemKind::Failed(_)), "{:?}", a.problems);
        assert_eq!(a.problems[0].text, "three four");
    }

    #[test]
    fn no_text_and_no_sound_are_fine() {
        assert!(align_text(&Even, &[], &[]).unwrap().segments.is_empty());
        let a = align_text(&Even, &[0.0; 10], &[segment("  ", None)]).unwrap();
        assert_eq!((a.segments, a.problems), (vec![vec![]], vec![]));
    }
}
