//! Typed text as a series of insertions and deletions.
//!
//! A text box says what its text is now; what changed is found by comparing it with the text before. So pasted text,
//! input methods, emoji and right-to-left text come through like any other. Positions count Unicode scalar values.

use redline_schemas::{TextEvent, TextKind};

/// The longest text that is kept, characters.
pub const MAX_CHARS: usize = 1 << 20;

/// A typed text and the way it came about.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TypedText {
    chars: Vec<char>,
    /// When each character was inserted.
    since: Vec<i64>,
}

impl TypedText {
    /// The text now.
    #[must_use]
    pub fn text(&self) -> String {
        self.chars.iter().collect()
    }

    /// The text became `new` at `t_ns`: at most one deletion and one insertion, in this order.
    ///
    /// What goes beyond [`MAX_CHARS`] is left out.
    pub fn set(&mut self, new: &str, t_ns: i64) -> Vec<TextEvent> {
        let new: Vec<char> = new.chars().take(MAX_CHARS).collect();
        let prefix = self.chars.iter().zip(&new).take_while(|(a, b)| a == b).count();
        let rest = self.chars.len().min(new.len()) - prefix;
        let suffix = self.chars.iter().rev().zip(new.iter().rev()).take(rest).take_while(|(a, b)| a == b).count();
        let gone = self.chars.len() - prefix - suffix;
        let came: String = new[prefix..new.len() - suffix].iter().collect();
        let mut events = Vec::new();
        if gone > 0 {
            events.push(delete(t_ns, prefix, gone));
        }
        if !came.is_empty() {
            events.push(insert(t_ns, prefix, came));
        }
        for e in &events {
            self.apply(e);
        }
        events
    }

    /// Carries out an event; false when it does not fit the text, which then stays as it is.
    pub fn apply(&mut self, e: &TextEvent) -> bool {
        let Ok(at) = usize::try_from(e.pos) else { return false };
        match (e.kind, &e.text, e.len) {
            (TextKind::Insert, Some(t), _) if at <= self.chars.len() => {
                self.chars.splice(at..at, t.chars());
                self.since.splice(at..at, t.chars().map(|_| e.t_ns));
                true
            }
            (TextKind::Delete, _, Some(n)) => {
                let Some(end) = usize::try_from(n).ok().and_then(|n| at.checked_add(n)).filter(|end| *end <= self.chars.len()) else {
                    return false;
                };
                self.chars.drain(at..end);
                self.since.drain(at..end);
                true
            }
            _ => false,
        }
    }

    /// The text without what was inserted from `from_ns` on.
    #[must_use]
    pub fn before(&self, from_ns: i64) -> String {
        self.chars.iter().zip(&self.since).filter(|(_, t)| **t < from_ns).map(|(c, _)| *c).collect()
    }
}

/// The text that `events` give; events that do not fit are passed over.
#[must_use]
pub fn replay(events: &[TextEvent]) -> String {
    let mut t = TypedText::default();
    for e in events {
        t.apply(e);
    }
    t.text()
}

fn insert(t_ns: i64, pos: usize, text: String) -> TextEvent {
    TextEvent { t_ns, kind: TextKind::Insert, pos: pos as u64, text: Some(text), len: None }
}

fn delete(t_ns: i64, pos: usize, len: usize) -> TextEvent {
    TextEvent { t_ns, kind: TextKind::Delete, pos: pos as u64, text: None, len: Some(len as u64) }
}

