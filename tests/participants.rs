//! `redline participant`: who takes part, and what they agreed to.

#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn redline(corpus: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_redline")).args(args).arg("--json").arg("--corpus").arg(corpus).output().unwrap()
}

fn consents(corpus: &Path) -> serde_json::Value {
    let o = redline(corpus, &["participant", "list"]);
    serde_json::from_slice::<serde_json::Value>(&o.stdout).unwrap()[0]["consent"].clone()
}

/// A corpus with a consent text, and P01, who has not agreed to it.
fn corpus_with_consent_text(dir: &Path) -> PathBuf {
    let (text, corpus) = (dir.join("consent.md"), dir.join("c"));
    std::fs::write(&text, "I agree that my recordings are published.\n").unwrap();
    let o = Command::new(env!("CARGO_BIN_EXE_redline")).arg("init").arg(&corpus).arg("--consent").arg(&text).output().unwrap();
    assert!(o.status.success(), "{}", String::from_utf8_lossy(&o.stderr));
    assert!(redline(&corpus, &["participant", "add", "P01"]).status.success());
    corpus
}

#[test]
fn consent_can_be_given_later_and_keeps_its_first_time() {
    let dir = tempfile::tempdir().unwrap();
    let corpus = corpus_with_consent_text(dir.path());
    assert_eq!(consents(&corpus), serde_json::Value::Null);

    assert!(redline(&corpus, &["participant", "consent", "P01"]).status.success());
    let given = consents(&corpus);
    assert!(given["version"].is_string() && given["given_utc"].is_string(), "{given}");
    assert!(redline(&corpus, &["participant", "consent", "P01"]).status.success());
    assert_eq!(consents(&corpus), given, "the same text is agreed to once");

    let o = redline(&corpus, &["participant", "consent", "P09"]);
    assert_eq!(o.status.code(), Some(5));
    let said = String::from_utf8_lossy(&o.stderr).into_owned();
    assert!(said.contains("participants.json") && said.contains("no participant P09"), "{said}");
}

#[cfg(feature = "recorder")]
#[test]
fn who_has_not_agreed_to_the_present_text_is_not_recorded() {
    let dir = tempfile::tempdir().unwrap();
    let corpus = corpus_with_consent_text(dir.path());
    // Without a display, so that nothing is recorded where the refusal is missing.
    let record = || {
        let mut c = Command::new(env!("CARGO_BIN_EXE_redline"));
        c.args(["record", "--participant", "P01", "--no-mic", "--duration", "1", "--corpus"]).arg(&corpus);
        let o = c.env_remove("DISPLAY").env_remove("WAYLAND_DISPLAY").output().unwrap();
        (o.status.code(), String::from_utf8_lossy(&o.stderr).into_owned())
    };
    let (code, said) = record();
    assert!(code == Some(5) && said.contains("redline participant consent P01") && said.contains("are published"), "{code:?} {said}");
    assert!(redline(&corpus, &["participant", "consent", "P01"]).status.success());
    let (code, said) = record();
    assert!(code == Some(4), "now it is the display that is missing: {code:?} {said}");

    // Another version of the text is agreed to anew.
    let manifest = corpus.join("corpus.json");
    let mut v: serde_json::Value = serde_json::from_slice(&std::fs::read(&manifest).unwrap()).unwrap();
    v["consent"]["version"] = "2".into();
    std::fs::write(&manifest, v.to_string()).unwrap();
    let (code, said) = record();
    assert!(code == Some(5) && said.contains("version 2") && said.contains("agreed to version 1"), "{code:?} {said}");
    assert_eq!(std::fs::read_dir(corpus.join("requests")).unwrap().count(), 0);

    // Where there is no text, there is nothing to agree to.
    v["consent"] = serde_json::Value::Null;
    std::fs::write(&manifest, v.to_string()).unwrap();
    assert_eq!(record().0, Some(4));
}

#[test]
fn without_a_text_there_is_nothing_to_agree_to() {
    let dir = tempfile::tempdir().unwrap();
    let corpus = dir.path().join("c");
    assert!(Command::new(env!("CARGO_BIN_EXE_redline")).arg("init").arg(&corpus).output().unwrap().status.success());
    assert!(redline(&corpus, &["participant", "add", "P01"]).status.success());
    let o = redline(&corpus, &["participant", "consent", "P01"]);
    assert!(!o.status.success());
    assert!(String::from_utf8_lossy(&o.stderr).contains("redline init --consent"));
}

#[test]
fn a_corpus_of_another_format_version_is_refused_and_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let corpus = dir.path().join("c");
    assert!(Command::new(env!("CARGO_BIN_EXE_redline")).arg("init").arg(&corpus).output().unwrap().status.success());
    let manifest = corpus.join("corpus.json");
    let mut v: serde_json::Value = serde_json::from_slice(&std::fs::read(&manifest).unwrap()).unwrap();
    v["format_version"] = 99.into();
    std::fs::write(&manifest, v.to_string()).unwrap();
    let people = std::fs::read(corpus.join("participants.json")).unwrap();
    for args in [
        &["participant", "add", "P02"][..],
        &["record", "--participant", "P01", "--duration", "1"],
        &["pack", "--out", "t"],
        &["transcribe"],
    ] {
        let o = redline(&corpus, args);
        let said = String::from_utf8_lossy(&o.stderr).into_owned();
        assert_eq!(o.status.code(), Some(5), "{args:?}: {said}");
        assert!(said.contains("corpus.json") && said.contains("99"), "{args:?}: {said}");
    }
    assert_eq!(std::fs::read(corpus.join("participants.json")).unwrap(), people);
    assert_eq!(std::fs::read_dir(corpus.join("requests")).unwrap().count(), 0);
}

#[test]
fn roles_are_changed_and_none_is_left_without() {
    let dir = tempfile::tempdir().unwrap();
    let corpus = corpus_with_consent_text(dir.path());
    let roles = || {
        let o = redline(&corpus, &["participant", "list"]);
        serde_json::from_slice::<serde_json::Value>(&o.stdout).unwrap()[0]["roles"].clone()
    };
    let said = |o: &Output| String::from_utf8_lossy(&o.stderr).into_owned();
    let o = redline(&corpus, &["participant", "role", "P01", "--add", "rater", "--remove", "editor"]);
    assert!(o.status.success(), "{}", said(&o));
    let mut want: Vec<_> = roles().as_array().unwrap().iter().map(|r| r.as_str().unwrap().to_owned()).collect();
    want.sort();
    assert_eq!(want, ["rater", "requestor"]);
    let before = roles();
    let o = redline(&corpus, &["participant", "role", "P01", "--remove", "rater", "--remove", "requestor"]);
    assert!(o.status.code() == Some(5) && said(&o).contains("no role left"), "{}", said(&o));
    assert_eq!(roles(), before);
    let o = redline(&corpus, &["participant", "role", "P09", "--add", "rater"]);
    assert!(o.status.code() == Some(5) && said(&o).contains("there is no participant P09"), "{}", said(&o));
    let o = redline(&corpus, &["participant", "add", "P01"]);
    assert!(said(&o).contains("`redline participant role`"), "{}", said(&o));
}
