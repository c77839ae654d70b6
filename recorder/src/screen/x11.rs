//! Monitors and windows of an X11 desktop.

use super::no_screen;
use crate::options::Source;
use crate::{Error, Result};
use redline_schemas::Monitor;
use redline_schemas::coords::Rect;
use x11rb::connection::Connection;
use x11rb::protocol::randr::ConnectionExt as _;
use x11rb::protocol::xproto::{AtomEnum, ConnectionExt as _, MapState, Window};
use x11rb::rust_connection::RustConnection;

pub(crate) fn connect() -> Result<(RustConnection, usize)> {
    let display = std::env::var("DISPLAY").unwrap_or_default();
    if !sane(&display) {
        return Err(no_screen(format!("“{display}” in DISPLAY names no display")));
    }
    x11rb::connect(None).map_err(|e| {
        no_screen(if display.is_empty() { "no X11 display (DISPLAY is not set)".into() } else { format!("display “{display}”: {e}") })
    })
}

/// Displays have a TCP port of 6000 and their number; a number beyond that overflows in the library.
fn sane(display: &str) -> bool {
    let number = display.rsplit(':').next().unwrap_or_default();
    let number: String = number.chars().take_while(char::is_ascii_digit).collect();
    number.is_empty() || number.parse::<u16>().is_ok_and(|n| n <= u16::MAX - 6000)
}

/// Screen pixels as the whole root window.
pub(crate) fn root_area(conn: &RustConnection, root: Window) -> Result<Rect> {
    let g = conn.get_geometry(root).map_err(no_screen)?.reply().map_err(no_screen)?;
    Ok(Rect { x: 0, y: 0, width: g.width.into(), height: g.height.into() })
}

/// The monitors; a screen without RandR monitors is one.
pub(crate) fn list(conn: &RustConnection, root: Window) -> Result<Vec<Monitor>> {
    let scale = desktop_scale(conn, root);
    let mut found = Vec::new();
    if let Some(reply) = conn.randr_get_monitors(root, true).ok().and_then(|c| c.reply().ok()) {
        for m in reply.monitors {
            let name = conn.get_atom_name(m.name).ok().and_then(|c| c.reply().ok()).map(|r| String::from_utf8_lossy(&r.name).into_owned());
            found.push(Monitor {
                name: name.unwrap_or_else(|| format!("monitor-{}", found.len() + 1)),
                area: Rect { x: m.x.into(), y: m.y.into(), width: m.width.into(), height: m.height.into() },
                scale,
                primary: m.primary,
            });
        }
    }
    if found.is_empty() {
        found.push(Monitor { name: "screen".into(), area: root_area(conn, root)?, scale, primary: true });
    }
    if !found.iter().any(|m| m.primary)
        && let Some(first) = found.first_mut()
    {
        first.primary = true;
    }
    Ok(found)
}

/// X11 has one scaling factor for the desktop: `Xft.dpi` over 96.
fn desktop_scale(conn: &RustConnection, root: Window) -> f64 {
    let reply = conn.get_property(false, root, AtomEnum::RESOURCE_MANAGER, AtomEnum::STRING, 0, 1 << 16).ok().and_then(|c| c.reply().ok());
    let text = reply.map(|r| String::from_utf8_lossy(&r.value).into_owned()).unwrap_or_default();
    scale_of_resources(&text)
}

fn scale_of_resources(text: &str) -> f64 {
    let dpi = text.lines().find_map(|l| l.strip_prefix("Xft.dpi:")).and_then(|v| v.trim().parse::<f64>().ok());
    dpi.filter(|d| (48.0..=960.0).contains(d)).map_or(1.0, |d| d / 96.0)
}

/// The monitors of the desktop that `DISPLAY` names.
pub fn monitors() -> Result<Vec<Monitor>> {
    let (conn, screen) = connect()?;
    let root = conn.setup().roots.get(screen).ok_or_else(|| no_screen("the display has no screen"))?.root;
    list(&conn, root)
}

/// A window that could be recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WindowInfo {
    /// Its number, as `--window` takes it.
    pub id: u32,
    /// Its title.
    pub title: String,
    /// Where it is, screen pixels.
    pub area: Rect,
}

/// The windows that are to be seen on the desktop that `DISPLAY` names, in the window manager’s order.
pub fn windows() -> Result<Vec<WindowInfo>> {
    let (conn, screen) = connect()?;
    let root = conn.setup().roots.get(screen).ok_or_else(|| no_screen("the display has no screen"))?.root;
    let whole = root_area(&conn, root)?;
    let net_name = atom(&conn, "_NET_WM_NAME")?;
    let mut found = Vec::new();
    for w in clients(&conn, root)? {
        let title = title(&conn, w, net_name);
        // Hidden ones cannot be recorded, those without a title not be told apart.
        if let Ok(area) = Target::Window(w, None).area(&conn, root, whole)
            && !title.is_empty()
        {
            found.push(WindowInfo { id: w, title, area });
        }
    }
    Ok(found)
}

/// What is followed on the screen.
#[derive(Debug, Clone)]
pub(crate) enum Target {
    Monitor(String),
    Window(Window, Option<String>),
    Region(Rect),
}

