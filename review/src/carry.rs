//! Times that survive an edit: untouched words keep theirs, new ones get a guess that says so.
//!
//! `web/src/text.ts` does the same in the page, by the same numbers: what a page shows is what a later round builds on.

use crate::text::{MAX_TEXT_BYTES, MAX_WORDS, sound, tidy};
use crate::{Error, Result};
use redline_schemas::{Segment, Session, Timing, Word};
use similar::{Algorithm, DiffOp, capture_diff_slices_deadline};
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// How long a new word lasts where there is no room to share, nanoseconds.
const ROOM_NS: i64 = 200_000_000;

/// How long it lasts at least, as long as the words around it leave that much.
const SHORTEST_NS: i64 = 20_000_000;

/// Stands for the end of a recording whose length is not known.
const ENDLESS_NS: i64 = i64::MAX / 4;

/// Where words can lie: session time with sound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Heard {
    /// Where the sound begins.
    pub start_ns: i64,
    /// Where it ends, or the recording.
    pub end_ns: i64,
}

impl Heard {
    /// The sound of a session; without sound, or with that of a video, all of it.
    #[must_use]
    pub fn of(s: &Session) -> Self {
        let end = if s.duration_ns > 0 { s.duration_ns } else { ENDLESS_NS };
        match s.streams.audio.as_ref().and_then(|a| a.clock.span_ns()) {
            Some((from, to)) if from.max(0) < to.min(end) => Self { start_ns: from.max(0), end_ns: to.min(end) },
            _ => Self { start_ns: 0, end_ns: end },
        }
    }
}

/// How long a diff may take before it settles for a coarser one.
const DIFF_DEADLINE: Duration = Duration::from_millis(500);

/// `texts` evenly over the span, in proportion to their length; flagged as interpolated.
///
/// Every word lasts: where the span is none, all lie at its start, one over the other.
#[must_use]
pub fn spread(texts: &[&str], start_ns: i64, end_ns: i64) -> Vec<Word> {
    let weight = |t: &str| t.chars().count().max(1) as i128;
    let total: i128 = texts.iter().map(|t| weight(t)).sum();
    let span = i128::from(end_ns.saturating_sub(start_ns).max(0));
    let word = |t: &str, start_ns, end_ns| Word { text: t.to_owned(), start_ns, end_ns, score: None, timing: Timing::Interpolated };
    if span < total {
        return texts.iter().map(|t| word(t, start_ns, start_ns.saturating_add(SHORTEST_NS))).collect();
    }
    let mut before = 0;
    let place = |w: i128| start_ns + (span * w / total.max(1)) as i64;
    texts
        .iter()
        .map(|t| {
            let start_ns = place(before);
            before += weight(t);
            word(t, start_ns, place(before))
        })
        .collect()
}

/// A word of the new text: one of the base, or a new one and what it stands in place of.
struct Slot<'a> {
    text: &'a str,
    kept: Option<&'a Word>,
    line: usize,
    /// Of a new word: the number of its stretch.
    stretch: usize,
}

impl Slot<'_> {
    /// New, or a guess already: gets its time together with its neighbours of that kind.
    fn is_loose(&self) -> bool {
        self.kept.is_none_or(|w| w.timing == Timing::Interpolated)
    }

    fn joins(&self, next: &Self) -> bool {
        let one_stretch = self.kept.is_none() && next.kept.is_none() && self.stretch == next.stretch;
        self.is_loose() && next.is_loose() && (self.line == next.line || one_stretch)
    }
}

/// The time that a run of new words takes over, and from how many words.
#[derive(Clone, Copy)]
struct Had {
    start_ns: i64,
    end_ns: i64,
    words: usize,
}

