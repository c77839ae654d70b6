//! How plug-ins find the bridge: a file that only the user can read.

use crate::{Error, Result};
use serde::{Deserialize, Serialize};
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// What the file holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Address {
    /// Protocol version.
    pub protocol: u32,
    /// `http://127.0.0.1:PORT`.
    pub url: String,
    /// To be sent as `Authorization: Bearer TOKEN`.
    pub token: String,
    /// The recorder's process id.
    pub pid: u32,
    /// The session ends: send what is left, then `POST /v1/bye`.
    #[serde(default)]
    pub closing: bool,
}

/// `$REDLINE_BRIDGE`, else `redline/bridge.json` in the user's runtime or cache folder.
#[must_use]
pub fn default_path() -> PathBuf {
    if let Some(p) = std::env::var_os("REDLINE_BRIDGE") {
        return p.into();
    }
    let dir = |v: &str| std::env::var_os(v).filter(|d| !d.is_empty()).map(PathBuf::from);
    let base = dir("XDG_RUNTIME_DIR").or_else(|| dir("XDG_CACHE_HOME")).or_else(|| dir("HOME").map(|h| h.join(".cache")));
    base.unwrap_or_else(std::env::temp_dir).join("redline").join("bridge.json")
}

/// Writes the file, readable by the user alone; removed by [`remove`].
pub fn publish(path: &Path, address: &Address) -> Result<()> {
    let fail = |source| Error::Discovery { path: path.into(), source };
    if let Some(dir) = path.parent() {
        let mut make = std::fs::DirBuilder::new();
        make.recursive(true);
        // The recorder's socket may lie there too: nobody else's business.
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut make, 0o700);
        make.create(dir).map_err(fail)?;
    }
    let tmp = redline_schemas::fsio::temporary_beside(path);
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let write = || -> std::io::Result<()> {
        let mut f = options.open(&tmp)?;
        f.write_all(&serde_json::to_vec(address)?)?;
        f.sync_all()?;
        std::fs::rename(&tmp, path)
    };
    write().map_err(|e| {
        let _ = std::fs::remove_file(&tmp);
        fail(e)
    })
}

/// Removes the file if it is still this address's (another recorder may have replaced it).
pub fn remove(path: &Path, address: &Address) {
    let same = std::fs::read(path).ok().and_then(|b| serde_json::from_slice::<Address>(&b).ok()).is_some_and(|a| a.token == address.token);
    if same {
        let _ = std::fs::remove_file(path);
    }
}
