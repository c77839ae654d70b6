//! Tags of a media file: title, author, place and the like.

use crate::Result;
use crate::open::open;
use std::path::Path;

/// The tags of the container and of its streams, by name.
pub fn tags(path: &Path) -> Result<Vec<(String, String)>> {
    let input = open(path)?;
    let pairs = |d: ffmpeg_next::DictionaryRef<'_>| d.iter().map(|(k, v)| (k.to_owned(), v.to_owned())).collect::<Vec<_>>();
    let mut all = pairs(input.metadata());
    for s in input.streams() {
        all.extend(pairs(s.metadata()));
    }
    Ok(all)
}
