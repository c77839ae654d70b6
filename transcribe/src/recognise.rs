//! One recording: pieces, hearing, guards, word times.

use crate::align::ForcedAligner;
use crate::audio::{AudioReader, RATE};
use crate::engine::{Engine, Hearer, PROMPT_TOKENS};
use crate::guards;
use crate::listening::{Briefing, Kept, join, listen};
use crate::pieces::{Piece, Pieces};
use crate::vad::Vad;
use crate::words::{self, HeardWord};
use crate::{Error, Result, prompt, respell};
use redline_schemas::time::AudioClock;
use redline_schemas::{GuardDecision, Segment, Timing, Word};
use std::collections::VecDeque;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// Seconds of speech that are looked at to find the language.
const LANGUAGE_SPEECH_S: f32 = 5.0;
/// Tokens of the word list; the rest of the prompt is what was said before.
const LIST_TOKENS: usize = 110;

/// What is known about a recording before it is heard.
#[derive(Debug, Clone, Default)]
pub struct Hints {
    /// Whisper's code of the language; detected when absent.
    pub language: Option<String>,
    /// Words to expect.
    pub word_list: Vec<String>,
}

/// What was heard in a recording.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Recognition {
    /// In order of time, on the session's clock.
    pub segments: Vec<Segment>,
    /// What the guards decided.
    pub guards: Vec<GuardDecision>,
    /// Whisper's code; absent when nobody spoke.
    pub language: Option<String>,
    /// Whether the forced aligner gave the times.
    pub aligned: bool,
    /// Length of the audio, seconds.
    pub audio_s: f64,
}

/// Hears recordings, one after another.
pub struct Recogniser<'e> {
    engine: &'e Engine,
    vad: Vad,
    aligner: Option<&'e dyn ForcedAligner>,
    threads: usize,
}

impl<'e> Recogniser<'e> {
    /// A worker with `threads` threads of its own.
    #[must_use]
    pub fn new(engine: &'e Engine, vad: Vad, aligner: Option<&'e dyn ForcedAligner>, threads: usize) -> Self {
        Self { engine, vad, aligner, threads }
    }

    /// Hears a file. `progress` gets the seconds of audio done; `stop` ends the run early with [`Error::Stopped`].
    pub fn recognise(
        &mut self,
        path: &Path,
        clock: &AudioClock,
        hints: &Hints,
        stop: &AtomicBool,
        progress: &mut dyn FnMut(f64),
    ) -> Result<Recognition> {
        // A state of its own for each recording: the result does not depend on what was heard before.
        let mut hearer = self.engine.hearer(self.threads)?;
        let list = prompt::sentence(&hints.word_list);
        let list_tokens = if list.is_empty() { Vec::new() } else { self.engine.tokens(&format!(" {list}"), LIST_TOKENS)? };
        let mut run = Run {
            engine: self.engine,
            aligner: self.aligner,
            clock,
            words_expected: &hints.word_list,
            list,
            list_tokens,
            said: Vec::new(),
            out: Recognition::default(),
        };
        run.out.language = hints.language.clone();

        let mut pieces = Pieces::new(AudioReader::open(path)?, &mut self.vad);
        let mut waiting: VecDeque<Piece> = VecDeque::new();
        loop {
            let piece = pieces.next_piece()?;
            let ended = piece.is_none();
            waiting.extend(piece);
            if run.out.language.is_none() && !waiting.is_empty() {
                let seconds = waiting.iter().map(Piece::speech_samples).sum::<u64>() as f32 / RATE as f32;
                if !ended && seconds < LANGUAGE_SPEECH_S {
                    continue;
                }
                if let Some(longest) = waiting.iter().max_by_key(|p| p.speech_samples()) {
                    run.out.language = Some(hearer.detect_language(&longest.audio)?.0.to_owned());
                }
            }
            while let Some(p) = waiting.pop_front() {
                if stop.load(Ordering::Relaxed) {
                    return Err(Error::Stopped);
                }
                let end = p.start + p.audio.len() as u64;
                run.piece(&mut hearer, p)?;
                progress(end as f64 / f64::from(RATE));
            }
            if ended {
                break;
            }
        }
        let reader = pieces.reader();
        for what in reader.damage() {
            let (start_ns, end_ns) = clock.span_ns().unwrap_or((0, 0));
            run.out.guards.push(GuardDecision {
                guard: "damaged-audio".into(),
                start_ns,
                end_ns,
                text: String::new(),
                decision: "kept".into(),
                reason: what.clone(),
            });
        }
        run.out.audio_s = reader.native_frames() as f64 / f64::from(reader.native_rate());
        progress(run.out.audio_s);
        if run.out.segments.is_empty() {
            run.out.language = None;
        }
        Ok(run.out)
    }
}

/// The state of one recording.
struct Run<'a> {
    engine: &'a Engine,
    aligner: Option<&'a dyn ForcedAligner>,
    clock: &'a AudioClock,
    words_expected: &'a [String],
    list: String,
    list_tokens: Vec<i32>,
    /// Tokens of what was said before.
    said: Vec<i32>,
    out: Recognition,
}

