//! Finishes what a recorder that died left behind.

use crate::finalise::{Known, Torn, finalise, mend_files, remove_raw, write_lines};
use crate::lock::{self, Lock, LockInfo};
use crate::manifest::SessionManifest;
use crate::{Error, Result};
use redline_media::WavReader;
use redline_schemas::{
    AudioTime, CommandEvent, Corpus, Error as SchemaError, InputEvent, MarkEvent, MarkKind, SelectionEvent, SessionDir, Status, StepEvent,
    StrokeEvent, Timed, VideoTime, jsonl,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::path::Path;

/// What was mended, and what is missing.
#[derive(Debug, Clone, Serialize)]
pub struct Recovered {
    /// The session's id.
    pub id: String,
    /// Session time to which the recorder is known to have lived.
    pub alive_ns: i64,
    /// End of the video; absent when there is none.
    pub video_ns: Option<i64>,
    /// End of the audio; absent when there is none.
    pub audio_ns: Option<i64>,
    /// Last input event; absent when there is none.
    pub input_ns: Option<i64>,
    /// Bytes that were cut from half-written files.
    pub torn: Torn,
}

impl Recovered {
    /// What is missing at the end, for people.
    #[must_use]
    pub fn summary(&self) -> String {
        let part = |name: &str, end: Option<i64>| match end {
            Some(e) => format!("{name} to {:.2} s ({:.2} s missing)", e as f64 / 1e9, (self.alive_ns - e).max(0) as f64 / 1e9),
            None => format!("no {name}"),
        };
        let mut s = format!(
            "recorded until {:.2} s: {}, {}",
            self.alive_ns as f64 / 1e9,
            part("video", self.video_ns),
            part("audio", self.audio_ns)
        );
        for (file, bytes) in &self.torn {
            s += &format!("; {bytes} half-written bytes cut from {file}");
        }
        s
    }
}

/// Ids of sessions that a recorder left unfinished, with their folders.
///
/// Those that are being recorded right now are left out.
pub fn unfinished(corpus: &Corpus) -> Result<Vec<SessionDir>> {
    let mut found = Vec::new();
    let requests = corpus.request_ids()?.into_iter().map(|id| corpus.request_dir(&id));
    let edits = corpus.edit_ids()?.into_iter().map(|id| corpus.edit_dir(&id));
    let runs = corpus.run_ids()?.into_iter().map(|id| corpus.run_dir(&id));
    for dir in requests.chain(edits).chain(runs) {
        // A damaged manifest is for `redline check` to report.
        let Ok(m) = SessionManifest::load(&dir) else { continue };
        if m.status() != Status::Recording {
            continue;
        }
        if !lock::held(&dir.lock()) {
            found.push(dir);
        }
    }
    Ok(found)
}

/// Finishes a session that its recorder left: cuts half-written ends, makes the finished files, marks
/// what is missing and sets the status to `recovered`.
///
/// A session that is whole gives `None`; one that is being recorded [`Error::Busy`]. Nothing that was recorded
/// is removed before the finished files are whole, so it can be tried again after a failure.
pub fn recover(dir: &SessionDir) -> Result<Option<Recovered>> {
    let mut manifest = SessionManifest::load(dir)?;
    if manifest.status() != Status::Recording {
        return Ok(None);
    }
    if !dir.video_raw().exists() && !dir.audio_raw().exists() && (dir.video().exists() || dir.audio().exists()) {
        return Err(Error::Unrecoverable {
            path: dir.path().into(),
            reason: "its raw files are gone but its finished ones are there: set its status by hand once you have looked at them".into(),
        });
    }
    let was_there = dir.lock().exists();
    let held = Lock::take(&dir.lock())?;
    let info = lock::read(&dir.lock()).unwrap_or_default();
    let mended = mend(dir, &mut manifest, &info);
    // After a failure the next try needs what the dead recorder wrote into its lock.
    if mended.is_ok() || !was_there {
        drop(held.remove());
    }
    mended.map(Some)
}

fn mend(dir: &SessionDir, manifest: &mut SessionManifest, info: &LockInfo) -> Result<Recovered> {
    let torn = mend_files(dir)?;
    let times = times(dir)?;
    let fps = info.fps.unwrap_or_else(|| rate_of(&times));
    let last_audio = last::<AudioTime>(&dir.audio_clock())?;
    let audio_end = match (&last_audio, dir.audio_raw().exists()) {
        (Some(t), true) => {
            let wav = WavReader::open(&dir.audio_raw())?;
            // When the callback ran, which is known better than when its samples were captured.
            let after = wav.samples().saturating_sub(t.sample + u64::from(t.samples));
            Some(t.callback_ns + (after as f64 * 1e9 / f64::from(wav.rate())) as i64)
        }
        _ => None,
    };
    let input_ns = last::<InputEvent>(&dir.input())?.map(|e| e.t_ns);
    let others = [
        times.last().map(|e| e.t_ns),
        last::<StrokeEvent>(&dir.strokes())?.map(|e| e.t_ns),
        last::<StepEvent>(&dir.steps())?.map(|e| e.t_ns),
        input_ns,
        audio_end,
        Some(info.alive_ns),
    ];
    let Some(alive_ns) = others.into_iter().flatten().max().filter(|t| *t > 0) else {
        return Err(Error::Unrecoverable {
            path: dir.path().into(),
            reason: "the recorder died before anything was recorded; remove the folder".into(),
        });
    };
    manifest.session_mut().duration_ns = alive_ns;
    let known = Known { fps, microphone: info.microphone.as_deref() };
    finalise(dir, manifest.session_mut(), &known)?;
    let streams = &manifest.session().streams;
    let video_ns = streams.video.as_ref().map(|v| v.grid.t_ns_of_frame(v.frames as i64));
    let audio_ns = streams.audio.as_ref().and_then(|a| a.clock.span_ns()).map(|s| s.1);
    let found = Recovered { id: manifest.id().into(), alive_ns, video_ns, audio_ns, input_ns, torn };
    add_marks(dir, &found)?;
    // The marks changed, and with them their count and hash.
    manifest.session_mut().streams.marks = crate::finalise::event_stream::<MarkEvent>(dir, &dir.marks())?;
    manifest.conclude(dir)?;
    manifest.set_status(Status::Recovered);
    manifest.save(dir)?;
    remove_raw(dir);
    Ok(found)
}

/// Says in `marks.jsonl` what is missing at the end of each stream.
fn add_marks(dir: &SessionDir, r: &Recovered) -> Result<()> {
    let mut marks = if dir.marks().exists() { jsonl::read_all::<MarkEvent>(&dir.marks())?.0 } else { Vec::new() };
    let mut gap = |stream: &str, end: Option<i64>| {
        if let Some(t_ns) = end.filter(|e| *e < r.alive_ns) {
            marks.push(MarkEvent {
                t_ns,
                kind: MarkKind::Gap,
                until_ns: Some(r.alive_ns),
                stream: Some(stream.into()),
                note: Some("the recorder ended without finishing; this end is missing".into()),
                area: None,
            });
        }
    };
    gap("video", r.video_ns);
    gap("audio", r.audio_ns);
    // Input is silent when nobody touches anything: what may be missing is what was not written out yet.
    gap("input", Some((r.alive_ns - UNWRITTEN_NS).max(r.input_ns.unwrap_or(0))));
    let mut cad = |stream: &str, end: Option<i64>| {
        if let Some(last) = end {
            gap(stream, Some((r.alive_ns - UNWRITTEN_NS).max(last)));
        }
    };
    // A CAD program sends several times a second; a stream that never began may have had nothing to say.
    cad("selections", last::<SelectionEvent>(&dir.selections())?.map(|e| e.t_ns));
    cad("commands", last::<CommandEvent>(&dir.commands())?.map(|e| e.t_ns));
    marks.sort_by_key(|m| m.t_ns);
    write_lines(&dir.marks(), &marks)
}

/// Events can wait in memory for so long.
const UNWRITTEN_NS: i64 = 250_000_000;

fn times(dir: &SessionDir) -> Result<Vec<VideoTime>> {
    let p = dir.video_times();
    if p.exists() { Ok(jsonl::read_all(&p)?.0) } else { Ok(Vec::new()) }
}

/// The video's rate from the times of its pictures, for a folder whose lock is gone.
fn rate_of(times: &[VideoTime]) -> u32 {
    let mut placed = times.iter().filter_map(|t| Some((t.slot?, t.t_ns)));
    let ends = placed.next().and_then(|first| Some((first, placed.next_back()?)));
    match ends {
        Some(((s0, t0), (s1, t1))) if t1 > t0 => ((s1 - s0) as f64 / ((t1 - t0) as f64 / 1e9)).round().clamp(1.0, 120.0) as u32,
        _ => crate::RecordOptions::DEFAULT_FPS,
    }
}

fn last<T: DeserializeOwned + Timed>(path: &Path) -> Result<Option<T>> {
    if !path.exists() {
        return Ok(None);
    }
    let mut last = None;
    for e in jsonl::Reader::<T>::open(path)? {
        match e {
            Ok(e) => last = Some(e),
            Err(SchemaError::Parse { .. }) => {}
            Err(e) => return Err(e.into()),
        }
    }
    Ok(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_read_off_the_times() {
        let at = |slot: i64, ms: i64| VideoTime { t_ns: ms * 1_000_000, half_ns: 0, slot: Some(slot) };
        assert_eq!(rate_of(&[at(0, 11), at(1, 53), VideoTime { slot: None, ..at(0, 60) }, at(50, 2_009)]), 25);
        assert_eq!(rate_of(&[at(0, 11)]), 30);
        assert_eq!(rate_of(&[]), 30);
    }

    #[test]
    fn a_folder_that_is_no_session_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        assert!(matches!(recover(&SessionDir::new(dir.path())), Err(Error::Unrecoverable { .. })));
    }
}