/// Takes the spans (start inclusive, end exclusive) out of a series of events.
///
/// What was typed in a span never was. What was deleted in one, but typed before, is gone from the span's end on.
#[must_use]
pub fn without_spans(events: &[TextEvent], spans: &[(i64, i64)]) -> Vec<TextEvent> {
    let span_of = |t: i64| spans.iter().find(|s| s.0 <= t && t < s.1);
    let mut shadow: Vec<bool> = Vec::new(); // for each character of the text as typed: whether it is kept
    let mut out = Vec::new();
    let mut late: Vec<TextEvent> = Vec::new();
    for e in events {
        let Ok(at) = usize::try_from(e.pos) else { continue };
        if late.first().is_some_and(|l| l.t_ns <= e.t_ns) {
            out.append(&mut late);
        }
        let kept_before = |shadow: &[bool], at: usize| shadow[..at].iter().filter(|k| **k).count();
        match (e.kind, &e.text, e.len) {
            (TextKind::Insert, Some(t), _) if at <= shadow.len() => {
                let keep = span_of(e.t_ns).is_none();
                let pos = kept_before(&shadow, at);
                shadow.splice(at..at, t.chars().map(|_| keep));
                if keep {
                    out.push(insert(e.t_ns, pos, t.clone()));
                }
            }
            (TextKind::Delete, _, Some(n)) => {
                let Some(end) = usize::try_from(n).ok().and_then(|n| at.checked_add(n)).filter(|end| *end <= shadow.len()) else {
                    continue;
                };
                let pos = kept_before(&shadow, at);
                let gone = shadow.drain(at..end).filter(|k| *k).count();
                if gone > 0 {
                    match span_of(e.t_ns) {
                        Some(s) => late.push(delete(s.1, pos, gone)),
                        None => out.push(delete(e.t_ns, pos, gone)),
                    }
                }
            }
            _ => {}
        }
    }
    out.append(&mut late);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_designers_type_survives() {
        let mut t = TypedText::default();
        let mut events = Vec::new();
        for (i, text) in ["M", "M6", "M6 ⌀8", "M6 ⌀8 👩‍🔧", "שלום M6 ⌀8 👩‍🔧", "שלום ⌀8 👩‍🔧", "かn", "かんな", "", "e\u{301}"].iter().enumerate()
        {
            events.extend(t.set(text, i as i64));
            assert_eq!(t.text(), *text);
            assert_eq!(replay(&events), *text);
        }
    }

    #[test]
    fn an_event_that_does_not_fit_changes_nothing() {
        let mut t = TypedText::default();
        t.set("abc", 0);
        for e in [insert(1, 4, "x".into()), delete(1, 2, 2), delete(1, 0, usize::MAX)] {
            assert!(!t.apply(&e));
        }
        assert_eq!(t.text(), "abc");
    }

    #[test]
    fn a_cut_takes_what_was_typed_in_it() {
        let mut t = TypedText::default();
        let mut events = t.set("keep", 10);
        events.extend(t.set("keep secret", 20));
        events.extend(t.set("ke secret", 25));
        assert_eq!(t.before(20), "ke");
        events.extend(t.set("ke", 30));
        events.extend(t.set("ke more", 40));
        let cut = without_spans(&events, &[(15, 30)]);
        assert_eq!(replay(&cut), "ke more");
        assert!(!format!("{cut:?}").contains("secret"));
        assert!(cut.iter().all(|e| !(15..30).contains(&e.t_ns)));
    }

    /// Any text, with the characters that trip people up.
    fn texts() -> impl Strategy<Value = String> {
        prop_oneof![".{0,12}", "[abא\u{202e}\u{301}👩\u{200d}🔧]{0,8}", "(ab){0,6}"]
    }

    proptest! {
        #[test]
        fn replay_gives_the_typed_string(steps in prop::collection::vec(texts(), 0..30)) {
            let mut t = TypedText::default();
            let mut events = Vec::new();
            for (i, s) in steps.iter().enumerate() {
                let new = t.set(s, i as i64);
                prop_assert!(new.len() <= 2);
                events.extend(new);
                prop_assert_eq!(&replay(&events), s);
            }
        }

        /// Nothing lies in the span, every event fits, and what is left is what was typed outside it and still there.
        #[test]
        fn a_cut_leaves_the_rest(steps in prop::collection::vec(texts(), 0..30), from in 0_i64..30, long in 0_i64..30) {
            let mut t = TypedText::default();
            let mut events = Vec::new();
            for (i, s) in steps.iter().enumerate() {
                events.extend(t.set(s, i as i64));
            }
            let inside = |x: i64| from <= x && x < from + long;
            let expected: String = t.chars.iter().zip(&t.since).filter(|(_, s)| !inside(**s)).map(|(c, _)| *c).collect();
            let cut = without_spans(&events, &[(from, from + long)]);
            let mut again = TypedText::default();
            for e in &cut {
                prop_assert!(!inside(e.t_ns));
                prop_assert!(again.apply(e));
            }
            prop_assert!(cut.windows(2).all(|w| w[0].t_ns <= w[1].t_ns));
            prop_assert_eq!(again.text(), expected);
        }
    }
}
