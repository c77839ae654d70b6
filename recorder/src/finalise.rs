//! From what was written while recording to the finished session; used after a stop and after a crash.

use crate::Result;
use crate::audio_fit::{LOSS_NS, Way, fit};
use crate::marks::{coalesce, place_audio_gaps};
use crate::redact::{self, Span, cut_spans};
use crate::typing::replay;
use redline_media::{MuxAudio, WavReader, finish_video, whole_fragments, write_flac};
use redline_schemas::coords::AreaAt;
use redline_schemas::time::{AudioClock, FrameGrid};
use redline_schemas::{
    AudioStream, CommandEvent, Error as SchemaError, EventStream, InputEvent, MarkEvent, MarkKind, RenderEvent, SelectionEvent, Session,
    SessionDir, StrokeEvent, TextEvent, Timed, VideoStream, VideoTime, fsio, jsonl,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs::OpenOptions;
use std::path::Path;

/// What the manifest must know beyond the files.
pub(crate) struct Known<'a> {
    /// Frames per second of the video.
    pub fps: u32,
    /// The microphone's name.
    pub microphone: Option<&'a str>,
}

/// Torn lines and fragments that a crash left, by file.
pub(crate) type Torn = Vec<(String, u64)>;

/// Cuts what a crash left half written: the last line of each stream, the last fragment of the video.
pub(crate) fn mend_files(dir: &SessionDir) -> Result<Torn> {
    let mut torn = Torn::new();
    let streams = [
        dir.video_times(),
        dir.audio_clock(),
        dir.input(),
        dir.strokes(),
        dir.selections(),
        dir.commands(),
        dir.text_events(),
        dir.renders(),
        dir.marks(),
        dir.steps(),
    ];
    for p in streams {
        if p.exists() {
            note(&mut torn, &p, mend_lines(&p)?);
        }
    }
    let raw = dir.video_raw();
    if raw.exists() {
        let good = whole_fragments(&raw)?;
        let len = std::fs::metadata(&raw).map_err(SchemaError::io(&raw, "could not look at"))?.len();
        cut(&raw, good)?;
        note(&mut torn, &raw, len - good);
    }
    Ok(torn)
}

fn note(torn: &mut Torn, path: &Path, bytes: u64) {
    if bytes > 0 {
        torn.push((path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default(), bytes));
    }
}

fn cut(path: &Path, len: u64) -> Result<()> {
    let f = OpenOptions::new().write(true).open(path).map_err(SchemaError::io(path, "could not open"))?;
    Ok(f.set_len(len).map_err(SchemaError::io(path, "could not cut"))?)
}

/// Cuts a last line without its newline; how many bytes.
fn mend_lines(path: &Path) -> Result<u64> {
    use std::io::{Read, Seek, SeekFrom};
    let mut f = std::fs::File::open(path).map_err(SchemaError::io(path, "could not open"))?;
    let len = f.metadata().map_err(SchemaError::io(path, "could not look at"))?.len();
    let mut end = len;
    let mut buf = vec![0; 4096];
    while end > 0 {
        let n = buf.len().min(end as usize);
        f.seek(SeekFrom::Start(end - n as u64)).map_err(SchemaError::io(path, "could not read"))?;
        f.read_exact(&mut buf[..n]).map_err(SchemaError::io(path, "could not read"))?;
        if let Some(i) = buf[..n].iter().rposition(|b| *b == b'\n') {
            end = end - n as u64 + i as u64 + 1;
            break;
        }
        end -= n as u64;
    }
    if end < len {
        cut(path, end)?;
    }
    Ok(len - end)
}

