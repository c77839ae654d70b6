//! The overlay's windows on an X11 screen.
//!
//! Ink is on one window, the mouse is caught by another that shows nothing and is there only while drawing is on, so
//! clicks pass through at all other times. With a compositor the ink's window is transparent. Without one nothing mixes
//! windows, and a transparent window would be black: there the window has the shape of the ink.

use super::ink::Dirty;
use super::raster::Fading;
use tiny_skia::Pixmap;
use x11rb::connection::{Connection as _, RequestConnection as _};
use x11rb::errors::ReplyOrIdError;
use x11rb::protocol::shape::{ConnectionExt as _, SK, SO};
use x11rb::protocol::xfixes::{ConnectionExt as _, Region};
use x11rb::protocol::xproto::{
    AtomEnum, ChangeWindowAttributesAux, ClipOrdering, Colormap, ColormapAlloc, ConfigureWindowAux, ConnectionExt as _, CreateGCAux,
    CreateWindowAux, Cursor, EventMask, Gcontext, ImageFormat, PropMode, Rectangle, StackMode, VisualClass, Visualid, Window, WindowClass,
};
use x11rb::rust_connection::RustConnection;
use x11rb::wrapper::ConnectionExt as _;

type Result<T, E = ReplyOrIdError> = std::result::Result<T, E>;

/// The name that tools see.
pub const TITLE: &str = "Redline ink";

/// The ink's window and the one that catches the mouse.
pub struct Windows {
    conn: RustConnection,
    root: Window,
    screen: usize,
    /// Size of the screen, pixels.
    pub width: i32,
    /// Size of the screen, pixels.
    pub height: i32,
    ink: Window,
    gc: Gcontext,
    /// The ink’s shape, where it has one.
    shape: Region,
    depth: u8,
    colormap: Option<Colormap>,
    catcher: Window,
    cursor: Option<Cursor>,
    /// How the ink's window can show fading; also says whether it was made for a compositor.
    pub fading: Fading,
}

impl Windows {
    /// Makes both windows over the whole screen; the catcher is not shown yet.
    pub fn open(conn: RustConnection, screen: usize) -> Result<Self> {
        let s = conn.setup().roots.get(screen).ok_or(x11rb::errors::ConnectionError::UnknownError)?;
        let (root, root_depth, root_visual) = (s.root, s.root_depth, s.root_visual);
        let (width, height) = (i32::from(s.width_in_pixels), i32::from(s.height_in_pixels));
        let argb = argb_visual(s);
        let catcher = conn.generate_id()?;
        let events = EventMask::BUTTON_PRESS | EventMask::BUTTON_RELEASE | EventMask::POINTER_MOTION | EventMask::VISIBILITY_CHANGE;
        let aux = CreateWindowAux::new().override_redirect(1).event_mask(events);
        conn.create_window(0, catcher, root, 0, 0, 1, 1, 0, WindowClass::INPUT_ONLY, 0, &aux)?.check()?;
        conn.xfixes_query_version(5, 0)?.reply()?;
        let shape = conn.generate_id()?;
        conn.xfixes_create_region(shape, &[])?.check()?;
        let mut w = Self {
            conn,
            root,
            screen,
            width,
            height,
            ink: 0,
            gc: 0,
            shape,
            depth: root_depth,
            colormap: None,
            catcher,
            cursor: None,
            fading: Fading::Width,
        };
        let composited = w.compositor()?;
        w.make_ink(argb.filter(|_| composited), root_visual)?;
        w.conn.flush()?;
        Ok(w)
    }

    fn make_ink(&mut self, argb: Option<Visualid>, root_visual: Visualid) -> Result<()> {
        let c = &self.conn;
        self.ink = c.generate_id()?;
        self.gc = c.generate_id()?;
        let (w, h) = (self.width as u16, self.height as u16);
        let mut aux =
            CreateWindowAux::new().override_redirect(1).event_mask(EventMask::VISIBILITY_CHANGE | EventMask::EXPOSURE).border_pixel(0);
        match argb {
            Some(visual) => {
                let map = c.generate_id()?;
                c.create_colormap(ColormapAlloc::NONE, map, self.root, visual)?.check()?;
                self.colormap = Some(map);
                aux = aux.background_pixel(0).colormap(map);
                self.depth = 32;
                c.create_window(32, self.ink, self.root, 0, 0, w, h, 0, WindowClass::INPUT_OUTPUT, visual, &aux)?.check()?;
                self.fading = Fading::Alpha;
            }
            None => {
                // No background: the ink is there or it is not, nothing flashes first.
                let depth = self.depth;
                c.create_window(depth, self.ink, self.root, 0, 0, w, h, 0, WindowClass::INPUT_OUTPUT, root_visual, &aux)?.check()?;
                c.xfixes_set_region(self.shape, &[])?;
                c.xfixes_set_window_shape_region(self.ink, SK::BOUNDING, 0, 0, self.shape)?.check()?;
                self.fading = Fading::Width;
            }
        }
        // The mouse never meets the ink.
        c.shape_rectangles(SO::SET, SK::INPUT, ClipOrdering::UNSORTED, self.ink, 0, 0, &[])?.check()?;
        c.create_gc(self.gc, self.ink, &CreateGCAux::new().graphics_exposures(0))?.check()?;
        c.change_property8(PropMode::REPLACE, self.ink, AtomEnum::WM_NAME, AtomEnum::STRING, TITLE.as_bytes())?;
        self.no_shadow()?;
        c.map_window(self.ink)?.check()?;
        Ok(())
    }

