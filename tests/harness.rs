//! Tasks go out to agents' harnesses, their edits come back, and people and models stand in one table.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod review_support;

use redline_schemas::*;
use review_support::{HEARD, redline, request};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

fn bracket() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("samples/bracket.step")
}

fn utc(s: &str) -> Utc {
    s.parse().unwrap()
}

/// A corpus of two people who ask and edit and three who rate, with the sample's model.
fn corpus(root: &Path) -> Corpus {
    let c = review_support::corpus(root);
    let person = |id: &str, roles: &[Role]| Participant {
        id: ParticipantId::new(id).unwrap(),
        roles: roles.to_vec(),
        created_utc: utc("2026-03-01T10:00:00Z"),
        consent: Some(Consent { version: "1".into(), given_utc: utc("2026-03-01T10:00:00Z") }),
        agent: None,
    };
    let makers = ["P01", "P04"].map(|id| person(id, &[Role::Requestor, Role::Editor]));
    let raters = ["R1", "R2", "R3"].map(|id| person(id, &[Role::Rater]));
    let participants = makers.into_iter().chain(raters).collect();
    c.write_participants(&ParticipantsManifest { format_version: FORMAT_VERSION, participants }).unwrap();
    let (code, _, talk) = redline(&["model", "add", text(&bracket()), "--id", "bracket", "--corpus", text(root)]);
    assert_eq!(code, 0, "{talk}");
    c
}

fn text(p: &Path) -> &str {
    p.to_str().unwrap()
}

/// A request about the bracket by P04.
fn asked(c: &Corpus, modality: Modality, difficulty: Difficulty, typed: Option<&str>, media: bool) -> RequestId {
    let id = request(c, "P04", modality, difficulty, &HEARD, media);
    let mut m = c.request(&id).unwrap();
    m.model = Some(ModelId::new("bracket").unwrap());
    fsio::write_json(&c.request_dir(&id).request_json(), &m).unwrap();
    if let Some(t) = typed {
        std::fs::write(c.request_dir(&id).text(), t).unwrap();
    }
    id
}

/// A person's edit that took so long.
fn edited(c: &Corpus, id: &str, request: &RequestId, participant: &str, seconds: i64) -> EditId {
    let id = EditId::new(id).unwrap();
    let dir = c.edit_dir(&id);
    std::fs::create_dir_all(dir.path()).unwrap();
    let step = dir.path().join("final.step");
    std::fs::copy(bracket(), &step).unwrap();
    let mut session = Session::begun();
    session.clock.alignment = Alignment::Container;
    session.duration_ns = seconds * 1_000_000_000;
    let m = EditManifest {
        format_version: FORMAT_VERSION,
        id: id.clone(),
        request: request.clone(),
        participant: ParticipantId::new(participant).unwrap(),
        status: Status::Complete,
        rejection: None,
        session,
        started_ns: Some(0),
        stopped_ns: Some(seconds * 1_000_000_000),
        final_model: Some(dir.file_ref(&step).unwrap()),
        usage: None,
        imported_from: None,
        tool: Tool::redline(),
    };
    fsio::write_json(&dir.edit_json(), &m).unwrap();
    id
}

fn rate(c: &Corpus, edit: &EditId, scores: &[(&str, u8, u8)]) {
    let rating = |(rater, instruction_following, quality): &(&str, u8, u8)| Rating {
        rater: ParticipantId::new(*rater).unwrap(),
        instruction_following: *instruction_following,
        quality: *quality,
        comment: None,
        rated_utc: None,
    };
    let ratings = scores.iter().map(rating).collect();
    let all = Ratings { format_version: FORMAT_VERSION, edit: edit.clone(), ratings, tool: Tool::redline() };
    fsio::write_json(&c.edit_dir(edit).ratings_path(), &all).unwrap();
}

/// IoU and Chamfer distance are against the requestor's own edit.
fn measured(c: &Corpus, edit: &EditId, valid: bool, comparison: Option<(&EditId, f64, f64)>) {
    let sha256 = |e: &EditId| c.edit(e).unwrap().final_model.unwrap().sha256;
    let m = EditMetrics {
        format_version: FORMAT_VERSION,
        edit: edit.clone(),
        model_sha256: sha256(edit),
        valid,
        problems: vec![],
        reference: comparison.map(|(own, ..)| own.clone()),
        reference_sha256: comparison.map(|(own, ..)| sha256(own)),
        comparison: comparison.map(|(_, iou, chamfer_mm)| ModelComparison {
            chamfer_mm,
            chamfer_relative: 0.1,
            iou: Some(iou),
            no_iou: None,
            image_similarity: None,
        }),
        not_compared: None,
        kernel: "k".into(),
        image_model_sha256: None,
        measured_utc: utc("2026-03-01T10:00:00Z"),
        tool: Tool::redline(),
    };
    fsio::write_json(&c.edit_dir(edit).metrics_path(), &m).unwrap();
}

