//! `redline run`: a scripted agent with xdotool, in real programs on a real X server; what the report says, and what it refuses to.
#![cfg(feature = "recorder")]
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod recording;
mod viewer;
#[allow(dead_code)] // Pictures of pages are not needed here.
mod webdriver;

use image::RgbImage;
use recording::*;
use redline_desk::{Options, VirtualDesktop};
use redline_schemas::{Corpus, RunId, RunStop, SessionDir, Status, StepEvent, jsonl};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use viewer::{SAME, Viewer, unlike};

/// A corpus with two people, two tasks and three labels.
fn prepared(desk: &VirtualDesktop, dir: &Path) -> PathBuf {
    let root = corpus(desk, dir);
    let tell = |args: &[&str]| {
        let mut c = redline(desk);
        c.args(args).arg("--corpus").arg(&root);
        run(c);
    };
    tell(&["participant", "add", "P02"]);
    tell(&["run", "labels", "--add", "missed_target", "--add", "ignored_dialog"]);
    let add = |id: &str, family: &str, prompt: &str, start: &str, steps: &str, expects: &str| {
        let words = ["run", "task", "add", id, "--family", family, "--prompt", prompt, "--start-state", start, "--reference-steps", steps];
        tell(&[&words[..], &["--check", &format!("view={expects}")][..]].concat());
    };
    let face = "the plate’s outer face is seen square on";
    add(
        "see-face",
        "orientation",
        "Turn the  bracket to the “right” until you see\nits plate’s outer face.",
        "the viewer as it opens",
        "1",
        face,
    );
    let arm = "the two holes of the plate are seen square on, at the first distance";
    let start = "the viewer, come close to the model, under a dialog";
    add("see-holes", "recovery", "Show the two holes of the plate from the other side.", start, "3", arm);
    root
}

fn tool(desk: &VirtualDesktop, root: &Path, args: &[&str]) -> Value {
    let mut c = redline(desk);
    c.args(["--json", "run"]).args(args).arg("--corpus").arg(root);
    serde_json::from_slice(&run(c).stdout).unwrap()
}

fn refused(desk: &VirtualDesktop, root: &Path, args: &[&str]) -> (Option<i32>, String) {
    let mut c = redline(desk);
    c.arg("run").args(args).arg("--corpus").arg(root);
    let o = c.output().unwrap();
    assert!(!o.status.success(), "{args:?} was carried out");
    (o.status.code(), String::from_utf8_lossy(&o.stderr).into_owned())
}

fn start(desk: &VirtualDesktop, root: &Path, task: &str) -> Recorder {
    let mut c = redline(desk);
    c.args(["--json", "run", "start", task, "--operator", "P01", "--agent", "scripted", "--agent-version", "1.0", "--keys", "all"]);
    c.args(["--app", "F3D", "--app-version", &viewer::version(desk), "--theme", "dark", "--locale", "C", "--corpus"]).arg(root);
    Recorder::start_command(c, root, "runs")
}

/// What the agent makes of an obstacle.
#[derive(Clone, Copy, PartialEq)]
enum Agent {
    Looks,
    ActsBlindly,
}

/// The views of the model that matter here, as the viewer draws them when nobody touches it.
struct Views {
    first: RgbImage,
    face: RgbImage,
    holes: RgbImage,
}

impl Views {
    fn draw(desk: &VirtualDesktop, dir: &Path) -> Self {
        let at = |degrees| viewer::reference(desk, dir, degrees);
        let v = Self { first: at(0), face: at(-90), holes: at(90) };
        for (a, b) in [(&v.first, &v.face), (&v.first, &v.holes), (&v.face, &v.holes)] {
            assert!(unlike(a, b) > 10.0 * SAME, "views that cannot be told apart");
        }
        v
    }
}

