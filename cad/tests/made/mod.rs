//! STEP files by FreeCAD.

use std::path::Path;
use std::process::{Command, Stdio};

/// Has FreeCAD make shapes, each by a Python expression, and write them as NAME.step; `tilt(shape)` turns one askew.
pub fn make(dir: &Path, shapes: &[(&str, &str)]) {
    let mut script = "import os, Part\nfrom FreeCAD import Vector as V\n".to_owned();
    script += "def tilt(s):\n    s.rotate(V(0, 0, 0), V(1, 0, 0), 30)\n    s.rotate(V(0, 0, 0), V(0, 1, 0), 20)\n    return s\n";
    for (name, expression) in shapes {
        script += &format!("({expression}).exportStep(os.path.join(os.environ['OUT'], '{name}.step'))\n");
    }
    script += "os._exit(0)\n";
    let path = dir.join("make.py");
    std::fs::write(&path, script).unwrap();
    let program = std::env::var("REDLINE_FREECADCMD").unwrap_or_else(|_| "freecadcmd".into());
    let mut c = Command::new(program);
    c.arg(&path).env("OUT", dir).env("HOME", dir).env("QT_QPA_PLATFORM", "offscreen").stdin(Stdio::null());
    let o = c.output().unwrap();
    assert!(shapes.iter().all(|(n, _)| dir.join(format!("{n}.step")).is_file()), "{}", String::from_utf8_lossy(&o.stderr));
}