/// Does an agent's work in a task's folder: fills the settings in, and puts result and views there.
fn work(task: &Path, to: &Path, filled: Value) {
    std::fs::create_dir_all(to).unwrap();
    std::fs::copy(bracket(), to.join("result.step")).unwrap();
    for view in VIEWS {
        std::fs::copy(task.join(format!("input/views/{view}.png")), to.join(format!("tmp_{view}.png"))).unwrap();
    }
    let mut settings: Value = fsio::read_json(&task.join("settings.json")).unwrap();
    for (k, v) in filled.as_object().unwrap() {
        settings[k] = v.clone();
    }
    fsio::write_json(&to.join("settings.json"), &settings).unwrap();
}

/// Every file below a folder and its hash.
fn tree(dir: &Path) -> BTreeMap<PathBuf, String> {
    let mut all = BTreeMap::new();
    let mut open = vec![dir.to_path_buf()];
    while let Some(d) = open.pop() {
        for e in std::fs::read_dir(d).unwrap().map(Result::unwrap) {
            if e.file_type().unwrap().is_dir() {
                all.insert(e.path(), String::new());
                open.push(e.path());
            } else {
                all.insert(e.path(), fsio::sha256_file(&e.path()).unwrap());
            }
        }
    }
    all
}

fn parsed(out: &str) -> Value {
    serde_json::from_str(out).unwrap_or_else(|e| panic!("{e}: {out}"))
}

fn near(v: &Value, want: f64) {
    let v = v.as_f64().unwrap_or_else(|| panic!("{v}"));
    assert!((v - want).abs() < 1e-9, "{v} is not {want}");
}

fn check_passes(root: &str) {
    let (code, report, talk) = redline(&["check", "--corpus", root]);
    let errors: Vec<Value> = parsed(&report)["findings"].as_array().unwrap().iter().filter(|f| f["severity"] == "error").cloned().collect();
    assert!(code == 0 && errors.is_empty(), "{errors:#?}\n{talk}");
}

