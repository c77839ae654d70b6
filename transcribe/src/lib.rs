//! From sound to words that have a place in time.
//!
//! A recording is read block by block ([`audio`]), cut at its pauses ([`vad`], [`pieces`]), heard by
//! Whisper ([`engine`]), checked against inventions ([`guards`]), and its words get their times
//! ([`words`], [`align`]); [`recognise`] does all of that for one recording, [`corpus`] for requests.

pub mod align;
pub mod audio;
pub mod cache;
pub mod corpus;
pub mod engine;
pub mod formats;
pub mod guards;
pub mod pieces;
pub mod prompt;
pub mod recognise;
pub mod respell;
pub mod vad;
pub mod wer;
pub mod words;

mod error;
mod listening;

pub use error::{Error, Result};
