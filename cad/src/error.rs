use std::path::PathBuf;

/// What can go wrong with a CAD file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file could not be read.
    #[error("{}: could not read: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's own word.
        source: std::io::Error,
    },
    /// The file is not a STEP file, or is damaged.
    #[error("{}: not a readable STEP file ({message}): export it again from the CAD program as STEP AP214 or AP242", path.display())]
    NotStep {
        /// The file.
        path: PathBuf,
        /// The reader's own word.
        message: String,
    },
    /// No CAD kernel is installed.
    #[error(
        "FreeCAD is not installed, so validity, volume and views of models are not known: install the package freecad (or name its freecadcmd in REDLINE_FREECADCMD)"
    )]
    NoKernel,
    /// The kernel took too long.
    #[error("{}: the CAD kernel did not finish within {} s", path.display(), patience.as_secs())]
    Late {
        /// The file.
        path: PathBuf,
        /// How long it was waited for.
        patience: std::time::Duration,
    },
    /// The kernel's process failed for a reason of its own.
    #[error("{}: {message}", path.display())]
    Helper {
        /// The file.
        path: PathBuf,
        /// What happened.
        message: String,
    },
    /// The cache of facts and views can't be written.
    #[error("{}: could not write the cache of model facts: {source}", path.display())]
    Cache {
        /// A file or folder of the cache.
        path: PathBuf,
        /// The system's own word.
        source: std::io::Error,
    },
    /// A mesh in the cache.
    #[error("{}: the kept mesh of a model is damaged: remove its folder, and it is made anew", path.display())]
    DamagedMesh {
        /// The file.
        path: PathBuf,
    },
    /// A picture could not be made into features.
    #[error("{}: {message}", path.display())]
    Features {
        /// The picture or the network.
        path: PathBuf,
        /// What happened, and what to do.
        message: String,
    },
    /// A file of the corpus.
    #[error(transparent)]
    Schemas(#[from] redline_schemas::Error),
    /// The file was read, but holds no solid and no surface.
    #[error("{}: the STEP file holds no solid and no surface", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
}

/// A result with this crate's error.
pub type Result<T, E = Error> = std::result::Result<T, E>;
