//! The finished video: constant rate, index in front, audio put onto the video's clock.

use crate::audio_encode::AudioEncoder;
use crate::{Error, Result, WavReader};
use ff::format::sample::Type;
use ffmpeg_next as ff;
use redline_schemas::time::{AudioClock, FrameGrid};
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

/// Audio to be muxed in.
pub struct MuxAudio<'a> {
    /// The samples.
    pub wav: &'a WavReader,
    /// When they were captured.
    pub clock: &'a AudioClock,
}

/// What was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MuxedVideo {
    /// Frames in the file.
    pub frames: u64,
    /// Whether the file has audio.
    pub has_audio: bool,
}

/// AAC at this many bits a second: speech without audible loss.
const AUDIO_BIT_RATE: usize = 96_000;

/// Rates that AAC has.
const AAC_RATES: [u32; 10] = [8_000, 11_025, 12_000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000, 96_000];

/// Bytes of `path` up to the end of the last whole fragment of an MP4.
///
/// A crash may leave half a fragment at the end; what comes before it is sound.
pub fn whole_fragments(path: &Path) -> Result<u64> {
    let mut f = std::fs::File::open(path).map_err(Error::io(path, "could not open"))?;
    let len = f.metadata().map_err(Error::io(path, "could not look at"))?.len();
    let (mut at, mut good) = (0_u64, 0_u64);
    let mut head = [0; 16];
    while at + 8 <= len {
        f.seek(SeekFrom::Start(at)).map_err(Error::io(path, "could not read"))?;
        let n = head.len().min((len - at) as usize);
        f.read_exact(&mut head[..n]).map_err(Error::io(path, "could not read"))?;
        let size = match u32::from_be_bytes([head[0], head[1], head[2], head[3]]) {
            1 if n == 16 => u64::from_be_bytes([head[8], head[9], head[10], head[11], head[12], head[13], head[14], head[15]]),
            s => u64::from(s),
        };
        if size < 8 || size > len - at {
            break;
        }
        at += size;
        // A `moof` without its `mdat` is of no use.
        if &head[4..8] != b"moof" {
            good = at;
        }
    }
    Ok(good)
}

/// Copies the frames of a [`crate::ScreenEncoder`] file to `to`, frame `i` at `grid`'s PTS, with audio.
pub fn finish_video(raw: &Path, to: &Path, grid: &FrameGrid, audio: Option<MuxAudio<'_>>) -> Result<MuxedVideo> {
    let mut input = crate::open::open(raw)?;
    let source = input.streams().best(ff::media::Type::Video).ok_or(Error::NoStream { path: raw.into(), kind: "video" })?;
    let (index, parameters) = (source.index(), source.parameters());
    let fps = ff::Rational(grid.fps_num as i32, grid.fps_den as i32);

    let mut output = ff::format::output_as(to, "mp4").map_err(Error::write(to, "could not create"))?;
    {
        let mut s = output.add_stream(ff::encoder::find(ff::codec::Id::None)).map_err(Error::write(to, "could not write"))?;
        s.set_parameters(parameters);
        s.set_time_base(ff::Rational(1, 90_000));
        s.set_avg_frame_rate(fps);
        // SAFETY: the stream was just made; a tag of 0 lets the muxer choose its own.
        unsafe { (*s.parameters().as_mut_ptr()).codec_tag = 0 };
    }
    let mut track = match &audio {
        Some(a) if a.wav.samples() > 0 && !a.clock.pieces.is_empty() => {
            let rate = if AAC_RATES.contains(&a.wav.rate()) { a.wav.rate() } else { 48_000 };
            let format = ff::format::Sample::F32(Type::Planar);
            let encoder = AudioEncoder::open(to, &mut output, "aac", rate, format, Some(AUDIO_BIT_RATE))?;
            Some(AudioTrack { encoder, resampler: Resampler::new(a.wav, a.clock, grid.first_t_ns, rate), rate })
        }
        _ => None,
    };
    let mut options = ff::Dictionary::new();
    options.set("movflags", "+faststart");
    output.write_header_with(options).map_err(Error::write(to, "could not write"))?;

    let target = output.stream(0).map_or(ff::Rational(1, 90_000), |s| s.time_base());
    let mut frames = 0_i64;
    let mut packet = ff::Packet::empty();
    loop {
        match packet.read(&mut input) {
            Ok(()) => {}
            Err(ff::Error::Eof) => break,
            Err(e) => return Err(Error::read(raw, "reading its frames")(e)),
        }
        if packet.stream() != index || packet.is_corrupt() || packet.size() == 0 {
            continue;
        }
        if let Some(t) = &mut track {
            t.advance(&mut output, grid.pts_ns(frames))?;
        }
        packet.set_stream(0);
        packet.set_position(-1);
        packet.set_pts(Some(frames));
        packet.set_dts(Some(frames));
        packet.set_duration(1);
        packet.rescale_ts(fps.invert(), target);
        packet.write_interleaved(&mut output).map_err(Error::write(to, "could not write"))?;
        frames += 1;
    }
    if frames == 0 {
        return Err(Error::Truncated { path: raw.into(), detail: "not one whole frame is in it".into() });
    }
    let has_audio = track.is_some();
    if let Some(mut t) = track {
        t.advance(&mut output, grid.pts_ns(frames))?;
        t.encoder.finish(&mut output)?;
    }
    output.write_trailer().map_err(Error::write(to, "could not write"))?;
    Ok(MuxedVideo { frames: frames as u64, has_audio })
}

