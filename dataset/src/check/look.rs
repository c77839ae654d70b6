//! One session or model at a time, here or on another machine.

use super::finding::{Finding, Findings};
use super::manifests::Schemas;
use super::session::Known;
use super::{Options, personal, runs, session};
use crate::pack::{SessionKind, Task};
use crate::{Error, Result};
use redline_schemas::{
    Corpus, EditId, EditManifest, ModelId, ModelManifest, Participant, ParticipantId, RequestId, RequestManifest, RunId, TaskId,
    TaskManifest,
};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

/// The name of the tasks that check.
pub(crate) const CHECK: &str = "check";

/// What sessions are checked against, besides what lies in their folders.
#[derive(Default, Serialize, Deserialize)]
pub struct Context {
    pub(super) options: Options,
    pub(super) people: BTreeMap<ParticipantId, Participant>,
    pub(super) models: BTreeSet<ModelId>,
    pub(super) requests: BTreeSet<RequestId>,
    pub(super) tasks: BTreeMap<TaskId, TaskManifest>,
    pub(super) labels: Vec<String>,
    /// Made of the options when they are first needed.
    #[serde(skip)]
    pub(super) patterns: OnceLock<personal::Patterns>,
}

impl std::fmt::Debug for Context {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Context of {} requests", self.requests.len())
    }
}

impl Context {
    pub(super) fn known<'a>(&'a self, corpus: &'a Corpus) -> Result<Known<'a>> {
        let personal = match self.patterns.get() {
            Some(p) => p,
            None => {
                let made = personal::Patterns::new(&self.options.names)?;
                self.patterns.get_or_init(|| made)
            }
        };
        Ok(Known {
            corpus,
            schemas: Schemas::get()?,
            people: &self.people,
            models: &self.models,
            requests: &self.requests,
            personal,
            options: &self.options,
            tasks: &self.tasks,
            labels: &self.labels,
        })
    }
}

/// What came out of a folder.
#[derive(Serialize, Deserialize)]
pub(super) struct Looked {
    pub read: Read,
    pub findings: Vec<Finding>,
}

/// Its manifest.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Read {
    Model(Box<ModelManifest>),
    Request(Box<RequestManifest>),
    Edit(Box<EditManifest>),
    Nothing,
}

/// Looks at a task's sessions and models; JSON for each.
pub(crate) fn look(corpus: &Corpus, context: &Context, task: &Task) -> Result<Vec<String>> {
    let known = context.known(corpus)?;
    let mut out = Vec::new();
    let mut put = |f: Findings, read: Option<Read>| -> Result<()> {
        let looked = Looked { read: read.unwrap_or(Read::Nothing), findings: f.into_list() };
        let text = serde_json::to_string(&looked);
        out.push(text.map_err(|e| Error::Refused(format!("findings cannot be written: {e}")))?);
        Ok(())
    };
    for s in &task.sessions {
        let mut f = Findings::new(corpus.root());
        let read = match s.kind {
            SessionKind::Request => session::request(&mut f, &RequestId::new(&s.id)?, &known).map(|m| Read::Request(Box::new(m))),
            SessionKind::Edit => session::edit(&mut f, &EditId::new(&s.id)?, &known).map(|m| Read::Edit(Box::new(m))),
            SessionKind::Run => {
                runs::run(&mut f, &RunId::new(&s.id)?, &known);
                None
            }
        };
        put(f, read)?;
    }
    for id in &task.models {
        let mut f = Findings::new(corpus.root());
        let read = session::model(&mut f, id, &known).map(|m| Read::Model(Box::new(m)));
        put(f, read)?;
    }
    Ok(out)
}
