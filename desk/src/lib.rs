//! A virtual desktop: screen, window manager and sound, on a machine that has none.
//!
//! The demo, the tests and the benchmarks record on it. Everything that it starts is ended when it is dropped, and also
//! when its own process is killed.
//!
//! ```no_run
//! let desk = redline_desk::VirtualDesktop::start(redline_desk::Options::default())?;
//! let shot = desk.command("xwd").args(["-root", "-silent"]).output();
//! # Ok::<(), redline_desk::Error>(())
//! ```

mod children;
mod error;
mod sound;

pub use error::{Error, Result};

use children::Child;
use std::io::Read as _;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How long a part of the desktop may take to come up.
pub const DEFAULT_PATIENCE: Duration = Duration::from_secs(30);

/// What desktop to make.
#[derive(Debug, Clone)]
pub struct Options {
    /// Screen width, pixels.
    pub width: u32,
    /// Screen height, pixels.
    pub height: u32,
    /// Run a window manager (openbox).
    pub window_manager: bool,
    /// Run a compositor (picom).
    pub compositor: bool,
    /// Run a sound server with a loudspeaker whose sound is the microphone's.
    pub sound: bool,
    /// Make a pipe the microphone instead: what is written to [`VirtualDesktop::microphone_pipe`] (16-bit mono
    /// samples, little-endian) is what it hears, at the pace at which it is written.
    pub microphone_pipe: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { width: 1920, height: 1080, window_manager: true, compositor: false, sound: true, microphone_pipe: false }
    }
}

/// A running virtual desktop.
pub struct VirtualDesktop {
    display: String,
    env: Vec<(String, String)>,
    // Ended in reverse order of their start.
    children: Vec<Child>,
    dir: tempfile::TempDir,
}

impl VirtualDesktop {
    /// Starts the desktop and waits until every part of it answers.
    pub fn start(options: Options) -> Result<Self> {
        let dir = tempfile::Builder::new().prefix("redline-desk-").tempdir().map_err(Error::Folder)?;
        let (xvfb, display) = start_xvfb(&options)?;
        let home = dir.path().to_string_lossy().into_owned();
        let env = vec![("DISPLAY".to_owned(), display.clone()), ("XDG_RUNTIME_DIR".to_owned(), home)];
        let mut desk = Self { display, env, children: vec![xvfb], dir };
        if options.window_manager {
            let wm = Child::spawn(desk.command("openbox").arg("--sm-disable"), "openbox", "openbox")?;
            desk.children.push(wm);
            desk.wait_root_property("_NET_SUPPORTING_WM_CHECK")?;
        }
        if options.compositor {
            let c = Child::spawn(desk.command("picom").args(["--backend", "xrender", "--config", "/dev/null"]), "picom", "picom")?;
            desk.children.push(c);
            desk.wait_for("the compositor", |d| d.output("xprop", &["-root", "_NET_WM_CM_S0"]).is_ok())?;
        }
        if options.sound {
            sound::start(&mut desk, options.microphone_pipe)?;
        }
        Ok(desk)
    }

    /// The display's name, e.g. `:7`.
    #[must_use]
    pub fn display(&self) -> &str {
        &self.display
    }

    /// Variables that a program needs to run on this desktop.
    #[must_use]
    pub fn env(&self) -> &[(String, String)] {
        &self.env
    }

    /// The pipe behind the microphone, see [`Options::microphone_pipe`].
    #[must_use]
    pub fn microphone_pipe(&self) -> std::path::PathBuf {
        self.dir.path().join(sound::PIPE)
    }