/// A run of the agent, who turns the model by dragging it. Whether it succeeded is seen from its last screenshot. Its id.
fn one_run(desk: &VirtualDesktop, root: &Path, views: &Views, task: &str, agent: Agent) -> String {
    let obstacle = task == "see-holes";
    let v = Viewer::open(desk, &views.first);
    let message = obstacle.then(|| {
        v.zoom_in(desk, 5);
        viewer::dialog(desk, &v)
    });
    let rec = start(desk, root, task);
    let id = rec.id.clone();
    let step = |action: &str, note: &str| tool(desk, root, &["step", "--action", action, "--note", note]);
    if obstacle && agent == Agent::Looks {
        step("key alt+F4", "closes the dialog");
        desk.output("xdotool", &["search", "--name", "^warning$", "windowactivate", "--sync"]).unwrap();
        let before = v.seen();
        desk.output("xdotool", &["key", "alt+F4"]).unwrap();
        desk.wait_for("the dialog to go", |d| !viewer::has_dialog(d)).unwrap();
        v.wait(desk, "the viewer uncovered", |p| unlike(p, &before) > 0.1);
    }
    if obstacle {
        step("key Return", "back to the first view");
        if agent == Agent::Looks {
            desk.output("xdotool", &["search", "--name", "^F3D", "windowactivate", "--sync"]).unwrap();
        }
        let before = v.seen();
        desk.output("xdotool", &["key", "Return"]).unwrap();
        if agent == Agent::Looks {
            v.wait_change(desk, "the first view", &before);
        }
    }
    let way = if obstacle { -viewer::QUARTER_TURN } else { viewer::QUARTER_TURN };
    let (from, to) = (v.at(200 - way / 2, 150), v.at(200 + way / 2, 150));
    let told = step(&format!("drag {} {} {} {}", from.0, from.1, to.0, to.1), "turns the model");
    let n = told["step"].as_u64().unwrap();
    assert_eq!(told["screenshot"], format!("screenshots/{n:04}.png"));
    if agent == Agent::Looks {
        v.drag(desk, from, to);
    } else {
        let [x, y, to_x, to_y] = [from.0, from.1, to.0, to.1].map(|n| n.to_string());
        desk.output("xdotool", &["mousemove", &x, &y, "mousedown", "1", "mousemove", &to_x, &to_y, "mouseup", "1"]).unwrap();
    }
    // The agent always says that it has done it.
    let told = tool(desk, root, &["stop", "--reason", "done", "--claimed", "success"]);
    assert_eq!(told["run"], id.as_str());
    let (out, code) = rec.wait();
    assert_eq!(code, Some(0), "{out}");
    let said: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((said["stop"].as_str(), said["claimed_success"].as_bool()), (Some("done"), Some(true)));

    let d = Corpus::open(root).unwrap().run_dir(&id.parse().unwrap());
    let last = image::open(d.path().join(&steps(&d).last().unwrap().screenshot)).unwrap().to_rgb8();
    let wanted = if obstacle { &views.holes } else { &views.face };
    let off = unlike(&v.part_of(&last), wanted);
    assert_eq!(off < SAME, agent == Agent::Looks, "{id}: {off} of the picture is not as the task wants it");
    drop(message);
    if agent == Agent::ActsBlindly {
        // Nothing of what it did has reached the model, which is as near as before.
        desk.wait_for("the dialog to go", |d| !viewer::has_dialog(d)).unwrap();
        v.wait(desk, "the model uncovered", |p| unlike(p, wanted) > 10.0 * SAME && unlike(p, &views.first) > 10.0 * SAME);
    }
    let result = if off < SAME { "view=pass" } else { "view=fail:the dialog is still there" };
    assert_eq!(tool(desk, root, &["verify", &id, "--by", "P01", "--check", result])["passed"], off < SAME);
    id
}

fn score(desk: &VirtualDesktop, root: &Path, id: &str, by: &str, s: [u8; 5], labels: &[&str]) {
    let mut args: Vec<String> = ["score", id, "--by", by].map(Into::into).into();
    for (name, v) in ["--visual", "--spatial", "--action", "--recovery", "--efficiency"].iter().zip(s) {
        args.extend([(*name).into(), v.to_string()]);
    }
    labels.iter().for_each(|l| args.extend(["--label".into(), (*l).into()]));
    tool(desk, root, &args.iter().map(String::as_str).collect::<Vec<_>>());
}

