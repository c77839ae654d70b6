//! `redline release`.

use super::remote::{Need, Place};
use super::{Context, CorpusArg};
use anyhow::Context as _;
use redline_dataset::pack;
use redline_dataset::release::{self, Options};
use std::path::PathBuf;

#[derive(clap::Args)]
pub struct Args {
    /// The version: MAJOR.MINOR.PATCH, above all released ones
    #[arg(value_name = "VERSION")]
    version: semver::Version,
    #[command(flatten)]
    corpus: CorpusArg,
    /// What is new, for the changelog: a text file
    #[arg(long, value_name = "FILE")]
    notes: Option<PathBuf>,
    #[command(flatten)]
    cluster: super::cluster::ClusterArg,
}

pub fn run(ctx: &Context, args: Args) -> anyhow::Result<()> {
    args.cluster.hand_over("release", super::cluster::Kind::Tables)?;
    let place = Place::for_tasks(&args.corpus.corpus, Need::All, Need::Skeleton)?;
    let corpus = place.corpus()?;
    let notes = args
        .notes
        .map(|p| std::fs::read_to_string(&p).with_context(|| format!("{}: could not read the notes", p.display())))
        .transpose()?;
    let pack = pack::Options { engine: place.engine()?, ..pack::Options::default() };
    let options = Options { notes, pack, media: place.media(&args.version)?, ..Options::default() };
    let bar = super::pack::progress_bar();
    let done = release::release(&corpus, &args.version, &options, &|step, done, of| {
        bar.set_length(of as u64);
        bar.set_position(done as u64);
        bar.set_message(step.to_owned());
    });
    bar.finish_and_clear();
    let mut done = done?;
    if let Some(address) = place.send_release(&done)? {
        done.path = address.into();
    }
    for l in &done.left_out {
        eprintln!("left out: {} {}: {}", l.kind, l.id, l.reason);
    }
    if ctx.json {
        println!("{}", serde_json::to_string_pretty(&done)?);
    } else {
        let m = &done.manifest;
        println!(
            "{}: {} requests, {} edits, {} models, {} participants, {} files",
            done.path.display(),
            m.requests,
            m.edits,
            m.models,
            m.participants,
            done.files
        );
    }
    Ok(())
}
