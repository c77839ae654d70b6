//! `redline record`.

use super::record_live::{self, LiveArgs, Subject};
use super::{Context, CorpusArg};
use crate::exit::{Exit, WithExit};
use anyhow::{Context as _, bail};
use redline_recorder::live::Ending;
use redline_recorder::{
    CaptureBackend, Chord, Error, Finished, KeyPolicy, Microphone, RecordOptions, Recording, SessionManifest, Source, StopReason,
    parse_region,
};
use redline_schemas::coords::Rect;
use redline_schemas::{
    Corpus, Difficulty, FORMAT_VERSION, Modality, ModelId, ParticipantId, RequestId, RequestManifest, Session, Status, Tool,
};
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    corpus: CorpusArg,
    /// Who asks (a participant's id)
    #[arg(long)]
    participant: ParticipantId,
    /// About which model
    #[arg(long)]
    model: Option<ModelId>,
    /// text, interactive, draw-temp or draw-static
    #[arg(long, default_value = "interactive")]
    modality: Modality,
    /// easy, medium or hard
    #[arg(long, default_value = "easy")]
    difficulty: Difficulty,
    /// Stop after so many seconds (also 90s, 2m, 1h)
    #[arg(long, value_parser = parse_duration)]
    duration: Option<Duration>,
    #[command(flatten)]
    what: What,
    #[command(flatten)]
    live: LiveArgs,
    #[command(flatten)]
    cad: super::cad_bridge::CadArgs,
}

/// What is recorded, and how; the same for every verb that records.
#[derive(clap::Args)]
pub struct What {
    /// Record this monitor, by name or number from 1 [default: the primary one]
    #[arg(long, group = "area")]
    monitor: Option<String>,
    /// Record the place of a window, by part of its title or number (0x…), and follow it
    #[arg(long, group = "area")]
    window: Option<String>,
    /// Record a fixed area, WIDTHxHEIGHT+X+Y
    #[arg(long, group = "area", value_parser = parse_region, allow_hyphen_values = true)]
    region: Option<Rect>,
    /// Microphone, by part of its name [default: the system’s]
    #[arg(long, conflicts_with = "no_mic")]
    mic: Option<String>,
    /// Record no audio
    #[arg(long)]
    no_mic: bool,
    /// Frames per second
    #[arg(long, default_value_t = RecordOptions::DEFAULT_FPS)]
    fps: u32,
    /// Largest height of the video, pixels
    #[arg(long, default_value_t = RecordOptions::DEFAULT_HEIGHT)]
    height: u32,
    /// x264 preset: ultrafast, superfast, veryfast, faster, fast, medium
    #[arg(long, default_value = "veryfast", value_parser = ["ultrafast", "superfast", "veryfast", "faster", "fast", "medium"])]
    preset: String,
    /// What is kept of the keyboard: all, shortcuts or none
    #[arg(long, default_value = "shortcuts")]
    keys: KeyPolicy,
    /// Keys that stop the recording, or “none”
    #[arg(long, default_value = "ctrl+shift+F9")]
    stop_key: String,
    /// How the screen is read: auto, shm or xcap
    #[arg(long, default_value = "auto")]
    capture: CaptureBackend,
}

impl What {
    /// Whether what of the screen is recorded was said.
    #[cfg(feature = "panel")]
    pub fn source_given(&self) -> bool {
        self.monitor.is_some() || self.window.is_some() || self.region.is_some()
    }

    /// Whether the microphone was.
    #[cfg(any(feature = "panel", feature = "dataset"))]
    pub fn microphone_given(&self) -> bool {
        self.mic.is_some() || self.no_mic
    }

    /// As the recorder takes it.
    pub fn options(&self) -> anyhow::Result<RecordOptions> {
        let source = match (&self.monitor, &self.window, &self.region) {
            (Some(m), _, _) => Source::Monitor(m.clone()),
            (_, Some(w), _) => Source::Window(w.clone()),
            (_, _, Some(r)) => Source::Region(*r),
            _ => Source::PrimaryMonitor,
        };
        let microphone = match &self.mic {
            _ if self.no_mic => Microphone::Off,
            Some(m) => Microphone::Named(m.clone()),
            None => Microphone::Default,
        };
        let stop_chord = if self.stop_key == "none" { None } else { Some(self.stop_key.parse::<Chord>()?) };
        let o = RecordOptions {
            source,
            video: true,
            backend: self.capture,
            microphone,
            fps: self.fps,
            height: self.height,
            preset: self.preset.clone(),
            keys: self.keys,
            stop_chord,
            cursor: true,
        };
        o.validate()?;
        Ok(o)
    }
}

/// Seconds, or a number with s, m or h.
pub fn parse_duration(s: &str) -> Result<Duration, String> {
    let (number, factor) = match s.strip_suffix(['s', 'm', 'h']) {
        Some(n) if s.ends_with('m') => (n, 60.0),
        Some(n) if s.ends_with('h') => (n, 3600.0),
        Some(n) => (n, 1.0),
        None => (s, 1.0),
    };
    let seconds = number.parse::<f64>().map_err(|_| format!("“{s}” is no duration: write 20, 90s, 2m or 1h"))? * factor;
    if (0.1..=86_400.0).contains(&seconds) { Ok(Duration::from_secs_f64(seconds)) } else { Err("choose 0.1 s to 24 h".into()) }
}

