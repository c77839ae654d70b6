//! The CAD bridge beside a recording.

use redline_recorder::Recording;

/// What of the CAD program is recorded.
#[derive(Debug, clap::Args)]
pub struct CadArgs {
    /// Do not listen to CAD programs
    #[cfg(feature = "bridge")]
    #[arg(long)]
    no_bridge: bool,
    /// Least time between two renders from the CAD program, milliseconds
    #[cfg(feature = "bridge")]
    #[arg(long, value_name = "MS", default_value_t = redline_bridge::Wants::DEFAULT_RENDER_INTERVAL_MS, value_parser = clap::value_parser!(u64).range(50..=600_000))]
    render_interval: u64,
}

#[cfg(feature = "bridge")]
mod with_bridge {
    use super::*;
    use redline_bridge::{Bridge, ClientInfo, Wants, discovery};
    use redline_schemas::{MarkEvent, MarkKind};
    use std::time::Duration;

    /// The longest wait for what plug-ins still hold: an export of a large model takes its time.
    const PATIENCE: Duration = Duration::from_secs(60);

    /// The running bridge, if there is one.
    pub struct CadBridge {
        bridge: Option<Bridge>,
    }

    impl CadArgs {
        /// Starts the bridge of a recording. When it can't start, that is said, and the recording goes on without it.
        pub fn start(&self, recording: &Recording, final_model: bool) -> CadBridge {
            if self.no_bridge {
                return CadBridge { bridge: None };
            }
            let wants = Wants { render_interval_ms: self.render_interval, final_model, ..Wants::default() };
            let clock = recording.clock().clone();
            let tell = recording.teller();
            let on_client = move |c: &ClientInfo| {
                let document = c.document.as_ref().map(|d| format!(" with {d}")).unwrap_or_default();
                tell(format!("{} is connected{document}", c.program));
            };
            let bridge = Bridge::start(recording.dir().clone(), discovery::default_path(), wants, move || clock.now_ns(), on_client);
            CadBridge { bridge: bridge.inspect_err(|e| eprintln!("{e}; recording goes on without it")).ok() }
        }
    }

    impl CadBridge {
        /// Takes what plug-ins still hold, and says what came of it. Call before the recording stops.
        pub fn finish(self, recording: &Recording) {
            let Some(bridge) = self.bridge else { return };
            if bridge.clients().is_empty() {
                eprintln!("no CAD bridge connected: no selections, commands and renders were recorded");
            }
            for c in bridge.drain(PATIENCE) {
                eprintln!("{} did not say goodbye: what it did last may be missing", c.program);
            }
            let lost = bridge.lost();
            if lost > 0 {
                let note = format!("the CAD plug-in had to drop {lost} events");
                eprintln!("{note}");
                let mark = MarkEvent {
                    t_ns: recording.clock().now_ns(),
                    kind: MarkKind::Mark,
                    until_ns: None,
                    stream: Some("commands".into()),
                    note: Some(note),
                    area: None,
                };
                if let Err(e) = recording.write_mark(&mark) {
                    eprintln!("{e}");
                }
            }
            if let Err(e) = bridge.stop() {
                eprintln!("{e}");
            }
        }
    }
}

#[cfg(not(feature = "bridge"))]
mod without_bridge {
    use super::*;

    /// Nothing: this build has no bridge.
    pub struct CadBridge;

    impl CadArgs {
        /// Does nothing.
        pub fn start(&self, _: &Recording, _: bool) -> CadBridge {
            CadBridge
        }
    }

    impl CadBridge {
        /// Does nothing.
        pub fn finish(self, _: &Recording) {}
    }
}
