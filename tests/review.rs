//! The correction loop over HTTP: the rules, the counts, the transcripts it writes.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod review_support;

use redline_schemas::{Difficulty, Modality, Status, Timing, TranscriptKind};
use review_support::{HEARD, Server, corpus, edit_of, plain, redline, request};
use serde_json::{Value, json};

#[test]
fn the_whole_loop_from_the_automatic_text_to_the_oracle_transcript() {
    let dir = tempfile::tempdir().unwrap();
    let c = corpus(dir.path());
    let id = plain(&c);
    let server = Server::start(dir.path(), &[]);
    let (asks, reviews, other) = (server.join("P01"), server.join("P02"), server.join("P03"));
    let at = |step: &str| format!("/api/requests/{id}{step}");

    // The queue shows it to the one who asked, and to nobody else.
    assert_eq!(asks.get("/api/queue")["correct"][0]["request"], json!(id));
    assert_eq!(reviews.get("/api/queue")["review"], json!([]));

    // Correct: a draft, then the hand-in.
    assert_eq!(asks.post(&at("/claim"), json!({})).1["state"], "in-correction");
    let text = "make the fillet on this edge\ntwo millimetres bigger please";
    assert_eq!(asks.put(&at("/draft"), json!({ "seq": 0, "text": "make the", "active_ms": 4000 })), (200, json!({ "seq": 1 })));
    assert_eq!(asks.put(&at("/draft"), json!({ "seq": 1, "text": text, "active_ms": 6000 })), (200, json!({ "seq": 2 })));
    let first = asks.post(&at("/submit"), json!({ "seq": 2, "text": text }));
    assert_eq!((first.0, &first.1["state"]), (200, &json!("in-review")));
    let revision = first.1["revision"].as_str().unwrap();

    // Return it: only with a comment.
    assert_eq!(reviews.get("/api/queue")["review"][0]["request"], json!(id));
    assert_eq!(reviews.post(&at("/decide"), json!({ "revision": revision, "accept": false, "comment": "  " })).0, 422);
    let back = reviews.post(&at("/decide"), json!({ "revision": revision, "accept": false, "comment": "millimeters, as said" }));
    assert_eq!((back.0, &back.1["item"]["state"]), (200, &json!("returned")));

    // Correct again, on what was returned.
    let seen = asks.get(&at(""));
    assert_eq!(seen["rounds"][0]["decision"]["comment"], "millimeters, as said");
    let text = "make the fillet on this edge\ntwo millimeters bigger please";
    let second = asks.post(&at("/submit"), json!({ "seq": 0, "base": revision, "text": text }));
    let revision = second.1["revision"].as_str().unwrap();

    // Another expert accepts.
    let (status, accepted) = other.post(&at("/decide"), json!({ "revision": revision, "accept": true }));
    assert_eq!((status, &accepted["item"]["state"], &accepted["written"]), (200, &json!("accepted"), &json!(true)));

    let oracle = c.request_dir(&id).transcript(TranscriptKind::Oracle).unwrap().unwrap();
    let made = oracle.correction.clone().unwrap();
    assert_eq!(oracle.text(), text);
    // fill it → fillet: one blank goes, an i becomes an e; two words become one.
    assert_eq!((made.char_edit_distance, made.word_edit_distance, made.rounds, made.changed), (2, 2, 2, true));
    assert_eq!(made.automatic_chars, HEARD.join(" ").chars().count() as u64);
    assert_eq!((made.corrected_by.as_str(), made.accepted_by.as_str(), made.revision.as_str()), ("P01", "P03", revision));
    let words: Vec<_> = oracle.words().collect();
    assert_eq!((words[1].text.as_str(), words[1].start_ns, words[1].timing), ("the", 600_000_000, Timing::Aligned));
    // The new word has the time of the two it replaces.
    assert_eq!((words[2].text.as_str(), words[2].start_ns, words[2].end_ns), ("fillet", 1_000_000_000, 1_760_000_000));
    assert_eq!((words[2].timing, words[3].timing, words[3].score), (Timing::Interpolated, Timing::Aligned, Some(0.93)));

    // The figures say the same.
    let (code, out, _) = redline(&["review", "stats", "--corpus", dir.path().to_str().unwrap()]);
    let stats: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(code, 0);
    let all = &stats["all"];
    assert_eq!((&all["accepted"], &all["share_corrected"], &all["mean_char_edits"]), (&json!(1), &json!(1.0), &json!(2.0)));
    assert_eq!((&all["share_accepted_at_once"], &all["mean_rounds"], &all["mean_active_s"]), (&json!(0.0), &json!(2.0), &json!(10.0)));
    assert_eq!(stats["by_reviewer"]["P02"], json!({ "accepted": 0, "returned": 1 }));
}

