//! Who may edit a request, and which edits are missing: one by the requestor, the others by different experts.

use redline_schemas::{EditId, EditManifest, Participant, ParticipantId, RequestId, RequestManifest, Role, Status};
use serde::Serialize;

/// An edit that counts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Done {
    /// The edit.
    pub edit: EditId,
    /// By whom.
    pub participant: ParticipantId,
    /// Whether it has a final model.
    pub result: bool,
}

/// What there is of a request's edits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Coverage {
    /// The request.
    pub request: RequestId,
    /// Who asked.
    pub requestor: ParticipantId,
    /// The requestor's own edit.
    pub by_requestor: Option<Done>,
    /// Edits by others.
    pub by_others: Vec<Done>,
    /// Edits whose recorder runs or died.
    pub unfinished: Vec<EditId>,
    /// What is missing, for people; empty when nothing is.
    pub missing: Vec<String>,
}

/// What there is of `request`'s edits, when the protocol wants `wanted` of each.
pub fn coverage(request: &RequestManifest, edits: &[EditManifest], agents: &[ParticipantId], wanted: u32) -> Coverage {
    let mut c = Coverage {
        request: request.id.clone(),
        requestor: request.participant.clone(),
        by_requestor: None,
        by_others: Vec::new(),
        unfinished: Vec::new(),
        missing: Vec::new(),
    };
    for e in edits.iter().filter(|e| e.request == request.id && !agents.contains(&e.participant)) {
        match e.status {
            Status::Rejected => {}
            Status::Recording => c.unfinished.push(e.id.clone()),
            Status::Complete | Status::Recovered => {
                let done = Done { edit: e.id.clone(), participant: e.participant.clone(), result: e.final_model.is_some() };
                if e.participant == request.participant && c.by_requestor.is_none() {
                    c.by_requestor = Some(done);
                } else {
                    c.by_others.push(done);
                }
            }
        }
    }
    if !editable(request.status) {
        return c;
    }
    if wanted > 0 && c.by_requestor.is_none() {
        c.missing.push("the requestor’s edit".into());
    }
    let others = wanted.saturating_sub(1) as usize;
    match others.saturating_sub(c.by_others.len()) {
        0 => {}
        1 => c.missing.push("an edit by another expert".into()),
        n => c.missing.push(format!("{n} edits by other experts")),
    }
    for d in c.by_requestor.iter().chain(&c.by_others).filter(|d| !d.result) {
        c.missing.push(format!("the final model of edit {}", d.edit));
    }
    for id in &c.unfinished {
        c.missing.push(format!("the end of edit {id}"));
    }
    c
}

/// Whether a request of this status is there to be edited.
fn editable(s: Status) -> bool {
    matches!(s, Status::Complete | Status::Recovered)
}

