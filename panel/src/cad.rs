//! The connection to CAD programs beside a take. Who starts the panel says how it is made.

use redline_recorder::Recording;

/// Whether CAD programs are connected.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Connection {
    /// Nobody listens for them.
    #[default]
    Off,
    /// They are listened for, and none has come.
    Waiting,
    /// These have come, for people.
    Connected(String),
}

/// What listens to CAD programs while a take is recorded. Dropped, it ends at once.
pub trait Cad: Send {
    /// Who is there.
    fn connection(&self) -> Connection;
    /// Takes what plug-ins still hold; called before the recording stops. What a person should know about it.
    fn finish(self: Box<Self>, recording: &Recording) -> Vec<String>;
}

/// Begins to listen for a recording; why it can't, for people.
pub type StartCad = Box<dyn Fn(&Recording) -> Result<Option<Box<dyn Cad>>, String> + Send>;
