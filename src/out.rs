//! Printing of results. A reader that went away (`redline … | head`) ends the program quietly, and output that cannot be
//! written is an error; the standard library's macro would panic at both.

use crate::exit::Exit;
use std::fmt::Arguments;
use std::io::{ErrorKind, Write as _};

/// As the standard library's.
macro_rules! println {
    () => { $crate::out::write(format_args!("\n")) };
    ($($arg:tt)*) => { $crate::out::write(format_args!("{}\n", format_args!($($arg)*))) };
}

/// Writes to standard output, or ends the program.
pub fn write(text: Arguments<'_>) {
    let mut out = std::io::stdout().lock();
    let Err(e) = out.write_fmt(text).and_then(|()| out.flush()) else { return };
    if e.kind() == ErrorKind::BrokenPipe {
        std::process::exit(0);
    }
    eprintln!("error: standard output: could not be written: {e}");
    std::process::exit(Exit::Storage as i32);
}
