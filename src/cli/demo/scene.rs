//! The virtual desktop's scene: a part in a 3D viewer, and somebody who talks about it and points at it.

use super::run::{Runner, Running};
use crate::exit::{Exit, WithExit as _};
use anyhow::Context as _;
use redline_desk::VirtualDesktop;
use std::path::{Path, PathBuf};
use std::time::Duration;

type Point = [f64; 3];

/// Where the viewer's camera stands and what it looks at, millimetres; z is up.
const CAMERA: Point = [190.0, -190.0, 150.0];
const TARGET: Point = [36.0, -25.0, 22.0];
/// The camera's vertical angle of view.
const VIEW_DEGREES: f64 = 30.0;

/// Features of `samples/bracket.step`.
const BORE: Point = [50.0, -25.0, 12.0];
const UPPER_EDGE: [Point; 2] = [[12.0, -48.0, 60.0], [12.0, -2.0, 60.0]];
const SMALL_HOLE: Point = [12.0, -12.0, 42.0];

/// How often the pointer moves.
const MOVE_EVERY: Duration = Duration::from_millis(25);

/// A sentence, and the way of the pointer while it is said; at its end the button is clicked.
struct Line {
    say: &'static str,
    way: fn() -> Vec<Point>,
    click: bool,
}

const LINES: [Line; 4] = [
    Line { say: "Please make this big hole wider.", way: || circle(BORE, 10.0, [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]), click: true },
    Line {
        say: "The diameter should be sixteen millimeters.",
        way: || vec![BORE, [50.0, -33.0, 12.0], [50.0, -17.0, 12.0], BORE],
        click: false,
    },
    Line { say: "Then round this edge with a radius of five millimeters.", way: || UPPER_EDGE.to_vec(), click: true },
    Line { say: "And remove this small hole.", way: || circle(SMALL_HOLE, 5.0, [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]), click: true },
];

fn circle(centre: Point, radius: f64, a: Point, b: Point) -> Vec<Point> {
    let at = |i: u32| {
        let (sin, cos) = (f64::from(i) / 16.0 * std::f64::consts::TAU).sin_cos();
        std::array::from_fn(|k| centre[k] + radius * (cos * a[k] + sin * b[k]))
    };
    (0..=16).map(at).chain([centre]).collect()
}

/// The scene, ready to be played.
pub struct Scene {
    view: View,
    spoken: Vec<Spoken>,
}

struct Spoken {
    wav: PathBuf,
    time: Duration,
}

impl Scene {
    /// Opens the part in the viewer and has the sentences spoken into files in `speech`.
    pub fn open(desk: &mut VirtualDesktop, step: &Path, speech: &Path, runner: &Runner) -> anyhow::Result<Self> {
        let spoken = LINES
            .iter()
            .enumerate()
            .map(|(i, l)| {
                let wav = speech.join(format!("{}.wav", i + 1));
                speak(desk, l.say, &wav, runner).exit(Exit::Device)?;
                let time = wav_length(&wav)?;
                Ok(Spoken { wav, time })
            })
            .collect::<anyhow::Result<Vec<_>>>()?;
        let (width, height) = screen_size(desk)?;
        let triple = |p: Point| p.map(|v| v.to_string()).join(",");
        let mut viewer = desk.command("f3d");
        // The window gets room for its frame and title.
        viewer.args(["--dry-run", "--up=+Z", "--bg-color=0.93,0.93,0.95", "--color=0.62,0.72,0.82"]);
        viewer.arg(format!("--resolution={},{}", width - 40, height - 80));
        viewer.arg(format!("--camera-position={}", triple(CAMERA)));
        viewer.arg(format!("--camera-focal-point={}", triple(TARGET)));
        viewer.arg(format!("--camera-view-angle={VIEW_DEGREES}"));
        viewer.arg(step);
        desk.launch(&mut viewer, "f3d", "f3d").exit(Exit::Device)?;
        let window = desk.wait_window("F3D").exit(Exit::Device)?;
        let view = View::of_window(desk, &window)?;
        // The first picture comes after the window.
        runner.pause(Duration::from_millis(1500))?;
        Ok(Self { view, spoken })
    }

    /// Says and points; returns when all is said.
    pub fn play(&self, desk: &VirtualDesktop, runner: &Runner) -> anyhow::Result<()> {
        runner.pause(Duration::from_millis(500))?;
        let mut at = self.view.to_screen([80.0, 0.0, 60.0]);
        for (line, spoken) in LINES.iter().zip(&self.spoken) {
            let way: Vec<(f64, f64)> = (line.way)().into_iter().map(|p| self.view.to_screen(p)).collect();
            // Go there first, then talk: people do.
            at = travel(desk, runner, at, &way[..1], Duration::from_millis(450))?;
            let sound = runner.program(desk.command("paplay").arg(&spoken.wav), "pulseaudio-utils")?;
            at = travel(desk, runner, at, &way, spoken.time.mul_f64(0.85))?;
            if line.click {
                xdotool(desk, runner, ["click".to_owned(), "1".to_owned()].to_vec())?.wait(runner)?;
            }
            sound.wait(runner)?;
            runner.pause(Duration::from_millis(400))?;
        }
        Ok(())
    }
}

