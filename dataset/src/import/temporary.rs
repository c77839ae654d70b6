//! Folders that become something only when all is in them.

use crate::{Error, Result};
use redline_schemas::fsio;
use std::path::{Path, PathBuf};

/// A folder that is removed unless it is kept.
pub(crate) struct Temporary {
    dir: PathBuf,
    kept: bool,
}

impl Temporary {
    /// In the folder that `target` will lie in, which is made when it is not there.
    pub(crate) fn beside(target: &Path) -> Result<Self> {
        let dir = fsio::temporary_beside(target);
        if let Some(parent) = target.parent() {
            std::fs::create_dir_all(parent).map_err(Error::io(parent, "could not create the folder"))?;
        }
        std::fs::create_dir(&dir).map_err(Error::io(&dir, "could not create the folder"))?;
        Ok(Self { dir, kept: false })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.dir
    }

    pub(crate) fn keep_as(mut self, path: &Path) -> Result<()> {
        std::fs::rename(&self.dir, path).map_err(Error::io(path, "could not put the folder in place"))?;
        self.kept = true;
        fsio::sync_parent(path).map_err(Error::io(path, "could not sync"))?;
        Ok(())
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.kept {
            let _ = std::fs::remove_dir_all(&self.dir);
        }
    }
}
