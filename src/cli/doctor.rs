//! `redline doctor`.

use super::Context;
use crate::exit::{Exit, WithExit as _};
use redline_recorder::doctor::{Examination, Verdict, examine};
use std::io::Write as _;
use std::path::PathBuf;

#[derive(clap::Args)]
pub struct Args {
    /// The folder whose disk is looked at
    #[arg(long, env = "REDLINE_CORPUS", default_value = ".", value_name = "DIR")]
    corpus: PathBuf,
}

pub fn run(ctx: &Context, args: Args) -> anyhow::Result<()> {
    let e = examine(&args.corpus);
    if ctx.json {
        let mut value = serde_json::to_value(&e)?;
        value["can_record"] = e.can_record().into();
        writeln!(std::io::stdout(), "{}", serde_json::to_string_pretty(&value)?)?;
    } else {
        show(&e)?;
    }
    if e.can_record() {
        return Ok(());
    }
    let stops: Vec<_> = e.findings.iter().filter(|f| f.verdict == Verdict::Stops).map(|f| f.what).collect();
    Err(anyhow::anyhow!("a recording would not start: {}", stops.join(", "))).exit(Exit::Device)
}

fn show(e: &Examination) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    for f in &e.findings {
        let verdict = match f.verdict {
            Verdict::Good => "good   ",
            Verdict::Warning => "warning",
            Verdict::Stops => "STOPS  ",
        };
        writeln!(out, "{verdict}  {}: {}", f.what, f.detail)?;
        if let Some(h) = f.hint {
            writeln!(out, "         hint: {h}")?;
        }
    }
    writeln!(out)?;
    for (i, m) in e.monitors.iter().enumerate() {
        let primary = if m.primary { ", primary" } else { "" };
        writeln!(
            out,
            "monitor {}: {} {}x{} at {},{}{primary}, scale {}",
            i + 1,
            m.name,
            m.area.width,
            m.area.height,
            m.area.x,
            m.area.y,
            m.scale
        )?;
    }
    for m in &e.microphones {
        let default = if m.default { ", default" } else { "" };
        writeln!(out, "microphone: {}, {} Hz{default}", m.name, m.sample_rate)?;
    }
    Ok(())
}