struct AudioTrack<'a> {
    encoder: AudioEncoder,
    resampler: Resampler<'a>,
    rate: u32,
}

impl AudioTrack<'_> {
    /// Encodes up to `pts_ns`.
    fn advance(&mut self, output: &mut ff::format::context::Output, pts_ns: i64) -> Result<()> {
        let n = self.encoder.frame_size();
        let until = (i128::from(pts_ns) * i128::from(self.rate) / 1_000_000_000) as i64;
        while self.encoder.position() < until {
            let block = self.resampler.block(self.encoder.position(), n)?;
            self.encoder.encode(output, n, |plane: &mut [f32]| plane[..n].copy_from_slice(&block))?;
        }
        Ok(())
    }
}

/// Reads audio at session times: drift, offset and gaps of the device's clock taken out.
struct Resampler<'a> {
    wav: &'a WavReader,
    clock: &'a AudioClock,
    start_ns: i64,
    rate: u32,
}

impl<'a> Resampler<'a> {
    fn new(wav: &'a WavReader, clock: &'a AudioClock, start_ns: i64, rate: u32) -> Self {
        Self { wav, clock, start_ns, rate }
    }

    /// `n` samples from output sample `first` on; silence where nothing was captured.
    fn block(&self, first: i64, n: usize) -> Result<Vec<f32>> {
        let t = |i: i64| self.start_ns + (i128::from(i) * 1_000_000_000 / i128::from(self.rate)) as i64;
        let positions: Vec<Option<f64>> = (0..n as i64).map(|i| self.position(t(first + i))).collect();
        let known = positions.iter().flatten();
        let (lo, hi) = known.fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), p| (lo.min(*p), hi.max(*p)));
        if lo > hi {
            return Ok(vec![0.0; n]);
        }
        let base = (lo.floor() as i64 - 1).max(0) as u64;
        let mut raw = vec![0; (hi - lo).ceil().min(1e8) as usize + 5];
        let got = self.wav.read_at(base, &mut raw)?;
        let sample = |i: i64| -> f64 {
            let i = i - base as i64;
            if i >= 0 && (i as usize) < got { f64::from(raw[i as usize]) / 32768.0 } else { 0.0 }
        };
        let value = |p: f64| {
            // What was captured after a gap is not heard before it.
            let piece = self.clock.pieces.iter().rev().find(|piece| piece.first_sample as f64 <= p);
            let (first, end) =
                piece.map_or((0, i64::MAX), |piece| (piece.first_sample as i64, (piece.first_sample + piece.samples) as i64));
            cubic(&|i| if (first..end).contains(&i) { sample(i) } else { 0.0 }, p) as f32
        };
        Ok(positions.iter().map(|p| p.map_or(0.0, value)).collect())
    }

    /// The recorded sample at session time `t_ns`; `None` in gaps and outside.
    fn position(&self, t_ns: i64) -> Option<f64> {
        let p = self.clock.sample_at(t_ns)?;
        if p < 0.0 || p > self.wav.samples() as f64 {
            return None;
        }
        // In a gap the clock stays at the boundary: one sample there is not heard twice.
        let back = self.clock.t_ns_of_sample(p)?;
        ((back - t_ns).abs() <= 500_000_000 / i64::from(self.clock.sample_rate.max(1))).then_some(p)
    }
}

