//! `redline release`: an immutable, versioned, packed publication of a corpus.
//!
//! Made in a temporary folder beside its place and renamed when complete, so that an interrupted
//! release leaves nothing that looks like one.

mod card;
mod croissant;
mod diff;
mod media;
mod select;
mod sums;

pub use diff::{Difference, TableDifference, diff};
pub use media::{Copied, Media, other_bytes};
pub use select::{EVALUATION_SPLIT, LeftOut};
pub(crate) use sums::files_below;
pub use sums::{Damage, SUMS_FILE, Verified, parse as parse_sums, read as read_sums, verify};

use crate::check::{self, Severity};
use crate::pack::{self, Packed};
use crate::stats::{self, Stats};
use crate::{Error, Result};
use redline_schemas::{Corpus, FORMAT_VERSION, Tool, Utc, fsio, json_schema};
use semver::Version;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What a release says about itself to programs: `release.json`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Manifest {
    /// The corpus format that it was made from.
    pub format_version: u32,
    /// The layout of its tables.
    pub tables_version: u32,
    /// The corpus's name.
    pub name: String,
    /// The release's version.
    pub version: String,
    /// SPDX identifier.
    pub licence: String,
    /// BCP 47, where the corpus has one language.
    pub language: Option<String>,
    /// When it was made.
    pub created_utc: Utc,
    /// Requests in it.
    pub requests: u64,
    /// Edits in it.
    pub edits: u64,
    /// Agents' runs in it.
    #[serde(default)]
    pub runs: u64,
    /// Models in it.
    pub models: u64,
    /// Participants in it.
    pub participants: u64,
    /// Its splits.
    pub splits: Vec<SplitTables>,
    /// Who made it.
    pub tool: Tool,
}

/// The tables of a split, in `tables/<name>/`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SplitTables {
    /// The split.
    pub name: String,
    /// Its tables that have rows.
    pub tables: Vec<TableFile>,
}

/// A table's file.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TableFile {
    /// The table.
    pub name: String,
    /// Rows.
    pub rows: u64,
    /// Size, bytes.
    pub bytes: u64,
}

impl Manifest {
    /// One sentence about the release.
    #[must_use]
    pub(crate) fn description(&self) -> String {
        let runs = if self.runs > 0 { format!(" {} runs of agents at tasks, with every step.", self.runs) } else { String::new() };
        format!(
            "{} requests for changes of {} CAD models, as they were spoken, pointed at, drawn or typed by {} participants, and {} edits that carry them out; \
             every stream of a session on one clock.{runs}",
            self.requests, self.models, self.participants, self.edits
        )
    }
}

/// Errors that are listed when they stop a release; `redline check` lists all.
const LISTED: usize = 20;

/// The rule that a participant with sessions consented. No reason to refuse: such sessions are left out.
const CONSENT_RULE: &str = "RL606";

/// How to release.
#[derive(Debug, Clone)]
pub struct Options {
    /// What is new, for the changelog.
    pub notes: Option<String>,
    /// How to pack.
    pub pack: pack::Options,
    /// How media and models get there.
    pub media: Arc<dyn Media>,
    /// The time that the release carries; absent: [`redline_schemas::time::made_utc`]. With it given, the same corpus gives the same bytes.
    pub created_utc: Option<Utc>,
}

impl Default for Options {
    fn default() -> Self {
        Self { notes: None, pack: pack::Options::default(), media: Arc::new(Copied), created_utc: None }
    }
}

/// What was released.
#[derive(Debug, Clone, Serialize)]
pub struct Released {
    /// The folder.
    pub path: PathBuf,
    /// What it says about itself.
    pub manifest: Manifest,
    /// Files in it, without [`SUMS_FILE`].
    pub files: usize,
    /// What was left out, and why.
    pub left_out: Vec<LeftOut>,
    /// Files that lie elsewhere than in the folder already, with their hashes: [`Media`].
    #[serde(skip)]
    pub elsewhere: BTreeMap<String, String>,
}

