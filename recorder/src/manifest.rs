//! The manifest of the session that is being recorded: of a request, an edit or a run.

use crate::{Error, Result};
use redline_schemas::{EditManifest, RenderEvent, RenderKind, RequestManifest, RunManifest, Session, SessionDir, Status, fsio, jsonl};

/// A request's, an edit's or a run's manifest.
#[derive(Debug, Clone)]
pub enum SessionManifest {
    /// `request.json`.
    Request(Box<RequestManifest>),
    /// `edit.json`.
    Edit(Box<EditManifest>),
    /// `run.json`.
    Run(Box<RunManifest>),
}

impl SessionManifest {
    /// Reads the manifest in a session's folder.
    pub fn load(dir: &SessionDir) -> Result<Self> {
        if dir.request_json().exists() {
            return Ok(Self::Request(Box::new(fsio::read_manifest(&dir.request_json())?)));
        }
        if dir.edit_json().exists() {
            return Ok(Self::Edit(Box::new(fsio::read_manifest(&dir.edit_json())?)));
        }
        if dir.run_json().exists() {
            return Ok(Self::Run(Box::new(fsio::read_manifest(&dir.run_json())?)));
        }
        Err(Error::Unrecoverable {
            path: dir.path().into(),
            reason: "none of request.json, edit.json and run.json is in it: this is no session’s folder".into(),
        })
    }

    /// Writes it into its folder.
    pub fn save(&self, dir: &SessionDir) -> Result<()> {
        match self {
            Self::Request(m) => fsio::write_json(&dir.request_json(), m)?,
            Self::Edit(m) => fsio::write_json(&dir.edit_json(), m)?,
            Self::Run(m) => fsio::write_json(&dir.run_json(), m)?,
        }
        Ok(())
    }

    /// The recording.
    #[must_use]
    pub fn session(&self) -> &Session {
        match self {
            Self::Request(m) => &m.session,
            Self::Edit(m) => &m.session,
            Self::Run(m) => &m.session,
        }
    }

    /// The recording.
    pub fn session_mut(&mut self) -> &mut Session {
        match self {
            Self::Request(m) => &mut m.session,
            Self::Edit(m) => &mut m.session,
            Self::Run(m) => &mut m.session,
        }
    }

    /// Where it stands.
    #[must_use]
    pub fn status(&self) -> Status {
        match self {
            Self::Request(m) => m.status,
            Self::Edit(m) => m.status,
            Self::Run(m) => m.status,
        }
    }

    /// Sets where it stands.
    pub fn set_status(&mut self, s: Status) {
        match self {
            Self::Request(m) => m.status = s,
            Self::Edit(m) => m.status = s,
            Self::Run(m) => m.status = s,
        }
    }

    /// The id, equal to the folder's name.
    #[must_use]
    pub fn id(&self) -> &str {
        match self {
            Self::Request(m) => m.id.as_str(),
            Self::Edit(m) => m.id.as_str(),
            Self::Run(m) => m.id.as_str(),
        }
    }

    /// Fills in an edit's end and result, and a run's resolution, from what was recorded; does nothing to a request.
    ///
    /// The result is the last final model that a CAD program sent.
    pub fn conclude(&mut self, dir: &SessionDir) -> Result<()> {
        let m = match self {
            Self::Request(_) => return Ok(()),
            Self::Edit(m) => m,
            Self::Run(m) => {
                let area = m.session.screen.as_ref().and_then(|s| s.map.areas.first());
                m.environment.resolution = area.map(|a| (a.area.width, a.area.height)).or(m.environment.resolution);
                return Ok(());
            }
        };
        if m.started_ns.is_some() && m.stopped_ns.is_none() {
            m.stopped_ns = Some(m.session.duration_ns);
        }
        if m.final_model.is_none() && dir.renders().exists() {
            let sent = jsonl::read_all::<RenderEvent>(&dir.renders())?.0;
            let last = sent.iter().rfind(|r| r.kind == RenderKind::Final).map(|r| dir.path().join(&r.path));
            if let Some(path) = last.filter(|p| p.is_file()) {
                m.final_model = Some(dir.file_ref(&path)?);
            }
        }
        Ok(())
    }

    /// The manifest's path.
    #[must_use]
    pub fn path(&self, dir: &SessionDir) -> std::path::PathBuf {
        match self {
            Self::Request(_) => dir.request_json(),
            Self::Edit(_) => dir.edit_json(),
            Self::Run(_) => dir.run_json(),
        }
    }
}
