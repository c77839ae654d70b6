//! The 39 phones of American English in the CMU dictionary's names, and their IPA tokens.

macro_rules! phones {
    ($($name:ident: $($token:literal)+;)*) => {
        /// A phone, by its ARPAbet name.
        #[allow(clippy::upper_case_acronyms)]
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[allow(missing_docs)]
        pub(super) enum Phone { $($name),* }

        impl Phone {
            /// All phones.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// Its name without stress.
            pub fn name(self) -> &'static str {
                match self { $(Self::$name => stringify!($name)),* }
            }

            /// Tokens of the recogniser that stand for it.
            pub fn tokens(self) -> &'static [&'static str] {
                match self { $(Self::$name => &[$($token),+]),* }
            }
        }
    };
}

phones! {
    AA: "ɑ" "ɒ" "ɔ"; AE: "æ" "a"; AH: "ʌ" "ə" "ɐ"; AO: "ɔ" "ɑ" "ɒ" "oʊ"; AW: "aʊ"; AY: "aɪ";
    B: "b"; CH: "t͡ʃ"; D: "d" "ɾ"; DH: "ð"; EH: "ɛ" "e"; ER: "ɝ" "ɚ" "ɜ";
    EY: "eɪ" "e"; F: "f"; G: "ɡ" "g"; HH: "h" "ɦ"; IH: "ɪ" "ə" "ɨ" "i"; IY: "i" "ɪ";
    JH: "d͡ʒ"; K: "k" "kʰ"; L: "l" "ɫ"; M: "m"; N: "n"; NG: "ŋ"; OW: "oʊ" "o" "ɔ"; OY: "ɔɪ";
    P: "p" "pʰ"; R: "ɹ" "r" "ɻ"; S: "s"; SH: "ʃ"; T: "t" "ɾ" "tʰ" "ʔ"; TH: "θ"; UH: "ʊ" "u";
    UW: "u" "ʉ" "ʊ"; V: "v"; W: "w" "ʋ"; Y: "j"; Z: "z"; ZH: "ʒ";
}

impl Phone {
    /// From an ARPAbet name, with or without a stress digit.
    pub fn from_arpabet(name: &str) -> Option<Self> {
        let bare = name.trim_end_matches(|c: char| c.is_ascii_digit());
        Self::ALL.iter().copied().find(|p| p.name() == bare)
    }

    /// Whether a plural after it is voiceless.
    pub fn is_voiceless(self) -> bool {
        matches!(self, Self::F | Self::K | Self::P | Self::T | Self::TH | Self::S | Self::SH | Self::CH | Self::HH)
    }

    /// Whether a plural after it needs a vowel.
    pub fn is_sibilant(self) -> bool {
        matches!(self, Self::S | Self::Z | Self::SH | Self::ZH | Self::CH | Self::JH)
    }
}

/// The recogniser's tokens by id: 191 of them, the last two its word boundary and CTC's blank.
pub(super) const TOKEN_NAMES: &[&str] = &[
    "<pad>",
    "<sos>",
    "<eos>",
    "<unk>",
    " ",
    "%",
    ",",
    "a",
    "aɪ",
    "aʊ",
    "b",
    "c",
    "d",
    "d\u{361}ʒ",
    "e",
    "eə",
    "eɪ",
    "f",
    "g",
    "h",
    "i",
    "j",
    "ja",
    "je",
    "jo",
    "ju",
    "jʌ",
    "k",
    "kʰ",
    "k\u{348}",
    "l",
    "m",
    "n",
    "o",
    "oʊ",
    "p",
    "pʰ",
    "p\u{348}",
    "r",
    "s",
    "s\u{348}",
    "t",
    "tʰ",
    "t\u{348}",
    "t\u{361}ɕ",
    "t\u{361}ɕʰ",
    "t\u{361}ɕ\u{348}",
    "t\u{361}ʃ",
    "u",
    "v",
    "w",
    "wa",
    "we",
    "wi",
    "wʌ",
    "x",
    "y",
    "z",
    "~",
    "²",
    "³",
    "¹",
    "à",
    "ã",
    "ä",
    "å",
    "æ",
    "ç",
    "ì",
    "ð",
    "ñ",
    "õ",
    "ø",
    "ħ",
    "ĩ",
    "ŋ",
    "œ",
    "ũ",
    "ǐ",
    "ɐ",
    "ɑ",
    "ɒ",
    "ɓ",
    "ɔ",
    "ɔɪ",
    "ɕ",
    "ɖ",
    "ɗ",
    "ɘ",
    "ə",
    "ɚ",
    "ɛ",
    "ɜ",
    "ɝ",
    "ɟ",
    "ɡ",
    "ɣ",
    "ɤ",
    "ɥ",
    "ɦ",
    "ɨ",
    "ɪ",
    "ɪə",
    "ɫ",
    "ɮ",
    "ɯ",
    "ɯi",
    "ɰ",
    "ɱ",
    "ɲ",
    "ɴ",
    "ɵ",
    "ɸ",
    "ɹ",
    "ɻ",
    "ɽ",
    "ɾ",
    "ʀ",
    "ʁ",
    "ʂ",
    "ʃ",
    "ʈ",
    "ʉ",
    "ʊ",
    "ʋ",
    "ʌ",
    "ʎ",
    "ʏ",
    "ʐ",
    "ʑ",
    "ʒ",
    "ʔ",
    "ʙ",
    "ʝ",
    "ʰ",
    "ʱ",
    "ʲ",
    "ʷ",
    "ˀ",
    "ː",
    "ˑ",
    "˕",
    "˞",
    "ˤ",
    "˥",
    "˦",
    "˧",
    "˨",
    "˩",
    "\u{303}",
    "\u{306}",
    "\u{308}",
    "\u{30a}",
    "\u{30c}",
    "\u{30d}",
    "\u{31a}",
    "\u{31d}",
    "\u{31e}",
    "\u{31f}",
    "\u{320}",
    "\u{325}",
    "\u{329}",
    "\u{32a}",
    "\u{32c}",
    "\u{32f}",
    "\u{330}",
    "\u{33a}",
    "\u{33b}",
    "\u{348}",
    "\u{34d}",
    "\u{35c}",
    "\u{361}",
    "β",
    "θ",
    "χ",
    "ᵊ",
    "ᵝ",
    "ẑ",
    "ẽ",
    "\u{203f}",
    "\u{2070}",
    "\u{2074}",
    "\u{2075}",
    "\u{207b}",
    "\u{207d}",
    "\u{207e}",
    "\u{4e00}",
    "\u{4e0d}",
    "\u{a714}",
];

/// Id of the word boundary token.
pub(super) const WORD_BOUNDARY: usize = 189;
/// Id of CTC's blank.
pub(super) const BLANK: usize = 190;

/// The id of a token.
pub(super) fn token_id(name: &str) -> Option<usize> {
    TOKEN_NAMES.iter().position(|t| *t == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_phone_has_tokens_that_exist() {
        assert_eq!(Phone::ALL.len(), 39);
        for p in Phone::ALL {
            assert!(p.tokens().iter().all(|t| token_id(t).is_some()), "{p:?}");
        }
        assert_eq!(TOKEN_NAMES.len(), 189);
    }

    #[test]
    fn stress_is_left_out() {
        assert_eq!(Phone::from_arpabet("AA1"), Some(Phone::AA));
        assert_eq!(Phone::from_arpabet("XX"), None);
    }
}
