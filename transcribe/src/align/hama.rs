//! Reads `.hama` weight packages, the format of the phone recogniser's weights.
//!
//! Little-endian: `HAMAPK`, version (1), kind, tensor count (u32); then a table of name
//! (u16 length), element type, rank, dimensions (u32 each), offset and size (u64 each); padded to
//! 16 bytes; then the data. A file from the outside is bounded and never indexed unchecked.

use crate::{Error, Result};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

const MAX_BYTES: u64 = 256 << 20;
const MAX_TENSORS: usize = 4096;

/// A tensor as 32-bit floats.
#[derive(Debug, Clone)]
pub(super) struct Tensor {
    pub dims: Vec<usize>,
    pub data: Vec<f32>,
}

/// The tensors of a package.
pub(super) struct Package {
    path: PathBuf,
    tensors: HashMap<String, Tensor>,
}

struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    fn take(&mut self, n: usize) -> Option<&'a [u8]> {
        let end = self.at.checked_add(n)?;
        let s = self.bytes.get(self.at..end)?;
        self.at = end;
        Some(s)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    fn u8(&mut self) -> Option<u8> {
        self.array::<1>().map(|b| b[0])
    }

    fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    fn u32(&mut self) -> Option<usize> {
        usize::try_from(u32::from_le_bytes(self.array()?)).ok()
    }

    fn u64(&mut self) -> Option<usize> {
        usize::try_from(u64::from_le_bytes(self.array()?)).ok()
    }
}

impl Package {
    /// Reads a package of the given kind (2: the phone recogniser).
    pub fn read(path: &Path, kind: u8) -> Result<Self> {
        let bytes = redline_schemas::fsio::read_limited(path, MAX_BYTES)?;
        let tensors = parse(&bytes, kind).ok_or_else(|| Error::ModelUnusable {
            path: path.into(),
            message: "not a whole package of weights of this kind; fetch it again with scripts/fetch_models.py".into(),
        })?;
        Ok(Self { path: path.into(), tensors })
    }

    /// Takes a tensor out, which must have these dimensions.
    pub fn take(&mut self, name: &str, dims: &[usize]) -> Result<Vec<f32>> {
        let bad = |message| Error::ModelUnusable { path: self.path.clone(), message };
        let t = self.tensors.remove(name).ok_or_else(|| bad(format!("has no tensor “{name}”")))?;
        if t.dims != dims {
            return Err(bad(format!("tensor “{name}” is {:?}, not {dims:?}", t.dims)));
        }
        Ok(t.data)
    }
}

fn parse(bytes: &[u8], kind: u8) -> Option<HashMap<String, Tensor>> {
    struct Entry {
        name: String,
        half: bool,
        dims: Vec<usize>,
        offset: usize,
        size: usize,
    }
    let mut c = Cursor { bytes, at: 0 };
    if c.take(6)? != b"HAMAPK" || c.u8()? != 1 || c.u8()? != kind {
        return None;
    }
    let count = c.u32()?;
    if count > MAX_TENSORS {
        return None;
    }
    let mut entries = Vec::with_capacity(count);
    for _ in 0..count {
        let n = usize::from(c.u16()?);
        let name = String::from_utf8(c.take(n)?.to_vec()).ok()?;
        let half = match c.u8()? {
            0 => false,
            1 => true,
            _ => return None,
        };
        let rank = usize::from(c.u8()?);
        let dims = (0..rank).map(|_| c.u32()).collect::<Option<Vec<_>>>()?;
        entries.push(Entry { name, half, dims, offset: c.u64()?, size: c.u64()? });
    }
    let data = bytes.get(c.at.next_multiple_of(16)..)?;
    entries
        .into_iter()
        .map(|e| {
            let raw = data.get(e.offset..e.offset.checked_add(e.size)?)?;
            let elements = e.dims.iter().try_fold(1_usize, |a, &d| a.checked_mul(d))?;
            let width = if e.half { 2 } else { 4 };
            if elements.checked_mul(width)? != raw.len() {
                return None;
            }
            let values = if e.half {
                raw.chunks_exact(2).map(|b| half::f16::from_le_bytes([b[0], b[1]]).to_f32()).collect()
            } else {
                raw.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()
            };
            Some((e.name, Tensor { dims: e.dims, data: values }))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package() -> Vec<u8> {
        let mut b = b"HAMAPK\x01\x02\x02\0\0\0".to_vec();
        let mut entry = |name: &str, dtype: u8, dims: &[u32], offset: u64, size: u64| {
            b.extend((name.len() as u16).to_le_bytes());
            b.extend(name.as_bytes());
            b.extend([dtype, dims.len() as u8]);
            dims.iter().for_each(|d| b.extend(d.to_le_bytes()));
            b.extend(offset.to_le_bytes());
            b.extend(size.to_le_bytes());
        };
        entry("a", 1, &[2], 0, 4);
        entry("b", 0, &[1, 1], 16, 4);
        b.resize(b.len().next_multiple_of(16), 0);
        b.extend([0x00, 0x3c, 0x00, 0xc0]);
        b.resize(b.len() + 12, 0);
        b.extend(2.5_f32.to_le_bytes());
        b
    }

    #[test]
    fn halves_and_floats_are_read() {
        let t = parse(&package(), 2).unwrap();
        assert_eq!(t["a"].data, [1.0, -2.0]);
        assert_eq!((t["b"].dims.as_slice(), t["b"].data.as_slice()), ([1, 1].as_slice(), [2.5].as_slice()));
    }

    #[test]
    fn every_truncation_and_another_kind_is_refused() {
        let whole = package();
        for n in 0..whole.len() {
            assert!(parse(&whole[..n], 2).is_none(), "cut at {n}");
        }
        assert!(parse(&whole, 0).is_none());
    }
}
