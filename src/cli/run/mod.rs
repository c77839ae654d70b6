//! `redline run`: agents' runs at tasks, recorded, verified, scored and reported.

mod judge;
#[cfg(feature = "recorder")]
mod record;
mod report;
mod task;

use super::Context;
use crate::exit::{Exit, WithExit as _};
use anyhow::anyhow;
use clap::Subcommand;
use redline_schemas::{Corpus, Participant, ParticipantId, RunId, RunManifest, Status};

#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Add and list the tasks that runs are made of
    Task(task::Args),
    /// List the failure labels that scorers may give, or add to them
    Labels(judge::Labels),
    /// Record a run until `run stop`
    #[cfg(feature = "recorder")]
    Start(Box<record::Start>),
    /// Take a screenshot of what the agent sees, and note what it does next
    #[cfg(feature = "recorder")]
    Step(record::Step),
    /// End the run that is being recorded, or say why one ended that was broken off
    #[cfg(feature = "recorder")]
    Stop(record::Stop),
    /// Write down which of the task’s checks hold, as a person sees them
    Verify(judge::Verify),
    /// Score a run in five dimensions, 0 to 3, and label what went wrong
    Score(judge::Score),
    /// Write the report: a page, its figures as JSON, and scores.csv
    Report(report::Args),
    /// Write scores.csv to standard output: a row a run and scorer
    Export(report::Export),
}

pub fn run(ctx: &Context, args: Args) -> anyhow::Result<()> {
    match args.what {
        What::Task(a) => task::run(ctx, a),
        What::Labels(a) => judge::labels(ctx, a),
        #[cfg(feature = "recorder")]
        What::Start(a) => record::start(ctx, *a),
        #[cfg(feature = "recorder")]
        What::Step(a) => record::step(ctx, a),
        #[cfg(feature = "recorder")]
        What::Stop(a) => record::stop(ctx, a),
        What::Verify(a) => judge::verify(ctx, a),
        What::Score(a) => judge::score(ctx, a),
        What::Report(a) => report::run(ctx, a),
        What::Export(a) => report::export(ctx, a),
    }
}

/// A person of the corpus: whoever judges an agent is none.
fn person(corpus: &Corpus, id: &ParticipantId) -> anyhow::Result<Participant> {
    let path = corpus.participants_path();
    let known = corpus.participants()?.participants.into_iter().find(|p| p.id == *id);
    let Some(p) = known else {
        return Err(anyhow!("{}: no participant “{id}”; add one with: redline participant add {id}", path.display())).exit(Exit::Input);
    };
    if p.agent.is_some() {
        return Err(anyhow!("{}: {id} is a program; runs are recorded, verified and scored by people", path.display())).exit(Exit::Input);
    }
    super::consent::need(corpus, &p)?;
    Ok(p)
}

/// A run that has ended.
fn ended(corpus: &Corpus, id: &RunId) -> anyhow::Result<RunManifest> {
    let path = corpus.run_dir(id).run_json();
    if !path.exists() {
        return Err(anyhow!("{}: there is no run {id} in this corpus: `redline run report` shows those that there are", path.display()))
            .exit(Exit::Input);
    }
    let m = corpus.run(id).exit(Exit::Input)?;
    if m.status == Status::Recording {
        return Err(anyhow!("run {id} is not finished: end it with redline run stop, or mend it with redline recover")).exit(Exit::Input);
    }
    Ok(m)
}
