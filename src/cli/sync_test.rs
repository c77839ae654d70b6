//! `redline sync-test`: how well video, sound and input agree on this machine, measured.

use super::Context;
use super::record::coded;
use super::sync_plot;
use crate::exit::{Exit, WithExit};
use anyhow::{Context as _, bail};
use redline_desk::VirtualDesktop;
use redline_recorder::sync::click::{Clicks, Crystal, Loudspeaker};
use redline_recorder::sync::patch::{Patch, STRIPS};
use redline_recorder::sync::report::{Report, Row};
use redline_recorder::sync::{Truth, detect};
use redline_recorder::{RecordOptions, Recording, SessionManifest, monotonic_ns};
use redline_schemas::{
    Corpus, CorpusManifest, Difficulty, FORMAT_VERSION, Modality, ParticipantId, Protocol, RequestId, RequestManifest, Session, Status,
    Tool, fsio,
};
use std::path::{Path, PathBuf};
use std::time::Duration;

#[derive(clap::Args)]
pub struct Args {
    /// Flashes, clicks and presses: about one of each a second
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u32).range(2..=36_000))]
    flashes: u32,
    /// Run for so many minutes instead
    #[arg(long, conflicts_with = "flashes", value_parser = clap::value_parser!(u32).range(1..=600))]
    minutes: Option<u32>,
    /// Folder for the recording, sync-test.json and sync-test.png; made anew
    #[arg(long, default_value = "sync-test", value_name = "DIR")]
    out: PathBuf,
    /// Measure on a virtual desktop with a virtual microphone (this screen and loudspeaker stay alone)
    #[arg(long)]
    r#virtual: bool,
    /// With --virtual: a microphone whose rate is off by so many parts per million
    #[arg(long, value_name = "PPM", requires = "virtual", allow_negative_numbers = true, value_parser = ppm)]
    skew_ppm: Option<f64>,
    /// The pipe behind the virtual microphone; set by --virtual
    #[arg(long, hide = true, value_name = "FILE")]
    microphone_pipe: Option<PathBuf>,
}

fn ppm(s: &str) -> Result<f64, String> {
    s.parse().ok().filter(|p: &f64| p.abs() <= 1_000.0).ok_or_else(|| "give a number from -1000 to 1000".into())
}

/// Time between two flashes.
const PERIOD_NS: i64 = 1_000_000_000;
/// A picture at 30 fps.
const FRAME_NS: f64 = 1e9 / 30.0;
/// What happens so near to the recording's start or end is not looked at.
const EDGE_NS: i64 = 500_000_000;
/// Streams settle for so long before the first flash.
const SETTLE_NS: i64 = 2_500_000_000;

/// What is written to `sync-test.json`.
#[derive(serde::Serialize)]
struct Outcome<'a> {
    tool: Tool,
    skew_ppm: Option<f64>,
    fitted_ppm: Option<f64>,
    repeated_slots: Option<u64>,
    dropped_frames: Option<u64>,
    report: &'a Report,
    truth: &'a Truth,
}

pub fn run(ctx: &Context, args: Args) -> anyhow::Result<()> {
    if args.r#virtual && args.microphone_pipe.is_none() && std::env::var_os(INSIDE).is_none() {
        return run_virtual(&args);
    }
    let corpus = new_corpus(&args.out)?;
    let (truth, dir, session) = record(&args, &corpus)?;
    eprintln!("looking for the flashes, clicks and presses in the recording");
    let (middles, mut truth) = truth;
    // A click may be cut by the recording's start or end.
    let inside = |t: i64| t > EDGE_NS && t < session.duration_ns - EDGE_NS;
    let mut clicks = detect::clicks(&dir, &session).map_err(coded)?;
    clicks.retain(|t| inside(*t));
    truth.clicks.retain(|c| inside(c.t_ns));
    let report =
        Report::new(&truth, &detect::flashes(&dir, &session, &middles).map_err(coded)?, &clicks, &detect::presses(&dir).map_err(coded)?);
    let video = session.streams.video.as_ref();
    let result = Outcome {
        tool: Tool::redline(),
        skew_ppm: args.skew_ppm,
        fitted_ppm: session.streams.audio.as_ref().and_then(|a| a.clock.pieces.first()).map(|p| p.ppm),
        repeated_slots: video.map(|v| v.repeated_slots),
        dropped_frames: video.map(|v| v.dropped_frames),
        report: &report,
        truth: &truth,
    };
    fsio::write_json(&args.out.join("sync-test.json"), &result)?;
    let plot = args.out.join("sync-test.png");
    match sync_plot::draw(&plot, &report) {
        Ok(()) => eprintln!("plot: {}", plot.display()),
        Err(e) => eprintln!("no plot: {e:#}"),
    }
    if ctx.json {
        println!("{}", serde_json::to_string(&result)?);
    } else {
        print_table(&report);
        if let (Some(v), Some(a)) = (video, session.streams.audio.as_ref()) {
            let ppm: Vec<String> = a.clock.pieces.iter().map(|p| format!("{:+.1}", p.ppm)).collect();
            println!(
                "video: {} frames, {} repeated, {} dropped; microphone: {} ppm",
                v.frames,
                v.repeated_slots,
                v.dropped_frames,
                ppm.join(", ")
            );
        }
    }
    if [&report.video, &report.audio, &report.input].iter().any(|s| s.errors.is_empty()) {
        bail!("a stream shows none of what was done: see {}", args.out.join("sync-test.json").display());
    }
    Ok(())
}

/// Set for the process that runs on the virtual desktop.
const INSIDE: &str = "REDLINE_SYNC_TEST_INSIDE";