#[test]
fn three_runs_of_two_tasks() {
    let dir = tempfile::tempdir().unwrap();
    let desk = VirtualDesktop::start(Options { width: 640, height: 400, sound: false, compositor: false, ..Options::default() }).unwrap();
    let root = prepared(&desk, dir.path());
    let views = Views::draw(&desk, dir.path());
    let mut easy = Vec::new();
    for _ in 0..2 {
        easy.push(one_run(&desk, &root, &views, "see-face", Agent::Looks));
    }
    score(&desk, &root, &easy[0], "P01", [3, 2, 3, 3, 3], &[]);
    score(&desk, &root, &easy[1], "P01", [2, 2, 1, 3, 2], &["missed_target"]);

    // Two runs are no median; the pass rate has its n and its breakdown.
    let r = tool(&desk, &root, &["report"]);
    let a = &r["agents"][0];
    let overall = |d: &str| a["dimensions"][d]["overall"].clone();
    assert_eq!((&overall("visual_perception")["median"], &overall("visual_perception")["n"]), (&Value::Null, &json!(2)));
    assert_eq!((&a["pass_rate"]["overall"]["rate"], &a["pass_rate"]["by_task"]["see-face"]["n"]), (&json!(1.0), &json!(2)));
    let page = std::fs::read_to_string(root.join("reports/runs/report.html")).unwrap();
    assert!(page.contains("not reportable (n=2)") && !page.contains("<small>n=2</small>"));

    easy.push(one_run(&desk, &root, &views, "see-face", Agent::Looks));
    score(&desk, &root, &easy[2], "P01", [3, 3, 3, 3, 1], &[]);
    let mut hard = Vec::new();
    for agent in [Agent::Looks, Agent::ActsBlindly, Agent::Looks] {
        hard.push(one_run(&desk, &root, &views, "see-holes", agent));
    }
    for (id, s) in hard.iter().zip([[3, 3, 3, 3, 3], [0, 1, 2, 0, 1], [2, 3, 3, 3, 2]]) {
        score(&desk, &root, id, "P01", s, if s[0] == 0 { &["ignored_dialog"] } else { &[] });
    }
    for (id, s) in hard.iter().zip([[3, 3, 3, 3, 2], [1, 1, 2, 0, 1], [2, 3, 2, 3, 2]]) {
        score(&desk, &root, id, "P02", s, &[]);
    }

    let r = tool(&desk, &root, &["report"]);
    let a = &r["agents"][0];
    // The blind run said success; its last screenshot says no.
    let pass = &a["pass_rate"];
    assert_eq!((&pass["overall"]["failed"], &pass["overall"]["n"]), (&json!([hard[1]]), &json!(6)));
    assert_eq!(pass["by_family"]["recovery"]["passed"], json!([hard[0], hard[2]]));
    let blind = r["runs"].as_array().unwrap().iter().find(|x| x["run"] == hard[1].as_str()).unwrap();
    assert_eq!((blind["outcome"].as_str(), blind["claimed_success"].as_bool()), (Some("failed"), Some(true)));
    // Medians of the first scorer: 3 2 3 and 3 0 2; both: 0 2 2 3 3 3.
    let m = |d: &str| &a["dimensions"][d];
    assert_eq!(m("visual_perception")["by_task"]["see-face"]["median"], 3.0);
    assert_eq!(m("visual_perception")["by_task"]["see-holes"]["median"], 2.0);
    assert_eq!((&m("visual_perception")["overall"]["median"], &m("visual_perception")["overall"]["n"]), (&json!(2.5), &json!(6)));
    // Pairs 3 3, 0 1, 2 2: the mean squared distance is 1/3; by chance 14/9 + 2/3 + (1/3)² = 21/9, so kappa is 6/7.
    let g = &r["agreement"]["visual_perception"];
    assert_eq!((&g["n"], (g["exact"].as_f64().unwrap() * 3.0).round()), (&json!(3), 2.0));
    assert!((g["kappa"].as_f64().unwrap() - 6.0 / 7.0).abs() < 1e-12, "{g}");

    // Rows lead to folders with real pictures, taken on the session's clock.
    let c = Corpus::open(&root).unwrap();
    let d = c.run_dir(&RunId::new(hard[0].as_str()).unwrap());
    let run = c.run(&RunId::new(hard[0].as_str()).unwrap()).unwrap();
    assert_eq!((run.status, run.environment.resolution), (Status::Complete, Some((640, 400))));
    assert_eq!(run.prompt, "Show the two holes of the plate from the other side.");
    let steps = steps(&d);
    assert_eq!(
        steps.iter().map(|s| s.action.as_ref().map(|a| a.kind())).collect::<Vec<_>>(),
        [Some("key"), Some("key"), Some("drag"), None]
    );
    assert!(steps.windows(2).all(|w| w[0].t_ns < w[1].t_ns) && steps[3].t_ns <= run.session.duration_ns);
    let shown = |s: &StepEvent| image::open(d.path().join(&s.screenshot)).unwrap().to_rgb8();
    let (before, after) = (shown(&steps[0]), shown(&steps[1]));
    assert_eq!(before.dimensions(), (640, 400));
    let differ = before.pixels().zip(after.pixels()).filter(|(a, b)| a != b).count();
    assert!(differ > 5_000, "the dialog is seen, then gone: {differ} pixels");
    assert!(run.session.streams.input.as_ref().unwrap().count >= 10, "the same recorder keeps the keys");
    let page = std::fs::read_to_string(root.join("reports/runs/report.html")).unwrap();
    for s in &steps {
        assert!(page.contains(&format!("src=\"../../runs/{}/{}\"", hard[0], s.screenshot)));
    }
    let csv = std::fs::read_to_string(root.join("reports/runs/scores.csv")).unwrap();
    assert_eq!(csv.lines().count(), 1 + 6 + 3);
    assert!(csv.contains(",ignored_dialog,"));
    in_the_browser(&root.join("reports/runs/report.html"), &hard[1]);
    judged_once(&desk, &root, &hard[1]);
    published_and_checked(&desk, &root, &hard[1]);
    if let Some(to) = std::env::var_os("REDLINE_KEEP_RUNS") {
        std::process::Command::new("cp").arg("-rT").arg(&root).arg(to).status().unwrap();
    }
}

