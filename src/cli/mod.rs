//! The command line: one file a verb.

#[cfg(feature = "transcribe")]
mod align;
#[cfg(feature = "recorder")]
mod bin;
#[cfg(feature = "recorder")]
mod cad_bridge;
#[cfg(feature = "dataset")]
mod check;
#[cfg(any(feature = "transcribe", feature = "dataset"))]
mod cluster;
#[cfg(any(feature = "recorder", feature = "dataset"))]
mod consent;
#[cfg(feature = "recorder")]
mod contact_sheet;
#[cfg(feature = "recorder")]
mod ctl;
#[cfg(feature = "recorder")]
mod demo;
#[cfg(feature = "dataset")]
mod diff;
#[cfg(feature = "recorder")]
mod doctor;
#[cfg(all(feature = "recorder", feature = "view"))]
mod edit;
#[cfg(all(feature = "recorder", feature = "view"))]
mod edit_protocol;
#[cfg(any(feature = "transcribe", feature = "dataset"))]
mod export;
#[cfg(feature = "dataset")]
mod export_dataset;
#[cfg(feature = "dataset")]
mod export_harness;
#[cfg(feature = "transcribe")]
mod export_transcript;
#[cfg(feature = "dataset")]
mod import;
#[cfg(feature = "dataset")]
mod import_harness;
#[cfg(all(feature = "dataset", feature = "transcribe"))]
mod import_transcript;
mod init;
#[cfg(feature = "cad")]
mod model;
#[cfg(feature = "transcribe")]
mod model_fetch;
#[cfg(feature = "cad")]
mod model_show;
#[cfg(feature = "dataset")]
mod pack;
#[cfg(feature = "panel")]
mod panel;
mod participant;
#[cfg(feature = "bridge")]
mod plugin;
#[cfg(feature = "dataset")]
mod publish;
#[cfg(feature = "query")]
mod query;
#[cfg(feature = "ratings")]
mod rate;
#[cfg(feature = "ratings")]
mod rate_leaderboard;
#[cfg(feature = "ratings")]
mod rate_metrics;
#[cfg(feature = "recorder")]
mod record;
#[cfg(feature = "recorder")]
mod record_live;
#[cfg(feature = "recorder")]
mod record_progress;
#[cfg(feature = "recorder")]
mod recover;
#[cfg(feature = "dataset")]
mod release;
#[cfg(any(feature = "dataset", feature = "transcribe"))]
mod remote;
#[cfg(feature = "review")]
mod review;
#[cfg(feature = "dataset")]
mod run;
#[cfg(feature = "dataset")]
mod stats;
#[cfg(feature = "recorder")]
mod sync_plot;
#[cfg(feature = "recorder")]
mod sync_test;
#[cfg(feature = "transcribe")]
mod transcribe;
#[cfg(feature = "transcribe")]
mod transcript_time;
#[cfg(feature = "dataset")]
mod verify;
#[cfg(feature = "view")]
mod view;

use crate::exit::WithExit as _;
use clap::{Parser, Subcommand};
use redline_schemas::Corpus;
use std::path::PathBuf;

