//! A real 3D viewer, f3d, with the sample model on a virtual desktop: what runs of a scripted agent happen in.

use crate::recording::Hand;
use image::RgbImage;
use redline_desk::VirtualDesktop;
use std::path::Path;
use std::process::Child;
use x11rb::connection::Connection as _;
use x11rb::protocol::xproto::{ConnectionExt as _, ImageFormat};

/// The size of the viewer's picture.
pub const SIZE: (u32, u32) = (400, 300);
/// Pictures that differ in fewer pixels than this share show the same view; the mouse pointer is 1 in 500.
pub const SAME: f64 = 0.01;
/// f3d turns by 200 degrees a window width.
pub const QUARTER_TURN: i32 = SIZE.0 as i32 * 90 / 200;

/// A program that ends with its owner.
pub struct Program(Child);

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The share of pixels in which a person sees a difference.
pub fn unlike(a: &RgbImage, b: &RgbImage) -> f64 {
    assert_eq!(a.dimensions(), b.dimensions());
    let differs = |(a, b): &(&image::Rgb<u8>, &image::Rgb<u8>)| a.0.iter().zip(b.0).any(|(x, y)| x.abs_diff(y) > 24);
    a.pixels().zip(b.pixels()).filter(differs).count() as f64 / f64::from(a.width() * a.height())
}

fn f3d(desk: &VirtualDesktop) -> std::process::Command {
    let mut c = desk.command("f3d");
    c.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("samples/bracket.step"));
    c.args(["--dry-run", "--resolution", &format!("{},{}", SIZE.0, SIZE.1)]);
    c
}

pub fn version(desk: &VirtualDesktop) -> String {
    let said = desk.output("f3d", &["--version"]).unwrap();
    said.lines().next().and_then(|l| l.split_whitespace().nth(1)).unwrap_or_else(|| panic!("{said}")).to_owned()
}

/// The model from around its upright axis, drawn by f3d without a window and without a mouse.
pub fn reference(desk: &VirtualDesktop, dir: &Path, degrees: i32) -> RgbImage {
    let to = dir.join(format!("reference{degrees}.png"));
    let mut c = f3d(desk);
    c.args(["--camera-azimuth-angle", &degrees.to_string(), "--output"]).arg(&to);
    crate::recording::run(c);
    image::open(to).unwrap().to_rgb8()
}

/// The viewer's window.
pub struct Viewer {
    _program: Program,
    hand: Hand,
    place: (i32, i32),
}

impl Viewer {
    /// Opens it; it shows `first` then.
    pub fn open(desk: &VirtualDesktop, first: &RgbImage) -> Self {
        let program = Program(f3d(desk).spawn().unwrap());
        let window = desk.wait_window("^F3D").unwrap();
        let hand = Hand::new(desk);
        desk.output("xdotool", &["windowmove", &window, "60", "40"]).unwrap();
        let (id, mut place) = (window.parse().unwrap(), (0, 0));
        desk.wait_for("the viewer at its place", |_| {
            place = hand.place_of(id);
            place.0 >= 60 && place.1 >= 40
        })
        .unwrap();
        let v = Self { _program: program, hand, place };
        v.wait(desk, "the model", |p| unlike(p, first) < SAME);
        v
    }

    /// Where a place of its picture is on the screen.
    pub fn at(&self, x: i32, y: i32) -> (i32, i32) {
        (self.place.0 + x, self.place.1 + y)
    }

    /// Its part of a picture of the screen.
    pub fn part_of(&self, screen: &RgbImage) -> RgbImage {
        image::imageops::crop_imm(screen, self.place.0 as u32, self.place.1 as u32, SIZE.0, SIZE.1).to_image()
    }

    /// What is seen where it is, without the mouse pointer.
    pub fn seen(&self) -> RgbImage {
        let (conn, root) = self.hand.connection();
        let (x, y) = (self.place.0 as i16, self.place.1 as i16);
        let i = conn.get_image(ImageFormat::Z_PIXMAP, root, x, y, SIZE.0 as u16, SIZE.1 as u16, u32::MAX).unwrap().reply().unwrap();
        assert_eq!((i.depth, conn.setup().image_byte_order), (24, x11rb::protocol::xproto::ImageOrder::LSB_FIRST));
        let rgb = i.data.chunks_exact(4).flat_map(|p| [p[2], p[1], p[0]]).collect();
        RgbImage::from_raw(SIZE.0, SIZE.1, rgb).unwrap()
    }

    pub fn wait(&self, desk: &VirtualDesktop, what: &str, mut ok: impl FnMut(&RgbImage) -> bool) {
        desk.wait_for(what, |_| ok(&self.seen())).unwrap();
    }

    pub fn wait_change(&self, desk: &VirtualDesktop, what: &str, before: &RgbImage) {
        self.wait(desk, what, |p| p != before);
    }

    /// Turns the wheel over it.
    pub fn zoom_in(&self, desk: &VirtualDesktop, notches: usize) {
        let (x, y) = self.at(200, 150);
        desk.output("xdotool", &["mousemove", &x.to_string(), &y.to_string()]).unwrap();
        for _ in 0..notches {
            let before = self.seen();
            desk.output("xdotool", &["click", "4"]).unwrap();
            self.wait_change(desk, "a larger model", &before);
        }
    }

    /// Drags from one place of the screen to another, looking whether the model follows.
    pub fn drag(&self, desk: &VirtualDesktop, from: (i32, i32), to: (i32, i32)) {
        let to_place = |(x, y): (i32, i32)| drop(desk.output("xdotool", &["mousemove", &x.to_string(), &y.to_string()]).unwrap());
        to_place(from);
        desk.output("xdotool", &["mousedown", "1"]).unwrap();
        let before = self.seen();
        let mut near = 0;
        // f3d takes moves that have come together for one, and that one may come before the button: until it follows.
        desk.wait_for("the model to follow", |_| {
            near = near % 4 + 1;
            to_place((from.0 + near * (to.0 - from.0).signum(), from.1));
            self.seen() != before
        })
        .unwrap();
        let before = self.seen();
        to_place(to);
        self.wait_change(desk, "the model to follow to the end", &before);
        desk.output("xdotool", &["mouseup", "1"]).unwrap();
    }
}

/// A dialog in the way, over the middle of the viewer.
pub fn dialog(desk: &VirtualDesktop, v: &Viewer) -> Program {
    let (x, y) = v.at(20, 70);
    let mut c = desk.command("xmessage");
    c.args(["-geometry", &format!("360x140+{x}+{y}"), "-title", "warning", "-buttons", "Close:0", "The licence runs out in ten days."]);
    let before = v.seen();
    let p = Program(c.spawn().unwrap());
    desk.wait_window("^warning$").unwrap();
    v.wait(desk, "the dialog over it", |p| unlike(p, &before) > 0.2);
    p
}

pub fn has_dialog(desk: &VirtualDesktop) -> bool {
    desk.output("xdotool", &["search", "--onlyvisible", "--name", "^warning$"]).is_ok()
}
