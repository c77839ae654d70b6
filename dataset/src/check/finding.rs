use super::rule::{RULES, Rule, Severity, UNREADABLE};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Findings of one rule in one file that are listed; the rest is counted.
const LISTED: u64 = 10;

/// Something that a rule found.
#[derive(Debug, Clone, Serialize)]
pub struct Finding {
    /// The rule.
    #[serde(serialize_with = "id_only")]
    pub rule: &'static Rule,
    /// How bad it is.
    pub severity: Severity,
    /// The file or folder, relative to the corpus.
    pub file: String,
    /// The line (from 1), where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub hint: &'static str,
}

/// A finding as it is written.
#[derive(Deserialize)]
struct Told {
    rule: String,
    file: String,
    line: Option<u64>,
    message: String,
}

impl<'de> Deserialize<'de> for Finding {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let t = Told::deserialize(d)?;
        // Both ends are of one version; a rule that is not known would be one that could not be looked for.
        let rule = RULES.iter().find(|r| r.id == t.rule).unwrap_or(&UNREADABLE);
        Ok(Self { rule, severity: rule.severity, file: t.file, line: t.line, message: t.message, hint: rule.hint })
    }
}

fn id_only<S: Serializer>(rule: &&'static Rule, s: S) -> Result<S::Ok, S::Error> {
    s.serialize_str(rule.id)
}

/// Collects findings; bounded, whatever the input is.
pub(super) struct Findings {
    root: PathBuf,
    list: Vec<Finding>,
    counts: BTreeMap<(&'static str, String), u64>,
}

impl Findings {
    pub(super) fn new(root: &Path) -> Self {
        Self { root: root.into(), list: Vec::new(), counts: BTreeMap::new() }
    }

    pub(super) fn add(&mut self, rule: &'static Rule, path: &Path, message: impl Into<String>) {
        self.put(rule, path, None, message.into());
    }

    pub(super) fn at(&mut self, rule: &'static Rule, path: &Path, line: u64, message: impl Into<String>) {
        self.put(rule, path, Some(line), message.into());
    }

    fn put(&mut self, rule: &'static Rule, path: &Path, line: Option<u64>, message: String) {
        let file = relative(&self.root, path);
        let n = self.counts.entry((rule.id, file.clone())).or_default();
        *n += 1;
        if *n <= LISTED {
            self.list.push(Finding { rule, severity: rule.severity, file, line, message: printable(&message), hint: rule.hint });
        }
    }

    /// All findings, and a last one for those that were only counted.
    pub(super) fn into_list(mut self) -> Vec<Finding> {
        for f in &mut self.list {
            let n = self.counts.get_mut(&(f.rule.id, f.file.clone()));
            if let Some(n) = n.filter(|n| **n > LISTED) {
                f.message = format!("{} (the first of {n} such findings in this file)", f.message);
                *n = 0;
            }
        }
        self.list
    }
}

/// `path` as seen from `root`, with `/`.
pub(super) fn relative(root: &Path, path: &Path) -> String {
    let rel = path.strip_prefix(root).unwrap_or(path);
    let text = rel.components().map(|c| c.as_os_str().to_string_lossy()).collect::<Vec<_>>().join("/");
    printable(if text.is_empty() { "." } else { &text })
}

/// Text from a file is shown without control characters (a terminal would obey them) and cut short.
pub(super) fn printable(text: &str) -> String {
    const MAX: usize = 400;
    let mut s: String = text.chars().take(MAX).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.chars().nth(MAX).is_some() {
        s.push('…');
    }
    s
}