    /// Tells compositors not to draw a shadow around strokes.
    fn no_shadow(&self) -> Result<()> {
        let c = &self.conn;
        let atom = |n: &str| -> Result<u32> { Ok(c.intern_atom(false, n.as_bytes())?.reply()?.atom) };
        let (kind, normal) = (atom("_NET_WM_WINDOW_TYPE")?, atom("_NET_WM_WINDOW_TYPE_NOTIFICATION")?);
        c.change_property32(PropMode::REPLACE, self.ink, kind, AtomEnum::ATOM, &[normal])?;
        // picom and its relatives.
        c.change_property32(PropMode::REPLACE, self.ink, atom("_COMPTON_SHADOW")?, AtomEnum::CARDINAL, &[0])?;
        Ok(())
    }

    /// Whether something mixes windows now.
    pub fn compositor(&self) -> Result<bool> {
        let name = format!("_NET_WM_CM_S{}", self.screen);
        let atom = self.conn.intern_atom(false, name.as_bytes())?.reply()?.atom;
        Ok(self.conn.get_selection_owner(atom)?.reply()?.owner != x11rb::NONE)
    }

    /// Makes the ink's window anew when a compositor came or went, or the screen has another size; true when it did: all
    /// must be drawn then.
    pub fn renew(&mut self) -> Result<bool> {
        let g = self.conn.get_geometry(self.root)?.reply()?;
        let resized = (i32::from(g.width), i32::from(g.height)) != (self.width, self.height);
        let composited = self.compositor()?;
        let Some(s) = self.conn.setup().roots.get(self.screen) else { return Ok(false) };
        let argb = argb_visual(s).filter(|_| composited);
        if !resized && argb.is_some() == (self.fading == Fading::Alpha) {
            return Ok(false);
        }
        let (root_visual, root_depth) = (s.root_visual, s.root_depth);
        (self.width, self.height) = (g.width.into(), g.height.into());
        self.conn.free_gc(self.gc)?;
        self.conn.destroy_window(self.ink)?;
        if let Some(m) = self.colormap.take() {
            self.conn.free_colormap(m)?;
        }
        self.depth = root_depth;
        self.make_ink(argb, root_visual)?;
        self.conn.flush()?;
        Ok(true)
    }

    /// Shows what was drawn for `at`. Without `reshape` the ink is where it was, and only its colour is put there again.
    pub fn put(&self, at: Dirty, pixels: &Pixmap, reshape: bool) -> Result<()> {
        let (w, h) = (at.x1 - at.x0, at.y1 - at.y0);
        let mut bgra: Vec<u8> = Vec::with_capacity(pixels.data().len());
        for p in pixels.data().chunks_exact(4) {
            bgra.extend_from_slice(&[p[2], p[1], p[0], p[3]]);
        }
        if reshape && self.fading == Fading::Width {
            let whole = Rectangle { x: at.x0 as i16, y: at.y0 as i16, width: w as u16, height: h as u16 };
            let ink = runs(pixels, at.x0, at.y0);
            let c = &self.conn;
            // Changed aside and put in place at once: nothing flickers, and only pixels that really changed are exposed.
            let part = c.generate_id()?;
            c.xfixes_create_region(part, &[whole])?;
            c.xfixes_subtract_region(self.shape, part, self.shape)?;
            for some in ink.chunks(8_000) {
                c.xfixes_set_region(part, some)?;
                c.xfixes_union_region(self.shape, part, self.shape)?;
            }
            c.xfixes_destroy_region(part)?;
            c.xfixes_set_window_shape_region(self.ink, SK::BOUNDING, 0, 0, self.shape)?;
        }
        // A request has a greatest length: as many rows at a time as fit.
        let row = w as usize * 4;
        let rows = ((self.conn.maximum_request_bytes().saturating_sub(64)) / row.max(1)).clamp(1, h.max(1) as usize);
        for (i, part) in bgra.chunks(row * rows).enumerate() {
            let y = at.y0 + (i * rows) as i32;
            let height = (part.len() / row) as u16;
            self.conn.put_image(ImageFormat::Z_PIXMAP, self.ink, self.gc, w as u16, height, at.x0 as i16, y as i16, 0, self.depth, part)?;
        }
        self.conn.flush()?;
        Ok(())
    }