#[test]
fn the_server_holds_the_rules() {
    let dir = tempfile::tempdir().unwrap();
    let c = corpus(dir.path());
    let id = plain(&c);
    let server = Server::start(dir.path(), &[]);
    let (asks, reviews, stranger) = (server.join("P01"), server.join("P02"), server.join("P04"));
    let at = |step: &str| format!("/api/requests/{id}{step}");
    let code = |(status, v): (u16, Value)| (status, v["code"].as_str().unwrap_or_default().to_owned());

    // Only the one who asked corrects; P04, who is no reviewer, does not even see it.
    assert_eq!(code(reviews.put(&at("/draft"), json!({ "seq": 0, "text": "x" }))), (403, "forbidden".into()));
    assert_eq!(code(reviews.post(&at("/submit"), json!({ "seq": 0, "text": "x" }))), (403, "forbidden".into()));
    assert_eq!(stranger.send("GET", &at(""), None).0, 403);
    assert_eq!(stranger.send("GET", &at("/audio"), None).0, 403);
    assert_eq!(stranger.send("GET", "/api/stats", None).0, 403);

    // Nothing is decided before it was handed in.
    assert_eq!(reviews.post(&at("/decide"), json!({ "revision": "R1", "accept": true })).0, 409);
    let handed = asks.post(&at("/submit"), json!({ "seq": 0, "text": HEARD.join("\n") })).1;
    let revision = handed["revision"].as_str().unwrap();

    // Nobody accepts their own; a wrong role does not; a forged or old revision does not.
    let accept = |r: &str| json!({ "revision": r, "accept": true });
    assert_eq!(code(asks.post(&at("/decide"), accept(revision))), (403, "forbidden".into()));
    assert_eq!(code(stranger.post(&at("/decide"), accept(revision))), (403, "forbidden".into()));
    assert_eq!(code(reviews.post(&at("/decide"), accept("01ARZ3NDEKTSV4RRFFQ69G5FAV"))), (409, "stale".into()));
    assert_eq!(code(reviews.post("/api/requests/01ARZ3NDEKTSV4RRFFQ69G5FAV/decide", accept(revision))), (404, "not-found".into()));
    // The one who asked cannot go on writing while it is reviewed.
    assert_eq!(code(asks.put(&at("/draft"), json!({ "seq": 0, "base": revision, "text": "x" }))), (409, "stale".into()));

    // A second reviewer waits while the first one works.
    let third = server.join("P03");
    assert_eq!(reviews.post(&at("/claim"), json!({})).0, 200);
    assert_eq!(code(third.post(&at("/claim"), json!({}))), (423, "claimed".into()));
    assert_eq!(code(third.post(&at("/decide"), accept(revision))), (423, "claimed".into()));
    assert_eq!(reviews.post(&at("/unclaim"), json!({})).0, 200);
    assert_eq!(third.post(&at("/decide"), accept(revision)).0, 200);
    // And nothing after that.
    assert_eq!(code(third.post(&at("/decide"), accept(revision))), (409, "stale".into()));
    assert!(!c.request_dir(&id).transcript(TranscriptKind::Oracle).unwrap().unwrap().correction.unwrap().changed);

    // What was refused is in the audit log.
    let log = server.join("C01").get("/api/audit");
    let denied: Vec<_> = log.as_array().unwrap().iter().filter(|e| e["action"] == "denied").map(|e| &e["participant"]).collect();
    assert!(denied.contains(&&json!("P04")) && denied.contains(&&json!("P01")) && denied.contains(&&json!("P02")), "{denied:?}");
}

