//! `redline run start`, `step` and `stop`: one run, recorded.

use super::person;
use crate::cli::record::{What, coded, kept, parse_duration, say_what_was_recorded, stop_signal};
use crate::cli::record_progress::Shown;
use crate::cli::{Context, CorpusArg};
use crate::exit::{Exit, WithExit as _};
use anyhow::anyhow;
use redline_recorder::control::{Command, EndRun, Server, ask};
use redline_recorder::steps::{StepAsked, Steps};
use redline_recorder::{Error, Microphone, RecordOptions, Recording, SessionManifest};
use redline_schemas::{
    Action, Application, Corpus, Environment, FORMAT_VERSION, ParticipantId, RunAgent, RunId, RunManifest, RunStop, Session, Status,
    TaskId, Tool, fsio,
};
use serde_json::{Value, json};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

#[derive(clap::Args)]
pub struct Start {
    /// The task; see run task
    task: TaskId,
    /// Who runs it (a participant’s id)
    #[arg(long, value_name = "PARTICIPANT")]
    operator: ParticipantId,
    /// The agent’s name
    #[arg(long, value_name = "NAME", value_parser = name)]
    agent: String,
    /// The agent’s version
    #[arg(long, value_name = "VERSION", value_parser = name)]
    agent_version: String,
    /// The program that is worked in
    #[arg(long, value_name = "NAME", value_parser = name)]
    app: String,
    /// The program’s version
    #[arg(long, value_name = "VERSION", value_parser = name)]
    app_version: String,
    /// The program’s theme
    #[arg(long, default_value = "default", value_parser = name)]
    theme: String,
    /// The program’s locale, e.g. en_GB
    #[arg(long, value_parser = name)]
    locale: String,
    /// End the run after so many seconds (also 90s, 2m, 1h), with the stop reason “limit”
    #[arg(long, value_parser = parse_duration)]
    limit: Option<Duration>,
    #[command(flatten)]
    what: What,
    #[command(flatten)]
    corpus: CorpusArg,
}

/// A name of one line, as in the settings of harnesses.
fn name(s: &str) -> Result<String, String> {
    redline_schemas::text::name(s).map(str::to_owned).map_err(|why| format!("it {why}"))
}

#[derive(clap::Args)]
pub struct Step {
    /// What the agent does next: move X Y, click X Y [BUTTON], double_click X Y, drag X Y X Y [BUTTON], scroll X Y NOTCHES,
    /// key KEYS, type TEXT or wait
    #[arg(long)]
    action: Action,
    /// The operator’s note
    #[arg(long)]
    note: Option<String>,
    #[command(flatten)]
    corpus: CorpusArg,
}

#[derive(clap::Args)]
pub struct Stop {
    /// Why it ended: done, limit or intervention
    #[arg(long)]
    reason: RunStop,
    /// What the agent says of itself: success or failure; it is kept, and counts for nothing
    #[arg(long, value_name = "CLAIM", value_parser = ["success", "failure"])]
    claimed: Option<String>,
    /// A run that was broken off, instead of the one that is being recorded
    #[arg(long, value_name = "RUN")]
    run: Option<RunId>,
    #[command(flatten)]
    corpus: CorpusArg,
}

pub fn start(ctx: &Context, args: Start) -> anyhow::Result<()> {
    let corpus = args.corpus.open()?;
    let task = super::task::find(&corpus, &args.task)?;
    person(&corpus, &args.operator)?;
    let mut options = args.what.options()?;
    // Agents do not speak: sound is recorded only when a microphone was named.
    if !args.what.microphone_given() {
        options.microphone = Microphone::Off;
    }
    let id = RunId::generate();
    let manifest = RunManifest {
        format_version: FORMAT_VERSION,
        id: id.clone(),
        task: task.id,
        family: task.family,
        prompt: task.prompt,
        start_state: task.start_state,
        reference_steps: task.reference_steps,
        agent: RunAgent { name: args.agent, version: args.agent_version },
        operator: args.operator,
        application: Application { name: args.app, version: args.app_version },
        environment: Environment { resolution: None, theme: args.theme, locale: args.locale },
        status: Status::Recording,
        rejection: None,
        session: Session::begun(),
        stop: None,
        claimed_success: None,
        tool: Tool::redline(),
    };
    let stop = stop_signal()?;
    let dir = corpus.run_dir(&id);
    let path = dir.path().to_path_buf();
    let recording = Recording::start(&corpus, dir, SessionManifest::Run(Box::new(manifest)), &options, None).map_err(coded)?;
    let told = run(&corpus, &id, recording, &options, args.limit, &stop).map_err(|e| kept(e, &path))?;
    let m = corpus.run(&id)?;
    if m.stop.is_none() {
        eprintln!("nobody said why it ended; say it with: redline run stop --run {id} --reason REASON");
    }
    if ctx.json {
        let value = json!({
            "run": id, "manifest": corpus.run_dir(&id).run_json(), "duration_ns": m.session.duration_ns,
            "steps": told, "stop": m.stop, "claimed_success": m.claimed_success,
        });
        println!("{}", serde_json::to_string_pretty(&value)?);
    } else {
        println!("{id}");
    }
    Ok(())
}

