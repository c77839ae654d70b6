//! The folder for what belongs to running recorders only: sockets and locks.

use crate::{Error, Result};
use redline_schemas::Error as SchemaError;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

/// This user's folder, which nobody else may enter; made if missing.
pub(crate) fn runtime_dir() -> Result<PathBuf> {
    // SAFETY: the call has no preconditions and cannot fail.
    let me = unsafe { libc::geteuid() };
    // Some log-ins leave a name there of a folder that nobody made.
    let dir = match std::env::var_os("XDG_RUNTIME_DIR").filter(|d| Path::new(d).is_dir()) {
        Some(d) => PathBuf::from(d).join("redline"),
        None => std::env::temp_dir().join(format!("redline-{me}")),
    };
    match std::fs::DirBuilder::new().mode(0o700).create(&dir) {
        Err(e) if e.kind() != std::io::ErrorKind::AlreadyExists => {
            return Err(SchemaError::io(&dir, "could not create the folder")(e).into());
        }
        _ => {}
    }
    // In a folder that others may write to, somebody else’s folder could lie in wait under this name.
    let look = || std::fs::symlink_metadata(&dir).map_err(SchemaError::io(&dir, "could not look at"));
    let mut m = look()?;
    // Our own one, into which others could look but not write: older versions made it so.
    if m.is_dir() && m.uid() == me && m.mode() & 0o022 == 0 && m.mode() & 0o077 != 0 {
        std::fs::set_permissions(&dir, std::fs::Permissions::from_mode(0o700))
            .map_err(SchemaError::io(&dir, "could not close to others"))?;
        m = look()?;
    }
    if !m.is_dir() || m.uid() != me || m.mode() & 0o077 != 0 {
        return Err(Error::Options(format!(
            "{}: must be a folder of this user that nobody else may enter: remove it, or set XDG_RUNTIME_DIR",
            dir.display()
        )));
    }
    Ok(dir)
}
