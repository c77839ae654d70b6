//! Reading manifests: a broken one is a finding, and the rest is still checked.

use super::finding::Findings;
use super::rule::{LINK, SCHEMA, UNREADABLE, VERSION};
use crate::{Error, Result};
use jsonschema::Validator;
use redline_schemas::{FORMAT_VERSION, fsio, json_schema};
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::OnceLock;

/// Schema errors listed for a file.
const MAX_SCHEMA_ERRORS: usize = 10;

/// The corpus format's JSON Schemas, compiled.
pub(super) struct Schemas(BTreeMap<&'static str, Validator>);

impl Schemas {
    /// Compiled once a process.
    pub(super) fn get() -> Result<&'static Self> {
        static SCHEMAS: OnceLock<Schemas> = OnceLock::new();
        if let Some(s) = SCHEMAS.get() {
            return Ok(s);
        }
        let made = Self::compile()?;
        Ok(SCHEMAS.get_or_init(|| made))
    }

    fn compile() -> Result<Self> {
        let compile = |(name, schema): (&'static str, schemars::Schema)| {
            let v = jsonschema::validator_for(schema.as_value())
                .map_err(|e| Error::Refused(format!("the built-in JSON Schema “{name}” is broken: {e}")))?;
            Ok((name, v))
        };
        Ok(Self(json_schema::all().into_iter().map(compile).collect::<Result<_>>()?))
    }

    /// Reads a manifest of the kind `name`; `None` when it is unusable.
    pub(super) fn read<T: DeserializeOwned>(&self, f: &mut Findings, path: &Path, name: &str) -> Option<T> {
        match std::fs::symlink_metadata(path) {
            Ok(m) if m.is_file() => {}
            Ok(_) => {
                f.add(LINK, path, "not a regular file");
                return None;
            }
            Err(e) => {
                f.add(UNREADABLE, path, e.to_string());
                return None;
            }
        }
        let bytes = match fsio::read_limited(path, fsio::MAX_MANIFEST_BYTES) {
            Ok(b) => b,
            Err(e) => {
                f.add(UNREADABLE, path, without_path(&e.to_string(), path));
                return None;
            }
        };
        let value: serde_json::Value = match serde_json::from_slice(&bytes) {
            Ok(v) => v,
            Err(e) => {
                f.at(UNREADABLE, path, e.line() as u64, format!("not JSON: {e}"));
                return None;
            }
        };
        match value.get("format_version") {
            Some(v) if v.as_u64() == Some(u64::from(FORMAT_VERSION)) => {}
            Some(v) => {
                f.add(VERSION, path, format!("format version {v}, but this redline reads version {FORMAT_VERSION}"));
                return None;
            }
            None => {
                f.add(SCHEMA, path, "no “format_version”");
                return None;
            }
        }
        let mut valid = true;
        if let Some(v) = self.0.get(name) {
            for e in v.iter_errors(&value).take(MAX_SCHEMA_ERRORS) {
                valid = false;
                let at = e.instance_path().to_string();
                f.add(SCHEMA, path, format!("{}: {e}", if at.is_empty() { "/" } else { &at }));
            }
        }
        match serde_json::from_value(value) {
            Ok(v) => Some(v),
            Err(e) => {
                if valid {
                    f.add(SCHEMA, path, e.to_string());
                }
                None
            }
        }
    }
}

/// Errors name their file; a finding does so already.
pub(super) fn without_path(message: &str, path: &Path) -> String {
    let name = path.display().to_string();
    message.strip_prefix(&name).map_or(message, |m| m.trim_start_matches([':', ' '])).to_owned()
}
