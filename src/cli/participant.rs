//! `redline participant`: adds and lists pseudonymous participants, and records their roles and consent.

use super::{Context, CorpusArg};
use crate::exit::{Exit, WithExit as _};
use anyhow::bail;
use clap::Subcommand;
use redline_schemas::{Consent, Corpus, Participant, ParticipantId, ParticipantsManifest, Role};

#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Add a participant under a pseudonym; never use a name or an e-mail address
    Add {
        /// The pseudonym, e.g. P01
        id: ParticipantId,
        /// What the participant does (several allowed): requestor, editor, reviewer, rater, coordinator
        #[arg(long = "role", value_name = "ROLE", default_values = ["requestor", "editor"])]
        roles: Vec<Role>,
        /// The participant has agreed to the corpus's consent text
        #[arg(long)]
        consented: bool,
        #[command(flatten)]
        corpus: CorpusArg,
    },
    /// Record that a participant has now agreed to the corpus's consent text
    Consent {
        /// The pseudonym
        id: ParticipantId,
        #[command(flatten)]
        corpus: CorpusArg,
    },
    /// Change what a participant does
    Role {
        /// The pseudonym
        id: ParticipantId,
        /// A role to add (several allowed): requestor, editor, reviewer, rater, coordinator
        #[arg(long, value_name = "ROLE", required_unless_present = "remove")]
        add: Vec<Role>,
        /// A role to take away (several allowed); what was done in it stays
        #[arg(long, value_name = "ROLE")]
        remove: Vec<Role>,
        #[command(flatten)]
        corpus: CorpusArg,
    },
    /// List the participants
    List {
        #[command(flatten)]
        corpus: CorpusArg,
    },
}

pub fn run(ctx: &Context, args: Args) -> anyhow::Result<()> {
    match args.what {
        What::Add { id, mut roles, consented, corpus } => {
            let corpus = corpus.open()?;
            let mut all = corpus.participants()?;
            if all.participants.iter().any(|p| p.id == id) {
                return Err(anyhow::anyhow!(
                    "{}: participant {id} exists already: `redline participant role` and `consent` change it",
                    corpus.participants_path().display()
                ))
                .exit(Exit::Input);
            }
            let consent = if consented { Some(consent_now(&corpus)?) } else { None };
            roles.sort();
            roles.dedup();
            let participant = Participant { id, roles, created_utc: chrono::Utc::now(), consent, agent: None };
            if ctx.json {
                println!("{}", serde_json::to_string(&participant)?);
            } else {
                println!("{}", participant.id);
            }
            all.participants.push(participant);
            all.participants.sort_by(|a, b| a.id.cmp(&b.id));
            Ok(corpus.write_participants(&all)?)
        }
        What::Consent { id, corpus } => {
            let corpus = corpus.open()?;
            let mut all = corpus.participants()?;
            let consent = consent_now(&corpus)?;
            let participant = known(&corpus, &mut all, &id)?;
            // What was agreed to first stays on record for the version that it was.
            if participant.consent.as_ref().is_none_or(|c| c.version != consent.version) {
                participant.consent = Some(consent);
            }
            if ctx.json {
                println!("{}", serde_json::to_string(participant)?);
            } else {
                println!("{id}");
            }
            Ok(corpus.write_participants(&all)?)
        }
        What::Role { id, add, remove, corpus } => {
            let corpus = corpus.open()?;
            let mut all = corpus.participants()?;
            let participant = known(&corpus, &mut all, &id)?;
            participant.roles.extend(add);
            participant.roles.retain(|r| !remove.contains(r));
            participant.roles.sort();
            participant.roles.dedup();
            if participant.roles.is_empty() {
                return Err(anyhow::anyhow!("{id} would have no role left: add another one with --add")).exit(Exit::Input);
            }
            if ctx.json {
                println!("{}", serde_json::to_string(participant)?);
            } else {
                println!("{id}");
            }
            Ok(corpus.write_participants(&all)?)
        }
        What::List { corpus } => {
            let all = corpus.open()?.participants()?.participants;
            if ctx.json {
                println!("{}", serde_json::to_string_pretty(&all)?);
                return Ok(());
            }
            let mut table = super::table(["id", "roles", "consent"]);
            for p in all {
                let roles = p.roles.iter().map(|r| r.as_str()).collect::<Vec<_>>().join(", ");
                let consent = p.consent.map_or_else(|| "none".to_owned(), |c| format!("version {}", c.version));
                table.add_row([p.id.to_string(), roles, consent]);
            }
            println!("{table}");
            Ok(())
        }
    }
}

/// A participant that there is.
fn known<'a>(corpus: &Corpus, all: &'a mut ParticipantsManifest, id: &ParticipantId) -> anyhow::Result<&'a mut Participant> {
    let missing = || {
        let path = corpus.participants_path();
        anyhow::anyhow!("{}: there is no participant {id}: `redline participant list` shows them", path.display())
    };
    all.participants.iter_mut().find(|p| p.id == *id).ok_or_else(missing).exit(Exit::Input)
}

/// Agreement, as of now, to the consent text that the corpus has.
fn consent_now(corpus: &Corpus) -> anyhow::Result<Consent> {
    match corpus.manifest()?.consent {
        Some(text) => Ok(Consent { version: text.version, given_utc: chrono::Utc::now() }),
        None => bail!("the corpus has no consent text to agree to: make it with `redline init --consent FILE`"),
    }
}