#[test]
fn a_stale_save_is_refused_and_loses_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let c = corpus(dir.path());
    let id = plain(&c);
    let server = Server::start(dir.path(), &[]);
    let (one, two) = (server.join("P01"), server.join("P01"));
    let draft = format!("/api/requests/{id}/draft");
    assert_eq!(one.put(&draft, json!({ "seq": 0, "text": "from the first window" })).0, 200);
    let (status, refusal) = two.put(&draft, json!({ "seq": 0, "text": "from the second window" }));
    assert_eq!((status, &refusal["code"]), (409, &json!("stale")));
    let seen = two.get(&format!("/api/requests/{id}"));
    assert_eq!((&seen["draft"]["text"], &seen["draft"]["seq"]), (&json!("from the first window"), &json!(1)));
    assert_eq!(two.put(&draft, json!({ "seq": 1, "text": "both" })).1, json!({ "seq": 2 }));
    // Handing in what an old window shows is refused too.
    assert_eq!(one.post(&format!("/api/requests/{id}/submit"), json!({ "seq": 1, "text": "old" })).0, 409);
}

#[test]
fn rejected_requests_and_edits_are_kept_with_the_reason() {
    let dir = tempfile::tempdir().unwrap();
    let c = corpus(dir.path());
    let id = plain(&c);
    let edit = edit_of(&c, &id, "P03");
    let server = Server::start(dir.path(), &[]);
    let (asks, reviews) = (server.join("P01"), server.join("P02"));

    let list = reviews.get(&format!("/api/requests/{id}/edits"));
    assert_eq!((&list[0]["id"], &list[0]["status"]), (&json!(edit), &json!("complete")));
    assert_eq!(reviews.post(&format!("/api/edits/{edit}/reject"), json!({ "reason": " " })).0, 422);
    assert_eq!(asks.post("/api/edits/01ARZ3NDEKTSV4RRFFQ69G5FAV/reject", json!({ "reason": "x" })).0, 404);
    assert_eq!(reviews.post(&format!("/api/edits/{edit}/reject"), json!({ "reason": "hole on the wrong face" })).0, 200);
    let kept = c.edit(&edit).unwrap();
    assert_eq!((kept.status, kept.rejection.unwrap().reason.as_str()), (Status::Rejected, "hole on the wrong face"));

    let reject = format!("/api/requests/{id}/reject");
    assert_eq!(asks.post(&reject, json!({ "reason": "mine" })).0, 403, "not the own one");
    assert_eq!(server.join("P04").post(&reject, json!({ "reason": "no role" })).0, 403);
    assert_eq!(reviews.post(&reject, json!({ "reason": "no sound" })).0, 200);
    assert_eq!(reviews.post(&reject, json!({ "reason": "again" })).0, 409);
    let kept = c.request(&id).unwrap();
    let why = kept.rejection.unwrap();
    assert_eq!((kept.status, why.reason.as_str(), why.by.as_str()), (Status::Rejected, "no sound", "P02"));
    assert_eq!(asks.put(&format!("/api/requests/{id}/draft"), json!({ "seq": 0, "text": "x" })).0, 409);
    assert_eq!(asks.get("/api/queue")["correct"], json!([]));
}

