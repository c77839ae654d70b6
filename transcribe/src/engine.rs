//! Whisper: loading a model, and hearing one piece of audio.

use crate::audio::RATE;
use crate::{Error, Result, cache};
use redline_schemas::{SpeechModel, fsio};
use std::io::Read;
use std::path::Path;
use std::sync::Once;
use whisper_rs::{
    DtwMode, DtwModelPreset, DtwParameters, FullParams, SamplingStrategy, WhisperContext, WhisperContextParameters, WhisperState,
};

/// Tokens of context that a prompt may take; Whisper halves its 448 between past and present.
pub const PROMPT_TOKENS: usize = 200;

/// Whisper's encoder works in steps of 20 ms, 1500 for its 30 s.
const FULL_CONTEXT: i32 = 1500;
/// Fewer steps than this make it repeat itself.
const LEAST_CONTEXT: i32 = 512;

/// Whisper wants a second of sound; alignment by attention fails hard below 0.14 s.
const SHORTEST: usize = RATE as usize * 11 / 10;
/// Whisper's window.
const LONGEST: usize = RATE as usize * 30;

/// A loaded speech model, shared by all workers.
pub struct Engine {
    context: WhisperContext,
    model: SpeechModel,
}

/// What a ggml Whisper file says of itself.
struct Header {
    vocabulary: i32,
    audio_layers: i32,
    text_layers: i32,
}

fn read_header(path: &Path) -> Result<Header> {
    let unusable = |message: &str| Error::ModelUnusable { path: path.into(), message: message.into() };
    let mut f = std::fs::File::open(path).map_err(redline_schemas::Error::io(path, "could not open"))?;
    let mut raw = [0_u8; 48];
    f.read_exact(&mut raw).map_err(|_| unusable("too short for a speech model: get it anew with `redline model-fetch`"))?;
    let field = |i: usize| i32::from_le_bytes([raw[4 * i], raw[4 * i + 1], raw[4 * i + 2], raw[4 * i + 3]]);
    if field(0) != 0x6767_6d6c {
        return Err(unusable("not a ggml speech model (its first bytes are others)"));
    }
    let h = Header { vocabulary: field(1), audio_layers: field(5), text_layers: field(9) };
    if !(50_000..60_000).contains(&h.vocabulary) || !(1..=64).contains(&h.audio_layers) || !(1..=64).contains(&h.text_layers) {
        return Err(unusable("not a Whisper model, though a ggml file"));
    }
    Ok(h)
}

/// The attention heads known to follow the sound in OpenAI's models; for others the upper half.
fn alignment_heads(h: &Header) -> DtwMode<'static> {
    let english = h.vocabulary == 51_864;
    let preset = match (h.audio_layers, h.text_layers, english) {
        (4, 4, true) => DtwModelPreset::TinyEn,
        (4, 4, false) => DtwModelPreset::Tiny,
        (6, 6, true) => DtwModelPreset::BaseEn,
        (6, 6, false) => DtwModelPreset::Base,
        (12, 12, true) => DtwModelPreset::SmallEn,
        (12, 12, false) => DtwModelPreset::Small,
        (24, 24, true) => DtwModelPreset::MediumEn,
        (24, 24, false) => DtwModelPreset::Medium,
        (32, 4, _) => DtwModelPreset::LargeV3Turbo,
        (32, 32, _) if h.vocabulary == 51_866 => DtwModelPreset::LargeV3,
        (32, 32, _) => DtwModelPreset::LargeV2,
        _ => return DtwMode::TopMost { n_top: (h.text_layers / 2).max(1) },
    };
    DtwMode::ModelPreset { model_preset: preset }
}

