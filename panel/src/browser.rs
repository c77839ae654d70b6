//! Shows an address in the user’s browser.

use std::process::{Command, Stdio};

/// The system’s own way to open an address. Only the one for Linux was ever run.
const OPENER: &str = if cfg!(target_os = "macos") {
    "open"
} else if cfg!(windows) {
    "explorer"
} else {
    "xdg-open"
};

/// Asks the system to open `address`; `failed` is called, on another thread, when it has no browser that does.
pub fn open(address: &str, failed: impl FnOnce() + Send + 'static) {
    let mut c = Command::new(OPENER);
    c.arg(address).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let Ok(mut child) = c.spawn() else { return failed() };
    // The opener ends at once, or stays as long as the browser.
    let waiting = std::thread::Builder::new().name("browser".into()).spawn(move || match child.wait() {
        Ok(status) if status.success() => {}
        _ => failed(),
    });
    if let Err(e) = waiting {
        tracing::warn!("nobody waits for the browser: {e}");
    }
}
