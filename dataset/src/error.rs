use std::path::PathBuf;

/// What can go wrong between a corpus and a release. Every variant names the file it is about.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file of the corpus can't be read or written.
    #[error(transparent)]
    Schemas(#[from] redline_schemas::Error),
    /// A media file can't be read or written.
    #[error(transparent)]
    Media(#[from] redline_media::Error),
    /// A table could not be built.
    #[error("{table}: could not build the table: {source}")]
    Arrow {
        /// The table's name.
        table: String,
        /// Arrow's own word.
        source: arrow::error::ArrowError,
    },
    /// A Parquet file could not be written or read.
    #[error("{}: {action}: {source}", path.display())]
    Parquet {
        /// The file.
        path: PathBuf,
        /// What was tried, as "could not …".
        action: &'static str,
        /// The library's own word.
        source: parquet::errors::ParquetError,
    },
    /// Another program works there.
    #[error("{}: another redline works here: wait until it is done", .0.display())]
    Busy(PathBuf),
    /// Something asked for that can't be done; the text says what to do instead.
    #[error("{0}")]
    Refused(String),
}

/// A result with this crate's error.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// Shorthand for [`redline_schemas::Error::Io`], for `map_err`.
    pub fn io(path: impl Into<PathBuf>, action: &'static str) -> impl FnOnce(std::io::Error) -> Self {
        let io = redline_schemas::Error::io(path, action);
        move |source| Self::Schemas(io(source))
    }

    /// Shorthand for [`Error::Parquet`], for `map_err`.
    pub fn parquet(path: impl Into<PathBuf>, action: &'static str) -> impl FnOnce(parquet::errors::ParquetError) -> Self {
        let path = path.into();
        move |source| Self::Parquet { path, action, source }
    }

    /// Shorthand for [`Error::Arrow`], for `map_err`.
    pub fn arrow(table: impl Into<String>) -> impl FnOnce(arrow::error::ArrowError) -> Self {
        let table = table.into();
        move |source| Self::Arrow { table, source }
    }
}
