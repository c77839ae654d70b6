//! Tokens to words.

use crate::engine::Token;

/// A word as heard in a piece.
#[derive(Debug, Clone, PartialEq)]
pub struct HeardWord {
    /// Between white space, with its punctuation.
    pub text: String,
    /// First sample in the piece.
    pub start: u64,
    /// The sample after the last.
    pub end: u64,
    /// Geometric mean of its tokens' probabilities.
    pub score: f32,
    /// Whether attention gave both times; otherwise they were spread between neighbours.
    pub timed: bool,
}

/// Words of tokens, between `from` and `to` (samples of the piece where speech begins and ends).
///
/// Bytes are joined before they are decoded, because a token may hold a part of a character.
/// Attention tells where a token *ends*, so a word begins where the token before it ends.
#[must_use]
pub fn words_of_tokens(tokens: &[Token], from: u64, to: u64) -> Vec<HeardWord> {
    struct Open {
        bytes: Vec<u8>,
        start: Option<u64>,
        end: Option<u64>,
        logprob: f32,
        tokens: f32,
    }
    let mut words: Vec<Open> = Vec::new();
    let mut gap = true;
    let mut before = Some(from);
    for t in tokens {
        let mut counted = false;
        for b in &t.bytes {
            if b.is_ascii_whitespace() {
                gap = true;
                continue;
            }
            if gap {
                words.push(Open { bytes: Vec::new(), start: before, end: None, logprob: 0.0, tokens: 0.0 });
                gap = false;
                counted = false;
            }
            if let Some(w) = words.last_mut() {
                w.bytes.push(*b);
                w.end = t.end;
                if !counted {
                    w.logprob += t.logprob;
                    w.tokens += 1.0;
                    counted = true;
                }
            }
        }
        before = t.end;
    }

    let mut out = Vec::new();
    for w in words {
        let text = String::from_utf8_lossy(&w.bytes).into_owned();
        let score = (w.logprob / f32::max(w.tokens, 1.0)).exp().clamp(0.0, 1.0);
        // White space beyond ASCII separates words too.
        for part in text.split_whitespace() {
            let timed = w.start.is_some() && w.end.is_some();
            out.push((part.to_owned(), w.start, w.end, score, timed));
        }
    }
    place(out, from, to)
}

type Unplaced = (String, Option<u64>, Option<u64>, f32, bool);

/// Makes times ordered and inside `from..to`; words without any share the room between neighbours.
fn place(words: Vec<Unplaced>, from: u64, to: u64) -> Vec<HeardWord> {
    let mut out: Vec<HeardWord> = Vec::with_capacity(words.len());
    let mut floor = from.min(to);
    let mut i = 0;
    while i < words.len() {
        if let (text, Some(start), Some(end), score, true) = &words[i] {
            let start = (*start).clamp(floor, to);
            let end = (*end).clamp(start, to);
            out.push(HeardWord { text: text.clone(), start, end, score: *score, timed: true });
            floor = end;
            i += 1;
            continue;
        }
        let run = words[i..].iter().take_while(|w| !w.4).count();
        let ceiling = words.get(i + run).and_then(|w| w.1).unwrap_or(to).clamp(floor, to);
        let step = |k: usize| floor + (ceiling - floor) * k as u64 / run as u64;
        for (k, (text, _, _, score, _)) in words[i..i + run].iter().enumerate() {
            out.push(HeardWord { text: text.clone(), start: step(k), end: step(k + 1), score: *score, timed: false });
        }
        floor = ceiling;
        i += run;
    }
    out
}

/// Ends words before the pauses that voice activity found: a word never reaches from one stretch
/// of speech over a pause, and none begins in one.
pub fn keep_out_of_pauses(words: &mut [HeardWord], speech: &[(u64, u64)]) {
    for w in words {
        let overlap = |(a, b): &(u64, u64)| w.end.min(*b).saturating_sub(w.start.max(*a));
        let Some((a, b)) = speech.iter().max_by_key(|s| overlap(s)).filter(|s| overlap(s) > 0).copied() else { continue };
        w.start = w.start.max(a).min(w.end);
        w.end = w.end.min(b).max(w.start);
    }
}