#[test]
fn a_rejection_frees_the_request_and_is_taken_back() {
    let dir = tempfile::tempdir().unwrap();
    let c = corpus(dir.path());
    let id = plain(&c);
    let edit = edit_of(&c, &id, "P03");
    // Mended after a crash: that is what it is again afterwards.
    let mut m = c.request(&id).unwrap();
    m.status = Status::Recovered;
    redline_schemas::fsio::write_json(&c.request_dir(&id).request_json(), &m).unwrap();
    let server = Server::start(dir.path(), &[]);
    let (asks, reviews, other, coordinates) = (server.join("P01"), server.join("P02"), server.join("P03"), server.join("C01"));
    let reject = format!("/api/requests/{id}/reject");
    let take_back = |p: &review_support::Person, path: &str| p.send("DELETE", path, None).0;
    let item = || asks.get(&format!("/api/requests/{id}"))["item"].clone();

    assert_eq!(asks.put(&format!("/api/requests/{id}/draft"), json!({ "seq": 0, "text": "make" })).0, 200);
    assert_eq!(item()["claim"]["participant"], "P01");
    assert_eq!(take_back(&reviews, &reject), 409, "there is nothing to take back");
    assert_eq!(reviews.post(&reject, json!({ "reason": "no sound" })).0, 200);
    assert_eq!((&item()["claim"], &item()["rejected"]), (&Value::Null, &json!(true)));
    assert_eq!(c.request(&id).unwrap().status, Status::Rejected);

    // Not by whom it is about, not by somebody without the role, not by another reviewer.
    for (who, status) in [(&asks, 403), (&server.join("P04"), 403), (&other, 403)] {
        assert_eq!(take_back(who, &reject), status);
    }
    let seen = |p: &review_support::Person| p.get(&format!("/api/requests/{id}"))["can"]["take_back"].clone();
    assert_eq!((seen(&asks), seen(&other), seen(&reviews), seen(&coordinates)), (json!(false), json!(false), json!(true), json!(true)));
    let no_key = [("x-redline-csrf", "")];
    assert_eq!(reviews.send_with("DELETE", &reject, None, &no_key).0, 403, "only from the page");
    assert_eq!(take_back(&reviews, &reject), 200);
    let m = c.request(&id).unwrap();
    assert_eq!((m.status, m.rejection), (Status::Recovered, None));
    assert_eq!((&item()["rejected"], &item()["state"]), (&json!(false), &json!("in-correction")));
    assert_eq!(asks.get(&format!("/api/requests/{id}"))["draft"]["text"], "make", "nothing of the work is gone");

    // A coordinator takes back what somebody else rejected; edits the same.
    assert_eq!(reviews.post(&reject, json!({ "reason": "again" })).0, 200);
    assert_eq!(take_back(&coordinates, &reject), 200);
    let of_edit = format!("/api/edits/{edit}/reject");
    assert_eq!(take_back(&reviews, &of_edit), 409);
    assert_eq!(reviews.post(&of_edit, json!({ "reason": "hole on the wrong face" })).0, 200);
    assert_eq!(take_back(&other, &of_edit), 403, "the own edit");
    assert_eq!(take_back(&reviews, &of_edit), 200);
    assert_eq!((c.edit(&edit).unwrap().status, c.edit(&edit).unwrap().rejection), (Status::Complete, None));
    assert_eq!(take_back(&reviews, "/api/edits/01ARZ3NDEKTSV4RRFFQ69G5FAV/reject"), 404);

    let log = coordinates.get("/api/audit");
    let steps: Vec<_> =
        log.as_array().unwrap().iter().rev().map(|e| (e["action"].as_str().unwrap(), e["participant"].as_str().unwrap())).collect();
    let steps: Vec<_> = steps.into_iter().filter(|(a, _)| a.starts_with("reject") || a.starts_with("take-back")).collect();
    let want = [
        ("reject", "P02"),
        ("take-back", "P02"),
        ("reject", "P02"),
        ("take-back", "C01"),
        ("reject-edit", "P02"),
        ("take-back-edit", "P02"),
    ];
    assert_eq!(steps, want);
}

#[test]
fn a_request_without_sound_takes_no_part() {
    let dir = tempfile::tempdir().unwrap();
    let c = corpus(dir.path());
    let spoken = plain(&c);
    // As `redline transcribe` leaves them: nothing was recorded, so nothing was heard.
    request(&c, "P01", Modality::Text, Difficulty::Easy, &[], false);
    request(&c, "P01", Modality::Interactive, Difficulty::Easy, &[], false);
    // There is sound, but nothing was heard in it: the one who asked may have said something.
    let unheard = request(&c, "P01", Modality::Interactive, Difficulty::Hard, &[], true);
    let server = Server::start(dir.path(), &[]);
    let queue = server.join("P01").get("/api/queue");
    let mut waiting: Vec<_> = queue["correct"].as_array().unwrap().iter().map(|i| i["request"].as_str().unwrap().to_owned()).collect();
    waiting.sort();
    assert_eq!(waiting, [spoken.as_str(), unheard.as_str()]);
    let (_, out, _) = redline(&["review", "stats", "--corpus", dir.path().to_str().unwrap()]);
    let stats: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((&stats["all"]["requests"], &stats["by_modality"]["text"]), (&json!(2), &Value::Null));
}

