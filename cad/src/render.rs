//! Shaded pictures of a mesh, in software: the same on every machine, without a screen.

use crate::mesh::Mesh;
use image::{Rgb, RgbImage};

/// Sides of a picture, pixels.
pub const DEFAULT_SIZE: u32 = 512;

/// Each pixel is the mean of this many a side.
const FINER: u32 = 2;
const MARGIN: f32 = 0.06;
/// What the kernel's triangles may be off by, as a share of the model's diagonal: `FINENESS` of the helper.
const MESH_FINENESS: f32 = 0.0015;
const SURFACE: [f32; 3] = [168.0, 188.0, 208.0];
const EDGE: [f32; 3] = [24.0, 28.0, 34.0];
const PAPER: [f32; 3] = [255.0; 3];

type V3 = [f32; 3];

fn dot(a: V3, b: V3) -> f32 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

fn cross(a: V3, b: V3) -> V3 {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

fn sub(a: V3, b: V3) -> V3 {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

fn unit(a: V3) -> V3 {
    let n = dot(a, a).sqrt();
    if n > 0.0 { a.map(|v| v / n) } else { a }
}

/// Right and up on the picture, and towards the viewer; z is up in the model.
struct Camera {
    right: V3,
    up: V3,
    towards: V3,
}

impl Camera {
    /// One of [`redline_schemas::VIEWS`].
    fn named(view: &str) -> Option<Self> {
        let (towards, up) = match view {
            "toprightiso" => (unit([1.0, -1.0, 1.0]), [0.0, 0.0, 1.0]),
            "top" => ([0.0, 0.0, 1.0], [0.0, 1.0, 0.0]),
            "bottom" => ([0.0, 0.0, -1.0], [0.0, -1.0, 0.0]),
            "front" => ([0.0, -1.0, 0.0], [0.0, 0.0, 1.0]),
            "back" => ([0.0, 1.0, 0.0], [0.0, 0.0, 1.0]),
            "left" => ([-1.0, 0.0, 0.0], [0.0, 0.0, 1.0]),
            "right" => ([1.0, 0.0, 0.0], [0.0, 0.0, 1.0]),
            _ => return None,
        };
        let right = unit(cross(up, towards));
        Some(Self { right, up: cross(towards, right), towards })
    }

    fn turn(&self, p: V3) -> V3 {
        [dot(p, self.right), dot(p, self.up), dot(p, self.towards)]
    }
}

/// A parallel projection of `mesh` that fills the picture; `None` for a view that there is not.
#[must_use]
pub fn picture(mesh: &Mesh, view: &str, size: u32) -> Option<RgbImage> {
    let camera = Camera::named(view)?;
    let points: Vec<V3> = mesh.points.iter().map(|p| camera.turn(*p)).collect();
    let (mut low, mut high) = ([f32::INFINITY; 3], [f32::NEG_INFINITY; 3]);
    for p in &points {
        for a in 0..3 {
            (low[a], high[a]) = (low[a].min(p[a]), high[a].max(p[a]));
        }
    }
    let side = size.max(16) * FINER;
    let mut canvas = Canvas::new(side);
    if !points.is_empty() {
        let span = (high[0] - low[0]).max(high[1] - low[1]).max(f32::MIN_POSITIVE);
        let scale = side as f32 * (1.0 - 2.0 * MARGIN) / span;
        let middle = [(low[0] + high[0]) / 2.0, (low[1] + high[1]) / 2.0];
        let place = |p: V3| [(p[0] - middle[0]) * scale + side as f32 / 2.0, side as f32 / 2.0 - (p[1] - middle[1]) * scale, p[2] * scale];
        // Triangles and lines are each as far off the true surface as the mesh is fine, which in a view along a long model is
        // much of the picture.
        let diagonal = dot(sub(high, low), sub(high, low)).sqrt();
        let nearer = (0.004 * side as f32).max(2.5 * MESH_FINENESS * diagonal * scale);
        let normals = normals(&points, &mesh.triangles);
        let placed: Vec<V3> = points.iter().map(|p| place(*p)).collect();
        for t in &mesh.triangles {
            let [a, b, c] = t.map(|i| i as usize);
            canvas.triangle([placed[a], placed[b], placed[c]], [normals[a], normals[b], normals[c]]);
        }
        for line in &mesh.lines {
            let line: Vec<V3> = line.iter().map(|p| place(camera.turn(*p))).collect();
            line.windows(2).for_each(|w| canvas.line(w[0], w[1], nearer));
        }
    }
    Some(canvas.shrink())
}

/// Means over the triangles at each corner, weighted by their size.
fn normals(points: &[V3], triangles: &[[u32; 3]]) -> Vec<V3> {
    let mut sums = vec![[0.0; 3]; points.len()];
    for t in triangles {
        let [a, b, c] = t.map(|i| i as usize);
        let n = cross(sub(points[b], points[a]), sub(points[c], points[a]));
        for i in [a, b, c] {
            for k in 0..3 {
                sums[i][k] += n[k];
            }
        }
    }
    sums.into_iter().map(unit).collect()
}

struct Canvas {
    side: u32,
    colour: Vec<V3>,
    depth: Vec<f32>,
}

impl Canvas {
    fn new(side: u32) -> Self {
        let n = (side * side) as usize;
        Self { side, colour: vec![PAPER; n], depth: vec![f32::NEG_INFINITY; n] }
    }

    fn range(&self, low: f32, high: f32) -> std::ops::Range<u32> {
        let last = self.side as f32;
        (low.floor().clamp(0.0, last) as u32)..((high.ceil() + 1.0).clamp(0.0, last) as u32)
    }

    fn triangle(&mut self, p: [V3; 3], n: [V3; 3]) {
        let area = (p[1][0] - p[0][0]) * (p[2][1] - p[0][1]) - (p[1][1] - p[0][1]) * (p[2][0] - p[0][0]);
        if area.abs() < 1e-9 {
            return;
        }
        let light = unit([-0.35, 0.5, 1.0]);
        let of = |axis: usize| {
            let v = p.map(|q| q[axis]);
            (v[0].min(v[1]).min(v[2]), v[0].max(v[1]).max(v[2]))
        };
        let ((x0, x1), (y0, y1)) = (of(0), of(1));
        let weight = |a: V3, b: V3, x: f32, y: f32| ((b[0] - a[0]) * (y - a[1]) - (b[1] - a[1]) * (x - a[0])) / area;
        for iy in self.range(y0, y1) {
            for ix in self.range(x0, x1) {
                let (x, y) = (ix as f32 + 0.5, iy as f32 + 0.5);
                let w = [weight(p[1], p[2], x, y), weight(p[2], p[0], x, y), weight(p[0], p[1], x, y)];
                if w.iter().any(|v| *v < -1e-4) {
                    continue;
                }
                let z = w[0] * p[0][2] + w[1] * p[1][2] + w[2] * p[2][2];
                let i = (iy * self.side + ix) as usize;
                if z <= self.depth[i] {
                    continue;
                }
                let mut normal = [0.0; 3];
                for k in 0..3 {
                    normal[k] = w[0] * n[0][k] + w[1] * n[1][k] + w[2] * n[2][k];
                }
                let mut normal = unit(normal);
                // Seen from inside, a surface is lit like its outside.
                if normal[2] < 0.0 {
                    normal = normal.map(|v| -v);
                }
                let bright = 0.55 + 0.45 * dot(normal, light).max(0.0);
                self.depth[i] = z;
                self.colour[i] = SURFACE.map(|c| c * bright);
            }
        }
    }

    /// Two finer pixels wide; `nearer` in front of the surfaces that it borders.
    fn line(&mut self, a: V3, b: V3, nearer: f32) {
        let steps = (b[0] - a[0]).abs().max((b[1] - a[1]).abs()).ceil().clamp(1.0, 8192.0);
        for s in 0..=steps as u32 {
            let f = s as f32 / steps;
            let p: V3 = [0, 1, 2].map(|k| a[k] + (b[k] - a[k]) * f);
            for (dx, dy) in [(0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (1.0, 1.0)] {
                let (x, y) = (p[0] + dx - 0.5, p[1] + dy - 0.5);
                if x < 0.0 || y < 0.0 || x >= self.side as f32 || y >= self.side as f32 {
                    continue;
                }
                let i = (y as u32 * self.side + x as u32) as usize;
                if p[2] + nearer >= self.depth[i] {
                    self.colour[i] = EDGE;
                }
            }
        }
    }

    fn shrink(&self) -> RgbImage {
        RgbImage::from_fn(self.side / FINER, self.side / FINER, |x, y| {
            let mut sum = [0.0_f32; 3];
            for dy in 0..FINER {
                for dx in 0..FINER {
                    let c = self.colour[((y * FINER + dy) * self.side + x * FINER + dx) as usize];
                    (0..3).for_each(|k| sum[k] += c[k]);
                }
            }
            Rgb(sum.map(|v| (v / (FINER * FINER) as f32).round() as u8))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mesh::tests::cube;
    use redline_schemas::VIEWS;

    fn is_surface(p: &Rgb<u8>) -> bool {
        p.0[2] > p.0[0] && p.0[0] < 200 && p.0[0] > 60
    }

    #[test]
    fn every_view_shows_the_model_inside_a_margin() {
        let mesh = cube(10.0);
        for view in VIEWS {
            let i = picture(&mesh, view, 128).unwrap();
            assert_eq!(i.dimensions(), (128, 128));
            assert!(is_surface(i.get_pixel(58, 61)), "{view}: {:?}", i.get_pixel(58, 61));
            assert!((0..128).all(|k| i.get_pixel(k, 0).0 == [255; 3] && i.get_pixel(0, k).0 == [255; 3]), "{view}");
        }
        assert!(picture(&mesh, "inside", 128).is_none());
        let nothing = picture(&Mesh::default(), "top", 64).unwrap();
        assert!(nothing.pixels().all(|p| p.0 == [255; 3]));
    }

    #[test]
    fn what_is_in_front_hides_what_is_behind() {
        // A plate at y = 0 (front) and a small one behind it at y = 5, which only the back view may show.
        let plate = |y: f32, half: f32, first: u32| {
            let points = vec![[-half, y, -half], [half, y, -half], [half, y, half], [-half, y, half]];
            let line = points.iter().chain(&points[..1]).copied().collect();
            Mesh { points, triangles: vec![[first, first + 1, first + 2], [first, first + 2, first + 3]], lines: vec![line] }
        };
        let (mut mesh, small) = (plate(0.0, 10.0, 0), plate(5.0, 4.0, 4));
        mesh.points.extend(small.points);
        mesh.triangles.extend(small.triangles);
        mesh.lines.extend(small.lines);
        let dark = |view: &str| {
            let i = picture(&mesh, view, 128).unwrap();
            (40..88).flat_map(|y| (40..88).map(move |x| (x, y))).filter(|(x, y)| i.get_pixel(*x, *y).0[0] < 60).count()
        };
        assert_eq!(dark("front"), 0, "the small plate's border is hidden");
        assert!(dark("back") > 100, "and seen from behind");
    }

    #[test]
    fn left_and_right_are_where_they_are() {
        // A wide block and a mark at its right end (x = 10), which lies right in the front view and left in the back view.
        let mut mesh = cube(1.0);
        let mut far = cube(1.0);
        let first = mesh.points.len() as u32;
        far.points.iter_mut().for_each(|p| p[0] += 9.0);
        far.triangles.iter_mut().flatten().for_each(|i| *i += first);
        // And higher.
        far.points.iter_mut().for_each(|p| p[2] += 2.0);
        mesh.points.extend(far.points);
        mesh.triangles.extend(far.triangles);
        mesh.lines.clear();
        let mean = |view: &str, upper: bool| {
            let i = picture(&mesh, view, 128).unwrap();
            let of: Vec<u32> = i.enumerate_pixels().filter(|(_, y, p)| is_surface(p) && (*y < 64) == upper).map(|(x, ..)| x).collect();
            of.iter().sum::<u32>() / of.len().max(1) as u32
        };
        assert!(mean("front", true) > 90 && mean("front", false) < 40, "{} {}", mean("front", true), mean("front", false));
        assert!(mean("back", true) < 40 && mean("back", false) > 90);
    }
}