/// Makes the finished files and fills in the manifest's streams.
///
/// `session.duration_ns` must be set. Raw files are removed only after the finished ones are whole.
pub(crate) fn finalise(dir: &SessionDir, session: &mut Session, known: &Known<'_>) -> Result<()> {
    let Spans { mut marks, cuts, pauses } = finish_marks(dir, session)?;
    redact::events(dir, &cuts)?;
    finish_text(dir)?;
    let audio = finish_audio(dir, known, &cuts)?;
    if let Some((_, clock)) = &audio {
        let before = marks.clone();
        place_audio_gaps(&mut marks, clock, LOSS_NS);
        if marks != before {
            write_lines(&dir.marks(), &marks)?;
        }
    }
    session.streams.video = finish_pictures(dir, session, known, audio.as_ref(), &cuts, &pauses)?;
    session.streams.audio = match audio {
        Some((wav, clock)) => Some(AudioStream {
            file: dir.file_ref(&dir.audio())?,
            codec: "flac".into(),
            channels: 1,
            clock,
            device: known.microphone.map(Into::into),
            peak: Some(wav.peak()?),
        }),
        None => None,
    };
    session.streams.input = event_stream::<InputEvent>(dir, &dir.input())?;
    session.streams.strokes = event_stream::<StrokeEvent>(dir, &dir.strokes())?;
    in_order::<SelectionEvent>(&dir.selections())?;
    in_order::<CommandEvent>(&dir.commands())?;
    in_order::<RenderEvent>(&dir.renders())?;
    session.streams.selections = event_stream::<SelectionEvent>(dir, &dir.selections())?;
    session.streams.commands = event_stream::<CommandEvent>(dir, &dir.commands())?;
    session.streams.text = event_stream::<TextEvent>(dir, &dir.text_events())?;
    session.streams.renders = event_stream::<RenderEvent>(dir, &dir.renders())?;
    session.streams.marks = if !marks.is_empty() { event_stream::<MarkEvent>(dir, &dir.marks())? } else { None };
    Ok(())
}

/// Removes the raw files; call once the manifest is written.
pub(crate) fn remove_raw(dir: &SessionDir) {
    for p in [dir.video_raw(), dir.audio_raw()] {
        let _ = std::fs::remove_file(p);
    }
}

/// What the marks say.
#[derive(Default)]
struct Spans {
    marks: Vec<MarkEvent>,
    cuts: Vec<Span>,
    pauses: Vec<Span>,
}

/// Merges spans in `marks.jsonl`, takes the moves of the captured area over into the manifest.
fn finish_marks(dir: &SessionDir, session: &mut Session) -> Result<Spans> {
    let path = dir.marks();
    if !path.exists() {
        return Ok(Spans::default());
    }
    let mut marks = coalesce(jsonl::read_all::<MarkEvent>(&path)?.0, session.duration_ns);
    let cuts = cut_spans(&marks);
    // Before a cut takes marks away: a pause that was cut was one all the same.
    let pauses = marks.iter().filter(|m| m.kind == MarkKind::Pause).filter_map(|m| Some((m.t_ns, m.until_ns?))).collect();
    redact::marks(&mut marks, &cuts);
    if let Some(screen) = &mut session.screen {
        screen.map.areas.truncate(1);
        let moves = marks.iter().filter(|m| m.kind == MarkKind::Resize).filter_map(|m| Some(AreaAt { t_ns: m.t_ns, area: m.area? }));
        screen.map.areas.extend(moves);
    }
    if marks.is_empty() {
        std::fs::remove_file(&path).map_err(SchemaError::io(&path, "could not remove"))?;
    } else {
        write_lines(&path, &marks)?;
    }
    Ok(Spans { marks, cuts, pauses })
}

/// The final text, from the way it was typed.
fn finish_text(dir: &SessionDir) -> Result<()> {
    let path = dir.text_events();
    if path.exists() {
        let text = replay(&jsonl::read_all::<TextEvent>(&path)?.0);
        fsio::write_atomic(&dir.text(), text.as_bytes())?;
    }
    Ok(())
}

pub(crate) fn write_lines<T: Serialize>(path: &Path, items: &[T]) -> Result<()> {
    let mut bytes = Vec::new();
    for i in items {
        serde_json::to_writer(&mut bytes, i).map_err(|e| SchemaError::Parse { path: path.into(), line: None, message: e.to_string() })?;
        bytes.push(b'\n');
    }
    Ok(fsio::write_atomic(path, &bytes)?)
}