impl Had {
    fn of<'a>(words: impl IntoIterator<Item = &'a Word>) -> Option<Self> {
        words.into_iter().map(|w| Self { start_ns: w.start_ns, end_ns: w.end_ns, words: 1 }).reduce(Self::with)
    }

    fn with(self, o: Self) -> Self {
        Self { start_ns: self.start_ns.min(o.start_ns), end_ns: self.end_ns.max(o.end_ns), words: self.words + o.words }
    }
}

/// The words of `text` with the times of `base` carried over.
///
/// Words that sound as before keep time, score and timing. A replaced stretch shares the time of
/// what it replaced; an inserted one goes into the gap between its neighbours. New words beside
/// guesses of the same line share with them, so that it makes no difference whether words were typed
/// at once or one by one. No new word lies outside of the sound, or has no length.
#[must_use]
pub fn carry(base: &[Word], text: &str, heard: Heard) -> Vec<Word> {
    let (slots, gone) = slots(base, text);
    let mut out: Vec<Word> = Vec::with_capacity(slots.len());
    let mut rest = slots.as_slice();
    while !rest.is_empty() {
        let len = 1 + rest.windows(2).take_while(|p| matches!(p, [a, b] if a.joins(b))).count();
        let (run, after) = rest.split_at(len);
        rest = after;
        if run.iter().all(|s| s.kept.is_some()) {
            out.extend(run.iter().filter_map(|s| s.kept.map(|w| Word { text: s.text.to_owned(), ..w.clone() })));
            continue;
        }
        let mut stretches: Vec<usize> = run.iter().filter(|s| s.kept.is_none()).map(|s| s.stretch).collect();
        stretches.dedup();
        let taken = stretches.iter().filter_map(|i| gone.get(*i)).flatten().copied();
        let had = Had::of(taken.chain(run.iter().filter_map(|s| s.kept)));
        let next = after.iter().find_map(|s| s.kept);
        let (start, end) = room(had, out.last(), next, run.len(), heard);
        let texts: Vec<&str> = run.iter().map(|s| s.text).collect();
        out.extend(spread(&texts, start, end));
    }
    out
}

/// The words of `text`, and for each stretch of new ones what is gone in its place.
fn slots<'a>(base: &'a [Word], text: &'a str) -> (Vec<Slot<'a>>, Vec<Vec<&'a Word>>) {
    let new: Vec<(usize, &str)> = text.lines().enumerate().flat_map(|(n, l)| l.split_whitespace().map(move |w| (n, w))).collect();
    let old_keys: Vec<String> = base.iter().map(|w| sound(&w.text)).collect();
    let new_keys: Vec<String> = new.iter().map(|(_, w)| sound(w)).collect();
    let ops = capture_diff_slices_deadline(Algorithm::Myers, &old_keys, &new_keys, Some(Instant::now() + DIFF_DEADLINE));
    let mut slots = Vec::with_capacity(new.len());
    let mut gone: Vec<Vec<&Word>> = vec![Vec::new()];
    for op in &ops {
        let (old, fresh) = (base.get(op.old_range()).unwrap_or_default(), new.get(op.new_range()).unwrap_or_default());
        if matches!(op, DiffOp::Equal { .. }) {
            slots.extend(old.iter().zip(fresh).map(|(w, &(line, text))| Slot { text, kept: Some(w), line, stretch: 0 }));
            gone.push(Vec::new());
            continue;
        }
        let stretch = gone.len() - 1;
        gone[stretch].extend(old);
        slots.extend(fresh.iter().map(|&(line, text)| Slot { text, kept: None, line, stretch }));
    }
    (slots, gone)
}

