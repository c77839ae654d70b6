//! The real FreeCAD on a virtual desktop, with Redline's add-on installed as its users install it.
#![allow(dead_code)] // Each test file uses its part.
#![allow(clippy::unwrap_used, clippy::expect_used)] // A test that cannot go on has failed.

use redline_desk::VirtualDesktop;
use serde_json::Value;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long FreeCAD may take to come up, or to answer, on a loaded machine.
pub const PATIENCE: Duration = Duration::from_secs(180);

/// No start page (it needs a browser engine), no splash, no tips, the Part workbench.
const SETTINGS: &str = r#"<?xml version="1.0" encoding="UTF-8" standalone="no" ?>
<FCParameters>
  <FCParamGroup Name="Root"><FCParamGroup Name="BaseApp"><FCParamGroup Name="Preferences">
    <FCParamGroup Name="General">
      <FCText Name="AutoloadModule">PartWorkbench</FCText>
      <FCBool Name="ShowSplasher" Value="0"/>
    </FCParamGroup>
    <FCParamGroup Name="Mod"><FCParamGroup Name="Start"><FCBool Name="ShowOnStartup" Value="0"/></FCParamGroup></FCParamGroup>
  </FCParamGroup></FCParamGroup></FCParamGroup>
</FCParameters>
"#;

pub struct FreeCad {
    child: Child,
    console: BufReader<TcpStream>,
}

impl FreeCad {
    /// Installs the add-on and starts FreeCAD with the test's console.
    pub fn start(desk: &VirtualDesktop, home: &Path) -> Self {
        let (data, config) = (home.join("data"), home.join("config"));
        std::fs::create_dir_all(config.join("FreeCAD")).unwrap();
        std::fs::write(config.join("FreeCAD/user.cfg"), SETTINGS).unwrap();
        let install = Command::new(env!("CARGO_BIN_EXE_redline"))
            .args(["plugin", "install", "freecad"])
            .env("XDG_DATA_HOME", &data)
            .env_remove("FREECAD_USER_DATA")
            .output()
            .unwrap();
        assert!(install.status.success(), "{}", String::from_utf8_lossy(&install.stderr));
        let port = home.join("driver.port");
        let _ = std::fs::remove_file(&port);
        let log = std::fs::File::create(home.join("freecad.log")).unwrap();
        let child = desk
            .command("freecad")
            .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/freecad/driver.py"))
            .envs([("HOME", home), ("XDG_DATA_HOME", &data), ("XDG_CONFIG_HOME", &config), ("REDLINE_DRIVER", &port)])
            .envs([
                ("QTWEBENGINE_DISABLE_SANDBOX", "1"),
                ("LIBGL_ALWAYS_SOFTWARE", "1"),
                ("LANG", "C.UTF-8"),
                ("PYTHONDONTWRITEBYTECODE", "1"),
            ])
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        let until = Instant::now() + PATIENCE;
        let port: u16 = loop {
            if let Some(p) = std::fs::read_to_string(&port).ok().and_then(|p| p.parse().ok()) {
                break p;
            }
            let log = || std::fs::read_to_string(home.join("freecad.log")).unwrap_or_default();
            assert!(Instant::now() < until, "FreeCAD did not come up: {}", log());
            std::thread::sleep(Duration::from_millis(50));
        };
        let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        Self { child, console: BufReader::new(stream) }
    }

    /// Runs Python in FreeCAD; what it left in `result`.
    pub fn run(&mut self, python: &str) -> Value {
        let line = serde_json::to_string(python).unwrap();
        writeln!(self.console.get_mut(), "{line}").unwrap();
        let mut answer = String::new();
        self.console.read_line(&mut answer).unwrap();
        let mut v: Value = serde_json::from_str(&answer).unwrap();
        assert!(v.get("error").is_none(), "{python}\n{}", v["error"].as_str().unwrap());
        v["result"].take()
    }

    /// Runs Python until `ok` likes its result.
    pub fn wait(&mut self, python: &str, ok: impl Fn(&Value) -> bool) -> Value {
        let until = Instant::now() + PATIENCE;
        loop {
            let v = self.run(python);
            if ok(&v) {
                return v;
            }
            assert!(Instant::now() < until, "{python}: {v}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Opens a STEP file in a new document and shows all of it.
    pub fn open(&mut self, step: &Path) {
        let path = serde_json::to_string(&step.to_string_lossy()).unwrap();
        self.run(&format!(
            "import Import\nGui.getMainWindow().showMaximized()\ndoc = App.newDocument('part')\nImport.insert({path}, doc.Name)\n\
             view = Gui.activeDocument().activeView()\nview.setAnimationEnabled(False)\nview.viewIsometric()\nview.fitAll()"
        ));
        // The camera must rest, or the pixels asked for next belong to another view.
        self.run("Gui.updateGui()");
    }

    /// Places on the screen (Qt's pixels may be larger than the screen's) where FreeCAD itself sees different faces (`Face…`), with what it sees there.
    pub fn faces_on_screen(&mut self) -> Vec<(i16, i16, String)> {
        let found = self.run(
            r#"
view = Gui.activeDocument().activeView()
canvas = max((v.viewport() for v in Gui.getMainWindow().findChildren(QtWidgets.QGraphicsView)), key=lambda v: v.width() * v.height())
ratio = canvas.devicePixelRatioF()
seen = {}
for iy in range(12, int(canvas.height()) - 12, 7):
    for ix in range(12, int(canvas.width()) - 12, 7):
        def at(x, y):
            info = view.getObjectInfo((int(x * ratio), int((canvas.height() - 1 - y) * ratio)))
            return info["Component"] if info else None
        name = at(ix, iy)
        # In the middle of a face: the same one all around, so that a pixel more or less changes nothing.
        if name and name.startswith("Face") and name not in seen:
            if all(at(ix + dx, iy + dy) == name for dx, dy in ((5, 0), (-5, 0), (0, 5), (0, -5))):
                p = canvas.mapToGlobal(QtCore.QPoint(ix, iy))
                seen[name] = (round(p.x() * ratio), round(p.y() * ratio))
result = [(x, y, name) for name, (x, y) in seen.items()]
"#,
        );
        let found = found.as_array().unwrap();
        let place = |v: &Value| (v[0].as_i64().unwrap() as i16, v[1].as_i64().unwrap() as i16, v[2].as_str().unwrap().to_owned());
        found.iter().map(place).collect()
    }

    /// Where a command's tool button is on the screen.
    pub fn button(&mut self, command: &str) -> (i16, i16) {
        let v = self.run(&format!(
            r#"
for b in Gui.getMainWindow().findChildren(QtWidgets.QToolButton):
    if b.isVisible() and b.defaultAction() is not None and b.defaultAction().objectName() == "{command}":
        p = b.mapToGlobal(b.rect().center())
        ratio = b.devicePixelRatioF()
        result = (round(p.x() * ratio), round(p.y() * ratio))
        break
"#
        ));
        (v[0].as_i64().unwrap() as i16, v[1].as_i64().unwrap() as i16)
    }

    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for FreeCad {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
