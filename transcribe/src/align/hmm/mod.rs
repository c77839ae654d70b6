//! Edges of words by a phone HMM, near where the recogniser placed them.

mod acoustic_model;
mod mfcc;
mod search;

pub(super) use acoustic_model::AcousticModel;
pub(super) use search::{Link, find_edges};
