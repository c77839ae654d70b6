//! Facts of a STEP file (ISO 10303-21), without a CAD kernel.

use crate::{Error, Result};
use redline_schemas::TopologyCounts;
use std::collections::HashSet;
use std::fs::File;
use std::path::Path;

/// What a STEP file says of itself and its topology.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepFacts {
    /// Distinct solids, faces, edges and vertices, as stored (a part used twice counts once).
    pub counts: TopologyCounts,
    /// Names of its products, for word lists; empty names left out.
    pub part_names: Vec<String>,
    /// Whether one product is placed in another.
    pub assembly: bool,
    /// The program that the model comes from, as the header says.
    pub originating_system: String,
    /// Author fields of the header that are not empty: personal data in most files.
    pub authors: Vec<String>,
    /// Entities that the reader had to leave out.
    pub dropped_entities: usize,
}

/// Reads a STEP file's facts. A file without any shape is [`Error::Empty`].
pub fn read_facts(path: &Path) -> Result<StepFacts> {
    let file = File::open(path).map_err(|source| Error::Io { path: path.into(), source })?;
    let (model, report) = step_io::read(file).map_err(|e| Error::NotStep { path: path.into(), message: e.to_string() })?;
    let scene = model.scene();

    let solids: HashSet<_> = scene.all_solids().map(|s| s.key()).collect();
    let mut faces = HashSet::new();
    let mut edges = HashSet::new();
    let mut vertices = HashSet::new();
    for face in scene.all_faces() {
        if !faces.insert(face.key()) {
            continue;
        }
        for bound in face.bounds() {
            vertices.extend(bound.vertex().map(|v| v.key()));
            for edge in bound.edges() {
                edges.insert(edge.key());
                vertices.extend([edge.start(), edge.end()].into_iter().flatten().map(|v| v.key()));
            }
        }
    }
    if faces.is_empty() {
        return Err(Error::Empty { path: path.into() });
    }

    let mut part_names: Vec<String> = scene.all_products().map(|p| p.name().trim().to_owned()).filter(|n| !n.is_empty()).collect();
    part_names.sort();
    part_names.dedup();
    let header = model.header();
    let authors = header.authors.iter().map(|a| a.trim()).filter(|a| !a.is_empty()).map(str::to_owned).collect();
    Ok(StepFacts {
        counts: TopologyCounts {
            bodies: solids.len() as u64,
            faces: faces.len() as u64,
            edges: edges.len() as u64,
            vertices: vertices.len() as u64,
        },
        part_names,
        assembly: scene.all_product_definitions().any(|d| d.children().next().is_some()),
        originating_system: header.originating_system.clone(),
        authors,
        dropped_entities: report.dropped.len(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A cube of 10 mm, written with the same library's builder.
    fn cube() -> Vec<u8> {
        use step_io::*;
        let mut b = StepBuilder::new();
        let part = b.part("cube");
        let _ = part;
        let mut out = Vec::new();
        write(&b.finish(), &mut out).unwrap();
        out
    }

    #[test]
    fn a_file_without_shape_is_said_to_be_empty() {
        let dir = tempfile::tempdir().unwrap();
        let p = dir.path().join("nothing.step");
        std::fs::write(&p, cube()).unwrap();
        assert!(matches!(read_facts(&p), Err(Error::Empty { .. })));
    }

    #[test]
    fn other_files_are_refused_by_name() {
        let dir = tempfile::tempdir().unwrap();
        for (name, bytes) in [
            ("empty.step", &b""[..]),
            ("text.step", b"hello"),
            ("cut.step", b"ISO-10303-21;\nHEADER;\nFILE_DESC"),
            ("bin.step", &[0xff; 900]),
        ] {
            let p = dir.path().join(name);
            std::fs::write(&p, bytes).unwrap();
            let e = read_facts(&p).unwrap_err().to_string();
            assert!(e.contains(name), "{e}");
        }
        assert!(matches!(read_facts(&dir.path().join("none.step")), Err(Error::Io { .. })));
    }
}
