//! Word error rate: how many words differ between a reference and what was heard.

use crate::align::normalise::{readings, spoken};
use crate::guards;

/// Differences between two texts, in words as they are said.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WordErrors {
    /// Words of the reference.
    pub words: usize,
    /// Words heard as others.
    pub substituted: usize,
    /// Words not heard.
    pub deleted: usize,
    /// Words heard that are not in the reference.
    pub inserted: usize,
}

impl WordErrors {
    /// Errors for each word of the reference; 0 when both are empty.
    #[must_use]
    pub fn rate(&self) -> f64 {
        (self.substituted + self.deleted + self.inserted) as f64 / self.words.max(1) as f64
    }
}

impl std::ops::AddAssign for WordErrors {
    fn add_assign(&mut self, o: Self) {
        self.words += o.words;
        self.substituted += o.substituted;
        self.deleted += o.deleted;
        self.inserted += o.inserted;
    }
}

/// Compares two texts. Case, punctuation and the way in which numbers and units are written do not
/// count: both are compared in their first spoken form (“2.5 mm” is “two point five millimeters”).
///
/// ```
/// use redline_transcribe::wer::word_errors;
/// let e = word_errors("Add a fillet of 2 mm.", "add a filet of two millimeters");
/// assert_eq!((e.words, e.substituted, e.deleted, e.inserted), (6, 1, 0, 0));
/// ```
#[must_use]
pub fn word_errors(reference: &str, heard: &str) -> WordErrors {
    let (r, h) = (said(reference), said(heard));
    // Costs, then the counts that led to them.
    let mut row: Vec<(usize, WordErrors)> = (0..=h.len()).map(|j| (j, WordErrors { inserted: j, ..WordErrors::default() })).collect();
    for (i, wanted) in r.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = (i + 1, WordErrors { deleted: i + 1, ..WordErrors::default() });
        for (j, got) in h.iter().enumerate() {
            let mut choices = [diagonal, row[j + 1], row[j]];
            if wanted != got {
                choices[0].0 += 1;
                choices[0].1.substituted += 1;
            }
            choices[1].0 += 1;
            choices[1].1.deleted += 1;
            choices[2].0 += 1;
            choices[2].1.inserted += 1;
            diagonal = row[j + 1];
            row[j + 1] = choices.into_iter().min_by_key(|c| c.0).unwrap_or(diagonal);
        }
    }
    WordErrors { words: r.len(), ..row[h.len()].1 }
}

/// The words of a text as they are said.
fn said(text: &str) -> Vec<String> {
    let one = |w: &str| readings(w).first().map_or_else(|| guards::plain(w), |r| guards::plain(&spoken(r)));
    text.split_whitespace().flat_map(|w| one(w).split(' ').filter(|w| !w.is_empty()).map(str::to_owned).collect::<Vec<_>>()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(reference: &str, heard: &str) -> (usize, usize, usize, usize) {
        let e = word_errors(reference, heard);
        (e.words, e.substituted, e.deleted, e.inserted)
    }

    #[test]
    fn errors_are_counted_by_kind() {
        assert_eq!(counts("move the big hole", "Move, the hole"), (4, 0, 1, 0));
        assert_eq!(counts("move the hole", "move the big whole"), (3, 1, 0, 1));
        assert_eq!(counts("a b c", "a b c"), (3, 0, 0, 0));
        assert_eq!(counts("a b c", ""), (3, 0, 3, 0));
        assert_eq!(counts("", "x y"), (0, 0, 0, 2));
        assert_eq!(counts("drill 4 holes of 45°", "Drill four holes of 45 degrees."), (7, 0, 0, 0));
    }

    #[test]
    fn the_rate_is_errors_by_words() {
        let mut e = word_errors("a b c d", "a x c");
        assert!((e.rate() - 0.5).abs() < 1e-9);
        e += word_errors("a b c d", "a b c d");
        assert!((e.rate() - 0.25).abs() < 1e-9);
        assert_eq!(WordErrors::default().rate(), 0.0);
    }
}