/// Splits a piece's words into sentences: after final punctuation, unless an abbreviation or a
/// number follows on.
#[must_use]
pub fn sentences(words: Vec<HeardWord>) -> Vec<Vec<HeardWord>> {
    let mut out: Vec<Vec<HeardWord>> = Vec::new();
    let mut open = Vec::new();
    let mut words = words.into_iter().peekable();
    while let Some(w) = words.next() {
        let stem = w.text.trim_end_matches(['"', '”', '’', ')', '»']);
        let long = stem.chars().filter(|c| c.is_alphanumeric()).count() >= 2 || stem.ends_with(['?', '!', '…', '。', '？', '！']);
        let ends = stem.ends_with(['.', '?', '!', '…', '。', '？', '！']) && long;
        let next = words.peek().is_none_or(|n| n.text.chars().find(|c| c.is_alphanumeric()).is_none_or(|c| !c.is_lowercase()));
        open.push(w);
        if ends && next {
            out.push(std::mem::take(&mut open));
        }
    }
    if !open.is_empty() {
        out.push(open);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn token(bytes: &[u8], end: i64) -> Token {
        Token { bytes: bytes.to_vec(), logprob: -0.1, end: u64::try_from(end).ok(), plain: (0, 0) }
    }

    fn spans(w: &[HeardWord]) -> Vec<(&str, u64, u64)> {
        w.iter().map(|w| (w.text.as_str(), w.start, w.end)).collect()
    }

    #[test]
    fn a_word_begins_where_the_token_before_it_ends() {
        let w = words_of_tokens(&[token(b" Make", 400), token(b" a", 500), token(b" cham", 700), token(b"fer.", 900)], 100, 1000);
        assert_eq!(spans(&w), [("Make", 100, 400), ("a", 400, 500), ("chamfer.", 500, 900)]);
        assert!(w.iter().all(|w| w.timed && (w.score - (-0.1_f32).exp()).abs() < 1e-6));
    }

    #[test]
    fn a_character_split_between_tokens_is_whole() {
        let w = words_of_tokens(&[token(b" 45\xc2", 10), token(b"\xb0 \xe2\x8c", 20), token(b"\x80", 30), token(b"8", 40)], 0, 50);
        assert_eq!(spans(&w), [("45°", 0, 20), ("⌀8", 20, 40)]);
        let torn = words_of_tokens(&[token(b" ab\xe2\x8c", 10)], 0, 50);
        assert_eq!(torn[0].text, "ab\u{fffd}");
    }

    #[test]
    fn words_without_a_time_share_the_room() {
        let w = words_of_tokens(&[token(b" a", 100), token(b" b", -1), token(b" c", -1), token(b" d", 400)], 0, 400);
        assert_eq!(w.iter().map(|w| w.timed).collect::<Vec<_>>(), [true, false, false, false]);
        assert_eq!(spans(&w), [("a", 0, 100), ("b", 100, 200), ("c", 200, 300), ("d", 300, 400)]);
    }

    #[test]
    fn a_word_before_a_pause_ends_before_the_pause() {
        let mut w = words_of_tokens(&[token(b" one", 900), token(b" two", 1000)], 0, 1000);
        keep_out_of_pauses(&mut w, &[(0, 300), (850, 1000)]);
        assert_eq!(spans(&w), [("one", 0, 300), ("two", 900, 1000)]);
    }

    #[test]
    fn sentences_end_at_full_stops_but_not_at_numbers_and_initials() {
        let words =
            |t: &str| t.split(' ').map(|t| HeardWord { text: t.into(), start: 0, end: 0, score: 1.0, timed: true }).collect::<Vec<_>>();
        let text = |t: &str| {
            sentences(words(t)).iter().map(|s| s.iter().map(|w| w.text.as_str()).collect::<Vec<_>>().join(" ")).collect::<Vec<_>>()
        };
        assert_eq!(text("Move it. Make a hole."), ["Move it.", "Make a hole."].map(String::from));
        assert_eq!(text("by 2.5 mm."), ["by 2.5 mm."]);
        assert_eq!(text("Ask J. Smith etc. and go"), ["Ask J. Smith etc. and go"]);
        assert_eq!(text("Really? Yes!"), ["Really?", "Yes!"]);
    }

    proptest! {
        #[test]
        fn any_tokens_give_ordered_valid_words(tokens in prop::collection::vec((prop::collection::vec(any::<u8>(), 0..6), -5_i64..2000), 0..30), from in 0_u64..500, len in 0_u64..1500) {
            let tokens: Vec<_> = tokens.iter().map(|(b, e)| token(b, *e)).collect();
            let w = words_of_tokens(&tokens, from, from + len);
            prop_assert!(w.iter().all(|w| w.start <= w.end && w.start >= from && w.end <= from + len && !w.text.is_empty()));
            prop_assert!(w.windows(2).all(|p| p[0].end <= p[1].start));
            prop_assert!(w.iter().all(|w| w.text.split_whitespace().count() == 1));
        }
    }
}
