//! X11 through shared memory: a hundredth of the cost of an image over the socket.

use super::x11::{Target, connect, root_area};
use super::{Canvas, FrameSource, Grab, cursor, no_screen};
use crate::Result;
use crate::clock::monotonic_ns;
use crate::options::Source;
use redline_media::PixelOrder;
use redline_schemas::coords::Rect;
use std::os::fd::{FromRawFd, OwnedFd};
use x11rb::connection::Connection;
use x11rb::protocol::Event;
use x11rb::protocol::randr::{ConnectionExt as _, NotifyMask};
use x11rb::protocol::shm::{ConnectionExt as _, Seg};
use x11rb::protocol::xfixes::ConnectionExt as _;
use x11rb::protocol::xproto::{ImageFormat, ImageOrder, Window};
use x11rb::rust_connection::RustConnection;

/// Memory that the X server writes pictures into.
struct Shared {
    seg: Seg,
    memory: *mut libc::c_void,
    bytes: usize,
}

// The mapping is reached through `&mut ShmSource` only.
unsafe impl Send for Shared {}

impl Shared {
    fn new(conn: &RustConnection, bytes: usize) -> Result<Self> {
        let os = || no_screen(std::io::Error::last_os_error());
        // SAFETY: plain system calls; the descriptor is owned from here on, and a failed mapping is checked for.
        let (fd, memory) = unsafe {
            let raw = libc::memfd_create(c"redline-screen".as_ptr(), libc::MFD_CLOEXEC);
            if raw < 0 {
                return Err(os());
            }
            let fd = OwnedFd::from_raw_fd(raw);
            if libc::ftruncate(raw, bytes as libc::off_t) != 0 {
                return Err(os());
            }
            (fd, libc::mmap(std::ptr::null_mut(), bytes, libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED, raw, 0))
        };
        if memory == libc::MAP_FAILED {
            return Err(os());
        }
        let seg = conn.generate_id().map_err(no_screen)?;
        let s = Self { seg, memory, bytes };
        conn.shm_attach_fd(seg, fd, false).map_err(no_screen)?.check().map_err(no_screen)?;
        Ok(s)
    }

    fn pixels(&mut self, bytes: usize) -> &mut [u8] {
        // SAFETY: `memory` maps `self.bytes` bytes for as long as `self` lives; the server writes only
        // while a request of ours is outstanding, and none is while this borrow lives.
        unsafe { std::slice::from_raw_parts_mut(self.memory.cast(), bytes.min(self.bytes)) }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: mapped in `new`, unmapped once.
        unsafe { libc::munmap(self.memory, self.bytes) };
    }
}

/// Pictures through MIT-SHM, the pointer through XFixes.
pub(crate) struct ShmSource {
    conn: RustConnection,
    root: Window,
    screen: Rect,
    target: Target,
    area: Rect,
    shared: Shared,
    cursor: bool,
}

impl ShmSource {
    pub(crate) fn open(source: &Source, with_cursor: bool) -> Result<Self> {
        let (conn, number) = connect()?;
        let setup = conn.setup();
        let root = setup.roots.get(number).ok_or_else(|| no_screen("the display has no screen"))?;
        let bits = setup.pixmap_formats.iter().find(|f| f.depth == root.root_depth).map(|f| f.bits_per_pixel);
        if bits != Some(32) || setup.image_byte_order != ImageOrder::LSB_FIRST {
            return Err(no_screen(format!("the display has depth {}; 24 or 32 with little-endian pixels is needed", root.root_depth)));
        }
        let root = root.root;
        let v = conn.shm_query_version().map_err(no_screen)?.reply().map_err(no_screen)?;
        if (v.major_version, v.minor_version) < (1, 2) {
            return Err(no_screen("the display shares no memory by file descriptor"));
        }
        if with_cursor {
            cursor::init(&conn)?;
        }
        // Without RandR a resize is noticed when a picture fails.
        let _ = conn.randr_query_version(1, 5).ok().and_then(|c| c.reply().ok());
        let _ = conn.randr_select_input(root, NotifyMask::SCREEN_CHANGE);
        let screen = root_area(&conn, root)?;
        let target = Target::find(&conn, root, source)?;
        let area = target.area(&conn, root, screen)?;
        let shared = Shared::new(&conn, screen.width as usize * screen.height as usize * 4)?;
        Ok(Self { conn, root, screen, target, area, shared, cursor: with_cursor })
    }

    /// Notices a resized screen.
    fn look_for_changes(&mut self) -> Result<()> {
        let mut changed = false;
        while let Some(e) = self.conn.poll_for_event().map_err(no_screen)? {
            changed |= matches!(e, Event::RandrScreenChangeNotify(_));
        }
        if changed { self.measure() } else { Ok(()) }
    }

    fn measure(&mut self) -> Result<()> {
        self.screen = root_area(&self.conn, self.root)?;
        let bytes = self.screen.width as usize * self.screen.height as usize * 4;
        if bytes > self.shared.bytes {
            let old = std::mem::replace(&mut self.shared, Shared::new(&self.conn, bytes)?);
            let _ = self.conn.shm_detach(old.seg);
        }
        self.area = self.target.area(&self.conn, self.root, self.screen)?;
        Ok(())
    }
}

impl FrameSource for ShmSource {
    fn grab(&mut self) -> Result<Grab<'_>> {
        self.look_for_changes()?;
        if self.target.is_window() {
            self.area = self.target.area(&self.conn, self.root, self.screen)?;
        }
        let a = self.area;
        let asked_ns = monotonic_ns();
        // Both requests travel together, so the pointer is that of the picture's moment.
        let image = self.conn.shm_get_image(
            self.root,
            a.x as i16,
            a.y as i16,
            a.width as u16,
            a.height as u16,
            !0,
            ImageFormat::Z_PIXMAP.into(),
            self.shared.seg,
            0,
        );
        let image = image.map_err(no_screen)?;
        let pointer = if self.cursor { Some(self.conn.xfixes_get_cursor_image().map_err(no_screen)?) } else { None };
        let image = image.reply();
        let got_ns = monotonic_ns();
        let pointer = pointer.and_then(|p| p.reply().ok());
        if let Err(e) = image {
            // The screen may have shrunk before its event came.
            self.measure()?;
            return Err(no_screen(e));
        }
        let bytes = a.width as usize * a.height as usize * 4;
        let mut canvas = Canvas {
            pixels: self.shared.pixels(bytes),
            stride: a.width as usize * 4,
            width: a.width,
            height: a.height,
            order: PixelOrder::Bgrx,
            area: a,
        };
        if let Some(p) = &pointer {
            cursor::blend(&mut canvas, p);
        }
        Ok(Grab { canvas, asked_ns, got_ns })
    }

    fn area(&self) -> Rect {
        self.area
    }

    fn backend(&self) -> &'static str {
        "x11-shm"
    }

    fn title(&self) -> Option<String> {
        match &self.target {
            Target::Window(_, t) => t.clone(),
            _ => None,
        }
    }
}
