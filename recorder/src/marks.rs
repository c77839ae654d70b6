//! What happened to the session itself, written as it happens.
//!
//! A span is written twice: when it begins (without an end, so that a crash leaves it) and when it
//! ends. [`coalesce`] makes one line of the two when the session is finished.

use crate::{Result, SessionClock};
use redline_schemas::coords::Rect;
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

#[cfg(test)]
mod tests {
    use super::*;

    fn gap(t_ns: i64, until_ns: Option<i64>, stream: &str) -> MarkEvent {
        MarkEvent { t_ns, kind: MarkKind::Gap, until_ns, stream: Some(stream.into()), note: None, area: None }
    }

    #[test]
    fn spans_become_one_line_and_open_ones_end_with_the_session() {
        let moment = MarkEvent { kind: MarkKind::Mark, until_ns: None, stream: None, ..gap(30, None, "") };
        let got = coalesce(vec![gap(10, None, "audio"), moment.clone(), gap(10, Some(50), "audio"), gap(20, None, "video")], 99);
        assert_eq!(got, [gap(10, Some(50), "audio"), gap(20, Some(99), "video"), moment]);
    }
}
