//! A virtual desktop: screen, window manager, sound; for the demo, the tests and the benchmarks.
