//! Figures of ratings: the same as SciPy's and pingouin's, and as counted by hand for imported ones.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod review_support;

use redline_schemas::*;
use review_support::{HEARD, corpus, edit_of, redline, request};
use serde_json::{Value, json};
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

/// What `tests/python/rating_figures.py` says of exported ratings.
fn by_others(export: &str) -> Value {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let python = root.join(".venv/bin/python");
    assert!(python.exists(), "{} is missing: run `make setup`", python.display());
    let mut child =
        Command::new(python).arg(root.join("tests/python/rating_figures.py")).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(export.as_bytes()).unwrap();
    let out = child.wait_with_output().unwrap();
    assert!(out.status.success());
    serde_json::from_slice(&out.stdout).unwrap()
}

fn near(a: &Value, b: &Value, within: f64, what: &str) {
    let (x, y) = (a.as_f64().unwrap_or_else(|| panic!("{what}: {a}")), b.as_f64().unwrap_or_else(|| panic!("{what}: {b}")));
    assert!((x - y).abs() <= within, "{what}: {x} and {y}");
}

/// Compares a report with the other implementations' figures; how many intraclass and rank correlations were compared.
pub fn compare(report: &Value, others: &Value) -> (usize, usize) {
    let (mut iccs, mut pairs) = (0, 0);
    for (edit, medians) in others["medians"].as_object().unwrap() {
        let mine = report["edits"].as_array().unwrap().iter().find(|e| e["edit"] == json!(edit)).unwrap();
        near(&mine["instruction_following"], &medians["instruction_following"], 0.0, edit);
        near(&mine["quality"], &medians["quality"], 0.0, edit);
    }
    for (name, want) in others["groups"].as_object().unwrap() {
        let (modality, difficulty) = name.split_once(' ').unwrap();
        let is = |v: &Value, n: &str| if n == "any" { v.is_null() } else { v == n };
        let groups = report["report"]["groups"].as_array().unwrap();
        let of = |g: &&Value| is(&g["modality"], modality) && is(&g["difficulty"], difficulty) && g["maker"].is_null();
        let group = groups.iter().find(of).unwrap_or_else(|| panic!("no group {name}"));
        assert_eq!((&group["n"], &group["ratings"]), (&want["n"], &want["ratings"]), "{name}");
        near(&group["acceptance"], &want["acceptance"], 1e-12, name);
        for s in group["scores"].as_array().unwrap() {
            let score = s["score"].as_str().unwrap();
            near(&s["normalised"], &want["normalised"][score], 1e-12, name);
            if let Some(i) = want["icc"].get(score) {
                let mine = &s["agreement"]["icc2"];
                near(&mine["average"], &i["average"], 1e-9, name);
                // pingouin rounds its intervals to two digits.
                near(&mine["low"], &i["low"], 0.00501, name);
                near(&mine["high"], &i["high"], 0.00501, name);
                iccs += 1;
            }
            for p in s["raters"].as_array().unwrap() {
                let key = format!("{} {}", p["a"].as_str().unwrap(), p["b"].as_str().unwrap());
                let other = &want["pairs"][score][&key];
                assert_eq!(p["n"], other[0], "{name} {key}");
                near(&p["rho"], &other[1], 1e-9, &key);
                near(&p["p"], &other[2], 1e-9, &key);
                pairs += 1;
            }
        }
    }
    (iccs, pairs)
}

fn rate(c: &Corpus, edit: &EditId, scores: &[(&str, u8, u8)]) {
    let rating = |(rater, i, q): &(&str, u8, u8)| Rating {
        rater: ParticipantId::new(*rater).unwrap(),
        instruction_following: *i,
        quality: *q,
        comment: (*i == 1).then(|| "=1+1, \"wrong\" side".into()),
        rated_utc: None,
    };
    let all =
        Ratings { format_version: FORMAT_VERSION, edit: edit.clone(), ratings: scores.iter().map(rating).collect(), tool: Tool::redline() };
    fsio::write_json(&c.edit_dir(edit).ratings_path(), &all).unwrap();
}