    /// Catches the mouse in `area`, with a ring of the pen's colour as its pointer; or lets it through again.
    pub fn catch(&mut self, area: Option<Dirty>) -> Result<()> {
        let c = &self.conn;
        match area {
            Some(a) => {
                let aux = ConfigureWindowAux::new()
                    .x(a.x0)
                    .y(a.y0)
                    .width((a.x1 - a.x0).max(1) as u32)
                    .height((a.y1 - a.y0).max(1) as u32)
                    .stack_mode(StackMode::ABOVE);
                c.configure_window(self.catcher, &aux)?;
                c.map_window(self.catcher)?;
            }
            None => {
                c.unmap_window(self.catcher)?;
            }
        }
        c.flush()?;
        Ok(())
    }

    /// Puts both above all other windows.
    pub fn raise(&self) -> Result<()> {
        let above = ConfigureWindowAux::new().stack_mode(StackMode::ABOVE);
        self.conn.configure_window(self.ink, &above)?;
        self.conn.configure_window(self.catcher, &above)?;
        self.conn.flush()?;
        Ok(())
    }

    /// Makes the pointer over the catcher a ring of `width` in this colour.
    pub fn ring(&mut self, rgb: [u8; 3], width: f32) -> Result<()> {
        let c = &self.conn;
        let radius = (width / 2.0 + 3.0).clamp(5.0, 28.0);
        let side = (radius * 2.0 + 6.0) as u16 | 1;
        let middle = side / 2;
        // Two pictures of one bit: what is coloured, and what is there at all. A light rim keeps the ring apart from dark models.
        let (source, mask, gc) = (c.generate_id()?, c.generate_id()?, c.generate_id()?);
        for p in [source, mask] {
            c.create_pixmap(1, p, self.root, side, side)?;
        }
        c.create_gc(gc, source, &CreateGCAux::new().foreground(0))?;
        let (mut coloured, mut there) = (Vec::new(), Vec::new());
        for y in 0..side {
            for x in 0..side {
                let away = f32::from(x.abs_diff(middle)).hypot(f32::from(y.abs_diff(middle)));
                let dot = Rectangle { x: x as i16, y: y as i16, width: 1, height: 1 };
                let off = (away - radius).abs();
                if off <= 1.1 || away < 0.5 {
                    coloured.push(dot);
                }
                if off <= 2.2 || away < 0.5 {
                    there.push(dot);
                }
            }
        }
        let all = Rectangle { x: 0, y: 0, width: side, height: side };
        for (p, dots) in [(source, &coloured), (mask, &there)] {
            c.change_gc(gc, &x11rb::protocol::xproto::ChangeGCAux::new().foreground(0))?;
            c.poly_fill_rectangle(p, gc, &[all])?;
            c.change_gc(gc, &x11rb::protocol::xproto::ChangeGCAux::new().foreground(1))?;
            c.poly_fill_rectangle(p, gc, dots)?;
        }
        let cursor = c.generate_id()?;
        let [r, g, b] = rgb.map(|v| u16::from(v) * 257);
        c.create_cursor(cursor, source, mask, r, g, b, 0xffff, 0xffff, 0xffff, middle, middle)?;
        c.change_window_attributes(self.catcher, &ChangeWindowAttributesAux::new().cursor(cursor))?;
        for p in [source, mask] {
            c.free_pixmap(p)?;
        }
        c.free_gc(gc)?;
        if let Some(old) = self.cursor.replace(cursor) {
            c.free_cursor(old)?;
        }
        c.flush()?;
        Ok(())
    }

    /// The connection, for its events.
    pub fn conn(&self) -> &RustConnection {
        &self.conn
    }
}

/// A visual with alpha.
fn argb_visual(s: &x11rb::protocol::xproto::Screen) -> Option<Visualid> {
    let depth = s.allowed_depths.iter().find(|d| d.depth == 32)?;
    depth.visuals.iter().find(|v| v.class == VisualClass::TRUE_COLOR && v.red_mask == 0x00ff_0000).map(|v| v.visual_id)
}

/// The ink's pixels as rectangles one row high, from the top down.
fn runs(pixels: &Pixmap, x0: i32, y0: i32) -> Vec<Rectangle> {
    let mut out = Vec::new();
    let w = pixels.width() as usize;
    for (y, row) in pixels.pixels().chunks(w).enumerate() {
        let mut x = 0;
        while x < w {
            if row[x].alpha() < 128 {
                x += 1;
                continue;
            }
            let from = x;
            while x < w && row[x].alpha() >= 128 {
                x += 1;
            }
            out.push(Rectangle { x: (x0 + from as i32) as i16, y: (y0 + y as i32) as i16, width: (x - from) as u16, height: 1 });
        }
    }
    out
}
