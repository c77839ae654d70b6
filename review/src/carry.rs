//! Times that survive an edit: untouched words keep theirs, new ones get a guess that says so.

use crate::text::{MAX_TEXT_BYTES, MAX_WORDS, sound, tidy};
use crate::{Error, Result};
use redline_schemas::{Segment, Timing, Word};
use similar::{Algorithm, DiffOp, capture_diff_slices_deadline};
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// How long a new word lasts where there is no room to share, nanoseconds.
const ROOM_NS: i64 = 200_000_000;

/// How long a diff may take before it settles for a coarser one.
const DIFF_DEADLINE: Duration = Duration::from_millis(500);

/// `texts` evenly over the span, in proportion to their length; flagged as interpolated.
#[must_use]
pub fn spread(texts: &[&str], start_ns: i64, end_ns: i64) -> Vec<Word> {
    let weight = |t: &str| t.chars().count().max(1) as i128;
    let total: i128 = texts.iter().map(|t| weight(t)).sum();
    let span = i128::from((end_ns - start_ns).max(0));
    let mut before = 0;
    let place = |w: i128| start_ns + (span * w / total.max(1)) as i64;
    texts
        .iter()
        .map(|t| {
            let start_ns = place(before);
            before += weight(t);
            Word { text: (*t).to_owned(), start_ns, end_ns: place(before), score: None, timing: Timing::Interpolated }
        })
        .collect()
}

/// The words of `text` with the times of `base` carried over.
///
/// Words that sound as before keep time, score and timing. A replaced stretch shares the time of
/// what it replaced; an inserted one goes into the gap between its neighbours.
#[must_use]
pub fn carry(base: &[Word], text: &str) -> Vec<Word> {
    let new: Vec<&str> = text.split_whitespace().collect();
    let old_keys: Vec<String> = base.iter().map(|w| sound(&w.text)).collect();
    let new_keys: Vec<String> = new.iter().map(|w| sound(w)).collect();
    let ops = capture_diff_slices_deadline(Algorithm::Myers, &old_keys, &new_keys, Some(Instant::now() + DIFF_DEADLINE));
    let mut out: Vec<Word> = Vec::with_capacity(new.len());
    for (i, op) in ops.iter().enumerate() {
        // What is new lies between the words around it, whatever indices the diff names for it.
        let before = out.last().map(|w| w.end_ns);
        let next_kept = ops[i + 1..].iter().find_map(|o| if let DiffOp::Equal { old_index, .. } = o { base.get(*old_index) } else { None });
        let after = next_kept.map(|w| w.start_ns);
        match *op {
            DiffOp::Equal { old_index, new_index, len } => {
                let kept = base.iter().skip(old_index).zip(new.iter().skip(new_index)).take(len);
                out.extend(kept.map(|(w, t)| Word { text: (*t).to_owned(), ..w.clone() }));
            }
            DiffOp::Delete { .. } => {}
            DiffOp::Insert { old_index, new_index, new_len } => {
                let old_before = old_index.checked_sub(1).and_then(|i| base.get(i)).map(|w| w.end_ns);
                let old_after = base.get(old_index).map(|w| w.start_ns);
                let (start, end) = gap(old_before.max(before), old_after.into_iter().chain(after).min(), new_len);
                let (start, end) = within(start, end, before, after);
                out.extend(spread(run(&new, new_index, new_len), start, end));
            }
            DiffOp::Replace { old_index, old_len, new_index, new_len } => {
                let gone = base.get(old_index..old_index + old_len).unwrap_or_default();
                let start = gone.first().map_or(0, |w| w.start_ns);
                let end = gone.iter().map(|w| w.end_ns).max().unwrap_or(start);
                let (start, end) = within(start, end, before, after);
                out.extend(spread(run(&new, new_index, new_len), start, end));
            }
        }
    }
    out
}

fn run<'a, 'b>(new: &'a [&'b str], at: usize, len: usize) -> &'a [&'b str] {
    new.get(at..at + len).unwrap_or_default()
}

/// The span, kept behind the word before it and in front of the word after it.
fn within(start: i64, end: i64, before: Option<i64>, after: Option<i64>) -> (i64, i64) {
    let start = start.min(after.unwrap_or(start)).max(before.unwrap_or(start));
    (start, end.min(after.unwrap_or(end)).max(start))
}

