//! Closed shapes of known size, whose sides look outwards.

use crate::Mesh;

/// From 0 to `size`.
pub(super) fn cube(size: f32) -> Mesh {
    let mut m = crate::mesh::tests::cube(size);
    // There, all sides look along their axis.
    for side in m.triangles.chunks_mut(4) {
        side[..2].iter_mut().for_each(|t| t.swap(1, 2));
    }
    m
}

/// Around the origin, of `n` rings of 2 `n` quadrangles, corners on the ball.
pub(super) fn sphere(radius: f32, n: u32) -> Mesh {
    let mut m = Mesh::default();
    let step = std::f32::consts::PI / n as f32;
    let point = |ring: u32, i: u32| {
        let (s, c) = if ring == n { (0.0, -1.0) } else { (ring as f32 * step).sin_cos() };
        let (y, x) = ((i % (2 * n)) as f32 * step).sin_cos();
        [radius * s * x, radius * s * y, radius * c]
    };
    for ring in 0..n {
        for i in 0..2 * n {
            let first = m.points.len() as u32;
            m.points.extend([point(ring, i), point(ring + 1, i), point(ring + 1, i + 1), point(ring, i + 1)]);
            m.triangles.extend([[first, first + 1, first + 2], [first, first + 2, first + 3]]);
        }
    }
    m
}

pub(super) fn moved(m: &Mesh, by: [f32; 3]) -> Mesh {
    let mut m = m.clone();
    m.points.iter_mut().for_each(|p| *p = [0, 1, 2].map(|k| p[k] + by[k]));
    m
}

pub(super) fn turned_inside_out(m: &Mesh) -> Mesh {
    let mut m = m.clone();
    m.triangles.iter_mut().for_each(|t| t.swap(1, 2));
    m
}

pub(super) fn join(a: &Mesh, b: &Mesh) -> Mesh {
    let mut m = a.clone();
    let first = m.points.len() as u32;
    m.points.extend(&b.points);
    m.triangles.extend(b.triangles.iter().map(|t| t.map(|i| i + first)));
    m
}