#[test]
fn tasks_go_out_and_models_stand_beside_people() {
    let dir = tempfile::tempdir().unwrap();
    let (root, tasks, runs) = (dir.path().join("c"), dir.path().join("tasks"), dir.path().join("runs"));
    let c = corpus(&root);
    let easy = asked(&c, Modality::Text, Difficulty::Easy, Some("Make the hole 2 mm bigger."), false);
    let hard = asked(&c, Modality::DrawTemp, Difficulty::Hard, None, false);
    let own_easy = edited(&c, "H1", &easy, "P04", 40);
    let other = edited(&c, "H2", &easy, "P01", 50);
    let own_hard = edited(&c, "H3", &hard, "P04", 200);
    let root = text(&root);

    // Out: the model, its views, the instruction, and settings that lack what the agent fills in.
    let (code, out, talk) = redline(&["export", "harness", "--out", text(&tasks), "--corpus", root]);
    assert_eq!(code, 0, "{talk}");
    assert_eq!(parsed(&out).as_array().unwrap().len(), 2);
    let task = tasks.join(&easy);
    assert_eq!(std::fs::read(task.join("input/model.step")).unwrap(), std::fs::read(bracket()).unwrap());
    assert_eq!(std::fs::read_to_string(task.join("input/instruction.txt")).unwrap(), "Make the hole 2 mm bigger.\n");
    let about: Value = fsio::read_json(&task.join("input/task.json")).unwrap();
    assert_eq!((&about["modality"], &about["instruction_source"]), (&json!("text"), &json!("typed")));
    assert_eq!((&about["views"]["top"], &about["video"]), (&json!("input/views/top.png"), &Value::Null));
    let spoken: Value = fsio::read_json(&tasks.join(&hard).join("input/task.json")).unwrap();
    assert_eq!((&spoken["instruction"], &spoken["instruction_source"]), (&json!(HEARD.join("\n")), &json!("automatic")));
    for f in tree(&tasks).keys().filter(|f| f.extension().is_some_and(|e| e == "json" || e == "txt")) {
        let said = std::fs::read_to_string(f).unwrap();
        assert!(!said.contains("P04") && !said.contains("H1"), "{}: an agent learns nothing of people: {said}", f.display());
    }
    let (code, _, talk) = redline(&["import", "harness", text(&task), "--corpus", root]);
    assert!(code == 5 && talk.contains("settings.json: neither “model” nor “userId”"), "{talk}");
    let (code, _, talk) = redline(&["export", "harness", easy.as_str(), "--out", text(&tasks), "--corpus", root]);
    assert!(code == 5 && talk.contains("already exists"), "{talk}");

    // Back: two models, one of which did both tasks.
    let tokens = |i: u64, o: u64, cost: Value| json!({ "input_tokens": i, "output_tokens": o, "cost_estimate": cost });
    let alpha = |start: f64, s: f64, t: Value| json!({ "model": "alpha", "model_version": "1", "start_time": start, "end_time": start + s, "token_counts": t });
    work(&task, &runs.join("a/1"), alpha(1_770_000_000.0, 30.0, tokens(1000, 500, json!(0.25))));
    work(&tasks.join(&hard), &runs.join("a/2"), alpha(1_770_000_100.0, 90.0, tokens(2000, 500, json!(0.75))));
    let beta = json!({ "model": null, "userId": "beta_script", "seconds": 10.25, "token_counts": tokens(700, 200, Value::Null), "temperature": 0.5 });
    // The reference benchmark's own folders; of several ends the last one counts.
    work(&task, &runs.join("b/beta_script_1/brep_end/1770000300.5"), beta.clone());
    work(&task, &runs.join("b/beta_script_1/brep_end/1770000200.5"), json!({ "model": "an earlier try" }));
    let (code, out, talk) = redline(&["import", "harness", text(&runs), "--corpus", root]);
    assert_eq!(code, 0, "{talk}");
    let came = parsed(&out);
    let edits: Vec<EditId> =
        came["imported"].as_array().unwrap().iter().map(|e| EditId::new(e["edit"].as_str().unwrap()).unwrap()).collect();
    let [a1, a2, b1] = edits.as_slice() else { panic!("{out}") };
    assert_eq!((&came["imported"][0]["new_participant"], &came["imported"][1]["new_participant"]), (&json!(true), &json!(false)));
    let m = c.edit(a1).unwrap();
    assert_eq!((m.request, m.status, m.usage), (easy.clone(), Status::Complete, Some(AgentUsage { tokens: 1500, cost_usd: Some(0.25) })));
    assert_eq!(m.session.clock.started_utc, utc("2026-02-02T02:40:00Z"));
    let people = c.participants().unwrap().participants;
    let agent = people.iter().find(|p| p.id == m.participant).unwrap();
    assert_eq!(agent.agent.as_ref().map(|a| a.model.as_str()), Some("alpha 1"));
    let kept: Value = fsio::read_json(&c.edit_dir(b1).path().join("settings.json")).unwrap();
    assert_eq!(kept["temperature"], 0.5, "what is not read is kept");

    // The same folders again, by content: nothing happens, and it is said.
    let before = tree(Path::new(root));
    let (code, out, talk) = redline(&["import", "harness", text(&runs), "--corpus", root]);
    assert!(code == 0 && parsed(&out)["known"].as_array().unwrap().len() == 3, "{out}");
    assert!(talk.contains(&format!("passed over, it is edit {a1} already")), "{talk}");
    assert_eq!(tree(Path::new(root)), before);

    // What is said of them.
    rate(&c, a1, &[("R1", 5, 5), ("R2", 6, 7), ("R3", 7, 6)]);
    rate(&c, a2, &[("R1", 2, 4), ("R2", 3, 4)]);
    rate(&c, b1, &[("R1", 1, 1), ("R2", 2, 2), ("R3", 2, 1)]);
    rate(&c, &other, &[("R1", 6, 6)]);
    rate(&c, &own_hard, &[("R1", 7, 7)]);
    measured(&c, a1, true, Some((&own_easy, 0.8, 0.5)));
    measured(&c, a2, false, Some((&own_hard, 0.4, 1.5)));
    measured(&c, &own_easy, true, None);
    check_passes(root);
    let (_, status, talk) = redline(&["rate", "status", "--corpus", root]);
    assert_eq!((&parsed(&status)["edits"], &parsed(&status)["left_out"]), (&json!(6), &json!([])), "{talk}");

    let (code, board, talk) = redline(&["rate", "leaderboard", "--corpus", root]);
    assert_eq!(code, 0, "{talk}");
    let board = parsed(&board);
    let row = |list: &str, i: usize| board[list][i].clone();
    let names: Vec<&Value> = board["overall"].as_array().unwrap().iter().map(|r| &r["maker"]).collect();
    assert_eq!(
        json!(names),
        json!([{ "kind": "requestor" }, { "kind": "editor" }, { "kind": "program", "model": "alpha 1" }, { "kind": "program", "model": "beta_script" }])
    );
    let alpha = row("overall", 2);
    assert_eq!((&alpha["edits"], &alpha["rated"], &alpha["ratings"]), (&json!(2), &json!(2), &json!(5)));
    // Medians 6 and 2.5 of 1 to 7; 6 and 4.
    near(&alpha["instruction_following"]["mean"], (5.0 / 6.0 + 0.25) / 2.0);
    near(&alpha["quality"]["median"], (5.0 / 6.0 + 0.5) / 2.0);
    assert_eq!((&alpha["acceptance"]["k"], &alpha["acceptance"]["n"]), (&json!(1), &json!(2)));
    // Wilson: (1/2 ± 1.96 √(1/8 + 3.84/16)) over 1 + 3.84/2, around one half.
    let z = 1.959_963_984_540_054_f64;
    near(&alpha["acceptance"]["low"], 0.5 - z * (0.125 + z * z / 16.0).sqrt() / (1.0 + z * z / 2.0));
    assert_eq!((&alpha["valid"]["k"], &alpha["valid"]["n"]), (&json!(1), &json!(2)));
    near(&alpha["iou"]["value"], 0.6);
    near(&alpha["chamfer_mm"]["value"], 1.0);
    near(&alpha["seconds"]["value"], 60.0);
    near(&alpha["tokens"]["value"], 2000.0);
    near(&alpha["cost_usd"]["value"], 0.5);
    let beta = row("overall", 3);
    near(&beta["instruction_following"]["mean"], 1.0 / 6.0);
    near(&beta["quality"]["mean"], 0.0);
    near(&beta["seconds"]["value"], 10.25);
    assert_eq!((&beta["cost_usd"], &beta["iou"], &beta["acceptance"]["k"]), (&Value::Null, &Value::Null, &json!(0)));
    let own = row("overall", 0);
    assert_eq!((&own["edits"], &own["rated"], &own["tokens"], &own["iou"]), (&json!(2), &json!(1), &Value::Null, &Value::Null));
    near(&own["seconds"]["value"], 120.0);
    let cells: Vec<(&Value, &Value, &Value)> =
        board["by_modality"].as_array().unwrap().iter().map(|r| (&r["modality"], &r["maker"]["kind"], &r["edits"])).collect();
    assert_eq!(
        json!(cells),
        json!([
            ["text", "requestor", 1],
            ["text", "editor", 1],
            ["text", "program", 1],
            ["text", "program", 1],
            ["draw-temp", "requestor", 1],
            ["draw-temp", "program", 1]
        ])
    );
    let out = Path::new(root).join("reports/leaderboard");
    let page = std::fs::read_to_string(out.join("leaderboard.html")).unwrap();
    assert!(page.contains("alpha 1") && page.contains("50&nbsp;%<small>1 of 2, 9 to 91&nbsp;%") && page.matches("<svg").count() == 4);
    assert_eq!(parsed(&std::fs::read_to_string(out.join("leaderboard.json")).unwrap())["overall"], board["overall"]);
    assert_eq!(std::fs::read_to_string(out.join("leaderboard.csv")).unwrap().lines().count(), 1 + 4 + 6 + 6);
    for name in ["score_by_modality", "score_by_difficulty", "score_against_time", "score_against_cost"] {
        assert!(std::fs::read_to_string(out.join(format!("{name}.svg"))).unwrap().contains("alpha 1"), "{name}");
    }
    let plain = Command::new(review_support::BIN)
        .args(["rate", "leaderboard", "--corpus", root, "--out"])
        .arg(dir.path().join("o"))
        .output()
        .unwrap();
    let table = String::from_utf8(plain.stdout).unwrap();
    assert!(table.contains("6 edits, 5 rated by people") && table.contains("beta_script") && table.contains('–'), "{table}");
    assert!(dir.path().join("o/leaderboard.html").is_file());

    // On the page, an agent's edit looks like anybody's.
    let server = review_support::Server::start(Path::new(root), &[]);
    let rater = server.join("R3");
    let open = rater.get("/api/rate")["tasks"].clone();
    assert_eq!(open.as_array().unwrap().len(), 4, "the edits that R3 has not rated yet: {open}");
    for key in open.as_array().unwrap().iter().map(|t| t["key"].as_str().unwrap()) {
        let shown = rater.get(&format!("/api/rate/{key}")).to_string();
        assert!(!shown.contains("alpha") && !shown.contains(a2.as_str()), "{shown}");
        let (status, picture, _) = rater.raw("GET", &format!("/api/rate/{key}/views/edit/top"), None, &[]);
        assert!(status == 200 && picture.starts_with(b"\x89PNG"), "{status}");
        let (status, said) = rater.put(&format!("/api/rate/{key}"), json!({ "instruction_following": 7, "quality": 7, "active_ms": 10 }));
        assert_eq!(status, 200, "{said}");
    }
    drop(server);
    let (_, board, _) = redline(&["rate", "leaderboard", "--corpus", root]);
    // 2, 3 and 7 of instruction following: 3; 4, 4 and 7 of quality: 4.
    let alpha = &parsed(&board)["overall"][2];
    assert_eq!(alpha["ratings"], 6);
    near(&alpha["instruction_following"]["mean"], (5.0 / 6.0 + 2.0 / 6.0) / 2.0);

    // The other ways out of the corpus.
    let tables = dir.path().join("tables");
    assert_eq!(redline(&["pack", "--out", text(&tables), "--corpus", root]).0, 0);
    let sql = "SELECT p.agent_model, e.tokens, e.cost_usd, count(r.path) AS files FROM edits e JOIN participants p ON p.participant_id = e.participant_id \
               LEFT JOIN renders r ON r.session_id = e.edit_id WHERE p.is_agent GROUP BY 1, 2, 3 ORDER BY 2";
    let (code, rows, talk) = redline(&["query", sql, "--corpus", root]);
    assert_eq!(code, 0, "{talk}");
    for want in [["beta_script", "900"], ["alpha 1", "1500"], ["alpha 1", "2500"]] {
        assert!(want.iter().all(|w| rows.contains(w)), "{rows}");
    }
    assert_eq!(rows.matches("\"files\":8").count(), 3, "seven views and the model: {rows}");
    let (code, _, talk) = redline(&["release", "1.0.0", "--corpus", root]);
    assert_eq!(code, 0, "{talk}");
    let released = Path::new(root).join("releases/1.0.0");
    let files = tree(&released);
    for f in ["final.step", "renders/top.png"] {
        assert!(files.keys().any(|p| p.ends_with(format!("edits/{a1}/{f}"))), "{f}: {files:#?}");
    }
    assert!(!files.keys().any(|p| p.ends_with("settings.json")), "what a harness noted for itself is not published");
    let records = dir.path().join("records");
    assert_eq!(redline(&["export", "reference", text(&records), "--corpus", root]).0, 0);
    let records: Value = fsio::read_json(&records.join("records.json")).unwrap();
    let all: Vec<&Value> = records["samples"].as_array().unwrap().iter().flat_map(|s| s["edits"].as_array().unwrap()).collect();
    let back = all.iter().find(|e| e["id"] == json!(a1)).unwrap();
    assert_eq!((&back["token_count"]["input_tokens"], &back["user"]["is_human"]), (&json!(1000), &json!(false)));
    assert_eq!(back["brep_end"]["png"].as_array().unwrap().len(), 7);
}

