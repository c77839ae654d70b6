//! “Don’t keep the last N seconds”: takes a span out of every stream before the finished files are made.
//!
//! The span is a mark (`cut`), written at once, so that a crash after it changes nothing: recovery comes through here too.

use crate::finalise::write_lines;
use crate::{Result, strokes, typing};
use redline_media::blank_frames;
use redline_schemas::time::{AudioClock, FrameGrid};
use redline_schemas::{
    CommandEvent, Error as SchemaError, InputEvent, MarkEvent, MarkKind, RenderEvent, RenderKind, SelectionEvent, SessionDir, StrokeEvent,
    TextEvent, Timed, fsio, jsonl,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs::OpenOptions;
use std::os::unix::fs::FileExt as _;
use std::path::{Component, Path};

/// Session times, start inclusive, end exclusive.
pub(crate) type Span = (i64, i64);

/// Sound reaches the microphone and the file with a delay that is known to some milliseconds only: this much more is
/// silenced on both sides.
const SOUND_MARGIN_NS: i64 = 60_000_000;

/// The spans that were cut, joined and in order.
pub(crate) fn cut_spans(marks: &[MarkEvent]) -> Vec<Span> {
    let mut all: Vec<Span> =
        marks.iter().filter(|m| m.kind == MarkKind::Cut).filter_map(|m| Some((m.t_ns, m.until_ns?))).filter(|s| s.0 < s.1).collect();
    all.sort_unstable();
    let mut joined: Vec<Span> = Vec::with_capacity(all.len());
    for s in all {
        match joined.last_mut() {
            Some(l) if s.0 <= l.1 => l.1 = l.1.max(s.1),
            _ => joined.push(s),
        }
    }
    joined
}

fn inside(spans: &[Span], t: i64) -> bool {
    spans.iter().any(|s| s.0 <= t && t < s.1)
}

/// What people wrote about a moment that is not kept is not kept either.
pub(crate) fn marks(marks: &mut Vec<MarkEvent>, spans: &[Span]) {
    marks.retain(|m| m.kind != MarkKind::Mark || !inside(spans, m.t_ns));
}

/// Events and typed text. Doing it twice does no harm.
pub(crate) fn events(dir: &SessionDir, spans: &[Span]) -> Result<()> {
    if spans.is_empty() {
        return Ok(());
    }
    keep_outside::<InputEvent>(&dir.input(), spans)?;
    keep_outside::<SelectionEvent>(&dir.selections(), spans)?;
    keep_outside::<CommandEvent>(&dir.commands(), spans)?;
    renders(dir, spans)?;
    rewrite::<StrokeEvent>(&dir.strokes(), |e| strokes::without_spans(e, spans))?;
    rewrite::<TextEvent>(&dir.text_events(), |e| typing::without_spans(&e, spans))
}

fn keep_outside<T: Timed + Serialize + DeserializeOwned>(path: &Path, spans: &[Span]) -> Result<()> {
    rewrite::<T>(path, |mut all| {
        all.retain(|e| !inside(spans, e.t_ns()));
        all
    })
}

fn rewrite<T: Serialize + DeserializeOwned>(path: &Path, f: impl FnOnce(Vec<T>) -> Vec<T>) -> Result<()> {
    if !path.exists() {
        return Ok(());
    }
    let all = jsonl::read_all::<T>(path)?.0;
    write_lines(path, &f(all))
}

/// Pictures and states of the span go with their files; the model at the end is the result and stays.
fn renders(dir: &SessionDir, spans: &[Span]) -> Result<()> {
    let path = dir.renders();
    if !path.exists() {
        return Ok(());
    }
    let all = jsonl::read_all::<RenderEvent>(&path)?.0;
    let (gone, kept): (Vec<_>, Vec<_>) = all.into_iter().partition(|e| e.kind != RenderKind::Final && inside(spans, e.t_ns));
    if gone.is_empty() {
        return Ok(());
    }
    for e in &gone {
        let file = Path::new(&e.path);
        let ours = file.components().all(|c| matches!(c, Component::Normal(_)));
        if ours && !kept.iter().any(|k| k.path == e.path) {
            let file = dir.path().join(file);
            match std::fs::remove_file(&file) {
                Err(e) if e.kind() != std::io::ErrorKind::NotFound => return Err(SchemaError::io(&file, "could not remove")(e).into()),
                _ => {}
            }
        }
    }
    write_lines(&path, &kept)
}

/// Overwrites the samples of the spans in the raw file with silence.
pub(crate) fn audio(wav: &Path, clock: &AudioClock, samples: u64, spans: &[Span]) -> Result<()> {
    if spans.is_empty() {
        return Ok(());
    }
    // `WavWriter`’s header, and its two bytes a sample.
    const HEADER: u64 = 44;
    let file = OpenOptions::new().write(true).open(wav).map_err(SchemaError::io(wav, "could not open"))?;
    for s in spans {
        let (Some(a), Some(b)) = (clock.sample_at(s.0 - SOUND_MARGIN_NS), clock.sample_at(s.1 + SOUND_MARGIN_NS)) else { continue };
        let a = a.floor().clamp(0.0, samples as f64) as u64;
        let b = b.ceil().clamp(0.0, samples as f64) as u64;
        let zeros = vec![0; 1 << 16];
        let (mut at, end) = (HEADER + a * 2, HEADER + b * 2);
        while at < end {
            let n = zeros.len().min((end - at) as usize);
            file.write_all_at(&zeros[..n], at).map_err(SchemaError::io(wav, "could not silence"))?;
            at += n as u64;
        }
    }
    Ok(file.sync_all().map_err(SchemaError::io(wav, "could not silence"))?)
}

/// Writes the raw video anew with black pictures in the spans. Where it was done already, as after a crash right behind it,
/// it is done once more, which only costs time.
pub(crate) fn video(raw: &Path, grid: &FrameGrid, spans: &[Span]) -> Result<()> {
    if spans.is_empty() {
        return Ok(());
    }
    let step = grid.pts_ns(1);
    // A picture shows what the screen was up to a slot before or after its own time.
    let black = |frame: i64| {
        let t = grid.t_ns_of_frame(frame);
        spans.iter().any(|s| s.0 - step <= t && t <= s.1 + step)
    };
    let tmp = fsio::temporary_beside(raw);
    let made = blank_frames(raw, &tmp, grid.fps_num, black).map_err(crate::Error::from).and_then(|()| {
        let done = || -> std::io::Result<()> {
            std::fs::File::open(&tmp)?.sync_all()?;
            std::fs::rename(&tmp, raw)?;
            fsio::sync_parent(raw)
        };
        Ok(done().map_err(SchemaError::io(raw, "could not write"))?)
    });
    if made.is_err() {
        let _ = std::fs::remove_file(&tmp);
    }
    made
}

#[cfg(test)]
mod tests {
    use super::*;
    use redline_schemas::{InputKind, time::AudioClock};

    fn cut(t_ns: i64, until_ns: i64) -> MarkEvent {
        MarkEvent { t_ns, kind: MarkKind::Cut, until_ns: Some(until_ns), stream: None, note: None, area: None }
    }

    #[test]
    fn overlapping_cuts_are_one() {
        assert_eq!(cut_spans(&[cut(50, 60), cut(10, 20), cut(15, 30), cut(5, 5)]), [(10, 30), (50, 60)]);
    }

    #[test]
    fn events_and_sound_of_a_span_are_gone() {
        let tmp = tempfile::tempdir().unwrap();
        let dir = SessionDir::new(tmp.path());
        let all: Vec<_> = (0..10).map(|i| InputEvent::new(i * 100, InputKind::Move)).collect();
        write_lines(&dir.input(), &all).unwrap();
        events(&dir, &[(200, 500)]).unwrap();
        let left: Vec<i64> = jsonl::read_all::<InputEvent>(&dir.input()).unwrap().0.iter().map(|e| e.t_ns).collect();
        assert_eq!(left, [0, 100, 500, 600, 700, 800, 900]);

        let wav = tmp.path().join("a.wav");
        let mut w = redline_media::WavWriter::create(&wav, 1_000).unwrap();
        w.write(&[7; 2_000]).unwrap();
        w.finish().unwrap();
        audio(&wav, &AudioClock::nominal(1_000, 2_000, 0), 2_000, &[(500_000_000, 1_000_000_000)]).unwrap();
        let r = redline_media::WavReader::open(&wav).unwrap();
        let mut got = [0; 2_000];
        assert_eq!(r.read_at(0, &mut got).unwrap(), 2_000);
        let silent: Vec<usize> = (0..2_000).filter(|i| got[*i] == 0).collect();
        assert_eq!((silent[0], silent.len()), (440, 620), "with the margin on both sides");
        assert_eq!(silent.last(), Some(&1_059));
    }
}
