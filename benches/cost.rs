//! What recording costs, next to `ffmpeg -f x11grab` and, where it is installed, SimpleScreenRecorder, on the same screen with
//! moving content:
//! `cargo bench --bench cost -- [--seconds N] [--rounds N] [--busy] [--only redline|ffmpeg|ssr]`.
//!
//! All scale to height 720 at 30 fps with the mouse drawn in and encode with the same x264 settings. CPU time and peak
//! memory are the process's own, as the kernel counts them; Redline's include its finishing touches. `--busy` keeps one
//! core at work elsewhere.

use redline_desk::{Options, VirtualDesktop};
use redline_media::EncodeSettings;
use redline_schemas::{Corpus, RequestManifest};
use std::io::Write as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use x11rb::connection::Connection;
use x11rb::protocol::xproto::{ChangeGCAux, ConnectionExt as _, CreateGCAux, CreateWindowAux, Rectangle, WindowClass};

type Result<T, E = Box<dyn std::error::Error>> = std::result::Result<T, E>;

const SIZE: (u32, u32) = (1920, 1080);

/// One recording's cost.
#[derive(serde::Serialize)]
struct Cost {
    recorder: &'static str,
    seconds: f64,
    cpu_s_per_s: f64,
    /// CPU time for each picture that is not a repeat: a recorder that skips pictures looks cheap by the second.
    cpu_ms_per_picture: f64,
    peak_mb: f64,
    /// Resident memory after a quarter of the time and near the end, MB.
    resident_mb: (f64, f64),
    mb_per_minute: f64,
    frames: u64,
    repeated: u64,
    dropped: u64,
}

fn main() -> Result<()> {
    let mut args = std::env::args().skip(1);
    let (mut seconds, mut rounds, mut busy, mut only) = (60_u32, 3_u32, false, None);
    while let Some(a) = args.next() {
        match a.as_str() {
            "--seconds" => seconds = args.next().ok_or("--seconds needs a number")?.parse()?,
            "--rounds" => rounds = args.next().ok_or("--rounds needs a number")?.parse()?,
            "--busy" => busy = true,
            "--only" => only = Some(args.next().ok_or("--only needs redline, ffmpeg or ssr")?),
            // What cargo adds by itself.
            "--bench" => {}
            other => return Err(format!("unknown option {other}: --seconds N, --rounds N, --busy, --only RECORDER").into()),
        }
    }
    let desk = VirtualDesktop::start(Options { width: SIZE.0, height: SIZE.1, sound: false, ..Options::default() })?;
    let stop = Arc::new(AtomicBool::new(false));
    let mover = {
        let (display, stop) = (desk.display().to_owned(), Arc::clone(&stop));
        std::thread::spawn(move || move_things(&display, &stop).map_err(|e| e.to_string()))
    };
    let spinner = busy.then(|| {
        let stop = Arc::clone(&stop);
        std::thread::spawn(move || {
            while !stop.load(Ordering::Relaxed) {
                std::hint::spin_loop();
            }
        })
    });
    let dir = tempfile::tempdir()?;
    let corpus = dir.path().join("corpus");
    run(desk.command(env!("CARGO_BIN_EXE_redline")).arg("init").arg(&corpus))?;
    run(desk.command(env!("CARGO_BIN_EXE_redline")).args(["participant", "add", "P01", "--corpus"]).arg(&corpus))?;
    let mut costs = Vec::new();
    for round in 1..=rounds {
        // Turn about, so that neither always has the quieter machine.
        let mut turns = vec!["redline", "ffmpeg"];
        if installed("simplescreenrecorder") {
            turns.push("ssr");
        }
        turns.retain(|t| only.as_deref().is_none_or(|o| o == *t));
        let first = round as usize % turns.len().max(1);
        turns.rotate_left(first);
        for which in turns {
            eprintln!("round {round} of {rounds}: {which}, {seconds} s");
            costs.push(match which {
                "redline" => redline(&desk, &corpus, seconds)?,
                "ffmpeg" => ffmpeg(&desk, dir.path(), seconds)?,
                _ => simple_screen_recorder(&desk, dir.path(), seconds)?,
            });
        }
    }
    stop.store(true, Ordering::Relaxed);
    mover.join().map_err(|_| "the painter panicked")??;
    if let Some(s) = spinner {
        let _ = s.join();
    }
    print(&costs)
}

fn run(c: &mut Command) -> Result<()> {
    let o = c.output()?;
    if o.status.success() { Ok(()) } else { Err(format!("{c:?}: {}", String::from_utf8_lossy(&o.stderr)).into()) }
}

fn redline(desk: &VirtualDesktop, corpus: &Path, seconds: u32) -> Result<Cost> {
    let mut c = desk.command(env!("CARGO_BIN_EXE_redline"));
    c.args(["record", "--participant", "P01", "--no-mic", "--json", "--duration", &seconds.to_string(), "--corpus"]).arg(corpus);
    let before: Vec<_> = Corpus::open(corpus)?.request_ids()?;
    let used = watch(c.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?, seconds)?;
    let corpus = Corpus::open(corpus)?;
    let id = corpus.request_ids()?.into_iter().find(|i| !before.contains(i)).ok_or("redline made no request")?;
    let manifest: RequestManifest = corpus.request(&id)?;
    let video = manifest.session.streams.video.ok_or("redline recorded no video")?;
    Ok(used.cost("redline", video.file.bytes, video.frames, video.repeated_slots, video.dropped_frames))
}

