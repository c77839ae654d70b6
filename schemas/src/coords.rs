//! One picture: conversions between screen pixels and video pixels.
//!
//! Screen pixels are the desktop's physical pixels (X11 root coordinates), so they may be negative
//! on systems with monitors left of or above the first. Video pixels count from the picture's top left.
//! Pixel `n` covers `[n, n+1)`; a pointer at screen pixel `n` is taken to be at `n + 0.5`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A rectangle in screen pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Rect {
    /// Left edge.
    pub x: i32,
    /// Top edge.
    pub y: i32,
    /// Width, pixels.
    pub width: u32,
    /// Height, pixels.
    pub height: u32,
}

impl Rect {
    /// Whether the screen pixel lies inside.
    #[must_use]
    pub fn contains(&self, x: f64, y: f64) -> bool {
        x >= f64::from(self.x)
            && y >= f64::from(self.y)
            && x < f64::from(self.x) + f64::from(self.width)
            && y < f64::from(self.y) + f64::from(self.height)
    }

    /// The part that both cover, `None` when they do not touch.
    #[must_use]
    pub fn intersect(&self, o: &Self) -> Option<Self> {
        let right = |r: &Self| i64::from(r.x) + i64::from(r.width);
        let bottom = |r: &Self| i64::from(r.y) + i64::from(r.height);
        let (x, y) = (self.x.max(o.x), self.y.max(o.y));
        let (w, h) = (right(self).min(right(o)) - i64::from(x), bottom(self).min(bottom(o)) - i64::from(y));
        (w > 0 && h > 0).then_some(Self { x, y, width: w as u32, height: h as u32 })
    }
}

/// The size of the video for an area: height `max_height` at most, width in proportion, both even
/// (H.264 with 4:2:0 needs that).
#[must_use]
pub fn video_size(area: Rect, max_height: u32) -> (u32, u32) {
    let h = area.height.min(max_height).max(2) & !1;
    let w = (u64::from(area.width) * u64::from(h) + u64::from(area.height / 2)) / u64::from(area.height.max(1));
    (((w as u32).max(2) + 1) & !1, h)
}

/// Where the captured area was at some time; a captured window may move.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AreaAt {
    /// From this session time on.
    pub t_ns: i64,
    /// The captured area, screen pixels.
    pub area: Rect,
}

/// Maps screen pixels to video pixels and back over a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ScreenMap {
    /// The captured area over time; the first entry holds from the session's start.
    pub areas: Vec<AreaAt>,
    /// Video width, pixels.
    pub video_width: u32,
    /// Video height, pixels.
    pub video_height: u32,
}

impl ScreenMap {
    /// A map for an area that stays in place.
    #[must_use]
    pub fn fixed(area: Rect, video_width: u32, video_height: u32) -> Self {
        Self { areas: vec![AreaAt { t_ns: 0, area }], video_width, video_height }
    }

    /// The area at `t_ns`.
    #[must_use]
    pub fn area_at(&self, t_ns: i64) -> Option<Rect> {
        let i = self.areas.partition_point(|a| a.t_ns <= t_ns).saturating_sub(1);
        self.areas.get(i).map(|a| a.area)
    }

    /// Screen to video pixels. Points outside the area give values outside the picture.
    /// `None` when no area is known or it is empty.
    #[must_use]
    pub fn to_video(&self, t_ns: i64, x: f64, y: f64) -> Option<(f64, f64)> {
        let a = self.area_at(t_ns).filter(|a| a.width > 0 && a.height > 0)?;
        let sx = f64::from(self.video_width) / f64::from(a.width);
        let sy = f64::from(self.video_height) / f64::from(a.height);
        Some(((x + 0.5 - f64::from(a.x)) * sx - 0.5, (y + 0.5 - f64::from(a.y)) * sy - 0.5))
    }

    /// Video to screen pixels; the inverse of [`Self::to_video`].
    #[must_use]
    pub fn to_screen(&self, t_ns: i64, vx: f64, vy: f64) -> Option<(f64, f64)> {
        let a = self.area_at(t_ns)?;
        if self.video_width == 0 || self.video_height == 0 {
            return None;
        }
        let sx = f64::from(a.width) / f64::from(self.video_width);
        let sy = f64::from(a.height) / f64::from(self.video_height);
        Some(((vx + 0.5) * sx - 0.5 + f64::from(a.x), (vy + 0.5) * sy - 0.5 + f64::from(a.y)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn full_hd_becomes_720p() {
        let area = Rect { x: -1920, y: 0, width: 1920, height: 1080 };
        assert_eq!(video_size(area, 720), (1280, 720));
        let m = ScreenMap::fixed(area, 1280, 720);
        // The middle of a 3x3-pixel block on screen is the middle of its 2x2 block in the video.
        assert_eq!(m.to_video(0, -1920.0 + 1.0, 1.0), Some((0.5, 0.5)));
        assert_eq!(m.to_screen(0, 0.5, 0.5), Some((-1919.0, 1.0)));
    }

    #[test]
    fn odd_sizes_become_even_and_small_areas_are_not_enlarged() {
        assert_eq!(video_size(Rect { x: 0, y: 0, width: 333, height: 251 }, 720), (332, 250));
        assert_eq!(video_size(Rect { x: 0, y: 0, width: 1600, height: 1040 }, 720), (1108, 720));
    }

    #[test]
    fn a_moved_window_maps_by_time() {
        let a = Rect { x: 0, y: 0, width: 100, height: 100 };
        let m = ScreenMap {
            areas: vec![AreaAt { t_ns: 0, area: a }, AreaAt { t_ns: 50, area: Rect { x: 10, ..a } }],
            video_width: 100,
            video_height: 100,
        };
        assert_eq!(m.to_video(49, 20.0, 5.0), Some((20.0, 5.0)));
        assert_eq!(m.to_video(50, 20.0, 5.0), Some((10.0, 5.0)));
    }

    proptest! {
        #[test]
        fn pixels_round_trip(x in -5000_i32..5000, y in -5000_i32..5000, w in 1_u32..8000, h in 1_u32..8000, px in -1e4_f64..1e4, py in -1e4_f64..1e4) {
            let area = Rect { x, y, width: w, height: h };
            let (vw, vh) = video_size(area, 720);
            let m = ScreenMap::fixed(area, vw, vh);
            let (vx, vy) = m.to_video(0, px, py).unwrap();
            let (sx, sy) = m.to_screen(0, vx, vy).unwrap();
            prop_assert!((sx - px).abs() < 1e-6 && (sy - py).abs() < 1e-6);
            prop_assert_eq!(vw % 2 + vh % 2, 0);
        }
    }
}