fn steps(d: &SessionDir) -> Vec<StepEvent> {
    jsonl::read_all(&d.steps()).unwrap().0
}

/// What was judged stays, and only people judge, with what the corpus has words for.
fn judged_once(desk: &VirtualDesktop, root: &Path, id: &str) {
    let scores = ["--visual", "1", "--spatial", "1", "--action", "1", "--recovery", "1", "--efficiency", "1"];
    let with = |words: &[&str]| {
        let all: Vec<&str> = words.iter().chain(&scores).copied().collect();
        refused(desk, root, &all)
    };
    assert!(with(&["score", id, "--by", "P01"]).1.contains("already"));
    assert!(with(&["score", id, "--by", "P03"]).1.contains("no participant"));
    assert!(refused(desk, root, &["verify", id, "--by", "P02", "--check", "view=pass"]).1.contains("nothing that was judged is replaced"));
    let (code, said) = refused(desk, root, &["score", id, "--by", "P02", "--visual", "4"]);
    assert!(code == Some(2) && said.contains('4'), "{said}");
    assert!(refused(desk, root, &["step", "--action", "jump 1 2"]).1.contains("double_click"));
    let (code, said) = refused(desk, root, &["step", "--action", "wait"]);
    assert!(code == Some(4) && said.contains("no recorder"), "{said}");
}

