//! A recording while it runs: commands from the local socket and from hotkeys, progress on the terminal, drawing.

use super::record::coded;
use super::record_progress::Shown;
use anyhow::Context as _;
#[cfg(feature = "panel")]
use redline_recorder::control::Pen;
use redline_recorder::control::{Ask, Command, Server};
use redline_recorder::live::{Drawing, Ending, Live};
use redline_recorder::{Chord, Finished, Recording, hotkeys};
use redline_schemas::{Corpus, Modality, RequestId};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Drawing, and the keys that steer a recording.
#[derive(clap::Args)]
pub struct LiveArgs {
    /// Drawing over the screen: auto (with draw-temp and draw-static), on (from the start) or off
    #[arg(long, default_value = "auto", value_parser = ["auto", "on", "off"])]
    draw: String,
    /// With draw-temp: a stroke is gone so many seconds after it is finished
    #[arg(long, default_value_t = 4.0, value_parser = fade, value_name = "SECONDS")]
    fade: f64,
    /// Colour of the pen: #rrggbb or a name, such as red
    #[arg(long, value_parser = colour, value_name = "COLOUR")]
    pen_colour: Option<Colour>,
    /// Width of the pen, pixels
    #[arg(long, default_value_t = 4.0, value_name = "PIXELS")]
    pen_width: f32,
    /// Each new stroke takes the next colour
    #[arg(long)]
    pen_cycle: bool,
    /// Keys that switch drawing on and off, or “none”
    #[arg(long, default_value = "ctrl+shift+F8")]
    draw_key: String,
    /// Keys that pause and go on, or “none”
    #[arg(long, default_value = "ctrl+shift+F7")]
    pause_key: String,
    /// Keys that mark the moment, or “none”
    #[arg(long, default_value = "ctrl+shift+F6")]
    mark_key: String,
    /// Keys that take the last stroke away, or “none”
    #[arg(long, default_value = "ctrl+shift+F5")]
    undo_key: String,
    /// Keys that take all strokes away, or “none”
    #[arg(long, default_value = "ctrl+shift+F4")]
    clear_key: String,
    /// Keys that cut the last 10 seconds, or “none”
    #[arg(long, default_value = "ctrl+shift+F3")]
    cut_key: String,
}

/// A colour that was given.
#[derive(Clone, Copy)]
struct Colour(#[cfg_attr(not(feature = "panel"), allow(dead_code))] [u8; 3]);

fn colour(s: &str) -> Result<Colour, String> {
    redline_recorder::control::parse_colour(s).map(Colour).ok_or_else(|| "write #rrggbb or a name, such as red".into())
}

fn fade(s: &str) -> Result<f64, String> {
    s.parse().ok().filter(|f| (0.2..=600.0).contains(f)).ok_or_else(|| "choose 0.2 to 600 seconds".into())
}

/// What the cut key cuts, seconds.
pub const CUT_KEY_SECONDS: f64 = 10.0;

impl LiveArgs {
    /// The bound keys and what they do.
    fn keys(&self) -> anyhow::Result<Vec<(Chord, Command)>> {
        let all = [
            (&self.draw_key, Command::Draw(None)),
            (&self.pause_key, Command::PauseToggle),
            (&self.mark_key, Command::Mark(None)),
            (&self.undo_key, Command::Undo),
            (&self.clear_key, Command::Clear),
            (&self.cut_key, Command::Cut(CUT_KEY_SECONDS)),
        ];
        let bound = all.into_iter().filter(|(k, _)| k.as_str() != "none");
        bound.map(|(k, c)| Ok((k.parse::<Chord>()?, c))).collect()
    }
}

/// What is recorded, for [`run`].
pub struct Subject {
    pub corpus: Corpus,
    pub id: RequestId,
    pub modality: Modality,
}

/// Opens the drawing that the options and the modality ask for.
#[cfg(feature = "panel")]
fn drawing(args: &LiveArgs, modality: Modality, recording: &Recording) -> anyhow::Result<Option<Box<dyn Drawing>>> {
    use redline_panel::overlay::{Overlay, ink::Lasting};
    let drawn = matches!(modality, Modality::DrawTemp | Modality::DrawStatic);
    if args.draw == "off" || (args.draw == "auto" && !drawn) {
        return Ok(None);
    }
    let lasting = match modality {
        Modality::DrawStatic => Lasting::Static,
        _ => Lasting::Temporary((args.fade * 1e9) as i64),
    };
    let area = recording.area_now();
    let mut o = Overlay::open(lasting, recording.strokes(), Box::new(area)).map_err(coded)?;
    o.pen(&Pen::Width(args.pen_width));
    o.pen(&Pen::Cycle(args.pen_cycle));
    if let Some(c) = args.pen_colour {
        o.pen(&Pen::Colour(c.0));
    }
    if args.draw == "on" {
        o.switch(true).map_err(coded)?;
    }
    Ok(Some(Box::new(o)))
}

#[cfg(not(feature = "panel"))]
fn drawing(args: &LiveArgs, modality: Modality, _: &Recording) -> anyhow::Result<Option<Box<dyn Drawing>>> {
    let drawn = matches!(modality, Modality::DrawTemp | Modality::DrawStatic);
    if args.draw == "on" || (args.draw == "auto" && drawn) {
        anyhow::bail!("this redline was built without drawing (the feature “panel”); --draw off records without it");
    }
    Ok(None)
}

/// Runs a recording until something ends it; `started` is called once everything listens.
pub fn run(
    subject: Subject,
    recording: Recording,
    args: &LiveArgs,
    cad: &super::cad_bridge::CadArgs,
    duration: Option<Duration>,
    stop: &AtomicBool,
    started: impl FnOnce(),
) -> anyhow::Result<(Finished, Ending)> {
    let keys = args.keys()?;
    let (server, send, asked) = Server::start(&subject.corpus).map_err(coded)?;
    let drawing = drawing(args, subject.modality, &recording)?;
    let bound = keys.into_iter().map(|(chord, command)| {
        let send = send.clone();
        let deed: Box<dyn FnMut() + Send> = Box::new(move || {
            let _ = send.send(Ask::silent(command.clone()));
        });
        (chord, deed)
    });
    hotkeys::bind(bound.collect()).map_err(coded).context("the recorder’s keys")?;
    let bridge = cad.start(&recording, false);
    let mut live = Live::new(subject.corpus, subject.id, recording, drawing);
    started();
    watch(&mut live, &asked, duration, stop);
    hotkeys::unbind();
    drop(server);
    bridge.finish(live.recording());
    live.finish().map_err(coded)
}

/// Shows progress and carries out commands until something ends the recording.
fn watch(live: &mut Live, asked: &crossbeam_channel::Receiver<Ask>, duration: Option<Duration>, stop: &AtomicBool) {
    let mut shown = Shown::new(live.recording(), duration);
    while shown.goes_on(live.recording(), stop) && live.ending().is_none() {
        if let Ok(ask) = asked.recv_timeout(shown.pause()) {
            let r = live.execute(&ask.command);
            ask.answer(r);
        }
    }
}
