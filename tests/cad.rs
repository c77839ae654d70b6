//! The whole way with the real FreeCAD: a request with faces clicked in the model, and an edit that changes it.

#![allow(clippy::unwrap_used)]

mod freecad;
mod recording;

use freecad::FreeCad;
use recording::*;
use redline_desk::{Options, VirtualDesktop};
use redline_schemas::{
    CommandEvent, CommandKind, Corpus, EditManifest, InputEvent, InputKind, RenderEvent, RenderKind, SelectionEvent, SelectionKind,
    SessionDir, Status, jsonl,
};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How far an event of the CAD program may be from the mouse action that caused it.
const NEAR_NS: i64 = 50_000_000;

fn model() -> PathBuf {
    // Another model, such as a published one, can be tried by hand.
    match std::env::var_os("REDLINE_TEST_STEP") {
        Some(p) => p.into(),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("samples/bracket.step"),
    }
}

fn big_desk() -> VirtualDesktop {
    VirtualDesktop::start(Options { width: 1280, height: 800, sound: false, ..Options::default() }).unwrap()
}

fn corpus_with_model(desk: &VirtualDesktop, dir: &Path) -> PathBuf {
    let root = corpus(desk, dir);
    for args in [&["participant", "add", "P02"][..], &["model", "add", "--id", "part"]] {
        let mut c = redline(desk);
        c.args(args).arg("--corpus").arg(&root);
        if args[0] == "model" {
            c.arg(model());
        }
        run(c);
    }
    root
}

fn selections(dir: &SessionDir) -> Vec<SelectionEvent> {
    jsonl::read_all(&dir.selections()).unwrap().0
}

fn commands(dir: &SessionDir) -> Vec<CommandEvent> {
    if dir.commands().exists() { jsonl::read_all(&dir.commands()).unwrap().0 } else { Vec::new() }
}

fn edit_of(root: &Path, id: &str) -> EditManifest {
    Corpus::open(root).unwrap().edit(&id.parse().unwrap()).unwrap()
}