#[test]
fn a_run_that_is_broken_off_says_so_and_one_that_takes_too_long_is_ended() {
    let dir = tempfile::tempdir().unwrap();
    let desk = VirtualDesktop::start(Options { width: 320, height: 240, sound: false, compositor: false, ..Options::default() }).unwrap();
    let root = prepared(&desk, dir.path());
    let rec = start(&desk, &root, "see-face");
    let id = rec.id.clone();
    tool(&desk, &root, &["step", "--action", "wait"]);
    let r = tool(&desk, &root, &["report"]);
    assert_eq!(
        (r["runs"].as_array().unwrap().len(), r["left_out"][0]["run"].as_str()),
        (0, Some(id.as_str())),
        "a run under way counts nowhere"
    );
    let (out, code) = rec.stop();
    assert_eq!((code, serde_json::from_str::<Value>(&out).unwrap()["stop"].clone()), (Some(0), Value::Null));
    tool(&desk, &root, &["stop", "--run", &id, "--reason", "intervention", "--claimed", "success"]);
    assert!(refused(&desk, &root, &["stop", "--run", &id, "--reason", "done"]).1.contains("already"));
    let r = tool(&desk, &root, &["report"]);
    assert_eq!((r["runs"][0]["stop"].as_str(), r["runs"][0]["outcome"].as_str()), (Some("intervention"), Some("unverified")));
    assert_eq!(r["agents"][0]["pass_rate"]["overall"]["rate"], 0.0, "nobody looked, so it did not pass");

    let mut c = redline(&desk);
    c.args(["--json", "run", "start", "see-face", "--operator", "P01", "--agent", "s", "--agent-version", "1", "--limit", "1"]);
    c.args(["--app", "x", "--app-version", "1", "--locale", "C", "--corpus"]).arg(&root);
    let said: Value = serde_json::from_slice(&run(c).stdout).unwrap();
    assert_eq!((said["stop"].as_str(), said["steps"].as_u64()), (Some("limit"), Some(0)));

    // What can't be is said before anything is recorded, with what to do.
    let before = std::fs::read_dir(root.join("runs")).unwrap().count();
    let named = |task, agent| {
        let all = [
            "start",
            task,
            "--operator",
            "P01",
            "--agent",
            agent,
            "--agent-version",
            "1",
            "--app",
            "x",
            "--app-version",
            "1",
            "--locale",
            "C",
        ];
        refused(&desk, &root, &all)
    };
    let (code, said) = named("nowhere", "s");
    assert!(code == Some(5) && said.contains("there is no task “nowhere”") && said.contains("run task add"), "{said}");
    let (code, said) = named("see-face", "a\u{7}b");
    assert!(code == Some(2) && said.contains("characters that nobody can see"), "{said}");
    let (code, said) = refused(&desk, &root, &["verify", "U404", "--by", "P01", "--check", "view=pass"]);
    assert!(code == Some(5) && said.contains("there is no run U404"), "{said}");
    let (_, said) = refused(&desk, &root, &["step", "--action", "wait"]);
    assert!(said.contains("`redline run start`"), "{said}");
    assert_eq!(std::fs::read_dir(root.join("runs")).unwrap().count(), before);
}

#[test]
fn a_run_whose_last_screenshot_cannot_be_kept_is_finished_all_the_same() {
    let dir = tempfile::tempdir().unwrap();
    let desk = VirtualDesktop::start(Options { width: 320, height: 240, sound: false, compositor: false, ..Options::default() }).unwrap();
    let root = prepared(&desk, dir.path());
    let rec = start(&desk, &root, "see-face");
    let id = rec.id.clone();
    tool(&desk, &root, &["step", "--action", "wait"]);
    let d = Corpus::open(&root).unwrap().run_dir(&id.parse().unwrap());
    std::fs::remove_dir_all(d.path().join("screenshots")).unwrap();
    tool(&desk, &root, &["stop", "--reason", "done"]);
    assert_ne!(rec.wait().1, Some(0), "what is missing is an error");
    let m = Corpus::open(&root).unwrap().run(&id.parse().unwrap()).unwrap();
    assert_eq!((m.status, m.stop), (Status::Complete, Some(RunStop::Done)));
    assert!(d.video().is_file() && !d.video_raw().exists());
}

