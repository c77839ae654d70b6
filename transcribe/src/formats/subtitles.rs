use redline_schemas::Segment;
use std::fmt::Write as _;

/// The longest line of a subtitle, characters.
const LINE: usize = 42;
/// The longest time that one subtitle stands, nanoseconds.
const LONGEST_NS: i64 = 6_000_000_000;

struct Cue {
    start_ns: i64,
    end_ns: i64,
    text: String,
}

/// Cues of at most two lines and six seconds, cut between words.
fn cues(segments: &[Segment]) -> Vec<Cue> {
    let mut out: Vec<Cue> = Vec::new();
    for s in segments {
        let mut open: Option<Cue> = None;
        for w in &s.words {
            match &mut open {
                Some(c) if c.text.chars().count() + 1 + w.text.chars().count() <= 2 * LINE && w.end_ns - c.start_ns <= LONGEST_NS => {
                    c.text.push(' ');
                    c.text.push_str(&w.text);
                    c.end_ns = w.end_ns;
                }
                _ => out.extend(open.replace(Cue { start_ns: w.start_ns, end_ns: w.end_ns, text: w.text.clone() })),
            }
        }
        out.extend(open);
    }
    for c in &mut out {
        c.text = wrapped(&c.text);
    }
    out
}

fn wrapped(text: &str) -> String {
    if text.chars().count() <= LINE {
        return text.into();
    }
    // The blank nearest to the middle.
    let middle = text.len() / 2;
    let cut = text.match_indices(' ').map(|(i, _)| i).min_by_key(|i| i.abs_diff(middle));
    cut.map_or_else(|| text.into(), |i| format!("{}\n{}", &text[..i], &text[i + 1..]))
}

fn clock(ns: i64, point: char) -> String {
    let ms = (ns + 500_000) / 1_000_000;
    format!("{:02}:{:02}:{:02}{point}{:03}", ms / 3_600_000, ms / 60_000 % 60, ms / 1000 % 60, ms % 1000)
}

/// SubRip.
#[must_use]
pub fn srt(segments: &[Segment]) -> String {
    let mut out = String::new();
    for (i, c) in cues(segments).iter().enumerate() {
        let _ = write!(out, "{}\n{} --> {}\n{}\n\n", i + 1, clock(c.start_ns, ','), clock(c.end_ns, ','), c.text);
    }
    out
}

/// WebVTT.
#[must_use]
pub fn vtt(segments: &[Segment]) -> String {
    let mut out = String::from("WEBVTT\n\n");
    for c in cues(segments) {
        let text = c.text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        let _ = write!(out, "{} --> {}\n{text}\n\n", clock(c.start_ns, '.'), clock(c.end_ns, '.'));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::samples::segments;

    #[test]
    fn subrip_counts_from_one_and_has_commas() {
        let want = "1\n00:00:00,500 --> 00:00:01,800\nMake \"this\" <M6>\n\n2\n01:01:01,500 --> 01:01:02,000\n4,9\n\n";
        assert_eq!(srt(&segments()), want);
        assert_eq!(srt(&[]), "");
    }

    #[test]
    fn webvtt_escapes_markup() {
        let want = "WEBVTT\n\n00:00:00.500 --> 00:00:01.800\nMake \"this\" &lt;M6&gt;\n\n01:01:01.500 --> 01:01:02.000\n4,9\n\n";
        assert_eq!(vtt(&segments()), want);
    }

    #[test]
    fn long_speech_is_cut_into_cues_of_two_lines() {
        let mut s = segments().remove(0);
        let w = s.words[0].clone();
        s.words =
            (0..60).map(|i| redline_schemas::Word { start_ns: i * 200_000_000, end_ns: (i + 1) * 200_000_000, ..w.clone() }).collect();
        let text = srt(&[s]);
        assert_eq!(text.matches("Make").count(), 60);
        let lines: Vec<_> = text.lines().filter(|l| l.starts_with("Make")).collect();
        assert!(lines.len() > 2 && lines.iter().all(|l| l.len() <= LINE + 4), "{text}");
    }
}