/// Runs this command anew on a desktop of its own: a process gets its display once.
fn run_virtual(args: &Args) -> anyhow::Result<()> {
    let options = redline_desk::Options { microphone_pipe: args.skew_ppm.is_some(), ..Default::default() };
    let desk = VirtualDesktop::start(options).exit(Exit::Device)?;
    let mut again = desk.command(std::env::current_exe().context("could not find the own program")?);
    again.args(std::env::args_os().skip(1)).env(INSIDE, "1");
    if args.skew_ppm.is_some() {
        again.arg("--microphone-pipe").arg(desk.microphone_pipe());
    }
    let status = again.status().context("could not start the test on the virtual desktop")?;
    drop(desk);
    if status.success() {
        return Ok(());
    }
    // It has said why.
    std::process::exit(status.code().unwrap_or(1));
}

fn new_corpus(out: &Path) -> anyhow::Result<Corpus> {
    let root = out.join("corpus");
    if root.exists() {
        // Ours, from a run before; anything else is left alone.
        Corpus::open(&root).with_context(|| format!("{} is in the way: give another --out", root.display()))?;
        std::fs::remove_dir_all(&root).with_context(|| format!("could not replace {}", root.display()))?;
    }
    std::fs::create_dir_all(out).with_context(|| format!("could not make {}", out.display())).exit(Exit::Storage)?;
    let manifest = CorpusManifest {
        format_version: FORMAT_VERSION,
        name: "sync-test".into(),
        licence: "CC0-1.0".into(),
        created_utc: chrono::Utc::now(),
        language: None,
        word_list: Vec::new(),
        protocol: Protocol::default(),
        consent: None,
        splits: Vec::new(),
        failure_labels: Vec::new(),
    };
    Ok(Corpus::create(root, &manifest)?)
}

type Done = (Vec<(f64, f64)>, Truth);

fn record(args: &Args, corpus: &Corpus) -> anyhow::Result<(Done, redline_schemas::SessionDir, Session)> {
    let id = RequestId::generate();
    let dir = corpus.request_dir(&id);
    let manifest = RequestManifest {
        format_version: FORMAT_VERSION,
        id,
        participant: ParticipantId::new("P00")?,
        model: None,
        modality: Modality::Interactive,
        difficulty: Difficulty::Easy,
        status: Status::Recording,
        rejection: None,
        session: Session::begun(),
        note: Some("sync test".into()),
        imported_from: None,
        tool: Tool::redline(),
    };
    // Before the recording, so that a missing loudspeaker leaves nothing half done.
    let clicks = match (&args.microphone_pipe, args.skew_ppm) {
        (Some(p), Some(ppm)) => Clicks::Crystal(Crystal::feed(p, ppm).map_err(coded)?),
        _ => Clicks::Loudspeaker(Loudspeaker::play().map_err(coded)?),
    };
    let patch = Patch::show().map_err(coded)?;
    let recording = Recording::start(corpus, dir.clone(), SessionManifest::Request(Box::new(manifest)), &RecordOptions::default(), None)
        .map_err(coded)?;
    let clock = recording.clock().clone();
    let count = args.minutes.map_or(args.flashes, |m| m * 60);
    let bar = indicatif::ProgressBar::new(count.into())
        .with_style(indicatif::ProgressStyle::with_template("{bar:30} {pos}/{len} flashes, {eta} left")?);
    let start = monotonic_ns() + SETTLE_NS;
    let mut truth = Truth::default();
    for i in 0..count {
        // Spread evenly over the phases of a frame, in an order without a period.
        let phase = |shift: f64| ((f64::from(i) * 0.618_033_988_75 + shift).fract() * FRAME_NS) as i64;
        let at = start + i64::from(i) * PERIOD_NS;
        truth.flashes.push(patch.flash(at + phase(0.0), &clock).map_err(coded)?);
        truth.presses.push(patch.press(at + PERIOD_NS * 6 / 10 + phase(0.5), &clock).map_err(coded)?);
        for m in recording.messages() {
            bar.suspend(|| eprintln!("{m}"));
        }
        if recording.wants_stop().is_some() {
            break;
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    std::thread::sleep(Duration::from_millis(500));
    truth.clicks = clicks.stop(&clock).map_err(coded)?;
    let finished = recording.stop().map_err(coded)?;
    let session = finished.manifest.session().clone();
    let middles = (0..STRIPS).map(|i| patch.strip_middle(i)).collect();
    Ok(((middles, truth), dir, session))
}

fn print_table(report: &Report) {
    let mut t = comfy_table::Table::new();
    t.load_preset(comfy_table::presets::NOTHING);
    t.set_header(["", "n", "median ms", "5 % ms", "95 % ms", "drift ms/10 min", "± (95 %)"]);
    for r in &report.rows {
        let Row { name, count, median_ms, p5_ms, p95_ms, drift_ms_per_10_min: d, drift_error_ms_per_10_min: e } = r;
        t.add_row([
            name.clone(),
            count.to_string(),
            format!("{median_ms:+.2}"),
            format!("{p5_ms:+.2}"),
            format!("{p95_ms:+.2}"),
            format!("{d:+.2}"),
            format!("{e:.2}"),
        ]);
    }
    println!("{t}");
    for (name, s) in [("video", &report.video), ("audio", &report.audio), ("input", &report.input)] {
        if s.missing + s.uncertain + s.surplus > 0 {
            println!(
                "{name}: {} not found, {} not counted (their own time was uncertain), {} unexplained",
                s.missing, s.uncertain, s.surplus
            );
        }
    }
}