/// A good folder of a harness, and a corpus that takes it.
struct Ground {
    dir: tempfile::TempDir,
    root: PathBuf,
    good: PathBuf,
    corpus: Corpus,
    request: RequestId,
}

impl Ground {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let (root, good) = (dir.path().join("c"), dir.path().join("good"));
        let corpus = corpus(&root);
        let request = asked(&corpus, Modality::Text, Difficulty::Easy, Some("Bigger."), false);
        std::fs::create_dir(&good).unwrap();
        std::fs::copy(bracket(), good.join("tmp.step")).unwrap();
        std::fs::write(good.join("tmp_top.png"), png(None)).unwrap();
        let settings = json!({ "edit_request_id": request, "userId": "m1", "seconds": 5, "token_counts": { "total_tokens": 3, "cost_estimate": 0.1 } });
        fsio::write_json(&good.join("settings.json"), &settings).unwrap();
        Self { dir, root, good, corpus, request }
    }

    /// A copy of the good folder.
    fn copy(&self, name: &str) -> PathBuf {
        let to = self.dir.path().join(name);
        std::fs::create_dir(&to).unwrap();
        for e in std::fs::read_dir(&self.good).unwrap().map(Result::unwrap) {
            std::fs::copy(e.path(), to.join(e.file_name())).unwrap();
        }
        to
    }

    fn import(&self, dirs: &[&Path]) -> (i32, Value, String) {
        let mut args = vec!["import", "harness", "--corpus", text(&self.root)];
        args.extend(dirs.iter().map(|d| text(d)));
        let (code, out, talk) = redline(&args);
        (code, parsed(&out), talk)
    }
}

