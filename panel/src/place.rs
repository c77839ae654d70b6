//! Where the panel goes so that it is not in the picture.

use redline_schemas::coords::Rect;

/// Room between the panel and the recorded area, pixels: a window manager’s frame.
const ROOM: i32 = 8;

/// A place of `size` on one of the monitors that does not touch `recorded`, nearest to `now` (left top).
///
/// `None` when there is none: the panel must be minimised while it records.
#[must_use]
pub fn beside(recorded: Rect, monitors: &[Rect], size: (u32, u32), now: (i32, i32)) -> Option<(i32, i32)> {
    let (w, h) = (size.0 as i32, size.1 as i32);
    let edges = |r: &Rect| (r.x, r.y, r.x.saturating_add_unsigned(r.width), r.y.saturating_add_unsigned(r.height));
    let (rx0, ry0, rx1, ry1) = edges(&recorded);
    let clear = |(x, y): (i32, i32)| x + w + ROOM <= rx0 || x >= rx1 + ROOM || y + h + ROOM <= ry0 || y >= ry1 + ROOM;
    let mut best: Option<(i64, (i32, i32))> = None;
    for m in monitors {
        let (mx0, my0, mx1, my1) = edges(m);
        if mx1 - mx0 < w || my1 - my0 < h {
            continue;
        }
        let (cx, cy) = (now.0.clamp(mx0, mx1 - w), now.1.clamp(my0, my1 - h));
        for x in [cx, rx0 - w - ROOM, rx1 + ROOM, mx0, mx1 - w] {
            for y in [cy, ry0 - h - ROOM, ry1 + ROOM, my0, my1 - h] {
                if x < mx0 || y < my0 || x + w > mx1 || y + h > my1 || !clear((x, y)) {
                    continue;
                }
                let far = i64::from(x - now.0).pow(2) + i64::from(y - now.1).pow(2);
                if best.is_none_or(|b| far < b.0) {
                    best = Some((far, (x, y)));
                }
            }
        }
    }
    best.map(|b| b.1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const FULL: Rect = Rect { x: 0, y: 0, width: 1920, height: 1080 };

    #[test]
    fn it_stays_where_it_may_and_moves_where_it_must() {
        let window = Rect { x: 0, y: 0, width: 1400, height: 1080 };
        assert_eq!(beside(window, &[FULL], (400, 700), (1500, 100)), Some((1500, 100)));
        assert_eq!(beside(window, &[FULL], (400, 700), (900, 100)), Some((1408, 100)));
        assert_eq!(beside(FULL, &[FULL], (400, 700), (900, 100)), None);
        let second = Rect { x: 1920, ..FULL };
        assert_eq!(beside(FULL, &[FULL, second], (400, 700), (900, 100)), Some((1928, 100)));
    }

    proptest! {
        #[test]
        fn it_is_never_in_the_picture(x in -100_i32..2000, y in -100_i32..1200, w in 1_u32..2000, h in 1_u32..1200, nx in -500_i32..3000, ny in -500_i32..2000) {
            let recorded = Rect { x, y, width: w, height: h };
            if let Some((px, py)) = beside(recorded, &[FULL], (400, 700), (nx, ny)) {
                let panel = Rect { x: px, y: py, width: 400, height: 700 };
                prop_assert!(panel.intersect(&recorded).is_none());
                prop_assert_eq!(panel.intersect(&FULL), Some(panel));
            }
        }
    }
}
