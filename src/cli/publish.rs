//! `redline publish`.

use super::Context;
use redline_dataset::publish;
use std::path::PathBuf;

#[derive(clap::Args)]
pub struct Args {
    /// The release's folder
    #[arg(value_name = "RELEASE")]
    release: PathBuf,
    /// The folder that it is copied to
    #[arg(value_name = "DEST")]
    to: String,
}

pub fn run(ctx: &Context, args: Args) -> anyhow::Result<()> {
    if args.to.contains("://") {
        return Err(redline_dataset::Error::Refused(format!("{}: only folders can be published to", args.to)).into());
    }
    let bar = super::pack::progress_bar();
    bar.set_message("copying");
    let done = publish::publish(&args.release, args.to.as_ref(), &|done, of| {
        bar.set_length(of as u64);
        bar.set_position(done as u64);
    });
    bar.finish_and_clear();
    let done = done?;
    if ctx.json {
        println!("{}", serde_json::to_string_pretty(&done)?);
    } else {
        println!("{}: {} files copied, {} were there", done.to.display(), done.copied, done.kept);
    }
    Ok(())
}