/// Reads a release's `release.json`.
pub fn read_manifest(dir: &Path) -> Result<Manifest> {
    let path = dir.join("release.json");
    if !path.is_file() {
        let message = "not a release (no release.json in it)".into();
        return Err(redline_schemas::Error::Missing { path: dir.into(), message }.into());
    }
    Ok(fsio::read_manifest(&path)?)
}

/// Versions released from a corpus, oldest first.
pub fn versions(corpus: &Corpus) -> Result<Vec<Version>> {
    let dir = corpus.root().join("releases");
    let entries = match std::fs::read_dir(&dir) {
        Ok(e) => e,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => return Err(Error::io(dir, "could not list")(e)),
    };
    let mut v: Vec<Version> = entries.flatten().filter_map(|e| Version::parse(e.file_name().to_str()?).ok()).collect();
    v.sort();
    Ok(v)
}

/// Publishes `version` of a corpus into its `releases` folder.
///
/// Refused while [`check::check`] finds an error in anything that would be published. `progress` gets a
/// step's name, and how much of it is done.
pub fn release(corpus: &Corpus, version: &Version, options: &Options, progress: pack::Progress<'_>) -> Result<Released> {
    let created_utc = options.created_utc.map_or_else(redline_schemas::time::made_utc, Ok)?;
    let to = corpus.release_dir(&version.to_string());
    let releases = corpus.root().join("releases");
    std::fs::create_dir_all(&releases).map_err(Error::io(&releases, "could not create the folder"))?;
    let _lock = lock(&releases)?;
    let before = versions(corpus)?;
    if to.exists() {
        return Err(Error::Refused(format!("{}: released already, and a release never changes: take a higher version", to.display())));
    }
    if let Some(last) = before.last().filter(|l| *l >= version) {
        return Err(Error::Refused(format!("version {version} is not above {last}, the newest release")));
    }
    progress("checking", 0, 1);
    refuse_errors(corpus, options.pack.engine.as_ref())?;

    let work = Temporary(fsio::temporary_beside(&to));
    std::fs::create_dir(&work.0).map_err(Error::io(&work.0, "could not create the folder"))?;
    let corpus_manifest = corpus.manifest()?;
    let selection = select::select(corpus, &corpus_manifest)?;
    if selection.requests + selection.runs == 0 {
        return Err(Error::Refused("nothing to release: no request or run is complete, consented and not rejected".into()));
    }
    // Before the long work: a machine without a font can't draw.
    progress("drawing", 0, 1);
    let stats = Stats::of_scopes(corpus, &selection.parts.iter().map(|p| &p.scope).collect::<Vec<_>>(), options.pack.engine.as_ref())?;
    stats::draw(&stats, &work.0.join("plots"))?;
    let elsewhere = options.media.bring(corpus, &selection.files, &work.0, progress)?;
    let mut splits = Vec::new();
    for part in selection.parts {
        let out = work.0.join("tables").join(&part.name);
        let packed = pack::pack(corpus, part.scope, &out, &options.pack, progress)?;
        splits.push(SplitTables { name: part.name, tables: packed.tables.iter().filter(|t| t.rows > 0).map(table_file).collect() });
    }
    let manifest = Manifest {
        format_version: FORMAT_VERSION,
        tables_version: crate::tables::TABLES_VERSION,
        name: corpus_manifest.name,
        version: version.to_string(),
        licence: corpus_manifest.licence,
        language: corpus_manifest.language,
        created_utc,
        requests: selection.requests,
        edits: selection.edits,
        runs: selection.runs,
        models: selection.models,
        participants: selection.participants,
        splits,
        tool: Tool::redline(),
    };
    let left_out = selection.left_out.iter().filter(|l| !matches!(l.kind, "rating" | "score")).count();
    describe(&work.0, &manifest, &stats, left_out)?;
    let previous = before.last().map(|v| corpus.release_dir(&v.to_string()));
    changelog(&work.0, &manifest, &elsewhere, previous.as_deref(), options.notes.as_deref())?;
    let files = sums::write(&work.0, &elsewhere)?;
    progress("sealing", 0, 1);
    seal_files(&work.0)?;
    std::fs::rename(&work.0, &to).map_err(Error::io(&to, "could not put in place"))?;
    fsio::sync_parent(&to).map_err(Error::io(&to, "could not sync"))?;
    seal_folders(&to)?;
    Ok(Released { path: to, manifest, files, left_out: selection.left_out, elsewhere })
}

