//! The text modality from the outside: what is typed into a recording replays to the same string.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod recording;
mod steering;

use recording::*;
use redline_schemas::{TextEvent, TextKind};
use steering::*;

#[test]
fn typed_text_is_recorded_with_its_typing() {
    let dir = tempfile::tempdir().unwrap();
    let desk = desk(640, 480, false);
    let root = corpus(&desk, dir.path());
    let rec = Recorder::start(&desk, &root, &["--no-mic", "--modality", "text"]);
    let steps = [
        "M",
        "M6",
        "M6 ⌀8\nrund",
        "M6 ⌀8\nround",
        "M6 ⌀8\nrnd",
        "M6 ⌀8\nround",
        "M6 ⌀8\nround 👩‍🔧",
        "שלום M6 ⌀8\nround 👩‍🔧",
        "--json \"quoted\" שלום M6 ⌀8\nround 👩‍🔧",
    ];
    for s in steps {
        assert_eq!(ctl(&desk, &root, &["text", s])["characters"], s.chars().count());
    }
    let (session, id) = (rec.dir(), rec.id.clone());
    assert_eq!(rec.stop().1, Some(0));
    let last = *steps.last().unwrap();
    assert_eq!(std::fs::read_to_string(session.text()).unwrap(), last);
    let events: Vec<TextEvent> = lines(&session.text_events());
    assert!(events.windows(2).all(|w| w[0].t_ns <= w[1].t_ns));
    assert!(events.iter().any(|e| e.kind == TextKind::Delete));
    // Replayed by hand, not by the recorder's own code.
    let mut text: Vec<char> = Vec::new();
    for e in &events {
        let at = e.pos as usize;
        match e.kind {
            TextKind::Insert => drop(text.splice(at..at, e.text.as_ref().unwrap().chars())),
            TextKind::Delete => drop(text.drain(at..at + e.len.unwrap() as usize)),
        }
    }
    assert_eq!(text.iter().collect::<String>(), last);
    let m = manifest(&root, &id);
    assert_eq!(m.session.streams.text.as_ref().unwrap().count, events.len() as u64);
}
