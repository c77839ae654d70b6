//! The designer's window and the drawing overlay.

pub mod overlay;
