//! What a recording needs, and whether it is there.

use crate::screen::{self, monitors};
use crate::{Microphone, RecordOptions, audio};
use redline_schemas::Monitor;
use serde::Serialize;
use std::path::Path;

/// How much a finding matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// As it should be.
    Good,
    /// Recording works, but not as well as it could.
    Warning,
    /// Recording would stop at this.
    Stops,
}

/// One thing that was looked at.
#[derive(Debug, Clone, Serialize)]
pub struct Finding {
    /// What was looked at.
    pub what: &'static str,
    /// How it is.
    pub verdict: Verdict,
    /// What was seen.
    pub detail: String,
    /// What to do, unless it is good.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<&'static str>,
}

/// Everything that was looked at.
#[derive(Debug, Clone, Serialize)]
pub struct Examination {
    /// The monitors.
    pub monitors: Vec<Monitor>,
    /// The microphones.
    pub microphones: Vec<audio::MicrophoneInfo>,
    /// The findings.
    pub findings: Vec<Finding>,
}

impl Examination {
    /// Whether a recording would start.
    #[must_use]
    pub fn can_record(&self) -> bool {
        self.findings.iter().all(|f| f.verdict != Verdict::Stops)
    }
}

/// Bytes free below which a recording should not be started: about an hour of it.
pub const LITTLE_SPACE: u64 = 2 << 30;
/// Bytes free below which it would end within minutes.
pub const NO_SPACE: u64 = 100 << 20;

/// Looks at screens, microphones, input, encoders and the disk under `folder`.
#[must_use]
pub fn examine(folder: &Path) -> Examination {
    let monitors = monitors();
    let mut findings = vec![display(&monitors)];
    if monitors.is_ok() {
        findings.push(capture());
        findings.push(input());
    }
    findings.push(microphone());
    findings.push(encoder(
        "libx264",
        "H.264 encoder",
        Verdict::Stops,
        "install FFmpeg’s libavcodec with x264 (Debian: libavcodec-extra or libavcodec59)",
    ));
    findings.push(encoder("flac", "FLAC encoder", Verdict::Stops, "install FFmpeg’s libavcodec"));
    findings.push(encoder("aac", "AAC encoder", Verdict::Stops, "install FFmpeg’s libavcodec"));
    findings.push(space(folder));
    Examination { monitors: monitors.unwrap_or_default(), microphones: audio::microphones(), findings }
}

fn good(what: &'static str, detail: String) -> Finding {
    Finding { what, verdict: Verdict::Good, detail, hint: None }
}

fn display(monitors: &crate::Result<Vec<Monitor>>) -> Finding {
    match monitors {
        Ok(m) => {
            let list: Vec<String> = m.iter().map(|m| format!("{} {}x{}", m.name, m.area.width, m.area.height)).collect();
            let d = std::env::var("DISPLAY").unwrap_or_default();
            good("screen", format!("X11 display {d}: {}", list.join(", ")))
        }
        Err(e) => {
            let wayland = std::env::var("WAYLAND_DISPLAY").is_ok_and(|w| !w.is_empty());
            Finding {
                what: "screen",
                verdict: Verdict::Stops,
                detail: first_line(e),
                hint: Some(if wayland {
                    "this is a Wayland session: log in with an X11 session, mouse and keys cannot be recorded otherwise"
                } else {
                    "start an X11 desktop or set DISPLAY; `redline demo` makes a virtual one"
                }),
            }
        }
    }
}

fn first_line(e: &impl std::fmt::Display) -> String {
    e.to_string().lines().next().unwrap_or_default().to_owned()
}

/// Takes a picture the way a recording would.
fn capture() -> Finding {
    let what = "screen capture";
    let mut source = match screen::open(&RecordOptions::default()) {
        Ok(s) => s,
        Err(e) => {
            return Finding {
                what,
                verdict: Verdict::Stops,
                detail: first_line(&e),
                hint: Some("allow screen recording for this program"),
            };
        }
    };
    let backend = source.backend();
    match source.grab() {
        Ok(g) => {
            let ms = (g.got_ns - g.asked_ns) as f64 / 1e6;
            let detail = format!("{backend}, {ms:.1} ms a picture");
            if backend == "xcap" || ms > 15.0 {
                Finding {
                    what,
                    verdict: Verdict::Warning,
                    detail,
                    hint: Some("slow: pictures will be repeated; record on the machine that has the display (shared memory needs that)"),
                }
            } else {
                good(what, detail)
            }
        }
        Err(e) => Finding { what, verdict: Verdict::Stops, detail: first_line(&e), hint: Some("allow screen recording for this program") },
    }
}

fn input() -> Finding {
    match crate::input::prepare() {
        Ok(()) => good("mouse and keys", "can be recorded".into()),
        Err(e) => Finding {
            what: "mouse and keys",
            verdict: Verdict::Stops,
            detail: first_line(&e),
            hint: Some("the X11 server needs the RECORD extension; on macOS allow input monitoring"),
        },
    }
}

fn microphone() -> Finding {
    match audio::probe(&Microphone::Default) {
        Ok(Some(m)) => good("microphone", format!("{}, {} Hz", m.name, m.sample_rate)),
        Ok(None) => good("microphone", "none wanted".into()),
        Err(e) => Finding {
            what: "microphone",
            verdict: Verdict::Stops,
            detail: first_line(&e),
            hint: Some("plug one in and make it the default, name one with --mic, or record without with --no-mic"),
        },
    }
}

fn encoder(name: &str, what: &'static str, verdict: Verdict, hint: &'static str) -> Finding {
    if redline_media::has_encoder(name) {
        good(what, name.to_owned())
    } else {
        Finding { what, verdict, detail: format!("FFmpeg has no {name}"), hint: Some(hint) }
    }
}

fn space(folder: &Path) -> Finding {
    let what = "free disk";
    let Some(free) = free_bytes(folder) else {
        return Finding {
            what,
            verdict: Verdict::Warning,
            detail: format!("{}: could not be asked", folder.display()),
            hint: Some("look at it yourself"),
        };
    };
    let detail = format!("{:.1} GB at {}", free as f64 / 1e9, folder.display());
    let hint = Some("make room, or put the corpus on another disk: an hour takes about 1 GB");
    match free {
        f if f < NO_SPACE => Finding { what, verdict: Verdict::Stops, detail, hint },
        f if f < LITTLE_SPACE => Finding { what, verdict: Verdict::Warning, detail, hint },
        _ if !writable(folder) => {
            Finding { what, verdict: Verdict::Stops, detail: format!("{} may not be written", folder.display()), hint }
        }
        _ => good(what, detail),
    }
}

fn writable(folder: &Path) -> bool {
    use std::os::unix::ffi::OsStrExt;
    let Ok(c) = std::ffi::CString::new(folder.as_os_str().as_bytes()) else { return false };
    // SAFETY: `c` is a valid C string.
    unsafe { libc::access(c.as_ptr(), libc::W_OK) == 0 }
}

/// Bytes that an ordinary user may still write on the file system of `folder`.
#[must_use]
pub fn free_bytes(folder: &Path) -> Option<u64> {
    use std::os::unix::ffi::OsStrExt;
    let c = std::ffi::CString::new(folder.as_os_str().as_bytes()).ok()?;
    // SAFETY: an all-zero statvfs is valid, the call fills it, and `c` is a valid C string.
    unsafe {
        let mut s: libc::statvfs = std::mem::zeroed();
        (libc::statvfs(c.as_ptr(), &mut s) == 0).then(|| s.f_bavail * s.f_frsize)
    }
}
