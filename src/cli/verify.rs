//! `redline verify`.

use super::Context;
use crate::exit::{Exit, WithExit};
use redline_dataset::release;
use std::path::PathBuf;

#[derive(clap::Args)]
pub struct Args {
    /// The release's folder, here or downloaded
    #[arg(value_name = "DIR")]
    dir: PathBuf,
}

pub fn run(ctx: &Context, args: Args) -> anyhow::Result<()> {
    let bar = super::pack::progress_bar();
    bar.set_message("hashing");
    let found = release::verify(&args.dir, &|done, of| {
        bar.set_length(of as u64);
        bar.set_position(done as u64);
    });
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
        n => Err(anyhow::anyhow!("{}: {n} files are not as released", args.dir.display())).exit(Exit::Findings),
    }
}
