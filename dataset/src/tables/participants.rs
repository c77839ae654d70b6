//! `participants`.

use super::{Bool, Id, Json, Text, table};
use redline_schemas::Participant;

table! {
    /// One row a participant, under a pseudonym.
    "participants", sorted by ["participant_id"] {
        /// The pseudonym; renumbered in every release.
        participant_id: Id,
        /// What the participant does, joined by commas: requestor, editor, reviewer, rater, coordinator.
        roles: Text,
        /// Whether consent was given.
        consent: Bool,
        /// Version of the consent text agreed to.
        consent_version: Option<Text>,
        /// Whether it is a program instead of a person.
        is_agent: Bool,
        /// The program's language model.
        agent_model: Option<Text>,
        /// The program's settings.
        agent_settings: Option<Json>,
    }
}

/// Appends a participant under the name `id`.
pub(crate) fn append(b: &mut Builder, id: &str, p: &Participant) {
    let mut roles = p.roles.clone();
    roles.sort();
    roles.dedup();
    let agent = p.agent.as_ref();
    b.append(Row {
        participant_id: id,
        roles: &roles.iter().map(|r| r.as_str()).collect::<Vec<_>>().join(","),
        consent: p.consent.is_some(),
        consent_version: p.consent.as_ref().map(|c| c.version.as_str()),
        is_agent: agent.is_some(),
        agent_model: agent.map(|a| a.model.as_str()),
        agent_settings: agent.and_then(|a| a.settings.as_ref()).map(ToString::to_string).as_deref(),
    });
}