/// Stops a release that would publish something wrong. What is left out anyway may be wrong.
fn refuse_errors(corpus: &Corpus, engine: &dyn pack::Engine) -> Result<()> {
    let report = check::check_by(corpus, &check::Options::default(), engine, &|_, _| {})?;
    let mut errors: Vec<&check::Finding> = report.findings.iter().filter(|f| f.severity == Severity::Error).collect();
    if errors.is_empty() {
        return Ok(());
    }
    // Broken manifests can't be selected from; then every error counts.
    if let Ok(s) = corpus.manifest().map_err(Error::from).and_then(|m| select::select(corpus, &m)) {
        let out: Vec<String> = s.left_out.iter().map(|l| format!("{}s/{}", l.kind, l.id)).collect();
        errors.retain(|f| f.rule.id != CONSENT_RULE && !out.iter().any(|o| f.file == *o || f.file.starts_with(&format!("{o}/"))));
    }
    if errors.is_empty() {
        return Ok(());
    }
    let mut lines: Vec<String> = errors.iter().take(LISTED).map(|f| format!("  {}: {} ({})", f.file, f.message, f.rule.id)).collect();
    if errors.len() > LISTED {
        lines.push(format!("  … {} in all, see `redline check`", errors.len()));
    }
    Err(Error::Refused(format!("not released, because `redline check` finds errors:\n{}", lines.join("\n"))))
}

fn table_file(p: &Packed) -> TableFile {
    TableFile { name: p.table.into(), rows: p.rows, bytes: p.bytes }
}

/// Keeps other releases out, and removes what a killed one left.
fn lock(releases: &Path) -> Result<File> {
    let path = releases.join(".lock");
    let f = File::create(&path).map_err(Error::io(&path, "could not create"))?;
    match f.try_lock() {
        Ok(()) => {}
        Err(std::fs::TryLockError::WouldBlock) => return Err(Error::Busy(releases.into())),
        Err(std::fs::TryLockError::Error(e)) => return Err(Error::io(path, "could not lock")(e)),
    }
    for e in std::fs::read_dir(releases).map_err(Error::io(releases, "could not list"))?.flatten() {
        let name = e.file_name();
        let name = name.to_string_lossy();
        if name.starts_with('.') && name.ends_with(".tmp") {
            remove_tree(&e.path());
        }
    }
    Ok(f)
}

/// A folder that goes away with its owner, unless it was renamed.
struct Temporary(PathBuf);

impl Drop for Temporary {
    fn drop(&mut self) {
        remove_tree(&self.0);
    }
}

fn remove_tree(dir: &Path) {
    if let Err(e) = std::fs::remove_dir_all(dir)
        && e.kind() != std::io::ErrorKind::NotFound
    {
        tracing::warn!("{}: could not remove: {e}", dir.display());
    }
}

