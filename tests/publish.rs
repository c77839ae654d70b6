//! `redline publish` to S3-compatible storage: a server of its own on the loopback, which a gate can cut off.

#![allow(clippy::unwrap_used, clippy::expect_used)]
#![cfg(feature = "publish")]

#[allow(dead_code)]
#[path = "common/sample_corpus.rs"]
mod sample;

use redline_schemas::{EditId, FileRef, fsio};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Output, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};

/// The server believes any signature, but objects without one are public ones only.
const SIGNED: &str = "AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=00";

/// A real S3 API (moto), gone when it is dropped.
struct Server {
    child: Child,
    stdin: Option<ChildStdin>,
    port: u16,
}

impl Server {
    fn start() -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let python = root.join(".venv/bin/python");
        assert!(python.exists(), "{} is missing: run `make setup`", python.display());
        let mut child = Command::new(python)
            .arg(root.join("tests/python/s3_server.py"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let port = line.trim().parse().unwrap_or_else(|_| panic!("the server did not start (moto in .venv?): “{line}”"));
        let server = Self { stdin: child.stdin.take(), child, port };
        server.put("", b"");
        server
    }

    fn url(&self, object: &str) -> String {
        format!("http://127.0.0.1:{}/bucket/{object}", self.port)
    }

    fn put(&self, object: &str, bytes: &[u8]) {
        let put = ureq::put(self.url(object)).header("authorization", SIGNED).content_type("application/octet-stream");
        put.send(bytes).unwrap();
    }

    fn delete(&self, object: &str) {
        ureq::delete(self.url(object)).header("authorization", SIGNED).call().unwrap();
    }

    /// Keys in the bucket.
    fn list(&self) -> Vec<String> {
        let list = ureq::get(format!("{}?list-type=2", self.url(""))).header("authorization", SIGNED);
        let text = list.call().unwrap().body_mut().read_to_string().unwrap();
        text.split("<Key>").skip(1).map(|k| k.split("</Key>").next().unwrap().to_owned()).collect()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.stdin.take());
        let _ = self.child.wait();
    }
}

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

fn command(port: u16, args: &[&str]) -> Command {
    let mut c = Command::new(env!("CARGO_BIN_EXE_redline"));
    for (k, _) in std::env::vars_os().filter(|(k, _)| {
        let k = k.to_string_lossy().to_lowercase();
        k.starts_with("aws_") || k.ends_with("_proxy")
    }) {
        c.env_remove(k);
    }
    c.env("AWS_ACCESS_KEY_ID", "test").env("AWS_SECRET_ACCESS_KEY", "test").env("AWS_REGION", "us-east-1");
    c.env("AWS_ENDPOINT_URL", format!("http://127.0.0.1:{port}")).env("AWS_ALLOW_HTTP", "true");
    c.arg("--json").args(args);
    c
}

fn redline(port: u16, args: &[&str]) -> Output {
    command(port, args).output().unwrap()
}

fn said(o: &Output) -> String {
    String::from_utf8_lossy(&o.stderr).into_owned()
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
    assert_eq!(kept, there.len() as u64, "what arrived is not sent again");
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