impl Run<'_> {
    fn piece(&mut self, hearer: &mut Hearer<'_>, piece: Piece) -> Result<()> {
        let Some(mut kept) = self.hear(hearer, &piece)? else {
            self.said.clear();
            return Ok(());
        };
        self.respell(&piece, &mut kept.words);
        let text = join(&kept.words);
        self.said = if kept.sure { self.engine.tokens(&format!(" {text}"), PROMPT_TOKENS - LIST_TOKENS)? } else { Vec::new() };

        let local: Vec<_> = piece.speech.iter().map(|(a, b)| (a.saturating_sub(piece.start), b.saturating_sub(piece.start))).collect();
        words::keep_out_of_pauses(&mut kept.words, &local);
        let logprob = guards::avg_logprob(&kept.heard);
        let timings = self.align(&piece, &mut kept.words);
        let mut timings = timings.into_iter();
        for sentence in words::sentences(kept.words) {
            let words: Vec<Word> = sentence
                .into_iter()
                .zip(timings.by_ref())
                .map(|(w, timing)| {
                    let start_ns = self.t_ns(piece.start + w.start);
                    Word { text: w.text, start_ns, end_ns: self.t_ns(piece.start + w.end).max(start_ns), score: Some(w.score), timing }
                })
                .collect();
            let (Some(first), Some(last)) = (words.first(), words.last()) else { continue };
            self.out.segments.push(Segment {
                start_ns: first.start_ns,
                end_ns: last.end_ns,
                text: words.iter().map(|w| w.text.as_str()).collect::<Vec<_>>().join(" "),
                no_speech_prob: Some(kept.heard.no_speech_prob),
                avg_logprob: Some(logprob),
                words,
            });
        }
        Ok(())
    }

    /// Session time of a sample at 16 kHz, inside the audio.
    fn t_ns(&self, sample: u64) -> i64 {
        let native = sample as f64 * f64::from(self.clock.sample_rate) / f64::from(RATE);
        let t = self.clock.t_ns_of_sample(native).unwrap_or(0);
        self.clock.span_ns().map_or(t, |(a, b)| t.clamp(a, b))
    }

    /// Final word times by the forced aligner; attention's stay where it fails or does not know the language.
    fn align(&mut self, piece: &Piece, words: &mut [HeardWord]) -> Vec<Timing> {
        let attention = |w: &HeardWord| if w.timed { Timing::Aligned } else { Timing::Interpolated };
        let english = self.out.language.as_deref() == Some("en");
        let Some(aligner) = self.aligner.filter(|a| english && piece.audio.len() <= a.longest()) else {
            return words.iter().map(attention).collect();
        };
        let texts: Vec<&str> = words.iter().map(|w| w.text.as_str()).collect();
        match aligner.align(&piece.audio, &texts) {
            Ok(placed) if placed.len() == words.len() => {
                self.out.aligned = true;
                let mut timings = Vec::with_capacity(words.len());
                for (w, a) in words.iter_mut().zip(placed) {
                    (w.start, w.end) = (a.start as u64, a.end as u64);
                    timings.push(a.timing);
                }
                timings
            }
            other => {
                let reason = other.err().map_or("it gave another number of words".into(), |e| e.to_string());
                self.decide(piece, "alignment", &texts.join(" "), "kept", reason);
                words.iter().map(attention).collect()
            }
        }
    }

    fn decide(&mut self, piece: &Piece, guard: &str, text: &str, decision: &str, reason: String) {
        let (start, end) = (piece.start, piece.start + piece.audio.len() as u64);
        self.out.guards.push(GuardDecision {
            guard: guard.into(),
            start_ns: self.t_ns(start),
            end_ns: self.t_ns(end),
            text: text.into(),
            decision: decision.into(),
            reason,
        });
    }

    /// Hears a piece, and writes down what the guards decided; `None` when nothing of it stays.
    fn hear(&mut self, hearer: &mut Hearer<'_>, piece: &Piece) -> Result<Option<Kept>> {
        let language = self.out.language.clone().unwrap_or_else(|| "en".into());
        let context: Vec<i32> = self.list_tokens.iter().chain(&self.said).copied().collect();
        let briefing = Briefing { language: &language, list: &self.list, context: &context };
        let (kept, decisions) = listen(&mut |how| hearer.hear(&piece.audio, how), piece, briefing)?;
        for d in decisions {
            self.decide(piece, d.guard, &d.text, d.decision, d.reason);
        }
        Ok(kept)
    }

    /// Gives words of the list their spelling where the sound says that they were meant.
    fn respell(&mut self, piece: &Piece, words: &mut [HeardWord]) {
        let english = self.out.language.as_deref() == Some("en");
        let Some(aligner) = self.aligner.filter(|a| english && piece.audio.len() <= a.longest()) else { return };
        let texts: Vec<&str> = words.iter().map(|w| w.text.as_str()).collect();
        // An aligner that fails here fails again when the words get their times, and is reported there.
        let Ok(settled) = respell::settle(aligner, &piece.audio, &texts, self.words_expected) else { return };
        for r in settled {
            let Some(word) = words.get_mut(r.word) else { continue };
            let decision = if r.is_taken() { "dropped" } else { "kept" };
            let reason =
                format!("“{}” of the word list fits the sound {:.2}, the word as heard {:.2}", r.listed, r.listed_score, r.heard_score);
            let heard = word.text.clone();
            if r.is_taken() {
                word.text = r.listed;
            }
            self.decide(piece, respell::GUARD, &heard, decision, reason);
        }
    }
}
