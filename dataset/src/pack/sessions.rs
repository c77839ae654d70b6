//! What of a corpus is packed.

use crate::Result;
use redline_schemas::{Corpus, ModelId, Participant, ParticipantId, SessionDir, Status, Utc};
use std::collections::{BTreeMap, BTreeSet};

/// What a session is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SessionKind {
    /// A request.
    Request,
    /// An edit.
    Edit,
}

impl SessionKind {
    /// The name used in tables.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Request => "request",
            Self::Edit => "edit",
        }
    }
}

/// A session, as far as every table needs it.
#[derive(Debug, Clone)]
pub struct SessionInfo {
    /// The request's or edit's id.
    pub id: String,
    /// Which of the two it is.
    pub kind: SessionKind,
    /// Its folder.
    pub dir: SessionDir,
    /// UTC at session time 0.
    pub started_utc: Utc,
}

impl SessionInfo {
    /// Its folder's path inside the corpus.
    #[must_use]
    pub fn folder(&self) -> String {
        format!("{}s/{}", self.kind.as_str(), self.id)
    }
}

/// What is packed: sessions, models and participants, and the names that participants get.
#[derive(Debug, Clone, Default)]
pub struct Scope {
    /// Sorted by id.
    pub sessions: Vec<SessionInfo>,
    /// Sorted.
    pub models: Vec<ModelId>,
    /// Sorted by their published names.
    pub participants: Vec<Participant>,
    /// New names; a participant that is not in it keeps the old one.
    pub names: BTreeMap<ParticipantId, String>,
    /// Whose ratings are packed; absent: everybody's.
    pub raters: Option<BTreeSet<ParticipantId>>,
    /// Sessions passed over because they are still being recorded (or their recorder died).
    pub unfinished: Vec<String>,
}

impl Scope {
    /// Everything in the corpus but unfinished recordings.
    pub fn all(corpus: &Corpus) -> Result<Self> {
        let mut s = Self { models: corpus.model_ids()?, participants: corpus.participants()?.participants, ..Self::default() };
        for id in corpus.request_ids()? {
            let m = corpus.request(&id)?;
            s.add(id.as_str(), SessionKind::Request, corpus.request_dir(&id), m.status, m.session.clock.started_utc);
        }
        for id in corpus.edit_ids()? {
            let m = corpus.edit(&id)?;
            s.add(id.as_str(), SessionKind::Edit, corpus.edit_dir(&id), m.status, m.session.clock.started_utc);
        }
        s.sort();
        Ok(s)
    }

    pub(crate) fn add(&mut self, id: &str, kind: SessionKind, dir: SessionDir, status: Status, started_utc: Utc) {
        if status == Status::Recording {
            self.unfinished.push(id.into());
        } else {
            self.sessions.push(SessionInfo { id: id.into(), kind, dir, started_utc });
        }
    }

    /// Brings everything into the tables' order.
    pub(crate) fn sort(&mut self) {
        self.sessions.sort_by(|a, b| (&a.id, a.kind).cmp(&(&b.id, b.kind)));
        let mut people = std::mem::take(&mut self.participants);
        people.sort_by_cached_key(|p| self.published(&p.id));
        self.participants = people;
    }

    /// A participant's published name.
    #[must_use]
    pub fn published(&self, id: &ParticipantId) -> String {
        self.names.get(id).cloned().unwrap_or_else(|| id.to_string())
    }
}
