//! Facts of a model from a CAD kernel, and its seven views, kept by the file's content.
//!
//! FreeCAD's Python does the work in a process of its own: a file that crashes the kernel crashes only that.

use crate::mesh::Mesh;
use crate::render::{DEFAULT_SIZE, picture};
use crate::{Error, Result};
use redline_schemas::{TopologyCounts, VIEWS, fsio};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Counts up when facts or pictures change for the same file, so that old ones are made anew.
const MAKING: u32 = 3;

/// The longest that the kernel may take for one file.
pub const DEFAULT_PATIENCE: Duration = Duration::from_secs(180);

const HELPER: &str = include_str!("../helper/facts.py");

/// Corners of a box along the axes, millimetres.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct BoundingBox {
    /// Smallest x, y, z.
    pub min: [f64; 3],
    /// Largest x, y, z.
    pub max: [f64; 3],
}

impl BoundingBox {
    /// Width, depth, height.
    #[must_use]
    pub fn size(&self) -> [f64; 3] {
        [0, 1, 2].map(|a| self.max[a] - self.min[a])
    }
}

/// What the kernel says of a shape.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Facts {
    /// Closed solids without broken geometry.
    pub valid: bool,
    /// Why it isn't valid, for people.
    pub problems: Vec<String>,
    /// Solids and nothing else: no open shell, no face outside of a solid.
    pub closed: bool,
    /// Solids, faces, edges, vertices; a part that is used twice counts twice.
    pub counts: TopologyCounts,
    /// Of the whole shape.
    pub bounding_box: BoundingBox,
    /// Of all solids, cubic millimetres.
    pub volume: f64,
    /// Of all faces, square millimetres.
    pub area: f64,
}

/// A STEP file, as the kernel sees it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelFacts {
    making: u32,
    /// Of the file.
    pub sha256: String,
    /// Program and version.
    pub kernel: String,
    /// Absent when the kernel can't read the file.
    pub facts: Option<Facts>,
    /// Why it can't.
    pub error: Option<String>,
    /// View name → picture; empty without a shape. Paths are in the cache.
    pub views: BTreeMap<String, PathBuf>,
    /// The triangles, in the cache: a reference is compared with several models, and making them again takes seconds.
    pub mesh: Option<PathBuf>,
}

impl ModelFacts {
    /// The triangles; `None` without a shape.
    pub fn mesh(&self) -> Result<Option<Mesh>> {
        let Some(path) = &self.mesh else { return Ok(None) };
        let bytes = std::fs::read(path).map_err(|source| Error::Io { path: path.clone(), source })?;
        Mesh::parse(&bytes).map(Some).ok_or_else(|| Error::DamagedMesh { path: path.clone() })
    }
}

/// Asks the kernel about STEP files and keeps its answers.
#[derive(Debug, Clone)]
pub struct Examiner {
    cache: PathBuf,
    program: PathBuf,
    patience: Duration,
}

#[derive(Deserialize)]
struct Answer {
    kernel: String,
    facts: Option<Facts>,
    error: Option<String>,
}

impl Examiner {
    /// With answers kept in `cache`; [`Error::NoKernel`] when FreeCAD isn't installed.
    ///
    /// `$REDLINE_FREECADCMD` names FreeCAD's program without a window where it isn't `freecadcmd` or `FreeCADCmd`.
    pub fn new(cache: impl Into<PathBuf>) -> Result<Self> {
        let named = std::env::var_os("REDLINE_FREECADCMD").filter(|p| !p.is_empty()).map(PathBuf::from);
        let program = named.or_else(|| ["freecadcmd", "FreeCADCmd", "freecad.cmd"].iter().find_map(|n| in_path(n)));
        Ok(Self { cache: cache.into(), program: program.ok_or(Error::NoKernel)?, patience: DEFAULT_PATIENCE })
    }

    /// Gives up on a file after so long.
    #[must_use]
    pub fn patience(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }

    /// Where answers are kept by default: `redline/models` in the user's cache folder.
    #[must_use]
    pub fn default_cache() -> PathBuf {
        let dir = |v: &str| std::env::var_os(v).filter(|d| !d.is_empty()).map(PathBuf::from);
        let base = dir("XDG_CACHE_HOME").or_else(|| dir("HOME").map(|h| h.join(".cache")));
        base.unwrap_or_else(std::env::temp_dir).join("redline").join("models")
    }

