//! What raters and automatic metrics say of edits, in figures: medians, acceptance, agreement, correlations.
//!
//! [`gather`] reads a corpus, [`Report::of`] makes the figures. Every figure comes with the number of edits or pairs
//! it rests on, and is absent where it can't be computed.
//!
//! ```
//! use redline_ratings::{icc, spearman};
//! // Four raters' scores for six subjects, the worked example of Shrout & Fleiss (1979).
//! let scores = [[9., 2., 5., 8.], [6., 1., 3., 2.], [8., 4., 6., 8.], [7., 1., 2., 6.], [10., 5., 6., 9.], [6., 2., 4., 7.]];
//! let rows: Vec<Vec<f64>> = scores.iter().map(|r| r.to_vec()).collect();
//! let i = icc::two_way(&rows).unwrap();
//! assert_eq!((format!("{:.2}", i.single), format!("{:.2}", i.average)), ("0.29".into(), "0.62".into()));
//! assert_eq!(spearman::spearman(&[(1., 2.), (2., 3.), (3., 9.)]).unwrap().rho, 1.0);
//! ```

pub mod csv;
mod error;
mod gather;
pub mod icc;
pub mod leaderboard;
pub mod metrics;
mod report;
mod score;
pub mod spearman;

pub use error::{Error, Result};
pub use gather::{Maker, Rated, gather};
pub use leaderboard::Leaderboard;
pub use report::{Agreement, Correlation, Group, PairOfRaters, Report, ScoreFigures};
pub use score::{ACCEPTED_FROM, Score, accepted, median, normalised};
