//! Requests and edits that are not up to standard: kept, named with a reason, left out of releases. A rejection can be
//! taken back; both steps stay in the audit log.

use crate::flow::{Person, check_comment};
use crate::store::{self, items};
use crate::{Error, Flow, Result};
use redline_schemas::{EditId, EditManifest, ParticipantId, Rejection, RequestId, Role, Status, fsio::write_json};

/// What a rejection touches in the manifest of a request or an edit.
struct Judged<'a> {
    participant: &'a ParticipantId,
    status: &'a mut Status,
    rejection: &'a mut Option<Rejection>,
}

impl Judged<'_> {
    fn reject(self, who: &Person, reason: &str) -> Result<()> {
        let reason = reason.trim();
        if !who.may_judge() {
            return Err(Error::Forbidden("only a reviewer or coordinator rejects".into()));
        }
        if reason.is_empty() {
            return Err(Error::Invalid("say why it is not up to standard".into()));
        }
        check_comment(Some(reason))?;
        match *self.status {
            _ if who.id == *self.participant => return Err(Error::Forbidden("nobody judges their own work".into())),
            Status::Rejected => return Err(Error::State("it is rejected already".into())),
            Status::Recording => return Err(Error::State("it is still being recorded".into())),
            Status::Complete | Status::Recovered => {}
        }
        let was = Some(*self.status);
        *self.rejection = Some(Rejection { by: who.id.clone(), at_utc: chrono::Utc::now(), reason: reason.to_owned(), was });
        *self.status = Status::Rejected;
        Ok(())
    }

    /// Only who rejected it, or a coordinator: reviewers do not overrule each other.
    fn take_back(self, who: &Person) -> Result<()> {
        if *self.status != Status::Rejected {
            return Err(Error::State("it is not rejected".into()));
        }
        if !may_take_back(who, self.participant, self.rejection.as_ref()) {
            return Err(Error::Forbidden("only who rejected it, or a coordinator, takes a rejection back".into()));
        }
        let was = self.rejection.take().and_then(|r| r.was).filter(|s| *s == Status::Recovered);
        *self.status = was.unwrap_or(Status::Complete);
        Ok(())
    }
}

/// Whether somebody may take back the rejection of what `participant` recorded.
pub(crate) fn may_take_back(who: &Person, participant: &ParticipantId, rejection: Option<&Rejection>) -> bool {
    let own_step = rejection.is_some_and(|r| r.by == who.id);
    who.id != *participant && who.may_judge() && (own_step || who.is(Role::Coordinator))
}

impl Flow {
    /// Rejects a request of somebody else; nobody goes on working on it.
    pub fn reject_request(&self, who: &Person, request: &RequestId, reason: &str) -> Result<()> {
        self.judge_request(request, |m| m.reject(who, reason))?;
        self.note_judged(who, request, true, Some(reason.trim()))
    }

    /// Takes the rejection of a request back: it is again where it was.
    pub fn take_back_request(&self, who: &Person, request: &RequestId) -> Result<()> {
        self.judge_request(request, |m| m.take_back(who))?;
        self.note_judged(who, request, false, None)
    }

    fn judge_request(&self, request: &RequestId, f: impl FnOnce(Judged<'_>) -> Result<()>) -> Result<()> {
        let mut m = self.corpus.request(request)?;
        f(Judged { participant: &m.participant, status: &mut m.status, rejection: &mut m.rejection })?;
        Ok(write_json(&self.corpus.request_dir(request).request_json(), &m)?)
    }

    fn note_judged(&self, who: &Person, request: &RequestId, rejected: bool, reason: Option<&str>) -> Result<()> {
        let (who, request, reason) = (who.id.clone(), request.clone(), reason.map(str::to_owned));
        self.store.write(move |db| {
            items::set_rejected(db, &request, rejected)?;
            store::note(db, who.as_str(), if rejected { "reject" } else { "take-back" }, Some(request.as_str()), reason.as_deref())
        })
    }

    /// Rejects an edit of somebody else.
    pub fn reject_edit(&self, who: &Person, edit: &EditId, reason: &str) -> Result<()> {
        self.judge_edit(edit, |m| m.reject(who, reason))?;
        self.store.audit(who.id.as_str(), "reject-edit", Some(edit.as_str()), Some(reason.trim()))
    }

    /// Takes the rejection of an edit back.
    pub fn take_back_edit(&self, who: &Person, edit: &EditId) -> Result<()> {
        self.judge_edit(edit, |m| m.take_back(who))?;
        self.store.audit(who.id.as_str(), "take-back-edit", Some(edit.as_str()), None)
    }

    fn judge_edit(&self, edit: &EditId, f: impl FnOnce(Judged<'_>) -> Result<()>) -> Result<()> {
        let mut m = self.corpus.edit(edit)?;
        f(Judged { participant: &m.participant, status: &mut m.status, rejection: &mut m.rejection })?;
        Ok(write_json(&self.corpus.edit_dir(edit).edit_json(), &m)?)
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