/// Record how designers ask for CAD changes; publish the recordings as datasets.
#[derive(Parser)]
#[command(version, arg_required_else_help = true)]
pub struct Args {
    /// Print JSON on standard output, for scripts
    #[arg(long, global = true)]
    json: bool,
    /// Say more on standard error (twice: debug)
    #[arg(short, long, action = clap::ArgAction::Count, global = true)]
    pub verbose: u8,
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// List screens, microphones, encoders and free disk, and say what would stop a recording.
    #[cfg(feature = "recorder")]
    Doctor(doctor::Args),
    /// Make a corpus.
    Init(init::Args),
    /// Add and list pseudonymous participants.
    Participant(participant::Args),
    /// Add and list input models.
    #[cfg(feature = "cad")]
    Model(model::Args),
    /// Record a request.
    #[cfg(feature = "recorder")]
    Record(record::Args),
    /// Show the designer’s window: choose, record, draw, type, keep.
    #[cfg(feature = "panel")]
    Panel(panel::Args),
    /// Steer the recorder that is at work: draw, pause, mark, cut, stop.
    #[cfg(feature = "recorder")]
    Ctl(ctl::Args),
    /// List, restore or remove the takes that were discarded.
    #[cfg(feature = "recorder")]
    Bin(bin::Args),
    /// Record an edit of a request, or list which edits are missing.
    #[cfg(all(feature = "recorder", feature = "view"))]
    Edit(edit::Args),
    /// Install the plug-in of a CAD program.
    #[cfg(feature = "bridge")]
    Plugin(plugin::Args),
    /// Mend sessions whose recorder died.
    #[cfg(feature = "recorder")]
    Recover(recover::Args),
    /// Measure how well video, sound and input are aligned on this machine.
    #[cfg(feature = "recorder")]
    SyncTest(sync_test::Args),
    /// Import a video, a dataset recorded elsewhere, or what agents made.
    #[cfg(feature = "dataset")]
    Import(import::Args),
    /// Fetch the speech models into the cache.
    #[cfg(feature = "transcribe")]
    ModelFetch(model_fetch::Args),
    /// Transcribe the requests of a corpus.
    #[cfg(feature = "transcribe")]
    Transcribe(transcribe::Args),
    /// Align given texts with the audio, word by word.
    #[cfg(feature = "transcribe")]
    Align(align::Args),
    /// Write transcripts as SRT, WebVTT, TextGrid or WhisperX JSON; a request as a zip; tasks for agents; the reference dataset's schema.
    #[cfg(any(feature = "transcribe", feature = "dataset"))]
    Export(export::Args),
    /// Serve the correction loop, or look into its state.
    #[cfg(feature = "review")]
    Review(review::Args),
    /// Have edits rated, blind; agreement, acceptance and the leaderboard.
    #[cfg(feature = "ratings")]
    Rate(rate::Args),
    /// Find what is wrong in a corpus.
    #[cfg(feature = "dataset")]
    Check(check::Args),
    /// Pack a corpus into Parquet tables.
    #[cfg(feature = "dataset")]
    Pack(pack::Args),
    /// Publish an immutable version of a corpus.
    #[cfg(feature = "dataset")]
    Release(release::Args),
    /// Check a release against its checksums.
    #[cfg(feature = "dataset")]
    Verify(verify::Args),
    /// Compare two releases.
    #[cfg(feature = "dataset")]
    Diff(diff::Args),
    /// Bring a release to a folder or S3-compatible storage, verified and resumable.
    #[cfg(feature = "dataset")]
    Publish(publish::Args),
    /// Record, verify, score and report agents’ runs at tasks.
    #[cfg(feature = "dataset")]
    Run(run::Args),
    /// Statistics of a corpus, as table, JSON and plots.
    #[cfg(feature = "dataset")]
    Stats(stats::Args),
    /// Ask a corpus or a release in SQL.
    #[cfg(feature = "query")]
    Query(query::Args),
    /// Serve a session’s replay page: video, words and events, moving together.
    #[cfg(feature = "view")]
    View(view::Args),
    /// Draw a request’s video frames with the words under them.
    #[cfg(feature = "recorder")]
    ContactSheet(contact_sheet::Args),
    /// Record, transcribe, check, pack and show a request.
    #[cfg(feature = "recorder")]
    Demo(demo::Args),
}

/// What every verb gets.
pub struct Context {
    /// Print JSON.
    pub json: bool,
}

/// `--corpus DIR`, the same for every verb.
#[derive(clap::Args)]
pub struct CorpusArg {
    /// The corpus folder; transcribe, align, check, pack, stats, query and release also take s3://BUCKET/PREFIX
    #[arg(long, env = "REDLINE_CORPUS", default_value = ".", value_name = "DIR")]
    pub corpus: PathBuf,
}

impl CorpusArg {
    /// Opens the corpus; one of another format version is refused before anything is read or written.
    pub fn open(&self) -> anyhow::Result<Corpus> {
        let corpus = self.open_any()?;
        corpus.manifest()?;
        Ok(corpus)
    }