#[test]
fn an_import_of_unknown_requests_is_refused_whole_and_errors_say_their_cause_once() {
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (c, d) = (corpus(from.path()), corpus(to.path()));
    let (known, unknown) = (plain(&c), plain(&c));
    {
        let server = Server::start(from.path(), &[]);
        for id in [&known, &unknown] {
            let handed = server.join("P01").post(&format!("/api/requests/{id}/submit"), json!({ "seq": 0, "text": "make the fillet" })).1;
            let decision = json!({ "revision": handed["revision"], "accept": true });
            assert_eq!(server.join("P02").post(&format!("/api/requests/{id}/decide"), decision).0, 200);
        }
    }
    let bring = |id: &redline_schemas::RequestId| {
        std::fs::create_dir_all(d.request_dir(id).path()).unwrap();
        for file in ["request.json", "transcript.automatic.json"] {
            std::fs::copy(c.request_dir(id).path().join(file), d.request_dir(id).path().join(file)).unwrap();
        }
    };
    bring(&known);
    let file = from.path().join("loop.json");
    let (file, from, to) = (file.to_str().unwrap(), from.path().to_str().unwrap(), to.path().to_str().unwrap());
    assert_eq!(redline(&["review", "export", file, "--corpus", from]).0, 0);
    let nothing_came_in = || {
        let (_, out, _) = redline(&["review", "stats", "--corpus", to]);
        assert_eq!(serde_json::from_str::<Value>(&out).unwrap()["all"]["accepted"], 0);
        assert!(d.request_dir(&known).transcript(TranscriptKind::Oracle).unwrap().is_none());
    };
    let (code, _, talk) = redline(&["review", "import", file, "--corpus", to]);
    assert_eq!(code, 5, "{talk}");
    let because =
        format!("it is about requests that are not in this corpus: {unknown}; bring their folders here first (nothing was changed)");
    assert_eq!(talk.trim(), format!("error: {file}: not imported: {because}"));
    nothing_came_in();

    // What the database itself refuses is said once, and without its numbers.
    bring(&unknown);
    let text = std::fs::read_to_string(file).unwrap();
    std::fs::write(file, text.replace("\"reviewer\": \"P02\"", "\"reviewer\": \"P01\"")).unwrap();
    let (code, _, talk) = redline(&["review", "import", file, "--corpus", to]);
    assert_eq!(code, 5, "{talk}");
    assert_eq!(talk.trim(), format!("error: {file}: not imported: review.sqlite: nobody decides on their own correction"));
    nothing_came_in();
    // Somebody else's recording under the same name.
    std::fs::write(file, text.replace("\"requestor\": \"P01\"", "\"requestor\": \"P03\"")).unwrap();
    let (code, _, talk) = redline(&["review", "import", file, "--corpus", to]);
    assert!(code == 5 && talk.contains("it says that P03 recorded"), "{talk}");
    nothing_came_in();
    std::fs::write(file, text).unwrap();
    let (code, _, talk) = redline(&["review", "import", file, "--corpus", to]);
    assert_eq!(code, 0, "{talk}");
    // And a file that is not there.
    let (_, _, talk) = redline(&["review", "import", "nowhere.json", "--corpus", to]);
    assert_eq!(talk.matches("No such file").count(), 1, "{talk}");
}

#[test]
fn a_text_with_characters_that_nobody_sees_is_refused_and_the_answer_says_where() {
    let dir = tempfile::tempdir().unwrap();
    let c = corpus(dir.path());
    let id = plain(&c);
    let server = Server::start(dir.path(), &[]);
    let p = server.join("P01");
    let (status, refused) = p.put(&format!("/api/requests/{id}/draft"), json!({ "seq": 0, "text": "make the\u{7} fillet" }));
    assert_eq!((status, &refused["code"]), (422, &json!("invalid")));
    assert_eq!(refused["message"], "the text holds a character that cannot be seen (U+0007) after “the”; take it out, then save again");
}

