//! The designer’s window and the drawing overlay.
//!
//! [`state`] is the panel without a window, [`engine`] the thread that records, [`ui`] the window; [`overlay`] draws over
//! the screen and works without the panel too.

pub mod browser;
pub mod cad;
pub mod engine;
pub mod overlay;
pub mod place;
pub mod protocol;
pub mod settings;
pub mod state;
pub mod ui;
