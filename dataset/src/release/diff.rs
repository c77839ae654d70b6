//! `redline diff`: what one release has that another has not.

use super::{Manifest, read_manifest, sums};
use crate::tables;
use crate::{Error, Result};
use arrow::array::{Array, AsArray, RecordBatch};
use arrow::compute::cast;
use arrow::datatypes::DataType;
use arrow::util::display::{ArrayFormatter, FormatOptions};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use redline_schemas::fsio;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;

/// Tables whose rows are compared one by one, and the columns that name a row.
const KEYED: &[(&str, &[&str])] = &[
    ("models", &["model_id"]),
    ("requests", &["request_id"]),
    ("edits", &["edit_id"]),
    ("transcripts", &["request_id", "transcript"]),
    ("revisions", &["revision_id"]),
];

/// The difference of two releases.
#[derive(Debug, Clone, Serialize)]
pub struct Difference {
    /// The older version.
    pub from: String,
    /// The newer version.
    pub to: String,
    /// Table by table, those that differ.
    pub tables: Vec<TableDifference>,
    /// Files that only the newer one has.
    pub files_added: Vec<String>,
    /// Files that only the older one has.
    pub files_removed: Vec<String>,
    /// Media and model files with other bytes.
    pub files_changed: Vec<String>,
}

/// The difference of a table.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct TableDifference {
    /// The table.
    pub table: String,
    /// Rows before.
    pub rows_before: u64,
    /// Rows after.
    pub rows_after: u64,
    /// Columns that only the newer one has.
    pub columns_added: Vec<String>,
    /// Columns that only the older one has.
    pub columns_removed: Vec<String>,
    /// Keys of rows that only the newer one has.
    pub added: Vec<String>,
    /// Keys of rows that only the older one has.
    pub removed: Vec<String>,
    /// Keys of rows that differ in anything but pseudonyms.
    pub changed: Vec<String>,
}

impl Difference {
    /// Whether nothing differs but names and dates.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tables.is_empty() && self.files_added.is_empty() && self.files_removed.is_empty() && self.files_changed.is_empty()
    }
}

/// Compares the releases in two folders.
pub fn diff(before: &Path, after: &Path) -> Result<Difference> {
    let (a, b) = (read_manifest(before)?, read_manifest(after)?);
    let mut d = Difference {
        from: a.version.clone(),
        to: b.version.clone(),
        tables: Vec::new(),
        files_added: Vec::new(),
        files_removed: Vec::new(),
        files_changed: Vec::new(),
    };
    for t in tables::ALL {
        let t = table(t.name, (before, &a), (after, &b))?;
        let changed = !(t.added.is_empty() && t.removed.is_empty() && t.changed.is_empty());
        if changed || t.rows_before != t.rows_after || !t.columns_added.is_empty() || !t.columns_removed.is_empty() {
            d.tables.push(t);
        }
    }
    // Tables are compared above; what describes the release always differs.
    let material = |dir: &Path| -> Result<BTreeMap<String, String>> {
        Ok(sums::read(dir)?.into_iter().filter(|(p, _)| ["requests/", "edits/", "models/"].iter().any(|d| p.starts_with(d))).collect())
    };
    let (x, y) = (material(before)?, material(after)?);
    d.files_added = y.keys().filter(|k| !x.contains_key(*k)).cloned().collect();
    d.files_removed = x.keys().filter(|k| !y.contains_key(*k)).cloned().collect();
    d.files_changed = x.iter().filter(|(k, h)| y.get(*k).is_some_and(|o| o != *h)).map(|(k, _)| k.clone()).collect();
    Ok(d)
}

fn table(name: &str, (before, a): (&Path, &Manifest), (after, b): (&Path, &Manifest)) -> Result<TableDifference> {
    let keys = KEYED.iter().find(|k| k.0 == name).map_or(&[] as &[&str], |k| k.1);
    let (x, y) = (load(before, a, name, keys)?, load(after, b, name, keys)?);
    let only = |x: &Loaded, y: &Loaded| x.by_key.keys().filter(|k| !y.by_key.contains_key(*k)).cloned().collect();
    let columns = |x: &Loaded, y: &Loaded| {
        // A table without rows has no file and so no columns; that is no change of columns.
        if x.columns.is_empty() || y.columns.is_empty() {
            return Vec::new();
        }
        x.columns.iter().filter(|c| !y.columns.contains(c)).cloned().collect()
    };
    Ok(TableDifference {
        table: name.into(),
        rows_before: x.rows,
        rows_after: y.rows,
        columns_added: columns(&y, &x),
        columns_removed: columns(&x, &y),
        added: only(&y, &x),
        removed: only(&x, &y),
        changed: x.by_key.iter().filter(|(k, h)| y.by_key.get(*k).is_some_and(|o| o != *h)).map(|(k, _)| k.clone()).collect(),
    })
}

#[derive(Default)]
struct Loaded {
    rows: u64,
    columns: Vec<String>,
    /// Key → hash of the row without pseudonyms.
    by_key: BTreeMap<String, String>,
}

fn load(dir: &Path, m: &Manifest, name: &str, keys: &[&str]) -> Result<Loaded> {
    let mut l = Loaded::default();
    for split in m.splits.iter().filter(|s| s.tables.iter().any(|t| t.name == name)) {
        let path = dir.join("tables").join(&split.name).join(crate::pack::file_name(name));
        let file = std::fs::File::open(&path).map_err(Error::io(&path, "could not open"))?;
        let builder = ParquetRecordBatchReaderBuilder::try_new(file).map_err(Error::parquet(&path, "could not read"))?;
        l.columns = builder.schema().fields().iter().map(|f| f.name().clone()).collect();
        l.rows += builder.metadata().file_metadata().num_rows().max(0) as u64;
        if keys.is_empty() {
            continue;
        }
        for batch in builder.build().map_err(Error::parquet(&path, "could not read"))? {
            rows(&batch.map_err(Error::arrow(name))?, keys, &mut l.by_key).map_err(Error::arrow(name))?;
        }
    }
    Ok(l)
}

fn rows(b: &RecordBatch, keys: &[&str], out: &mut BTreeMap<String, String>) -> Result<(), arrow::error::ArrowError> {
    const PSEUDONYMS: [&str; 4] = ["participant_id", "corrected_by", "accepted_by", "decided_by"];
    let options = FormatOptions::default().with_null("\u{0}");
    let schema = b.schema();
    let named = || schema.fields().iter().zip(b.columns());
    let key_columns = keys.iter().filter_map(|k| b.column_by_name(k)).map(|c| cast(c, &DataType::Utf8)).collect::<Result<Vec<_>, _>>()?;
    let values: Vec<_> = named()
        .filter(|(f, _)| !PSEUDONYMS.contains(&f.name().as_str()))
        .map(|(f, c)| Ok((f.name(), ArrayFormatter::try_new(c, &options)?)))
        .collect::<Result<_, arrow::error::ArrowError>>()?;
    for i in 0..b.num_rows() {
        let key: Vec<&str> = key_columns.iter().map(|c| c.as_string::<i32>()).filter(|c| c.is_valid(i)).map(|c| c.value(i)).collect();
        let row: String = values.iter().map(|(n, v)| format!("{n}={}\u{1}", v.value(i))).collect();
        out.insert(key.join("/"), fsio::sha256_bytes(row.as_bytes()));
    }
    Ok(())
}