fn png(author: Option<&str>) -> Vec<u8> {
    let mut out = Vec::new();
    let mut e = png::Encoder::new(&mut out, 32, 32);
    e.set_color(png::ColorType::Grayscale);
    if let Some(a) = author {
        e.add_text_chunk("Author".into(), a.into()).unwrap();
    }
    let mut w = e.write_header().unwrap();
    w.write_image_data(&(0..1024_u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect::<Vec<_>>()).unwrap();
    drop(w);
    out
}

fn settings(dir: &Path, change: &dyn Fn(&mut Value)) {
    let path = dir.join("settings.json");
    let mut v: Value = fsio::read_json(&path).unwrap();
    change(&mut v);
    fsio::write_json(&path, &v).unwrap();
}

#[test]
fn broken_folders_are_refused_by_name_and_leave_nothing() {
    let g = Ground::new();
    let other = asked(&g.corpus, Modality::Text, Difficulty::Easy, None, false);
    let set_status = |id: &RequestId, status: Status| {
        let mut m = g.corpus.request(id).unwrap();
        m.status = status;
        fsio::write_json(&g.corpus.request_dir(id).request_json(), &m).unwrap();
    };
    set_status(&other, Status::Recording);
    edited(&g.corpus, "TAKEN", &g.request, "P01", 5);
    let write = |name: &'static str, bytes: Vec<u8>| move |d: &Path| std::fs::write(d.join(name), &bytes).unwrap();
    let set = |key: &'static str, value: Value| move |d: &Path| settings(d, &|v| v[key] = value.clone());
    let step = std::fs::read_to_string(bracket()).unwrap();
    let signed = step.replacen("('Author')", "('Zebulon Quux')", 1);
    assert_ne!(signed, step);
    let whole = png(None);

    type Breaks = Box<dyn Fn(&Path)>;
    let cases: Vec<(&str, Breaks, &str, &str)> = vec![
        ("no-step", Box::new(|d| std::fs::remove_file(d.join("tmp.step")).unwrap()), "no-step:", "no STEP file"),
        ("two-steps", Box::new(write("b.stp", step.clone().into())), "two-steps:", "two STEP files (b.stp and tmp.step)"),
        ("not-step", Box::new(write("tmp.step", b"solid x".to_vec())), "tmp.step:", "not a STEP file"),
        ("signed", Box::new(write("tmp.step", signed.into())), "tmp.step", "RL704"),
        ("no-settings", Box::new(|d| std::fs::remove_file(d.join("settings.json")).unwrap()), "no-settings:", "no settings.json"),
        ("no-json", Box::new(write("settings.json", b"{\"a\": ".to_vec())), "settings.json:", "not JSON"),
        ("no-request", Box::new(set("edit_request_id", Value::Null)), "settings.json:", "no “edit_request_id”"),
        ("no-model", Box::new(set("userId", Value::Null)), "settings.json:", "neither “model” nor “userId”"),
        ("no-tokens", Box::new(set("token_counts", Value::Null)), "settings.json:", "no “token_counts”"),
        ("types", Box::new(set("seconds", json!("five"))), "settings.json:", "“seconds” is a text, not a number"),
        (
            "negative",
            Box::new(set("token_counts", json!({ "total_tokens": 1, "cost_estimate": -1 }))),
            "settings.json:",
            "“cost_estimate” is -1",
        ),
        (
            "absurd",
            Box::new(set("token_counts", json!({ "total_tokens": 1, "cost_estimate": 1e12 }))),
            "settings.json:",
            "“cost_estimate” is 1000000000000",
        ),
        ("unknown", Box::new(set("edit_request_id", json!("R404"))), "settings.json:", "has no request R404"),
        ("unfinished", Box::new(set("edit_request_id", json!(other))), "settings.json:", "is not finished"),
        ("escape", Box::new(set("edit_request_id", json!("../../requests/R1"))), "settings.json:", "not a valid id"),
        ("escape-edit", Box::new(set("edit_id", json!("../../evil"))), "settings.json:", "not a valid id"),
        ("taken", Box::new(set("edit_id", json!("TAKEN"))), "settings.json:", "edit TAKEN is in the corpus already"),
        ("person", Box::new(set("userId", json!("P04"))), "settings.json:", "participant P04 is a person"),
        ("human", Box::new(set("isHuman", json!(true))), "settings.json:", "isHuman"),
        ("hidden", Box::new(set("model", json!("good\u{202e}dab"))), "settings.json:", "nobody can see"),
        ("home", Box::new(set("log", json!("/home/zebulon/run.log"))), "settings.json", "RL702"),
        ("mail", Box::new(set("completion", json!("mail zeb@example.org"))), "settings.json", "RL701"),
        ("no-picture", Box::new(write("tmp_top.png", b"<svg/>".to_vec())), "tmp_top.png:", "neither PNG nor JPEG"),
        ("half-picture", Box::new(write("tmp_top.png", whole[..whole.len() / 2].to_vec())), "tmp_top.png:", "damaged"),
        ("two-pictures", Box::new(write("top.png", whole.clone())), "two-pictures:", "two pictures of the view top"),
        (
            "link",
            Box::new(|d| {
                std::fs::remove_file(d.join("tmp.step")).unwrap();
                std::os::unix::fs::symlink(bracket(), d.join("tmp.step")).unwrap();
            }),
            "tmp.step:",
            "not a plain file",
        ),
        (
            "empty",
            Box::new(|d| {
                std::fs::remove_dir_all(d).unwrap();
                std::fs::create_dir(d).unwrap();
            }),
            "empty:",
            "no settings.json in it or below it",
        ),
        ("absent", Box::new(|d| std::fs::remove_dir_all(d).unwrap()), "absent:", "could not list"),
    ];
    let before = tree(&g.root);
    for (name, breaks, file, says) in &cases {
        let dir = g.copy(name);
        breaks(&dir);
        let (code, out, talk) = g.import(&[&dir]);
        assert_eq!(code, 5, "{name}: {talk}");
        let error = out["failed"][0]["error"].as_str().unwrap();
        assert!(error.contains(file) && error.contains(says) && talk.contains(error), "{name}: {talk}");
        assert_eq!(tree(&g.root), before, "{name}: something is left behind");
    }
    set_status(&other, Status::Rejected);
    let rejected = g.dir.path().join("unfinished");
    assert!(g.import(&[&rejected]).2.contains("is rejected"));

    // With several folders the others go on.
    let (bad, second) = (g.dir.path().join("no-step"), g.copy("second"));
    settings(&second, &|v| v["seconds"] = json!(6));
    let (code, out, talk) = g.import(&[&g.good, &bad, &second]);
    assert_eq!((code, out["imported"].as_array().unwrap().len(), out["failed"].as_array().unwrap().len()), (5, 2, 1), "{talk}");
    assert!(talk.contains("1 of 3 folders were not imported") && talk.contains("no view toprightiso, bottom"), "{talk}");

    // A program's name stands for one model.
    let renamed = g.copy("renamed");
    settings(&renamed, &|v| v["model"] = json!("another"));
    let (code, _, talk) = g.import(&[&renamed]);
    assert!(code == 5 && talk.contains("participant m1 is of model “m1”, not “another”"), "{talk}");
}

#[test]
fn pictures_lose_what_names_people_and_failed_runs_count() {
    let g = Ground::new();
    std::fs::write(g.good.join("tmp_top.png"), png(Some("Zebulon Quux"))).unwrap();
    // FFmpeg signs its pictures in a comment.
    let jpeg = g.good.join("tmp_front.jpeg");
    let draw = ["-v", "error", "-f", "lavfi", "-i", "testsrc=size=160x120", "-frames:v", "1", "-f", "mjpeg"];
    assert!(Command::new("ffmpeg").args(draw).arg(&jpeg).status().unwrap().success());
    let signed = |file: &Path| String::from_utf8_lossy(&std::fs::read(file).unwrap()).contains("Lavc");
    assert!(signed(&jpeg));
    let half = g.copy("half");
    let whole = std::fs::read(&jpeg).unwrap();
    std::fs::write(half.join("tmp_front.jpeg"), &whole[..whole.len() / 2]).unwrap();
    let (code, _, talk) = g.import(&[&half]);
    assert!(code == 5 && talk.contains("tmp_front.jpeg: the picture is damaged"), "{talk}");
    let failed = g.copy("failed");
    std::fs::remove_file(failed.join("tmp_front.jpeg")).unwrap();
    std::fs::remove_file(failed.join("tmp.step")).unwrap();
    std::fs::remove_file(failed.join("tmp_top.png")).unwrap();
    settings(&failed, &|v| {
        v["failed_run"] = json!(true);
        v["token_counts"] = Value::Null;
    });
    let (code, out, talk) = g.import(&[&g.good, &failed]);
    assert_eq!(code, 0, "{talk}");
    assert_eq!([0, 1].map(|i| &out["imported"][i]["cut_off"]), [false, false]);
    let edit = EditId::new(out["imported"][0]["edit"].as_str().unwrap()).unwrap();
    let renders = g.corpus.edit_dir(&edit).path().join("renders");
    assert_eq!(std::fs::read(renders.join("top.png")).unwrap(), png(None));
    assert!(!signed(&renders.join("front.jpg")));
    check_passes(text(&g.root));
    let (_, board, _) = redline(&["rate", "leaderboard", "--corpus", text(&g.root)]);
    let row = &parsed(&board)["overall"][0];
    assert_eq!((&row["edits"], &row["without_result"], &row["rated"]), (&json!(2), &json!(1), &json!(0)));
    assert_eq!((&row["tokens"]["n"], &row["acceptance"], &row["quality"]), (&json!(1), &Value::Null, &Value::Null));
}

#[test]
fn a_cut_off_model_is_taken_as_the_agent_left_it_and_named() {
    let g = Ground::new();
    let cut = g.copy("cut");
    let whole = std::fs::read(bracket()).unwrap();
    std::fs::write(cut.join("tmp.step"), &whole[..whole.len() - 20]).unwrap();
    let (code, out, talk) = g.import(&[&cut]);
    assert!(code == 0 && out["imported"][0]["cut_off"] == true, "{talk}");
    assert!(talk.contains("cut: the STEP file has no end (END-ISO-10303-21)"), "{talk}");
}

#[test]
fn only_whole_requests_become_tasks_and_media_go_along() {
    let g = Ground::new();
    let spoken = asked(&g.corpus, Modality::Interactive, Difficulty::Medium, None, true);
    let out = g.dir.path().join("tasks");
    let export = |id: &str| redline(&["export", "harness", id, "--out", text(&out), "--corpus", text(&g.root)]);
    let (code, told, talk) = export(spoken.as_str());
    assert!(code == 0 && parsed(&told)[0]["drawn_views"] == 7, "{talk}");
    let input = out.join(&spoken).join("input");
    for f in ["video.mp4", "audio.flac"] {
        assert_eq!(std::fs::read(input.join(f)).unwrap(), std::fs::read(g.corpus.request_dir(&spoken).path().join(f)).unwrap());
    }
    let task: Value = fsio::read_json(&input.join("task.json")).unwrap();
    assert_eq!((&task["video"], &task["audio"]), (&json!("input/video.mp4"), &json!("input/audio.flac")));

    let before = tree(&out);
    let change = |change: &dyn Fn(&mut RequestManifest)| {
        let mut m = g.corpus.request(&g.request).unwrap();
        change(&mut m);
        fsio::write_json(&g.corpus.request_dir(&g.request).request_json(), &m).unwrap();
        export(g.request.as_str())
    };
    let (code, _, talk) = change(&|m| m.status = Status::Recording);
    assert!(code == 5 && talk.contains("request.json: it is “recording”"), "{talk}");
    let (code, _, talk) = change(&|m| (m.status, m.model) = (Status::Complete, None));
    assert!(code == 5 && talk.contains("it has no model"), "{talk}");
    let (code, _, talk) = export("R404");
    assert!(code == 5 && talk.contains("there is no request R404"), "{talk}");
    assert_eq!(tree(&out), before);
}

/// With the published sample at hand (not part of the project), its people and models come out as counted by hand.
#[test]
fn the_published_sample_has_the_medians_counted_by_hand() {
    let Some(sample) = std::env::var_os("REDLINE_REFERENCE_RECORDS").map(PathBuf::from) else { return };
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("c");
    review_support::corpus(&root);
    let (code, _, talk) = redline(&["import", "reference", text(&sample), "--corpus", text(&root)]);
    assert_eq!(code, 0, "{talk}");
    let (_, board, _) = redline(&["rate", "leaderboard", "--corpus", text(&root)]);
    let board = parsed(&board);
    // Six people each: 4 6 6 6 6 4 and 2 6 5 6 6 3; 6 6 5 4 6 6 and 5 6 4 4 6 5; 6 6 6 6 6 5 and 5 6 5 5 6 5.
    for (i, (following, quality, seconds)) in
        [(6.0, 5.5, 19.708_774_9), (6.0, 5.0, 10.449_490), (6.0, 5.0, 698.433_730_2)].into_iter().enumerate()
    {
        let r = &board["overall"][i];
        near(&r["instruction_following"]["mean"], (following - 1.0) / 6.0);
        near(&r["quality"]["mean"], (quality - 1.0) / 6.0);
        assert_eq!((&r["acceptance"]["k"], &r["acceptance"]["n"], &r["ratings"]), (&json!(1), &json!(1), &json!(6)));
        assert!((r["seconds"]["value"].as_f64().unwrap() - seconds).abs() < 1e-6, "{r}");
    }
    let gpt = &board["overall"][2];
    assert_eq!((&gpt["maker"]["model"], &gpt["tokens"]["value"]), (&json!("gpt-5.2_cadquery-script"), &json!(454_013.0)));
    near(&gpt["cost_usd"]["value"], 1.122_675_75);
    let unrated: Vec<&Value> = board["overall"].as_array().unwrap()[3..].iter().map(|r| &r["quality"]).collect();
    assert_eq!(unrated, [&Value::Null, &Value::Null], "programs' ratings do not count as people's");
}
