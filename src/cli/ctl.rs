//! `redline ctl`: commands to the recorder that works in a corpus.

use super::record::coded;
use super::{Context, CorpusArg};
use redline_recorder::control::{Command, ask};
use std::io::Write as _;

#[derive(clap::Args)]
#[command(after_help = "\
Commands:
  draw on|off            switch drawing on or off (draw alone: change over)
  pen colour COLOUR      #rrggbb, a name (red, blue, green, orange, purple, cyan, yellow, black) or next
  pen width PIXELS       1 to 40
  pen tool TOOL          pen, arrow or eraser
  pen cycle on|off       each new stroke takes the next colour
  undo, clear            take the last stroke, or all, away
  pause, resume          write nothing for a while; the clock goes on
  mark [NOTE]            mark this moment
  cut SECONDS            do not keep the last so many seconds, in no stream
  text TEXT              the typed text is now this
  stop, discard          end the recording and keep it, or put it into the bin
  status                 how it is")]
pub struct Args {
    /// The command and what belongs to it
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    command: Vec<String>,
    #[command(flatten)]
    corpus: CorpusArg,
}

pub fn run(ctx: &Context, args: Args) -> anyhow::Result<()> {
    let mut words = args.command;
    // Whatever stands after the command belongs to it, but scripts write `status --json`.
    let json = ctx.json || (words.len() > 1 && words.last().is_some_and(|w| w == "--json") && words.pop().is_some());
    let command: Command = match (words.first().map(String::as_str), words.len()) {
        // As it is, whatever is in it.
        (Some("text"), 2) => Command::Text(words.swap_remove(1)),
        _ => words.join(" ").parse()?,
    };
    let answer = ask(&args.corpus.open()?, &command).map_err(coded)?;
    let mut out = std::io::stdout().lock();
    if json {
        writeln!(out, "{answer}")?;
    } else if command == Command::Status {
        for (k, v) in answer.as_object().into_iter().flatten().filter(|(k, _)| *k != "ok") {
            writeln!(out, "{k}: {v}")?;
        }
    }
    Ok(())
}