/// Where a run of words goes that stands between two others.
fn room(had: Option<Had>, before: Option<&Word>, after: Option<&Word>, words: usize, heard: Heard) -> (i64, i64) {
    let n = words as i64;
    let (wanted, least) = (ROOM_NS.saturating_mul(n), SHORTEST_NS.saturating_mul(n));
    let said = before.map_or(heard.start_ns, |w| w.end_ns);
    let high = after.map_or(heard.end_ns.max(said), |w| w.start_ns);
    let low = said.min(high);
    let (start, end) = match (had, before, after) {
        (Some(h), ..) => {
            // Beyond the first and the last word there is room for more of them.
            let more = words > h.words;
            let start = if more && before.is_none() { h.start_ns.min(h.end_ns.saturating_sub(wanted)) } else { h.start_ns };
            (start, if more && after.is_none() { h.end_ns.max(h.start_ns.saturating_add(wanted)) } else { h.end_ns })
        }
        (None, Some(_), Some(_)) => (low, high),
        (None, None, Some(_)) => (high.saturating_sub(wanted), high),
        (None, _, None) => (low, low.saturating_add(wanted)),
    };
    let start = start.clamp(low, high);
    let end = end.clamp(start, high);
    if end - start >= least {
        return (start, end);
    }
    let end = end.max(start.saturating_add(least).min(high));
    let start = start.min(low.max(end - least));
    // Words that follow each other without a gap: the end of the one before is shared.
    let middle = before.map_or(low, |w| w.start_ns + (w.end_ns - w.start_ns).max(0) / 2);
    (start.min(middle.max(end - least)), end)
}

/// Gives guesses that have no length, or lie outside of the recording, their share of the room around them.
fn mend(words: &mut [Word], heard: Heard) {
    let guess = |w: &Word| w.timing == Timing::Interpolated;
    let mut at = 0;
    while at < words.len() {
        let len = words[at..].iter().take_while(|w| guess(w)).count();
        let (done, rest) = words.split_at_mut(at);
        let (run, after) = rest.split_at_mut(len);
        if run.iter().any(|w| w.start_ns >= w.end_ns || w.end_ns > heard.end_ns) {
            let (start, end) = room(Had::of(run.iter()), done.last(), after.first(), len, heard);
            let texts: Vec<String> = run.iter().map(|w| w.text.clone()).collect();
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            for (w, new) in run.iter_mut().zip(spread(&texts, start, end)) {
                *w = new;
            }
        }
        at += len.max(1);
    }
}

/// What a page handed in, checked: a tidy text, and its words with times that can be trusted.
///
/// A page may say where a word lies, but not that it was aligned: score and timing come from
/// `base` where word and times are those of `base`; otherwise the times are manual when the
/// page says so, else interpolated. Guesses without length get one. Without words the times are
/// carried over from `base`.
pub fn admit(base: &[Word], text: &str, words: Option<Vec<Word>>, heard: Heard) -> Result<(String, Vec<Word>)> {
    if text.len() > MAX_TEXT_BYTES {
        return Err(Error::Invalid(format!("the text is longer than {MAX_TEXT_BYTES} bytes")));
    }
    check_characters(text)?;
    let text = tidy(text);
    if text.split_whitespace().nth(MAX_WORDS).is_some() {
        return Err(Error::Invalid(format!("the text has more than {MAX_WORDS} words")));
    }
    let Some(mut words) = words else {
        let words = carry(base, &text, heard);
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
        if w.start_ns < 0 || w.end_ns > heard.end_ns.saturating_add(3_600_000_000_000) {
            return Err(Error::Invalid(format!("“{}” lies outside the recording", w.text)));
        }
        w.score = None;
        w.timing = if w.timing == Timing::Manual { Timing::Manual } else { Timing::Interpolated };
    }
    let known = base.iter().map(|w| w.end_ns).max().unwrap_or(0);
    mend(&mut words, Heard { end_ns: heard.end_ns.max(known), ..heard });
    Ok((text, words))
}

