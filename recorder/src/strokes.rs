//! Strokes as vectors: cut spans taken out, and strokes that a crash left open.

use redline_schemas::{StrokeEvent, StrokeKind};
use std::collections::BTreeSet;

/// Takes the spans (start inclusive, end exclusive) out of a series of events.
///
/// A stroke that was begun in a span never was. Of others the points in it are gone; their end or their vanishing is
/// written at the span's end.
#[must_use]
pub fn without_spans(events: Vec<StrokeEvent>, spans: &[(i64, i64)]) -> Vec<StrokeEvent> {
    let mut dropped = BTreeSet::new();
    let mut out = Vec::with_capacity(events.len());
    for mut e in events {
        let span = spans.iter().find(|s| s.0 <= e.t_ns && e.t_ns < s.1);
        match (e.kind, span) {
            (StrokeKind::Begin, Some(_)) => {
                dropped.insert(e.stroke);
            }
            (StrokeKind::Point, Some(_)) => {}
            (_, _) if dropped.contains(&e.stroke) => {}
            (_, Some(s)) => {
                e.t_ns = s.1;
                if e.kind == StrokeKind::End {
                    (e.x, e.y, e.vx, e.vy) = (None, None, None, None);
                }
                out.push(e);
            }
            (_, None) => out.push(e),
        }
    }
    out.sort_by_key(|e| e.t_ns);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use StrokeKind::{Begin, End, Point, Vanish};

    fn at(t_ns: i64, stroke: u32, kind: StrokeKind) -> StrokeEvent {
        let x = Some(t_ns as f64);
        StrokeEvent { t_ns, kind, stroke, x, y: x, vx: x, vy: x, tool: None, colour: None, width: None, reason: None }
    }

    #[test]
    fn strokes_of_a_cut_span_are_gone() {
        let all = vec![
            at(1, 1, Begin),
            at(2, 1, Point),
            at(11, 1, Point),
            at(12, 1, End),
            at(13, 2, Begin),
            at(14, 2, End),
            at(25, 1, Vanish),
            at(26, 2, Vanish),
        ];
        let got: Vec<_> = without_spans(all, &[(10, 20)]).into_iter().map(|e| (e.t_ns, e.stroke, e.kind, e.x)).collect();
        assert_eq!(got, [(1, 1, Begin, Some(1.0)), (2, 1, Point, Some(2.0)), (20, 1, End, None), (25, 1, Vanish, Some(25.0))]);
    }
}