/// Gives a recorder's error its exit code.
pub fn coded(e: Error) -> anyhow::Error {
    // Transparent, so its code would not be found inside.
    let e = match e {
        Error::Schemas(e) => return e.into(),
        e => e,
    };
    let exit = match &e {
        Error::Device { .. } => Exit::Device,
        Error::Busy { .. } | Error::ScreenBusy { .. } => Exit::Busy,
        Error::Unrecoverable { .. } => Exit::Input,
        e if e.is_storage() => Exit::Storage,
        _ => return e.into(),
    };
    match Err::<(), _>(e).exit(exit) {
        Err(e) => e,
        Ok(()) => anyhow::anyhow!("recording failed"),
    }
}

pub fn run(ctx: &Context, args: Args) -> anyhow::Result<()> {
    let corpus = args.corpus.open()?;
    let manifest = request(&corpus, &args)?;
    let id = manifest.id.clone();
    let options = args.what.options()?;
    let stop = stop_signal()?;

    let dir = corpus.request_dir(&id);
    let recording = Recording::start(&corpus, dir.clone(), SessionManifest::Request(Box::new(manifest)), &options, None).map_err(coded)?;
    let path = dir.path().to_path_buf();
    let subject = Subject { corpus, id: id.clone(), modality: args.modality };
    // Scripts wait for this line.
    let run = record_live::run(subject, recording, &args.live, &args.cad, args.duration, &stop, || eprintln!("recording {id}"));
    let (finished, ending) = run.map_err(|e| kept(e, &path))?;
    if ending == Ending::Discard {
        eprintln!("discarded: it is kept in {} until the bin is emptied", finished.path.parent().unwrap_or(&path).display());
        return Ok(());
    }
    report(ctx, &finished, &path)
}

fn request(corpus: &Corpus, args: &Args) -> anyhow::Result<RequestManifest> {
    let known = corpus.participants()?;
    let Some(who) = known.participants.iter().find(|p| p.id == args.participant) else {
        bail!(
            "{}: no participant “{}”; add one with: redline participant add {}",
            corpus.participants_path().display(),
            args.participant,
            args.participant
        );
    };
    super::consent::need(corpus, who)?;
    if let Some(m) = &args.model {
        corpus.model(m).with_context(|| format!("no model “{m}”; add it with: redline model add"))?;
    }
    Ok(RequestManifest {
        format_version: FORMAT_VERSION,
        id: RequestId::generate(),
        participant: args.participant.clone(),
        model: args.model.clone(),
        modality: args.modality,
        difficulty: args.difficulty,
        status: Status::Recording,
        rejection: None,
        session: Session::begun(),
        note: None,
        imported_from: None,
        tool: Tool::redline(),
    })
}

/// Says of an error of the storage where what was recorded is kept.
pub fn kept(e: anyhow::Error, path: &std::path::Path) -> anyhow::Error {
    if crate::exit::code_of(&e) != Exit::Storage {
        return e;
    }
    e.context(format!("what was recorded is kept in {}; make room and finish it with: redline recover {}", path.display(), path.display()))
}

/// Set by Ctrl-C and SIGTERM.
pub fn stop_signal() -> anyhow::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    for s in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM, signal_hook::consts::SIGHUP] {
        signal_hook::flag::register(s, Arc::clone(&stop))?;
    }
    Ok(stop)
}

fn report(ctx: &Context, f: &Finished, path: &std::path::Path) -> anyhow::Result<()> {
    say_what_was_recorded(f, path);
    let s = f.manifest.session();
    let mut out = std::io::stdout().lock();
    if ctx.json {
        let value = serde_json::json!({
            "request": f.manifest.id(),
            "manifest": f.path,
            "duration_ns": s.duration_ns,
            "streams": s.streams,
        });
        writeln!(out, "{}", serde_json::to_string_pretty(&value)?)?;
    } else {
        writeln!(out, "{}", f.manifest.id())?;
    }
    Ok(())
}

/// One line on standard error.
pub fn say_what_was_recorded(f: &Finished, path: &std::path::Path) {
    let s = f.manifest.session();
    let video = s.streams.video.as_ref();
    match f.reason {
        Some(StopReason::Keys) => eprintln!("stopped by its keys"),
        Some(StopReason::Storage | StopReason::Failed) => eprintln!("stopped early, see above"),
        None => {}
    }
    eprintln!(
        "{:.1} s, {} frames ({}{} repeated, {} dropped), {} events{}, in {}",
        s.duration_ns as f64 / 1e9,
        video.map_or(0, |v| v.frames),
        video.filter(|v| v.paused_slots > 0).map(|v| format!("{} paused, ", v.paused_slots)).unwrap_or_default(),
        video.map_or(0, |v| v.repeated_slots),
        video.map_or(0, |v| v.dropped_frames),
        s.streams.input.as_ref().map_or(0, |i| i.count),
        match &s.streams.audio {
            Some(a) if a.peak == Some(0.0) => ", audio (nothing but silence: is the microphone muted?)",
            Some(_) => ", audio",
            None => ", no audio",
        },
        path.display()
    );
    let count = |e: &Option<redline_schemas::EventStream>| e.as_ref().map_or(0, |e| e.count);
    let (selections, commands, renders) = (count(&s.streams.selections), count(&s.streams.commands), count(&s.streams.renders));
    if selections + commands + renders > 0 {
        eprintln!("from the CAD program: {selections} selections, {commands} command events, {renders} renders and model states");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations() {
        assert_eq!(parse_duration("20").unwrap(), Duration::from_secs(20));
        assert_eq!(parse_duration("2m").unwrap(), Duration::from_secs(120));
        assert_eq!(parse_duration("0.5s").unwrap(), Duration::from_millis(500));
        for bad in ["", "x", "-1", "0", "25h", "NaN"] {
            assert!(parse_duration(bad).is_err(), "{bad}");
        }
    }
}
