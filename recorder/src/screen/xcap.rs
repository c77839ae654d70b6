//! The portable way, through xcap: works where shared memory doesn't, but slowly.

use super::{Canvas, FrameSource, Grab, cursor, no_screen, x11};
use crate::Result;
use crate::clock::monotonic_ns;
use crate::options::Source;
use redline_media::PixelOrder;
use redline_schemas::coords::Rect;
use x11rb::protocol::xfixes::ConnectionExt as _;
use x11rb::rust_connection::RustConnection;

/// Pictures through xcap, the pointer through XFixes where the desktop is X11.
pub(crate) struct XcapSource {
    monitor: xcap::Monitor,
    /// The monitor's area, and the part of it that is recorded.
    whole: Rect,
    area: Rect,
    pixels: Vec<u8>,
    pointer: Option<RustConnection>,
}

// xcap's handles are numbers and names; its X11 connection is opened anew for each picture.
unsafe impl Send for XcapSource {}

fn area_of(m: &xcap::Monitor) -> Result<Rect> {
    Ok(Rect {
        x: m.x().map_err(no_screen)?,
        y: m.y().map_err(no_screen)?,
        width: m.width().map_err(no_screen)?,
        height: m.height().map_err(no_screen)?,
    })
}

impl XcapSource {
    pub(crate) fn open(source: &Source, with_cursor: bool) -> Result<Self> {
        let all = xcap::Monitor::all().map_err(no_screen)?;
        let mut areas = Vec::new();
        for m in all {
            areas.push((area_of(&m)?, m));
        }
        let wanted = match source {
            Source::PrimaryMonitor => areas.iter().position(|(_, m)| m.is_primary().unwrap_or(false)).or(Some(0)),
            Source::Monitor(name) => {
                let number = name.parse::<usize>().ok().and_then(|n| n.checked_sub(1));
                areas.iter().position(|(_, m)| m.name().is_ok_and(|n| n == *name)).or(number)
            }
            Source::Region(r) => areas.iter().position(|(a, _)| a.contains(r.x.into(), r.y.into())),
            Source::Window(_) => return Err(no_screen("xcap records monitors and regions here: use --capture shm for a window")),
        };
        let index = wanted.filter(|i| *i < areas.len()).ok_or_else(|| no_screen("no such monitor"))?;
        let (whole, monitor) = areas.swap_remove(index);
        let area = match source {
            Source::Region(r) => r.intersect(&whole).ok_or_else(|| no_screen("nothing of the region is on the screen"))?,
            _ => whole,
        };
        let pointer = with_cursor.then(|| x11::connect().ok().map(|(c, _)| c).filter(|c| cursor::init(c).is_ok())).flatten();
        Ok(Self { monitor, whole, area, pixels: Vec::new(), pointer })
    }
}

impl FrameSource for XcapSource {
    fn grab(&mut self) -> Result<Grab<'_>> {
        let a = self.area;
        let asked_ns = monotonic_ns();
        let image = if a == self.whole {
            self.monitor.capture_image()
        } else {
            self.monitor.capture_region((a.x - self.whole.x) as u32, (a.y - self.whole.y) as u32, a.width, a.height)
        };
        let got_ns = monotonic_ns();
        let image = image.map_err(no_screen)?;
        let (width, height) = image.dimensions();
        if a == self.whole && (width, height) != (a.width, a.height) {
            // The monitor changed its size.
            self.whole = area_of(&self.monitor)?;
            self.area = self.whole;
        }
        self.pixels = image.into_raw();
        let area = self.area;
        let mut canvas = Canvas { pixels: &mut self.pixels, stride: width as usize * 4, width, height, order: PixelOrder::Rgbx, area };
        let pointer = self.pointer.as_ref().and_then(|c| c.xfixes_get_cursor_image().ok()?.reply().ok());
        if let Some(p) = pointer {
            cursor::blend(&mut canvas, &p);
        }
        Ok(Grab { canvas, asked_ns, got_ns })
    }

    fn area(&self) -> Rect {
        self.area
    }

    fn backend(&self) -> &'static str {
        "xcap"
    }
}
