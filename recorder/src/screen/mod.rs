//! Pictures of the screen.

mod cursor;
mod x11;
mod x11_shm;
mod xcap;

pub(crate) use x11::connect;
pub use x11::{WindowInfo, monitors, windows};

use crate::options::{CaptureBackend, RecordOptions, Source};
use crate::{Error, Result};
use redline_media::PixelOrder;
use redline_schemas::coords::Rect;

const HINT: &str = "`redline doctor` lists the screens; set DISPLAY when the desktop is another one";

pub(crate) fn no_screen(reason: impl std::fmt::Display) -> Error {
    Error::Device { what: "no screen to record".into(), reason: reason.to_string(), hint: HINT }
}

/// A picture while it is being worked on: rows of four-byte pixels.
pub struct Canvas<'a> {
    /// The pixels, `stride` bytes a row.
    pub pixels: &'a mut [u8],
    /// Bytes a row.
    pub stride: usize,
    /// Width, pixels.
    pub width: u32,
    /// Height, pixels.
    pub height: u32,
    /// Order of a pixel's bytes.
    pub order: PixelOrder,
    /// Which part of the screen it shows.
    pub area: Rect,
}

impl Canvas<'_> {
    /// Blends a pixel with premultiplied alpha at a place in the picture; outside it does nothing.
    pub fn blend(&mut self, x: i64, y: i64, [red, green, blue, alpha]: [u8; 4]) {
        if x < 0 || y < 0 || x >= i64::from(self.width) || y >= i64::from(self.height) || alpha == 0 {
            return;
        }
        let at = y as usize * self.stride + x as usize * 4;
        let Some(p) = self.pixels.get_mut(at..at + 4) else { return };
        let source = match self.order {
            PixelOrder::Bgrx => [blue, green, red],
            PixelOrder::Rgbx => [red, green, blue],
        };
        for (p, s) in p.iter_mut().zip(source) {
            *p = s.saturating_add((u16::from(*p) * u16::from(255 - alpha) / 255) as u8);
        }
    }
}

/// A picture and when it was taken, on the monotonic clock.
pub struct Grab<'a> {
    /// The picture.
    pub canvas: Canvas<'a>,
    /// Reading of the monotonic clock when it was asked for.
    pub asked_ns: i64,
    /// Reading when it was there.
    pub got_ns: i64,
}

/// Something that takes pictures of the screen.
pub trait FrameSource: Send {
    /// Takes one now, with the mouse pointer when that was asked for.
    fn grab(&mut self) -> Result<Grab<'_>>;
    /// The part of the screen that it shows.
    fn area(&self) -> Rect;
    /// Its name in the manifest.
    fn backend(&self) -> &'static str;
    /// Title of the window that was chosen by name.
    fn title(&self) -> Option<String> {
        None
    }
}

/// Draws into every picture before it is encoded, for strokes where the desktop cannot show them.
pub trait Painter: Send {
    /// Draws what is to be seen at session time `t_ns`.
    fn paint(&mut self, t_ns: i64, canvas: &mut Canvas<'_>);
}

/// Opens the source that the options ask for.
pub fn open(options: &RecordOptions) -> Result<Box<dyn FrameSource>> {
    let shm = || x11_shm::ShmSource::open(&options.source, options.cursor);
    match options.backend {
        CaptureBackend::Shm => Ok(Box::new(shm()?)),
        CaptureBackend::Xcap => Ok(Box::new(xcap::XcapSource::open(&options.source, options.cursor)?)),
        CaptureBackend::Auto => match shm() {
            Ok(s) => Ok(Box::new(s)),
            Err(first) => match xcap::XcapSource::open(&options.source, options.cursor) {
                Ok(s) => {
                    tracing::warn!("shared memory cannot be used ({first}); recording through xcap, which is slow");
                    Ok(Box::new(s))
                }
                Err(_) => Err(first),
            },
        },
    }
}

/// `monitor`, `window` or `region`, for the manifest.
#[must_use]
pub fn source_name(s: &Source) -> &'static str {
    match s {
        Source::PrimaryMonitor | Source::Monitor(_) => "monitor",
        Source::Window(_) => "window",
        Source::Region(_) => "region",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blending_keeps_to_the_picture_and_to_its_byte_order() {
        let mut pixels = vec![100; 2 * 2 * 4];
        let area = Rect { x: 0, y: 0, width: 2, height: 2 };
        let mut c = Canvas { pixels: &mut pixels, stride: 8, width: 2, height: 2, order: PixelOrder::Bgrx, area };
        for (x, y) in [(-1, 0), (0, -1), (2, 0), (0, 2)] {
            c.blend(x, y, [255, 255, 255, 255]);
        }
        c.blend(1, 1, [200, 0, 0, 255]);
        c.blend(0, 0, [0, 0, 128, 128]);
        assert_eq!(&pixels[..4], [128 + 49, 49, 49, 100]);
        assert_eq!(&pixels[4..12], [100; 8]);
        assert_eq!(&pixels[12..], [0, 0, 200, 100]);
    }
}
