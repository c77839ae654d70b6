//! `redline demo`: the main job from start to end, on a desktop or on one that it makes itself.

mod run;
mod scene;
mod show;

use super::Context;
use crate::exit::{Exit, WithExit as _};
use anyhow::{Context as _, bail};
use redline_schemas::{Corpus, RequestId};
use run::Runner;
use std::io::{IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The sample part, so that the demo needs no source tree.
const SAMPLE: &[u8] = include_bytes!("../../samples/bracket.step");

/// What the demo's participant agrees to: its virtual speaker, or you by pressing Enter.
const CONSENT: &str = "This is a demonstration. Screen, voice and input are recorded into a folder on this machine and stay there.\n";

#[derive(clap::Args)]
pub struct Args {
    /// The folder to make [default: redline-demo, or the next free number]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// How long to record
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(15..=600), value_name = "SECONDS")]
    seconds: u32,
    /// Use a virtual desktop even where there is a real one
    #[arg(long)]
    virtual_desktop: bool,
    /// Do not ask before recording a real desktop
    #[arg(long)]
    yes: bool,
    /// A ggml speech model [default: the one in the cache]
    #[arg(long, value_name = "FILE")]
    whisper_model: Option<PathBuf>,
}

/// Whether there is a desktop that can be recorded.
fn has_desktop() -> bool {
    !cfg!(target_os = "linux") || std::env::var_os("DISPLAY").is_some_and(|d| !d.is_empty())
}

pub fn run(ctx: &Context, args: Args) -> anyhow::Result<()> {
    let on_virtual = args.virtual_desktop || !has_desktop();
    let out = match args.out {
        Some(o) => o,
        None => free_folder(Path::new("redline-demo")),
    };
    if out.exists() {
        return Err(redline_schemas::Error::Exists { path: out }.into());
    }
    if !on_virtual {
        announce(&out, args.seconds, args.yes)?;
    }
    std::fs::create_dir_all(&out).map_err(redline_schemas::Error::io(&out, "could not create the folder"))?;
    let runner = Runner::new()?;
    let corpus_dir = out.join("corpus");
    let corpus_arg = format!("--corpus={}", corpus_dir.display());
    let step = out.join("bracket.step");
    redline_schemas::fsio::write_atomic(&step, SAMPLE)?;

    let consent = out.join("consent.txt");
    redline_schemas::fsio::write_atomic(&consent, CONSENT.as_bytes())?;
    let consent = format!("--consent={}", consent.display());
    runner.quiet(&["init", &corpus_dir.to_string_lossy(), "--name=Redline demo", "--language=en", &consent])?;
    runner.quiet(&["participant", "add", "P01", "--consented", &corpus_arg])?;
    runner.quiet(&["model", "add", &step.to_string_lossy(), "--id=bracket", "--name=Bracket", &corpus_arg])?;
    let corpus = Corpus::open(&corpus_dir)?;
    let seconds = args.seconds.to_string();
    let record = [
        "record",
        "--participant=P01",
        "--model=bracket",
        "--modality=interactive",
        "--difficulty=easy",
        "--duration",
        &seconds,
        &corpus_arg,
    ];
    if on_virtual {
        eprintln!("There is no desktop here: the demo makes its own and plays a request on it.");
        let mut desk = redline_desk::VirtualDesktop::start(redline_desk::Options { width: 1600, height: 900, ..Default::default() })
            .exit(Exit::Device)?;
        let speech = out.join("speech");
        std::fs::create_dir(&speech).map_err(redline_schemas::Error::io(&speech, "could not create the folder"))?;
        let scene = scene::Scene::open(&mut desk, &step, &speech, &runner)?;
        let recording = runner.start(&record, desk.env())?;
        wait_until_recording(&corpus, &runner)?;
        scene.play(&desk, &runner)?;
        recording.wait(&runner)?;
    } else {
        runner.start(&record, &[])?.wait(&runner)?;
    }
    let id = corpus.request_ids()?.into_iter().next_back().context("the recorder left no request")?;

    let mut transcribe = vec!["transcribe".to_owned(), corpus_arg.clone()];
    transcribe.extend(args.whisper_model.map(|m| format!("--whisper-model={}", m.display())));
    runner.loud(&transcribe.iter().map(String::as_str).collect::<Vec<_>>())?;
    runner.loud(&["check", &corpus_arg])?;
    let tables = out.join("tables");
    let packed = runner.quiet(&["--json", "pack", &corpus_arg, "--out", &tables.to_string_lossy()])?;
    let sheet = out.join("contact-sheet.png");
    runner.quiet(&["contact-sheet", id.as_str(), &corpus_arg, "--out", &sheet.to_string_lossy()])?;
    let shown = show::Shown::read(&corpus, &id, &packed, &sheet)?;
    if ctx.json {
        println!("{}", serde_json::to_string_pretty(&shown)?);
    } else {
        shown.print();
    }
    Ok(())
}

fn free_folder(base: &Path) -> PathBuf {
    let numbered = (2..).map(|n| base.with_file_name(format!("{}-{n}", base.display())));
    std::iter::once(base.to_path_buf()).chain(numbered).find(|p| !p.exists()).unwrap_or_else(|| base.into())
}

/// Says what will be recorded, and waits for a yes.
fn announce(out: &Path, seconds: u32, yes: bool) -> anyhow::Result<()> {
    eprintln!("This will record for {seconds} s, into {}:", out.display());
    eprintln!("  - the primary monitor, with the mouse pointer");
    eprintln!("  - the default microphone");
    eprintln!("  - mouse, wheel and shortcut keys (typed characters are not kept)");
    eprintln!("{CONSENT}Open a model, then say what should change about it while you point at it.");
    if yes {
        return Ok(());
    }
    if !std::io::stdin().is_terminal() {
        return Err(anyhow::anyhow!("nobody can be asked (no terminal): say --yes to record this desktop, or --virtual-desktop"))
            .exit(Exit::Device);
    }
    eprint!("Press Enter to start, Ctrl-C to leave. ");
    std::io::stderr().flush()?;
    if std::io::stdin().read_line(&mut String::new())? == 0 {
        bail!("nothing was recorded");
    }
    Ok(())
}

/// Waits until pictures are being written.
fn wait_until_recording(corpus: &Corpus, runner: &Runner) -> anyhow::Result<()> {
    let started = |id: &RequestId| std::fs::metadata(corpus.request_dir(id).video_raw()).is_ok_and(|m| m.len() > 0);
    let patience = Duration::from_secs(60);
    let from = std::time::Instant::now();
    while !corpus.request_ids()?.iter().any(started) {
        if from.elapsed() > patience {
            bail!("the recorder did not start within {} s", patience.as_secs());
        }
        runner.pause(Duration::from_millis(50))?;
    }
    Ok(())
}
