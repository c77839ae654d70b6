use crate::{ConsentText, ParticipantId, Utc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a participant does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Asks for changes and corrects own transcripts.
    Requestor,
    /// Carries out requests.
    Editor,
    /// Accepts or returns others' corrections.
    Reviewer,
    /// Rates edits.
    Rater,
    /// Sees progress and settles disputes.
    Coordinator,
}
crate::corpus::names!(Role, Requestor => "requestor", Editor => "editor", Reviewer => "reviewer", Rater => "rater", Coordinator => "coordinator");

/// `participants.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ParticipantsManifest {
    /// [`crate::FORMAT_VERSION`].
    pub format_version: u32,
    /// Sorted by id.
    pub participants: Vec<Participant>,
}

/// A person (or an agent) under a pseudonym. Names and e-mail never enter a corpus.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Participant {
    /// The pseudonym.
    pub id: ParticipantId,
    /// What the participant may do.
    pub roles: Vec<Role>,
    /// When the participant was added.
    pub created_utc: Utc,
    /// The consent given; absent: none yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub consent: Option<Consent>,
    /// Set for a program instead of a person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<Agent>,
}

impl Participant {
    /// Whether this participant has agreed to the text in force; so it is where there is no text, and for a program.
    #[must_use]
    pub fn agrees_to(&self, text: Option<&ConsentText>) -> bool {
        let Some(text) = text.filter(|_| self.agent.is_none()) else { return true };
        self.consent.as_ref().is_some_and(|c| c.version == text.version)
    }
}

/// A consent given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Consent {
    /// Version of the text agreed to.
    pub version: String,
    /// When.
    pub given_utc: Utc,
}

/// A program that edits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Agent {
    /// Name of its language model.
    pub model: String,
    /// Settings, as its harness gives them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings: Option<serde_json::Value>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_text_in_force_counts() {
        let text = |v: &str| ConsentText { version: v.into(), text: "t".into() };
        let mut p = Participant {
            id: ParticipantId::new("P01").unwrap(),
            roles: vec![],
            created_utc: chrono::Utc::now(),
            consent: None,
            agent: None,
        };
        assert!(p.agrees_to(None) && !p.agrees_to(Some(&text("1"))));
        p.consent = Some(Consent { version: "1".into(), given_utc: chrono::Utc::now() });
        assert!(p.agrees_to(Some(&text("1"))) && !p.agrees_to(Some(&text("2"))));
        p.agent = Some(Agent { model: "m".into(), settings: None });
        assert!(p.agrees_to(Some(&text("2"))));
    }
}
