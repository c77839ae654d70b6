//! `redline export`.

use super::Context;

#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(clap::Subcommand)]
enum What {
    /// Write a transcript in the form of another program
    #[cfg(feature = "transcribe")]
    Transcript(super::export_transcript::Args),
    /// Write one request, its model and the people in it as a zip
    #[cfg(feature = "dataset")]
    Request(super::export_dataset::Request),
    /// Write requests as the tasks that an agent's harness takes
    #[cfg(feature = "dataset")]
    Harness(super::export_harness::Args),
    /// Write the corpus in the reference dataset's schema
    #[cfg(feature = "dataset")]
    Reference(super::export_dataset::Reference),
}

pub fn run(ctx: &Context, args: Args) -> anyhow::Result<()> {
    let _ = ctx; // Only the dataset forms print.
    match args.what {
        #[cfg(feature = "transcribe")]
        What::Transcript(a) => super::export_transcript::run(a),
        #[cfg(feature = "dataset")]
        What::Request(a) => super::export_dataset::request(ctx, a),
        #[cfg(feature = "dataset")]
        What::Harness(a) => super::export_harness::run(ctx, a),
        #[cfg(feature = "dataset")]
        What::Reference(a) => super::export_dataset::reference(ctx, a),
    }
}