/// Everything that explains the tables.
fn describe(dir: &Path, m: &Manifest, stats: &Stats, left_out: usize) -> Result<()> {
    let schemas = dir.join("schemas");
    std::fs::create_dir_all(&schemas).map_err(Error::io(&schemas, "could not create the folder"))?;
    for (name, schema) in json_schema::all() {
        fsio::write_atomic(&schemas.join(format!("{name}.schema.json")), json_schema::text(&schema).as_bytes())?;
    }
    fsio::write_atomic(&schemas.join("tables.md"), crate::tables::docs::markdown().as_bytes())?;
    fsio::write_json(&dir.join("release.json"), m)?;
    fsio::write_json(&dir.join("stats.json"), stats)?;
    fsio::write_atomic(&dir.join("README.md"), card::card(m, stats, left_out).as_bytes())?;
    let licence = format!(
        "{} {} is published under the licence with the SPDX identifier {}.\nIts text: https://spdx.org/licenses/{}.html\n",
        m.name, m.version, m.licence, m.licence
    );
    fsio::write_atomic(&dir.join("LICENSE"), licence.as_bytes())?;
    let mut sums = BTreeMap::new();
    for s in &m.splits {
        for t in &s.tables {
            let path = format!("tables/{}/{}", s.name, pack::file_name(&t.name));
            let hash = fsio::sha256_file(&dir.join(&path))?;
            sums.insert(path, hash);
        }
    }
    Ok(fsio::write_json(&dir.join("croissant.json"), &croissant::croissant(m, &sums))?)
}

/// What is new, above what was new before.
fn changelog(dir: &Path, m: &Manifest, elsewhere: &BTreeMap<String, String>, previous: Option<&Path>, notes: Option<&str>) -> Result<()> {
    let mut s = format!("# Changelog\n\n## {} ({})\n\n", m.version, m.created_utc.format("%Y-%m-%d"));
    if let Some(n) = notes {
        s += &format!("{}\n\n", n.trim());
    }
    let Some(previous) = previous else {
        s += "- First release.\n";
        return Ok(fsio::write_atomic(&dir.join("CHANGELOG.md"), s.as_bytes())?);
    };
    // The new release has no checksums yet, and the difference needs them.
    sums::write(dir, elsewhere)?;
    let d = diff(previous, dir)?;
    std::fs::remove_file(dir.join(SUMS_FILE)).map_err(Error::io(dir, "could not remove the first checksums"))?;
    for t in &d.tables {
        s += &format!("- `{}`: {} rows, {} before", t.table, t.rows_after, t.rows_before);
        if !(t.added.is_empty() && t.removed.is_empty() && t.changed.is_empty()) {
            s += &format!(" ({} added, {} removed, {} changed)", t.added.len(), t.removed.len(), t.changed.len());
        }
        s += ".\n";
    }
    if !d.files_changed.is_empty() {
        s += &format!("- {} media or model files changed.\n", d.files_changed.len());
    }
    if d.is_empty() {
        s += "- The same material as before.\n";
    }
    let old = fsio::read_limited(&previous.join("CHANGELOG.md"), fsio::MAX_MANIFEST_BYTES)?;
    let old = String::from_utf8_lossy(&old);
    s += "\n";
    s += old.strip_prefix("# Changelog\n\n").unwrap_or(&old);
    Ok(fsio::write_atomic(&dir.join("CHANGELOG.md"), s.as_bytes())?)
}

fn seal_files(dir: &Path) -> Result<()> {
    for f in sums::files_below(dir)? {
        let path = dir.join(f);
        let mut p = std::fs::metadata(&path).map_err(Error::io(&path, "could not look at"))?.permissions();
        p.set_readonly(true);
        std::fs::set_permissions(&path, p).map_err(Error::io(&path, "could not make read-only"))?;
    }
    Ok(())
}

fn seal_folders(dir: &Path) -> Result<()> {
    for e in std::fs::read_dir(dir).map_err(Error::io(dir, "could not list"))?.flatten() {
        if e.file_type().is_ok_and(|t| t.is_dir()) {
            seal_folders(&e.path())?;
        }
    }
    let mut p = std::fs::metadata(dir).map_err(Error::io(dir, "could not look at"))?.permissions();
    p.set_readonly(true);
    std::fs::set_permissions(dir, p).map_err(Error::io(dir, "could not make read-only"))
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_consent_rule_is_the_one_meant() {
        let rule = crate::check::RULES.iter().find(|r| r.id == super::CONSENT_RULE).unwrap();
        assert!(rule.name.contains("consent"), "{}", rule.name);
    }
}
