//! Nobody is recorded who has not agreed to the corpus's consent text in force.

use crate::exit::{Exit, WithExit as _};
use anyhow::anyhow;
use redline_schemas::{Corpus, Participant};

/// Refuses with code 5 when the corpus has a consent text and `who` has not agreed to its present version.
pub fn need(corpus: &Corpus, who: &Participant) -> anyhow::Result<()> {
    let Some(text) = corpus.manifest()?.consent.filter(|t| !who.agrees_to(Some(t))) else { return Ok(()) };
    let given = match &who.consent {
        Some(c) => format!("agreed to version {}", c.version),
        None => "has agreed to none".to_owned(),
    };
    let (id, version) = (&who.id, &text.version);
    Err(anyhow!(
        "{id} is not recorded: the corpus's consent text is version {version}, and {id} {given}. Show {id} this text; who agrees is entered with: redline participant consent {id}\n\n{}",
        text.text.trim()
    ))
    .exit(Exit::Input)
}
