//! `renders`.

use super::{Id, Image, Int, Label, Text, Time, Utc, table};
use redline_schemas::{RenderEvent, RenderKind, time};

table! {
    /// One row a picture or model file that a session left behind.
    "renders", sorted by ["session_id", "t_ns"] {
        /// The request or edit that it belongs to.
        session_id: Id,
        /// What the session is: request, edit, run.
        session: Label,
        /// Session time at which the picture or state was true.
        t_ns: Time ["ns"],
        /// The same moment as wall-clock time.
        utc: Utc,
        /// What it is: render, state, final.
        kind: Label,
        /// The picture, where it is one.
        image: Option<Image>,
        /// Path of the file.
        path: Text,
        /// SHA-256 of the file.
        sha256: Text,
        /// `seq` of the command that it followed.
        after_command: Option<Int>,
        /// The plug-in's running number.
        seq: Int,
        /// Bound on the error of `t_ns`.
        error_ns: Time ["ns"],
    }
}

/// Appends a picture or state.
pub(crate) fn append(b: &mut Builder, s: &crate::pack::SessionInfo, e: &RenderEvent) {
    let path = format!("{}/{}", s.folder(), e.path);
    let picture = [".png", ".jpg", ".jpeg", ".webp"].iter().any(|x| e.path.to_ascii_lowercase().ends_with(x));
    b.append(Row {
        session_id: &s.id,
        session: s.kind.as_str(),
        t_ns: e.t_ns,
        utc: time::utc_micros(s.started_utc, e.t_ns),
        kind: match e.kind {
            RenderKind::Render => "render",
            RenderKind::State => "state",
            RenderKind::Final => "final",
        },
        image: picture.then_some(path.as_str()),
        path: &path,
        sha256: &e.sha256,
        after_command: e.after_command.map(|c| c as i64),
        seq: e.seq as i64,
        error_ns: e.error_ns,
    });
}
