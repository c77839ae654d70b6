//! Steps of an agent's run: a screenshot on the session's clock, and what was then done.

use crate::screen::{self, FrameSource};
use crate::{Error, RecordOptions, Recording, Result, SessionClock};
use redline_media::PixelOrder;
use redline_schemas::{Action, Error as SchemaError, SessionDir, StepEvent, fsio, jsonl};
use serde::{Deserialize, Serialize};

/// What is told of a step when it is asked for.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct StepAsked {
    /// What is about to be done; absent: only look.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<Action>,
    /// The operator's note.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// The writer of `steps.jsonl` and its screenshots.
pub struct Steps {
    dir: SessionDir,
    clock: SessionClock,
    source: Box<dyn FrameSource>,
    lines: jsonl::Writer<StepEvent>,
    taken: u32,
}

impl Steps {
    /// Begins with a recording of a run; `options` are the recording's own.
    pub fn start(recording: &Recording, options: &RecordOptions) -> Result<Self> {
        let dir = recording.dir().clone();
        let folder = dir.path().join(FOLDER);
        std::fs::create_dir(&folder).map_err(SchemaError::io(&folder, "could not create the folder"))?;
        let lines = jsonl::Writer::create(&dir.steps())?;
        Ok(Self { clock: recording.clock().clone(), source: screen::open(options)?, dir, lines, taken: 0 })
    }

    /// Takes a screenshot now and writes the step.
    pub fn take(&mut self, asked: StepAsked) -> Result<StepEvent> {
        let grab = self.source.grab()?;
        let (from, to) = (self.clock.at(grab.asked_ns), self.clock.at(grab.got_ns));
        let picture = rgb(&grab.canvas).ok_or_else(|| Error::Options("the screenshot is smaller than its size says".into()))?;
        let step = self.taken + 1;
        let screenshot = format!("{FOLDER}/{step:04}.png");
        let path = self.dir.path().join(&screenshot);
        let bytes = png(&picture).map_err(|e| SchemaError::Value(format!("{}: could not encode the screenshot: {e}", path.display())))?;
        fsio::write_atomic(&path, &bytes)?;
        let e = StepEvent {
            t_ns: (from + to) / 2,
            half_ns: (to - from) / 2,
            step,
            screenshot,
            sha256: fsio::sha256_bytes(&bytes),
            action: asked.action,
            note: asked.note.filter(|n| !n.trim().is_empty()),
        };
        self.lines.write(&e)?;
        self.lines.flush()?;
        self.taken = step;
        Ok(e)
    }

    /// Takes the last screenshot, which shows the end, and closes the stream; how many steps there are with it.
    pub fn finish(mut self) -> Result<u32> {
        self.take(StepAsked::default())?;
        self.lines.finish()?;
        Ok(self.taken)
    }
}

/// The folder of the screenshots.
const FOLDER: &str = "screenshots";

fn rgb(c: &screen::Canvas<'_>) -> Option<image::RgbImage> {
    let mut out = Vec::with_capacity(c.width as usize * c.height as usize * 3);
    for y in 0..c.height as usize {
        let row = c.pixels.get(y * c.stride..)?.get(..c.width as usize * 4)?;
        for p in row.chunks_exact(4) {
            let &[a, b, d, _] = p else { return None };
            out.extend(match c.order {
                PixelOrder::Bgrx => [d, b, a],
                PixelOrder::Rgbx => [a, b, d],
            });
        }
    }
    image::RgbImage::from_raw(c.width, c.height, out)
}

fn png(picture: &image::RgbImage) -> image::ImageResult<Vec<u8>> {
    use image::codecs::png::{CompressionType, FilterType, PngEncoder};
    let mut bytes = Vec::new();
    picture.write_with_encoder(PngEncoder::new_with_quality(&mut bytes, CompressionType::Fast, FilterType::Sub))?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use redline_schemas::coords::Rect;

    #[test]
    fn pixels_come_in_their_order_and_padding_is_left_out() {
        // Two pixels and four bytes of padding a row.
        let mut pixels = vec![1, 2, 3, 0, 4, 5, 6, 0, 9, 9, 9, 9, 7, 8, 9, 0, 10, 11, 12, 0, 9, 9, 9, 9];
        let area = Rect { x: 0, y: 0, width: 2, height: 2 };
        let c = screen::Canvas { pixels: &mut pixels, stride: 12, width: 2, height: 2, order: PixelOrder::Bgrx, area };
        let p = rgb(&c).unwrap();
        assert_eq!(p.as_raw().as_slice(), [3, 2, 1, 6, 5, 4, 9, 8, 7, 12, 11, 10]);
        let back = image::load_from_memory(&png(&p).unwrap()).unwrap().to_rgb8();
        assert_eq!(back, p);
    }
}
