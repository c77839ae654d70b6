//! SQL over a corpus, a release or a folder of packed tables. It only reads.
//!
//! Besides the tables there is the view `pointing` ([`views`]): a row a spoken word, with what the mouse was
//! on when it was said.
//!
//! ```no_run
//! let db = redline_query::Database::open("corpus".as_ref())?;
//! let rows = db.query("SELECT text, x, y, entity_id FROM pointing WHERE text = 'this'")?;
//! println!("{}", rows.table()?);
//! # Ok::<_, redline_query::Error>(())
//! ```

mod error;
pub mod views;

pub use error::{Error, Result};

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::{Schema, SchemaRef};
use datafusion::arrow::json::writer::{JsonArray, WriterBuilder};
use datafusion::arrow::util::pretty::pretty_format_batches;
use datafusion::execution::context::SQLOptions;
use datafusion::execution::disk_manager::DiskManagerBuilder;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::prelude::{ParquetReadOptions, SessionConfig, SessionContext};
use redline_dataset::pack::{self, Scope, file_name};
use redline_dataset::{release, tables};
use redline_schemas::Corpus;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Memory for sorting and joining before it goes on in temporary files, bytes.
const MEMORY_LIMIT: usize = 1 << 30;

/// Tables that can be asked.
pub struct Database {
    context: SessionContext,
    runtime: tokio::runtime::Runtime,
    /// Tables packed from a corpus; they go away with the database.
    _packed: Option<tempfile::TempDir>,
}

/// The answer to a query.
pub struct Rows {
    /// Its columns.
    pub schema: SchemaRef,
    /// Its rows.
    pub batches: Vec<RecordBatch>,
}

impl Database {
    /// Opens a corpus (packed into a temporary folder first), a release, or a folder of packed tables.
    pub fn open(dir: &Path) -> Result<Self> {
        Self::open_by(dir, Arc::new(pack::Here))
    }

    /// The same with the rows of a corpus made by `engine`.
    pub fn open_by(dir: &Path, engine: Arc<dyn pack::Engine>) -> Result<Self> {
        let mut packed = None;
        let folders = if dir.join("release.json").is_file() {
            release::read_manifest(dir)?.splits.into_iter().map(|s| dir.join("tables").join(s.name)).collect()
        } else if dir.join("corpus.json").is_file() {
            let corpus = Corpus::open(dir).map_err(redline_dataset::Error::from)?;
            let temporary = tempfile::tempdir().map_err(redline_dataset::Error::io(std::env::temp_dir(), "could not create a folder"))?;
            let options = pack::Options { engine, ..pack::Options::default() };
            pack::pack(&corpus, Scope::all(&corpus)?, temporary.path(), &options, &|_, _, _| {})?;
            let folder = temporary.path().to_owned();
            packed = Some(temporary);
            vec![folder]
        } else if tables::ALL.iter().any(|t| dir.join(file_name(t.name)).is_file()) {
            vec![dir.to_owned()]
        } else {
            return Err(Error::NothingToAsk { path: dir.into() });
        };
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .build()
            .map_err(redline_dataset::Error::io(dir, "could not start threads"))?;
        let environment = RuntimeEnvBuilder::new()
            .with_memory_limit(MEMORY_LIMIT, 1.0)
            .with_disk_manager_builder(DiskManagerBuilder::default())
            .build_arc()?;
        let context = SessionContext::new_with_config_rt(SessionConfig::new(), environment);
        let db = Self { context, runtime, _packed: packed };
        db.runtime.block_on(db.register(&folders))?;
        Ok(db)
    }

    async fn register(&self, folders: &[PathBuf]) -> Result<()> {
        for t in tables::ALL {
            let files: Vec<String> = folders
                .iter()
                .map(|f| f.join(file_name(t.name)))
                .filter(|f| f.is_file())
                .map(|f| f.to_string_lossy().into_owned())
                .collect();
            let frame = if files.is_empty() {
                // Metadata is of no use here, and differs from what files give.
                let schema = Arc::new(Schema::new(t.schema().fields().clone()));
                self.context.read_batch(RecordBatch::new_empty(schema))?
            } else {
                self.context.read_parquet(files, ParquetReadOptions::default()).await?
            };
            self.context.register_table(t.name, frame.into_view())?;
        }
        for (name, sql) in views::ALL {
            let view = self.context.sql(sql).await?.into_view();
            self.context.register_table(*name, view)?;
        }
        Ok(())
    }

    /// Runs one query. Statements that would change anything are refused.
    pub fn query(&self, sql: &str) -> Result<Rows> {
        let reading = SQLOptions::new().with_allow_ddl(false).with_allow_dml(false).with_allow_statements(false);
        self.runtime.block_on(async {
            let frame = self.context.sql_with_options(sql, reading).await?;
            let schema = Arc::new(frame.schema().as_arrow().clone());
            Ok(Rows { schema, batches: frame.collect().await? })
        })
    }
}

impl Rows {
    /// For people.
    pub fn table(&self) -> Result<String> {
        let empty = [RecordBatch::new_empty(Arc::clone(&self.schema))];
        let batches = if self.batches.is_empty() { &empty[..] } else { &self.batches };
        Ok(pretty_format_batches(batches).map_err(datafusion::error::DataFusionError::from)?.to_string())
    }

    /// For programs: a JSON array of objects; values that are absent are null.
    pub fn json(&self) -> Result<String> {
        let mut out = Vec::new();
        let mut w = WriterBuilder::new().with_explicit_nulls(true).build::<_, JsonArray>(&mut out);
        let batches: Vec<&RecordBatch> = self.batches.iter().collect();
        w.write_batches(&batches).and_then(|()| w.finish()).map_err(datafusion::error::DataFusionError::from)?;
        drop(w);
        Ok(String::from_utf8(out).unwrap_or_default())
    }
}