fn ffmpeg(desk: &VirtualDesktop, dir: &Path, seconds: u32) -> Result<Cost> {
    let (out, progress) = (dir.join("x11grab.mp4"), dir.join("progress.txt"));
    let s = EncodeSettings::new(1280, 720, 30);
    let mut c = desk.command("ffmpeg");
    c.args(["-nostdin", "-y", "-loglevel", "error", "-f", "x11grab", "-draw_mouse", "1", "-framerate", "30"]);
    c.args(["-video_size", &format!("{}x{}", SIZE.0, SIZE.1), "-i", desk.display(), "-t", &seconds.to_string()]);
    c.args(["-vf", "scale=1280:720:flags=bilinear,format=yuv420p", "-r", "30", "-vsync", "cfr", "-c:v", "libx264"]);
    c.args(["-preset", &s.preset, "-tune", "zerolatency", "-crf", &s.crf.to_string(), "-threads", "1", "-g", "60", "-bf", "0"]);
    c.args(["-movflags", "empty_moov+default_base_moof", "-frag_duration", "200000", "-progress"]).arg(&progress).arg(&out);
    let used = watch(c.spawn()?, seconds)?;
    let text = std::fs::read_to_string(&progress)?;
    let last = |key: &str| text.lines().rev().find_map(|l| l.strip_prefix(key)).and_then(|v| v.trim().parse().ok()).unwrap_or(0);
    let bytes = std::fs::metadata(&out)?.len();
    Ok(used.cost("ffmpeg x11grab", bytes, last("frame="), last("dup_frames="), last("drop_frames=")))
}

fn installed(program: &str) -> bool {
    std::env::var_os("PATH").is_some_and(|p| std::env::split_paths(&p).any(|d| d.join(program).is_file()))
}

/// `apt-get install simplescreenrecorder`: driven through its standard input; it counts no repeated pictures.
fn simple_screen_recorder(desk: &VirtualDesktop, dir: &Path, seconds: u32) -> Result<Cost> {
    let (out, settings) = (dir.join("ssr.mp4"), dir.join("ssr.conf"));
    let _ = std::fs::remove_file(&out);
    let s = EncodeSettings::new(1280, 720, 30);
    let (w, h) = SIZE;
    let text = format!(
        "[welcome]\nskip_page=true\n[input]\nvideo_area=fixed\nvideo_x=0\nvideo_y=0\nvideo_w={w}\nvideo_h={h}\nvideo_frame_rate=30\n\
         video_scale=true\nvideo_scaled_w=1280\nvideo_scaled_h=720\nvideo_record_cursor=true\naudio_enabled=false\n[output]\nfile={}\n\
         separate_files=false\nadd_timestamp=false\ncontainer=mp4\nvideo_codec=h264\nvideo_h264_crf={}\nvideo_h264_preset=2\n\
         video_options=\"threads=1,tune=zerolatency,bf=0,g=60\"\nvideo_allow_frame_skipping=true\n[record]\nhotkey_enable=false\n",
        out.display(),
        s.crf
    );
    std::fs::write(&settings, text)?;
    let mut c = desk.command("simplescreenrecorder");
    c.env("HOME", dir).arg(format!("--settingsfile={}", settings.display()));
    c.args(["--no-systray", "--start-recording", "--start-hidden", "--no-redirect-stderr"]);
    let mut child = c.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    let mut orders = child.stdin.take().ok_or("no standard input")?;
    let hand = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_secs(seconds.into()));
        orders.write_all(b"record-save\nquit\n")
    });
    let used = watch(child, seconds)?;
    hand.join().map_err(|_| "the hand panicked")??;
    let frames = redline_media::probe(&out)?.need_video()?.frames.unwrap_or(0);
    Ok(used.cost("SSR", std::fs::metadata(&out)?.len(), frames, 0, 0))
}

/// What a process used.
struct Used {
    seconds: f64,
    cpu_s: f64,
    peak_mb: f64,
    resident_mb: (f64, f64),
}

impl Used {
    fn cost(&self, recorder: &'static str, bytes: u64, frames: u64, repeated: u64, dropped: u64) -> Cost {
        Cost {
            recorder,
            seconds: self.seconds,
            cpu_s_per_s: self.cpu_s / self.seconds,
            cpu_ms_per_picture: self.cpu_s * 1e3 / frames.saturating_sub(repeated).max(1) as f64,
            peak_mb: self.peak_mb,
            resident_mb: self.resident_mb,
            mb_per_minute: bytes as f64 / 1e6 / self.seconds * 60.0,
            frames,
            repeated,
            dropped,
        }
    }
}