    /// A command that will run on this desktop.
    #[must_use]
    pub fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut c = Command::new(program);
        c.env_remove("WAYLAND_DISPLAY").env_remove("XAUTHORITY").envs(self.env.iter().map(|(k, v)| (k, v)));
        c.stdin(Stdio::null());
        c
    }

    /// Starts a program that is ended with the desktop; its output is thrown away.
    pub fn launch(&mut self, command: &mut Command, program: &'static str, package: &'static str) -> Result<()> {
        let child = Child::spawn(command, program, package)?;
        self.children.push(child);
        Ok(())
    }

    /// Runs a program on the desktop and gives its standard output; an error when it fails.
    pub fn output(&self, program: &str, args: &[&str]) -> Result<String> {
        let out = self.command(program).args(args).output().map_err(|source| Error::Missing {
            program: program.into(),
            package: program.into(),
            source,
        })?;
        if out.status.success() {
            Ok(String::from_utf8_lossy(&out.stdout).into_owned())
        } else {
            Err(Error::Failed { program: program.into(), message: String::from_utf8_lossy(&out.stderr).trim().to_owned() })
        }
    }

    /// Plays a sound file through the loudspeaker, to its end.
    pub fn play_wav(&self, path: &Path) -> Result<()> {
        self.output("paplay", &[&path.to_string_lossy()]).map(drop)
    }

    /// Waits until a window with `name` (a regular expression, as xdotool has it) is mapped; its X11 id.
    pub fn wait_window(&self, name: &str) -> Result<String> {
        let mut id = String::new();
        self.wait_for(&format!("a window named {name}"), |d| match d.output("xdotool", &["search", "--onlyvisible", "--name", name]) {
            Ok(o) if !o.trim().is_empty() => {
                id = o.lines().next().unwrap_or_default().to_owned();
                true
            }
            _ => false,
        })?;
        Ok(id)
    }

    /// Waits until `ready` says yes; an error after [`DEFAULT_PATIENCE`].
    pub fn wait_for(&self, what: &str, mut ready: impl FnMut(&Self) -> bool) -> Result<()> {
        let deadline = Instant::now() + DEFAULT_PATIENCE;
        while !ready(self) {
            if Instant::now() > deadline {
                return Err(Error::Late { what: what.into(), patience: DEFAULT_PATIENCE });
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    fn wait_root_property(&self, name: &str) -> Result<()> {
        self.wait_for(name, |d| d.output("xprop", &["-root", name]).is_ok_and(|o| o.contains('#')))
    }
}

impl Drop for VirtualDesktop {
    fn drop(&mut self) {
        while self.children.pop().is_some() {}
    }
}

/// Starts Xvfb on a display number of its own choice and waits until it says which.
fn start_xvfb(options: &Options) -> Result<(Child, String)> {
    let (mut read, write) = pipe()?;
    let fd = write.as_raw_fd();
    let mut c = Command::new("Xvfb");
    c.args(["-displayfd", &fd.to_string(), "-screen", "0", &format!("{}x{}x24", options.width, options.height)]);
    c.args(["-nolisten", "tcp", "-noreset", "+extension", "RANDR", "+extension", "MIT-SHM"]);
    children::inherit_fd(&mut c, fd);
    let child = Child::spawn(&mut c, "Xvfb", "xvfb")?;
    drop(write);
    let mut number = String::new();
    // Ends when Xvfb has written its number and closed the pipe, or died.
    read.read_to_string(&mut number).map_err(Error::Folder)?;
    let number = number.trim();
    if number.is_empty() || !number.bytes().all(|b| b.is_ascii_digit()) {
        return Err(Error::Failed { program: "Xvfb".into(), message: "it ended without opening a display".into() });
    }
    Ok((child, format!(":{number}")))
}

fn pipe() -> Result<(std::fs::File, OwnedFd)> {
    let mut fds = [0; 2];
    // SAFETY: `fds` has room for the two descriptors; both are ours alone afterwards.
    let (read, write) = unsafe {
        if libc::pipe2(fds.as_mut_ptr(), libc::O_CLOEXEC) != 0 {
            return Err(Error::Folder(std::io::Error::last_os_error()));
        }
        (std::fs::File::from_raw_fd(fds[0]), OwnedFd::from_raw_fd(fds[1]))
    };
    Ok((read, write))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn screen_and_sound_come_up_and_go() {
        let desk = VirtualDesktop::start(Options { width: 800, height: 600, ..Options::default() }).unwrap();
        let size = desk.output("xdotool", &["getdisplaygeometry"]).unwrap();
        assert_eq!(size.trim(), "800 600");
        assert!(desk.output("pactl", &["get-default-source"]).unwrap().contains("monitor"));
        let pids: Vec<_> = desk.children.iter().map(Child::pid).collect();
        let dir = desk.dir.path().to_owned();
        drop(desk);
        for pid in pids {
            assert!(!Path::new(&format!("/proc/{pid}")).exists(), "process {pid} is still there");
        }
        assert!(!dir.exists());
    }

    #[test]
    fn two_desktops_do_not_meet() {
        let small = || {
            VirtualDesktop::start(Options {
                width: 320,
                height: 240,
                window_manager: false,
                compositor: false,
                sound: false,
                microphone_pipe: false,
            })
            .unwrap()
        };
        let (a, b) = (small(), small());
        assert_ne!(a.display(), b.display());
    }

    #[test]
    fn a_missing_program_is_named_with_its_package() {
        let e = Child::spawn(&mut Command::new("no-such-program-here"), "no-such-program-here", "some-package").err().unwrap().to_string();
        assert!(e.contains("no-such-program-here") && e.contains("some-package"), "{e}");
    }
}
