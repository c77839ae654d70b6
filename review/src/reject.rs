//! Requests and edits that are not up to standard: kept, named with a reason, left out of releases.

use crate::flow::{Person, check_comment};
use crate::{Error, Flow, Result};
use redline_schemas::{EditId, EditManifest, Rejection, RequestId, Status, fsio::write_json};

impl Flow {
    fn rejection(who: &Person, reason: &str) -> Result<Rejection> {
        let reason = reason.trim();
        if !who.may_judge() {
            return Err(Error::Forbidden("only a reviewer or coordinator rejects".into()));
        }
        if reason.is_empty() {
            return Err(Error::Invalid("say why it is not up to standard".into()));
        }
        check_comment(Some(reason))?;
        Ok(Rejection { by: who.id.clone(), at_utc: chrono::Utc::now(), reason: reason.to_owned() })
    }

    /// Rejects a request of somebody else.
    pub fn reject_request(&self, who: &Person, request: &RequestId, reason: &str) -> Result<()> {
        let rejection = Self::rejection(who, reason)?;
        let mut m = self.corpus.request(request)?;
        Self::reject_once(who.id == m.participant, m.status)?;
        m.status = Status::Rejected;
        m.rejection = Some(rejection);
        write_json(&self.corpus.request_dir(request).request_json(), &m)?;
        self.store.set_rejected(request, true)?;
        self.store.audit(who.id.as_str(), "reject", Some(request.as_str()), Some(reason.trim()))
    }

    /// Rejects an edit of somebody else.
    pub fn reject_edit(&self, who: &Person, edit: &EditId, reason: &str) -> Result<()> {
        let rejection = Self::rejection(who, reason)?;
        let mut m = self.corpus.edit(edit)?;
        Self::reject_once(who.id == m.participant, m.status)?;
        m.status = Status::Rejected;
        m.rejection = Some(rejection);
        write_json(&self.corpus.edit_dir(edit).edit_json(), &m)?;
        self.store.audit(who.id.as_str(), "reject-edit", Some(edit.as_str()), Some(reason.trim()))
    }

    fn reject_once(own: bool, status: Status) -> Result<()> {
        match status {
            _ if own => Err(Error::Forbidden("nobody judges their own work".into())),
            Status::Rejected => Err(Error::State("it is rejected already".into())),
            Status::Recording => Err(Error::State("it is still being recorded".into())),
            Status::Complete | Status::Recovered => Ok(()),
        }
    }

    /// The edits that carried out a request.
    pub fn edits_of(&self, request: &RequestId) -> Result<Vec<EditManifest>> {
        let mut out = Vec::new();
        for id in self.corpus.edit_ids()? {
            match self.corpus.edit(&id) {
                Ok(e) if e.request == *request => out.push(e),
                Ok(_) => {}
                Err(e) => tracing::warn!("left out: {e}"),
            }
        }
        Ok(out)
    }
}