    /// Facts and views of a STEP file. A file that the kernel can't read is no error: see [`ModelFacts::error`].
    pub fn examine(&self, step: &Path) -> Result<ModelFacts> {
        let read = |source| Error::Io { path: step.into(), source };
        if !step.is_file() {
            std::fs::File::open(step).map_err(read)?;
            return Err(read(std::io::Error::other("not a file")));
        }
        let sha256 = fsio::sha256_file(step)?;
        let place = self.cache.join(&sha256);
        if let Some(kept) = kept(&place) {
            return Ok(kept);
        }
        std::fs::create_dir_all(&self.cache).map_err(|source| Error::Cache { path: self.cache.clone(), source })?;
        let cache_failed = |source| Error::Cache { path: place.clone(), source };
        let work = tempfile::Builder::new().prefix(".new-").tempdir_in(&self.cache).map_err(cache_failed)?;
        let answer = self.ask(step, work.path())?;
        let (mut views, mut kept_mesh) = (BTreeMap::new(), None);
        if let Some(mesh) = std::fs::read(work.path().join("mesh.bin")).ok().and_then(|b| Mesh::parse(&b)) {
            kept_mesh = Some(place.join("mesh.bin"));
            for view in VIEWS {
                if let Some(p) = picture(&mesh, view, DEFAULT_SIZE) {
                    let name = format!("{view}.png");
                    let made = p.save(work.path().join(&name));
                    made.map_err(|e| cache_failed(std::io::Error::other(e)))?;
                    views.insert(view.to_owned(), place.join(name));
                }
            }
        }
        let Answer { kernel, facts, error } = answer;
        let facts = ModelFacts { making: MAKING, sha256, kernel, facts, error, views, mesh: kept_mesh };
        fsio::write_json(&work.path().join("answer.json"), &facts)?;
        for done_with in ["facts.json", "facts.py", "model.step"] {
            let _ = std::fs::remove_file(work.path().join(done_with));
        }
        let _ = std::fs::remove_dir_all(work.path().join("home"));
        // An answer of an older making makes room; another process may have put the same answer there meanwhile.
        let _ = std::fs::remove_dir_all(&place);
        let work = work.keep();
        if let Err(e) = std::fs::rename(&work, &place) {
            let _ = std::fs::remove_dir_all(&work);
            return kept(&place).ok_or(cache_failed(e));
        }
        Ok(facts)
    }

    /// Runs the helper on a file; `work` gets what it writes.
    fn ask(&self, step: &Path, work: &Path) -> Result<Answer> {
        let cache_failed = |source| Error::Cache { path: work.into(), source };
        let script = work.join("facts.py");
        std::fs::write(&script, HELPER).map_err(cache_failed)?;
        // Under a name that the kernel knows the format of, whatever the file's own name is.
        let input = work.join("model.step");
        std::fs::copy(step, &input).map_err(|source| Error::Io { path: step.into(), source })?;
        let home = work.join("home");
        std::fs::create_dir_all(&home).map_err(cache_failed)?;
        let mut c = Command::new(&self.program);
        c.arg(&script).env("REDLINE_STEP", &input).env("REDLINE_OUT", work);
        // The user's add-ons and settings have no say, and nothing is left in the user's folders.
        c.env("HOME", &home).env_remove("XDG_DATA_HOME").env_remove("XDG_CONFIG_HOME").env("QT_QPA_PLATFORM", "offscreen");
        c.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = c.spawn().map_err(|source| Error::Helper {
            path: step.into(),
            message: format!("{} could not be started: {source}", self.program.display()),
        })?;
        let mut stderr = child.stderr.take();
        let said = std::thread::spawn(move || {
            let mut text = Vec::new();
            if let Some(e) = &mut stderr {
                let _ = e.by_ref().take(1 << 16).read_to_end(&mut text);
                let _ = std::io::copy(e, &mut std::io::sink());
            }
            String::from_utf8_lossy(&text).into_owned()
        });
        let begun = Instant::now();
        let status = loop {
            match child.try_wait() {
                Ok(Some(status)) => break status,
                Ok(None) if begun.elapsed() < self.patience => std::thread::sleep(Duration::from_millis(10)),
                Ok(None) => {
                    let _ = child.kill();
                    let _ = child.wait();
                    return Err(Error::Late { path: step.into(), patience: self.patience });
                }
                Err(e) => return Err(Error::Helper { path: step.into(), message: e.to_string() }),
            }
        };
        let said = said.join().unwrap_or_default();
        let answer = std::fs::read(work.join("facts.json")).ok().and_then(|b| serde_json::from_slice::<Answer>(&b).ok());
        if let Some(a) = answer {
            return Ok(a);
        }
        let last = said.lines().rev().find(|l| !l.trim().is_empty()).unwrap_or_default();
        if crashed(status) {
            let kernel = self.program.display().to_string();
            return Ok(Answer { kernel, facts: None, error: Some(format!("the kernel crashed on it ({status})")) });
        }
        Err(Error::Helper { path: step.into(), message: format!("{} ended without an answer ({status}): {last}", self.program.display()) })
    }
}