/// Records until the run ends; how many steps there are.
fn run(
    corpus: &Corpus,
    id: &RunId,
    mut recording: Recording,
    options: &RecordOptions,
    limit: Option<Duration>,
    stop: &AtomicBool,
) -> anyhow::Result<u32> {
    let mut steps = Steps::start(&recording, options).map_err(coded)?;
    let (server, _send, asked) = Server::start(corpus).map_err(coded)?;
    // Scripts wait for this line.
    eprintln!("recording {id}");
    let mut shown = Shown::new(&recording, limit);
    let mut end = None;
    let (mut taken, mut acted) = (0, 0);
    while end.is_none() && recording.wants_stop().is_none() {
        if !shown.goes_on(&recording, stop) {
            let by_hand = stop.load(std::sync::atomic::Ordering::Acquire);
            end = (!by_hand).then_some(EndRun { stop: RunStop::Limit, claimed_success: None });
            break;
        }
        let Ok(a) = asked.recv_timeout(shown.pause()) else { continue };
        let answer = match &a.command {
            Command::Step(s) => steps.take(s.clone()).map(|e| {
                taken = e.step;
                acted += u32::from(e.action.is_some());
                serde_json::to_value(&e).unwrap_or_default()
            }),
            Command::EndRun(e) => {
                end = Some(*e);
                Ok(json!({ "run": id, "steps": acted }))
            }
            Command::Mark(note) => recording.mark(note.clone()).map(|t_ns| json!({ "t_ns": t_ns })),
            Command::Status => Ok(status(id, &recording, taken)),
            _ => Err(Error::Options(
                "a run of an agent takes step, end-run, mark and status; end it with `redline run stop --reason`".into(),
            )),
        };
        a.answer(answer);
    }
    drop(shown);
    drop(server);
    // Whatever became of the last screenshot, the recording is finished.
    let last = steps.finish().map_err(coded);
    recording.end_run(end.map(|e| e.stop), end.and_then(|e| e.claimed_success));
    let path = recording.dir().path().to_path_buf();
    let finished = recording.stop().map_err(coded)?;
    say_what_was_recorded(&finished, &path);
    last?;
    Ok(acted)
}

fn status(id: &RunId, r: &Recording, taken: u32) -> Value {
    let p = r.progress();
    json!({ "run": id, "elapsed_ns": p.elapsed_ns, "frames": p.frames, "dropped": p.dropped, "events": p.events, "steps": taken })
}

pub fn step(ctx: &Context, args: Step) -> anyhow::Result<()> {
    let corpus = args.corpus.open()?;
    let answer = ask(&corpus, &Command::Step(StepAsked { action: Some(args.action), note: args.note })).map_err(coded)?;
    if ctx.json {
        println!("{answer}");
    } else {
        println!("{}", answer["step"]);
    }
    Ok(())
}

pub fn stop(ctx: &Context, args: Stop) -> anyhow::Result<()> {
    let corpus = args.corpus.open()?;
    let claimed_success = args.claimed.as_deref().map(|c| c == "success");
    let answer = match &args.run {
        None => ask(&corpus, &Command::EndRun(EndRun { stop: args.reason, claimed_success })).map_err(coded)?,
        Some(id) => {
            let mut m = super::ended(&corpus, id)?;
            if let Some(s) = m.stop {
                return Err(anyhow!("run {id} has its stop reason already ({s}): nothing recorded is replaced")).exit(Exit::Input);
            }
            m.stop = Some(args.reason);
            m.claimed_success = m.claimed_success.or(claimed_success);
            fsio::write_json(&corpus.run_dir(id).run_json(), &m)?;
            json!({ "run": id, "stop": m.stop })
        }
    };
    if ctx.json {
        println!("{answer}");
    }
    Ok(())
}
