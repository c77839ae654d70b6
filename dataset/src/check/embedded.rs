//! Personal data inside models, pictures and media files.

use super::finding::{Findings, printable};
use super::manifests::without_path;
use super::personal::{Patterns, masked};
use super::rule::{MEDIA_TAGS, PICTURE_TAGS, STEP_AUTHOR};
use redline_schemas::{Error, fsio};
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

/// A STEP header ends before this, or it is none.
const MAX_STEP_HEADER: u64 = 1 << 20;

/// Pictures larger than this are not looked into.
const MAX_PICTURE: u64 = 64 << 20;

/// Words that programs put where an author belongs.
const NO_AUTHOR: [&str; 12] = [
    "",
    "author",
    "unknown",
    "none",
    "unspecified",
    "n/a",
    "not specified",
    "$",
    "open cascade",
    "freecad",
    "organization",
    "organisation",
];

/// EXIF fields that name a person, a place or one certain device.
const EXIF_TAGS: [exif::Tag; 8] = [
    exif::Tag::Artist,
    exif::Tag::Copyright,
    exif::Tag::CameraOwnerName,
    exif::Tag::BodySerialNumber,
    exif::Tag::LensSerialNumber,
    exif::Tag::GPSLatitude,
    exif::Tag::GPSLongitude,
    exif::Tag::MakerNote,
];

/// Keys of text chunks and media tags that name a person, a place or one certain device.
const TAG_KEYS: [&str; 10] = ["author", "artist", "owner", "copyright", "location", "gps", "composer", "performer", "serial", "publisher"];

fn says_who(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    TAG_KEYS.iter().any(|k| key.contains(k))
}

/// Author and organisation of a STEP file's header.
pub(super) fn step(f: &mut Findings, path: &Path) -> Result<(), Error> {
    let mut head = Vec::new();
    let file = File::open(path).map_err(Error::io(path, "could not open"))?;
    file.take(MAX_STEP_HEADER).read_to_end(&mut head).map_err(Error::io(path, "could not read"))?;
    let head = String::from_utf8_lossy(&head);
    let header = head.split("ENDSEC").next().unwrap_or_default();
    let Some(at) = header.find("FILE_NAME") else { return Ok(()) };
    // FILE_NAME(name, time, (authors), (organisations), …): each list is one level deep.
    for (what, list) in ["author", "organisation"].into_iter().zip(lists(&header[at..])) {
        for name in list {
            let name = name.trim();
            if !NO_AUTHOR.contains(&name.to_lowercase().as_str()) {
                f.add(STEP_AUTHOR, path, format!("{what} “{}”", masked(name)));
            }
        }
    }
    Ok(())
}

/// The strings of each nested list in `FILE_NAME(…)`.
fn lists(entity: &str) -> Vec<Vec<String>> {
    let (mut depth, mut all, mut text, mut comment) = (0_u32, Vec::<Vec<String>>::new(), None::<String>, false);
    let mut chars = entity.chars().peekable();
    while let Some(c) = chars.next() {
        if comment {
            comment = !(c == '*' && chars.next_if_eq(&'/').is_some());
            continue;
        }
        if let Some(t) = &mut text {
            if c != '\'' {
                t.push(c);
            } else if chars.next_if_eq(&'\'').is_some() {
                t.push('\'');
            } else if let (Some(t), 2, Some(list)) = (text.take(), depth, all.last_mut()) {
                list.push(t);
            }
            continue;
        }
        match c {
            '/' if chars.next_if_eq(&'*').is_some() => comment = true,
            '\'' => text = Some(String::new()),
            '(' => {
                depth += 1;
                if depth == 2 {
                    all.push(Vec::new());
                }
            }
            ')' if depth <= 1 => break,
            ')' => depth -= 1,
            _ => {}
        }
    }
    all
}

/// EXIF of any picture, and the text chunks of a PNG.
pub(super) fn picture(p: &Patterns, f: &mut Findings, path: &Path) -> Result<(), Error> {
    let len = std::fs::metadata(path).map_err(Error::io(path, "could not look at"))?.len();
    if len > MAX_PICTURE {
        f.add(PICTURE_TAGS, path, format!("larger than {MAX_PICTURE} bytes; its metadata was not looked at"));
        return Ok(());
    }
    let bytes = fsio::read_limited(path, MAX_PICTURE)?;
    // A picture without EXIF is an error to this reader, and fine here.
    if let Ok(e) = exif::Reader::new().read_from_container(&mut std::io::Cursor::new(&bytes)) {
        for field in e.fields() {
            let value = field.display_value().to_string();
            let empty = value.trim_matches(['"', ' ']).is_empty();
            if EXIF_TAGS.contains(&field.tag) && !empty {
                f.add(PICTURE_TAGS, path, format!("EXIF {}", field.tag));
            } else {
                p.bytes(f, path, None, value.as_bytes());
            }
        }
    }
    if bytes.starts_with(b"\x89PNG") {
        let mut decoder = png::Decoder::new(BufReader::new(std::io::Cursor::new(&bytes)));
        decoder.set_ignore_text_chunk(false);
        if let Ok(reader) = decoder.read_info() {
            let info = reader.info();
            let latin = info.uncompressed_latin1_text.iter().map(|t| (t.keyword.clone(), Some(t.text.clone())));
            let packed = info.compressed_latin1_text.iter().map(|t| (t.keyword.clone(), t.get_text().ok()));
            let utf8 = info.utf8_text.iter().map(|t| (t.keyword.clone(), t.get_text().ok()));
            for (key, text) in latin.chain(packed).chain(utf8) {
                tag(p, f, path, PICTURE_TAGS, &key, &text.unwrap_or_default());
            }
        }
    }
    Ok(())
}

/// Tags of a video or audio file. A file that can't be opened is another rule's finding.
pub(super) fn media(p: &Patterns, f: &mut Findings, path: &Path) {
    match redline_media::tags(path) {
        Ok(tags) => {
            for (key, value) in tags {
                tag(p, f, path, MEDIA_TAGS, &key, &value);
            }
        }
        Err(e) => tracing::debug!("{}: no tags: {}", path.display(), without_path(&e.to_string(), path)),
    }
}

fn tag(p: &Patterns, f: &mut Findings, path: &Path, rule: &'static super::Rule, key: &str, value: &str) {
    if says_who(key) && !value.trim().is_empty() {
        f.add(rule, path, format!("“{}”: “{}”", printable(key), masked(value.trim())));
    } else {
        p.bytes(f, path, None, value.as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn header_lists_are_read_with_comments_and_quotes() {
        let h = "FILE_NAME(/* name (x) */ 'a(''b'')', '2026', /* author */ ('Zeb','O''Zed'), (''), 'p', 's', '');";
        assert_eq!(lists(h), [vec!["Zeb".to_owned(), "O'Zed".to_owned()], vec![String::new()]]);
        assert!(lists("FILE_NAME('unfinished").is_empty());
        assert_eq!(lists("FILE_NAME('a','b',('x"), [Vec::<String>::new()]);
    }
}
