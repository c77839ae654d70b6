//! What the published tables hold: one file a table.