#[test]
fn figures_are_those_of_other_implementations() {
    let dir = tempfile::tempdir().unwrap();
    let c = corpus(dir.path());
    let mut state = 12_345_u64;
    let mut next = |n: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % n
    };
    for i in 0..16 {
        let modality = if i % 2 == 0 { Modality::Text } else { Modality::DrawTemp };
        let difficulty = if i < 8 { Difficulty::Easy } else { Difficulty::Hard };
        let r = request(&c, "P04", modality, difficulty, &HEARD, false);
        let edit = edit_of(&c, &r, "C01");
        let truth = 1 + next(6) as i64;
        let mut score = |lean: i64| (truth + lean + next(3) as i64 - 1).clamp(1, 7) as u8;
        let scores = ["R1", "R2", "R3", "R4", "R5"].map(|r| (r, score(0), score(i64::from(r == "R2"))));
        rate(&c, &edit, &scores);
    }
    let root = dir.path().to_str().unwrap();
    let (code, report, talk) = redline(&["rate", "report", "--corpus", root]);
    assert_eq!(code, 0, "{talk}");
    let (_, export, _) = redline(&["rate", "export", "--corpus", root]);
    let report: Value = serde_json::from_str(&report).unwrap();
    let (iccs, pairs) = compare(&report, &by_others(&export));
    // The whole, two modalities and two difficulties, two scores each, ten pairs of raters.
    assert_eq!(iccs, 10);
    assert!(pairs >= 90, "{pairs}");

    let csv = dir.path().join("ratings.csv");
    let (code, ..) = redline_plain(&["rate", "export", "--corpus", root, "--out", csv.to_str().unwrap()]);
    assert_eq!(code, 0);
    let csv = std::fs::read_to_string(csv).unwrap();
    assert!(csv.starts_with("edit,request,modality,"), "{csv}");
    assert!(csv.contains(",1,") == csv.contains("\"'=1+1, \"\"wrong\"\" side\""), "a remark is text, never a formula: {csv}");
    let (_, table, _) = redline_plain(&["rate", "report", "--corpus", root]);
    assert!(table.contains("16 edits, 16 rated by people, 80 ratings") && table.contains("k 5"), "{table}");
}

fn redline_plain(args: &[&str]) -> (i32, String, String) {
    let out = Command::new(review_support::BIN).args(args).output().unwrap();
    let text = |b: Vec<u8>| String::from_utf8(b).unwrap();
    (out.status.code().unwrap(), text(out.stdout), text(out.stderr))
}

#[test]
fn imported_ratings_give_the_medians_counted_by_hand() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("c");
    corpus(&root);
    let user = |id: &str, human: bool| json!({ "id": id, "is_human": human, "extra": { "email": null, "vlm_config": null } });
    let rating = |who: &str, i: u8, q: u8| json!({ "user": user(who, true), "ratings": { "score_instr": i, "score_quality": q } });
    let edit = |id: &str, who: Value, ratings: Value| {
        json!({ "id": id, "request": "U1_1770000000.5", "brep_end": null, "user": who, "start_time": 1_770_000_100.0,
            "end_time": 1_770_000_160.0, "events": [], "ratings": ratings, "extra": {} })
    };
    let mut judged =
        vec![rating("R1", 4, 2), rating("R2", 6, 6), rating("R3", 6, 5), rating("R4", 6, 6), rating("R5", 6, 6), rating("R6", 4, 3)];
    judged.push(json!({ "user": user("judge", false), "ratings": { "score_instr": 7, "score_quality": 1 } }));
    judged.push(json!({ "user": user("similarity", false), "ratings": { "iou gt": 0.5 } }));
    let records = json!({ "samples": [{
        "id": "U1_1770000000.5", "user": user("U1", true), "difficulty": "easy", "modality": "text", "text": "Mirror it.",
        "start_time": 1_770_000_000.5, "end_time": 1_770_000_060.0, "events": [], "assembly": false, "parametric": true, "extra": {},
        "edits": [
            edit("U1_1770000100.5", user("U1", true), json!(judged)),
            edit("bot_1770000200.5", user("bot", false), json!([rating("R1", 7, 4), rating("R2", 5, 5), rating("R3", 5, 4)])),
            edit("U2_1770000300.5", user("U2", true), json!([])),
        ] }] });
    let file = dir.path().join("records.json");
    fsio::write_json(&file, &records).unwrap();
    let root = root.to_str().unwrap();
    let (code, _, talk) = redline(&["import", "reference", file.to_str().unwrap(), "--corpus", root]);
    assert_eq!(code, 0, "{talk}");
    let (_, report, _) = redline(&["rate", "report", "--corpus", root]);
    let report: Value = serde_json::from_str(&report).unwrap();
    let edit = |id: &str| report["edits"].as_array().unwrap().iter().find(|e| e["edit"] == id).unwrap().clone();
    let own = edit("U1_1770000100.5");
    assert_eq!((&own["n"], &own["instruction_following"], &own["quality"]), (&json!(6), &json!(6.0), &json!(5.5)));
    assert_eq!((&own["accepted"], &own["maker"]["kind"]), (&json!(true), &json!("requestor")));
    assert_eq!(own["metrics"]["judge/instruction_following"], 7.0, "a program's rating is a metric, not a rating");
    let bot = edit("bot_1770000200.5");
    assert_eq!((&bot["instruction_following"], &bot["quality"], &bot["accepted"]), (&json!(5.0), &json!(4.0), &json!(false)));
    assert!(edit("U2_1770000300.5")["accepted"].is_null(), "not rated");
    let whole = &report["report"]["groups"][0];
    assert_eq!((&whole["n"], &whole["acceptance"]), (&json!(2), &json!(0.5)));

    // Their models were not at hand; what people rated was there all the same.
    let (_, board, _) = redline(&["rate", "leaderboard", "--corpus", root]);
    let board: Value = serde_json::from_str(&board).unwrap();
    let rows: Vec<_> = board["overall"].as_array().unwrap().iter().map(|r| (&r["edits"], &r["rated"], &r["without_result"])).collect();
    assert_eq!(rows, [(&json!(1), &json!(1), &json!(0)), (&json!(1), &json!(0), &json!(1)), (&json!(1), &json!(1), &json!(0))]);
}

