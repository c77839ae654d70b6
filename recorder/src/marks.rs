//! What happened to the session itself, written as it happens.
//!
//! A span is written twice: when it begins (without an end, so that a crash leaves it) and when it
//! ends. [`coalesce`] makes one line of the two when the session is finished.

use crate::{Result, SessionClock};
use redline_schemas::coords::Rect;
use redline_schemas::time::AudioClock;
use redline_schemas::{MarkEvent, MarkKind, jsonl};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// The writer of `marks.jsonl`, shared by all threads.
pub(crate) struct Marks {
    writer: Mutex<jsonl::Writer<MarkEvent>>,
    clock: SessionClock,
}

impl Marks {
    pub(crate) fn create(path: &Path, clock: SessionClock) -> Result<Self> {
        Ok(Self { writer: Mutex::new(jsonl::Writer::create(path)?), clock })
    }

    /// Writes a mark at once.
    pub(crate) fn write(&self, m: &MarkEvent) -> Result<()> {
        let mut w = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        w.write(m)?;
        Ok(w.flush()?)
    }

    /// A moment, now.
    pub(crate) fn now(&self, kind: MarkKind, note: Option<String>) -> Result<i64> {
        let t_ns = self.clock.now_ns();
        self.write(&MarkEvent { t_ns, kind, until_ns: None, stream: None, note, area: None })?;
        Ok(t_ns)
    }

    /// The captured area from `t_ns` on.
    pub(crate) fn area(&self, t_ns: i64, area: Rect, note: String) -> Result<()> {
        self.write(&MarkEvent {
            t_ns,
            kind: MarkKind::Resize,
            until_ns: None,
            stream: Some("video".into()),
            note: Some(note),
            area: Some(area),
        })
    }
}

/// A stream's gap while it lasts.
pub(crate) struct OpenGap {
    from_ns: i64,
    stream: &'static str,
    note: String,
}

impl OpenGap {
    /// Writes that the gap began at `from_ns`.
    pub(crate) fn begin(marks: &Marks, from_ns: i64, stream: &'static str, note: String) -> Result<Self> {
        let gap = Self { from_ns, stream, note };
        marks.write(&gap.mark(None))?;
        Ok(gap)
    }

    /// Writes that it ended.
    pub(crate) fn end(self, marks: &Marks, until_ns: i64) -> Result<()> {
        marks.write(&self.mark(Some(until_ns.max(self.from_ns))))
    }

    fn mark(&self, until_ns: Option<i64>) -> MarkEvent {
        MarkEvent {
            t_ns: self.from_ns,
            kind: MarkKind::Gap,
            until_ns,
            stream: Some(self.stream.into()),
            note: Some(self.note.clone()),
            area: None,
        }
    }
}

/// Kinds that are written when they begin and again when they end.
fn is_span(k: MarkKind) -> bool {
    matches!(k, MarkKind::Gap | MarkKind::Pause)
}

/// One line a span, in order of time; spans still open end at `end_ns`.
pub(crate) fn coalesce(marks: Vec<MarkEvent>, end_ns: i64) -> Vec<MarkEvent> {
    let mut out: Vec<MarkEvent> = Vec::with_capacity(marks.len());
    for m in marks {
        let begun = out
            .iter_mut()
            .rev()
            .find(|o| is_span(m.kind) && o.kind == m.kind && o.t_ns == m.t_ns && o.stream == m.stream && o.until_ns.is_none());
        match begun {
            Some(o) => o.until_ns = m.until_ns,
            None => out.push(m),
        }
    }
    for m in &mut out {
        if is_span(m.kind) && m.until_ns.is_none() {
            m.until_ns = Some(end_ns.max(m.t_ns));
        }
    }
    out.sort_by_key(|m| m.t_ns);
    out
}

/// A mark and a gap in the samples are the same event when they lie this near, nanoseconds: a loss is noticed late.
const SAME_GAP_NS: i64 = 200_000_000;

