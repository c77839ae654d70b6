//! `table!`: one declaration makes a table's row, builder, schema and documentation.

use super::column::Kind;
use arrow::array::RecordBatch;
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use std::collections::HashMap;
use std::sync::Arc;

/// A column, as published.
#[derive(Debug, Clone, Copy)]
pub struct Column {
    /// Its name.
    pub name: &'static str,
    /// What it means.
    pub doc: &'static str,
    /// What its numbers count.
    pub unit: Option<&'static str>,
    /// What it holds.
    pub kind: Kind,
    /// Whether values may be absent.
    pub nullable: bool,
}

/// A table, as published.
#[derive(Debug, Clone, Copy)]
pub struct Table {
    /// Its name, and its file's.
    pub name: &'static str,
    /// What a row is.
    pub doc: &'static str,
    /// Its columns, in order.
    pub columns: &'static [Column],
    /// The columns that rows are sorted by.
    pub sorted_by: &'static [&'static str],
}

/// Version of the tables' layout, in every file's metadata. Raise it with any change that a reader can notice.
pub const TABLES_VERSION: u32 = 2;

impl Table {
    /// The Arrow schema that readers see: column documentation and units in the fields' metadata,
    /// Hugging Face features in the schema's.
    #[must_use]
    pub fn schema(&self) -> SchemaRef {
        let mut meta = HashMap::from([
            ("table".into(), self.name.into()),
            ("description".into(), self.doc.into()),
            ("tables_version".into(), TABLES_VERSION.to_string()),
        ]);
        let features: serde_json::Map<_, _> = self
            .columns
            .iter()
            .filter_map(|c| match c.kind {
                Kind::Media(m) => Some((c.name.into(), serde_json::json!({ "_type": m.feature() }))),
                _ => None,
            })
            .collect();
        if !features.is_empty() {
            meta.insert("huggingface".into(), serde_json::json!({ "info": { "features": features } }).to_string());
        }
        Arc::new(Schema::new_with_metadata(self.fields(Kind::data_type), meta))
    }

    /// The schema of the batches that builders make.
    pub(crate) fn built_schema(&self) -> SchemaRef {
        Arc::new(Schema::new(self.fields(Kind::built_type)))
    }

    fn fields(&self, data_type: fn(Kind) -> DataType) -> Vec<Field> {
        let field = |c: &Column| {
            // `datasets` compares a media field with its own, which carries no metadata of ours.
            let meta = match c.kind {
                Kind::Media(_) => HashMap::new(),
                _ => [("description", Some(c.doc)), ("unit", c.unit)]
                    .into_iter()
                    .filter_map(|(k, v)| Some((k.to_owned(), v?.to_owned())))
                    .collect(),
            };
            Field::new(c.name, data_type(c.kind), c.nullable).with_metadata(meta)
        };
        self.columns.iter().map(field).collect()
    }
}

/// What gathers a table's rows.
pub trait TableBuilder: Default + Send {
    /// The table.
    const TABLE: Table;
    /// Rows so far.
    fn rows(&self) -> usize;
    /// The rows as a batch of [`Table::built_schema`].
    fn finish(self) -> Result<RecordBatch, arrow::error::ArrowError>;
}

macro_rules! unit {
    () => {
        None
    };
    ($u:literal) => {
        Some($u)
    };
}
pub(crate) use unit;

macro_rules! table {
    ($(#[doc = $tdoc:literal])+ $name:literal, sorted by $sort:tt { $($(#[doc = $doc:literal])+ $col:ident: $t:ty $([$unit:literal])?,)+ }) => {
        /// One row.
        #[allow(clippy::struct_excessive_bools)]
        pub struct Row<'a> {
            $($(#[doc = $doc])+ pub $col: <$t as $crate::tables::ColumnType>::Value<'a>,)+
        }

        /// Gathers rows.
        #[derive(Default)]
        pub struct Builder {
            rows: usize,
            $($col: <$t as $crate::tables::ColumnType>::Builder,)+
        }

        impl Builder {
            /// Appends a row.
            #[inline]
            pub fn append(&mut self, row: Row<'_>) {
                self.rows += 1;
                $(<$t as $crate::tables::ColumnType>::append(&mut self.$col, row.$col);)+
            }
        }

        impl $crate::tables::TableBuilder for Builder {
            const TABLE: $crate::tables::Table = TABLE;
            fn rows(&self) -> usize {
                self.rows
            }
            fn finish(self) -> Result<arrow::array::RecordBatch, arrow::error::ArrowError> {
                arrow::array::RecordBatch::try_new(
                    TABLE.built_schema(),
                    vec![$(<$t as $crate::tables::ColumnType>::finish(self.$col),)+],
                )
            }
        }

        /// The table's definition.
        pub const TABLE: $crate::tables::Table = $crate::tables::Table {
            name: $name,
            doc: concat!($($tdoc),+).trim_ascii(),
            columns: &[$($crate::tables::Column {
                name: stringify!($col),
                doc: concat!($($doc),+).trim_ascii(),
                unit: $crate::tables::define::unit!($($unit)?),
                kind: <$t as $crate::tables::ColumnType>::KIND,
                nullable: <$t as $crate::tables::ColumnType>::NULLABLE,
            },)+],
            sorted_by: &$sort,
        };
    };
}
pub(crate) use table;
