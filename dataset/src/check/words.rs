//! Transcripts: words lie in the audio, in order; corrections follow the protocol.

use super::finding::Findings;
use super::reviews;
use super::rule::{ID, NO_ORACLE, NO_TRANSCRIPT, OWN_REVIEW, PARTICIPANT, SPEECHLESS, STALE, WORD_ORDER, WORD_TEXT, WORD_TIME};
use super::session::Known;
use redline_schemas::time::seconds;
use redline_schemas::{Modality, RequestManifest, SessionDir, Transcript, TranscriptKind};
use std::path::Path;

/// Words may stick out of the audio by this much: an aligner's step.
const SLACK_NS: i64 = 50_000_000;

pub(super) fn check(f: &mut Findings, dir: &SessionDir, manifest: &Path, r: &RequestManifest, known: &Known<'_>) {
    let read = |f: &mut Findings, kind| {
        let path = dir.transcript_path(kind);
        let there = path.symlink_metadata().is_ok();
        let t = if there { known.schemas.read::<Transcript>(f, &path, "transcript") } else { None };
        if let Some(t) = &t {
            transcript(f, &path, r, t, kind);
        }
        (there, t)
    };
    let (automatic, _) = read(f, TranscriptKind::Automatic);
    let (oracle, accepted) = read(f, TranscriptKind::Oracle);
    let audio = r.session.streams.audio.is_some();
    if audio && !automatic && !oracle {
        f.add(NO_TRANSCRIPT, manifest, "it has audio, but no transcript");
    } else if audio && !oracle {
        f.add(NO_ORACLE, manifest, "its automatic transcript was not corrected and accepted yet");
    }
    let accepted = accepted.map(|t| {
        correction(f, &dir.transcript_path(TranscriptKind::Oracle), r, &t, known);
        t.correction
    });
    reviews::history(f, dir, r, accepted.flatten().as_ref(), known);
    content(f, dir, manifest, r);
}

fn transcript(f: &mut Findings, path: &Path, r: &RequestManifest, t: &Transcript, kind: TranscriptKind) {
    if t.request != r.id {
        f.add(ID, path, format!("it belongs to request {}", t.request));
    }
    if t.kind != kind {
        f.add(ID, path, format!("it is an {} transcript by its content", t.kind));
    }
    let audio = r.session.streams.audio.as_ref();
    if let (Some(made_from), Some(a)) = (&t.audio_sha256, audio)
        && *made_from != a.file.sha256
    {
        f.add(STALE, path, "it was made from audio that is not this request’s");
    }
    // Audio that comes muxed in an imported video spans the session.
    let (start, end) = audio.and_then(|a| a.clock.span_ns()).unwrap_or((0, r.session.duration_ns));
    let (start, end) = (start.saturating_sub(SLACK_NS), end.saturating_add(SLACK_NS));
    let mut spans = |what: &str, text: &str, from: i64, to: i64, before: &mut i64| {
        if from < start || to > end {
            f.add(WORD_TIME, path, format!("{what} “{text}” at {:.3} to {:.3} s", seconds(from), seconds(to)));
        }
        if to < from {
            f.add(WORD_ORDER, path, format!("{what} “{text}” ends at {:.3} s, before it starts at {:.3} s", seconds(to), seconds(from)));
        }
        if from < *before {
            f.add(WORD_ORDER, path, format!("{what} “{text}” starts at {:.3} s, before the one before it", seconds(from)));
        }
        *before = from;
    };
    let (mut segment, mut word) = (i64::MIN, i64::MIN);
    for s in &t.segments {
        spans("segment", &s.text, s.start_ns, s.end_ns, &mut segment);
        for w in &s.words {
            spans("word", &w.text, w.start_ns, w.end_ns, &mut word);
        }
    }
    for s in &t.segments {
        if !s.text.split_whitespace().eq(s.words.iter().map(|w| w.text.as_str())) {
            f.add(WORD_TEXT, path, format!("“{}” is not what its {} words say", s.text, s.words.len()));
        }
    }
}

fn correction(f: &mut Findings, path: &Path, r: &RequestManifest, t: &Transcript, known: &Known<'_>) {
    let Some(c) = &t.correction else {
        // What was corrected elsewhere does not say by whom.
        if r.imported_from.is_none() {
            f.add(OWN_REVIEW, path, "nothing says who corrected and who accepted it");
        }
        return;
    };
    if c.accepted_by == c.corrected_by {
        f.add(OWN_REVIEW, path, format!("{} accepted an own correction", c.accepted_by));
    }
    if c.corrected_by != r.participant {
        f.add(OWN_REVIEW, path, format!("{} corrected a request of {}", c.corrected_by, r.participant));
    }
    for p in [&c.accepted_by, &c.corrected_by] {
        if !known.people.contains_key(p) {
            f.add(PARTICIPANT, path, format!("participant {p} is not known"));
        }
    }
}

/// The request holds what its modality is made of.
fn content(f: &mut Findings, dir: &SessionDir, manifest: &Path, r: &RequestManifest) {
    let s = &r.session.streams;
    if r.modality == Modality::Text {
        if dir.text().symlink_metadata().is_ok_and(|m| m.len() > 0) {
            return;
        }
        f.add(SPEECHLESS, manifest, "a typed request without text");
        return;
    }
    if s.audio.is_none() {
        f.add(SPEECHLESS, manifest, format!("a request of modality {} without audio", r.modality));
    }
    let draws = matches!(r.modality, Modality::DrawTemp | Modality::DrawStatic);
    // Strokes of sessions from elsewhere are only in the picture.
    if draws && r.imported_from.is_none() && s.strokes.as_ref().is_none_or(|s| s.count == 0) {
        f.add(SPEECHLESS, manifest, format!("a request of modality {} without strokes", r.modality));
    }
}