const RATERS: [&str; 5] = ["R1", "R2", "R3", "R4", "R5"];

/// Edits of what was asked in writing, of a recording with words and strokes, and of an input model; what nobody may learn.
fn to_be_rated(c: &Corpus) -> Vec<String> {
    let mut people = c.participants().unwrap();
    people.participants.extend(["maker-of-edits"].iter().chain(&RATERS).map(|r| Participant {
        id: ParticipantId::new(*r).unwrap(),
        roles: vec![if r.starts_with('R') { Role::Rater } else { Role::Editor }],
        created_utc: chrono_now(),
        consent: None,
        agent: None,
    }));
    c.write_participants(&people).unwrap();
    let root = c.root().to_str().unwrap();
    let sample = tempfile::tempdir().unwrap();
    let one = redline_samples::Size { requests: 1, edits_per_request: 1, events: 10, renders: 0 };
    redline_samples::generate(&sample.path().join("c"), &one).unwrap();
    let plate = Corpus::open(sample.path().join("c")).unwrap();
    let plate = plate.model_dir(&plate.model_ids().unwrap()[0]).join("model.step");
    let (code, _, talk) = redline(&["model", "add", plate.to_str().unwrap(), "--id", "plate-as-it-was", "--corpus", root]);
    assert_eq!(code, 0, "{talk}");

    let mut secrets =
        ["P04", "maker-of-edits", "final.step", "model.step", "plate-as-it-was", "Bracket.FCStd", root].map(Into::into).to_vec();
    let requests = [
        request(c, "P04", Modality::Text, Difficulty::Easy, &["mirror it"], false),
        request(c, "P04", Modality::Text, Difficulty::Hard, &["drill a hole"], false),
        request(c, "P04", Modality::DrawTemp, Difficulty::Easy, &HEARD, true),
        request(c, "P04", Modality::Interactive, Difficulty::Easy, &["turn the plate into a bracket"], false),
    ];
    let model = c.request_dir(&requests[3]).request_json();
    let mut m = c.request(&requests[3]).unwrap();
    m.model = Some(ModelId::new("plate-as-it-was").unwrap());
    fsio::write_json(&model, &m).unwrap();
    // What was selected says in which document, and so in which file.
    let picked = c.request_dir(&requests[2]).selections();
    let named = std::fs::read_to_string(&picked).unwrap().replace("\"Face7\"", "\"Face7\",\"document\":\"Bracket.FCStd\"");
    std::fs::write(&picked, named).unwrap();
    for r in &requests {
        let edit = edit_of(c, r, "maker-of-edits");
        let session = c.edit_dir(&edit);
        std::fs::copy(Path::new(env!("CARGO_MANIFEST_DIR")).join("samples/bracket.step"), session.path().join("final.step")).unwrap();
        let mut m = c.edit(&edit).unwrap();
        m.final_model = Some(session.file_ref(&session.path().join("final.step")).unwrap());
        fsio::write_json(&session.edit_json(), &m).unwrap();
        secrets.extend([r.to_string(), edit.to_string()]);
    }
    secrets
}