impl Engine {
    /// Loads any ggml Whisper file.
    pub fn load(path: &Path) -> Result<Self> {
        static QUIET: Once = Once::new();
        QUIET.call_once(whisper_rs::install_logging_hooks);
        let path = cache::existing(path)?;
        let header = read_header(&path)?;
        let mut params = WhisperContextParameters::new();
        // Flash attention would switch the alignment by attention off.
        params.use_gpu(false).flash_attn(false);
        params.dtw_parameters(DtwParameters { mode: alignment_heads(&header), ..Default::default() });
        let context = WhisperContext::new_with_params(&path, params)
            .map_err(|e| Error::ModelUnusable { path: path.clone(), message: format!("could not be loaded as a Whisper model ({e})") })?;
        let stem = path.file_stem().map(|s| s.to_string_lossy().into_owned()).unwrap_or_default();
        let model = SpeechModel {
            name: stem.trim_start_matches("ggml-").to_owned(),
            sha256: fsio::sha256_file(&path)?,
            engine: format!("whisper.cpp {}", whisper_rs::get_whisper_version()),
        };
        Ok(Self { context, model })
    }

    /// Name, hash and engine, as transcripts record them.
    #[must_use]
    pub fn model(&self) -> &SpeechModel {
        &self.model
    }

    /// Whether it knows other languages than English.
    #[must_use]
    pub fn is_multilingual(&self) -> bool {
        self.context.is_multilingual()
    }

    /// A worker's own state.
    pub fn hearer(&self, threads: usize) -> Result<Hearer<'_>> {
        let state = self.context.create_state().map_err(|e| Error::Engine(format!("no state could be made ({e})")))?;
        Ok(Hearer { engine: self, state, threads: i32::try_from(threads.max(1)).unwrap_or(1) })
    }

    /// Tokens of a text; at most the last `most`.
    pub fn tokens(&self, text: &str, most: usize) -> Result<Vec<i32>> {
        let text = text.replace('\0', " ");
        // A token is at least a byte, so this many always do.
        let mut t =
            self.context.tokenize(&text, text.len() + 16).map_err(|e| Error::Engine(format!("text could not be tokenised ({e})")))?;
        Ok(t.split_off(t.len().saturating_sub(most)))
    }
}

/// How to hear a piece.
#[derive(Debug, Clone, Copy)]
pub struct Hearing<'a> {
    /// Whisper's code of the language, e.g. `en`.
    pub language: &'a str,
    /// What was said before, as tokens.
    pub prompt: &'a [i32],
    /// 0: the likeliest token each time; above: chance.
    pub temperature: f32,
    /// Whether the encoder looks at all of its 30 s, as in training; otherwise only a little
    /// farther than the piece, which is faster.
    pub full_context: bool,
}

/// A token as heard.
#[derive(Debug, Clone, PartialEq)]
pub struct Token {
    /// Its bytes; a character may be split between tokens.
    pub bytes: Vec<u8>,
    /// Natural logarithm of its probability.
    pub logprob: f32,
    /// Where it ends by attention, samples from the piece's start; `None` when that failed.
    pub end: Option<u64>,
    /// Where Whisper's own time stamps would put it (start, end), samples; for comparison only.
    pub plain: (u64, u64),
}

/// A piece as heard.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Heard {
    /// Text tokens in order.
    pub tokens: Vec<Token>,
    /// Probability that it holds no speech.
    pub no_speech_prob: f32,
}

/// A worker's state of the model.
pub struct Hearer<'e> {
    engine: &'e Engine,
    state: WhisperState,
    threads: i32,
}