/// Cubic (Catmull-Rom) interpolation: flat to about a third of the rate, exact on whole samples.
fn cubic(at: &impl Fn(i64) -> f64, p: f64) -> f64 {
    let i = p.floor() as i64;
    let f = p - p.floor();
    let (a, b, c, d) = (at(i - 1), at(i), at(i + 1), at(i + 2));
    b + 0.5 * f * (c - a + f * (2.0 * a - 5.0 * b + 4.0 * c - d + f * (3.0 * (b - c) + d - a)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::WavWriter;
    use redline_schemas::time::AudioPiece;

    fn piece(first_sample: u64, samples: u64, t0_ns: i64, ppm: f64) -> AudioPiece {
        AudioPiece { first_sample, samples, t0_ns, ppm, residual_ns: 0, observations: 1 }
    }

    #[test]
    fn drift_offset_and_gaps_are_taken_out() {
        let dir = tempfile::tempdir().unwrap();
        let p = dir.path().join("a.wav");
        let mut w = WavWriter::create(&p, 48_000).unwrap();
        // A pulse every 4,800 samples; the device runs 500 ppm fast and loses 1 s in the middle.
        let samples: Vec<i16> = (0..96_000).map(|i| if i % 4_800 == 0 { 20_000 } else { 0 }).collect();
        w.write(&samples).unwrap();
        w.finish().unwrap();
        let wav = WavReader::open(&p).unwrap();
        let pieces = vec![piece(0, 48_000, 250_000_000, 500.0), piece(48_000, 48_000, 2_249_500_250, 500.0)];
        let clock = AudioClock { sample_rate: 48_000, latency_ns: 0, pieces };
        let r = Resampler::new(&wav, &clock, 0, 48_000);
        let out: Vec<f32> = (0..160).flat_map(|b| r.block(b * 1_024, 1_024).unwrap()).collect();
        for k in 0..20 {
            let t = clock.t_ns_of_sample(f64::from(k) * 4_800.0).unwrap() as f64 / 1e9 * 48_000.0;
            let around: f32 = out[t as usize - 2..t as usize + 3].iter().sum();
            assert!(around > 0.5, "pulse {k} is not at sample {t}");
        }
        // Interpolation rings a few samples around a pulse; further off there is nothing.
        let places: Vec<i64> =
            (0..20).map(|k| (clock.t_ns_of_sample(f64::from(k) * 4_800.0).unwrap() as f64 / 1e9 * 48_000.0) as i64).collect();
        let stray = (0..out.len()).find(|i| out[*i] != 0.0 && !places.iter().any(|p| (p - *i as i64).abs() <= 3));
        assert_eq!(stray, None, "nothing but the pulses");
        assert!(out[64_000..100_000].iter().all(|s| *s == 0.0), "the gap is silent");
    }

    #[test]
    fn half_a_fragment_at_the_end_is_left_out() {
        let dir = tempfile::tempdir().unwrap();
        let p = dir.path().join("v.mp4");
        let make = |kind: &[u8], n: u32| [&n.to_be_bytes()[..], kind, &vec![0; n as usize - 8]].concat();
        let whole = [make(b"ftyp", 24), make(b"moov", 100), make(b"moof", 40), make(b"mdat", 60)].concat();
        for tail in [make(b"moof", 40), make(b"moof", 40)[..13].to_vec(), vec![0; 3], [make(b"moof", 40), vec![0, 0, 1, 0, b'm']].concat()]
        {
            std::fs::write(&p, [whole.clone(), tail].concat()).unwrap();
            assert_eq!(whole_fragments(&p).unwrap(), whole.len() as u64);
        }
    }
}
