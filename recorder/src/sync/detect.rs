//! Finds flashes, clicks and presses in a finished session, at the times that its files claim.

use super::patch::STRIPS;
use crate::Result;
use redline_media::{AudioBlocks, VideoFrames};
use redline_schemas::coords::ScreenMap;
use redline_schemas::time::AudioClock;
use redline_schemas::{InputEvent, InputKind, Session, SessionDir, jsonl};

/// A picture in which some strips are lit and some are not: it tells its own time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lit {
    /// The picture's time, by its PTS.
    pub t_ns: i64,
    /// Strips that are lit, from the left.
    pub strips: u16,
    /// The time of the picture before it.
    pub before_ns: i64,
}

/// The first picture of every flash.
pub fn flashes(dir: &SessionDir, session: &Session, middles: &[(f64, f64)]) -> Result<Vec<Lit>> {
    let (Some(video), Some(screen)) = (&session.streams.video, &session.screen) else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    let mut before: Option<(i64, u16)> = None;
    for frame in VideoFrames::open(&dir.video())? {
        let frame = frame?;
        let t_ns = video.grid.first_t_ns + frame.pts_ns;
        let strips = lit_strips(&frame.rgb, &screen.map, t_ns, middles);
        if let Some((before_ns, 0)) = before
            && strips > 0
        {
            found.push(Lit { t_ns, strips, before_ns });
        }
        before = Some((t_ns, strips));
    }
    Ok(found)
}

fn lit_strips(rgb: &image::RgbImage, map: &ScreenMap, t_ns: i64, middles: &[(f64, f64)]) -> u16 {
    let bright = |&(x, y): &(f64, f64)| {
        let Some((vx, vy)) = map.to_video(t_ns, x, y) else { return false };
        let (mut sum, mut n) = (0_u32, 0_u32);
        for dy in -8..=8 {
            for dx in -2..=2 {
                let (px, py) = (vx.round() as i64 + dx, vy.round() as i64 + dy);
                if let (Ok(px), Ok(py)) = (u32::try_from(px), u32::try_from(py))
                    && let Some(p) = rgb.get_pixel_checked(px, py)
                {
                    sum += u32::from(p.0[1]);
                    n += 1;
                }
            }
        }
        n > 0 && sum / n > 127
    };
    middles.iter().take(STRIPS.into()).take_while(|m| bright(m)).count() as u16
}

/// The onset of every click, session time.
pub fn clicks(dir: &SessionDir, session: &Session) -> Result<Vec<i64>> {
    let Some(audio) = &session.streams.audio else { return Ok(Vec::new()) };
    let mut samples = Vec::new();
    for block in AudioBlocks::open(&dir.audio())? {
        samples.extend(block?.samples);
    }
    Ok(onsets(&samples, &audio.clock))
}

/// Times at which the sound jumps up out of silence.
fn onsets(samples: &[f32], clock: &AudioClock) -> Vec<i64> {
    let peak = samples.iter().fold(0.0_f32, |m, s| m.max(s.abs()));
    // A fade of resampling filters before the click is quieter than this.
    let threshold = (peak * 0.3).max(0.01);
    let quiet = (f64::from(clock.sample_rate) * 0.2) as usize;
    let mut out = Vec::new();
    let mut last_loud: Option<usize> = None;
    for (i, s) in samples.iter().enumerate() {
        if s.abs() < threshold {
            continue;
        }
        if last_loud.is_none_or(|l| i - l > quiet) {
            out.extend(clock.t_ns_of_sample(i as f64));
        }
        last_loud = Some(i);
    }
    out
}

/// Every press of the left button, session time.
pub fn presses(dir: &SessionDir) -> Result<Vec<i64>> {
    let events = jsonl::read_all::<InputEvent>(&dir.input())?.0;
    Ok(events.iter().filter(|e| e.kind == InputKind::Press && e.button.as_deref() == Some("left")).map(|e| e.t_ns).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use redline_schemas::coords::Rect;

    #[test]
    fn lit_strips_are_counted_from_the_left_and_scaled() {
        let map = ScreenMap::fixed(Rect { x: 0, y: 0, width: 600, height: 300 }, 300, 150);
        let middles: Vec<_> = (0..16).map(|i| (52.0 + f64::from(i) * 24.0, 140.0)).collect();
        // 5 strips of 24 screen pixels from x = 40 on: to x = 160, which is 80 in the video.
        let rgb = image::RgbImage::from_fn(300, 150, |x, _| image::Rgb(if (20..80).contains(&x) { [255; 3] } else { [0; 3] }));
        assert_eq!(lit_strips(&rgb, &map, 0, &middles), 5);
        assert_eq!(lit_strips(&image::RgbImage::new(300, 150), &map, 0, &middles), 0);
    }

    #[test]
    fn onsets_are_found_to_the_sample() {
        let clock = AudioClock::nominal(1_000, 3_000, 500_000_000);
        let mut s = vec![0.001; 3_000];
        for start in [700, 1_800] {
            s[start..start + 5].copy_from_slice(&[0.7, -0.1, -0.7, 0.2, 0.6]);
        }
        assert_eq!(onsets(&s, &clock), [1_200_000_000, 2_300_000_000]);
        assert!(onsets(&[], &clock).is_empty());
    }
}
