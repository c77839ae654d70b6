//! Running Redline's own commands, so that the demo does what a user would do.

use anyhow::{Context as _, bail};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How long a process may take to end itself when the demo is stopped.
const GRACE: Duration = Duration::from_secs(10);

/// Runs commands, and stops them when the demo is stopped.
pub struct Runner {
    exe: PathBuf,
    stopped: Arc<AtomicBool>,
}

impl Runner {
    pub fn new() -> anyhow::Result<Self> {
        let stopped = Arc::new(AtomicBool::new(false));
        for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
            signal_hook::flag::register(signal, Arc::clone(&stopped)).context("could not listen for Ctrl-C")?;
        }
        let exe = std::env::current_exe().context("could not find the redline program itself")?;
        Ok(Self { exe, stopped })
    }

    /// An error once somebody pressed Ctrl-C.
    pub fn check(&self) -> anyhow::Result<()> {
        if self.stopped.load(Ordering::Relaxed) {
            bail!("stopped; what was recorded until then is kept");
        }
        Ok(())
    }

    /// Sleeps, unless the demo is stopped.
    pub fn pause(&self, time: Duration) -> anyhow::Result<()> {
        let until = Instant::now() + time;
        while Instant::now() < until {
            self.check()?;
            std::thread::sleep(Duration::from_millis(20).min(until.saturating_duration_since(Instant::now())));
        }
        self.check()
    }

    /// Runs `redline ARGS`, its output shown on standard error: the demo's own data is what it prints at its end.
    pub fn loud(&self, args: &[&str]) -> anyhow::Result<()> {
        let child = self.command(args).stdout(Stdio::from(std::io::stderr())).spawn();
        Running { child: child.with_context(|| format!("could not run {}", self.exe.display()))?, name: format!("redline {}", args[0]) }
            .wait(self)
    }

    /// Runs `redline ARGS`; gives its standard output.
    pub fn quiet(&self, args: &[&str]) -> anyhow::Result<String> {
        use std::io::Read as _;
        let child = self.command(args).stdout(Stdio::piped()).spawn();
        let mut child = child.with_context(|| format!("could not run {}", self.exe.display()))?;
        let mut text = String::new();
        // The answers are small, and end with the program.
        child.stdout.take().context("no output")?.read_to_string(&mut text)?;
        Running { child, name: format!("redline {}", args.join(" ")) }.wait(self)?;
        Ok(text)
    }

    /// Starts `redline ARGS` with variables.
    pub fn start(&self, args: &[&str], env: &[(String, String)]) -> anyhow::Result<Running> {
        let child = self.command(args).envs(env.iter().map(|(k, v)| (k, v))).stdout(Stdio::null()).spawn();
        Ok(Running { child: child.with_context(|| format!("could not run {}", self.exe.display()))?, name: format!("redline {}", args[0]) })
    }

    /// Starts another program.
    pub fn program(&self, command: &mut Command, package: &str) -> anyhow::Result<Running> {
        let name = command.get_program().to_string_lossy().into_owned();
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let child = child.with_context(|| format!("could not run {name}: install the Debian package “{package}”"))?;
        Ok(Running { child, name })
    }

    fn command(&self, args: &[&str]) -> Command {
        eprintln!("\n$ redline {}", args.iter().map(|a| quoted(a)).collect::<Vec<_>>().join(" "));
        let mut c = Command::new(&self.exe);
        c.args(args).stdin(Stdio::null());
        c
    }
}

fn quoted(arg: &str) -> String {
    if arg.contains(char::is_whitespace) { format!("'{arg}'") } else { arg.to_owned() }
}

/// A process that is stopped when it is dropped.
pub struct Running {
    child: Child,
    name: String,
}

impl Running {
    /// Waits for its end; an error when it failed or the demo was stopped.
    pub fn wait(mut self, runner: &Runner) -> anyhow::Result<()> {
        let status: ExitStatus = loop {
            if let Some(s) = self.child.try_wait()? {
                break s;
            }
            runner.pause(Duration::from_millis(20))?;
        };
        runner.check()?;
        if !status.success() {
            bail!("“{}” failed ({status}), see above", self.name);
        }
        Ok(())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(Some(_)) | Err(_)) {
            return;
        }
        // A recorder that is asked to stop finalises its session.
        // SAFETY: the child is ours and not reaped yet, so its id is not another's.
        #[cfg(unix)]
        unsafe {
            libc::kill(self.child.id() as libc::pid_t, libc::SIGTERM);
        }
        let until = Instant::now() + GRACE;
        while Instant::now() < until {
            if matches!(self.child.try_wait(), Ok(Some(_)) | Err(_)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
