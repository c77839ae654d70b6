//! Still pictures from elsewhere: what kind they are, and whether all of their pixels are there.

use std::io::Cursor;
use zune_jpeg::JpegDecoder;
use zune_jpeg::zune_core::options::DecoderOptions;

/// The longest side of a picture, pixels.
const MAX_SIDE: usize = 8192;
/// Progressive pictures may have many passes; each costs time.
const MAX_SCANS: usize = 64;

/// The ending for a PNG or JPEG that can be decoded to its last pixel; else what is wrong, and what to do.
pub(super) fn ending_of(bytes: &[u8]) -> Result<&'static str, String> {
    let damaged = |e: String| format!("the picture is damaged ({e}): draw the view again");
    match bytes {
        [0x89, b'P', b'N', b'G', ..] => {
            let mut reader = png::Decoder::new(Cursor::new(bytes)).read_info().map_err(|e| damaged(e.to_string()))?;
            let (width, height) = reader.info().size();
            fits(width as usize, height as usize)?;
            // A row at a time: an image that unpacks to gigabytes fills no memory.
            while reader.next_row().map_err(|e| damaged(e.to_string()))?.is_some() {}
            Ok("png")
        }
        [0xff, 0xd8, ..] => {
            let options = DecoderOptions::default().set_strict_mode(true).jpeg_set_max_scans(MAX_SCANS);
            let mut decoder = JpegDecoder::new_with_options(Cursor::new(bytes), options);
            decoder.decode_headers().map_err(|e| damaged(format!("{e:?}")))?;
            let info = decoder.info().ok_or_else(|| damaged("it has no size".into()))?;
            fits(usize::from(info.width), usize::from(info.height))?;
            decoder.decode().map_err(|e| damaged(format!("{e:?}")))?;
            Ok("jpg")
        }
        _ => Err("neither PNG nor JPEG: save the view as one of them".into()),
    }
}

fn fits(width: usize, height: usize) -> Result<(), String> {
    if width.max(height) <= MAX_SIDE {
        return Ok(());
    }
    Err(format!("{width}x{height} pixels: views of at most {MAX_SIDE} pixels a side are taken"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn png(side: u32, rows: u32) -> Vec<u8> {
        let mut out = Vec::new();
        let mut e = png::Encoder::new(&mut out, side, side);
        e.set_color(png::ColorType::Grayscale);
        let mut w = e.write_header().unwrap();
        // Noise, so that half of the file is half of the picture.
        let pixels: Vec<u8> = (0..side * side).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        w.write_image_data(&pixels).unwrap();
        drop(w);
        out.truncate(out.len() * rows as usize / side as usize);
        out
    }

    #[test]
    fn only_whole_pictures_are_taken() {
        assert_eq!(ending_of(&png(64, 64)), Ok("png"));
        for bad in [&png(64, 32)[..], &png(64, 64)[..20], b"\xff\xd8\xff\xe0", b"GIF89a", b""] {
            assert!(ending_of(bad).is_err(), "{} bytes", bad.len());
        }
        assert!(fits(8193, 1).unwrap_err().contains("8193x1"));
    }
}
