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
            let bridge = self.open(recording, final_model).inspect_err(|e| eprintln!("{e}; recording goes on without it"));
            bridge.unwrap_or(CadBridge { bridge: None })
        }

        /// Starts the bridge of a recording.
        pub fn open(&self, recording: &Recording, final_model: bool) -> redline_bridge::Result<CadBridge> {
            if self.no_bridge {
                return Ok(CadBridge { bridge: None });
            }
            let wants = Wants { render_interval_ms: self.render_interval, final_model, ..Wants::default() };
            let clock = recording.clock().clone();
            let tell = recording.teller();
            let on_client = move |c: &ClientInfo| {
                let document = c.document.as_ref().map(|d| format!(" with {d}")).unwrap_or_default();
                tell(format!("{} is connected{document}", c.program));
            };
            let bridge = Bridge::start(recording.dir().clone(), discovery::default_path(), wants, move || clock.now_ns(), on_client)?;
            Ok(CadBridge { bridge: Some(bridge) })
        }
    }

    impl CadBridge {
        /// Takes what plug-ins still hold, and says what came of it. Call before the recording stops.
        pub fn finish(self, recording: &Recording) {
            if self.bridge.as_ref().is_some_and(|b| b.clients().is_empty()) {
                eprintln!("no CAD bridge connected: no selections, commands and renders were recorded");
            }
            for said in self.drain(recording) {
                eprintln!("{said}");
            }
        }

        /// Takes what plug-ins still hold; what went wrong with it. Call before the recording stops.
        pub fn drain(self, recording: &Recording) -> Vec<String> {
            let Some(bridge) = self.bridge else { return Vec::new() };
            let silent = bridge.drain(PATIENCE);
            let mut said: Vec<String> =
                silent.iter().map(|c| format!("{} did not say goodbye: what it did last may be missing", c.program)).collect();
            let lost = bridge.lost();
            if lost > 0 {
                let note = format!("the CAD plug-in had to drop {lost} events");
                said.push(note.clone());
                let mark = MarkEvent {
                    t_ns: recording.clock().now_ns(),
                    kind: MarkKind::Mark,
                    until_ns: None,
                    stream: Some("commands".into()),
                    note: Some(note),
                    area: None,
                };
                if let Err(e) = recording.write_mark(&mark) {
                    said.push(e.to_string());
                }
            }
            if let Err(e) = bridge.stop() {
                said.push(e.to_string());
            }
            said
        }
    }

    #[cfg(feature = "panel")]
    impl redline_panel::cad::Cad for CadBridge {
        fn connection(&self) -> redline_panel::cad::Connection {
            use redline_panel::cad::Connection::{Connected, Off, Waiting};
            let Some(bridge) = &self.bridge else { return Off };
            let mut names: Vec<String> = bridge.clients().into_iter().map(|c| c.program).collect();
            names.sort();
            names.dedup();
            if names.is_empty() { Waiting } else { Connected(names.join(", ")) }
        }

        fn finish(self: Box<Self>, recording: &Recording) -> Vec<String> {
            (*self).drain(recording)
        }
    }

    #[cfg(feature = "panel")]
    impl CadArgs {
        /// Starts the bridge of each of the panel's takes.
        pub fn starter(self) -> redline_panel::cad::StartCad {
            Box::new(move |recording| {
                if self.no_bridge {
                    return Ok(None);
                }
                let bridge = self.open(recording, false).map_err(|e| format!("CAD programs are not listened to: {e}"))?;
                Ok(Some(Box::new(bridge)))
            })
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

        /// Never starts one.
        #[cfg(feature = "panel")]
        pub fn starter(self) -> redline_panel::cad::StartCad {
            Box::new(|_| Ok(None))
        }
    }

    impl CadBridge {
        /// Does nothing.
        pub fn finish(self, _: &Recording) {}
    }
}
