//! `redline` with the settings for an S3-compatible server of a test's own.

use std::process::{Command, Output};

#[path = "s3_server.rs"]
mod server;

#[allow(unused_imports)] // Not every test compares folders.
pub use server::{Server, files};

pub fn command(port: u16, args: &[&str]) -> Command {
    let mut c = Command::new(env!("CARGO_BIN_EXE_redline"));
    server::settings(&mut c, port);
    c.arg("--json").args(args);
    c
}

pub fn redline(port: u16, args: &[&str]) -> Output {
    command(port, args).output().unwrap()
}

pub fn said(o: &Output) -> String {
    String::from_utf8_lossy(&o.stderr).into_owned()
}
