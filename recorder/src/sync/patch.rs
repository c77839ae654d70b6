//! The patch on the screen that lights up, and the injected mouse press on it.

use super::{Flash, Moment};
use crate::clock::monotonic_ns;
use crate::screen::no_screen;
use crate::{Result, SessionClock};
use redline_schemas::coords::Rect;
use std::time::Duration;
use x11rb::connection::Connection;
use x11rb::protocol::Event;
use x11rb::protocol::xproto::{self, ConnectionExt as _, CreateGCAux, CreateWindowAux, EventMask, WindowClass};
use x11rb::protocol::xtest::ConnectionExt as _;
use x11rb::rust_connection::RustConnection;

/// Strips of the patch.
pub const STRIPS: u16 = 16;
/// Time from one strip to the next: all of them take longer than a frame at 30 fps, so one picture falls between.
pub const STRIP_NS: i64 = 2_500_000;
/// How long the whole patch stays lit: a few frames.
const LIT_NS: i64 = 200_000_000;
const STRIP_WIDTH: u16 = 24;
const HEIGHT: u16 = 200;

/// A window of our own above all others.
pub struct Patch {
    conn: RustConnection,
    root: xproto::Window,
    window: xproto::Window,
    white: xproto::Gcontext,
    black: xproto::Gcontext,
    area: Rect,
}

impl Patch {
    /// Shows the dark patch near the top left of the display and puts the pointer on it.
    pub fn show() -> Result<Self> {
        let (conn, number) = x11rb::connect(None).map_err(no_screen)?;
        let screen = conn.setup().roots.get(number).ok_or_else(|| no_screen("the display has no screen"))?;
        let (root, depth, visual) = (screen.root, screen.root_depth, screen.root_visual);
        let (white_pixel, black_pixel) = (screen.white_pixel, screen.black_pixel);
        let area = Rect { x: 40, y: 40, width: u32::from(STRIPS * STRIP_WIDTH), height: HEIGHT.into() };
        let new = || -> std::result::Result<_, x11rb::errors::ReplyOrIdError> {
            let window = conn.generate_id()?;
            let aux = CreateWindowAux::new().background_pixel(black_pixel).override_redirect(1).event_mask(EventMask::EXPOSURE);
            let (x, y) = (area.x as i16, area.y as i16);
            conn.create_window(depth, window, root, x, y, area.width as u16, HEIGHT, 0, WindowClass::INPUT_OUTPUT, visual, &aux)?
                .check()?;
            let (white, black) = (conn.generate_id()?, conn.generate_id()?);
            conn.create_gc(white, window, &CreateGCAux::new().foreground(white_pixel).graphics_exposures(0))?.check()?;
            conn.create_gc(black, window, &CreateGCAux::new().foreground(black_pixel).graphics_exposures(0))?.check()?;
            conn.map_window(window)?.check()?;
            Ok((window, white, black))
        };
        let (window, white, black) = new().map_err(no_screen)?;
        while !matches!(conn.wait_for_event().map_err(no_screen)?, Event::Expose(_)) {}
        let patch = Self { conn, root, window, white, black, area };
        patch.point()?;
        Ok(patch)
    }

    /// Where it is, screen pixels.
    #[must_use]
    pub fn area(&self) -> Rect {
        self.area
    }

    /// The middle of strip `i`, screen pixels.
    #[must_use]
    pub fn strip_middle(&self, i: u16) -> (f64, f64) {
        let x = f64::from(self.area.x) + (f64::from(i) + 0.5) * f64::from(STRIP_WIDTH);
        (x, f64::from(self.area.y) + f64::from(HEIGHT) / 2.0)
    }

    /// Lights the strips one after the other from `at_ns` (monotonic) on; dark again afterwards.
    pub fn flash(&self, at_ns: i64, clock: &SessionClock) -> Result<Flash> {
        let mut strips = Vec::with_capacity(STRIPS.into());
        for i in 0..STRIPS {
            sleep_until(at_ns + i64::from(i) * STRIP_NS);
            strips.push(self.done(clock, || self.fill(self.white, i * STRIP_WIDTH, STRIP_WIDTH))?);
        }
        sleep_until(at_ns + i64::from(STRIPS) * STRIP_NS + LIT_NS);
        self.done(clock, || self.fill(self.black, 0, STRIPS * STRIP_WIDTH))?;
        Ok(Flash { strips })
    }

    /// Presses the left button at `at_ns` (monotonic), and lets it go.
    pub fn press(&self, at_ns: i64, clock: &SessionClock) -> Result<Moment> {
        sleep_until(at_ns - 100_000_000);
        // Somebody may have moved it: a press elsewhere would do something.
        self.point()?;
        sleep_until(at_ns);
        let moment = self.done(clock, || self.fake(xproto::BUTTON_PRESS_EVENT, 1))?;
        std::thread::sleep(Duration::from_millis(60));
        self.done(clock, || self.fake(xproto::BUTTON_RELEASE_EVENT, 1))?;
        Ok(moment)
    }

    fn fill(&self, gc: xproto::Gcontext, x: u16, width: u16) -> std::result::Result<(), x11rb::errors::ConnectionError> {
        let r = xproto::Rectangle { x: x as i16, y: 0, width, height: HEIGHT };
        self.conn.poly_fill_rectangle(self.window, gc, &[r]).map(drop)
    }

    fn fake(&self, kind: u8, detail: u8) -> std::result::Result<(), x11rb::errors::ConnectionError> {
        self.conn.xtest_fake_input(kind, detail, x11rb::CURRENT_TIME, self.root, 0, 0, 0).map(drop)
    }

    /// Puts the pointer on the patch, below the strips' middles so that it hides none.
    fn point(&self) -> Result<()> {
        let (x, y) = (self.area.x + self.area.width as i32 / 2, self.area.y + i32::from(HEIGHT) - 30);
        let ask = || -> std::result::Result<(), x11rb::errors::ReplyError> {
            let at = self.conn.query_pointer(self.root)?.reply()?;
            if (i32::from(at.root_x), i32::from(at.root_y)) != (x, y) {
                self.conn.warp_pointer(x11rb::NONE, self.root, 0, 0, 0, 0, x as i16, y as i16)?.check()?;
            }
            Ok(())
        };
        ask().map_err(no_screen)
    }

    /// Sends a request and waits until the server has carried it out.
    fn done(
        &self,
        clock: &SessionClock,
        request: impl FnOnce() -> std::result::Result<(), x11rb::errors::ConnectionError>,
    ) -> Result<Moment> {
        let before = monotonic_ns();
        request().map_err(no_screen)?;
        // The server answers in order: with this answer the request before it is done.
        self.conn.get_input_focus().map_err(no_screen)?.reply().map_err(no_screen)?;
        let after = monotonic_ns();
        Ok(Moment { t_ns: clock.at(before + (after - before) / 2), half_ns: (after - before) / 2 })
    }
}

/// Sleeps until a reading of the monotonic clock.
pub fn sleep_until(monotonic: i64) {
    let left = monotonic - monotonic_ns();
    if left > 0 {
        std::thread::sleep(Duration::from_nanos(left as u64));
    }
}
