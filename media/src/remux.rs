//! The same compressed pictures in a new file.

use crate::open::open;
use crate::probe::{best, probe_opened};
use crate::{Error, Result};
use ffmpeg_next as ff;
use std::path::Path;

/// Copies video and (AAC) audio into an MP4 with its index in front, without encoding anew.
///
/// The video's first picture gets PTS 0; the audio keeps its distance to it.
pub fn remux(from: &Path, to: &Path) -> Result<()> {
    let mut input = open(from)?;
    let info = probe_opened(from, &input)?;
    let origin_ns = info.need_video()?.start_ns;
    let mut output = ff::format::output_as(to, "mp4").map_err(Error::write(to, "could not create"))?;
    // Input stream → output stream and the time to take off, in the input's time base.
    let mut map = vec![None; input.nb_streams() as usize];
    for kind in [ff::media::Type::Video, ff::media::Type::Audio] {
        let Some(source) = best(&input, kind) else { continue };
        let mut target = output.add_stream(ff::encoder::find(ff::codec::Id::None)).map_err(Error::write(to, "could not write"))?;
        target.set_parameters(source.parameters());
        target.set_time_base(source.time_base());
        target.set_avg_frame_rate(source.avg_frame_rate());
        // SAFETY: the stream was just made; a tag of 0 lets the muxer choose its own.
        unsafe { (*target.parameters().as_mut_ptr()).codec_tag = 0 };
        let base = source.time_base();
        let ns = ff::Rational(1, 1_000_000_000);
        let shift = ff::Rescale::rescale(&origin_ns, ns, base);
        map[source.index()] = Some((target.index(), base, shift));
    }
    let mut options = ff::Dictionary::new();
    options.set("movflags", "+faststart");
    // Audio that starts before the video (its encoder's delay) goes into an edit list, not onto the video's clock.
    options.set("avoid_negative_ts", "disabled");
    output.write_header_with(options).map_err(Error::write(to, "could not write"))?;
    let mut packet = ff::Packet::empty();
    loop {
        match packet.read(&mut input) {
            Ok(()) => {}
            Err(ff::Error::Eof) => break,
            Err(e) => return Err(Error::read(from, "reading its frames")(e)),
        }
        let Some(&Some((stream, base, shift))) = map.get(packet.stream()) else { continue };
        let target = output.stream(stream).map_or(base, |s| s.time_base());
        packet.set_pts(packet.pts().map(|t| t - shift));
        packet.set_dts(packet.dts().map(|t| t - shift));
        packet.rescale_ts(base, target);
        packet.set_stream(stream);
        packet.set_position(-1);
        packet.write_interleaved(&mut output).map_err(Error::write(to, "could not write"))?;
    }
    output.write_trailer().map_err(Error::write(to, "could not write"))
}
