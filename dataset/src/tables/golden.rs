//! The published layout of each version, kept: a change that a reader can notice fails here.

use super::{ALL, TABLES_VERSION};
use serde_json::{Map, Value, json};
use std::path::Path;

/// Everything that a reader sees of the tables.
fn layout() -> Value {
    let table = |t: &super::Table| {
        let schema = t.schema();
        let columns: Vec<Value> = schema
            .fields()
            .iter()
            .map(|f| {
                let unit = f.metadata().get("unit");
                json!({ "name": f.name(), "type": f.data_type().to_string(), "may_be_absent": f.is_nullable(), "unit": unit })
            })
            .collect();
        let features: Value = schema.metadata().get("huggingface").map_or(Value::Null, |h| serde_json::from_str(h).unwrap());
        (t.name.to_owned(), json!({ "sorted_by": t.sorted_by, "columns": columns, "huggingface": features }))
    };
    json!({ "tables_version": TABLES_VERSION, "tables": ALL.iter().map(table).collect::<Map<_, _>>() })
}

/// `REDLINE_BLESS=1 cargo test -p redline-dataset` writes the layout of a version that has none yet.
#[test]
fn the_layout_changes_only_with_its_version() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("golden/tables.v{TABLES_VERSION}.json"));
    let want = serde_json::to_string_pretty(&layout()).unwrap() + "\n";
    if std::env::var_os("REDLINE_BLESS").is_some() && !path.exists() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, &want).unwrap();
    }
    let have = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        have == want,
        "readers would notice this change of the tables: raise TABLES_VERSION, then REDLINE_BLESS=1 cargo test -p redline-dataset\n{}",
        first_difference(&have, &want)
    );
}

fn first_difference(a: &str, b: &str) -> String {
    let at = a.lines().zip(b.lines()).position(|(x, y)| x != y).unwrap_or_else(|| a.lines().count().min(b.lines().count()));
    format!("line {}: was {:?}, is {:?}", at + 1, a.lines().nth(at), b.lines().nth(at))
}

#[test]
fn a_change_of_any_column_is_a_change_of_the_layout() {
    let before = layout();
    for t in ALL {
        for c in t.columns {
            let shown = before["tables"][t.name]["columns"].as_array().unwrap().iter().find(|x| x["name"] == c.name);
            let shown = shown.unwrap_or_else(|| panic!("{}.{} is not in the layout", t.name, c.name));
            assert_eq!(shown["type"], c.kind.data_type().to_string());
            assert_eq!((&shown["may_be_absent"], &shown["unit"]), (&json!(c.nullable), &json!(c.unit)), "{}.{}", t.name, c.name);
        }
    }
}
