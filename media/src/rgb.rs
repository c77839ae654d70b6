//! Decoded pictures as RGB.

use ff::software::scaling;
use ffmpeg_next as ff;

/// Converts pictures, keeping its tables while size and format stay the same.
#[derive(Default)]
pub(crate) struct ToRgb {
    converter: Option<Converter>,
}

/// A scaling context for one kind of source picture.
pub(crate) struct Converter {
    source: (ff::format::Pixel, u32, u32),
    context: scaling::Context,
}

impl Converter {
    /// From `frame`'s kind of picture to `format` at `width` x `height`.
    pub(crate) fn new(frame: &ff::frame::Video, format: ff::format::Pixel, width: u32, height: u32) -> Result<Self, ff::Error> {
        let source = (frame.format(), frame.width(), frame.height());
        let flags = scaling::Flags::BICUBIC | scaling::Flags::ACCURATE_RND;
        let mut context = scaling::Context::get(source.0, source.1, source.2, format, width, height, flags)?;
        // SAFETY: the context was just made; the coefficient tables are FFmpeg's own constants.
        unsafe {
            use ff::ffi::{SWS_CS_ITU601, SWS_CS_ITU709, sws_getCoefficients, sws_setColorspaceDetails};
            let bt709 = match frame.color_space() {
                ff::color::Space::BT709 => true,
                ff::color::Space::Unspecified => source.2 >= 720,
                _ => false,
            };
            let from = sws_getCoefficients(if bt709 { SWS_CS_ITU709 } else { SWS_CS_ITU601 });
            let to = sws_getCoefficients(SWS_CS_ITU709);
            let full = i32::from(frame.color_range() == ff::color::Range::JPEG);
            let rgb = i32::from(format == ff::format::Pixel::RGB24);
            // It refuses sources that are no YUV; they need no such setting.
            sws_setColorspaceDetails(context.as_mut_ptr(), from, full, to, rgb, 0, 1 << 16, 1 << 16);
        }
        Ok(Self { source, context })
    }

    /// Whether it fits `frame`.
    pub(crate) fn fits(&self, frame: &ff::frame::Video) -> bool {
        self.source == (frame.format(), frame.width(), frame.height())
    }

    /// Converts.
    pub(crate) fn run(&mut self, from: &ff::frame::Video, to: &mut ff::frame::Video) -> Result<(), ff::Error> {
        self.context.run(from, to)
    }
}

impl ToRgb {
    pub(crate) fn convert(&mut self, frame: &ff::frame::Video) -> Result<image::RgbImage, ff::Error> {
        let (w, h) = (frame.width(), frame.height());
        let converter = match self.converter.take().filter(|c| c.fits(frame)) {
            Some(c) => self.converter.insert(c),
            None => self.converter.insert(Converter::new(frame, ff::format::Pixel::RGB24, w, h)?),
        };
        let mut out = ff::frame::Video::empty();
        converter.run(frame, &mut out)?;
        let (row, stride) = (w as usize * 3, out.stride(0));
        let mut rgb = Vec::with_capacity(row * h as usize);
        for line in out.data(0).chunks_exact(stride).take(h as usize) {
            rgb.extend_from_slice(&line[..row]);
        }
        image::RgbImage::from_raw(w, h, rgb).ok_or(ff::Error::BufferTooSmall)
    }
}
