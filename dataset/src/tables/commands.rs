//! `commands`.

use super::{Id, Int, Json, Label, Text, Time, Utc, table};
use redline_schemas::{CommandEvent, CommandKind, time};

table! {
    /// One row something that the CAD program did.
    "commands", sorted by ["session_id", "t_ns"] {
        /// The request or edit during which it happened.
        session_id: Id,
        /// What the session is: request, edit, run.
        session: Label,
        /// Session time.
        t_ns: Time ["ns"],
        /// The same moment as wall-clock time.
        utc: Utc,
        /// What happened: started, ended, cancelled, camera, saved, changed.
        kind: Label,
        /// The program's id of the command.
        command_id: Option<Label>,
        /// The command's name as people see it.
        name: Option<Text>,
        /// Parameters, the camera or other details, as the program gives them.
        parameters: Option<Json>,
        /// The plug-in's running number.
        seq: Int,
        /// Bound on the error of `t_ns`.
        error_ns: Time ["ns"],
    }
}

/// Appends a command's event.
pub(crate) fn append(b: &mut Builder, s: &crate::pack::SessionInfo, e: &CommandEvent) {
    b.append(Row {
        session_id: &s.id,
        session: s.kind.as_str(),
        t_ns: e.t_ns,
        utc: time::utc_micros(s.started_utc, e.t_ns),
        kind: match e.kind {
            CommandKind::Started => "started",
            CommandKind::Ended => "ended",
            CommandKind::Cancelled => "cancelled",
            CommandKind::Camera => "camera",
            CommandKind::Saved => "saved",
            CommandKind::Changed => "changed",
        },
        command_id: e.command_id.as_deref(),
        name: e.name.as_deref(),
        parameters: e.parameters.as_ref().map(ToString::to_string).as_deref(),
        seq: e.seq as i64,
        error_ns: e.error_ns,
    });
}
