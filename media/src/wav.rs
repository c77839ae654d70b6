//! Mono 16-bit WAV as it is recorded: appended without a final header, mended on reading.

use crate::{Error, Result};
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

const HEADER: usize = 44;
const BYTES: u64 = 2;

fn header(rate: u32, data_bytes: u32) -> [u8; HEADER] {
    let mut h = [0; HEADER];
    let mut put = |at: usize, b: &[u8]| h[at..at + b.len()].copy_from_slice(b);
    put(0, b"RIFF");
    put(4, &data_bytes.saturating_add(36).to_le_bytes());
    put(8, b"WAVEfmt ");
    put(16, &16_u32.to_le_bytes());
    put(20, &1_u16.to_le_bytes());
    put(22, &1_u16.to_le_bytes());
    put(24, &rate.to_le_bytes());
    put(28, &(rate.saturating_mul(BYTES as u32)).to_le_bytes());
    put(32, &(BYTES as u16).to_le_bytes());
    put(34, &16_u16.to_le_bytes());
    put(36, b"data");
    put(40, &data_bytes.to_le_bytes());
    h
}

/// Appends samples; each call reaches the system at once, so that a crash loses nothing of it.
pub struct WavWriter {
    path: PathBuf,
    file: File,
    samples: u64,
    rate: u32,
    buf: Vec<u8>,
}

impl WavWriter {
    /// Creates the file; it must not exist.
    pub fn create(path: &Path, rate: u32) -> Result<Self> {
        let mut file = OpenOptions::new().write(true).create_new(true).open(path).map_err(Error::io(path, "could not create"))?;
        file.write_all(&header(rate, u32::MAX)).map_err(Error::io(path, "could not write"))?;
        Ok(Self { path: path.into(), file, samples: 0, rate, buf: Vec::new() })
    }

    /// Appends samples.
    pub fn write(&mut self, samples: &[i16]) -> Result<()> {
        self.buf.clear();
        self.buf.extend(samples.iter().flat_map(|s| s.to_le_bytes()));
        self.file.write_all(&self.buf).map_err(Error::io(&self.path, "could not write"))?;
        self.samples += samples.len() as u64;
        Ok(())
    }

    /// Samples written.
    #[must_use]
    pub fn samples(&self) -> u64 {
        self.samples
    }

    /// Writes the right sizes into the header and closes.
    pub fn finish(self) -> Result<u64> {
        mend(&self.path, &self.file, self.rate, self.samples)?;
        Ok(self.samples)
    }
}

fn mend(path: &Path, file: &File, rate: u32, samples: u64) -> Result<()> {
    let bytes = u32::try_from(samples * BYTES).unwrap_or(u32::MAX);
    file.write_all_at(&header(rate, bytes), 0).map_err(Error::io(path, "could not write"))
}

/// Reads samples by position; trusts the file's length, not its header.
pub struct WavReader {
    path: PathBuf,
    file: File,
    samples: u64,
    rate: u32,
}

impl WavReader {
    /// Opens a file that [`WavWriter`] wrote, finished or not.
    pub fn open(path: &Path) -> Result<Self> {
        let file = File::open(path).map_err(Error::io(path, "could not open"))?;
        let len = file.metadata().map_err(Error::io(path, "could not look at"))?.len();
        let mut h = [0; HEADER];
        if len < HEADER as u64 {
            return Err(Error::Truncated { path: path.into(), detail: "it ends inside its header".into() });
        }
        file.read_exact_at(&mut h, 0).map_err(Error::io(path, "could not read"))?;
        let rate = u32::from_le_bytes([h[24], h[25], h[26], h[27]]);
        if h[..4] != header(rate, 0)[..4] || h[8..24] != header(rate, 0)[8..24] || h[34..40] != header(rate, 0)[34..40] || rate == 0 {
            return Err(Error::Damaged { path: path.into(), detail: "its header is not that of a mono 16-bit WAV".into() });
        }
        Ok(Self { path: path.into(), file, samples: (len - HEADER as u64) / BYTES, rate })
    }

    /// Samples in the file.
    #[must_use]
    pub fn samples(&self) -> u64 {
        self.samples
    }

    /// Sample rate, Hz.
    #[must_use]
    pub fn rate(&self) -> u32 {
        self.rate
    }

    /// Reads the samples from `start` on into `to`; how many there were.
    pub fn read_at(&self, start: u64, to: &mut [i16]) -> Result<usize> {
        let n = (self.samples.saturating_sub(start)).min(to.len() as u64) as usize;
        let mut bytes = vec![0; n * BYTES as usize];
        self.file.read_exact_at(&mut bytes, HEADER as u64 + start * BYTES).map_err(Error::io(&self.path, "could not read"))?;
        for (s, b) in to.iter_mut().zip(bytes.chunks_exact(2)) {
            *s = i16::from_le_bytes([b[0], b[1]]);
        }
        Ok(n)
    }

    /// Largest absolute sample, 0 to 1.
    pub fn peak(&self) -> Result<f32> {
        let mut peak = 0_u16;
        let mut buf = vec![0; 1 << 16];
        let mut at = 0;
        loop {
            let n = self.read_at(at, &mut buf)?;
            if n == 0 {
                return Ok(f32::from(peak) / 32768.0);
            }
            peak = buf[..n].iter().map(|s| s.unsigned_abs()).fold(peak, u16::max);
            at += n as u64;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unfinished_file_reads_to_its_last_whole_sample() {
        let dir = tempfile::tempdir().unwrap();
        let p = dir.path().join("a.wav");
        let mut w = WavWriter::create(&p, 44_100).unwrap();
        w.write(&[1, -2, 300]).unwrap();
        w.write(&[-32768]).unwrap();
        let whole = std::fs::read(&p).unwrap();
        std::fs::write(&p, &whole[..whole.len() - 1]).unwrap();
        let r = WavReader::open(&p).unwrap();
        let mut got = [0; 9];
        assert_eq!((r.rate(), r.samples(), r.read_at(1, &mut got).unwrap()), (44_100, 3, 2));
        assert_eq!(&got[..2], &[-2, 300]);
    }

    #[test]
    fn a_finished_file_is_an_ordinary_wav() {
        let dir = tempfile::tempdir().unwrap();
        let p = dir.path().join("a.wav");
        let mut w = WavWriter::create(&p, 48_000).unwrap();
        w.write(&[0, 16_384, -32_768]).unwrap();
        assert_eq!(w.finish().unwrap(), 3);
        let b = std::fs::read(&p).unwrap();
        assert_eq!(u32::from_le_bytes([b[40], b[41], b[42], b[43]]), 6);
        assert_eq!(u32::from_le_bytes([b[4], b[5], b[6], b[7]]) as usize, b.len() - 8);
        assert_eq!(WavReader::open(&p).unwrap().peak().unwrap(), 1.0);
    }

    #[test]
    fn other_files_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let p = dir.path().join("a.wav");
        std::fs::write(&p, b"RIFF").unwrap();
        assert!(matches!(WavReader::open(&p), Err(Error::Truncated { .. })));
        std::fs::write(&p, [7; 100]).unwrap();
        assert!(matches!(WavReader::open(&p), Err(Error::Damaged { .. })));
    }
}
