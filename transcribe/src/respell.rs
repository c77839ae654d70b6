//! Words of the list that Whisper wrote otherwise (“filet” for “fillet”): the sound decides.
//!
//! A heard word that is spelled almost like a word of the list is a doubt. The forced aligner then
//! scores both against the sound; the list's word takes the place only when it fits clearly better.

use crate::Result;
use crate::align::ForcedAligner;
use redline_schemas::Timing;

/// The name under which a transcript records these decisions.
pub const GUARD: &str = "word-list";
/// How much better the list's word must fit (scores run from 0 to 1).
pub const MARGIN: f32 = 0.1;
/// Shorter words have too many neighbours.
const SHORTEST: usize = 4;

/// A word in doubt, and how it was settled.
#[derive(Debug, Clone, PartialEq)]
pub struct Respelling {
    /// Its index.
    pub word: usize,
    /// The list's spelling, with the punctuation and the capitals of the heard word.
    pub listed: String,
    /// How well the heard word fits the sound, 0 to 1.
    pub heard_score: f32,
    /// How well the list's word fits.
    pub listed_score: f32,
}

impl Respelling {
    /// Whether the list's word takes the place.
    #[must_use]
    pub fn is_taken(&self) -> bool {
        self.listed_score >= self.heard_score + MARGIN
    }
}

/// Looks for words of `list` among the `heard` ones of a piece (16 kHz, mono), and asks the sound.
pub fn settle(aligner: &dyn ForcedAligner, audio: &[f32], heard: &[&str], list: &[String]) -> Result<Vec<Respelling>> {
    let doubts = doubts(heard, list);
    if doubts.is_empty() {
        return Ok(Vec::new());
    }
    let mut instead = heard.to_vec();
    doubts.iter().for_each(|(i, listed)| instead[*i] = listed);
    let (as_heard, as_listed) = (aligner.align(audio, heard)?, aligner.align(audio, &instead)?);
    let score =
        |words: &[crate::align::AlignedWord], i: usize| words.get(i).filter(|w| w.timing != Timing::Interpolated).map_or(0.0, |w| w.score);
    Ok(doubts
        .iter()
        .map(|(i, listed)| Respelling {
            word: *i,
            listed: listed.clone(),
            heard_score: score(&as_heard, *i),
            listed_score: score(&as_listed, *i),
        })
        .collect())
}

/// Heard words that are nearly a word of the list, and how that is written.
fn doubts(heard: &[&str], list: &[String]) -> Vec<(usize, String)> {
    let single = |t: &&String| t.chars().count() >= SHORTEST && t.chars().all(char::is_alphabetic);
    let forms: Vec<String> = list.iter().filter(single).flat_map(|t| inflected(&t.to_lowercase())).collect();
    let mut out = Vec::new();
    for (i, written) in heard.iter().enumerate() {
        let core = written.trim_matches(|c: char| !c.is_alphanumeric());
        let lower = core.to_lowercase();
        let length = lower.chars().count();
        if length < SHORTEST || !core.chars().all(char::is_alphabetic) || forms.contains(&lower) {
            continue;
        }
        let nearest = forms.iter().map(|f| (distance(&lower, f), f)).min_by_key(|(d, _)| *d);
        if let Some((d, form)) = nearest
            && d <= (length + 2) / 4
        {
            let capital = core.chars().next().is_some_and(char::is_uppercase);
            let form = if capital { capitalised(form) } else { form.clone() };
            out.push((i, written.replacen(core, &form, 1)));
        }
    }
    out
}

/// A word and its regular forms.
fn inflected(word: &str) -> Vec<String> {
    let stem = word.strip_suffix('e').unwrap_or(word);
    let plural = if word.ends_with(['s', 'x']) || word.ends_with("ch") || word.ends_with("sh") { "es" } else { "s" };
    vec![word.into(), format!("{word}{plural}"), format!("{stem}ed"), format!("{stem}ing")]
}

fn capitalised(word: &str) -> String {
    let mut chars = word.chars();
    chars.next().map_or_else(String::new, |c| c.to_uppercase().chain(chars).collect())
}

/// Letters to be put in, taken out or changed.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, cb) in b.iter().enumerate() {
            let changed = diagonal + usize::from(ca != *cb);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::align::AlignedWord;
    use redline_schemas::Aligner;

    fn of(heard: &str, list: &[&str]) -> Vec<(usize, String)> {
        let list: Vec<String> = list.iter().map(|t| (*t).to_owned()).collect();
        doubts(&heard.split(' ').collect::<Vec<_>>(), &list)
    }

    #[test]
    fn near_spellings_are_doubts_and_others_are_not() {
        let list = ["fillet", "chamfer", "loft", "rib", "base plate v2", "M6"];
        assert_eq!(of("Add a Filet, here.", &list), [(2, "Fillet,".into())]);
        assert_eq!(of("two filets and chambers", &list), [(1, "fillets".into()), (3, "chamfers".into())]);
        assert_eq!(of("filleted chamfering lofts the big rip", &list), []);
        assert_eq!(of("left it", &list), [(0, "loft".into())]);
        assert_eq!(of("2.5 mm", &list), []);
        assert_eq!(of("filet", &[]), []);
    }

    #[test]
    fn distances() {
        for (a, b, d) in [("filet", "fillet", 1), ("chamber", "chamfer", 1), ("", "abc", 3), ("abc", "abc", 0), ("ab", "ba", 2)] {
            assert_eq!(distance(a, b), d, "{a} {b}");
        }
    }

    /// Knows which words are in the sound.
    struct Knows(&'static [&'static str]);

    impl ForcedAligner for Knows {
        fn describe(&self) -> Aligner {
            Aligner { name: "knows".into(), version: "1".into(), sha256: None }
        }

        fn longest(&self) -> usize {
            usize::MAX
        }

        fn align(&self, _: &[f32], words: &[&str]) -> Result<Vec<AlignedWord>> {
            let one =
                |w: &&str| AlignedWord { start: 0, end: 0, score: if self.0.contains(w) { 0.9 } else { 0.4 }, timing: Timing::Aligned };
            Ok(words.iter().map(one).collect())
        }
    }

    #[test]
    fn the_sound_decides() {
        let list = ["fillet".to_owned(), "loft".to_owned()];
        let settled = settle(&Knows(&["fillet", "left"]), &[], &["filet", "left"], &list).unwrap();
        assert_eq!(
            settled.iter().map(|r| (r.word, r.listed.as_str(), r.is_taken())).collect::<Vec<_>>(),
            [(0, "fillet", true), (1, "loft", false)]
        );
    }
}
