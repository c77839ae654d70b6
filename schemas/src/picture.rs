//! Pictures without what a program wrote about itself and its user beside the pixels.

use std::borrow::Cow;

const SIGNATURE: &[u8] = b"\x89PNG\r\n\x1a\n";
/// Chunks that hold words, EXIF or the wall time (PNG specification, third edition, 11.3).
const DROPPED: [&[u8; 4]; 5] = [b"tEXt", b"zTXt", b"iTXt", b"eXIf", b"tIME"];

/// The same PNG or JPEG without its metadata. What is neither, or broken, stays as it came.
#[must_use]
pub fn without_metadata(file: &[u8]) -> Cow<'_, [u8]> {
    png(file).or_else(|| jpeg(file)).map_or(Cow::Borrowed(file), Cow::Owned)
}

fn png(file: &[u8]) -> Option<Vec<u8>> {
    let mut rest = file.strip_prefix(SIGNATURE)?;
    let mut out = SIGNATURE.to_vec();
    let mut dropped = false;
    while !rest.is_empty() {
        let length = u32::from_be_bytes(rest.get(..4)?.try_into().ok()?) as usize;
        // Length, kind, data, checksum.
        let (chunk, after) = rest.split_at_checked(length.checked_add(12)?)?;
        let kind = chunk.get(4..8)?;
        if DROPPED.iter().any(|d| kind == d.as_slice()) {
            dropped = true;
        } else {
            out.extend_from_slice(chunk);
        }
        if kind == b"IEND" {
            return dropped.then_some(out);
        }
        rest = after;
    }
    None
}

/// Segments before the pixels are comments (`COM`), what applications wrote (`APPn`), or needed to decode. Of the second
/// kind `APP0` (JFIF), `APP14` (Adobe's colour transform) and colour profiles matter to the picture.
fn jpeg(file: &[u8]) -> Option<Vec<u8>> {
    let mut rest = file.strip_prefix(b"\xff\xd8")?;
    let mut out = b"\xff\xd8".to_vec();
    let mut dropped = false;
    loop {
        let marker = *rest.get(1).filter(|_| rest.first() == Some(&0xff))?;
        if marker == 0xda {
            out.extend_from_slice(rest);
            return dropped.then_some(out);
        }
        let length = usize::from(u16::from_be_bytes(rest.get(2..4)?.try_into().ok()?));
        let (segment, after) = rest.split_at_checked(length.checked_add(2).filter(|n| *n >= 4)?)?;
        let profile = marker == 0xe2 && segment.get(4..).is_some_and(|s| s.starts_with(b"ICC_PROFILE\0"));
        if marker == 0xfe || ((0xe1..=0xef).contains(&marker) && marker != 0xee && !profile) {
            dropped = true;
        } else {
            out.extend_from_slice(segment);
        }
        rest = after;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunk(kind: &[u8; 4], data: &[u8]) -> Vec<u8> {
        // Checksums are carried over, not looked at.
        [&(data.len() as u32).to_be_bytes()[..], kind, data, &[1, 2, 3, 4]].concat()
    }

    fn segment(marker: u8, data: &[u8]) -> Vec<u8> {
        [&[0xff, marker][..], &(data.len() as u16 + 2).to_be_bytes(), data].concat()
    }

    #[test]
    fn words_go_and_the_picture_stays() {
        let picture = |extra: &[Vec<u8>]| {
            [SIGNATURE.to_vec(), chunk(b"IHDR", &[7; 13]), extra.concat(), chunk(b"IDAT", b"pixels"), chunk(b"IEND", b"")].concat()
        };
        let plain = picture(&[]);
        assert_eq!(without_metadata(&plain), plain);
        let talking = picture(&[
            chunk(b"tEXt", b"Author\0A CAD program (somebody)"),
            chunk(b"iTXt", b"x"),
            chunk(b"eXIf", b"MM"),
            chunk(b"tIME", &[0; 7]),
        ]);
        assert_eq!(without_metadata(&talking), plain);
    }

    #[test]
    fn a_jpeg_keeps_what_its_pixels_need() {
        let picture = |extra: &[Vec<u8>]| {
            let needed = [segment(0xe0, b"JFIF\0"), segment(0xe2, b"ICC_PROFILE\0p"), segment(0xee, b"Adobe"), segment(0xdb, &[9; 65])];
            [b"\xff\xd8".to_vec(), needed.concat(), extra.concat(), segment(0xda, &[1]), b"pixels\xff\xd9".to_vec()].concat()
        };
        let plain = picture(&[]);
        assert_eq!(without_metadata(&plain), plain);
        let talking = picture(&[segment(0xe1, b"Exif\0\0somebody"), segment(0xfe, b"a remark"), segment(0xed, b"Photoshop")]);
        assert_eq!(without_metadata(&talking), plain);
    }

    #[test]
    fn other_and_broken_files_stay_as_they_came() {
        let cut = [SIGNATURE.to_vec(), chunk(b"tEXt", b"Author\0x"), vec![0, 0, 1]].concat();
        let endless = [SIGNATURE.to_vec(), vec![255; 12]].concat();
        let short = [b"\xff\xd8".to_vec(), segment(0xfe, b"x"), vec![0xff, 0xe1, 0, 0, 1]].concat();
        let cut_jpeg = [b"\xff\xd8".to_vec(), segment(0xfe, b"x"), vec![0xff, 0xe1, 9]].concat();
        for file in [&b""[..], b"png", b"ISO-10303-21;", b"\xff\xd8", SIGNATURE, &cut, &endless, &short, &cut_jpeg] {
            assert_eq!(without_metadata(file), file);
        }
    }
}
