//! Features of pictures by a network in an ONNX file, run without any other program.
//!
//! The network has one input, `[N, 3, height, width]` of single-precision numbers (a size that it leaves open is taken as
//! [`DEFAULT_SIDE`]): red, green and blue, less ImageNet's mean, over its standard deviation. Its first output gives the
//! features: of `[N, tokens, length]` the first token (a transformer's CLS token), of every other shape all numbers in a row.
//! They are brought to length 1.
//!
//! ```no_run
//! use redline_cad::features::ImageFeatures as _;
//! let network = redline_features::OnnxFeatures::load("dino.onnx".as_ref())?;
//! let features = network.features(&image::open("top.png")?.to_rgb8())?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use image::RgbImage;
use image::imageops::{FilterType, resize};
use redline_cad::features::ImageFeatures;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tract_onnx::prelude::*;
use tract_onnx::tract_hir::infer::Factoid as _;
use tract_onnx::tract_hir::internal::DimLike as _;

/// Height and width for a network that takes pictures of any size.
pub const DEFAULT_SIDE: usize = 224;

/// The longest side of pictures that a network may want.
const LARGEST_SIDE: usize = 4096;

const MEAN: [f32; 3] = [0.485, 0.456, 0.406];
const DEVIATION: [f32; 3] = [0.229, 0.224, 0.225];

/// Why a network can't be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file could not be read.
    #[error("{}: could not read the network: {message}; name an ONNX file", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's own word.
        message: String,
    },
    /// It is no network that this reads.
    #[error("{}: not a usable ONNX network: {message}; export it anew, with every operator in the standard set", path.display())]
    NotOnnx {
        /// The file.
        path: PathBuf,
        /// The reader's own word.
        message: String,
    },
    /// It takes something else than one picture.
    #[error(
        "{}: the network takes {what}, not one picture as [N, 3, height, width] of float32: export the picture’s half of it alone",
        path.display()
    )]
    OtherInput {
        /// The file.
        path: PathBuf,
        /// Its inputs.
        what: String,
    },
}

/// A network that gives features.
pub struct OnnxFeatures {
    plan: Arc<TypedRunnableModel>,
    height: usize,
    width: usize,
    sha256: String,
}

impl OnnxFeatures {
    /// Reads a network and makes it ready.
    pub fn load(path: &Path) -> Result<Self, Error> {
        let read = |message: String| Error::Read { path: path.into(), message };
        std::fs::File::open(path).map_err(|e| read(e.to_string()))?;
        if !path.is_file() {
            return Err(read("it is not a file".into()));
        }
        let sha256 = redline_schemas::fsio::sha256_file(path).map_err(|e| read(e.to_string()))?;
        let bad = |e: TractError| Error::NotOnnx { path: path.into(), message: format!("{e:#}") };
        without_panic(|| {
            let mut model = tract_onnx::onnx().model_for_path(path).map_err(bad)?;
            let (height, width) = sides(&model).map_err(|what| Error::OtherInput { path: path.into(), what })?;
            model.set_input_fact(0, f32::fact([1, 3, height, width]).into()).map_err(bad)?;
            let plan = model.into_optimized().and_then(|m| m.into_runnable()).map_err(bad)?;
            Ok(Self { plan, height, width, sha256 })
        })
        .unwrap_or_else(|| Err(bad(TractError::msg(BROKEN))))
    }
}

const BROKEN: &str = "the reader broke off on it";

/// `None` when `work` panics: the reader does on some damaged files. Whatever it had made is gone then.
fn without_panic<T>(work: impl FnOnce() -> T) -> Option<T> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).ok()
}

/// Height and width of the pictures that a network takes; the error says what it takes instead.
fn sides(model: &InferenceModel) -> Result<(usize, usize), String> {
    let inputs = model.input_outlets().map_err(|e| e.to_string())?;
    if inputs.len() != 1 {
        return Err(format!("{} inputs", inputs.len()));
    }
    let fact = model.input_fact(0).map_err(|e| e.to_string())?;
    let what = || fact.format_dt_shape();
    let dims: Vec<Option<usize>> = fact.shape.dims().map(|d| d.concretize().and_then(|d| d.to_usize().ok())).collect();
    let [_, channels, height, width] = dims[..] else { return Err(what()) };
    let side = |s: Option<usize>| match s.unwrap_or(DEFAULT_SIDE) {
        s @ 1..=LARGEST_SIDE => Ok(s),
        _ => Err(what()),
    };
    let floats = fact.datum_type.concretize().is_none_or(|t| t == f32::datum_type());
    if channels.is_some_and(|c| c != 3) || !floats { Err(what()) } else { Ok((side(height)?, side(width)?)) }
}

impl ImageFeatures for OnnxFeatures {
    fn sha256(&self) -> &str {
        &self.sha256
    }