impl Hearer<'_> {
    /// The language (Whisper's code) that is most likely spoken, and its probability.
    pub fn detect_language(&mut self, audio: &[f32]) -> Result<(&'static str, f32)> {
        if !self.engine.is_multilingual() {
            return Ok(("en", 1.0));
        }
        let audio = fitted(audio);
        let failed = |e| Error::Engine(format!("language detection failed ({e})"));
        self.state.pcm_to_mel(&audio, self.threads as usize).map_err(failed)?;
        let (id, probs) = self.state.lang_detect(0, self.threads as usize).map_err(failed)?;
        let name = whisper_rs::get_lang_str(id).ok_or_else(|| Error::Engine(format!("it named language {id}, which it does not have")))?;
        Ok((name, probs.get(id as usize).copied().unwrap_or(0.0)))
    }

    /// Hears one piece of at most 30 s as a whole.
    pub fn hear(&mut self, audio: &[f32], how: Hearing<'_>) -> Result<Heard> {
        let audio = fitted(audio);
        let best_of = if how.temperature > 0.0 { 3 } else { 1 };
        let mut p = FullParams::new(SamplingStrategy::Greedy { best_of });
        p.set_n_threads(self.threads);
        p.set_print_progress(false);
        p.set_print_special(false);
        p.set_print_realtime(false);
        p.set_print_timestamps(false);
        p.set_language(Some(how.language));
        p.set_translate(false);
        p.set_tokens(how.prompt);
        p.set_no_context(true);
        // One window, one segment: the pauses around the piece are its borders, and a second
        // window of a few frames would abort the process.
        p.set_no_timestamps(true);
        p.set_single_segment(true);
        p.set_token_timestamps(true);
        p.set_suppress_blank(true);
        p.set_suppress_nst(true);
        // The guards decide what is done about a bad result, and write it down.
        p.set_temperature(how.temperature);
        p.set_temperature_inc(0.0);
        p.set_no_speech_thold(2.0);
        if !how.full_context {
            p.set_audio_ctx(audio_context(audio.len()));
        }
        self.state.full(p, &audio).map_err(|e| Error::Engine(format!("{e}")))?;
        self.collect(audio.len() as u64)
    }

    /// Decodes a piece of at most 30 s to exactly these tokens: what they are is given, where and
    /// how likely they are is heard.
    pub fn hear_given(&mut self, audio: &[f32], language: &str, tokens: &[i32]) -> Result<Heard> {
        let audio = fitted(audio);
        let mut given = Given { tokens: tokens.to_vec(), end: self.engine.context.token_eot(), logprobs: Vec::new() };
        given.logprobs.reserve(tokens.len() + 1);
        let vocabulary = usize::try_from(self.engine.context.n_vocab()).unwrap_or(0);
        let mut only = (given, vocabulary);
        let mut p = FullParams::new(SamplingStrategy::Greedy { best_of: 1 });
        p.set_n_threads(self.threads);
        p.set_print_progress(false);
        p.set_print_special(false);
        p.set_print_realtime(false);
        p.set_print_timestamps(false);
        p.set_language(Some(language));
        p.set_no_context(true);
        p.set_no_timestamps(true);
        p.set_single_segment(true);
        p.set_token_timestamps(true);
        p.set_suppress_blank(false);
        // A text that is forced cannot be decoded better at another temperature.
        p.set_temperature_inc(0.0);
        p.set_no_speech_thold(2.0);
        p.set_entropy_thold(-1.0);
        p.set_logprob_thold(-1e9);
        // SAFETY: `only` outlives the call of `full`, which is the only one that calls back, on
        // this thread's decoder alone (`best_of` is 1).
        unsafe {
            p.set_filter_logits_callback(Some(allow_only_given));
            p.set_filter_logits_callback_user_data(std::ptr::from_mut(&mut only).cast());
        }
        self.state.full(p, &audio).map_err(|e| Error::Engine(format!("{e}")))?;
        let mut heard = self.collect(audio.len() as u64)?;
        heard.tokens.iter_mut().zip(&only.0.logprobs).for_each(|(t, p)| t.logprob = *p);
        Ok(heard)
    }

    fn collect(&self, len: u64) -> Result<Heard> {
        let end_of_text = self.engine.context.token_eot();
        let mut heard = Heard::default();
        let samples = |centiseconds: i64| (u64::try_from(centiseconds).unwrap_or(0) * u64::from(RATE) / 100).min(len);
        for segment in self.state.as_iter() {
            heard.no_speech_prob = heard.no_speech_prob.max(segment.no_speech_probability());
            for i in 0..segment.n_tokens() {
                let Some(token) = segment.get_token(i).filter(|t| t.token_id() < end_of_text) else { continue };
                let data = token.token_data();
                let bytes = token.to_bytes().map_err(|e| Error::Engine(format!("a token has no text ({e})")))?.to_vec();
                heard.tokens.push(Token {
                    bytes,
                    logprob: data.plog,
                    end: (data.t_dtw >= 0).then(|| samples(data.t_dtw)),
                    plain: (samples(data.t0), samples(data.t1)),
                });
            }
        }
        Ok(heard)
    }
}

