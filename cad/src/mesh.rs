//! A model's triangles and edges, as the helper process writes them.

/// Triangles and edge lines of a model, millimetres.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Mesh {
    /// Corners; those of different faces are never shared, so that a face is smooth and its border sharp.
    pub points: Vec<[f32; 3]>,
    /// Three corners each.
    pub triangles: Vec<[u32; 3]>,
    /// Edges as lines of points.
    pub lines: Vec<Vec<[f32; 3]>>,
}

const MAGIC: &[u8; 4] = b"RLM1";

impl Mesh {
    /// Reads the helper's format; `None` when it is damaged.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let mut r = Reader(bytes.strip_prefix(MAGIC)?);
        let [points, triangles, line_points, lines] = [r.u32()?, r.u32()?, r.u32()?, r.u32()?].map(|n| n as usize);
        let points = r.triples(points, f32::from_le_bytes)?;
        let triangles = r.triples(triangles, u32::from_le_bytes)?;
        let mut all = r.triples(line_points, f32::from_le_bytes)?.into_iter();
        let mut out = Vec::new();
        for _ in 0..lines {
            let n = r.u32()? as usize;
            let line: Vec<_> = all.by_ref().take(n).collect();
            if line.len() != n {
                return None;
            }
            out.push(line);
        }
        let inside = triangles.iter().flatten().all(|i| (*i as usize) < points.len());
        let finite = points.iter().chain(out.iter().flatten()).flatten().all(|v| v.is_finite());
        (r.0.is_empty() && inside && finite).then_some(Self { points, triangles, lines: out })
    }
}

struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn four(&mut self) -> Option<[u8; 4]> {
        let (head, rest) = self.0.split_first_chunk::<4>()?;
        self.0 = rest;
        Some(*head)
    }

    fn u32(&mut self) -> Option<u32> {
        self.four().map(u32::from_le_bytes)
    }

    fn triples<T: Copy>(&mut self, n: usize, of: impl Fn([u8; 4]) -> T) -> Option<Vec<[T; 3]>> {
        // Nothing is set aside before it is known to be there.
        if self.0.len() / 12 < n {
            return None;
        }
        (0..n).map(|_| Some([of(self.four()?), of(self.four()?), of(self.four()?)])).collect()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A cube from 0 to `size` whose upper side (z = `size`) is divided into two triangles, like the others.
    pub(crate) fn cube(size: f32) -> Mesh {
        let mut m = Mesh::default();
        for axis in 0..3 {
            for at in [0.0, size] {
                let corner = |a: f32, b: f32| {
                    let mut p = [at; 3];
                    (p[(axis + 1) % 3], p[(axis + 2) % 3]) = (a, b);
                    p
                };
                let first = m.points.len() as u32;
                let ring = [corner(0.0, 0.0), corner(size, 0.0), corner(size, size), corner(0.0, size)];
                m.points.extend(ring);
                m.triangles.extend([[first, first + 1, first + 2], [first, first + 2, first + 3]]);
                m.lines.push(ring.iter().chain(&ring[..1]).copied().collect());
            }
        }
        m
    }

    fn bytes(m: &Mesh) -> Vec<u8> {
        let mut b = MAGIC.to_vec();
        let line_points: Vec<_> = m.lines.iter().flatten().collect();
        for n in [m.points.len(), m.triangles.len(), line_points.len(), m.lines.len()] {
            b.extend((n as u32).to_le_bytes());
        }
        m.points.iter().flatten().for_each(|v| b.extend(v.to_le_bytes()));
        m.triangles.iter().flatten().for_each(|v| b.extend(v.to_le_bytes()));
        line_points.into_iter().flatten().for_each(|v| b.extend(v.to_le_bytes()));
        m.lines.iter().for_each(|l| b.extend((l.len() as u32).to_le_bytes()));
        b
    }

    #[test]
    fn what_was_written_is_read() {
        let m = cube(10.0);
        assert_eq!(Mesh::parse(&bytes(&m)), Some(m));
    }

    #[test]
    fn damaged_files_are_refused() {
        let mut m = cube(1.0);
        let good = bytes(&m);
        assert!((0..good.len()).all(|n| Mesh::parse(&good[..n]).is_none()), "cut anywhere");
        assert_eq!(Mesh::parse(&[good.as_slice(), b"x"].concat()), None, "too long");
        m.triangles[0][0] = 99;
        assert_eq!(Mesh::parse(&bytes(&m)), None, "a corner that is not there");
        let mut m = cube(1.0);
        m.points[0][0] = f32::NAN;
        assert_eq!(Mesh::parse(&bytes(&m)), None, "a point nowhere");
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(tail in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = Mesh::parse(&[MAGIC.as_slice(), &tail].concat());
        }
    }
}