/// Moves the microphone's gaps to where its samples end and begin again, and marks the losses that nobody noticed.
///
/// `losses_ns` is the least loss that is marked.
pub(crate) fn place_audio_gaps(marks: &mut Vec<MarkEvent>, clock: &AudioClock, losses_ns: i64) {
    let spans: Vec<(i64, i64)> = clock.spans_ns().collect();
    let is_audio = |m: &MarkEvent| m.kind == MarkKind::Gap && m.stream.as_deref() == Some("audio");
    // Each mark is moved once: pieces may be shorter than marks are exact.
    let mut open: Vec<usize> = (0..marks.len()).filter(|i| is_audio(&marks[*i])).collect();
    let mut nearest = |marks: &[MarkEvent], from: i64, fits: &dyn Fn(&MarkEvent) -> bool| {
        let at = open.iter().enumerate().filter(|(_, i)| fits(&marks[**i])).min_by_key(|(_, i)| (marks[**i].t_ns - from).abs())?.0;
        Some(open.swap_remove(at))
    };
    for w in spans.windows(2) {
        let (from, until) = (w[0].1, w[1].0);
        let touches = |m: &MarkEvent| m.t_ns <= until + SAME_GAP_NS && m.until_ns.is_some_and(|u| u >= from - SAME_GAP_NS);
        if marks.iter().any(|m| m.kind == MarkKind::Pause && touches(m)) {
            continue;
        }
        if let Some(i) = nearest(marks, from, &touches) {
            (marks[i].t_ns, marks[i].until_ns) = (from, Some(until.max(from)));
        } else if until - from > losses_ns {
            marks.push(MarkEvent {
                t_ns: from,
                kind: MarkKind::Gap,
                until_ns: Some(until),
                stream: Some("audio".into()),
                note: Some("the microphone lost samples".into()),
                area: None,
            });
        }
    }
    if let Some(&(_, end)) = spans.last() {
        let last = |m: &MarkEvent| (m.t_ns - end).abs() < SAME_GAP_NS && m.until_ns.is_some_and(|u| u > end);
        if let Some(i) = nearest(marks, end, &last) {
            marks[i].t_ns = end;
        }
    }
    marks.sort_by_key(|m| m.t_ns);
}

#[cfg(test)]
mod tests {
    use super::*;
    use redline_schemas::time::AudioPiece;

    fn gap(t_ns: i64, until_ns: Option<i64>, stream: &str) -> MarkEvent {
        MarkEvent { t_ns, kind: MarkKind::Gap, until_ns, stream: Some(stream.into()), note: None, area: None }
    }

    const MS: i64 = 1_000_000;

    fn piece(first_sample: u64, samples: u64, t0_ms: i64) -> AudioPiece {
        AudioPiece { first_sample, samples, t0_ns: t0_ms * MS, ppm: 0.0, residual_ns: 0, observations: 9 }
    }

    #[test]
    fn gaps_of_the_microphone_stand_where_its_samples_do() {
        // 1,000 Hz: 0–5 s, 7–9 s, 9.5–11 s, then nothing; a pause from 11 to 13 s; 13–14 s.
        let pieces = vec![piece(0, 5_000, 0), piece(5_000, 2_000, 7_000), piece(7_000, 1_500, 9_500), piece(8_500, 1_000, 13_000)];
        let clock = AudioClock { sample_rate: 1_000, latency_ns: 0, pieces };
        let pause = MarkEvent { kind: MarkKind::Pause, stream: None, ..gap(11_000 * MS, Some(13_000 * MS), "") };
        let late = gap(14_030 * MS, Some(15_000 * MS), "audio");
        let mut marks = vec![gap(4_967 * MS, Some(7_033 * MS), "audio"), pause.clone(), late];
        place_audio_gaps(&mut marks, &clock, 40 * MS);
        let lost = MarkEvent { note: Some("the microphone lost samples".into()), ..gap(9_000 * MS, Some(9_500 * MS), "audio") };
        assert_eq!(marks, [gap(5_000 * MS, Some(7_000 * MS), "audio"), lost, pause, gap(14_000 * MS, Some(15_000 * MS), "audio")]);
    }

    #[test]
    fn a_piece_shorter_than_marks_are_exact_takes_no_mark_from_its_neighbour() {
        // 1,000 Hz: 0–1 s, 2–2.1 s, 3–3.1 s.
        let clock = AudioClock {
            sample_rate: 1_000,
            latency_ns: 0,
            pieces: vec![piece(0, 1_000, 0), piece(1_000, 100, 2_000), piece(1_100, 100, 3_000)],
        };
        let mut marks = vec![gap(980 * MS, Some(2_030 * MS), "audio"), gap(2_080 * MS, Some(3_030 * MS), "audio")];
        place_audio_gaps(&mut marks, &clock, 40 * MS);
        assert_eq!(marks, [gap(1_000 * MS, Some(2_000 * MS), "audio"), gap(2_100 * MS, Some(3_000 * MS), "audio")]);
    }

    #[test]
    fn spans_become_one_line_and_open_ones_end_with_the_session() {
        let moment = MarkEvent { kind: MarkKind::Mark, until_ns: None, stream: None, ..gap(30, None, "") };
        let got = coalesce(vec![gap(10, None, "audio"), moment.clone(), gap(10, Some(50), "audio"), gap(20, None, "video")], 99);
        assert_eq!(got, [gap(10, Some(50), "audio"), gap(20, Some(99), "video"), moment]);
    }
}
