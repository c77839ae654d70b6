//! Parquet files from a corpus.
