//! Guards against invented text: what is wrong with a piece as heard, and what to do about it.

use crate::engine::Heard;
use flate2::{Compression, write::ZlibEncoder};
use std::io::Write;

/// Text that compresses better than this is a repetition.
pub const MAX_COMPRESSION_RATIO: f32 = 2.4;
/// Tokens less likely than this on average (natural logarithm) are doubted.
pub const MIN_AVG_LOGPROB: f32 = -1.0;
/// Above this probability of no speech, doubted text is dropped.
pub const MAX_NO_SPEECH_PROB: f32 = 0.6;
/// Nobody says more words in a second.
pub const MAX_WORDS_PER_S: f32 = 9.0;
/// A phrase repeated this many times in a row may be a loop; fewer are taken as said.
pub const LOOP_REPEATS: usize = 5;
/// Temperatures tried in turn; from the second try on the whole encoder is used, and no prompt.
pub const TEMPERATURES: [f32; 5] = [0.0, 0.0, 0.2, 0.4, 0.8];

/// What Whisper is known to write into silence and noise, lower case, without punctuation.
const PHANTOMS: &[&str] = &[
    "you",
    "bye",
    "bye bye",
    "thank you",
    "thank you very much",
    "thank you so much",
    "thanks",
    "thanks for watching",
    "thank you for watching",
    "thanks for listening",
    "thank you for listening",
    "please subscribe",
    "subscribe to my channel",
    "see you next time",
    "see you in the next video",
    "ill see you in the next video",
    "the end",
    "so",
    "oh",
    "okay",
    "hmm",
    "music",
    "applause",
    "silence",
    "blank audio",
    "untertitel der amara org community",
    "untertitelung des zdf 2020",
    "vielen dank",
    "sous titres realises par la communaute d amara org",
    "subtitulos realizados por la comunidad de amara org",
    "ご視聴ありがとうございました",
    "谢谢观看",
    "продолжение следует",
];

/// What a guard found.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// The guard's name, as transcripts record it.
    pub guard: &'static str,
    /// The value that decided, with its name.
    pub reason: String,
    /// What should happen.
    pub verdict: Verdict,
}

/// What should happen to a piece's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// It stays, and the doubt is written down.
    Keep,
    /// It should be heard again, at a higher temperature; if that does not help it stays.
    Retry,
    /// It should be heard again; if that does not help its repeats are cut to one.
    RetryOrCollapse,
    /// It should be heard again; if that does not help it is dropped.
    RetryOrDrop,
    /// It is dropped.
    Drop,
}

/// Mean log probability of a piece's tokens.
#[must_use]
pub fn avg_logprob(heard: &Heard) -> f32 {
    heard.tokens.iter().map(|t| t.logprob).sum::<f32>() / heard.tokens.len().max(1) as f32
}

/// How much smaller zlib makes a text: repetition shows as a high ratio.
#[must_use]
pub fn compression_ratio(text: &str) -> f32 {
    let mut z = ZlibEncoder::new(Vec::new(), Compression::default());
    let packed = z.write_all(text.as_bytes()).and_then(|()| z.finish());
    packed.map_or(1.0, |p| text.len() as f32 / p.len().max(1) as f32)
}

/// Lower case, letters and digits only, single spaces.
#[must_use]
pub fn plain(text: &str) -> String {
    let kept: String = text.chars().filter(|c| *c != '\'' && *c != '’').map(|c| if c.is_alphanumeric() { c } else { ' ' }).collect();
    kept.to_lowercase().split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A phrase said several times in a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Repeat {
    /// Its first word.
    pub first: usize,
    /// Words of the phrase.
    pub words: usize,
    /// How often it is said.
    pub times: usize,
}

/// The repetition that covers the most words, if any phrase of up to 12 words is said at least `least` times.
#[must_use]
pub fn longest_repeat(words: &[String], least: usize) -> Option<Repeat> {
    let mut best: Option<Repeat> = None;
    for n in 1..=12.min(words.len() / least.max(1)) {
        let mut first = 0;
        while first + n * least <= words.len() {
            let phrase = &words[first..first + n];
            let times = words[first..].chunks_exact(n).take_while(|c| *c == phrase).count();
            if times >= least && best.is_none_or(|b| n * times > b.words * b.times) {
                best = Some(Repeat { first, words: n, times });
            }
            first += if times > 1 { n * (times - 1) + 1 } else { 1 };
        }
    }
    best
}

/// What the guards see of a piece.
#[derive(Debug, Clone, Copy)]
pub struct Evidence<'a> {
    /// As heard.
    pub heard: &'a Heard,
    /// Its words' texts, joined by spaces.
    pub text: &'a str,
    /// Seconds of speech that voice activity found in it.
    pub speech_s: f32,
    /// Words that the prompt asked to expect.
    pub prompt: &'a str,
}