fn finish_audio(dir: &SessionDir, _known: &Known<'_>, cuts: &[Span]) -> Result<Option<(WavReader, AudioClock)>> {
    let (raw, times) = (dir.audio_raw(), dir.audio_clock());
    if !raw.exists() || !times.exists() {
        return Ok(None);
    }
    let wav = WavReader::open(&raw)?;
    let mut times = jsonl::read_all(&times)?.0;
    // Samples whose time stamp a crash took are timed by the fit; stamps whose samples are gone are not used.
    times.retain(|t: &redline_schemas::AudioTime| t.sample + u64::from(t.samples) <= wav.samples());
    if wav.samples() == 0 || times.is_empty() {
        return Ok(None);
    }
    let pieces = fit(&times, wav.rate(), wav.samples(), Way::Captured);
    let clock = AudioClock { sample_rate: wav.rate(), latency_ns: 0, pieces };
    redact::audio(&raw, &clock, wav.samples(), cuts)?;
    let tmp = fsio::temporary_beside(&dir.audio());
    finished(&tmp, &dir.audio(), write_flac(&wav, &tmp))?;
    Ok(Some((wav, clock)))
}

/// Renames a finished temporary file, or removes a failed one.
fn finished<T>(tmp: &Path, to: &Path, r: redline_media::Result<T>) -> Result<T> {
    let moved = r.map_err(crate::Error::from).and_then(|v| {
        let sync = || std::fs::File::open(tmp)?.sync_all();
        sync().and_then(|()| std::fs::rename(tmp, to)).map_err(SchemaError::io(to, "could not write"))?;
        Ok(v)
    });
    if moved.is_err() {
        let _ = std::fs::remove_file(tmp);
    }
    moved
}

fn finish_pictures(
    dir: &SessionDir,
    session: &Session,
    known: &Known<'_>,
    audio: Option<&(WavReader, AudioClock)>,
    cuts: &[Span],
    pauses: &[Span],
) -> Result<Option<VideoStream>> {
    let (raw, times) = (dir.video_raw(), dir.video_times());
    let Some(screen) = &session.screen else { return Ok(None) };
    if !raw.exists() || !times.exists() {
        return Ok(None);
    }
    let times: Vec<VideoTime> = jsonl::read_all(&times)?.0;
    // The grid begins with the first picture; that is how the capture thread made it.
    let Some(first) = times.iter().find(|t| t.slot == Some(0)) else { return Ok(None) };
    let grid = FrameGrid::new(first.t_ns, known.fps, 1)?;
    redact::video(&raw, &grid, cuts)?;
    let tmp = fsio::temporary_beside(&dir.video());
    let mux = audio.map(|(wav, clock)| MuxAudio { wav, clock });
    let made = finished(&tmp, &dir.video(), finish_video(&raw, &tmp, &grid, mux))?;
    let frames = made.frames as i64;
    let paused = paused_slots(&grid, frames, &times, pauses);
    let mut used = 0_u64;
    let (mut sum, mut largest) = (0_i128, 0_i64);
    for t in &times {
        if let Some(slot) = t.slot.filter(|s| *s < frames) {
            used += 1;
            let off = (t.t_ns - grid.t_ns_of_frame(slot)).abs();
            sum += i128::from(off);
            largest = largest.max(off);
        }
    }
    Ok(Some(VideoStream {
        file: dir.file_ref(&dir.video())?,
        codec: "h264".into(),
        width: screen.map.video_width,
        height: screen.map.video_height,
        grid,
        frames: made.frames,
        repeated_slots: made.frames.saturating_sub(used).saturating_sub(paused),
        paused_slots: paused,
        dropped_frames: times.iter().filter(|t| t.slot.is_none()).count() as u64,
        capture_error_ns: (used > 0).then(|| ((sum / i128::from(used)) as i64, largest)),
        has_audio: made.has_audio,
    }))
}