/// Moves the pointer along `way` in `time`; gives where it ends.
fn travel(desk: &VirtualDesktop, runner: &Runner, from: (f64, f64), way: &[(f64, f64)], time: Duration) -> anyhow::Result<(f64, f64)> {
    let all: Vec<_> = std::iter::once(from).chain(way.iter().copied()).collect();
    let steps = (time.as_secs_f64() / MOVE_EVERY.as_secs_f64()).round().max(1.0) as usize;
    let mut args = Vec::new();
    for i in 1..=steps {
        let (x, y) = along(&all, i as f64 / steps as f64);
        args.extend([
            "mousemove".to_owned(),
            format!("{x:.0}"),
            format!("{y:.0}"),
            "sleep".to_owned(),
            MOVE_EVERY.as_secs_f64().to_string(),
        ]);
    }
    xdotool(desk, runner, args)?.wait(runner)?;
    Ok(*way.last().unwrap_or(&from))
}

/// The point at `share` (0 to 1) of a way, by length.
fn along(way: &[(f64, f64)], share: f64) -> (f64, f64) {
    let length = |w: &[(f64, f64)]| (w[1].0 - w[0].0).hypot(w[1].1 - w[0].1);
    let mut left = way.windows(2).map(length).sum::<f64>() * share;
    for w in way.windows(2) {
        let l = length(w);
        if left <= l && l > 0.0 {
            return (w[0].0 + (w[1].0 - w[0].0) * left / l, w[0].1 + (w[1].1 - w[0].1) * left / l);
        }
        left -= l;
    }
    way.last().copied().unwrap_or_default()
}

fn xdotool(desk: &VirtualDesktop, runner: &Runner, args: Vec<String>) -> anyhow::Result<Running> {
    runner.program(desk.command("xdotool").args(args), "xdotool")
}

fn speak(desk: &VirtualDesktop, text: &str, wav: &Path, runner: &Runner) -> anyhow::Result<()> {
    runner
        .program(desk.command("flite").args(["-voice", "rms", "--setf", "duration_stretch=1.1", "-t", text, "-o"]).arg(wav), "flite")?
        .wait(runner)
}

/// Length of a file that flite wrote.
fn wav_length(path: &Path) -> anyhow::Result<Duration> {
    let info = redline_media::probe(path)?;
    let ns = info.need_audio()?.duration_ns.or(info.duration_ns).with_context(|| format!("{}: no length in it", path.display()))?;
    Ok(Duration::from_nanos(ns.max(0) as u64))
}

fn screen_size(desk: &VirtualDesktop) -> anyhow::Result<(u32, u32)> {
    let text = desk.output("xdotool", &["getdisplaygeometry"]).exit(Exit::Device)?;
    let mut numbers = text.split_whitespace().map(str::parse);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(w)), Some(Ok(h))) => Ok((w, h)),
        _ => anyhow::bail!("could not read the screen's size from “{}”", text.trim()),
    }
}

/// What the viewer shows, and where on screen.
struct View {
    left: f64,
    top: f64,
    width: f64,
    height: f64,
}

impl View {
    /// Asks for a window's inner area.
    fn of_window(desk: &VirtualDesktop, window: &str) -> anyhow::Result<Self> {
        let text = desk.output("xwininfo", &["-id", window]).exit(Exit::Device)?;
        let value = |name: &str| -> anyhow::Result<f64> {
            let line = text.lines().find_map(|l| l.trim().strip_prefix(name)).with_context(|| format!("xwininfo gives no “{name}”"))?;
            Ok(line.trim().parse()?)
        };
        Ok(Self {
            left: value("Absolute upper-left X:")?,
            top: value("Absolute upper-left Y:")?,
            width: value("Width:")?,
            height: value("Height:")?,
        })
    }

    /// Where a point of the part is on screen.
    fn to_screen(&self, p: Point) -> (f64, f64) {
        let forward = unit(sub(TARGET, CAMERA));
        let right = unit(cross(forward, [0.0, 0.0, 1.0]));
        let up = cross(right, forward);
        let d = sub(p, CAMERA);
        let scale = self.height / 2.0 / (VIEW_DEGREES / 2.0).to_radians().tan() / dot(d, forward);
        (self.left + self.width / 2.0 + scale * dot(d, right), self.top + self.height / 2.0 - scale * dot(d, up))
    }
}

fn sub(a: Point, b: Point) -> Point {
    std::array::from_fn(|i| a[i] - b[i])
}

fn dot(a: Point, b: Point) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

fn cross(a: Point, b: Point) -> Point {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

fn unit(a: Point) -> Point {
    let l = dot(a, a).sqrt();
    a.map(|v| v / l)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_part_is_where_the_viewer_draws_it() {
        // Read off a picture of f3d's window, 1500x900 at (1, 20): the centres of the bore and of a small hole.
        let v = View { left: 1.0, top: 20.0, width: 1500.0, height: 900.0 };
        let near = |a: (f64, f64), b: (f64, f64)| assert!((a.0 - b.0).hypot(a.1 - b.1) < 4.0, "{a:?} is not {b:?}");
        near(v.to_screen(BORE), (818.0, 558.0));
        near(v.to_screen(SMALL_HOLE), (697.0, 284.0));
    }

    #[test]
    fn a_way_is_walked_evenly() {
        let way = [(0.0, 0.0), (10.0, 0.0), (10.0, 30.0)];
        assert_eq!(along(&way, 0.0), (0.0, 0.0));
        assert_eq!(along(&way, 0.5), (10.0, 10.0));
        assert_eq!(along(&way, 1.0), (10.0, 30.0));
    }
}