/// All findings about a piece, the gravest first; none when nothing is to be said.
#[must_use]
pub fn examine(e: Evidence<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut say = |guard, verdict, reason| found.push(Finding { guard, reason, verdict });
    let text = plain(e.text);
    if e.text.trim().is_empty() {
        return found;
    }
    let words: Vec<String> = text.split(' ').map(str::to_owned).collect();
    if text.is_empty() {
        say("no-words", Verdict::RetryOrDrop, "no letter or digit in it".into());
        return found;
    }
    if is_annotation(e.text) {
        say("annotation", Verdict::Drop, "only remarks in brackets".into());
        return found;
    }

    let logprob = avg_logprob(e.heard);
    let no_speech = e.heard.no_speech_prob;
    if no_speech > MAX_NO_SPEECH_PROB && logprob < MIN_AVG_LOGPROB {
        say("no-speech", Verdict::Drop, format!("no_speech_prob {no_speech:.2}, avg_logprob {logprob:.2}"));
    } else if logprob < MIN_AVG_LOGPROB {
        say("logprob", Verdict::Retry, format!("avg_logprob {logprob:.2}"));
    }

    if PHANTOMS.contains(&text.as_str()) {
        // Said by a person these take half a second at least, and Whisper is sure of them.
        let doubtful = e.speech_s < 0.25 || logprob < -0.7 || no_speech > 0.4;
        let verdict = if doubtful { Verdict::Drop } else { Verdict::Keep };
        say("phantom-phrase", verdict, format!("avg_logprob {logprob:.2}, no_speech_prob {no_speech:.2}, speech {:.2} s", e.speech_s));
    }

    let rate = words.len() as f32 / e.speech_s.max(0.1);
    let too_fast = rate > MAX_WORDS_PER_S && words.len() >= 4;
    if let Some(r) = longest_repeat(&words, LOOP_REPEATS) {
        // People repeat a word; they do not repeat a sentence five times, nor faster than they can speak.
        let is_loop = r.words >= 3 || r.times >= 10 || too_fast;
        let verdict = if is_loop { Verdict::RetryOrCollapse } else { Verdict::Keep };
        say("loop", verdict, format!("{} words {} times, {rate:.1} words/s", r.words, r.times));
    } else if too_fast {
        say("word-rate", Verdict::Retry, format!("{rate:.1} words/s"));
    }
    let ratio = compression_ratio(e.text);
    if ratio > MAX_COMPRESSION_RATIO {
        say("compression-ratio", Verdict::Retry, format!("compression_ratio {ratio:.2}"));
    }
    if words.len() >= 4 && plain(e.prompt).contains(&text) {
        say("prompt-echo", Verdict::RetryOrDrop, "the text is a part of the word list".into());
    }
    found.sort_by_key(|d| std::cmp::Reverse(d.verdict));
    found
}

