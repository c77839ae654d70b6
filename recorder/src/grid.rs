//! Which slot of the constant-rate grid a picture goes into.
//!
//! A picture belongs to the slot nearest to its capture time. A slot that got none shows the picture
//! before; so a late picture never shifts what follows.

use redline_schemas::time::FrameGrid;

/// The slots of a session, filled in order.
#[derive(Debug, Clone, Copy)]
pub struct Slots {
    grid: FrameGrid,
    next: i64,
}

impl Slots {
    /// No slot has a picture yet.
    #[must_use]
    pub fn new(grid: FrameGrid) -> Self {
        Self { grid, next: 0 }
    }

    /// When the next picture is due, session time.
    #[must_use]
    pub fn due_ns(&self) -> i64 {
        self.grid.t_ns_of_frame(self.next)
    }

    /// The slot for the picture captured at `t_ns`; each has one picture at most.
    pub fn place(&mut self, t_ns: i64) -> i64 {
        let slot = self.grid.nearest_frame(t_ns).max(self.next);
        self.next = slot + 1;
        slot
    }

    /// No picture could be taken: goes on with the first slot after `now_ns`.
    pub fn skip(&mut self, now_ns: i64) {
        self.next = (self.grid.frame_at(now_ns) + 1).max(self.next + 1);
    }

    /// The last slot of a session that ends at `end_ns`.
    #[must_use]
    pub fn last(&self, end_ns: i64) -> i64 {
        self.grid.frame_at(end_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MS: i64 = 1_000_000;

    fn slots() -> Slots {
        Slots::new(FrameGrid::new(100 * MS, 30, 1).unwrap())
    }

    #[test]
    fn late_pictures_leave_slots_out_and_shift_nothing() {
        let mut s = slots();
        assert_eq!([100, 133, 230, 267].map(|t| s.place(t * MS)), [0, 1, 4, 5]);
        assert_eq!(s.due_ns(), 300 * MS);
        s.skip(410 * MS);
        assert_eq!(s.due_ns(), 433_333_333, "slot 10");
        assert_eq!(s.last(433_333_333), 10);
    }

    proptest! {
        /// Pictures that are taken when they are due, or later, stand at most half a slot off their time.
        #[test]
        fn pictures_stand_near_their_time(late in prop::collection::vec(0_i64..120_000_000, 1..400)) {
            let mut s = slots();
            let (mut t, mut last) = (0, -1);
            for l in late {
                t = s.due_ns().max(t) + l;
                let slot = s.place(t);
                prop_assert!(slot > last);
                prop_assert!((s.grid.t_ns_of_frame(slot) - t).abs() <= 16_666_668);
                last = slot;
            }
        }
    }
}
