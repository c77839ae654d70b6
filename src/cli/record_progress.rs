//! What a recording shows while it runs: its messages, and a line of figures.

use redline_recorder::{Progress, Recording};
use std::io::{IsTerminal as _, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// What is shown, and until when.
pub struct Shown {
    begun: Instant,
    duration: Option<Duration>,
    terminal: bool,
    at: Instant,
    before: Progress,
}

impl Shown {
    /// For a recording that has just begun and ends by itself after `duration`.
    pub fn new(recording: &Recording, duration: Option<Duration>) -> Self {
        let now = Instant::now();
        Self { begun: now, duration, terminal: std::io::stderr().is_terminal(), at: now, before: recording.progress() }
    }

    /// Prints what is new; false once the time is over or `stop` is set.
    pub fn goes_on(&mut self, recording: &Recording, stop: &AtomicBool) -> bool {
        for m in recording.messages() {
            if self.terminal {
                eprint!("\r\x1b[K");
            }
            eprintln!("{m}");
        }
        if stop.load(Ordering::Acquire) || self.left().is_some_and(|l| l.is_zero()) {
            return false;
        }
        let every = if self.terminal { Duration::from_millis(250) } else { Duration::from_secs(5) };
        if self.at.elapsed() >= every {
            let now = recording.progress();
            let line = progress_line(&self.before, &now);
            if self.terminal {
                eprint!("\r\x1b[K{line}")
            } else {
                eprintln!("{line}")
            }
            let _ = std::io::stderr().flush();
            (self.at, self.before) = (Instant::now(), now);
        }
        true
    }

    /// How long to wait before the next look.
    pub fn pause(&self) -> Duration {
        self.left().unwrap_or(Duration::MAX).min(Duration::from_millis(20))
    }

    fn left(&self) -> Option<Duration> {
        self.duration.map(|d| d.saturating_sub(self.begun.elapsed()))
    }
}

impl Drop for Shown {
    /// What follows begins on a line of its own.
    fn drop(&mut self) {
        if self.terminal {
            eprintln!();
        }
    }
}

fn progress_line(before: &Progress, now: &Progress) -> String {
    let seconds = (now.elapsed_ns - before.elapsed_ns).max(1) as f64 / 1e9;
    let fps = (now.frames - before.frames) as f64 / seconds;
    let t = now.elapsed_ns / 1_000_000_000;
    let audio = match now.level {
        None => "no microphone".to_owned(),
        Some(l) => format!("audio {:>4} dB {}", if l > 0.0 { format!("{:.0}", 20.0 * l.log10()) } else { "-inf".into() }, meter(l)),
    };
    format!(
        "{:02}:{:02}  {fps:4.1} fps  {}{} repeated, {} dropped  {} events  {audio}",
        t / 60,
        t % 60,
        if now.paused { "paused  " } else { "" },
        now.repeated,
        now.dropped,
        now.events
    )
}

fn meter(level: f32) -> String {
    // Twelve steps of 5 dB.
    let steps = if level > 0.0 { ((60.0 + 20.0 * level.log10()) / 5.0).clamp(0.0, 12.0) as usize } else { 0 };
    format!("[{}{}]", "#".repeat(steps), ".".repeat(12 - steps))
}

#[cfg(test)]
mod tests {
    use super::meter;

    #[test]
    fn the_level_is_a_bar_of_5_db_steps() {
        assert_eq!(meter(0.0), "[............]");
        assert_eq!(meter(1.0), "[############]");
        assert_eq!(meter(0.1), "[########....]");
    }
}
