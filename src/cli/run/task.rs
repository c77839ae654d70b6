//! `redline run task`.

use crate::cli::{Context, CorpusArg, table};
use crate::exit::{Exit, WithExit as _};
use anyhow::{Context as _, anyhow};
use clap::Subcommand;
use redline_schemas::{Corpus, FORMAT_VERSION, TaskCheck, TaskFamily, TaskId, TaskManifest, Tool, fsio};
use std::path::PathBuf;

/// The largest prompt that is read, bytes.
const MAX_PROMPT_BYTES: u64 = 1 << 20;

#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Add a task
    Add(Box<Add>),
    /// List the tasks
    List {
        #[command(flatten)]
        corpus: CorpusArg,
    },
}

#[derive(clap::Args)]
struct Add {
    /// Its id, e.g. open-file
    id: TaskId,
    /// orientation, navigation, selection_inspection, creation_modification, workflow or recovery
    #[arg(long)]
    family: TaskFamily,
    /// What the agent is told, to the letter
    #[arg(long, required_unless_present = "prompt_file", conflicts_with = "prompt_file")]
    prompt: Option<String>,
    /// Text file with what the agent is told; kept to the letter
    #[arg(long, value_name = "FILE")]
    prompt_file: Option<PathBuf>,
    /// The state that the program is brought into before each run
    #[arg(long, value_name = "TEXT")]
    start_state: String,
    /// Steps of a short way to the goal
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    reference_steps: u32,
    /// What must hold after a run, NAME=WHAT MUST BE SEEN (several allowed)
    #[arg(long = "check", value_name = "NAME=TEXT", required = true, value_parser = check)]
    checks: Vec<TaskCheck>,
    #[command(flatten)]
    corpus: CorpusArg,
}

fn check(s: &str) -> Result<TaskCheck, String> {
    let (name, expects) = s.split_once('=').ok_or("write NAME=WHAT MUST BE SEEN")?;
    let name_ok = !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'));
    if !name_ok || expects.trim().is_empty() {
        return Err("the name is of letters, digits, - and _, and something must be expected".into());
    }
    Ok(TaskCheck { name: name.into(), expects: expects.trim().into() })
}

pub fn run(ctx: &Context, args: Args) -> anyhow::Result<()> {
    match args.what {
        What::Add(a) => add(ctx, *a),
        What::List { corpus } => list(ctx, &corpus),
    }
}

/// A task of the corpus.
pub(super) fn find(corpus: &Corpus, id: &TaskId) -> anyhow::Result<TaskManifest> {
    let path = corpus.task_path(id);
    if !path.exists() {
        let add = "`redline run task list` shows those that there are, `redline run task add` makes one";
        return Err(anyhow!("{}: there is no task “{id}”: {add}", path.display())).exit(Exit::Input);
    }
    corpus.task(id).exit(Exit::Input)
}

fn add(ctx: &Context, a: Add) -> anyhow::Result<()> {
    let corpus = a.corpus.open()?;
    let path = corpus.task_path(&a.id);
    if path.exists() {
        return Err(redline_schemas::Error::Exists { path }).exit(Exit::Input);
    }
    let prompt = match (a.prompt, &a.prompt_file) {
        (Some(p), _) => p,
        (None, Some(f)) => {
            String::from_utf8(fsio::read_limited(f, MAX_PROMPT_BYTES)?).with_context(|| format!("{}: not UTF-8 text", f.display()))?
        }
        (None, None) => String::new(),
    };
    if prompt.trim().is_empty() {
        return Err(anyhow!("the prompt is empty")).exit(Exit::Input);
    }
    let mut names: Vec<&str> = a.checks.iter().map(|c| c.name.as_str()).collect();
    names.sort_unstable();
    if let Some(w) = names.windows(2).find(|w| w[0] == w[1]) {
        return Err(anyhow!("two checks are called “{}”", w[0])).exit(Exit::Input);
    }
    let task = TaskManifest {
        format_version: FORMAT_VERSION,
        id: a.id,
        family: a.family,
        prompt,
        start_state: a.start_state,
        reference_steps: a.reference_steps,
        checks: a.checks,
        tool: Tool::redline(),
    };
    let folder = corpus.tasks_dir();
    std::fs::create_dir_all(&folder).with_context(|| format!("{}: could not create the folder", folder.display()))?;
    fsio::write_json(&path, &task)?;
    if ctx.json {
        println!("{}", serde_json::to_string_pretty(&task)?);
    } else {
        println!("{}", task.id);
    }
    Ok(())
}

fn list(ctx: &Context, corpus: &CorpusArg) -> anyhow::Result<()> {
    let corpus = corpus.open()?;
    let tasks = corpus.task_ids()?.iter().map(|id| corpus.task(id)).collect::<Result<Vec<_>, _>>()?;
    if ctx.json {
        println!("{}", serde_json::to_string_pretty(&tasks)?);
        return Ok(());
    }
    let mut t = table(["task", "family", "reference steps", "checks", "prompt"]);
    for k in tasks {
        let checks: Vec<_> = k.checks.iter().map(|c| format!("{}: {}", c.name, c.expects)).collect();
        t.add_row([k.id.to_string(), k.family.to_string(), k.reference_steps.to_string(), checks.join("\n"), k.prompt]);
    }
    println!("{t}");
    Ok(())
}
