//! `redline publish` to S3-compatible storage: a server of its own on the loopback, which a gate can cut off.

#![allow(clippy::unwrap_used, clippy::expect_used)]
#![cfg(feature = "publish")]

#[allow(dead_code)]
#[path = "common/sample_corpus.rs"]
mod sample;

#[allow(dead_code)]
#[path = "common/s3.rs"]
mod s3;

use redline_schemas::{EditId, FileRef, fsio};
use s3::{Server, command, redline, said};
use serde_json::Value;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};

/// Passes bytes on to the server until so many went there; then nothing moves any more.
struct Gate {
    port: u16,
    shut: Receiver<()>,
}

impl Gate {
    fn before(server: &Server, limit: u64) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (port, to) = (listener.local_addr().unwrap().port(), server.port);
        let (tell, shut) = channel();
        let (passed, tell) = (Arc::new(AtomicU64::new(0)), Arc::new(Mutex::new(Some(tell))));
        std::thread::spawn(move || {
            for from in listener.incoming() {
                let (Ok(mut from), Ok(mut server)) = (from, TcpStream::connect(("127.0.0.1", to))) else { return };
                let (mut back, mut client) = (server.try_clone().unwrap(), from.try_clone().unwrap());
                std::thread::spawn(move || std::io::copy(&mut back, &mut client));
                let (passed, tell) = (Arc::clone(&passed), Arc::clone(&tell));
                std::thread::spawn(move || {
                    let mut buf = vec![0; 1 << 16];
                    while let Ok(n @ 1..) = from.read(&mut buf) {
                        if passed.fetch_add(n as u64, Ordering::SeqCst) > limit {
                            drop(tell.lock().unwrap().take());
                            // Until the other end is killed.
                            while matches!(from.read(&mut buf), Ok(1..)) {}
                            return;
                        }
                        if server.write_all(&buf[..n]).is_err() {
                            return;
                        }
                    }
                });
            }
        });
        Self { port, shut }
    }

    /// Waits until nothing moves any more.
    fn wait(&self) {
        let _ = self.shut.recv();
    }
}

/// A release with a file that is uploaded in several parts.
fn release(root: &Path) -> PathBuf {
    let c = sample::build(root);
    let id = EditId::new("E1").unwrap();
    let line = b"/* a solid of many faces, and none of them told apart from the next one in this comment */\n";
    let step = [&b"ISO-10303-21;\n"[..], &line.repeat(220_000), b"END-ISO-10303-21;\n"].concat();
    std::fs::write(c.edit_dir(&id).path().join("final.step"), &step).unwrap();
    let mut m = c.edit(&id).unwrap();
    m.final_model = Some(FileRef { path: "final.step".into(), bytes: step.len() as u64, sha256: fsio::sha256_bytes(&step) });
    fsio::write_json(&c.edit_dir(&id).edit_json(), &m).unwrap();
    for version in ["1.0.0", "1.1.0"] {
        let o = redline(0, &["release", version, "--corpus", root.to_str().unwrap()]);
        assert!(o.status.success(), "{}", said(&o));
    }
    c.release_dir("1.0.0")
}

fn counts(o: &Output) -> (u64, u64) {
    assert!(o.status.success(), "{}", said(o));
    let v: Value = serde_json::from_slice(&o.stdout).unwrap();
    (v["copied"].as_u64().unwrap(), v["kept"].as_u64().unwrap())
}

#[test]
fn a_killed_upload_goes_on_and_what_is_published_stays_as_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let out = release(&dir.path().join("c"));
    let (out, newer) = (out.to_str().unwrap(), out.with_file_name("1.1.0"));
    let server = Server::start();
    let to = "s3://bucket/gears/1.0.0";
    let verify = || {
        let o = redline(server.port, &["verify", to]);
        (o.status.code(), serde_json::from_slice::<Value>(&o.stdout).unwrap_or_default(), said(&o))
    };

    // kill -9 while a part of the large file is on its way.
    let gate = Gate::before(&server, 12 << 20);
    let mut child = command(gate.port, &["publish", out, to]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    gate.wait();
    child.kill().unwrap();
    child.wait().unwrap();
    let there = server.list();
    assert!(!there.is_empty(), "something arrived before the kill");
    assert!(!there.iter().any(|k| k.ends_with("SHA256SUMS") || k.ends_with("final.step") && k.contains("E1")), "{there:?}");
    let (code, _, err) = verify();
    assert!(code == Some(5) && err.contains("unfinished upload"), "{code:?} {err}");

    let (copied, kept) = counts(&redline(server.port, &["publish", out, to]));
    // What was on its way when the uploader was killed may have arrived after the list was made.
    assert!(kept >= there.len() as u64, "what arrived is not sent again: {kept} {}", there.len());
    assert!(copied > 0);
    let (code, found, err) = verify();
    assert_eq!(code, Some(0), "{err}");
    let here: Value = serde_json::from_slice(&redline(0, &["verify", out]).stdout).unwrap();
    assert_eq!(found, here, "the same files and bytes as here");
    assert_eq!(counts(&redline(server.port, &["publish", out, to])), (0, copied + kept));

    // A published version is never overwritten.
    let o = redline(server.port, &["publish", newer.to_str().unwrap(), to]);
    assert!(o.status.code() == Some(5) && said(&o).contains("holds another release"), "{}", said(&o));
    assert_eq!(verify().0, Some(0));

    // Damage in the storage is found, named and made good.
    server.put("gears/1.0.0/LICENSE", b"mine");
    server.delete("gears/1.0.0/README.md");
    let (code, found, _) = verify();
    assert_eq!((code, found["damaged"].to_string().as_str()), (Some(3), r#"[["LICENSE","changed"],["README.md","missing"]]"#));
    assert_eq!(counts(&redline(server.port, &["publish", out, to])).0, 2);
    assert_eq!(verify().0, Some(0));
}

#[test]
fn what_is_wrong_is_said_with_the_address() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("SHA256SUMS"), "").unwrap();
    let release = dir.path().to_str().unwrap();
    let server = Server::start();
    for (port, to, code, says) in [
        (server.port, "s3://no-such-bucket/x", 1, "s3://no-such-bucket/x: could not list"),
        (server.port, "gs://bucket/x", 5, "gs://bucket/x: only folders and s3://"),
        (server.port, "s3://B/x", 5, "the bucket's name"),
        (server.port, "s3://bucket/a//b", 5, "s3://bucket/a//b"),
        // Nobody listens on this port.
        (1, "s3://bucket/x", 1, "Connection refused"),
    ] {
        let o = redline(port, &["publish", release, to]);
        assert!(o.status.code() == Some(code) && said(&o).contains(says), "{to}: {:?} {}", o.status, said(&o));
    }
    let o = redline(server.port, &["verify", "s3://bucket/nothing"]);
    assert!(o.status.code() == Some(5) && said(&o).contains("nothing is there"), "{}", said(&o));
}
