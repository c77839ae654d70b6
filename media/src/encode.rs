//! H.264 into a file that a crash leaves readable.

use crate::{Error, Result, YuvPicture};
use ffmpeg_next as ff;
use std::path::{Path, PathBuf};

/// The longest stretch of video, in microseconds, that a crash can take from the file.
const FRAGMENT_US: &str = "200000";

/// How to encode.
#[derive(Debug, Clone)]
pub struct EncodeSettings {
    /// Width, pixels, even.
    pub width: u32,
    /// Height, pixels, even.
    pub height: u32,
    /// Frames per second.
    pub fps: u32,
    /// x264's speed preset.
    pub preset: String,
    /// x264's constant rate factor: smaller is better and larger.
    pub crf: u8,
}

impl EncodeSettings {
    /// Preset that costs little and keeps CAD lines sharp.
    pub const DEFAULT_PRESET: &str = "veryfast";
    /// Quality at which small text in a CAD window stays readable.
    pub const DEFAULT_CRF: u8 = 21;

    /// Defaults for a size and rate.
    #[must_use]
    pub fn new(width: u32, height: u32, fps: u32) -> Self {
        Self { width, height, fps, preset: Self::DEFAULT_PRESET.into(), crf: Self::DEFAULT_CRF }
    }
}

/// Whether this FFmpeg has an encoder, by its name.
#[must_use]
pub fn has_encoder(name: &str) -> bool {
    crate::init();
    ff::encoder::find_by_name(name).is_some()
}

/// Encodes pictures, one a slot of a constant-rate grid, into fragmented MP4.
pub struct ScreenEncoder {
    path: PathBuf,
    encoder: ff::encoder::video::Encoder,
    output: ff::format::context::Output,
    step: ff::Rational,
    packet: ff::Packet,
}

impl ScreenEncoder {
    /// Creates the file and opens the encoder.
    pub fn create(path: &Path, s: &EncodeSettings) -> Result<Self> {
        crate::init();
        let unsupported = |what: String| Error::Unsupported { path: path.into(), what };
        let codec = ff::encoder::find_by_name("libx264")
            .ok_or_else(|| unsupported("this FFmpeg has no H.264 encoder (libx264): install libavcodec with x264".into()))?;
        let fail = || Error::write(path, "could not open the H.264 encoder");
        let mut output = ff::format::output_as(path, "mp4").map_err(Error::write(path, "could not create"))?;
        let step = ff::Rational(1, s.fps.max(1) as i32);
        let mut v = ff::codec::Context::new_with_codec(codec).encoder().video().map_err(fail())?;
        v.set_width(s.width);
        v.set_height(s.height);
        v.set_format(ff::format::Pixel::YUV420P);
        v.set_time_base(step);
        v.set_frame_rate(Some(step.invert()));
        v.set_gop(2 * s.fps.max(1));
        v.set_max_b_frames(0);
        v.set_colorspace(ff::color::Space::BT709);
        v.set_color_range(ff::color::Range::MPEG);
        v.set_color_primaries(ff::color::Primaries::BT709);
        v.set_color_transfer_characteristic(ff::color::TransferCharacteristic::BT709);
        v.set_flags(ff::codec::Flags::GLOBAL_HEADER);
        let mut options = ff::Dictionary::new();
        options.set("preset", &s.preset);
        options.set("tune", "zerolatency");
        options.set("crf", &s.crf.to_string());
        // One thread: splitting a picture of this size costs more than it gains.
        options.set("threads", "1");
        let encoder = v.open_as_with(codec, options).map_err(fail())?;
        {
            let mut stream = output.add_stream_with(encoder.as_ref()).map_err(fail())?;
            stream.set_time_base(ff::Rational(1, 90_000));
            stream.set_avg_frame_rate(step.invert());
        }
        let mut mux = ff::Dictionary::new();
        mux.set("movflags", "empty_moov+default_base_moof");
        mux.set("frag_duration", FRAGMENT_US);
        mux.set("flush_packets", "1");
        output.write_header_with(mux).map_err(Error::write(path, "could not write"))?;
        Ok(Self { path: path.into(), encoder, output, step, packet: ff::Packet::empty() })
    }

    /// Encodes `picture` as frame `slot`; slots must rise.
    pub fn encode(&mut self, picture: &mut YuvPicture, slot: i64) -> Result<()> {
        picture.0.set_pts(Some(slot));
        self.encoder.send_frame(&picture.0).map_err(Error::write(&self.path, "could not encode"))?;
        self.drain()
    }

    fn drain(&mut self) -> Result<()> {
        let target = self.output.stream(0).map_or(self.step, |s| s.time_base());
        while self.encoder.receive_packet(&mut self.packet).is_ok() {
            self.packet.set_stream(0);
            if self.packet.duration() == 0 {
                self.packet.set_duration(1);
            }
            self.packet.rescale_ts(self.step, target);
            self.packet.write(&mut self.output).map_err(Error::write(&self.path, "could not write"))?;
        }
        Ok(())
    }

    /// Writes what is left and closes the file.
    pub fn finish(mut self) -> Result<()> {
        self.encoder.send_eof().map_err(Error::write(&self.path, "could not encode"))?;
        self.drain()?;
        self.output.write_trailer().map_err(Error::write(&self.path, "could not write"))
    }
}