/// Waits for a recorder that records for `seconds`.
fn watch(child: Child, seconds: u32) -> Result<Used> {
    let begun = Instant::now();
    let pid = child.id() as libc::pid_t;
    let resident = |at: f64| {
        std::thread::sleep(Duration::from_secs_f64((f64::from(seconds) * at - begun.elapsed().as_secs_f64()).max(0.0)));
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let kb = status.lines().find_map(|l| l.strip_prefix("VmRSS:")).and_then(|l| l.trim().strip_suffix(" kB")?.parse::<f64>().ok());
        kb.unwrap_or(0.0) / 1e3
    };
    let resident_mb = (resident(0.25), resident(0.95));
    let mut status = 0;
    // SAFETY: all bytes zero are a valid rusage; wait4 fills it for our own child, which nobody else waits for.
    let (got, usage) = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        let got = libc::wait4(pid, &mut status, 0, &mut usage);
        (got, usage)
    };
    if got != pid || status != 0 {
        return Err(format!("the recorder ended with status {status}").into());
    }
    let s = |t: libc::timeval| t.tv_sec as f64 + t.tv_usec as f64 / 1e6;
    Ok(Used { seconds: seconds.into(), cpu_s: s(usage.ru_utime) + s(usage.ru_stime), peak_mb: usage.ru_maxrss as f64 / 1e3, resident_mb })
}

fn print(costs: &[Cost]) -> Result<()> {
    println!("{}", serde_json::to_string(costs)?);
    eprintln!(
        "{:<16}{:>10}{:>16}{:>10}{:>18}{:>10}{:>9}{:>10}{:>9}",
        "", "CPU s/s", "CPU ms/picture", "peak MB", "resident MB", "MB/min", "frames", "repeated", "dropped"
    );
    for c in costs {
        let resident = format!("{:.0} -> {:.0}", c.resident_mb.0, c.resident_mb.1);
        eprintln!(
            "{:<16}{:>10.3}{:>16.2}{:>10.0}{:>18}{:>10.1}{:>9}{:>10}{:>9}",
            c.recorder, c.cpu_s_per_s, c.cpu_ms_per_picture, c.peak_mb, resident, c.mb_per_minute, c.frames, c.repeated, c.dropped
        );
    }
    let median = |name: &str, of: fn(&Cost) -> f64| {
        let mut v: Vec<f64> = costs.iter().filter(|c| c.recorder.starts_with(name)).map(of).collect();
        v.sort_by(f64::total_cmp);
        v.get(v.len() / 2).copied().unwrap_or(f64::NAN)
    };
    for peer in ["ffmpeg", "SSR"].into_iter().filter(|p| costs.iter().any(|c| c.recorder.starts_with(p))) {
        let ratio = |of| median("redline", of) / median(peer, of);
        let (second, picture) = (ratio(|c| c.cpu_s_per_s), ratio(|c| c.cpu_ms_per_picture));
        eprintln!("median CPU, redline to {peer}: {second:.2} times a second, {picture:.2} times a picture");
    }
    Ok(())
}

/// A window as large as the screen in which sixty boxes move at 60 steps a second, and the pointer with them.
fn move_things(display: &str, stop: &AtomicBool) -> Result<()> {
    let (conn, number) = x11rb::connect(Some(display))?;
    let screen = conn.setup().roots.get(number).ok_or("no screen")?;
    let (window, gc) = (conn.generate_id()?, conn.generate_id()?);
    let aux = CreateWindowAux::new().background_pixel(0x0020_2830).override_redirect(1);
    conn.create_window(screen.root_depth, window, screen.root, 0, 0, SIZE.0 as u16, SIZE.1 as u16, 0, WindowClass::INPUT_OUTPUT, 0, &aux)?;
    conn.create_gc(gc, window, &CreateGCAux::new().graphics_exposures(0))?;
    conn.map_window(window)?;
    let place = |k: u32, step: u32| {
        let angle = f64::from(step) / 90.0 + f64::from(k);
        let x = (f64::from(SIZE.0) - 120.0) * (0.5 + 0.5 * (angle * (1.0 + f64::from(k % 5) / 7.0)).sin());
        let y = (f64::from(SIZE.1) - 80.0) * (0.5 + 0.5 * (angle * (1.0 + f64::from(k % 7) / 9.0)).cos());
        Rectangle { x: x as i16, y: y as i16, width: 120, height: 80 }
    };
    let begun = Instant::now();
    for step in 1_u32.. {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        for k in 0..60 {
            let old = place(k, step - 1);
            conn.clear_area(false, window, old.x, old.y, old.width, old.height)?;
        }
        for k in 0..60_u32 {
            let colour = k.wrapping_mul(2_654_435_761) & 0x00ff_ffff;
            conn.change_gc(gc, &ChangeGCAux::new().foreground(colour))?;
            conn.poly_fill_rectangle(window, gc, &[place(k, step)])?;
        }
        let p = place(0, step);
        conn.warp_pointer(x11rb::NONE, screen.root, 0, 0, 0, 0, p.x, p.y)?;
        conn.flush()?;
        std::thread::sleep((begun + Duration::from_secs_f64(f64::from(step) / 60.0)).saturating_duration_since(Instant::now()));
    }
    Ok(())
}
