//! The mouse pointer, which no way of reading the screen includes.

use super::Canvas;
use crate::Result;
use crate::screen::no_screen;
use x11rb::protocol::xfixes::{ConnectionExt as _, GetCursorImageReply};
use x11rb::rust_connection::RustConnection;

/// Tells the server that XFixes will be used; an error when it has none.
pub(crate) fn init(conn: &RustConnection) -> Result<()> {
    conn.xfixes_query_version(4, 0).map_err(no_screen)?.reply().map_err(no_screen)?;
    Ok(())
}

/// Blends the pointer in where it stands.
pub(crate) fn blend(canvas: &mut Canvas<'_>, cursor: &GetCursorImageReply) {
    let left = i64::from(cursor.x) - i64::from(cursor.xhot) - i64::from(canvas.area.x);
    let top = i64::from(cursor.y) - i64::from(cursor.yhot) - i64::from(canvas.area.y);
    let width = usize::from(cursor.width.max(1));
    for (y, row) in cursor.cursor_image.chunks(width).enumerate() {
        for (x, argb) in row.iter().enumerate() {
            let [alpha, red, green, blue] = argb.to_be_bytes();
            canvas.blend(left + x as i64, top + y as i64, [red, green, blue, alpha]);
        }
    }
}