impl Target {
    pub(crate) fn find(conn: &RustConnection, root: Window, source: &Source) -> Result<Self> {
        match source {
            Source::PrimaryMonitor => {
                let all = list(conn, root)?;
                all.into_iter().find(|m| m.primary).map(|m| Self::Monitor(m.name)).ok_or_else(|| no_screen("no monitor is active"))
            }
            Source::Monitor(wanted) => {
                let all = list(conn, root)?;
                let by_number = wanted.parse::<usize>().ok().and_then(|n| all.get(n.checked_sub(1)?));
                let m = all.iter().find(|m| m.name == *wanted).or(by_number).ok_or_else(|| {
                    let names: Vec<_> = all.iter().map(|m| m.name.as_str()).collect();
                    no_screen(format!("no monitor “{wanted}”; there are: {}", names.join(", ")))
                })?;
                Ok(Self::Monitor(m.name.clone()))
            }
            Source::Window(wanted) => find_window(conn, root, wanted),
            Source::Region(r) => Ok(Self::Region(*r)),
        }
    }

    /// Where it is now, clipped to the screen. An error when nothing of it is to be seen.
    pub(crate) fn area(&self, conn: &RustConnection, root: Window, screen: Rect) -> Result<Rect> {
        let r = match self {
            Self::Monitor(name) => {
                let all = list(conn, root)?;
                let m = all.iter().find(|m| m.name == *name).or(all.iter().find(|m| m.primary));
                m.ok_or_else(|| no_screen("no monitor is active"))?.area
            }
            Self::Region(r) => *r,
            Self::Window(w, _) => {
                // All asked for at once: one round trip.
                let attributes = conn.get_window_attributes(*w).map_err(no_screen)?;
                let geometry = conn.get_geometry(*w).map_err(no_screen)?;
                let place = conn.translate_coordinates(*w, root, 0, 0).map_err(no_screen)?;
                let gone = |e| no_screen(format!("the window is gone ({e})"));
                let (a, g, p) = (attributes.reply().map_err(gone)?, geometry.reply().map_err(gone)?, place.reply().map_err(gone)?);
                if a.map_state != MapState::VIEWABLE {
                    return Err(no_screen("the window is hidden or minimised"));
                }
                Rect { x: p.dst_x.into(), y: p.dst_y.into(), width: g.width.into(), height: g.height.into() }
            }
        };
        r.intersect(&screen).ok_or_else(|| no_screen("nothing of the chosen area is on the screen"))
    }

    pub(crate) fn is_window(&self) -> bool {
        matches!(self, Self::Window(..))
    }
}

fn atom(conn: &RustConnection, name: &str) -> Result<u32> {
    Ok(conn.intern_atom(false, name.as_bytes()).map_err(no_screen)?.reply().map_err(no_screen)?.atom)
}

fn title(conn: &RustConnection, w: Window, net_name: u32) -> String {
    let get = |property: u32| {
        let r = conn.get_property(false, w, property, AtomEnum::ANY, 0, 1024).ok()?.reply().ok()?;
        (!r.value.is_empty()).then(|| String::from_utf8_lossy(&r.value).into_owned())
    };
    get(net_name).or_else(|| get(AtomEnum::WM_NAME.into())).unwrap_or_default()
}

fn clients(conn: &RustConnection, root: Window) -> Result<Vec<Window>> {
    let clients = atom(conn, "_NET_CLIENT_LIST")?;
    let reply = conn.get_property(false, root, clients, AtomEnum::WINDOW, 0, 4096).map_err(no_screen)?.reply().map_err(no_screen)?;
    let windows: Vec<Window> = reply.value32().map(Iterator::collect).unwrap_or_default();
    if windows.is_empty() {
        // No window manager that keeps the list: the root's children are the windows.
        return Ok(conn.query_tree(root).map_err(no_screen)?.reply().map_err(no_screen)?.children);
    }
    Ok(windows)
}

fn find_window(conn: &RustConnection, root: Window, wanted: &str) -> Result<Target> {
    let number = wanted.strip_prefix("0x").and_then(|h| u32::from_str_radix(h, 16).ok()).or_else(|| wanted.parse().ok());
    if let Some(w) = number {
        return Ok(Target::Window(w, None));
    }
    let net_name = atom(conn, "_NET_WM_NAME")?;
    let windows = clients(conn, root)?;
    let needle = wanted.to_lowercase();
    let found: Vec<(Window, String)> =
        windows.into_iter().map(|w| (w, title(conn, w, net_name))).filter(|(_, t)| t.to_lowercase().contains(&needle)).collect();
    match &found[..] {
        [(w, t)] => Ok(Target::Window(*w, Some(t.clone()))),
        [] => Err(no_screen(format!("no window has “{wanted}” in its title"))),
        many => {
            let titles: Vec<_> = many.iter().take(8).map(|(w, t)| format!("0x{w:x} “{t}”")).collect();
            Err(Error::Options(format!("“{wanted}” fits {} windows: choose one by number: {}", many.len(), titles.join(", "))))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absurd_display_numbers_are_refused() {
        assert!(sane(":0") && sane("host:10.0") && sane("") && sane(":59535"));
        assert!(!sane(":65000") && !sane(":99999999999"));
    }

    #[test]
    fn scaling_comes_from_the_resources() {
        assert_eq!(scale_of_resources("Xcursor.size: 24\nXft.dpi:\t144\n"), 1.5);
        assert_eq!(scale_of_resources("Xft.dpi: rubbish"), 1.0);
        assert_eq!(scale_of_resources(""), 1.0);
    }
}