/// Where words go that stand between two known times.
fn gap(before: Option<i64>, after: Option<i64>, words: usize) -> (i64, i64) {
    let wanted = ROOM_NS.saturating_mul(words as i64);
    match (before, after) {
        (Some(b), Some(a)) => (b.min(a), a),
        (Some(b), None) => (b, b.saturating_add(wanted)),
        (None, Some(a)) => (a.saturating_sub(wanted).max(a.min(0)), a),
        (None, None) => (0, wanted),
    }
}

/// What a page handed in, checked: a tidy text, and its words with times that can be trusted.
///
/// A page may say where a word lies, but not that it was aligned: score and timing come from
/// `base` where word and times are those of `base`; otherwise the times are manual when the
/// page says so, else interpolated. Without words the times are carried over from `base`.
pub fn admit(base: &[Word], text: &str, words: Option<Vec<Word>>, duration_ns: i64) -> Result<(String, Vec<Word>)> {
    if text.len() > MAX_TEXT_BYTES {
        return Err(Error::Invalid(format!("the text is longer than {MAX_TEXT_BYTES} bytes")));
    }
    if let Some(c) = text.chars().find(|c| c.is_control() && !matches!(c, '\n' | '\r' | '\t')) {
        return Err(Error::Invalid(format!("the text holds the control character U+{:04X}", u32::from(c))));
    }
    let text = tidy(text);
    if text.split_whitespace().nth(MAX_WORDS).is_some() {
        return Err(Error::Invalid(format!("the text has more than {MAX_WORDS} words")));
    }
    let Some(mut words) = words else {
        let words = carry(base, &text);
        return Ok((text, words));
    };
    if !text.split_whitespace().eq(words.iter().map(|w| w.text.as_str())) {
        return Err(Error::Invalid("the words are not those of the text".into()));
    }
    let known: HashMap<(String, i64, i64), &Word> = base.iter().map(|w| ((sound(&w.text), w.start_ns, w.end_ns), w)).collect();
    let mut before = (i64::MIN, true);
    for w in &mut words {
        let found = known.get(&(sound(&w.text), w.start_ns, w.end_ns));
        // What the base had in odd order may stay so; what is new must be in order.
        let new = found.is_none() || !before.1;
        if new && (w.start_ns > w.end_ns || w.start_ns < before.0) {
            return Err(Error::Invalid(format!("“{}” starts after its end, or before the word in front of it", w.text)));
        }
        before = (w.start_ns, found.is_some());
        if let Some(k) = found {
            w.score = k.score;
            w.timing = k.timing;
            continue;
        }
        if w.start_ns < 0 || w.end_ns > duration_ns.max(0).saturating_add(3_600_000_000_000) {
            return Err(Error::Invalid(format!("“{}” lies outside the recording", w.text)));
        }
        w.score = None;
        w.timing = if w.timing == Timing::Manual { Timing::Manual } else { Timing::Interpolated };
    }
    Ok((text, words))
}

