//! What of a corpus is packed.

use crate::Result;
use redline_schemas::{Corpus, ModelId, Participant, ParticipantId, SessionDir, Status, Utc};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What a session is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionKind {
    /// A request.
    Request,
    /// An edit.
    Edit,
    /// An agent's run.
    Run,
}

impl SessionKind {
    /// The name used in tables.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Request => "request",
            Self::Edit => "edit",
            Self::Run => "run",
        }
    }
}

/// A session, as far as every table needs it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SessionInfo {
    /// The request's, edit's or run's id.
    pub id: String,
    /// Which of them it is.
    pub kind: SessionKind,
    /// UTC at session time 0.
    pub started_utc: Utc,
}

impl SessionInfo {
    /// Its folder's path inside the corpus.
    #[must_use]
    pub fn folder(&self) -> String {
        format!("{}s/{}", self.kind.as_str(), self.id)
    }

    /// Its folder.
    #[must_use]
    pub fn dir(&self, corpus: &Corpus) -> SessionDir {
        SessionDir::new(corpus.root().join(self.folder()))
    }
}

/// Participants, and the names that they get.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct People {
    /// Sorted by their published names.
    pub participants: Vec<Participant>,
    /// New names; a participant that is not in it keeps the old one.
    pub names: BTreeMap<ParticipantId, String>,
    /// Whose ratings, and scores of runs, are packed; absent: everybody's.
    pub raters: Option<BTreeSet<ParticipantId>>,
}

impl People {
    /// A participant's published name.
    #[must_use]
    pub fn published(&self, id: &ParticipantId) -> String {
        self.names.get(id).cloned().unwrap_or_else(|| id.to_string())
    }
}

/// What is packed: sessions, models and participants.
#[derive(Debug, Clone, Default)]
pub struct Scope {
    /// Sorted by id.
    pub sessions: Vec<SessionInfo>,
    /// Sorted.
    pub models: Vec<ModelId>,
    /// Everybody with a part in it.
    pub people: Arc<People>,
    /// Sessions passed over because they are still being recorded (or their recorder died).
    pub unfinished: Vec<String>,
}

impl Scope {
    /// Everything in the corpus but unfinished recordings.
    pub fn all(corpus: &Corpus) -> Result<Self> {
        let people = People { participants: corpus.participants()?.participants, ..People::default() };
        let mut s = Self { models: corpus.model_ids()?, people: Arc::new(people), ..Self::default() };
        for id in corpus.request_ids()? {
            let m = corpus.request(&id)?;
            s.add(id.as_str(), SessionKind::Request, m.status, m.session.clock.started_utc);
        }
        for id in corpus.edit_ids()? {
            let m = corpus.edit(&id)?;
            s.add(id.as_str(), SessionKind::Edit, m.status, m.session.clock.started_utc);
        }
        for id in corpus.run_ids()? {
            let m = corpus.run(&id)?;
            s.add(id.as_str(), SessionKind::Run, m.status, m.session.clock.started_utc);
        }
        s.sort();
        Ok(s)
    }

    pub(crate) fn add(&mut self, id: &str, kind: SessionKind, status: Status, started_utc: Utc) {
        if status == Status::Recording {
            self.unfinished.push(id.into());
        } else {
            self.sessions.push(SessionInfo { id: id.into(), kind, started_utc });
        }
    }

    /// Brings everything into the tables' order.
    pub(crate) fn sort(&mut self) {
        self.sessions.sort_by(|a, b| (&a.id, a.kind).cmp(&(&b.id, b.kind)));
        let mut people = Arc::unwrap_or_clone(std::mem::take(&mut self.people));
        let mut sorted = std::mem::take(&mut people.participants);
        sorted.sort_by_cached_key(|p| people.published(&p.id));
        people.participants = sorted;
        self.people = Arc::new(people);
    }
}