/// Waits until the stream holds what is looked for: the streams grow while they are recorded.
fn wait_for<T>(what: &str, look: impl Fn() -> Option<T>) -> T {
    let until = std::time::Instant::now() + PATIENCE;
    loop {
        if let Some(t) = look() {
            return t;
        }
        assert!(std::time::Instant::now() < until, "{what} did not come");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_request_with_clicked_faces_and_an_edit_that_changes_the_model() {
    let dir = tempfile::tempdir().unwrap();
    let desk = big_desk();
    let root = corpus_with_model(&desk, dir.path());
    let hand = Hand::new(&desk);
    let mut cad = FreeCad::start(&desk, dir.path());
    cad.open(&model());
    let faces = cad.faces_on_screen();
    assert!(faces.len() >= 2, "{faces:?}");

    // The request: two faces clicked, the second one with Ctrl, so that both are selected.
    let mut rec = Recorder::start(&desk, &root, &["--no-mic", "--model", "part"]);
    rec.wait_line("FreeCAD");
    let (session, request) = (rec.dir(), rec.id.clone());
    // The first render says that FreeCAD has taken the session in.
    wait_for("the first render", || session.renders().exists().then_some(()));
    let mut clicked = Vec::new();
    for (i, (x, y, face)) in faces.iter().take(2).enumerate() {
        hand.move_to(*x, *y);
        wait_for("the highlight", || {
            let seen = session.selections().exists().then(|| selections(&session))?;
            seen.iter().any(|s| s.kind == SelectionKind::Preselected && s.entity.as_ref().is_some_and(|e| e.id == *face)).then_some(())
        });
        if i == 1 {
            hand.key(0xffe3, true);
        }
        clicked.push(hand.click_times(1).1);
        wait_for("the selection", || {
            let seen = selections(&session);
            seen.iter().any(|s| s.kind == SelectionKind::Added && s.entity.as_ref().is_some_and(|e| e.id == *face)).then_some(())
        });
        if i == 1 {
            hand.key(0xffe3, false);
        }
    }
    assert_eq!(rec.stop().1, Some(0));
    let m = manifest(&root, &request);
    let origin = m.session.clock.origin_ns.unwrap();
    let streams = &m.session.streams;
    assert!(streams.selections.is_some() && streams.commands.is_some() && streams.renders.is_some());
    let added: Vec<_> = selections(&session).into_iter().filter(|s| s.kind == SelectionKind::Added).collect();
    assert_eq!(added.len(), 2);
    let presses: Vec<_> =
        jsonl::read_all::<InputEvent>(&session.input()).unwrap().0.into_iter().filter(|e| e.kind == InputKind::Press).collect();
    for (i, (s, (_, _, face))) in added.iter().zip(&faces).enumerate() {
        let e = s.entity.as_ref().unwrap();
        assert_eq!((e.kind.as_str(), e.id.as_str(), e.document.as_deref()), ("face", face.as_str(), Some("part")));
        // FreeCAD selects when the button comes up.
        let off = s.t_ns + origin - clicked[i];
        assert!(off.abs() < NEAR_NS, "selection {i} is {} ms off, said to be {} ms at most", off / 1_000_000, s.error_ns / 1_000_000);
        assert!(s.point.is_some() && s.set.len() == i + 1, "{s:?}");
        // The picked point, seen through the camera, is where the mouse was.
        let (p, at) = (s.viewport.unwrap(), &presses[i]);
        let (dx, dy) = (at.x.unwrap() - p[0], at.y.unwrap() - p[1]);
        let (dx0, dy0) = (presses[0].x.unwrap() - added[0].viewport.unwrap()[0], presses[0].y.unwrap() - added[0].viewport.unwrap()[1]);
        assert!((dx - dx0).abs() < 3.0 && (dy - dy0).abs() < 3.0, "the viewport's corner is at {dx},{dy} and at {dx0},{dy0}");
    }

    // The edit, by another expert: a view by its tool button, a fillet and a cut by the console, a result.
    let mut c = redline(&desk);
    c.args(["edit", &request, "--participant", "P02", "--no-mic", "--yes", "--corpus"]).arg(&root);
    let mut rec = Recorder::start_command(c, &root, "edits");
    rec.wait_line("FreeCAD");
    let (session, edit) = (rec.dir(), rec.id.clone());
    let states = || {
        let all = session.renders().exists().then(|| jsonl::read_all::<RenderEvent>(&session.renders()).unwrap().0)?;
        Some(all.into_iter().filter(|r| r.kind == RenderKind::State).count())
    };
    wait_for("the first state", || states().filter(|n| *n == 1));
    let (x, y) = cad.button("Std_ViewTop");
    hand.move_to(x, y);
    cad.run("Gui.updateGui()");
    let view_at = hand.click_times(1).1;
    wait_for("the view command", || {
        commands(&session).iter().any(|c| c.kind == CommandKind::Ended && c.command_id.as_deref() == Some("Std_ViewTop")).then_some(())
    });
    let before = cad.run("result = len([o for o in App.activeDocument().Objects if o.ViewObject.Visibility][0].Shape.Faces)");
    cad.run(
        r#"
doc = App.activeDocument()
base = [o for o in doc.Objects if o.ViewObject.Visibility][0]
def edge_that_can_be_rounded(shape):
    # Of any model: the largest radius that the kernel manages on some straight edge.
    for radius in (1.0, 0.5, 0.2, 0.1, 0.05):
        for i, e in enumerate(shape.Edges):
            if e.Length > 5 * radius and e.Curve.TypeId == "Part::GeomLine":
                try:
                    rounded = shape.makeFillet(radius, [e])
                    if rounded.isValid() and len(rounded.Faces) > len(shape.Faces):
                        return i + 1, radius, radius
                except Exception:
                    pass
    raise ValueError("no edge of it can be rounded")
doc.openTransaction("Fillet")
fillet = doc.addObject("Part::Fillet", "Fillet")
fillet.Base = base
fillet.Edges = [edge_that_can_be_rounded(base.Shape)]
base.ViewObject.Visibility = False
doc.recompute()
doc.commitTransaction()
"#,
    );
    wait_for("the fillet's state", || states().filter(|n| *n == 2));
    cad.run(
        r#"
doc.openTransaction("Cut")
box = fillet.Shape.BoundBox
tool = doc.addObject("Part::Box", "Tool")
tool.Length, tool.Width, tool.Height = box.XLength / 4, box.YLength / 4, box.ZLength / 4
tool.Placement.Base = App.Vector(box.XMin - 1, box.YMin - 1, box.ZMin - 1)
cut = doc.addObject("Part::Cut", "Cut")
cut.Base, cut.Tool = fillet, tool
fillet.ViewObject.Visibility = tool.ViewObject.Visibility = False
doc.recompute()
doc.commitTransaction()
doc.openTransaction("Chamfer")
doc.addObject("Part::Feature", "Unfinished")
doc.abortTransaction()
"#,
    );
    wait_for("the cut's state", || states().filter(|n| *n >= 3));
    assert_eq!(rec.stop().1, Some(0));
    let m = edit_of(&root, &edit);
    let origin = m.session.clock.origin_ns.unwrap();

    // Commands in their order, each started before it ended.
    let all = commands(&session);
    let told: Vec<_> = all
        .iter()
        .filter(|c| matches!(c.kind, CommandKind::Started | CommandKind::Ended | CommandKind::Cancelled))
        .map(|c| (c.command_id.as_deref().or(c.name.as_deref()).unwrap(), c.kind))
        .collect();
    use CommandKind::{Cancelled, Ended, Started};
    let want = [
        ("Std_ViewTop", Started),
        ("Std_ViewTop", Ended),
        ("Fillet", Started),
        ("Fillet", Ended),
        ("Cut", Started),
        ("Cut", Ended),
        ("Chamfer", Started),
        ("Chamfer", Cancelled),
    ];
    assert_eq!(told, want);
    let off = all.iter().find(|c| c.command_id.as_deref() == Some("Std_ViewTop")).unwrap().t_ns + origin - view_at;
    assert!(off.abs() < NEAR_NS, "the command began {} ms after the button came up", off / 1_000_000);
    assert!(all.windows(2).all(|w| w[0].t_ns <= w[1].t_ns && w[0].seq < w[1].seq));
    let fillet = all.iter().find(|c| c.kind == Ended && c.name.as_deref() == Some("Fillet")).unwrap();
    assert!(fillet.parameters.as_ref().unwrap().to_string().contains("Edges"), "{:?}", fillet.parameters);
    assert!(all.iter().any(|c| c.kind == CommandKind::Camera), "the view turned");

    // Pictures and states in order of time, each what it says; the states follow their commands.
    let files = jsonl::read_all::<RenderEvent>(&session.renders()).unwrap().0;
    assert!(files.windows(2).all(|w| w[0].t_ns <= w[1].t_ns));
    for f in &files {
        let bytes = std::fs::read(session.path().join(&f.path)).unwrap();
        let magic: &[u8] = match f.kind {
            RenderKind::Render => b"\x89PNG",
            _ if f.path.ends_with("fcstd") => b"PK",
            _ => b"ISO-10303-21",
        };
        assert!(bytes.starts_with(magic), "{}", f.path);
    }
    let kinds = |k: RenderKind| files.iter().filter(|f| f.kind == k).collect::<Vec<_>>();
    let states = kinds(RenderKind::State);
    assert!(kinds(RenderKind::Render).len() >= 3 && states.len() >= 3);
    assert!(states[1].t_ns >= fillet.t_ns && states[1].after_command == Some(fillet.seq), "{:?}", states[1]);

    // The result is a valid solid with another number of faces.
    assert_eq!((m.status, m.final_model.as_ref().unwrap().path.as_str()), (Status::Complete, "final.step"));
    let mut c = redline(&desk);
    c.args(["model", "show", &edit, "--json", "--corpus"]).arg(&root).arg("--out").arg(dir.path().join("page.html"));
    c.env("XDG_CACHE_HOME", dir.path().join("cache"));
    let shown: Value = serde_json::from_slice(&run(c).stdout).unwrap();
    let models = shown["models"].as_array().unwrap();
    let facts = |m: &Value| (m["model"]["facts"]["valid"].as_bool().unwrap(), m["model"]["facts"]["counts"]["faces"].as_u64().unwrap());
    let (input, last) = (&models[0], models.last().unwrap());
    assert_eq!((input["title"].as_str().unwrap().starts_with("Input"), last["title"].as_str()), (true, Some("Final model")));
    assert_eq!(facts(input).1, before.as_u64().unwrap());
    assert!(facts(last).0 && facts(last).1 > facts(input).1, "{:?} became {:?}", facts(input), facts(last));
    let mut check = redline(&desk);
    check.args(["check", "--corpus"]).arg(&root);
    let checked = check.output().unwrap();
    let report = String::from_utf8_lossy(&checked.stdout).into_owned();
    assert!(!report.contains("RL3"), "the streams are as they should be: {report}");
    // Nor do the program's pictures and models name their maker.
    assert_eq!(checked.status.code(), Some(0), "{report}");
    if let Some(keep) = std::env::var_os("REDLINE_TEST_KEEP") {
        let copied = std::process::Command::new("cp").arg("-a").arg(dir.path()).arg(keep).status().unwrap();
        assert!(copied.success());
    }
}

/// Selects something every 10 ms and writes down when.
const BUSY: &str = r#"
import time
log = open(r"LOG", "w")
obj = [o for o in App.activeDocument().Objects if o.ViewObject.Visibility][0]
count = 0
def select():
    global count
    count += 1
    Gui.Selection.addSelection(App.activeDocument().Name, obj.Name, "Face%d" % (1 + count % 2))
    log.write("%d\n" % time.monotonic_ns())
    log.flush()
    Gui.Selection.clearSelection()
busy = QtCore.QTimer()
busy.timeout.connect(select)
busy.start(10)
"#;

#[test]
fn a_killed_freecad_loses_at_most_a_quarter_of_a_second_and_a_new_one_joins() {
    let dir = tempfile::tempdir().unwrap();
    let desk = big_desk();
    let root = corpus_with_model(&desk, dir.path());
    let mut cad = FreeCad::start(&desk, dir.path());
    cad.open(&model());
    let mut rec = Recorder::start(&desk, &root, &["--no-mic"]);
    rec.wait_line("FreeCAD");
    let (session, id) = (rec.dir(), rec.id.clone());
    wait_for("the first render", || session.renders().exists().then_some(()));
    let log = dir.path().join("selected.txt");
    cad.run(&BUSY.replace("LOG", &log.to_string_lossy()));
    let times = || -> Vec<i64> { std::fs::read_to_string(&log).unwrap_or_default().lines().filter_map(|l| l.parse().ok()).collect() };
    wait_for("a hundred selections", || (times().len() >= 100).then_some(()));
    cad.kill();
    drop(cad);
    let done = times();

    // FreeCAD is started again while the session goes on.
    let mut cad = FreeCad::start(&desk, dir.path());
    cad.open(&model());
    wait_for("the new FreeCAD", || (rec.said().iter().filter(|l| l.contains("is connected")).count() == 2).then_some(()));
    let many = || selections(&session).iter().filter(|s| s.kind == SelectionKind::Added).count();
    let so_far = many();
    cad.run("Gui.Selection.addSelection(App.activeDocument().Name, App.activeDocument().Objects[0].Name, 'Face1')");
    wait_for("its selection", || (many() > so_far).then_some(()));
    assert_eq!(rec.stop().1, Some(0));
    let m = manifest(&root, &id);
    assert_eq!(m.status, Status::Complete);
    let origin = m.session.clock.origin_ns.unwrap();
    let all = selections(&session);
    let first_life: Vec<_> = all.iter().filter(|s| s.kind == SelectionKind::Added && s.seq < 1_000_000_000).collect();
    let last = first_life.last().unwrap().t_ns + origin;
    let lost = done.last().unwrap() - last;
    assert!(lost < 250_000_000, "{} ms of events are gone", lost / 1_000_000);
    assert!(done.len() - first_life.len() <= 25, "{} of {} came", first_life.len(), done.len());
    let mut numbers: Vec<u64> = all.iter().map(|s| s.seq).chain(commands(&session).iter().map(|c| c.seq)).collect();
    numbers.sort_unstable();
    assert!(numbers.windows(2).all(|w| w[0] < w[1]), "no event is there twice");
    assert!(all.last().unwrap().seq > 1_000_000_000, "the second FreeCAD's events are told apart");
}
