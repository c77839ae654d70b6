//! Likeness of two models' pictures, by any network that turns a picture into numbers.

use crate::{Error, Result};
use image::RgbImage;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Turns pictures into features, so that alike pictures have alike features.
pub trait ImageFeatures {
    /// SHA-256 of what makes them: features of different makers can't be compared.
    fn sha256(&self) -> &str;

    /// A picture's features, a vector of length 1. The error says why there are none.
    fn features(&self, picture: &RgbImage) -> Result<Vec<f32>, String>;
}

/// View name → features of a model's pictures.
pub type ViewFeatures = BTreeMap<String, Vec<f32>>;

/// The features of each view in `views`, as in [`crate::ModelFacts::views`].
pub fn of_views(maker: &dyn ImageFeatures, views: &BTreeMap<String, PathBuf>) -> Result<ViewFeatures> {
    let of = |(view, path): (&String, &PathBuf)| {
        let failed = |message| Error::Features { path: path.clone(), message };
        let picture = image::open(path).map_err(|e| failed(format!("could not read the view: {e}")))?.to_rgb8();
        Ok((view.clone(), maker.features(&picture).map_err(failed)?))
    };
    views.iter().map(of).collect()
}

/// The mean cosine of corresponding views, −1 to 1; `None` when no view is in both. Every view fills its picture, so a model's
/// size and place make no difference.
#[must_use]
pub fn similarity(a: &ViewFeatures, b: &ViewFeatures) -> Option<f64> {
    let cosines: Vec<f64> = a.iter().filter_map(|(view, a)| cosine(a, b.get(view)?)).collect();
    (!cosines.is_empty()).then(|| (cosines.iter().sum::<f64>() / cosines.len() as f64).clamp(-1.0, 1.0))
}

fn cosine(a: &[f32], b: &[f32]) -> Option<f64> {
    let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(x, y)| f64::from(*x) * f64::from(*y)).sum::<f64>();
    let lengths = (dot(a, a) * dot(b, b)).sqrt();
    (a.len() == b.len() && lengths > 0.0).then(|| dot(a, b) / lengths)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The mean of each channel.
    struct Mean;

    impl ImageFeatures for Mean {
        fn sha256(&self) -> &str {
            "mean"
        }

        fn features(&self, p: &RgbImage) -> Result<Vec<f32>, String> {
            let mean = [0, 1, 2].map(|k| p.pixels().map(|p| f32::from(p.0[k])).sum::<f32>() / p.pixels().len() as f32);
            let length = mean.iter().map(|v| v * v).sum::<f32>().sqrt();
            if length > 0.0 { Ok(mean.map(|v| v / length).to_vec()) } else { Err("it is black".into()) }
        }
    }

    #[test]
    fn views_are_compared_with_the_same_view() {
        let dir = tempfile::tempdir().unwrap();
        let picture = |name: &str, colour: [u8; 3]| {
            let p = dir.path().join(name);
            RgbImage::from_pixel(4, 4, image::Rgb(colour)).save(&p).unwrap();
            p
        };
        let red = BTreeMap::from([("top".to_owned(), picture("a.png", [200, 0, 0])), ("front".into(), picture("b.png", [0, 90, 0]))]);
        // A quarter turn in colour from above, and (0, 3, 4)/5 against (0, 1, 0) from the front.
        let other = BTreeMap::from([("top".to_owned(), picture("c.png", [0, 0, 9])), ("front".into(), picture("d.png", [0, 30, 40]))]);
        let (red, other) = (of_views(&Mean, &red).unwrap(), of_views(&Mean, &other).unwrap());
        assert!((similarity(&red, &red).unwrap() - 1.0).abs() < 1e-6);
        assert!((similarity(&red, &other).unwrap() - (0.0 + 0.6) / 2.0).abs() < 1e-6);
        assert_eq!(similarity(&red, &other), similarity(&other, &red));
        let only_top = ViewFeatures::from([("top".to_owned(), red["top"].clone())]);
        assert!(similarity(&only_top, &other).unwrap().abs() < 1e-6);
        assert_eq!(similarity(&red, &ViewFeatures::new()), None);
        let other_length = ViewFeatures::from([("top".to_owned(), vec![1.0])]);
        assert_eq!(similarity(&red, &other_length), None);

        let black = BTreeMap::from([("top".to_owned(), picture("black.png", [0; 3]))]);
        assert!(of_views(&Mean, &black).unwrap_err().to_string().contains("black.png: it is black"));
    }
}
