//! Opening media files, hostile ones included.

use crate::{Error, Result};
use ffmpeg_next as ff;
use std::path::Path;
use std::sync::Once;

/// Containers that are read. Playlist formats are left out: they open other files and addresses.
const FORMATS: &str = "mov,mp4,matroska,webm,avi,mpegts,mpeg,flv,asf,flac,wav,w64,ogg,mp3,aac,caf,aiff";

/// Starts FFmpeg once and silences its own log (its errors are reported as ours).
pub fn init() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // Only registers error texts on FFmpeg 5 and later; it cannot fail there.
        let _ = ff::init();
        ff::util::log::set_level(ff::util::log::Level::Quiet);
    });
}

/// Opens a file for demuxing.
pub(crate) fn open(path: &Path) -> Result<ff::format::context::Input> {
    init();
    let meta = std::fs::metadata(path).map_err(Error::io(path, "could not open"))?;
    if meta.is_dir() {
        return Err(not_media(path, "it is a folder"));
    }
    if !meta.is_file() {
        return Err(not_media(path, "it is not a regular file"));
    }
    if meta.len() == 0 {
        return Err(Error::Empty { path: path.into() });
    }
    std::fs::File::open(path).map_err(Error::io(path, "could not open"))?;
    let Some(name) = path.to_str() else {
        return Err(Error::Unsupported { path: path.into(), what: "its name is not valid UTF-8: rename it first".into() });
    };
    let mut options = ff::Dictionary::new();
    options.set("protocol_whitelist", "file");
    options.set("format_whitelist", FORMATS);
    // With "file:" a name such as "concat:…" stays a name.
    ff::format::input_with_dictionary(&format!("file:{name}"), options).map_err(|e| match e {
        ff::Error::InvalidData | ff::Error::Other { errno: ff::error::EINVAL } if looks_like_mp4(path) => {
            Error::Truncated { path: path.into(), detail: "it has no usable index (“moov” box)".into() }
        }
        ff::Error::InvalidData | ff::Error::Other { errno: ff::error::EINVAL } => not_media(path, "its format was not recognised"),
        ff::Error::Eof => Error::Truncated { path: path.into(), detail: "it ends inside its header".into() },
        e => Error::read(path, "opening it")(e),
    })
}

fn not_media(path: &Path, reason: &str) -> Error {
    Error::NotMedia { path: path.into(), reason: reason.into() }
}

fn looks_like_mp4(path: &Path) -> bool {
    use std::io::Read;
    let mut head = [0; 12];
    std::fs::File::open(path).and_then(|mut f| f.read_exact(&mut head)).is_ok() && &head[4..8] == b"ftyp"
}
