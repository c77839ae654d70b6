//! How well a recording's streams agree with what really happened, measured.
//!
//! At known instants of the monotonic clock a patch on the screen lights up, a click sounds and a mouse button is
//! pressed ([`patch`], [`click`]), while the ordinary recorder runs. [`detect`] finds them again in the finished files
//! by the times that those files claim; [`report`] says how far the claims are off.

pub mod click;
pub mod detect;
pub mod patch;
pub mod report;

use serde::{Deserialize, Serialize};

/// When something really happened, session time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moment {
    /// The time: the middle between asking for it and its confirmation.
    pub t_ns: i64,
    /// Half of the time between: the bound of `t_ns`'s error.
    pub half_ns: i64,
}

/// One flash: strips of the patch that light up one after the other, so that a single picture tells its own time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Flash {
    /// When each strip was lit, from left to right.
    pub strips: Vec<Moment>,
}

/// All that was done during a recording.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Truth {
    /// Flashes, in order.
    pub flashes: Vec<Flash>,
    /// Clicks, in order.
    pub clicks: Vec<Moment>,
    /// Mouse presses, in order.
    pub presses: Vec<Moment>,
}
