//! Hearing one piece until the guards are content: which tries are made, and what is decided.

use crate::engine::{Heard, Hearing};
use crate::guards::{self, Evidence, Finding, LOOP_REPEATS, TEMPERATURES, Verdict};
use crate::pieces::Piece;
use crate::words::{self, HeardWord};
use crate::{Result, audio::RATE};

/// A piece that passed the guards.
pub(crate) struct Kept {
    pub words: Vec<HeardWord>,
    pub heard: Heard,
    /// Whether the next piece may build on its text.
    pub sure: bool,
}

/// What a guard decided.
#[derive(Debug, PartialEq)]
pub(crate) struct Decision {
    pub guard: &'static str,
    pub text: String,
    pub decision: &'static str,
    pub reason: String,
}

/// What is told to the one who listens.
#[derive(Clone, Copy)]
pub(crate) struct Briefing<'a> {
    /// Whisper's code.
    pub language: &'a str,
    /// The word list as a sentence.
    pub list: &'a str,
    /// Tokens of the word list and of what was said before.
    pub context: &'a [i32],
}

/// Hears a piece until the guards are content or out of tries; `None` when its text is dropped or empty.
pub(crate) fn listen(
    hear: &mut dyn FnMut(Hearing<'_>) -> Result<Heard>,
    piece: &Piece,
    briefing: Briefing<'_>,
) -> Result<(Option<Kept>, Vec<Decision>)> {
    let speech_s = piece.speech_samples() as f32 / RATE as f32;
    let bounds = (
        piece.speech.first().map_or(0, |(a, _)| a.saturating_sub(piece.start)),
        piece.speech.last().map_or(piece.audio.len() as u64, |(_, b)| b.saturating_sub(piece.start)),
    );
    let mut decisions = Vec::new();
    let mut best: Option<(Verdict, f32, Kept, Vec<Finding>)> = None;
    for (attempt, temperature) in TEMPERATURES.into_iter().enumerate() {
        let again = attempt > 0;
        let prompt = if again { &[] } else { briefing.context };
        let heard = hear(Hearing { language: briefing.language, prompt, temperature, full_context: again })?;
        let words = words::words_of_tokens(&heard.tokens, bounds.0, bounds.1);
        let text = join(&words);
        let prompt = if again { "" } else { briefing.list };
        let findings = guards::examine(Evidence { heard: &heard, text: &text, speech_s, prompt });
        let worst = findings.first().map_or(Verdict::Keep, |f| f.verdict);
        let logprob = guards::avg_logprob(&heard);
        let kept = Kept { words, heard, sure: temperature < 0.5 && worst == Verdict::Keep };
        let content = matches!(worst, Verdict::Keep | Verdict::Drop);
        if !content && attempt + 1 < TEMPERATURES.len() {
            decisions.extend(findings.iter().map(|f| decision(f, &text, "retried")));
        }
        // A drop by a surer guard than the retries before does not hide that those heard something.
        if best.as_ref().is_none_or(|(v, p, ..)| (worst, -logprob) < (*v, -*p)) {
            best = Some((worst, logprob, kept, findings));
        }
        if content {
            break;
        }
    }
    let Some((verdict, _, mut kept, findings)) = best.filter(|(_, _, k, _)| !k.words.is_empty()) else { return Ok((None, decisions)) };
    let text = join(&kept.words);
    let dropped = matches!(verdict, Verdict::Drop | Verdict::RetryOrDrop);
    let collapsed = verdict == Verdict::RetryOrCollapse;
    decisions
        .extend(findings.iter().map(|f| decision(f, &text, if dropped || (collapsed && f.guard == "loop") { "dropped" } else { "kept" })));
    if dropped {
        return Ok((None, decisions));
    }
    if collapsed {
        collapse(&mut kept.words);
    }
    Ok((Some(kept), decisions))
}

fn decision(f: &Finding, text: &str, decision: &'static str) -> Decision {
    Decision { guard: f.guard, text: text.into(), decision, reason: f.reason.clone() }
}

/// The words' text.
pub(crate) fn join(words: &[HeardWord]) -> String {
    words.iter().map(|w| w.text.as_str()).collect::<Vec<_>>().join(" ")
}

/// Leaves one of each looped phrase.
fn collapse(words: &mut Vec<HeardWord>) {
    loop {
        let plain: Vec<String> = words.iter().map(|w| guards::plain(&w.text)).collect();
        let Some(r) = guards::longest_repeat(&plain, LOOP_REPEATS) else { return };
        words.drain(r.first + r.words..r.first + r.words * r.times);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Token;

    fn said(text: &str, logprob: f32) -> Heard {
        let token = |t: &str| Token { bytes: format!(" {t}").into_bytes(), logprob, end: Some(16_000), plain: (0, 0) };
        Heard { tokens: text.split(' ').map(token).collect(), no_speech_prob: 0.01 }
    }

    /// Hears `answers` in turn, the last one again and again; how often it was asked.
    fn try_with(answers: &[(&str, f32)]) -> (Option<String>, Vec<(&'static str, &'static str)>, usize) {
        let piece = Piece { start: 0, audio: vec![0.0; 32_000], speech: vec![(0, 32_000)] };
        let mut asked = 0;
        let mut hear = |how: Hearing<'_>| {
            assert_eq!((how.prompt.is_empty(), how.full_context), (asked > 0, asked > 0), "tries after the first go without a prompt");
            let (text, logprob) = answers[asked.min(answers.len() - 1)];
            asked += 1;
            Ok(said(text, logprob))
        };
        let briefing = Briefing { language: "en", list: "fillet, chamfer.", context: &[1, 2] };
        let (kept, decisions) = listen(&mut hear, &piece, briefing).unwrap();
        (kept.map(|k| join(&k.words)), decisions.iter().map(|d| (d.guard, d.decision)).collect(), asked)
    }

    #[test]
    fn exclamation_marks_are_heard_again_and_then_rejected() {
        let (text, decisions, asked) = try_with(&[("!!!!!!", -0.1)]);
        assert_eq!((text, asked), (None, TEMPERATURES.len()));
        let mut wanted = vec![("no-words", "retried"); TEMPERATURES.len() - 1];
        wanted.push(("no-words", "dropped"));
        assert_eq!(decisions, wanted);
    }

    #[test]
    fn speech_behind_exclamation_marks_is_found_at_the_next_try() {
        let (text, decisions, asked) = try_with(&[("!!!!!!", -0.1), ("move the hole", -0.3)]);
        assert_eq!((text.as_deref(), asked), (Some("move the hole"), 2));
        assert_eq!(decisions, [("no-words", "retried")]);
    }

    #[test]
    fn doubtful_text_stays_when_nothing_better_is_heard() {
        let (text, decisions, _) = try_with(&[("move a hole", -1.5), ("move the hole", -1.2), ("more the whole", -1.8)]);
        assert_eq!(text.as_deref(), Some("move the hole"), "the likeliest of all tries");
        assert_eq!(decisions.last(), Some(&("logprob", "kept")));
    }

    #[test]
    fn a_loop_that_stays_is_cut_to_one_phrase() {
        let looped = ["I think it is."; 8].join(" ");
        let (text, decisions, asked) = try_with(&[(&looped, -0.1)]);
        assert_eq!((text.as_deref(), asked), (Some("I think it is."), TEMPERATURES.len()));
        assert_eq!(decisions.iter().filter(|d| **d == ("loop", "dropped")).count(), 1);
    }

    #[test]
    fn plain_speech_needs_one_try_and_no_decision() {
        assert_eq!(try_with(&[("make this hole bigger", -0.2)]), (Some("make this hole bigger".into()), vec![], 1));
        assert_eq!(try_with(&[("Thanks for watching!", -0.9)]), (None, vec![("phantom-phrase", "dropped")], 1));
    }

    #[test]
    fn a_loop_leaves_one_of_its_phrases() {
        let word = |t: &str| HeardWord { text: t.into(), start: 0, end: 0, score: 1.0, timed: true };
        let mut w: Vec<_> = "So I see, i see, I see. I see I see I see the hole".split(' ').map(word).collect();
        collapse(&mut w);
        assert_eq!(join(&w), "So I see, the hole");
    }
}