/// The text that [`Hearer::hear_given`] forces.
struct Given {
    tokens: Vec<i32>,
    end: i32,
    /// What the model thought of each token before it was forced.
    logprobs: Vec<f32>,
}

/// Called by whisper.cpp before it chooses a token: leaves one choice.
unsafe extern "C" fn allow_only_given(
    _context: *mut whisper_rs::whisper_rs_sys::whisper_context,
    _state: *mut whisper_rs::whisper_rs_sys::whisper_state,
    _tokens: *const whisper_rs::whisper_rs_sys::whisper_token_data,
    decoded: std::ffi::c_int,
    logits: *mut f32,
    user_data: *mut std::ffi::c_void,
) {
    // SAFETY: `hear_given` passed this pointer to a value that lives until `full` returns, and
    // whisper.cpp passes as many logits as the model has tokens.
    let (given, logits) = unsafe {
        let (given, vocabulary) = &mut *user_data.cast::<(Given, usize)>();
        (given, std::slice::from_raw_parts_mut(logits, *vocabulary))
    };
    let at = usize::try_from(decoded).unwrap_or(0);
    let next = given.tokens.get(at).copied().unwrap_or(given.end);
    let Some(wanted) = usize::try_from(next).ok().filter(|n| *n < logits.len()) else { return };
    let max = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let sum: f32 = logits.iter().map(|l| (l - max).exp()).sum();
    let logprob = logits[wanted] - max - sum.ln();
    given.logprobs.resize(at, f32::NEG_INFINITY);
    given.logprobs.push(logprob);
    logits.fill(f32::NEG_INFINITY);
    logits[wanted] = 0.0;
}

/// Silence after pieces that are too short for Whisper; never more than its window.
fn fitted(audio: &[f32]) -> std::borrow::Cow<'_, [f32]> {
    if audio.len() >= SHORTEST {
        return audio[..audio.len().min(LONGEST)].into();
    }
    let mut padded = audio.to_vec();
    padded.resize(SHORTEST, 0.0);
    padded.into()
}

/// Encoder steps for a piece: 20 ms each and a margin, in whole 64s.
fn audio_context(samples: usize) -> i32 {
    let steps = i32::try_from(samples / (RATE as usize / 50)).unwrap_or(FULL_CONTEXT) + 96;
    let steps = (steps.max(LEAST_CONTEXT) + 63) / 64 * 64;
    if steps >= FULL_CONTEXT { FULL_CONTEXT } else { steps }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_encoder_looks_past_the_piece_but_not_past_its_window() {
        assert_eq!(audio_context(0), 512);
        assert_eq!(audio_context(RATE as usize * 10), 640);
        assert_eq!(audio_context(RATE as usize * 29), 1500);
        for s in 0..30 {
            let steps = audio_context(RATE as usize * s);
            assert!(steps >= s as i32 * 50 && steps <= FULL_CONTEXT, "{s} s: {steps}");
        }
    }

    #[test]
    fn a_file_that_is_no_model_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let p = dir.path().join("m.bin");
        let message = |p: &Path| Engine::load(p).err().unwrap().to_string();
        assert!(message(&p).contains("redline model-fetch"), "{}", message(&p));
        std::fs::write(&p, b"lmgg").unwrap();
        assert!(message(&p).contains("m.bin: too short"), "{}", message(&p));
        std::fs::write(&p, [7; 4096]).unwrap();
        assert!(message(&p).contains("not a ggml"), "{}", message(&p));
        let mut raw = vec![0; 4096];
        raw[..4].copy_from_slice(b"lmgg");
        std::fs::write(&p, raw).unwrap();
        assert!(message(&p).contains("not a Whisper model"), "{}", message(&p));
    }
}
