//! The few dense operations that the phone recogniser needs, on row-major matrices.

/// `out[m×n] = a[m×k] · b[k×n] (+ out)`; `b` may be given transposed (`n×k`).
pub(super) struct MatMul {
    pub m: usize,
    pub k: usize,
    pub n: usize,
    /// Distance between rows of `a`.
    pub a_stride: usize,
    /// Row and column distance of `b`.
    pub b_strides: (usize, usize),
    /// Distance between rows of `out`.
    pub out_stride: usize,
    pub scale: f32,
}

impl MatMul {
    pub fn new(m: usize, k: usize, n: usize) -> Self {
        Self { m, k, n, a_stride: k, b_strides: (n, 1), out_stride: n, scale: 1.0 }
    }

    /// `b` is stored `n×k`.
    pub fn transposed(self) -> Self {
        Self { b_strides: (1, self.k), ..self }
    }

    /// Overwrites `out`.
    pub fn run(&self, a: &[f32], b: &[f32], out: &mut [f32]) {
        let last = |rows: usize, rs: usize, cols: usize, cs: usize| (rows - 1) * rs + (cols - 1) * cs + 1;
        if self.m == 0 || self.k == 0 || self.n == 0 {
            return;
        }
        assert!(a.len() >= last(self.m, self.a_stride, self.k, 1));
        assert!(b.len() >= last(self.k, self.b_strides.0, self.n, self.b_strides.1));
        assert!(out.len() >= last(self.m, self.out_stride, self.n, 1));
        // SAFETY: the three assertions above bound every element that is read or written.
        unsafe {
            matrixmultiply::sgemm(
                self.m,
                self.k,
                self.n,
                self.scale,
                a.as_ptr(),
                self.a_stride as isize,
                1,
                b.as_ptr(),
                self.b_strides.0 as isize,
                self.b_strides.1 as isize,
                0.0,
                out.as_mut_ptr(),
                self.out_stride as isize,
                1,
            );
        }
    }
}

pub(super) fn add_bias(x: &mut [f32], bias: &[f32]) {
    for row in x.chunks_exact_mut(bias.len()) {
        row.iter_mut().zip(bias).for_each(|(v, b)| *v += b);
    }
}

pub(super) fn add(x: &mut [f32], y: &[f32], factor: f32) {
    x.iter_mut().zip(y).for_each(|(v, w)| *v += factor * w);
}

/// Layer norm of each row of `x` into `out`.
pub(super) fn layer_norm(x: &[f32], weight: &[f32], bias: &[f32], out: &mut Vec<f32>) {
    let d = weight.len();
    out.clear();
    for row in x.chunks_exact(d) {
        let mean = row.iter().sum::<f32>() / d as f32;
        let var = row.iter().map(|v| (v - mean) * (v - mean)).sum::<f32>() / d as f32;
        let inv = 1.0 / (var + 1e-5).sqrt();
        out.extend(row.iter().zip(weight).zip(bias).map(|((v, w), b)| (v - mean) * inv * w + b));
    }
}

pub(super) fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + (-x).exp())
}

pub(super) fn silu(x: &mut [f32]) {
    x.iter_mut().for_each(|v| *v *= sigmoid(*v));
}

pub(super) fn gelu(x: &mut [f32]) {
    x.iter_mut().for_each(|v| *v *= 0.5 * (1.0 + erf(*v * std::f32::consts::FRAC_1_SQRT_2)));
}

/// The error function, to 1.5e-7 (Abramowitz and Stegun 7.1.26).
#[allow(clippy::excessive_precision)]
fn erf(x: f32) -> f32 {
    let t = 1.0 / (1.0 + 0.327_591_1 * x.abs());
    let poly = t * (0.254_829_592 + t * (-0.284_496_736 + t * (1.421_413_741 + t * (-1.453_152_027 + t * 1.061_405_429))));
    (1.0 - poly * (-x * x).exp()).copysign(x)
}

pub(super) fn softmax_rows(x: &mut [f32], width: usize) {
    for row in x.chunks_exact_mut(width) {
        let max = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let mut sum = 0.0;
        for v in row.iter_mut() {
            *v = (*v - max).exp();
            sum += *v;
        }
        let inv = 1.0 / sum;
        row.iter_mut().for_each(|v| *v *= inv);
    }
}

pub(super) fn log_softmax_rows(x: &mut [f32], width: usize) {
    for row in x.chunks_exact_mut(width) {
        let lse = log_sum_exp(row);
        row.iter_mut().for_each(|v| *v -= lse);
    }
}

pub(super) fn log_sum_exp(x: &[f32]) -> f32 {
    let max = x.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    if max == f32::NEG_INFINITY { max } else { max + x.iter().map(|v| (v - max).exp()).sum::<f32>().ln() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_product_and_its_transposed_form_agree() {
        let a = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        let mut out = [0.0; 4];
        MatMul::new(2, 3, 2).run(&a, &[1.0, 0.0, 0.0, 1.0, 2.0, 2.0], &mut out);
        assert_eq!(out, [7.0, 8.0, 16.0, 17.0]);
        MatMul::new(2, 3, 2).transposed().run(&a, &[1.0, 0.0, 2.0, 0.0, 1.0, 2.0], &mut out);
        assert_eq!(out, [7.0, 8.0, 16.0, 17.0]);
    }

    #[test]
    fn the_error_function_has_its_known_values() {
        for (x, y) in [(0.0, 0.0), (0.5, 0.520_499_9), (-1.0, -0.842_700_8), (3.0, 0.999_977_9)] {
            assert!((erf(x) - y).abs() < 1e-6, "erf({x}) = {}", erf(x));
        }
    }

    #[test]
    fn log_softmax_sums_to_one() {
        let mut x = [0.0, 1.0, -3.0, 100.0, 0.0, 0.0];
        log_softmax_rows(&mut x, 3);
        for row in x.chunks_exact(3) {
            assert!((row.iter().map(|v| v.exp()).sum::<f32>() - 1.0).abs() < 1e-5);
        }
    }
}