/// Slots without a picture of their own that lie in a pause.
///
/// A slot is waited for a little before its time, so the ones beside a pause's ends belong to it too.
fn paused_slots(grid: &FrameGrid, frames: i64, times: &[VideoTime], pauses: &[Span]) -> u64 {
    let taken: std::collections::HashSet<i64> = times.iter().filter_map(|t| t.slot).collect();
    let mut paused = std::collections::BTreeSet::new();
    for (from, until) in pauses {
        let (first, last) = (grid.frame_at(*from), grid.frame_at(*until) + 1);
        paused.extend((first.max(0)..=last.min(frames - 1)).filter(|s| !taken.contains(s)));
    }
    paused.len() as u64
}

/// Sorts a stream into which several CAD programs wrote at once.
fn in_order<T: Serialize + DeserializeOwned + Timed>(path: &Path) -> Result<()> {
    if !path.exists() {
        return Ok(());
    }
    let mut all = jsonl::read_all::<T>(path)?.0;
    if !all.is_sorted_by_key(Timed::t_ns) {
        all.sort_by_key(Timed::t_ns);
        write_lines(path, &all)?;
    }
    Ok(())
}

/// Counts a stream's lines; a corrupt line is an error that names it.
pub(crate) fn event_stream<T: DeserializeOwned + Timed>(dir: &SessionDir, path: &Path) -> Result<Option<EventStream>> {
    if !path.exists() {
        return Ok(None);
    }
    let (mut count, mut first, mut last) = (0, None, None);
    for e in jsonl::Reader::<T>::open(path)? {
        let t = e?.t_ns();
        count += 1;
        first.get_or_insert(t);
        last = Some(t);
    }
    Ok(Some(EventStream { file: dir.file_ref(path)?, count, first_t_ns: first, last_t_ns: last, lost: 0 }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_of_two_programs_are_merged() {
        let dir = tempfile::tempdir().unwrap();
        let p = dir.path().join("commands.jsonl");
        let line = |t: i64, seq: u64| format!("{{\"t_ns\":{t},\"kind\":\"started\",\"seq\":{seq}}}\n");
        std::fs::write(&p, line(5, 1) + &line(9, 2) + &line(7, 3) + &line(9, 4)).unwrap();
        in_order::<CommandEvent>(&p).unwrap();
        let all = jsonl::read_all::<CommandEvent>(&p).unwrap().0;
        assert_eq!(all.iter().map(|c| c.seq).collect::<Vec<_>>(), [1, 3, 2, 4]);
        in_order::<CommandEvent>(&dir.path().join("none.jsonl")).unwrap();
    }

    #[test]
    fn slots_of_pauses_are_told_from_missed_ones() {
        let grid = FrameGrid::new(0, 10, 1).unwrap();
        let at = |slot: i64| VideoTime { t_ns: grid.t_ns_of_frame(slot), half_ns: 0, slot: Some(slot) };
        // Slot 2 was missed; 5 to 8 are paused; the pause at the end runs beyond the last frame.
        let times = [0, 1, 3, 4, 9, 10].map(at);
        let ms = 1_000_000;
        let pauses = [(450 * ms, 850 * ms), (1_020 * ms, 5_000 * ms)];
        assert_eq!(paused_slots(&grid, 13, &times, &pauses), 4 + 2);
        assert_eq!(paused_slots(&grid, 13, &times, &[]), 0);
        assert_eq!(paused_slots(&grid, 13, &times, &[pauses[0], pauses[0]]), 4, "none is counted twice");
    }

    #[test]
    fn torn_lines_are_cut_and_counted() {
        let dir = tempfile::tempdir().unwrap();
        let p = dir.path().join("x.jsonl");
        for (text, kept) in [("{}\n{}\n{\"a", 6), ("{}\n", 3), ("", 0), ("{\"", 0)] {
            std::fs::write(&p, text).unwrap();
            assert_eq!(mend_lines(&p).unwrap(), (text.len() - kept) as u64);
            assert_eq!(std::fs::metadata(&p).unwrap().len(), kept as u64);
        }
    }
}
