//! `docs/tables.md`, generated from the tables' declarations.

use super::{ALL, TABLES_VERSION};
use std::fmt::Write as _;

/// The documentation of every table and column, as Markdown.
#[must_use]
pub fn markdown() -> String {
    let mut s = format!(
        "# Tables\n\n\
         Generated from `dataset/src/tables/` (`REDLINE_BLESS=1 cargo test -p redline-dataset docs` writes it anew). \
         Layout version {TABLES_VERSION}, in every file's metadata as `tables_version`.\n\n\
         `redline pack` writes one Parquet file a table (none for a table without rows: Hugging Face `datasets` can't load an empty \
         one); a release holds the same tables. The descriptions and units below are \
         also in each column's Arrow metadata, as `description` and `unit`.\n\n\
         - Times are int64 nanoseconds since the session's start. Columns of type timestamp are the same moments as UTC.\n\
         - `session_id` is a `request_id`, an `edit_id` or a `run_id`; the column `session` says which.\n\
         - Paths and media are relative to the folder of the corpus or release; media columns have the shape that Hugging Face \
         `datasets` decodes, without bytes.\n\
         - Rows are sorted; every file has a page index, and a Bloom filter for each id column.\n\
         - A release packs participants under new names, and leaves out rejected and unconsented material.\n"
    );
    for t in ALL {
        let _ = write!(s, "\n## {}\n\n{} Sorted by `{}`.\n\n", t.name, t.doc, t.sorted_by.join("`, `"));
        s.push_str("| column | type | unit | may be absent | meaning |\n|---|---|---|---|---|\n");
        for c in t.columns {
            let _ = writeln!(
                s,
                "| `{}` | {} | {} | {} | {} |",
                c.name,
                c.kind.type_name(),
                c.unit.unwrap_or(""),
                if c.nullable { "yes" } else { "" },
                c.doc
            );
        }
    }
    s
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    #[test]
    fn docs_are_fresh() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/tables.md");
        let want = super::markdown();
        if std::env::var_os("REDLINE_BLESS").is_some() {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, &want).unwrap();
        }
        let have = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(have == want, "docs/tables.md is stale: REDLINE_BLESS=1 cargo test -p redline-dataset docs");
    }
}