#[test]
fn the_state_moves_to_another_machine() {
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let c = corpus(from.path());
    let (id, open) = (plain(&c), plain(&c));
    {
        let server = Server::start(from.path(), &[]);
        let handed = server.join("P01").post(&format!("/api/requests/{id}/submit"), json!({ "seq": 0, "text": "make the fillet" })).1;
        let decided =
            server.join("P02").post(&format!("/api/requests/{id}/decide"), json!({ "revision": handed["revision"], "accept": true }));
        assert_eq!(decided.0, 200);
        assert_eq!(server.join("P01").put(&format!("/api/requests/{open}/draft"), json!({ "seq": 0, "text": "half" })).0, 200);
    }
    // The other machine has the recordings, but nothing of the loop.
    let d = corpus(to.path());
    for r in [&id, &open] {
        std::fs::create_dir_all(d.request_dir(r).path()).unwrap();
        for file in ["request.json", "transcript.automatic.json"] {
            std::fs::copy(c.request_dir(r).path().join(file), d.request_dir(r).path().join(file)).unwrap();
        }
    }
    let file = from.path().join("loop.json");
    let (file, from, to) = (file.to_str().unwrap(), from.path().to_str().unwrap(), to.path().to_str().unwrap());
    assert_eq!(redline(&["review", "export", file, "--corpus", from]).0, 0);
    let text = std::fs::read_to_string(file).unwrap();
    assert!(!text.contains("token"), "keys stay behind");
    let (code, _, talk) = redline(&["review", "import", file, "--corpus", to]);
    assert_eq!(code, 0, "{talk}");
    assert_eq!(d.request_dir(&id).transcript(TranscriptKind::Oracle).unwrap().unwrap().text(), "make the fillet");
    let (_, a, _) = redline(&["review", "stats", "--corpus", from]);
    let (_, b, _) = redline(&["review", "stats", "--corpus", to]);
    assert_eq!(a, b);
    let server = Server::start(to.as_ref(), &[]);
    assert_eq!(server.join("P01").get(&format!("/api/requests/{open}"))["draft"]["text"], "half");
    drop(server);

    // Never over work that was done, never with a forged id, and whole or not at all.
    let (code, _, talk) = redline(&["review", "import", file, "--corpus", to]);
    assert_eq!(code, 5, "{talk}");
    let forged = text.replace(id.as_str(), "../../etc");
    std::fs::write(file, forged).unwrap();
    let empty = tempfile::tempdir().unwrap();
    corpus(empty.path());
    let (code, _, talk) = redline(&["review", "import", file, "--corpus", empty.path().to_str().unwrap()]);
    assert!(code == 5 && talk.contains("request"), "{talk}");
    let (_, stats, _) = redline(&["review", "stats", "--corpus", empty.path().to_str().unwrap()]);
    assert_eq!(serde_json::from_str::<Value>(&stats).unwrap()["all"]["requests"], 0);
}

#[test]
fn strokes_selections_outline_and_time_maps_are_served() {
    let dir = tempfile::tempdir().unwrap();
    let c = corpus(dir.path());
    let id = request(&c, "P01", Modality::DrawTemp, Difficulty::Medium, &HEARD, true);
    let server = Server::start(dir.path(), &[]);
    let p = server.join("P01");
    let about = p.get(&format!("/api/requests/{id}"))["about"].clone();
    // Sample 0 lies at 50 ms, frame 0 at 20 ms of session time.
    assert_eq!((&about["audio"]["map"][0], &about["video"]["map"][0]), (&json!([0.0, 50_000_000]), &json!([0.0, 20_000_000])));
    assert_eq!(about["video"]["map"][1], json!([5.966_666_667, 5_986_666_667_i64]));
    let events = p.get(&format!("/api/requests/{id}/events"));
    assert_eq!((events["strokes"].as_array().unwrap().len(), &events["selections"][0]["entity"]["id"]), (22, &json!("Face7")));
    let peaks = p.get(&format!("/api/requests/{id}/peaks"));
    let values = peaks["values"].as_array().unwrap();
    assert_eq!((values.len(), &peaks["duration_s"]), (600, &json!(6.0)));
    let most = values.iter().map(|v| v.as_u64().unwrap()).max().unwrap();
    assert!((48..=52).contains(&most), "0.4 of 127 is 51, seen {most}");
    // The outline stays on the disk for the next server.
    let kept = std::fs::read_dir(c.cache_dir().join("peaks")).unwrap().map(|f| std::fs::read(f.unwrap().path()).unwrap());
    assert_eq!(kept.map(|b| serde_json::from_slice::<Value>(&b).unwrap()).collect::<Vec<_>>(), std::slice::from_ref(&peaks));
    // Sound comes in ranges.
    let (status, bytes, headers) = p.raw("GET", &format!("/api/requests/{id}/audio"), None, &[("range", "bytes=4-11")]);
    let file = std::fs::read(c.request_dir(&id).audio()).unwrap();
    assert_eq!((status, bytes.as_slice()), (206, &file[4..12]));
    assert_eq!(headers["content-range"].to_str().unwrap(), format!("bytes 4-11/{}", file.len()));
}
