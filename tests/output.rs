//! Where results cannot be written: a reader that went away, a full device. Neither is a panic.

#![cfg(feature = "dataset")]
#![allow(clippy::unwrap_used)]

use std::process::{Command, Output, Stdio};

fn print_to(stdout: Stdio, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_redline"))
        .args(args)
        .stdout(stdout)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
        .wait_with_output()
        .unwrap()
}

#[test]
fn a_reader_that_went_away_is_no_error_and_a_full_device_is_one() {
    let dir = tempfile::tempdir().unwrap();
    let corpus = dir.path().join("c").to_str().unwrap().to_owned();
    assert!(print_to(Stdio::null(), &["init", &corpus]).status.success());
    for args in [&["check", "--rules"][..], &["--json", "check", "--rules"], &["participant", "list", "--corpus", &corpus]] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let o = print_to(writer.into(), args);
        assert_eq!((o.status.code(), String::from_utf8_lossy(&o.stderr).as_ref()), (Some(0), ""), "{args:?}");
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let o = print_to(full.into(), args);
        let said = String::from_utf8_lossy(&o.stderr);
        assert!(
            o.status.code() == Some(7) && said.contains("standard output") && !said.contains("panicked"),
            "{args:?} {:?} {said}",
            o.status
        );
    }
}