    fn features(&self, picture: &RgbImage) -> Result<Vec<f32>, String> {
        let scaled = resize(picture, self.width as u32, self.height as u32, FilterType::Triangle);
        let mut planes = Vec::with_capacity(3 * self.height * self.width);
        for k in 0..3 {
            planes.extend(scaled.pixels().map(|p| (f32::from(p.0[k]) / 255.0 - MEAN[k]) / DEVIATION[k]));
        }
        let run = || -> TractResult<Vec<f32>> {
            let input = Tensor::from_shape(&[1, 3, self.height, self.width], &planes)?;
            let outputs = self.plan.run(tvec!(input.into_tvalue()))?;
            let first = outputs.into_iter().next().ok_or_else(|| TractError::msg("it has no output"))?;
            let length = match *first.shape() {
                [1, _, length] => length,
                _ => usize::MAX,
            };
            let all = first.cast_to::<f32>()?;
            let all = all.try_as_plain_ram()?.as_slice::<f32>()?.iter().copied();
            Ok(all.take(length).collect())
        };
        let ran = without_panic(run).unwrap_or_else(|| Err(TractError::msg(BROKEN)));
        let features = ran.map_err(|e| format!("the network failed: {e:#}"))?;
        let length = features.iter().map(|v| f64::from(*v).powi(2)).sum::<f64>().sqrt();
        if !length.is_finite() || length <= 0.0 {
            return Err("the network gives no features of it (all are zero, or one is no number)".into());
        }
        Ok(features.into_iter().map(|v| (f64::from(v) / length) as f32).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use image::Rgb;
    use redline_samples::onnx::{Output, network};

    fn load(dir: &tempfile::TempDir, bytes: &[u8]) -> Result<OnnxFeatures, Error> {
        let p = dir.path().join("network.onnx");
        std::fs::write(&p, bytes).unwrap();
        OnnxFeatures::load(&p)
    }

    fn near(a: &[f32], b: [f64; 3], slack: f64) {
        assert!(a.len() == 3 && a.iter().zip(b).all(|(a, b)| (f64::from(*a) - b).abs() < slack), "{a:?}, not {b:?}");
    }

    /// As ImageNet's networks want a colour, brought to length 1.
    fn by_hand(colour: [f64; 3]) -> [f64; 3] {
        let v = [(colour[0] / 255.0 - 0.485) / 0.229, (colour[1] / 255.0 - 0.456) / 0.224, (colour[2] / 255.0 - 0.406) / 0.225];
        let length = v.iter().map(|x| x * x).sum::<f64>().sqrt();
        v.map(|x| x / length)
    }

    #[test]
    fn features_are_those_counted_by_hand() {
        let dir = tempfile::tempdir().unwrap();
        for side in [Some(8), None] {
            let n = load(&dir, &network(Output::MeanColour, side)).unwrap();
            assert_eq!((n.height, n.width), side.map_or((224, 224), |s| (s as usize, s as usize)));
            let plain = RgbImage::from_pixel(40, 30, Rgb([200, 100, 50]));
            near(&n.features(&plain).unwrap(), by_hand([200.0, 100.0, 50.0]), 5e-5);
            // Half of it is white: the mean lies between. Scaled pixels are whole numbers again.
            let half = RgbImage::from_fn(64, 64, |x, _| if x < 32 { Rgb([255; 3]) } else { Rgb([55, 5, 155]) });
            near(&n.features(&half).unwrap(), by_hand([155.0, 130.0, 205.0]), 5e-4);
        }
    }

    #[test]
    fn of_tokens_the_first_counts() {
        let dir = tempfile::tempdir().unwrap();
        let n = load(&dir, &network(Output::Tokens, Some(4))).unwrap();
        let corner = RgbImage::from_fn(4, 4, |x, y| if (x, y) == (0, 0) { Rgb([10, 20, 30]) } else { Rgb([240, 120, 60]) });
        near(&n.features(&corner).unwrap(), by_hand([10.0, 20.0, 30.0]), 1e-5);
    }

    #[test]
    fn files_that_are_no_network_are_refused_by_name() {
        let dir = tempfile::tempdir().unwrap();
        let good = network(Output::MeanColour, Some(8));
        for (what, bytes) in
            [("empty", &b""[..]), ("text", b"this is no network"), ("cut", &good[..good.len() / 2]), ("noise", &[0xff; 200])]
        {
            let e = load(&dir, bytes).err().unwrap_or_else(|| panic!("{what}")).to_string();
            assert!(e.contains("network.onnx") && (e.contains("export it anew") || e.contains("takes")), "{what}: {e}");
        }
        // Damaged in any one place, it is refused or still gives features.
        let picture = RgbImage::from_pixel(8, 8, Rgb([200, 100, 50]));
        for i in 0..good.len() {
            for wrong in [0, 0x7f, 0xff, good[i] ^ 1] {
                let mut bytes = good.clone();
                bytes[i] = wrong;
                if let Ok(n) = load(&dir, &bytes) {
                    let _ = n.features(&picture);
                }
            }
        }
        let e = load(&dir, &network(Output::Grey, Some(8))).err().unwrap();
        assert!(matches!(&e, Error::OtherInput { what, .. } if what.contains("1,1,8,8")), "{e}");
        let e = OnnxFeatures::load(&dir.path().join("none.onnx")).err().unwrap();
        assert!(matches!(e, Error::Read { .. }) && e.to_string().contains("none.onnx"), "{e}");
        let e = OnnxFeatures::load(dir.path()).err().unwrap();
        assert!(matches!(e, Error::Read { .. }), "{e}");
    }
}
