//! Texts, their words, and how far two of them are apart.

use rapidfuzz::distance::levenshtein;
use redline_schemas::{Transcript, Word};
use std::collections::HashMap;

/// The largest text that is taken, bytes.
pub const MAX_TEXT_BYTES: usize = 1 << 20;

/// The largest number of words that is taken.
pub const MAX_WORDS: usize = 50_000;

/// The text with one segment a line: runs of blanks become one, empty lines go.
#[must_use]
pub fn tidy(text: &str) -> String {
    let lines = text.lines().map(one_line).filter(|l| !l.is_empty());
    lines.collect::<Vec<_>>().join("\n")
}

/// All words with one blank between them.
#[must_use]
pub fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What is heard of a word: its letters and digits in lower case.
///
/// Two words with the same sound keep the same times, so that a comma costs no alignment.
#[must_use]
pub fn sound(word: &str) -> String {
    let s: String = word.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect();
    if s.is_empty() { word.to_owned() } else { s }
}

/// Distances between an automatic and a corrected text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Distance {
    /// Whether they differ at all.
    pub changed: bool,
    /// Levenshtein distance over characters (Unicode scalar values).
    pub chars: u64,
    /// Levenshtein distance over words.
    pub words: u64,
    /// Characters of the automatic text.
    pub automatic_chars: u64,
}

/// Measures `corrected` against `automatic`; blanks and line ends count as one blank.
#[must_use]
pub fn distance(automatic: &str, corrected: &str) -> Distance {
    let (a, b) = (one_line(automatic), one_line(corrected));
    let mut numbers = HashMap::new();
    let mut number = |w| {
        let next = numbers.len() as u32;
        *numbers.entry(w).or_insert(next)
    };
    let wa: Vec<u32> = a.split(' ').filter(|w| !w.is_empty()).map(&mut number).collect();
    let wb: Vec<u32> = b.split(' ').filter(|w| !w.is_empty()).map(&mut number).collect();
    Distance {
        changed: a != b,
        chars: levenshtein::distance(a.chars(), b.chars()) as u64,
        words: levenshtein::distance(wa, wb) as u64,
        automatic_chars: a.chars().count() as u64,
    }
}

/// A transcript as the loop works on it: its text, and one word with times for each word of the text.
///
/// Where a segment's words do not match its text (an aligner that gave up), its words are spread over it.
#[must_use]
pub fn words_of(t: &Transcript) -> (String, Vec<Word>) {
    let mut lines = Vec::new();
    let mut words = Vec::new();
    for s in &t.segments {
        let line = one_line(&s.text);
        if line.is_empty() {
            continue;
        }
        if line.split(' ').eq(s.words.iter().map(|w| w.text.as_str())) {
            words.extend(s.words.iter().cloned());
        } else {
            let texts: Vec<&str> = line.split(' ').collect();
            words.extend(crate::carry::spread(&texts, s.start_ns, s.end_ns));
        }
        lines.push(line);
    }
    (lines.join("\n"), words)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The textbook recurrence, to compare with.
    fn plain<T: PartialEq>(a: &[T], b: &[T]) -> u64 {
        let mut row: Vec<u64> = (0..=b.len() as u64).collect();
        for (i, x) in a.iter().enumerate() {
            let mut diagonal = row[0];
            row[0] = i as u64 + 1;
            for (j, y) in b.iter().enumerate() {
                let substitute = diagonal + u64::from(x != y);
                diagonal = row[j + 1];
                row[j + 1] = substitute.min(row[j] + 1).min(diagonal + 1);
            }
        }
        row[b.len()]
    }

    #[test]
    fn known_distances() {
        let d = distance("make the fill it bigger", "make the fillet\nbigger");
        assert_eq!((d.changed, d.chars, d.words, d.automatic_chars), (true, 2, 2, 23));
        let d = distance("same  text", "same text\n");
        assert_eq!((d.changed, d.chars, d.words), (false, 0, 0));
        assert_eq!(distance("", "Ø8 45°").chars, 6);
    }

    #[test]
    fn a_comma_is_no_new_sound() {
        assert_eq!(sound("Hole,"), sound("hole"));
        assert_ne!(sound("hole"), sound("hold"));
        assert_eq!(sound("—"), "—");
    }

    proptest! {
        #[test]
        fn distance_equals_the_textbook(a in "[ab ]{0,40}", b in "[abø ]{0,40}") {
            let (x, y) = (one_line(&a), one_line(&b));
            let d = distance(&a, &b);
            prop_assert_eq!(d.chars, plain(&x.chars().collect::<Vec<_>>(), &y.chars().collect::<Vec<_>>()));
            let words = |s: &str| s.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
            prop_assert_eq!(d.words, plain(&words(&a), &words(&b)));
        }
    }
}