/// Refuses characters that nobody can see or say, with the place where they are.
fn check_characters(text: &str) -> Result<()> {
    let Some((at, c)) = text.char_indices().find(|(_, c)| c.is_control() && !matches!(c, '\n' | '\r' | '\t')) else { return Ok(()) };
    let before = text[..at].split_whitespace().next_back();
    let place = before.map_or_else(|| "at its start".to_owned(), |w| format!("after “{w}”"));
    Err(Error::Invalid(format!(
        "the text holds a character that cannot be seen (U+{:04X}) {place}; take it out, then save again",
        u32::from(c)
    )))
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

    const MS: i64 = 1_000_000;

    fn until(end_ns: i64) -> Heard {
        Heard { start_ns: 0, end_ns: if end_ns > 0 { end_ns } else { ENDLESS_NS } }
    }

    fn carry(base: &[Word], text: &str, end_ns: i64) -> Vec<Word> {
        super::carry(base, text, until(end_ns))
    }

    fn admit(base: &[Word], text: &str, words: Option<Vec<Word>>, end_ns: i64) -> Result<(String, Vec<Word>)> {
        super::admit(base, text, words, until(end_ns))
    }

    /// A word a second, with 200 ms of quiet after each.
    fn base(text: &str) -> Vec<Word> {
        spaced(text, 800)
    }

    fn spaced(text: &str, length_ms: i64) -> Vec<Word> {
        let word = |(i, t): (usize, &str)| Word {
            text: t.into(),
            start_ns: i as i64 * 1_000 * MS,
            end_ns: (i as i64 * 1_000 + length_ms) * MS,
            score: Some(0.9),
            timing: Timing::Aligned,
        };
        text.split_whitespace().enumerate().map(word).collect()
    }

    /// Text and times in milliseconds.
    fn times(words: &[Word]) -> Vec<(&str, i64, i64)> {
        words.iter().map(|w| (w.text.as_str(), w.start_ns / MS, w.end_ns / MS)).collect()
    }

    /// As it is typed: letter by letter, each one carried over from the one before.
    fn typed(base: &[Word], before: &str, new: &str, after: &str, duration_ns: i64) -> Vec<Word> {
        let mut words = base.to_vec();
        for (end, c) in new.char_indices() {
            words = carry(&words, &format!("{before} {} {after}", &new[..end + c.len_utf8()]), duration_ns);
        }
        words
    }

    #[test]
    fn untouched_words_keep_their_times_and_new_ones_say_that_they_are_guesses() {
        let b = base("make the fill it bigger please");
        let w = carry(&b, "make the fillet bigger now please", 10_000 * MS);
        let seen: Vec<_> = w.iter().map(|w| (w.text.as_str(), w.start_ns / MS, w.end_ns / MS, w.timing)).collect();
        assert_eq!(
            seen,
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
    fn words_typed_one_by_one_share_the_gap_as_if_typed_at_once() {
        let b = base("drill hole");
        let want = [("drill", 0, 800), ("one", 800, 900), ("big", 900, 1000), ("hole", 1000, 1800)];
        assert_eq!(times(&carry(&b, "drill one big hole", 10_000 * MS)), want);
        assert_eq!(times(&typed(&b, "drill", "one big", "hole", 10_000 * MS)), want);
        // In place of another word, and behind the last one.
        let w = carry(&spaced("drill hole", 450), "drill slots in it", 10_000 * MS);
        assert_eq!(times(&w)[1..], [("slots", 1000, 1333), ("in", 1333, 1466), ("it", 1466, 1600)]);
        for (before, new, after) in
            [("drill", "slots in it", ""), ("", "now please", "drill hole"), ("drill hole", "right there please", "")]
        {
            let at_once = carry(&b, &format!("{before} {new} {after}"), 10_000 * MS);
            assert_eq!(times(&typed(&b, before, new, after, 10_000 * MS)), times(&at_once));
        }
    }

    #[test]
    fn where_words_follow_without_a_gap_a_new_one_shares_the_end_of_the_one_before() {
        let b = spaced("a b", 1_000);
        let w = carry(&b, "a new b", 10_000 * MS);
        assert_eq!(times(&w), [("a", 0, 1000), ("new", 980, 1000), ("b", 1000, 2000)]);
        assert_eq!(
            times(&typed(&b, "a", "x y z", "b", 10_000 * MS)),
            [("a", 0, 1000), ("x", 940, 960), ("y", 960, 980), ("z", 980, 1000), ("b", 1000, 2000)]
        );
        // In front of a first word at 0 there is nothing to share but that word itself.
        assert_eq!(times(&carry(&b, "new a b", 10_000 * MS))[0], ("new", 0, 20));
    }

    #[test]
    fn words_at_the_end_stay_inside_of_the_recording() {
        let b = base("a b");
        assert_eq!(times(&carry(&b, "a b c d", 2_100 * MS))[2..], [("c", 1800, 1950), ("d", 1950, 2100)]);
        assert_eq!(times(&typed(&b, "a b", "c d", "", 2_100 * MS))[2..], [("c", 1800, 1950), ("d", 1950, 2100)]);
        assert_eq!(times(&carry(&b, "a b c d", 1_800 * MS))[2..], [("c", 1760, 1780), ("d", 1780, 1800)], "no room is left");
        assert_eq!(times(&carry(&b, "a b c d", 60_000 * MS))[2..], [("c", 1800, 2000), ("d", 2000, 2200)]);
    }

    #[test]
    fn words_lie_in_the_sound_not_before_it() {
        let mut b = base("a b");
        b.iter_mut().for_each(|w| (w.start_ns, w.end_ns) = (w.start_ns + 700 * MS, w.end_ns + 700 * MS));
        let heard = Heard { start_ns: 500 * MS, end_ns: 2_600 * MS };
        let w = super::carry(&b, "x y a b z", heard);
        assert_eq!(times(&w), [("x", 500, 600), ("y", 600, 700), ("a", 700, 1500), ("b", 1700, 2500), ("z", 2500, 2600)]);
    }

    #[test]
    fn guesses_of_another_line_are_left_alone() {
        let b = carry(&base("a b"), "a x\nb", 10_000 * MS);
        let w = carry(&b, "a x\ny b", 10_000 * MS);
        assert_eq!(times(&w)[1], times(&b)[1]);
        assert!(w.iter().all(|w| w.start_ns < w.end_ns), "{w:?}");
    }

    #[test]
    fn a_page_that_sends_guesses_without_length_gets_them_mended() {
        let b = base("a b");
        let guess =
            |t: &str, at: i64| Word { text: t.into(), start_ns: at * MS, end_ns: at * MS, score: None, timing: Timing::Interpolated };
        let sent = vec![b[0].clone(), guess("x", 1000), guess("y", 1000), b[1].clone()];
        let (_, w) = admit(&b, "a x y b", Some(sent), 10_000 * MS).unwrap();
        assert_eq!(times(&w), [("a", 0, 800), ("x", 960, 980), ("y", 980, 1000), ("b", 1000, 1800)]);
        let late = Word { end_ns: 10_500 * MS, ..guess("c", 1_900) };
        let (_, w) = admit(&b, "a b c", Some(vec![b[0].clone(), b[1].clone(), late]), 10_000 * MS).unwrap();
        assert_eq!(times(&w)[2], ("c", 1900, 10_000));
    }

    #[test]
    fn punctuation_and_case_keep_the_time() {
        let w = carry(&base("drill a hole"), "Drill a hole.", 0);
        assert_eq!((w[2].text.as_str(), w[2].start_ns, w[2].timing), ("hole.", 2000 * MS, Timing::Aligned));
    }

    #[test]
    fn words_at_both_ends_and_into_nothing() {
        let w = carry(&base("b"), "a b c", 0);
        assert_eq!(times(&w), [("a", 0, 20), ("b", 0, 800), ("c", 800, 1000)]);
        assert_eq!(times(&carry(&[], "one two", 0)), [("one", 0, 200), ("two", 200, 400)]);
        assert!(carry(&base("a b"), "", 0).is_empty());
    }

    #[test]
    fn a_page_cannot_claim_an_alignment() {
        let b = base("a b");
        let mut sent = b.clone();
        sent[0].score = Some(1.0);
        sent[1] = Word { end_ns: 1_900 * MS, timing: Timing::Aligned, ..sent[1].clone() };
        let (_, w) = admit(&b, "a b", Some(sent.clone()), 10_000 * MS).unwrap();
        assert_eq!((w[0].score, w[0].timing), (Some(0.9), Timing::Aligned));
        assert_eq!((w[1].score, w[1].timing), (None, Timing::Interpolated));
        sent[1].timing = Timing::Manual;
        assert_eq!(admit(&b, "a b", Some(sent), 10_000 * MS).unwrap().1[1].timing, Timing::Manual);
    }

    #[test]
    fn words_stay_in_order_whatever_the_diff_says() {
        for (old, new) in [("a a a aba", " aba aba b b"), ("a b a b", "b a b a b a"), ("c", "a c a c a")] {
            let w = carry(&base(old), new, 0);
            assert!(w.windows(2).all(|p| p[0].start_ns <= p[1].start_ns), "{old:?} to {new:?}: {w:?}");
        }
    }

    #[test]
    fn nonsense_is_refused() {
        let b = base("a b");
        assert!(admit(&b, "a c", Some(b.clone()), 10_000 * MS).is_err(), "words that are not the text's");
        let swapped = vec![Word { text: "a".into(), ..b[1].clone() }, Word { text: "b".into(), ..b[0].clone() }];
        assert!(admit(&b, "a b", Some(swapped), 10_000 * MS).is_err(), "time runs backwards");
        let far = vec![b[0].clone(), Word { end_ns: i64::MAX, ..b[1].clone() }];
        assert!(admit(&b, "a b", Some(far), 10_000 * MS).is_err(), "outside the recording");
        let e = admit(&b, "drill a\u{7} b", None, 10_000 * MS).unwrap_err().to_string();
        assert_eq!(e, "the text holds a character that cannot be seen (U+0007) after “a”; take it out, then save again");
        assert!(admit(&b, "\u{0}a", None, 10_000 * MS).unwrap_err().to_string().contains("at its start"));
    }

    #[test]
    fn lines_become_segments() {
        let b = base("a b c");
        let s = segments("a b\nc", &b);
        assert_eq!((s.len(), s[0].text.as_str(), s[0].end_ns, s[1].start_ns), (2, "a b", 1_800 * MS, 2_000 * MS));
    }

    proptest! {
        #[test]
        fn carried_words_are_the_texts_words_in_order(
            old in "[abc]{0,3}( [abc]{1,3}){0,12}",
            new in "[abcd]{0,3}([ \n][abcd]{1,3}){0,12}",
            length in 0_i64..=1_000,
            duration in 0_i64..20_000,
        ) {
            let old = spaced(&old, length.max(1));
            let w = carry(&old, &new, duration * MS);
            prop_assert!(new.split_whitespace().eq(w.iter().map(|w| w.text.as_str())));
            prop_assert!(w.iter().all(|w| w.start_ns < w.end_ns && w.start_ns >= 0), "{w:?}");
            prop_assert!(w.windows(2).all(|p| p[0].start_ns <= p[1].start_ns), "{w:?}");
            let end = old.iter().map(|w| w.end_ns).max().unwrap_or(0).max(duration * MS);
            prop_assert!(duration == 0 || w.iter().all(|w| w.end_ns <= end.max(SHORTEST_NS)), "{w:?}");
            let (text, admitted) = admit(&old, &new, Some(w.clone()), duration * MS).unwrap();
            prop_assert_eq!(&admitted, &w);
            prop_assert_eq!(segments(&text, &admitted).iter().map(|s| s.words.len()).sum::<usize>(), w.len());
        }
    }
}
