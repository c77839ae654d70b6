//! Texts that people and programs give themselves.

/// The longest name, characters.
pub const MAX_NAME_CHARS: usize = 200;

/// A name: one line of text that can be seen, without spaces around it. Why not, when it is none.
pub fn name(text: &str) -> Result<&str, String> {
    let hidden =
        |c: char| c.is_control() || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}');
    if text.chars().any(hidden) {
        return Err("holds line ends or characters that nobody can see: remove them".into());
    }
    match text.trim() {
        "" => Err("is empty: fill it in".into()),
        t if t.chars().count() > MAX_NAME_CHARS => Err(format!("is longer than {MAX_NAME_CHARS} characters: shorten it")),
        t => Ok(t),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_one_line_that_can_be_seen() {
        assert_eq!(name(" Größe 7 <b> "), Ok("Größe 7 <b>"));
        for bad in ["", " ", "a\nb", "a\u{7}b", "a\u{202e}b", "\u{feff}a", &"x".repeat(MAX_NAME_CHARS + 1)] {
            assert!(name(bad).is_err(), "{bad:?}");
        }
    }
}
