//! Processes that end with their parent.

use crate::{Error, Result};
use std::os::fd::RawFd;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How long a process may take to end itself before it is killed.
const GRACE: Duration = Duration::from_secs(3);

/// A process (and what it started) that is ended when dropped, and when the thread that started it ends
/// (`PR_SET_PDEATHSIG` looks at the thread, and a killed process takes its threads along).
pub struct Child {
    child: std::process::Child,
}

impl Child {
    /// Starts `command` in a process group of its own, without output.
    pub fn spawn(command: &mut Command, program: &str, package: &str) -> Result<Self> {
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
        // SAFETY: prctl is async-signal-safe and touches nothing of ours.
        unsafe {
            command.pre_exec(|| {
                if libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM) == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
            });
        }
        let child = command.spawn().map_err(|source| Error::Missing { program: program.into(), package: package.into(), source })?;
        Ok(Self { child })
    }

    /// The process's id.
    #[cfg(test)]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    fn signal(&self, signal: libc::c_int) {
        // SAFETY: the group is the child's own (process_group(0)); it is not reaped yet, so its id is not reused.
        unsafe {
            libc::kill(-(self.child.id() as libc::pid_t), signal);
        }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.signal(libc::SIGTERM);
        let deadline = Instant::now() + GRACE;
        while Instant::now() < deadline {
            if matches!(self.child.try_wait(), Ok(Some(_)) | Err(_)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        self.signal(libc::SIGKILL);
        let _ = self.child.wait();
    }
}

/// Lets the child inherit one descriptor that is closed on exec otherwise.
pub fn inherit_fd(command: &mut Command, fd: RawFd) {
    // SAFETY: fcntl is async-signal-safe; the descriptor is open until after the spawn.
    unsafe {
        command.pre_exec(move || if libc::fcntl(fd, libc::F_SETFD, 0) == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) });
    }
}
