//! `redline stats`: the figures are those of the corpus, and every plot is drawn.
#![allow(clippy::unwrap_used, clippy::expect_used)]
#![cfg(feature = "dataset")]

use redline_samples::Size;
use redline_schemas::{Corpus, TranscriptKind};
use std::process::Command;

#[test]
fn figures_follow_from_the_corpus_and_plots_are_drawn() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("c");
    redline_samples::generate(&root, &Size { requests: 12, edits_per_request: 2, events: 9000, renders: 48 }).unwrap();
    let plots = dir.path().join("plots");
    let out = Command::new(env!("CARGO_BIN_EXE_redline"))
        .args(["stats", "--json", "--corpus"])
        .arg(&root)
        .arg("--plots")
        .arg(&plots)
        .output()
        .unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let s: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();

    let t = &s["totals"];
    let whole = |k: &str| t[k].as_u64().unwrap();
    assert_eq!((whole("requests"), whole("edits"), whole("models"), whole("events"), whole("renders")), (12, 24, 4, 9000, 48));

    // Counted again, another way: from the files.
    let c = Corpus::open(&root).unwrap();
    let mut words = 0;
    let mut changed = 0;
    for id in c.request_ids().unwrap() {
        let d = c.request_dir(&id);
        match d.transcript(TranscriptKind::Oracle).unwrap() {
            Some(o) => {
                words += o.words().count();
                changed += u64::from(o.text() != d.transcript(TranscriptKind::Automatic).unwrap().unwrap().text());
            }
            None => words += std::fs::read_to_string(d.text()).unwrap().split_whitespace().count(),
        }
    }
    assert_eq!(whole("words"), words as u64);
    assert_eq!(s["corrections"]["changed"].as_u64(), Some(changed));
    assert_eq!(s["corrections"]["accepted"].as_u64(), Some(9), "three of twelve are typed");

    let edits = s["measures"].as_array().unwrap().iter().find(|m| m["name"] == "edit_seconds").unwrap();
    let mut by_hand: Vec<f64> = c.edit_ids().unwrap().iter().map(|e| c.edit(e).unwrap().session.duration_ns as f64 / 1e9).collect();
    by_hand.sort_by(f64::total_cmp);
    let all = &edits["groups"][0];
    assert!((all["median"].as_f64().unwrap() - (by_hand[11] + by_hand[12]) / 2.0).abs() < 1e-9);
    assert_eq!(edits["groups"].as_array().unwrap().len(), 1 + 4 + 3 + 12);

    for name in ["words_per_request", "request_seconds", "edit_seconds", "events_per_edit", "commands_per_edit"] {
        let svg = std::fs::read_to_string(plots.join(format!("{name}.svg"))).unwrap();
        assert!(svg.contains("draw-static") && svg.contains("medium"), "{name} has no labels");
        let png = image::open(plots.join(format!("{name}.png"))).unwrap().to_rgb8();
        assert_eq!(png.dimensions(), (1000, 560));
        let inked = png.pixels().filter(|p| p.0 != [255, 255, 255]).count();
        assert!(inked > 5000, "{name} is nearly empty: {inked} pixels");
    }
}

#[test]
fn an_empty_corpus_has_figures_without_values() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("c");
    let redline = || Command::new(env!("CARGO_BIN_EXE_redline"));
    assert!(redline().arg("init").arg(&root).output().unwrap().status.success());
    let out = redline().args(["stats", "--json", "--corpus"]).arg(&root).output().unwrap();
    let s: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
    assert_eq!(s["totals"]["requests"], 0);
    assert!(s["corrections"]["changed_share"].is_null());
    let table = redline().args(["stats", "--corpus"]).arg(&root).output().unwrap();
    assert!(table.status.success() && String::from_utf8(table.stdout).unwrap().contains("requests"));
}
