//! Takes a state from another machine in, when this corpus holds what the state is about.

use crate::store::transfer::Dump;
use crate::{Error, Flow, Result};
use redline_schemas::RequestId;
use serde_json::{Map, Value};
use std::collections::{BTreeSet, HashSet};

/// Unknown requests that a refusal names; the others are counted.
const NAMED: usize = 5;

impl Flow {
    /// Takes a state in, whole or not at all; how many rows.
    ///
    /// Every request that it names must be in this corpus, recorded by whom the state says: a correction without
    /// its recording could be neither heard nor judged, and its accepted text would have no place.
    pub fn import(&self, dump: Dump) -> Result<usize> {
        let known: HashSet<String> = self.corpus.request_ids()?.into_iter().map(|id| id.to_string()).collect();
        let rows = || dump.tables.values().filter_map(Value::as_array).flatten().filter_map(Value::as_object);
        let unknown: BTreeSet<&str> = rows().filter_map(request).filter(|r| !known.contains(*r)).collect();
        if !unknown.is_empty() {
            let named: Vec<&str> = unknown.iter().copied().take(NAMED).collect();
            let more = match unknown.len() - named.len() {
                0 => String::new(),
                n => format!(" and {n} more"),
            };
            return Err(Error::Invalid(format!(
                "it is about requests that are not in this corpus: {}{more}; bring their folders here first (nothing was changed)",
                named.join(", ")
            )));
        }
        for row in rows() {
            if let (Some(request), Some(requestor)) = (request(row), row.get("requestor").and_then(Value::as_str)) {
                let recorded_by = self.corpus.request(&RequestId::new(request)?)?.participant;
                if recorded_by.as_str() != requestor {
                    return Err(Error::Invalid(format!(
                        "it says that {requestor} recorded {request}, but here {recorded_by} did (nothing was changed)"
                    )));
                }
            }
        }
        self.store.load(dump)
    }
}

fn request(row: &Map<String, Value>) -> Option<&str> {
    row.get("request").and_then(Value::as_str)
}