/// Why `who` may not edit the request, if so.
pub fn refusal(
    request: &RequestManifest,
    edits: &[EditManifest],
    agents: &[ParticipantId],
    who: &Participant,
    wanted: u32,
) -> Option<String> {
    let (id, person) = (&request.id, &who.id);
    if !editable(request.status) {
        return Some(format!("request {id} is {}: only a complete one can be edited", request.status));
    }
    if who.agent.is_some() {
        return Some(format!("{person} is a program: its edits are imported, not recorded"));
    }
    if !who.roles.contains(&Role::Editor) {
        return Some(format!("participant {person} is no editor: choose one who has this role (redline participant list)"));
    }
    let mine = edits.iter().find(|e| e.request == *id && e.participant == *person && e.status != Status::Rejected);
    if let Some(e) = mine {
        return Some(match e.status {
            Status::Recording => format!("{person}’s edit {} of it was not finished: redline recover mends it", e.id),
            _ => format!("{person} has edited request {id} already (edit {}): each person edits a request once", e.id),
        });
    }
    let c = coverage(request, edits, agents, wanted);
    let others = wanted.saturating_sub(1) as usize;
    let mut under_way = edits.iter().filter(|e| {
        e.request == *id && e.status == Status::Recording && e.participant != request.participant && !agents.contains(&e.participant)
    });
    let free = others.saturating_sub(c.by_others.len());
    if let Some(e) = under_way.clone().next().filter(|_| *person != request.participant && (1..=under_way.by_ref().count()).contains(&free))
    {
        return Some(format!("another expert’s edit of request {id} ({}) is not finished yet", e.id));
    }
    if *person != request.participant && c.by_others.len() >= others {
        let have: Vec<String> = c.by_others.iter().map(|d| format!("{} by {}", d.edit, d.participant)).collect();
        return Some(match have.is_empty() {
            true => format!("the corpus’s protocol wants an edit by the requestor, {}, alone", request.participant),
            false => format!("request {id} has its edits by other experts already ({})", have.join(", ")),
        });
    }
    if wanted == 0 {
        return Some("the corpus’s protocol wants no edits (edits_per_request is 0)".into());
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use redline_schemas::{Difficulty, FORMAT_VERSION, Modality, Session, Tool};

    fn person(id: &str) -> Participant {
        Participant {
            id: ParticipantId::new(id).unwrap(),
            roles: vec![Role::Requestor, Role::Editor],
            created_utc: chrono::Utc::now(),
            consent: None,
            agent: None,
        }
    }

    fn request() -> RequestManifest {
        RequestManifest {
            format_version: FORMAT_VERSION,
            id: RequestId::new("r").unwrap(),
            participant: ParticipantId::new("P01").unwrap(),
            model: None,
            modality: Modality::Text,
            difficulty: Difficulty::Easy,
            status: Status::Complete,
            rejection: None,
            session: Session::begun(),
            note: None,
            imported_from: None,
            tool: Tool::redline(),
        }
    }

    fn edit(id: &str, by: &str, status: Status) -> EditManifest {
        EditManifest {
            format_version: FORMAT_VERSION,
            id: EditId::new(id).unwrap(),
            request: RequestId::new("r").unwrap(),
            participant: ParticipantId::new(by).unwrap(),
            status,
            rejection: None,
            session: Session::begun(),
            started_ns: Some(0),
            stopped_ns: None,
            final_model: None,
            usage: None,
            imported_from: None,
            tool: Tool::redline(),
        }
    }

    fn may(edits: &[EditManifest], who: &str, wanted: u32) -> Result<(), String> {
        refusal(&request(), edits, &[], &person(who), wanted).map_or(Ok(()), Err)
    }

    #[test]
    fn one_by_the_requestor_and_one_by_another() {
        assert_eq!((may(&[], "P01", 2), may(&[], "P02", 2)), (Ok(()), Ok(())));
        let own = edit("e1", "P01", Status::Complete);
        assert!(may(std::slice::from_ref(&own), "P01", 2).unwrap_err().contains("once"));
        assert_eq!(may(std::slice::from_ref(&own), "P02", 2), Ok(()));
        let other = edit("e2", "P02", Status::Recovered);
        assert!(may(&[own.clone(), other.clone()], "P03", 2).unwrap_err().contains("e2 by P02"));
        assert_eq!(may(std::slice::from_ref(&other), "P01", 2), Ok(()), "the requestor's place is kept");
        assert!(may(std::slice::from_ref(&other), "P02", 2).unwrap_err().contains("once"));
        assert_eq!(may(&[own, other], "P03", 3), Ok(()));
        assert!(may(&[], "P02", 1).unwrap_err().contains("P01, alone"));
        assert!(may(&[], "P01", 0).unwrap_err().contains("wants no edits"));
    }

    #[test]
    fn rejected_edits_make_room_and_unfinished_ones_do_not() {
        assert_eq!(may(&[edit("e1", "P02", Status::Rejected)], "P02", 2), Ok(()));
        assert!(may(&[edit("e1", "P02", Status::Recording)], "P02", 2).unwrap_err().contains("redline recover"));
        assert!(may(&[edit("e1", "P02", Status::Recording)], "P03", 2).unwrap_err().contains("not finished"));
    }

    #[test]
    fn who_is_no_editor_and_what_is_no_request_is_refused() {
        let mut p = person("P02");
        p.roles = vec![Role::Reviewer];
        assert!(refusal(&request(), &[], &[], &p, 2).unwrap().contains("no editor"));
        let r = RequestManifest { status: Status::Recording, ..request() };
        assert!(refusal(&r, &[], &[], &person("P02"), 2).unwrap().contains("recording"));
    }

    #[test]
    fn what_is_missing_is_said() {
        let c = |edits: &[EditManifest]| coverage(&request(), edits, &[ParticipantId::new("A1").unwrap()], 2).missing;
        assert_eq!(c(&[]), ["the requestor’s edit", "an edit by another expert"]);
        assert_eq!(c(&[edit("a", "A1", Status::Complete)]).len(), 2, "a program's edit does not count");
        assert_eq!(
            c(&[edit("e1", "P01", Status::Complete), edit("e2", "P02", Status::Recording)]),
            ["an edit by another expert", "the final model of edit e1", "the end of edit e2"]
        );
    }
}
