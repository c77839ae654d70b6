use datafusion::error::DataFusionError;
use std::path::PathBuf;

/// What can go wrong with a query.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The folder holds nothing that can be asked.
    #[error("{}: neither a corpus, nor a release, nor a folder of packed tables", path.display())]
    NothingToAsk {
        /// The folder.
        path: PathBuf,
    },
    /// The tables could not be read or packed.
    #[error(transparent)]
    Dataset(#[from] redline_dataset::Error),
    /// The query is wrong, or failed.
    #[error("{}", say(.0))]
    Sql(#[from] DataFusionError),
}

/// A result with this crate's error.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The message without the library's internals.
fn say(e: &DataFusionError) -> String {
    let text = e.strip_backtrace();
    let text =
        ["Error during planning: ", "SQL error: ", "Schema error: "].iter().fold(text.as_str(), |t, p| t.strip_prefix(p).unwrap_or(t));
    format!("the query can't be answered: {text}")
}