    /// Opens the corpus whatever its manifest says.
    pub fn open_any(&self) -> anyhow::Result<Corpus> {
        if self.corpus.to_str().is_some_and(|c| c.contains("://")) {
            let message = format!(
                "{}: this verb works with folders only; transcribe, align, stats, query, pack, check and release take s3://BUCKET/PREFIX",
                self.corpus.display()
            );
            return Err(anyhow::anyhow!(message)).exit(crate::exit::Exit::Input);
        }
        Ok(Corpus::open(&self.corpus)?)
    }
}

/// A plain table for people.
pub fn table<const N: usize>(head: [&str; N]) -> comfy_table::Table {
    let mut t = comfy_table::Table::new();
    t.load_preset(comfy_table::presets::UTF8_FULL_CONDENSED).set_header(head);
    t
}

/// Runs the verb that was asked for.
pub fn run(args: Args) -> anyhow::Result<()> {
    let ctx = Context { json: args.json };
    match args.verb {
        #[cfg(feature = "recorder")]
        Verb::Doctor(a) => doctor::run(&ctx, a),
        Verb::Init(a) => init::run(&ctx, a),
        Verb::Participant(a) => participant::run(&ctx, a),
        #[cfg(feature = "cad")]
        Verb::Model(a) => model::run(&ctx, a),
        #[cfg(feature = "recorder")]
        Verb::Record(a) => record::run(&ctx, a),
        #[cfg(feature = "panel")]
        Verb::Panel(a) => panel::run(&ctx, a),
        #[cfg(feature = "recorder")]
        Verb::Ctl(a) => ctl::run(&ctx, a),
        #[cfg(feature = "recorder")]
        Verb::Bin(a) => bin::run(&ctx, a),
        #[cfg(all(feature = "recorder", feature = "view"))]
        Verb::Edit(a) => edit::run(&ctx, a),
        #[cfg(feature = "bridge")]
        Verb::Plugin(a) => plugin::run(&ctx, a),
        #[cfg(feature = "recorder")]
        Verb::Recover(a) => recover::run(&ctx, a),
        #[cfg(feature = "recorder")]
        Verb::SyncTest(a) => sync_test::run(&ctx, a),
        #[cfg(feature = "dataset")]
        Verb::Import(a) => import::run(&ctx, a),
        #[cfg(feature = "transcribe")]
        Verb::ModelFetch(a) => model_fetch::run(&ctx, a),
        #[cfg(feature = "transcribe")]
        Verb::Transcribe(a) => transcribe::run(&ctx, a),
        #[cfg(feature = "transcribe")]
        Verb::Align(a) => align::run(&ctx, a),
        #[cfg(any(feature = "transcribe", feature = "dataset"))]
        Verb::Export(a) => export::run(&ctx, a),
        #[cfg(feature = "review")]
        Verb::Review(a) => review::run(&ctx, a),
        #[cfg(feature = "ratings")]
        Verb::Rate(a) => rate::run(&ctx, a),
        #[cfg(feature = "dataset")]
        Verb::Check(a) => check::run(&ctx, a),
        #[cfg(feature = "dataset")]
        Verb::Pack(a) => pack::run(&ctx, a),
        #[cfg(feature = "dataset")]
        Verb::Release(a) => release::run(&ctx, a),
        #[cfg(feature = "dataset")]
        Verb::Verify(a) => verify::run(&ctx, a),
        #[cfg(feature = "dataset")]
        Verb::Diff(a) => diff::run(&ctx, a),
        #[cfg(feature = "dataset")]
        Verb::Publish(a) => publish::run(&ctx, a),
        #[cfg(feature = "dataset")]
        Verb::Run(a) => run::run(&ctx, a),
        #[cfg(feature = "dataset")]
        Verb::Stats(a) => stats::run(&ctx, a),
        #[cfg(feature = "query")]
        Verb::Query(a) => query::run(&ctx, a),
        #[cfg(feature = "view")]
        Verb::View(a) => view::run(&ctx, a),
        #[cfg(feature = "recorder")]
        Verb::ContactSheet(a) => contact_sheet::run(&ctx, a),
        #[cfg(feature = "recorder")]
        Verb::Demo(a) => demo::run(&ctx, a),
    }
}