/// A number leads to its runs, and a run shows its pictures.
fn in_the_browser(page: &Path, failed: &str) {
    let b = webdriver::Browser::start();
    b.open(&format!("file://{}", page.display()));
    let listed = "return [...document.querySelectorAll('details.run')].filter(d => !d.hidden).map(d => d.dataset.run)";
    assert_eq!(b.run(listed).as_array().unwrap().len(), 6);
    // “1 failed” below the headline.
    b.click(".hero .soft a.num");
    b.wait("the failed run alone", listed, &|v| *v == json!([failed]));
    b.click("details.run:not([hidden]) summary");
    let loaded = "return [...document.querySelectorAll('details.run:not([hidden]) img')].map(i => i.complete ? i.naturalWidth : 0)";
    b.wait("its screenshots", loaded, &|v| *v == json!([640, 640, 640]));
    b.click("#filter button");
    b.wait("all runs", listed, &|v| v.as_array().is_some_and(|a| a.len() == 6));
}

/// The corpus's tables hold the same runs, a release too, and the check finds what was made wrong.
fn published_and_checked(desk: &VirtualDesktop, root: &Path, hard: &str) {
    let call = |args: &[&str]| {
        let mut c = redline(desk);
        c.arg("--json").args(args).arg("--corpus").arg(root);
        c.output().unwrap()
    };
    let out = root.with_file_name("tables");
    let packed = call(&["pack", "--out", out.to_str().unwrap()]);
    let packed: Value = serde_json::from_slice(&packed.stdout).unwrap();
    let rows = |t: &str| packed["tables"].as_array().unwrap().iter().find(|x| x["table"] == t).unwrap()["rows"].as_u64().unwrap();
    // A step and the end; with the way back two, where the dialog was closed three.
    assert_eq!((rows("runs"), rows("steps"), rows("scores")), (6, 3 * 2 + 4 + 3 + 4, 9));
    assert!(rows("events") > 40, "events of runs lie with the others");
    let counted = call(&["query", "SELECT task_id, outcome, count(*) AS n FROM runs GROUP BY 1, 2 ORDER BY 1, 2"]);
    let n = |task: &str, outcome: &str, n: u64| json!({ "task_id": task, "outcome": outcome, "n": n });
    let counted: Value = serde_json::from_slice(&counted.stdout).unwrap();
    assert_eq!(counted, json!([n("see-face", "passed", 3), n("see-holes", "failed", 1), n("see-holes", "passed", 2)]));
    let found = |rule: &str, file: &str| {
        let o = call(&["check"]);
        let r: Value = serde_json::from_slice(&o.stdout).unwrap();
        assert_eq!(r["runs"], 6);
        let all = r["findings"].as_array().unwrap();
        all.iter().any(|f| f["rule"] == rule && f["file"].as_str().unwrap().starts_with(file))
    };
    let r: Value = serde_json::from_slice(&call(&["check"]).stdout).unwrap();
    assert_eq!(r["errors"], 0, "{r:#}");
    let folder = format!("runs/{hard}");
    let changed = |file: &str, change: &dyn Fn(&mut Value), rule: &str| {
        let path = root.join(&folder).join(file);
        let before = std::fs::read(&path).unwrap();
        let mut v: Value = serde_json::from_slice(&before).unwrap();
        change(&mut v);
        std::fs::write(&path, v.to_string()).unwrap();
        assert!(found(rule, &folder), "{file}: no {rule}");
        if rule == "RL803" {
            let (_, said) = refused(desk, root, &["report"]);
            assert!(said.contains("scores/P01.json") && said.contains("error_recovery is 4"), "{said}");
        }
        std::fs::write(&path, before).unwrap();
    };
    changed("scores/P01.json", &|v| v["scores"]["error_recovery"] = 4.into(), "RL803");
    changed("scores/P01.json", &|v| v["labels"] = json!(["bad_luck"]), "RL804");
    changed("verification.json", &|v| v["checks"][0]["name"] = "other".into(), "RL806");
    changed("run.json", &|v| v["prompt"] = "Something else.".into(), "RL801");
    let picture = root.join(&folder).join("screenshots/0002.png");
    std::fs::rename(&picture, picture.with_extension("away")).unwrap();
    assert!(found("RL802", &folder));
    std::fs::rename(picture.with_extension("away"), &picture).unwrap();

    // Only what its operator agreed to is published; P02, who only scored, has not agreed yet.
    let c = Corpus::open(root).unwrap();
    let mut people = c.participants().unwrap();
    people.participants[0].consent = Some(redline_schemas::Consent { version: "1".into(), given_utc: people.participants[0].created_utc });
    c.write_participants(&people).unwrap();
    let mut c = redline(desk);
    c.args(["--json", "release", "1.0.0", "--corpus"]).arg(root);
    let o = c.output().unwrap();
    assert!(o.status.success(), "{}", String::from_utf8_lossy(&o.stderr));
    let to = root.join("releases/1.0.0");
    assert!(to.join(&folder).join("screenshots/0002.png").is_file() && to.join("tables/test/scores.parquet").is_file());
    assert!(!to.join(&folder).join("run.json").exists() && !to.join("reports").exists());
    let m: Value = serde_json::from_slice(&std::fs::read(to.join("release.json")).unwrap()).unwrap();
    assert_eq!((&m["runs"], &m["participants"]), (&json!(6), &json!(1)));
    let scores = m["splits"][0]["tables"].as_array().unwrap().iter().find(|t| t["name"] == "scores").unwrap();
    assert_eq!(scores["rows"], 6, "scores of who has not agreed are left out");
}

