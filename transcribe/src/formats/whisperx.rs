use crate::{Error, Result};
use redline_schemas::time::{from_seconds, seconds};
use redline_schemas::{Segment, Timing, Word};
use serde::{Deserialize, Serialize};

/// The longest time that is read, seconds: a day.
const LONGEST_S: f64 = 86_400.0;

#[derive(Serialize, Deserialize)]
struct File {
    segments: Vec<XSegment>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    word_segments: Option<Vec<XWord>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    language: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct XSegment {
    start: f64,
    end: f64,
    text: String,
    #[serde(default)]
    words: Vec<XWord>,
}

/// WhisperX leaves the times out of words that it could not align.
#[derive(Clone, Serialize, Deserialize)]
struct XWord {
    word: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    start: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    end: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    score: Option<f32>,
}

/// JSON as WhisperX writes it.
pub fn whisperx(segments: &[Segment], language: Option<&str>) -> Result<String> {
    let word = |w: &Word| XWord { word: w.text.clone(), start: Some(seconds(w.start_ns)), end: Some(seconds(w.end_ns)), score: w.score };
    let segments: Vec<XSegment> = segments
        .iter()
        .map(|s| XSegment {
            start: seconds(s.start_ns),
            end: seconds(s.end_ns),
            text: s.text.clone(),
            words: s.words.iter().map(word).collect(),
        })
        .collect();
    let words = segments.iter().flat_map(|s| s.words.iter().cloned()).collect();
    let file = File { segments, word_segments: Some(words), language: language.map(str::to_owned) };
    serde_json::to_string_pretty(&file).map(|s| s + "\n").map_err(|e| Error::Foreign(format!("could not be written as JSON: {e}")))
}

/// Reads WhisperX's JSON: segments, times counted from its audio's start, and the language.
///
/// Words follow the segment's text; those without times of their own share the room between their
/// neighbours and are marked as interpolated.
pub fn read_whisperx(json: &str) -> Result<(Vec<Segment>, Option<String>)> {
    let file: File = serde_json::from_str(json).map_err(|e| Error::Foreign(format!("not WhisperX JSON: {e}")))?;
    let mut out = Vec::new();
    let mut floor = 0;
    for (i, s) in file.segments.into_iter().enumerate() {
        let given = [s.start, s.end].into_iter().chain(s.words.iter().flat_map(|w| [w.start, w.end].into_iter().flatten()));
        for t in given {
            if !(0.0..=LONGEST_S).contains(&t) {
                return Err(Error::Foreign(format!("segment {}: a time of {t} s is outside 0 to {LONGEST_S} s", i + 1)));
            }
        }
        let start = from_seconds(s.start).max(floor);
        let end = from_seconds(s.end).max(start);
        let mut parts: Vec<XWord> = Vec::new();
        for w in &s.words {
            // Its words may hold blanks; ours never do. The times belong to the whole.
            let texts: Vec<_> = w.word.split_whitespace().collect();
            let single = texts.len() == 1;
            parts.extend(texts.iter().map(|t| XWord {
                word: (*t).to_owned(),
                start: w.start.filter(|_| single),
                end: w.end.filter(|_| single),
                score: w.score,
            }));
        }
        if parts.is_empty() {
            parts = s.text.split_whitespace().map(|t| XWord { word: t.into(), start: None, end: None, score: None }).collect();
        }
        let words = placed(parts, start, end);
        let Some(last) = words.last() else { continue };
        floor = end.max(last.end_ns);
        let text = words.iter().map(|w| w.text.as_str()).collect::<Vec<_>>().join(" ");
        out.push(Segment { start_ns: start, end_ns: floor, text, words, no_speech_prob: None, avg_logprob: None });
    }
    Ok((out, file.language))
}

fn placed(parts: Vec<XWord>, start: i64, end: i64) -> Vec<Word> {
    let mut out: Vec<Word> = Vec::with_capacity(parts.len());
    let mut floor = start;
    let mut i = 0;
    while i < parts.len() {
        if let XWord { word, start: Some(a), end: Some(b), score } = &parts[i] {
            let a = from_seconds(*a).max(floor);
            let b = from_seconds(*b).max(a);
            out.push(Word { text: word.clone(), start_ns: a, end_ns: b, score: *score, timing: Timing::Aligned });
            floor = b;
            i += 1;
            continue;
        }
        let known = |w: &XWord| w.start.is_some() && w.end.is_some();
        let run = parts[i..].iter().take_while(|w| !known(w)).count();
        let ceiling = parts.get(i + run).and_then(|w| w.start).map_or(end, from_seconds).max(floor);
        let at = |k: usize| floor + (ceiling - floor) / run as i64 * k as i64;
        for (k, w) in parts[i..i + run].iter().enumerate() {
            out.push(Word { text: w.word.clone(), start_ns: at(k), end_ns: at(k + 1), score: w.score, timing: Timing::Interpolated });
        }
        floor = at(run);
        i += run;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::samples::segments;

    #[test]
    fn what_is_written_reads_back() {
        let (read, language) = read_whisperx(&whisperx(&segments(), Some("en")).unwrap()).unwrap();
        assert_eq!((read, language.as_deref()), (segments(), Some("en")));
    }

    #[test]
    fn words_without_times_are_interpolated() {
        let json = r#"{"segments":[{"start":1.0,"end":3.0,"text":" In 2024 it is.","words":[
            {"word":"In","start":1.0,"end":1.2,"score":0.8},{"word":"2024"},{"word":"it","start":2.0,"end":2.1},{"word":"is."}]}]}"#;
        let (s, _) = read_whisperx(json).unwrap();
        let w: Vec<_> = s[0].words.iter().map(|w| (w.text.as_str(), w.start_ns / 1_000_000, w.end_ns / 1_000_000, w.timing)).collect();
        assert_eq!(
            w,
            [
                ("In", 1000, 1200, Timing::Aligned),
                ("2024", 1200, 2000, Timing::Interpolated),
                ("it", 2000, 2100, Timing::Aligned),
                ("is.", 2100, 3000, Timing::Interpolated)
            ]
        );
    }

    #[test]
    fn foreign_rubbish_is_refused_with_its_place() {
        assert!(read_whisperx("[]").is_err());
        let e = read_whisperx(r#"{"segments":[{"start":-1.0,"end":3.0,"text":"x"}]}"#).unwrap_err().to_string();
        assert!(e.contains("segment 1"), "{e}");
        assert!(read_whisperx(r#"{"segments":[{"start":0,"end":1e300,"text":"x"}]}"#).is_err());
        assert_eq!(read_whisperx(r#"{"segments":[]}"#).unwrap(), (vec![], None));
    }
}
