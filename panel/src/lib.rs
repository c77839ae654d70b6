//! The designer's window and the drawing overlay.
