//! `redline verify`.

use super::Context;
use crate::exit::{Exit, WithExit};
use redline_dataset::release::{self, Verified};

#[derive(clap::Args)]
pub struct Args {
    /// The release: a folder, here or downloaded, or s3://BUCKET/PREFIX
    #[arg(value_name = "RELEASE")]
    release: String,
}

pub fn run(ctx: &Context, args: Args) -> anyhow::Result<()> {
    let bar = super::pack::progress_bar();
    bar.set_message("hashing");
    let step = |done: usize, of: usize| {
        bar.set_length(of as u64);
        bar.set_position(done as u64);
    };
    let found = if super::publish::is_address(&args.release) {
        in_storage(&args.release, &step)
    } else {
        release::verify(args.release.as_ref(), &step).map_err(Into::into)
    };
    bar.finish_and_clear();
    let found = found?;
    if ctx.json {
        println!("{}", serde_json::to_string_pretty(&found)?);
    } else {
        for (path, damage) in &found.damaged {
            println!("{:10} {path}", format!("{damage:?}").to_lowercase());
        }
        if found.damaged.is_empty() {
            println!("intact: {} files, {} bytes", found.files, found.bytes);
        }
    }
    match found.damaged.len() {
        0 => Ok(()),
        n => Err(anyhow::anyhow!("{}: {n} files are not as released", args.release)).exit(Exit::Findings),
    }
}

#[cfg(feature = "publish")]
fn in_storage(address: &str, step: redline_publish::Progress<'_>) -> anyhow::Result<Verified> {
    Ok(redline_publish::verify(&redline_publish::Storage::open(address)?, step)?)
}

#[cfg(not(feature = "publish"))]
fn in_storage(address: &str, _: &(dyn Fn(usize, usize) + Sync)) -> anyhow::Result<Verified> {
    Err(redline_dataset::Error::Refused(format!("{address}: this redline was built without `publish`, for folders only")).into())
}
