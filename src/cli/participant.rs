//! `redline participant`: adds and lists pseudonymous participants, and records their consent.

use super::{Context, CorpusArg};
use crate::exit::{Exit, WithExit as _};
use anyhow::bail;
use clap::Subcommand;
use redline_schemas::{Consent, Participant, ParticipantId, Role};

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
                return Err(anyhow::anyhow!("{}: participant {id} exists already", corpus.participants_path().display())).exit(Exit::Input);
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
            let Some(participant) = all.participants.iter_mut().find(|p| p.id == id) else {
                let path = corpus.participants_path();
                return Err(anyhow::anyhow!("{}: there is no participant {id}: `redline participant list` shows them", path.display()))
                    .exit(Exit::Input);
            };
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

/// Agreement, as of now, to the consent text that the corpus has.
fn consent_now(corpus: &redline_schemas::Corpus) -> anyhow::Result<Consent> {
    match corpus.manifest()?.consent {
        Some(text) => Ok(Consent { version: text.version, given_utc: chrono::Utc::now() }),
        None => bail!("the corpus has no consent text to agree to: make it with `redline init --consent FILE`"),
    }
}
