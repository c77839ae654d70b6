//! One table into one Parquet file: explicit row groups, columns encoded in parallel, the same bytes for the same rows.

use crate::tables::{Kind, Table};
use crate::{Error, Result};
use arrow::array::RecordBatch;
use parquet::arrow::ArrowSchemaConverter;
use parquet::arrow::add_encoded_arrow_schema_to_metadata;
use parquet::arrow::arrow_writer::{ArrowColumnWriter, ArrowRowGroupWriterFactory, compute_leaves};
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::metadata::SortingColumn;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::ColumnPath;
use rayon::prelude::*;
use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Rows of a row group; see [`super::Options::row_group_rows`]. About 100 MB of events uncompressed, as viewers want.
pub const DEFAULT_ROW_GROUP_ROWS: usize = 1 << 20;

/// zstd's level: higher ones took longer and saved little on recorded input.
const ZSTD_LEVEL: i32 = 1;

/// Different ids that a row group's Bloom filter has room for at first; it is folded to what is needed.
const BLOOM_NDV: u64 = 1 << 16;

pub(super) struct TableWriter {
    table: &'static Table,
    path: PathBuf,
    file: SerializedFileWriter<BufWriter<File>>,
    factory: ArrowRowGroupWriterFactory,
    columns: Vec<ArrowColumnWriter>,
    rows_in_group: usize,
    groups: usize,
    row_group_rows: usize,
    rows: u64,
}

impl TableWriter {
    pub(super) fn create(table: &'static Table, path: &Path, row_group_rows: usize) -> Result<Self> {
        let f = File::create(path).map_err(Error::io(path, "could not create"))?;
        let make = || -> Result<_, ParquetError> {
            let schema = table.schema();
            let parquet_schema = ArrowSchemaConverter::new().schema_root("arrow_schema").convert(&schema)?;
            let mut props = properties(table);
            add_encoded_arrow_schema_to_metadata(&schema, &mut props);
            let file = SerializedFileWriter::new(BufWriter::with_capacity(1 << 20, f), parquet_schema.root_schema_ptr(), Arc::new(props))?;
            let factory = ArrowRowGroupWriterFactory::new(&file, table.built_schema());
            Ok((file, factory))
        };
        let (file, factory) = make().map_err(Error::parquet(path, "could not create"))?;
        Ok(Self {
            table,
            path: path.into(),
            file,
            factory,
            columns: Vec::new(),
            rows_in_group: 0,
            groups: 0,
            row_group_rows: row_group_rows.max(1),
            rows: 0,
        })
    }

    pub(super) fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let mut from = 0;
        while from < batch.num_rows() {
            let n = (self.row_group_rows - self.rows_in_group).min(batch.num_rows() - from);
            self.write_part(&batch.slice(from, n)).map_err(Error::parquet(&self.path, "could not write"))?;
            from += n;
        }
        Ok(())
    }

    fn write_part(&mut self, batch: &RecordBatch) -> Result<(), ParquetError> {
        if self.columns.is_empty() {
            self.columns = self.factory.create_column_writers(self.groups)?;
        }
        let schema = batch.schema();
        let mut leaves = Vec::with_capacity(self.columns.len());
        for (field, array) in schema.fields().iter().zip(batch.columns()) {
            leaves.extend(compute_leaves(field, array)?);
        }
        self.columns.par_iter_mut().zip(leaves).try_for_each(|(c, l)| c.write(&l))?;
        self.rows_in_group += batch.num_rows();
        self.rows += batch.num_rows() as u64;
        if self.rows_in_group == self.row_group_rows { self.end_group() } else { Ok(()) }
    }

    fn end_group(&mut self) -> Result<(), ParquetError> {
        if self.columns.is_empty() {
            return Ok(());
        }
        let columns = std::mem::take(&mut self.columns);
        let chunks: Vec<_> = columns.into_par_iter().map(ArrowColumnWriter::close).collect::<Result<_, _>>()?;
        let mut group = self.file.next_row_group()?;
        for c in chunks {
            c.append_to_row_group(&mut group)?;
        }
        group.close()?;
        self.rows_in_group = 0;
        self.groups += 1;
        Ok(())
    }

    /// Completes the file and syncs it; rows and row groups.
    pub(super) fn finish(mut self) -> Result<(u64, usize)> {
        let path = self.path.clone();
        let mut end = || -> Result<(), ParquetError> {
            self.end_group()?;
            self.file.finish()?;
            Ok(())
        };
        end().map_err(Error::parquet(&path, "could not write"))?;
        self.file.inner().get_ref().sync_all().map_err(Error::io(&path, "could not sync"))?;
        tracing::debug!(table = self.table.name, rows = self.rows, row_groups = self.groups, "packed");
        Ok((self.rows, self.groups))
    }
}

/// How each kind of column is stored.
fn properties(table: &Table) -> WriterProperties {
    let mut p = WriterProperties::builder()
        .set_created_by(format!("redline {}", env!("CARGO_PKG_VERSION")))
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(ZSTD_LEVEL).unwrap_or_default()));
    let sorting = |name: &&'static str| {
        let leaf = table.columns.iter().take_while(|c| c.name != *name).map(leaves).sum::<usize>();
        SortingColumn { column_idx: leaf as i32, descending: false, nulls_first: false }
    };
    p = p.set_sorting_columns(Some(table.sorted_by.iter().map(sorting).collect()));
    for c in table.columns {
        let path = || ColumnPath::from(c.name);
        match c.kind {
            Kind::Id => p = p.set_column_bloom_filter_max_ndv(path(), BLOOM_NDV).set_column_bloom_filter_fpp(path(), 0.01),
            Kind::Int | Kind::Time | Kind::Utc => {
                p = p.set_column_dictionary_enabled(path(), false).set_column_encoding(path(), Encoding::DELTA_BINARY_PACKED);
            }
            Kind::Float => p = p.set_column_dictionary_enabled(path(), false).set_column_encoding(path(), Encoding::BYTE_STREAM_SPLIT),
            Kind::Label | Kind::Text | Kind::Json | Kind::Bool | Kind::Media(_) => {}
        }
    }
    p.build()
}

fn leaves(c: &crate::tables::Column) -> usize {
    if matches!(c.kind, Kind::Media(_)) { 2 } else { 1 }
}