#[cfg(unix)]
fn crashed(status: std::process::ExitStatus) -> bool {
    use std::os::unix::process::ExitStatusExt as _;
    // FreeCAD turns a crash of the kernel into exit code 1 on some systems; that one stays an error.
    matches!(status.signal(), Some(libc_signals::SEGV | libc_signals::ABRT | libc_signals::FPE | libc_signals::BUS))
}

#[cfg(unix)]
mod libc_signals {
    pub const ABRT: i32 = 6;
    pub const BUS: i32 = 7;
    pub const FPE: i32 = 8;
    pub const SEGV: i32 = 11;
}

#[cfg(not(unix))]
fn crashed(status: std::process::ExitStatus) -> bool {
    status.code().is_some_and(|c| c < 0)
}

fn in_path(name: &str) -> Option<PathBuf> {
    std::env::split_paths(&std::env::var_os("PATH")?).map(|d| d.join(name)).find(|p| p.is_file())
}

/// An answer of this making whose files are all there.
fn kept(place: &Path) -> Option<ModelFacts> {
    let text = std::fs::read(place.join("answer.json")).ok()?;
    let a: ModelFacts = serde_json::from_slice(&text).ok()?;
    (a.making == MAKING && a.views.values().chain(&a.mesh).all(|p| p.is_file())).then_some(a)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(dir: &Path) -> ModelFacts {
        let counts = TopologyCounts { bodies: 1, faces: 6, edges: 12, vertices: 8 };
        let bounding_box = BoundingBox { min: [0.0; 3], max: [1.0, 2.0, 3.0] };
        let facts = Facts { valid: true, problems: vec![], closed: true, counts, bounding_box, volume: 6.0, area: 22.0 };
        let views = BTreeMap::from([("top".to_owned(), dir.join("top.png"))]);
        ModelFacts {
            making: MAKING,
            sha256: "x".into(),
            kernel: "k".into(),
            facts: Some(facts),
            error: None,
            views,
            mesh: Some(dir.join("mesh.bin")),
        }
    }

    #[test]
    fn only_whole_answers_of_this_making_are_kept() {
        let dir = tempfile::tempdir().unwrap();
        let write = |a: &ModelFacts| fsio::write_json(&dir.path().join("answer.json"), a).unwrap();
        assert_eq!(kept(dir.path()), None);
        let a = answer(dir.path());
        write(&a);
        assert_eq!(kept(dir.path()), None, "its picture is missing");
        std::fs::write(dir.path().join("top.png"), b"p").unwrap();
        assert_eq!(kept(dir.path()), None, "its triangles are missing");
        std::fs::write(dir.path().join("mesh.bin"), b"p").unwrap();
        assert_eq!(kept(dir.path()), Some(a.clone()));
        assert!(matches!(a.mesh(), Err(Error::DamagedMesh { .. })));
        write(&ModelFacts { making: MAKING + 1, ..a });
        assert_eq!(kept(dir.path()), None);
    }

    #[cfg(unix)]
    #[test]
    fn a_helper_that_hangs_crashes_or_fails_is_told_apart() {
        use std::os::unix::fs::PermissionsExt as _;
        let dir = tempfile::tempdir().unwrap();
        let step = dir.path().join("part.step");
        std::fs::write(&step, "ISO-10303-21;").unwrap();
        let program = dir.path().join("kernel");
        let examine = |script: &str, patience: Duration| {
            std::fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
            std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
            Examiner { cache: dir.path().join("cache"), program: program.clone(), patience }.examine(&step)
        };
        let long = Duration::from_secs(60);
        let e = examine("echo no module >&2; exit 3", long).unwrap_err().to_string();
        assert!(e.contains("part.step") && e.contains("no module"), "{e}");
        let e = examine("exec sleep 60", Duration::from_millis(300)).unwrap_err();
        assert!(matches!(e, Error::Late { .. }), "{e}");
        let a = examine("kill -SEGV $$", long).unwrap();
        assert!(a.facts.is_none() && a.error.as_ref().unwrap().contains("crashed"), "{a:?}");
        // The crash is remembered: this program would fail.
        assert_eq!(examine("exit 1", long).unwrap(), a);
        let left: Vec<_> = std::fs::read_dir(dir.path().join("cache")).unwrap().map(|e| e.unwrap().file_name()).collect();
        assert_eq!(left.len(), 1, "nothing but the answer is left: {left:?}");
        assert!(examine("exit 0", long).is_ok());
        std::fs::remove_file(&step).unwrap();
        assert!(matches!(examine("exit 0", long), Err(Error::Io { .. })));
    }
}
