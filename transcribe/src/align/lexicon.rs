//! From words to phones: the CMU Pronouncing Dictionary, and spelling rules for the rest.

use super::normalise::{Part, Reading, readings};
use super::phones::Phone;
use super::spelling;
use crate::Result;
use std::collections::HashMap;
use std::path::Path;

const MAX_BYTES: u64 = 64 << 20;
/// Pronunciations of one written word that the aligner chooses from.
pub(super) const MAX_PRONUNCIATIONS: usize = 8;

/// What an ending adds after the stem's last phone.
type Ending = fn(Phone) -> Vec<Phone>;

/// Pronunciations by word.
pub(super) struct Lexicon {
    words: HashMap<Box<str>, Vec<Box<[Phone]>>>,
}

/// A written word's ways to be said.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Pronunciations {
    /// Empty for a wildcard.
    pub ways: Vec<Vec<Phone>>,
    /// Whether every word of it was in the dictionary.
    pub known: bool,
}

impl Lexicon {
    /// Reads a dictionary in the CMU format: `word(2) P HH OW1 N`, `#` starts a remark.
    pub fn read(path: &Path) -> Result<Self> {
        let bytes = redline_schemas::fsio::read_limited(path, MAX_BYTES)?;
        Ok(Self::parse(&String::from_utf8_lossy(&bytes)))
    }

    pub fn parse(text: &str) -> Self {
        let mut words: HashMap<Box<str>, Vec<Box<[Phone]>>> = HashMap::new();
        for line in text.lines() {
            let line = line.split('#').next().unwrap_or_default();
            let mut fields = line.split_ascii_whitespace();
            let Some(word) = fields.next() else { continue };
            let Some(phones) = fields.map(Phone::from_arpabet).collect::<Option<Vec<_>>>().filter(|p| !p.is_empty()) else { continue };
            let word = word.split('(').next().unwrap_or_default();
            words.entry(word.to_ascii_lowercase().into()).or_default().push(phones.into());
        }
        Self { words }
    }

    /// All ways to say a written word.
    pub fn pronounce(&self, written: &str) -> Pronunciations {
        let mut out = Pronunciations { ways: Vec::new(), known: true };
        let all = readings(written);
        let per_reading = if all.len() == 1 { MAX_PRONUNCIATIONS } else { 2 };
        for reading in &all {
            let (ways, known) = self.say(reading, per_reading);
            out.known &= known;
            for w in ways {
                if !out.ways.contains(&w) && !w.is_empty() && out.ways.len() < MAX_PRONUNCIATIONS {
                    out.ways.push(w);
                }
            }
        }
        out
    }

    fn say(&self, reading: &Reading, limit: usize) -> (Vec<Vec<Phone>>, bool) {
        let mut all: Vec<Vec<Phone>> = vec![Vec::new()];
        let mut known = true;
        for part in reading {
            let ways = match part {
                Part::Letter(c) => vec![spelling::letter_name(*c).to_vec()],
                Part::Word(w) => {
                    let found = self.look_up(w);
                    known &= found.is_some();
                    found.unwrap_or_else(|| vec![spelling::guess(w)])
                }
            };
            all = all.iter().flat_map(|head| ways.iter().map(|tail| [head.as_slice(), tail].concat())).collect();
            all.truncate(limit);
        }
        (all, known)
    }

    /// The dictionary's entry, else one made of its stem, else of two words that it joins.
    fn look_up(&self, word: &str) -> Option<Vec<Vec<Phone>>> {
        let direct = |w: &str| self.words.get(w).map(|ways| ways.iter().map(|p| p.to_vec()).collect::<Vec<_>>());
        if let Some(found) = direct(word) {
            return Some(found);
        }
        let with = |stem: &str, ending: Ending| {
            direct(stem).map(|ways| {
                ways.into_iter()
                    .map(|mut w| {
                        let last = w.last().copied().unwrap_or(Phone::T);
                        w.extend(ending(last));
                        w
                    })
                    .collect::<Vec<_>>()
            })
        };
        let endings: [(&str, &str, Ending); 9] = [
            ("'s", "", spelling::plural),
            ("es", "e", spelling::plural),
            ("es", "", spelling::plural),
            ("s", "", spelling::plural),
            ("ed", "e", spelling::past),
            ("ed", "", spelling::past),
            ("ing", "", |_| vec![Phone::IH, Phone::NG]),
            ("ing", "e", |_| vec![Phone::IH, Phone::NG]),
            ("er", "e", |_| vec![Phone::ER]),
        ];
        for (suffix, put_back, ending) in endings {
            if let Some(stem) = word.strip_suffix(suffix)
                && stem.len() > 2
                && let Some(found) = with(&format!("{stem}{put_back}"), ending)
            {
                return Some(found);
            }
        }
        if word.is_ascii() {
            for at in 3..word.len().saturating_sub(2) {
                let (a, b) = word.split_at(at);
                if let (Some(a), Some(b)) = (direct(a), direct(b)) {
                    return Some(vec![[a.first()?.as_slice(), b.first()?].concat()]);
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Phone::{AE, AH, D, EH, F, IH, K, L, NG, S, T, UW, Z};

    fn small() -> Lexicon {
        Lexicon::parse("a AH0\na(2) EY1\nfillet F IH1 L AH0 T # a round\ncad K AE1 D\nslot S L AA1 T\ntool T UW1 L\nbad X1\n")
    }

    #[test]
    fn variants_and_remarks_are_read_and_nonsense_is_left_out() {
        let l = small();
        assert_eq!(l.pronounce("a").ways.len(), 2);
        assert_eq!(l.pronounce("Fillet,").ways, [vec![F, IH, L, AH, T]]);
        assert!(!l.pronounce("bad").known);
    }

    #[test]
    fn endings_and_compounds_come_from_known_words() {
        let l = small();
        assert_eq!(l.pronounce("fillets").ways, [vec![F, IH, L, AH, T, S]]);
        assert_eq!(l.pronounce("filleted").ways, [vec![F, IH, L, AH, T, IH, D]]);
        assert_eq!(l.pronounce("filleting").ways, [vec![F, IH, L, AH, T, IH, NG]]);
        assert_eq!(l.pronounce("cads").ways.last(), Some(&vec![K, AE, D, Z]));
        assert_eq!(l.pronounce("cadtool").ways, [vec![K, AE, D, T, UW, L]]);
    }

    #[test]
    fn capitals_are_spelled_or_said() {
        let p = small().pronounce("CAD");
        assert!(p.ways.contains(&vec![K, AE, D]));
        assert_eq!(p.ways[0], [S, Phone::IY, Phone::EY, D, Phone::IY]);
    }

    #[test]
    fn an_unknown_word_gets_a_guess_and_says_so() {
        let p = small().pronounce("zeck");
        assert_eq!((p.known, p.ways), (false, vec![vec![Z, EH, K]]));
    }

    #[test]
    fn a_wildcard_has_no_way() {
        assert_eq!(small().pronounce("🙂").ways, Vec::<Vec<Phone>>::new());
    }
}
