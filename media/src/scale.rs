//! From screen pixels to what the encoder takes, in one pass.

use crate::{Error, Result};
use ffmpeg_next as ff;
use std::path::Path;

/// How the four bytes of a screen pixel are ordered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PixelOrder {
    /// Blue, green, red, unused: X11 on little-endian machines.
    Bgrx,
    /// Red, green, blue, unused.
    Rgbx,
}

/// A picture ready for [`crate::ScreenEncoder`] (YUV 4:2:0, BT.709).
pub struct YuvPicture(pub(crate) ff::frame::Video);

impl YuvPicture {
    /// An empty picture; both sides must be even.
    #[must_use]
    pub fn new(width: u32, height: u32) -> Self {
        let mut f = ff::frame::Video::new(ff::format::Pixel::YUV420P, width, height);
        f.set_color_space(ff::color::Space::BT709);
        f.set_color_range(ff::color::Range::MPEG);
        Self(f)
    }

    /// Width and height, pixels.
    #[must_use]
    pub fn size(&self) -> (u32, u32) {
        (self.0.width(), self.0.height())
    }
}

/// Scales and converts pictures; keeps its tables while the source's size stays the same.
pub struct Scaler {
    out: (u32, u32),
    current: Option<((u32, u32, PixelOrder), ff::software::scaling::Context)>,
}

// The context is only ever used through `&mut self`.
unsafe impl Send for Scaler {}

impl Scaler {
    /// A scaler to the given size.
    #[must_use]
    pub fn new(width: u32, height: u32) -> Self {
        crate::init();
        Self { out: (width, height), current: None }
    }

    /// Converts `pixels` (rows of `stride` bytes) into `to`, which has the scaler's size.
    pub fn run(&mut self, pixels: &[u8], stride: usize, width: u32, height: u32, order: PixelOrder, to: &mut YuvPicture) -> Result<()> {
        let bad = |reason: String| Error::Write { path: Path::new("screen").into(), action: "could not scale a picture", reason };
        let row = width as usize * 4;
        if width == 0 || height == 0 || stride < row || pixels.len() < stride * (height as usize - 1) + row || to.size() != self.out {
            return Err(bad(format!("{} bytes are not {width}x{height} pixels in rows of {stride}", pixels.len())));
        }
        let key = (width, height, order);
        if self.current.as_ref().is_none_or(|(k, _)| *k != key) {
            self.current = Some((key, self.make(width, height, order).map_err(|e| bad(e.to_string()))?));
        }
        let Some((_, context)) = &mut self.current else { return Err(bad("no scaler".into())) };
        let stride = i32::try_from(stride).map_err(|e| bad(e.to_string()))?;
        // SAFETY: the source holds `height` rows of `stride` bytes (checked above), and the target is a
        // picture of the context's output size that nobody else holds.
        let rows = unsafe {
            let source = [pixels.as_ptr(), std::ptr::null(), std::ptr::null(), std::ptr::null()];
            let strides = [stride, 0, 0, 0];
            let f = to.0.as_mut_ptr();
            ff::ffi::sws_scale(
                context.as_mut_ptr(),
                source.as_ptr(),
                strides.as_ptr(),
                0,
                height as i32,
                (*f).data.as_ptr(),
                (*f).linesize.as_ptr(),
            )
        };
        if rows == self.out.1 as i32 { Ok(()) } else { Err(bad(format!("{rows} of {} rows came out", self.out.1))) }
    }

    fn make(&self, width: u32, height: u32, order: PixelOrder) -> Result<ff::software::scaling::Context, ff::Error> {
        use ff::format::Pixel;
        let from = match order {
            PixelOrder::Bgrx => Pixel::BGRZ,
            PixelOrder::Rgbx => Pixel::RGBZ,
        };
        let flags = ff::software::scaling::Flags::FAST_BILINEAR;
        let mut c = ff::software::scaling::Context::get(from, width, height, Pixel::YUV420P, self.out.0, self.out.1, flags)?;
        // SAFETY: the context was just made; the coefficient tables are FFmpeg's own constants.
        unsafe {
            let bt709 = ff::ffi::sws_getCoefficients(ff::ffi::SWS_CS_ITU709);
            ff::ffi::sws_setColorspaceDetails(c.as_mut_ptr(), bt709, 1, bt709, 0, 0, 1 << 16, 1 << 16);
        }
        Ok(c)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scaled(order: PixelOrder, pixel: [u8; 4]) -> (u8, u8, u8) {
        let pixels = pixel.repeat(64 * 48);
        let mut s = Scaler::new(32, 24);
        let mut out = YuvPicture::new(32, 24);
        s.run(&pixels, 64 * 4, 64, 48, order, &mut out).unwrap();
        let at = |p: usize, i: usize| out.0.data(p)[i * out.0.stride(p) + i];
        (at(0, 12), at(1, 6), at(2, 6))
    }

    #[test]
    fn colours_are_bt709_limited_range() {
        let near = |a: (u8, u8, u8), b: (i32, i32, i32)| {
            let d = |x: u8, y: i32| (i32::from(x) - y).abs() <= 2;
            assert!(d(a.0, b.0) && d(a.1, b.1) && d(a.2, b.2), "{a:?} is not {b:?}");
        };
        near(scaled(PixelOrder::Bgrx, [255, 255, 255, 0]), (235, 128, 128));
        near(scaled(PixelOrder::Bgrx, [0, 0, 0, 0]), (16, 128, 128));
        near(scaled(PixelOrder::Bgrx, [0, 0, 255, 0]), (63, 102, 240));
        near(scaled(PixelOrder::Rgbx, [255, 0, 0, 0]), (63, 102, 240));
    }

    #[test]
    fn too_few_bytes_are_refused() {
        let mut s = Scaler::new(32, 24);
        let mut out = YuvPicture::new(32, 24);
        assert!(s.run(&[0; 100], 64 * 4, 64, 48, PixelOrder::Bgrx, &mut out).is_err());
        assert!(s.run(&[0; 64 * 48 * 4], 63 * 4, 64, 48, PixelOrder::Bgrx, &mut out).is_err());
    }
}