/// Segments, one a line of `text`, from its words.
#[must_use]
pub fn segments(text: &str, words: &[Word]) -> Vec<Segment> {
    let mut rest = words.iter();
    text.lines()
        .filter_map(|line| {
            let n = line.split_whitespace().count();
            let words: Vec<Word> = rest.by_ref().take(n).cloned().collect();
            let start_ns = words.first()?.start_ns;
            let end_ns = words.iter().map(|w| w.end_ns).max()?;
            Some(Segment { start_ns, end_ns, text: line.to_owned(), words, no_speech_prob: None, avg_logprob: None })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn base(text: &str) -> Vec<Word> {
        let word = |(i, t): (usize, &str)| Word {
            text: t.into(),
            start_ns: i as i64 * 1_000,
            end_ns: i as i64 * 1_000 + 800,
            score: Some(0.9),
            timing: Timing::Aligned,
        };
        text.split_whitespace().enumerate().map(word).collect()
    }

    #[test]
    fn untouched_words_keep_their_times_and_new_ones_say_that_they_are_guesses() {
        let b = base("make the fill it bigger please");
        let w = carry(&b, "make the fillet bigger now please");
        let times: Vec<_> = w.iter().map(|w| (w.text.as_str(), w.start_ns, w.end_ns, w.timing)).collect();
        assert_eq!(
            times,
            [
                ("make", 0, 800, Timing::Aligned),
                ("the", 1000, 1800, Timing::Aligned),
                ("fillet", 2000, 3800, Timing::Interpolated),
                ("bigger", 4000, 4800, Timing::Aligned),
                ("now", 4800, 5000, Timing::Interpolated),
                ("please", 5000, 5800, Timing::Aligned),
            ]
        );
        assert_eq!((w[0].score, w[2].score), (Some(0.9), None));
    }

    #[test]
    fn punctuation_and_case_keep_the_time() {
        let w = carry(&base("drill a hole"), "Drill a hole.");
        assert_eq!((w[2].text.as_str(), w[2].start_ns, w[2].timing), ("hole.", 2000, Timing::Aligned));
    }

    #[test]
    fn words_at_both_ends_and_into_nothing() {
        let w = carry(&base("b"), "a b c");
        assert!(w[0].end_ns <= w[1].start_ns && w[2].start_ns >= w[1].end_ns);
        assert_eq!(carry(&[], "one two").len(), 2);
        assert!(carry(&base("a b"), "").is_empty());
    }

    #[test]
    fn a_page_cannot_claim_an_alignment() {
        let b = base("a b");
        let mut sent = b.clone();
        sent[0].score = Some(1.0);
        sent[1] = Word { end_ns: 1_900, timing: Timing::Aligned, ..sent[1].clone() };
        let (_, w) = admit(&b, "a b", Some(sent.clone()), 10_000).unwrap();
        assert_eq!((w[0].score, w[0].timing), (Some(0.9), Timing::Aligned));
        assert_eq!((w[1].score, w[1].timing), (None, Timing::Interpolated));
        sent[1].timing = Timing::Manual;
        assert_eq!(admit(&b, "a b", Some(sent), 10_000).unwrap().1[1].timing, Timing::Manual);
    }

    #[test]
    fn words_stay_in_order_whatever_the_diff_says() {
        for (old, new) in [("a a a aba", " aba aba b b"), ("a b a b", "b a b a b a"), ("c", "a c a c a")] {
            let w = carry(&base(old), new);
            assert!(w.windows(2).all(|p| p[0].start_ns <= p[1].start_ns), "{old:?} to {new:?}: {w:?}");
        }
    }

    #[test]
    fn nonsense_is_refused() {
        let b = base("a b");
        assert!(admit(&b, "a c", Some(b.clone()), 10_000).is_err(), "words that are not the text's");
        let swapped = vec![Word { text: "a".into(), ..b[1].clone() }, Word { text: "b".into(), ..b[0].clone() }];
        assert!(admit(&b, "a b", Some(swapped), 10_000).is_err(), "time runs backwards");
        let far = vec![b[0].clone(), Word { end_ns: i64::MAX, ..b[1].clone() }];
        assert!(admit(&b, "a b", Some(far), 10_000).is_err(), "outside the recording");
        assert!(admit(&b, "a\u{0}b", None, 10_000).is_err(), "a control character");
    }

    #[test]
    fn lines_become_segments() {
        let b = base("a b c");
        let s = segments("a b\nc", &b);
        assert_eq!((s.len(), s[0].text.as_str(), s[0].end_ns, s[1].start_ns), (2, "a b", 1_800, 2_000));
    }

    proptest! {
        #[test]
        fn carried_words_are_the_texts_words_in_order(old in "[abc]{0,3}( [abc]{1,3}){0,12}", new in "[abcd]{0,3}( [abcd]{1,3}){0,12}") {
            let w = carry(&base(&old), &new);
            prop_assert!(new.split_whitespace().eq(w.iter().map(|w| w.text.as_str())));
            prop_assert!(w.iter().all(|w| w.start_ns <= w.end_ns && w.start_ns >= 0));
            prop_assert!(w.windows(2).all(|p| p[0].start_ns <= p[1].start_ns));
            let (text, admitted) = admit(&base(&old), &new, Some(w.clone()), 1_000_000).unwrap();
            prop_assert_eq!(&admitted, &w);
            prop_assert_eq!(segments(&text, &admitted).iter().map(|s| s.words.len()).sum::<usize>(), w.len());
        }
    }
}
