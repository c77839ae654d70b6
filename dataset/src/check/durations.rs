//! Video, audio and session agree on how long they are; the media files are what the manifest says.

use super::Options;
use super::files;
use super::finding::Findings;
use super::manifests::without_path;
use super::rule::{AUDIO_TIME, DECODE, GUESSED, JUMP, MEDIA, MEDIA_CLAIM, PICTURE, REPEATED, VIDEO_TIME};
use redline_schemas::time::{NS_PER_S, seconds};
use redline_schemas::{Alignment, AudioStream, Session, Status, VideoStream};
use std::path::Path;

/// A frame, and a little for rounding.
const FRAME_SLACK_NS: i64 = NS_PER_S / 30 + 2_000_000;

/// Audio may begin this much late or end this much early (devices start slowly); it may not lie outside.
const AUDIO_MISSING_NS: i64 = 2 * NS_PER_S;

/// Audio may lie this far outside: a device buffer.
const AUDIO_OUTSIDE_NS: i64 = NS_PER_S / 10;

/// The protocol's picture.
const HEIGHT: u32 = 720;
const FPS: f64 = 30.0;

pub(super) fn check(f: &mut Findings, dir: &Path, manifest: &Path, status: Status, session: &Session, options: &Options) {
    if session.clock.alignment == Alignment::Estimated {
        f.add(GUESSED, manifest, "a start time was guessed when it was imported");
    }
    for d in &session.clock.discontinuities {
        f.add(JUMP, manifest, format!("at {:.3} s by {:.3} s ({:?})", seconds(d.t_ns), seconds(d.wall_minus_monotonic_ns), d.cause));
    }
    // A mended session lacks its end, and its marks say what; streams from elsewhere end as they do.
    let whole = status != Status::Recovered && session.clock.alignment == Alignment::Measured;
    if let Some(v) = &session.streams.video {
        video(f, dir, manifest, session, v, whole, options);
    }
    if let Some(a) = &session.streams.audio {
        audio(f, dir, manifest, session, a, whole, options);
    }
}

fn video(f: &mut Findings, dir: &Path, manifest: &Path, session: &Session, v: &VideoStream, whole: bool, options: &Options) {
    let frames = i64::try_from(v.frames).unwrap_or(i64::MAX);
    if v.grid.fps_num == 0 || v.grid.fps_den == 0 {
        f.add(VIDEO_TIME, manifest, "the video’s frame rate is not positive");
        return;
    }
    let (start, end) = (v.grid.first_t_ns, v.grid.first_t_ns.saturating_add(v.grid.pts_ns(frames)));
    let off = end.saturating_sub(session.duration_ns);
    if off > FRAME_SLACK_NS || (whole && off < -FRAME_SLACK_NS) {
        f.add(
            VIDEO_TIME,
            manifest,
            format!("{} frames end at {:.3} s, but the session ends at {:.3} s", v.frames, seconds(end), seconds(session.duration_ns)),
        );
    }
    if !(-FRAME_SLACK_NS..=NS_PER_S).contains(&start) {
        f.add(VIDEO_TIME, manifest, format!("the first frame stands at {:.3} s, not at the session’s start", seconds(start)));
    }
    let fps = f64::from(v.grid.fps_num) / f64::from(v.grid.fps_den);
    if v.height != HEIGHT || (fps - FPS).abs() > 0.001 || v.codec != "h264" {
        f.add(PICTURE, manifest, format!("{} {}x{} at {fps:.3} fps", v.codec, v.width, v.height));
    }
    if v.repeated_slots.saturating_mul(10) > v.frames {
        f.add(REPEATED, manifest, format!("{} of {} frames repeat the one before", v.repeated_slots, v.frames));
    }
    let Some(path) = files::file_ref(f, manifest, dir, &v.file, options.hashes) else { return };
    let info = match redline_media::probe(&path).and_then(|i| i.need_video().cloned()) {
        Ok(i) => i,
        Err(e) => return f.add(MEDIA, &path, without_path(&e.to_string(), &path)),
    };
    let fact = |f: &mut Findings, what: &str, is: String, said: String| {
        if is != said {
            f.add(MEDIA_CLAIM, &path, format!("its {what} is {is}, but {said} recorded"));
        }
    };
    fact(f, "size", format!("{}x{}", info.width, info.height), format!("{}x{}", v.width, v.height));
    fact(f, "codec", info.codec.clone(), v.codec.clone());
    if let Some(n) = info.frames.filter(|n| n.abs_diff(v.frames) > 1) {
        f.add(MEDIA_CLAIM, &path, format!("it holds {n} frames, but {} recorded", v.frames));
    }
    if let Some(ns) = info.duration_ns.filter(|ns| ns.abs_diff(v.grid.pts_ns(frames)) > FRAME_SLACK_NS as u64) {
        f.add(MEDIA_CLAIM, &path, format!("it is {:.3} s long, but its frames make {:.3} s", seconds(ns), seconds(v.grid.pts_ns(frames))));
    }
    decode(f, &path, options);
}

fn audio(f: &mut Findings, dir: &Path, manifest: &Path, session: &Session, a: &AudioStream, whole: bool, options: &Options) {
    let c = &a.clock;
    let rising =
        c.pieces.windows(2).all(|w| w[0].first_sample.checked_add(w[0].samples) == Some(w[1].first_sample) && w[0].t0_ns <= w[1].t0_ns);
    if c.sample_rate == 0 || !rising {
        f.add(AUDIO_TIME, manifest, "the audio’s clock is broken: its pieces are not in order, or its rate is 0");
        return;
    }
    if let Some((start, end)) = c.span_ns() {
        let length = session.duration_ns;
        let outside = start < -AUDIO_OUTSIDE_NS || end > length.saturating_add(AUDIO_OUTSIDE_NS);
        let missing = whole && (start > AUDIO_MISSING_NS || end < length.saturating_sub(AUDIO_MISSING_NS));
        if outside || missing {
            f.add(
                AUDIO_TIME,
                manifest,
                format!("it covers {:.3} to {:.3} s of a session of {:.3} s", seconds(start), seconds(end), seconds(length)),
            );
        }
    }
    let Some(path) = files::file_ref(f, manifest, dir, &a.file, options.hashes) else { return };
    let info = match redline_media::probe(&path).and_then(|i| i.need_audio().cloned()) {
        Ok(i) => i,
        Err(e) => return f.add(MEDIA, &path, without_path(&e.to_string(), &path)),
    };
    if (info.sample_rate, info.channels) != (c.sample_rate, a.channels) {
        let said = format!("{} Hz, {} channels recorded", c.sample_rate, a.channels);
        f.add(MEDIA_CLAIM, &path, format!("it has {} Hz, {} channels, but {said}", info.sample_rate, info.channels));
    }
    let samples: u64 = c.pieces.iter().fold(0, |n, p| n.saturating_add(p.samples));
    let nominal = (u128::from(samples) * NS_PER_S as u128 / u128::from(c.sample_rate)) as i64;
    if let Some(ns) = info.duration_ns.filter(|ns| ns.abs_diff(nominal) > FRAME_SLACK_NS as u64) {
        f.add(MEDIA_CLAIM, &path, format!("it is {:.3} s long, but its clock covers {:.3} s", seconds(ns), seconds(nominal)));
    }
    decode(f, &path, options);
}

fn decode(f: &mut Findings, path: &Path, options: &Options) {
    if options.decode
        && let Err(e) = redline_media::verify_decodable(path)
    {
        f.add(DECODE, path, without_path(&e.to_string(), path));
    }
}
