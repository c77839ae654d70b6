//! Feeding an FFmpeg audio encoder whose packets go into one stream of an output.

use crate::{Error, Result};
use ffmpeg_next as ff;
use std::path::{Path, PathBuf};

/// An open mono encoder.
pub(crate) struct AudioEncoder {
    path: PathBuf,
    encoder: ff::encoder::audio::Encoder,
    stream: usize,
    rate: u32,
    next_pts: i64,
}

impl AudioEncoder {
    /// Opens `codec` and adds its stream to `output`.
    pub(crate) fn open(
        path: &Path,
        output: &mut ff::format::context::Output,
        codec: &str,
        rate: u32,
        format: ff::format::Sample,
        bit_rate: Option<usize>,
    ) -> Result<Self> {
        let found = ff::encoder::find_by_name(codec)
            .ok_or_else(|| Error::Unsupported { path: path.into(), what: format!("this FFmpeg has no encoder “{codec}”") })?;
        let fail = || Error::write(path, "could not open the audio encoder");
        let mut a = ff::codec::Context::new_with_codec(found).encoder().audio().map_err(fail())?;
        a.set_rate(rate as i32);
        a.set_format(format);
        a.set_channel_layout(ff::ChannelLayout::MONO);
        a.set_time_base(ff::Rational(1, rate as i32));
        if let Some(b) = bit_rate {
            a.set_bit_rate(b);
        }
        if output.format().flags().contains(ff::format::Flags::GLOBAL_HEADER) {
            a.set_flags(ff::codec::Flags::GLOBAL_HEADER);
        }
        let encoder = a.open_as(found).map_err(fail())?;
        let mut stream = output.add_stream_with(encoder.as_ref()).map_err(fail())?;
        stream.set_time_base(ff::Rational(1, rate as i32));
        Ok(Self { path: path.into(), encoder, stream: stream.index(), rate, next_pts: 0 })
    }

    /// Samples that the encoder wants at a time.
    pub(crate) fn frame_size(&self) -> usize {
        match self.encoder.frame_size() as usize {
            0 => 4096,
            n => n,
        }
    }

    /// Samples given so far.
    pub(crate) fn position(&self) -> i64 {
        self.next_pts
    }

    /// Encodes a frame that `fill` fills with its plane of `samples` samples.
    pub(crate) fn encode<T: ff::frame::audio::Sample>(
        &mut self,
        output: &mut ff::format::context::Output,
        samples: usize,
        fill: impl FnOnce(&mut [T]),
    ) -> Result<()> {
        let mut frame = ff::frame::Audio::new(self.encoder.format(), samples, ff::ChannelLayout::MONO);
        frame.set_rate(self.rate);
        frame.set_pts(Some(self.next_pts));
        fill(frame.plane_mut(0));
        self.next_pts += samples as i64;
        self.encoder.send_frame(&frame).map_err(Error::write(&self.path, "could not encode"))?;
        self.drain(output)
    }

    /// Writes what the encoder still holds.
    pub(crate) fn finish(&mut self, output: &mut ff::format::context::Output) -> Result<()> {
        self.encoder.send_eof().map_err(Error::write(&self.path, "could not encode"))?;
        self.drain(output)
    }

    fn drain(&mut self, output: &mut ff::format::context::Output) -> Result<()> {
        let target = output.stream(self.stream).map_or(ff::Rational(1, 1), |s| s.time_base());
        let mut packet = ff::Packet::empty();
        while self.encoder.receive_packet(&mut packet).is_ok() {
            packet.set_stream(self.stream);
            packet.rescale_ts(ff::Rational(1, self.rate as i32), target);
            packet.write_interleaved(output).map_err(Error::write(&self.path, "could not write"))?;
        }
        Ok(())
    }
}