#[test]
fn five_raters_judge_edits_in_browsers_without_learning_who_made_them() {
    let dir = tempfile::tempdir().unwrap();
    let c = corpus(dir.path());
    let secrets = to_be_rated(&c);
    let server = review_support::Server::start(dir.path(), &[]);
    let link = |r: &str| json!(review_support::invite(dir.path(), r).replace("http://127.0.0.1:8040", &server.url));
    let links: serde_json::Map<String, Value> = RATERS.iter().map(|r| ((*r).to_owned(), link(r))).collect();
    let scores: serde_json::Map<String, Value> =
        RATERS.iter().enumerate().map(|(i, r)| ((*r).to_owned(), json!([[7 - i, 6], [2 + i, 3], [5, 1 + i], [1 + i, 7 - i]]))).collect();
    let kinds = json!({ "mirror it": "mirrored", "drill a hole": "drilled", HEARD[0]: "spoken", "turn the plate into a bracket": "plate" });
    let shots = std::env::var("REDLINE_SCREENSHOTS").ok();
    let want =
        json!({ "url": server.url, "links": links, "scores": scores, "edits": 4, "kinds": kinds, "secrets": secrets, "shots": shots });
    let orders: Value = serde_json::from_str(&review_support::browser("rate.mjs", &want)).unwrap();
    let orders: Vec<&Value> = RATERS.iter().map(|r| &orders[r]).collect();
    for o in &orders {
        let mut kinds: Vec<_> = o.as_array().unwrap().iter().map(|k| k.as_str().unwrap()).collect();
        kinds.sort_unstable();
        assert_eq!(kinds, ["drilled", "mirrored", "plate", "spoken"]);
    }
    assert!(orders.iter().any(|o| *o != orders[0]), "all in one order: {orders:?}");
    let root = dir.path().to_str().unwrap();
    let (_, report, _) = redline(&["rate", "report", "--corpus", root]);
    let (_, export, _) = redline(&["rate", "export", "--corpus", root]);
    let report: Value = serde_json::from_str(&report).unwrap();
    assert_eq!((&report["report"]["rated"], &report["report"]["ratings"]), (&json!(4), &json!(20)));
    // Four edits are enough for rank correlations: all, and none of a modality or difficulty alone.
    assert!(compare(&report, &by_others(&export)).1 > 0);
}

#[test]
fn an_edit_that_cannot_be_drawn_is_put_off_and_never_scored() {
    let dir = tempfile::tempdir().unwrap();
    let c = corpus(dir.path());
    to_be_rated(&c);
    let ids = c.edit_ids().unwrap();
    // One whose kernel says no, and one that was cut off, which nobody is given.
    let whole = std::fs::read(c.edit_dir(&ids[0]).path().join("final.step")).unwrap();
    for (edit, step) in [(&ids[0], &b"ISO-10303-21;\nno model\nEND-ISO-10303-21;\n"[..]), (&ids[1], &whole[..whole.len() / 2])] {
        let session = c.edit_dir(edit);
        std::fs::write(session.path().join("final.step"), step).unwrap();
        let mut m = c.edit(edit).unwrap();
        m.final_model = Some(session.file_ref(&session.path().join("final.step")).unwrap());
        fsio::write_json(&session.edit_json(), &m).unwrap();
    }
    let root = dir.path().to_str().unwrap();
    let (_, found, _) = redline(&["check", "--no-recover", "--corpus", root]);
    let found: Value = serde_json::from_str(&found).unwrap();
    let cut: Vec<_> = found["findings"].as_array().unwrap().iter().filter(|f| f["rule"] == "RL514").map(|f| &f["file"]).collect();
    assert_eq!(cut, [&json!(format!("edits/{}/final.step", ids[1]))]);

    let server = review_support::Server::start(dir.path(), &[]);
    let link = review_support::invite(dir.path(), RATERS[0]).replace("http://127.0.0.1:8040", &server.url);
    let want = json!({ "url": server.url, "links": { RATERS[0]: link }, "shots": std::env::var("REDLINE_SCREENSHOTS").ok() });
    review_support::browser("unseen.mjs", &want);
    let rated: Vec<_> = ids.iter().map(|e| c.edit_dir(e).ratings().unwrap().map_or(0, |r| r.ratings.len())).collect();
    assert_eq!(rated, [0, 0, 1, 1]);
    let (_, status, _) = redline(&["rate", "status", "--corpus", root]);
    let status: Value = serde_json::from_str(&status).unwrap();
    assert_eq!(status["left_out"], json!([[ids[1], "its final model is cut off"]]));
}

fn chrono_now() -> Utc {
    "2026-03-01T10:00:00Z".parse().unwrap()
}
