use redline_schemas::Segment;
use redline_schemas::time::seconds;
use std::fmt::Write as _;

/// A Praat TextGrid (long form) with the tiers `segments` and `words`; `end_ns` is where it ends.
#[must_use]
pub fn textgrid(segments: &[Segment], end_ns: i64) -> String {
    let span = |a: i64, b: i64, t: &str| (a, b, t.to_owned());
    let tiers: [(&str, Vec<_>); 2] = [
        ("segments", segments.iter().map(|s| span(s.start_ns, s.end_ns, &s.text)).collect()),
        ("words", segments.iter().flat_map(|s| &s.words).map(|w| span(w.start_ns, w.end_ns, &w.text)).collect()),
    ];
    let last = tiers.iter().flat_map(|(_, t)| t).map(|(_, b, _)| *b).max().unwrap_or(0);
    let end_ns = end_ns.max(last).max(1_000_000);
    let end = number(end_ns);
    let mut out = String::from("File type = \"ooTextFile\"\nObject class = \"TextGrid\"\n\n");
    let _ = write!(out, "xmin = 0\nxmax = {end}\ntiers? <exists>\nsize = {}\nitem []:\n", tiers.len());
    for (i, (name, spans)) in tiers.iter().enumerate() {
        let filled = filled(spans, end_ns);
        let _ = write!(out, "    item [{}]:\n        class = \"IntervalTier\"\n        name = \"{name}\"\n", i + 1);
        let _ = write!(out, "        xmin = 0\n        xmax = {end}\n        intervals: size = {}\n", filled.len());
        for (k, (a, b, text)) in filled.iter().enumerate() {
            let text = text.replace('"', "\"\"");
            let _ = write!(
                out,
                "        intervals [{}]:\n            xmin = {}\n            xmax = {}\n            text = \"{text}\"\n",
                k + 1,
                number(*a),
                number(*b)
            );
        }
    }
    out
}

fn number(ns: i64) -> String {
    format!("{}", seconds(ns))
}

/// Praat wants intervals without gaps, overlaps or zero length: silence is an empty interval.
fn filled(spans: &[(i64, i64, String)], end: i64) -> Vec<(i64, i64, String)> {
    let mut out = Vec::new();
    let mut at = 0;
    for (i, (a, b, text)) in spans.iter().enumerate() {
        let a = (*a).max(at);
        // A word without length gets a millisecond, as far as the next one leaves room.
        let room = spans.get(i + 1).map_or(end, |n| n.0.max(a));
        let b = (*b).max((a + 1_000_000).min(room)).min(end);
        if b <= a {
            continue;
        }
        if a > at {
            out.push((at, a, String::new()));
        }
        out.push((a, b, text.clone()));
        at = b;
    }
    if at < end {
        out.push((at, end, String::new()));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::samples::segments;

    #[test]
    fn tiers_cover_the_time_without_gaps() {
        let g = textgrid(&segments()[..1], 2_000_000_000);
        assert!(g.contains("name = \"words\"") && g.contains("text = \"\"\"this\"\"\""), "{g}");
        // silence, Make, this, silence, M6, silence
        assert!(g.contains("intervals: size = 6"), "{g}");
        let numbers = |key: &str| -> Vec<f64> {
            let words = &g[g.find("name = \"words\"").unwrap()..];
            words.lines().filter_map(|l| l.trim().strip_prefix(key)?.parse().ok()).collect()
        };
        let (mins, maxs) = (numbers("xmin = "), numbers("xmax = "));
        assert_eq!(mins[2..], maxs[1..maxs.len() - 1]);
        assert_eq!(maxs.last(), Some(&2.0));
    }

    #[test]
    fn no_words_are_one_silence() {
        let g = textgrid(&[], 3_000_000_000);
        assert_eq!(g.matches("intervals: size = 1").count(), 2);
    }
}
