//! Brings a release to where others load it: a folder or S3-compatible storage.
//! `redline publish`.

use super::Context;
use redline_dataset::publish::Published;
use std::path::PathBuf;

#[derive(clap::Args)]
#[command(after_help = "S3-compatible storage takes its settings from the usual variables: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, \
    AWS_REGION; AWS_ENDPOINT_URL for storage elsewhere than at Amazon, AWS_ALLOW_HTTP=true for one without TLS.")]
pub struct Args {
    /// The release's folder
    #[arg(value_name = "RELEASE")]
    release: PathBuf,
    /// Where it is brought to: a folder, or s3://BUCKET/PREFIX
    #[arg(value_name = "TO")]
    to: String,
}

pub fn run(ctx: &Context, args: Args) -> anyhow::Result<()> {
    let bar = super::pack::progress_bar();
    let step = |done: usize, of: usize| {
        bar.set_length(of as u64);
        bar.set_position(done as u64);
    };
    bar.set_message("publishing");
    let done = if is_address(&args.to) {
        to_storage(&args, &step)
    } else {
        redline_dataset::publish::publish(&args.release, args.to.as_ref(), &step).map_err(Into::into)
    };
    bar.finish_and_clear();
    let done = done?;
    if ctx.json {
        println!("{}", serde_json::to_string_pretty(&done)?);
    } else {
        println!("{}: {} files copied, {} were there", done.to.display(), done.copied, done.kept);
    }
    Ok(())
}

/// Whether something is an address and no folder.
pub(super) fn is_address(place: &str) -> bool {
    place.contains("://")
}

#[cfg(feature = "publish")]
fn to_storage(args: &Args, step: redline_publish::Progress<'_>) -> anyhow::Result<Published> {
    Ok(redline_publish::publish(&args.release, &redline_publish::Storage::open(&args.to)?, step)?)
}

#[cfg(not(feature = "publish"))]
fn to_storage(args: &Args, _: &(dyn Fn(usize, usize) + Sync)) -> anyhow::Result<Published> {
    Err(redline_dataset::Error::Refused(format!("{}: this redline was built without `publish`, for folders only", args.to)).into())
}