#[test]
fn a_run_whose_recorder_died_keeps_its_steps() {
    let dir = tempfile::tempdir().unwrap();
    let desk = VirtualDesktop::start(Options { width: 320, height: 240, sound: false, compositor: false, ..Options::default() }).unwrap();
    let root = prepared(&desk, dir.path());
    let rec = start(&desk, &root, "see-face");
    let id = rec.id.clone();
    for action in ["click 10 10", "key Return"] {
        tool(&desk, &root, &["step", "--action", action]);
    }
    // A loaded machine's encoder is behind: something must be there to be mended.
    let frames = |d: &VirtualDesktop| {
        let mut c = redline(d);
        c.args(["ctl", "--json", "--corpus"]).arg(&root).arg("status");
        serde_json::from_slice::<Value>(&run(c).stdout).unwrap()["frames"].as_u64().unwrap()
    };
    desk.wait_for("frames", |d| frames(d) > 30).unwrap();
    let d = rec.dir();
    rec.signal(libc::SIGKILL);
    rec.wait();
    // The line that was being written.
    let mut half = std::fs::read(d.steps()).unwrap();
    half.extend(b"{\"t_ns\":123");
    std::fs::write(d.steps(), half).unwrap();
    let mut c = redline(&desk);
    c.args(["recover", "--corpus"]).arg(&root);
    run(c);
    let m = Corpus::open(&root).unwrap().run(&RunId::new(id.as_str()).unwrap()).unwrap();
    assert_eq!((m.status, m.stop, steps(&d).len()), (Status::Recovered, None, 2));
    assert_eq!(m.environment.resolution, Some((320, 240)));
    let mut c = redline(&desk);
    c.args(["--json", "check", "--corpus"]).arg(&root);
    // What a starved machine's video lacks is another test's matter.
    let r: Value = serde_json::from_slice(&c.output().unwrap().stdout).unwrap();
    let all = r["findings"].as_array().unwrap();
    let has = |rule: &str| all.iter().any(|f| f["rule"] == rule);
    assert!(has("RL807") && has("RL808"), "{r:#}");
    assert!(!all.iter().any(|f| f["file"].as_str().unwrap().ends_with("steps.jsonl")), "{r:#}");
    // By hand now, as everything of a run that was broken off.
    tool(&desk, &root, &["stop", "--run", &id, "--reason", "intervention"]);
    tool(&desk, &root, &["verify", &id, "--by", "P01", "--check", "view=fail"]);
    assert_eq!(tool(&desk, &root, &["report"])["runs"][0]["outcome"], "failed");
}
