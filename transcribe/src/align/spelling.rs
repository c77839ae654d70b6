//! Phones from spelling, for words that no dictionary has (part names, brands, typing errors).
//!
//! A few dozen rules, longest first. The aligner needs a plausible sequence, not a right one:
//! a wrong vowel moves no boundary.

use super::phones::Phone::{self, *};

/// The name of a letter.
pub(super) fn letter_name(c: char) -> &'static [Phone] {
    match c.to_ascii_lowercase() {
        'a' => &[EY],
        'b' => &[B, IY],
        'c' => &[S, IY],
        'd' => &[D, IY],
        'e' => &[IY],
        'f' => &[EH, F],
        'g' => &[JH, IY],
        'h' => &[EY, CH],
        'i' => &[AY],
        'j' => &[JH, EY],
        'k' => &[K, EY],
        'l' => &[EH, L],
        'm' => &[EH, M],
        'n' => &[EH, N],
        'o' => &[OW],
        'p' => &[P, IY],
        'q' => &[K, Y, UW],
        'r' => &[AA, R],
        's' => &[EH, S],
        't' => &[T, IY],
        'u' => &[Y, UW],
        'v' => &[V, IY],
        'w' => &[D, AH, B, AH, L, Y, UW],
        'x' => &[EH, K, S],
        'y' => &[W, AY],
        'z' => &[Z, IY],
        _ => &[],
    }
}

/// What a plural or possessive s adds after `last`.
pub(super) fn plural(last: Phone) -> Vec<Phone> {
    if last.is_sibilant() {
        vec![IH, Z]
    } else if last.is_voiceless() {
        vec![S]
    } else {
        vec![Z]
    }
}

/// What a past ending adds after `last`.
pub(super) fn past(last: Phone) -> Vec<Phone> {
    if matches!(last, T | D) {
        vec![IH, D]
    } else if last.is_voiceless() {
        vec![T]
    } else {
        vec![D]
    }
}

/// Spellings of more than one letter, longest first.
const CLUSTERS: &[(&str, &[Phone])] = &[
    ("tion", &[SH, AH, N]),
    ("sion", &[ZH, AH, N]),
    ("ough", &[AO]),
    ("eigh", &[EY]),
    ("ture", &[CH, ER]),
    ("tch", &[CH]),
    ("dge", &[JH]),
    ("igh", &[AY]),
    ("sch", &[SH]),
    ("eau", &[OW]),
    ("ear", &[IH, R]),
    ("air", &[EH, R]),
    ("ous", &[AH, S]),
    ("que", &[K]),
    ("ch", &[CH]),
    ("sh", &[SH]),
    ("th", &[TH]),
    ("ph", &[F]),
    ("wh", &[W]),
    ("ck", &[K]),
    ("ng", &[NG]),
    ("qu", &[K, W]),
    ("kn", &[N]),
    ("wr", &[R]),
    ("gh", &[G]),
    ("ee", &[IY]),
    ("ea", &[IY]),
    ("oo", &[UW]),
    ("ou", &[AW]),
    ("ow", &[OW]),
    ("oa", &[OW]),
    ("oi", &[OY]),
    ("oy", &[OY]),
    ("ai", &[EY]),
    ("ay", &[EY]),
    ("au", &[AO]),
    ("aw", &[AO]),
    ("ei", &[EY]),
    ("ey", &[IY]),
    ("ie", &[IY]),
    ("eu", &[Y, UW]),
    ("ew", &[UW]),
    ("ue", &[UW]),
    ("er", &[ER]),
    ("ir", &[ER]),
    ("ur", &[ER]),
    ("ar", &[AA, R]),
    ("or", &[AO, R]),
];

/// A plausible pronunciation of a word in lower case; never empty if it has a letter.
pub(super) fn guess(word: &str) -> Vec<Phone> {
    let letters: Vec<char> = word.chars().filter(char::is_ascii_alphabetic).collect();
    let text: String = letters.iter().collect();
    if !letters.iter().any(|c| "aeiouy".contains(*c)) {
        return letters.iter().flat_map(|c| letter_name(*c)).copied().collect();
    }
    let mut out: Vec<Phone> = Vec::new();
    let mut i = 0;
    while let Some(&c) = letters.get(i) {
        let rest = &text[i..];
        if let Some((cluster, phones)) = CLUSTERS.iter().find(|(s, _)| rest.starts_with(s)) {
            out.extend_from_slice(phones);
            i += cluster.len();
            continue;
        }
        let next = letters.get(i + 1).copied();
        if next == Some(c) && !"aeiou".contains(c) {
            i += 1;
            continue;
        }
        out.extend_from_slice(single(c, next, long_vowel(&letters, i), i, letters.len()));
        i += 1;
    }
    out
}

/// Whether the vowel at `i` is said long: one consonant and a final e follow.
fn long_vowel(letters: &[char], i: usize) -> bool {
    let vowel = |k: usize| letters.get(k).is_some_and(|c| "aeiouy".contains(*c));
    i + 3 == letters.len() && !vowel(i + 1) && letters.get(i + 2) == Some(&'e')
}

fn single(c: char, next: Option<char>, long: bool, at: usize, len: usize) -> &'static [Phone] {
    let soft = next.is_some_and(|n| "eiy".contains(n));
    let last = at + 1 == len;
    match c {
        'a' if long => &[EY],
        'a' if last => &[AH],
        'a' => &[AE],
        'b' => &[B],
        'c' if soft => &[S],
        'c' => &[K],
        'd' => &[D],
        'e' if last && len > 2 => &[],
        'e' if long => &[IY],
        'e' => &[EH],
        'f' => &[F],
        'g' if soft => &[JH],
        'g' => &[G],
        'h' => &[HH],
        'i' if long => &[AY],
        'i' if last => &[IY],
        'i' => &[IH],
        'j' => &[JH],
        'k' | 'q' => &[K],
        'l' => &[L],
        'm' => &[M],
        'n' => &[N],
        'o' if long || last => &[OW],
        'o' => &[AA],
        'p' => &[P],
        'r' => &[R],
        's' => &[S],
        't' => &[T],
        'u' if long || last => &[UW],
        'u' => &[AH],
        'v' => &[V],
        'w' => &[W],
        'x' if at == 0 => &[Z],
        'x' => &[K, S],
        'y' if at == 0 => &[Y],
        'y' if last => &[IY],
        'y' => &[IH],
        'z' => &[Z],
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guesses_are_plausible() {
        assert_eq!(guess("grommet"), [G, R, AA, M, EH, T]);
        assert_eq!(guess("knurl"), [N, ER, L]);
        assert_eq!(guess("bike"), [B, AY, K]);
        assert_eq!(guess("chuck"), [CH, AH, K]);
        assert_eq!(guess("brrr"), [letter_name('b'), letter_name('r'), letter_name('r'), letter_name('r')].concat());
    }

    #[test]
    fn endings_follow_the_sound_before() {
        assert_eq!((plural(T), plural(D), plural(SH)), (vec![S], vec![Z], vec![IH, Z]));
        assert_eq!((past(K), past(N), past(D)), (vec![T], vec![D], vec![IH, D]));
    }

    proptest::proptest! {
        #[test]
        fn a_word_with_a_letter_has_phones(word in "[a-z]{1,30}") {
            proptest::prop_assert!(!guess(&word).is_empty());
        }
    }
}
