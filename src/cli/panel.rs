//! `redline panel`: the designer’s window.

use super::record::{What, coded};
use super::{Context, CorpusArg};
use crate::exit::{Exit, WithExit as _};
use redline_panel::state::Choice;
use redline_panel::ui::{Error, Start, run as show};
use redline_schemas::{Difficulty, Modality, ModelId, ParticipantId};

#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    corpus: CorpusArg,
    /// Choose this participant
    #[arg(long)]
    participant: Option<ParticipantId>,
    /// Choose this model
    #[arg(long)]
    model: Option<ModelId>,
    /// Choose text, interactive, draw-temp or draw-static
    #[arg(long, default_value = "interactive")]
    modality: Modality,
    /// Choose easy, medium or hard
    #[arg(long, default_value = "easy")]
    difficulty: Difficulty,
    /// light or dark [default: as last time, or as the system has it]
    #[arg(long, value_parser = ["light", "dark"])]
    theme: Option<String>,
    #[command(flatten)]
    what: What,
    #[command(flatten)]
    cad: super::cad_bridge::CadArgs,
}

pub fn run(_: &Context, args: Args) -> anyhow::Result<()> {
    let corpus = args.corpus.open()?;
    let mut options = args.what.options()?;
    // The panel has keys of its own.
    options.stop_chord = None;
    let start = Start {
        corpus,
        options,
        choice: Choice { participant: args.participant, model: args.model, modality: args.modality, difficulty: args.difficulty },
        source_given: args.what.source_given(),
        microphone_given: args.what.microphone_given(),
        dark: args.theme.map(|t| t == "dark"),
        cad: args.cad.starter(),
    };
    match show(start) {
        Ok(()) => Ok(()),
        Err(Error::Recorder(e)) => Err(coded(e)),
        Err(Error::Schemas(e)) => Err(e.into()),
        Err(e) => Err(e).exit(Exit::Device),
    }
}
