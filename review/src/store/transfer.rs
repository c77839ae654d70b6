//! The whole state as one JSON file, to move it between machines. Invitations and sessions stay behind.

use super::Store;
use crate::{Error, Result};
use redline_schemas::{Difficulty, EditId, Modality, ParticipantId, RequestId, ReviewState, RevisionId, Word};
use rusqlite::types::{Value as Sql, ValueRef};
use rusqlite::{Connection, params_from_iter};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The file's version.
pub const VERSION: u32 = 1;

/// Tables in an order in which references hold.
const TABLES: [&str; 9] = ["items", "originals", "revisions", "decisions", "drafts", "effort", "realignments", "rate_seed", "rate_tasks"];

/// The whole state.
#[derive(Debug, Serialize, Deserialize)]
pub struct Dump {
    /// [`VERSION`].
    pub redline_review_export: u32,
    /// Rows by table.
    pub tables: Map<String, Value>,
    /// The audit log, oldest first; it is added to the target's own.
    pub audit: Vec<Map<String, Value>>,
}

fn rows(db: &Connection, sql: &str) -> Result<Vec<Map<String, Value>>> {
    let mut q = db.prepare(sql)?;
    let names: Vec<String> = q.column_names().into_iter().map(str::to_owned).collect();
    let mut rows = q.query([])?;
    let mut out = Vec::new();
    while let Some(r) = rows.next()? {
        let mut row = Map::new();
        for (i, n) in names.iter().enumerate() {
            let v = match r.get_ref(i)? {
                ValueRef::Null => Value::Null,
                ValueRef::Integer(i) => i.into(),
                ValueRef::Real(f) => f.into(),
                ValueRef::Text(t) => String::from_utf8_lossy(t).into(),
                ValueRef::Blob(_) => return Err(Error::Invalid(format!("review.sqlite: {n} holds a blob"))),
            };
            row.insert(n.clone(), v);
        }
        out.push(row);
    }
    Ok(out)
}

fn columns(db: &Connection, table: &str) -> Result<Vec<String>> {
    let mut q = db.prepare("SELECT name FROM pragma_table_info(?1)")?;
    let names = q.query_map([table], |r| r.get(0))?;
    Ok(names.collect::<Result<_, _>>()?)
}

/// Values that become file names or types later must be such.
fn check(table: &str, column: &str, v: &Value) -> Result<()> {
    let bad = |what: &str| Error::Invalid(format!("{table}.{column}: {what}"));
    let Some(s) = v.as_str() else {
        return match v {
            Value::Null | Value::Number(_) => Ok(()),
            _ => Err(bad("neither text, number nor null")),
        };
    };
    let ok = match (table, column) {
        ("audit", _) => true,
        (_, "request") => RequestId::new(s).is_ok(),
        (_, "edit") => EditId::new(s).is_ok(),
        (_, "requestor" | "author" | "reviewer" | "participant" | "rater") => ParticipantId::new(s).is_ok(),
        (_, "revision" | "base" | "exported") | ("revisions", "id") => RevisionId::new(s).is_ok(),
        (_, "modality") => s.parse::<Modality>().is_ok(),
        (_, "difficulty") => s.parse::<Difficulty>().is_ok(),
        ("items", "state") => s.parse::<ReviewState>().is_ok(),
        (_, "words") => serde_json::from_str::<Vec<Word>>(s).is_ok(),
        (_, "transcript") => serde_json::from_str::<redline_schemas::Transcript>(s).is_ok(),
        _ => true,
    };
    if ok { Ok(()) } else { Err(bad("not a valid value")) }
}

fn insert(db: &Connection, table: &str, row: &Map<String, Value>) -> Result<()> {
    let known = columns(db, table)?;
    if let Some(c) = row.keys().find(|c| !known.contains(c)) {
        return Err(Error::Invalid(format!("{table}: unknown column “{c}”")));
    }
    let mut values = Vec::new();
    for (c, v) in row {
        check(table, c, v)?;
        values.push(match v {
            Value::String(s) => Sql::Text(s.clone()),
            Value::Number(n) => Sql::Integer(n.as_i64().ok_or_else(|| Error::Invalid(format!("{table}.{c}: not an integer")))?),
            _ => Sql::Null,
        });
    }
    let names: Vec<&str> = row.keys().map(String::as_str).collect();
    let marks = vec!["?"; names.len()].join(", ");
    db.prepare_cached(&format!("INSERT INTO {table} ({}) VALUES ({marks})", names.join(", ")))?.execute(params_from_iter(values))?;
    Ok(())
}

impl Store {
    /// Everything but invitations, sessions and claims.
    pub fn dump(&self) -> Result<Dump> {
        self.read(|db| {
            let mut tables = Map::new();
            for t in TABLES {
                // Revisions before those that build on them.
                let order = if t == "revisions" { "request, number" } else { "1" };
                let rows = rows(db, &format!("SELECT * FROM {t} ORDER BY {order}"))?;
                tables.insert(t.into(), rows.into_iter().map(Value::Object).collect());
            }
            let audit = rows(db, "SELECT at_ms, participant, action, subject, detail FROM audit ORDER BY id")?;
            Ok(Dump { redline_review_export: VERSION, tables, audit })
        })
    }

    /// Takes a dump in, whole or not at all. The loop here must not have been worked in.
    pub fn load(&self, dump: Dump) -> Result<usize> {
        if dump.redline_review_export != VERSION {
            let found = dump.redline_review_export;
            return Err(Error::Invalid(format!("an export of version {found}, but this redline reads version {VERSION}")));
        }
        if let Some(t) = dump.tables.keys().find(|t| !TABLES.contains(&t.as_str())) {
            return Err(Error::Invalid(format!("unknown table “{t}”")));
        }
        self.write(move |db| {
            let used: i64 = db.query_row(
                "SELECT (SELECT count(*) FROM revisions) + (SELECT count(*) FROM drafts)
                + (SELECT count(*) FROM rate_tasks WHERE done_ms IS NOT NULL)",
                [],
                |r| r.get(0),
            )?;
            if used > 0 {
                return Err(Error::State("this corpus has corrections already; import into one without (nothing was changed)".into()));
            }
            db.execute_batch(
                "DELETE FROM claims; DELETE FROM realignments; DELETE FROM effort; DELETE FROM originals; DELETE FROM items;
                 DELETE FROM rate_tasks; DELETE FROM rate_seed;",
            )?;
            let mut count = 0;
            for t in TABLES {
                for row in dump.tables.get(t).and_then(Value::as_array).into_iter().flatten() {
                    let row = row.as_object().ok_or_else(|| Error::Invalid(format!("{t}: a row is no object")))?;
                    insert(db, t, row)?;
                    count += 1;
                }
            }
            // The transcripts beside the requests are written anew on this machine.
            db.execute_batch("UPDATE items SET exported = NULL; UPDATE realignments SET state = 'queued', attempts = 0, next_ms = 0;")?;
            for row in &dump.audit {
                insert(db, "audit", row)?;
            }
            super::note(db, "-", "import", None, Some(&format!("{count} rows")))?;
            Ok(count)
        })
    }
}
