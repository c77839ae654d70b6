//! What can be said of a STEP file (ISO 10303-21) without reading it.

use crate::{Error, Result};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

/// The words that end every STEP file.
const END: &str = "END-ISO-10303-21";

/// Bytes at the end in which they are looked for: comments and line ends may follow.
const TAIL: u64 = 1024;

/// Whether the file lacks its end, as one does that was cut off on its way.
pub fn is_cut_off(path: &Path) -> Result<bool> {
    let tail = || -> std::io::Result<Vec<u8>> {
        let (mut f, mut tail) = (File::open(path)?, Vec::new());
        let len = f.metadata()?.len();
        f.seek(SeekFrom::Start(len.saturating_sub(TAIL)))?;
        f.take(TAIL).read_to_end(&mut tail)?;
        Ok(tail)
    };
    let tail = tail().map_err(Error::io(path, "could not read"))?;
    Ok(!String::from_utf8_lossy(&tail).contains(END))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_whole_when_its_end_is_there() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.step");
        let whole = format!("ISO-10303-21;\n{}ENDSEC;\nEND-ISO-10303-21;\r\n", "#1=POINT(0.,0.);\n".repeat(1000));
        for (text, cut) in [(&whole[..], false), (&whole[..whole.len() - 3], false), (&whole[..whole.len() - 9], true), ("", true)] {
            std::fs::write(&path, text).unwrap();
            assert_eq!(is_cut_off(&path).unwrap(), cut, "{}", text.len());
        }
        assert!(is_cut_off(&dir.path().join("none")).unwrap_err().to_string().contains("none"));
    }
}
