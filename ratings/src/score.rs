//! Scores of one edit.

use redline_schemas::{MAX_SCORE, MIN_SCORE, Rating};
use serde::{Deserialize, Serialize};

/// The median from which an edit counts as accepted, on both scores.
pub const ACCEPTED_FROM: f64 = 5.0;

/// The two scores that a rater gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Score {
    /// How well the edit does what was asked.
    InstructionFollowing,
    /// How good the resulting model is.
    Quality,
}

impl Score {
    /// Both.
    pub const ALL: [Self; 2] = [Self::InstructionFollowing, Self::Quality];

    /// The rating's value, 1 to 7.
    #[must_use]
    pub fn of(self, r: &Rating) -> f64 {
        f64::from(match self {
            Self::InstructionFollowing => r.instruction_following,
            Self::Quality => r.quality,
        })
    }

    /// The name in files.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::InstructionFollowing => "instruction_following",
            Self::Quality => "quality",
        }
    }
}

/// A score of 1 to 7 on the scale 0 to 1.
#[must_use]
pub fn normalised(score: f64) -> f64 {
    (score - f64::from(MIN_SCORE)) / f64::from(MAX_SCORE - MIN_SCORE)
}

/// The middle value; of an even number, the mean of the two in the middle.
#[must_use]
pub fn median(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let mut v: Vec<f64> = values.into_iter().collect();
    v.sort_by(f64::total_cmp);
    let (n, half) = (v.len(), v.len() / 2);
    match n {
        0 => None,
        _ if n % 2 == 1 => v.get(half).copied(),
        _ => Some((v[half - 1] + v[half]) / 2.0),
    }
}

/// Whether an edit with these medians, 1 to 7, counts as accepted.
#[must_use]
pub fn accepted(instruction_following: f64, quality: f64) -> bool {
    instruction_following >= ACCEPTED_FROM && quality >= ACCEPTED_FROM
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_have_a_scale_a_middle_and_a_bar() {
        assert_eq!([1.0, 4.0, 5.5, 7.0].map(normalised), [0.0, 0.5, 0.75, 1.0]);
        assert_eq!(median([]), None);
        assert_eq!(median([3.0]), Some(3.0));
        assert_eq!(median([7.0, 1.0, 4.0]), Some(4.0));
        assert_eq!(median([6.0, 2.0, 7.0, 5.0]), Some(5.5));
        assert!(accepted(5.0, 5.0) && !accepted(7.0, 4.5) && !accepted(4.9, 7.0));
    }
}
