//! What Whisper is told to expect: CAD terms, the corpus's words, the model's part names.

/// Terms that design talk is full of and that Whisper mishears.
pub const CAD_TERMS: &[&str] = &[
    "fillet",
    "chamfer",
    "extrude",
    "revolve",
    "loft",
    "sweep",
    "boss",
    "rib",
    "counterbore",
    "countersink",
    "flange",
    "spline",
    "datum",
    "millimetres",
    "diameter",
    "M6",
];

/// Words of a list that are used at most, the corpus's and the model's first.
const MOST_TERMS: usize = 60;

/// The word list for a request: the model's part names, the corpus's words, and [`CAD_TERMS`]; each once.
#[must_use]
pub fn word_list(corpus: &[String], parts: &[String]) -> Vec<String> {
    let mut seen = std::collections::HashSet::new();
    let usable = |t: &&str| t.chars().any(char::is_alphabetic) && t.chars().count() <= 40;
    // A prompt's end counts most and its beginning is cut off first, so the own words come last.
    let own = parts.iter().map(|p| readable(p)).chain(corpus.iter().map(|w| w.trim().to_owned()));
    let all: Vec<String> = own
        .chain(CAD_TERMS.iter().map(|t| (*t).to_owned()))
        .filter(|t| usable(&t.as_str()) && seen.insert(t.to_lowercase()))
        .take(MOST_TERMS)
        .collect();
    all.into_iter().rev().collect()
}

/// The list as a sentence, the form in which Whisper takes it best.
#[must_use]
pub fn sentence(words: &[String]) -> String {
    if words.is_empty() { String::new() } else { format!("{}.", words.join(", ")) }
}

/// A part's name as people say it: `base_plate-v2` is "base plate v2".
fn readable(name: &str) -> String {
    name.replace(['_', '-', '.', '/', '\\'], " ").split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_words_come_last_and_once() {
        let l = word_list(&["Chamfer".into(), "knurl".into()], &["base_plate-v2".into(), "123".into(), "x".repeat(50)]);
        assert_eq!(l[l.len() - 3..], ["knurl", "Chamfer", "base plate v2"].map(String::from));
        assert_eq!(l.iter().filter(|w| w.to_lowercase() == "chamfer").count(), 1);
        assert!(sentence(&l).ends_with("knurl, Chamfer, base plate v2."));
        assert_eq!(sentence(&[]), "");
    }

    #[test]
    fn a_long_list_keeps_the_parts() {
        let many: Vec<String> = (0..500).map(|i| format!("word{i}")).collect();
        let l = word_list(&many, &["gear".into()]);
        assert_eq!((l.len(), l.last().map(String::as_str)), (MOST_TERMS, Some("gear")));
    }
}