/// Whether all of it stands in brackets, asterisks or note signs, as subtitles describe sounds.
fn is_annotation(text: &str) -> bool {
    let mut rest = String::new();
    let mut close = None;
    for c in text.chars() {
        match (close, c) {
            (Some(end), c) if c == end => close = None,
            (Some(_), _) | (None, '♪' | '♫') => {}
            (None, '[') => close = Some(']'),
            (None, '(') => close = Some(')'),
            (None, '*') => close = Some('*'),
            (None, c) => rest.push(c),
        }
    }
    plain(&rest).is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Token;

    fn heard(n: usize, logprob: f32, no_speech_prob: f32) -> Heard {
        let t = Token { bytes: b" x".to_vec(), logprob, end: None, plain: (0, 0) };
        Heard { tokens: vec![t; n], no_speech_prob }
    }

    fn verdicts(text: &str, logprob: f32, no_speech: f32, speech_s: f32) -> Vec<(&'static str, Verdict)> {
        let h = heard(5, logprob, no_speech);
        let f = examine(Evidence { heard: &h, text, speech_s, prompt: "fillet, chamfer, extrude, boss, rib" });
        f.iter().map(|f| (f.guard, f.verdict)).collect()
    }

    #[test]
    fn plain_speech_passes_without_a_word() {
        assert_eq!(verdicts("Make this hole bigger, please.", -0.2, 0.05, 2.0), []);
        assert_eq!(verdicts("", -9.0, 0.9, 2.0), []);
    }

    #[test]
    fn exclamation_marks_are_no_words() {
        assert_eq!(verdicts("!!!!!!", -0.1, 0.0, 2.0), [("no-words", Verdict::RetryOrDrop)]);
        assert_eq!(verdicts("... . -", -0.1, 0.0, 2.0), [("no-words", Verdict::RetryOrDrop)]);
    }

    #[test]
    fn phantoms_go_and_real_thanks_stay() {
        assert_eq!(verdicts("Thanks for watching!", -0.3, 0.8, 0.5), [("phantom-phrase", Verdict::Drop)]);
        assert_eq!(verdicts("Thank you.", -0.2, 0.05, 0.7), [("phantom-phrase", Verdict::Keep)]);
        assert_eq!(verdicts("Thank you for the second hole.", -0.2, 0.05, 1.7), []);
    }

    #[test]
    fn silence_is_dropped_when_the_text_is_unsure_too() {
        assert_eq!(verdicts("the boss of it", -1.4, 0.7, 1.0)[0], ("no-speech", Verdict::Drop));
        assert_eq!(verdicts("the boss of it", -0.4, 0.7, 1.0), []);
        assert_eq!(verdicts("the boss of it", -1.4, 0.2, 1.0), [("logprob", Verdict::Retry)]);
    }

    #[test]
    fn loops_are_cut_and_short_repeats_stay() {
        let sentence = "I think it is. ".repeat(8);
        assert_eq!(verdicts(&sentence, -0.1, 0.0, 12.0)[0], ("loop", Verdict::RetryOrCollapse));
        assert_eq!(verdicts("no no no no, not this one", -0.3, 0.0, 2.5), []);
        assert_eq!(verdicts("no no no no no no, not this one", -0.3, 0.0, 3.5), [("loop", Verdict::Keep)]);
        assert_eq!(verdicts(&"go ".repeat(40), -0.1, 0.0, 3.0)[0], ("loop", Verdict::RetryOrCollapse));
    }

    #[test]
    fn sound_descriptions_are_dropped() {
        for t in ["[BLANK_AUDIO]", "(wind blowing) [Music]", "*sighs*", "♪♪"] {
            assert!(matches!(verdicts(t, -0.1, 0.1, 1.0)[..], [(_, Verdict::Drop | Verdict::RetryOrDrop)]), "{t}");
        }
        assert_eq!(verdicts("the hole (this one) here", -0.1, 0.1, 1.5), []);
    }

    #[test]
    fn the_word_list_is_not_speech() {
        assert_eq!(verdicts("Fillet, chamfer, extrude, boss.", -0.1, 0.1, 2.0), [("prompt-echo", Verdict::RetryOrDrop)]);
        assert_eq!(verdicts("Fillet, chamfer.", -0.1, 0.1, 2.0), []);
    }

    #[test]
    fn the_longest_repeat_is_found() {
        let w: Vec<String> = "a b a b a b a b a b c c".split(' ').map(String::from).collect();
        assert_eq!(longest_repeat(&w, 5), Some(Repeat { first: 0, words: 2, times: 5 }));
        assert_eq!(longest_repeat(&w, 6), None);
        assert_eq!(longest_repeat(&[], 2), None);
    }
}
