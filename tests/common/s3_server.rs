//! An S3-compatible server of a test's own on the loopback.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};

/// The server believes any signature, but objects without one are public ones only.
const SIGNED: &str = "AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=00";

/// A real S3 API (moto), gone when it is dropped.
pub struct Server {
    child: Child,
    stdin: Option<ChildStdin>,
    pub port: u16,
}

impl Server {
    pub fn start() -> Self {
        // The workspace's folder: this file is also read by tests of the cluster's own workspace.
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let root = here.ancestors().find(|d| d.join("tests/python/s3_server.py").exists()).unwrap();
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

    pub fn put(&self, object: &str, bytes: &[u8]) {
        let put = ureq::put(self.url(object)).header("authorization", SIGNED).content_type("application/octet-stream");
        put.send(bytes).unwrap();
    }

    pub fn delete(&self, object: &str) {
        ureq::delete(self.url(object)).header("authorization", SIGNED).call().unwrap();
    }

    pub fn get(&self, object: &str) -> Vec<u8> {
        let mut got = ureq::get(self.url(object)).header("authorization", SIGNED).call().unwrap();
        got.body_mut().with_config().limit(1 << 30).read_to_vec().unwrap()
    }

    /// Keys in the bucket.
    pub fn list(&self) -> Vec<String> {
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

/// Settings for programs that talk to the server, and nobody else's.
pub fn settings(c: &mut Command, port: u16) {
    for (k, _) in std::env::vars_os().filter(|(k, _)| {
        let k = k.to_string_lossy().to_lowercase();
        k.starts_with("aws_") || k.ends_with("_proxy")
    }) {
        c.env_remove(k);
    }
    c.env("AWS_ACCESS_KEY_ID", "test").env("AWS_SECRET_ACCESS_KEY", "test").env("AWS_REGION", "us-east-1");
    c.env("AWS_ENDPOINT_URL", format!("http://127.0.0.1:{port}")).env("AWS_ALLOW_HTTP", "true");
}

/// Files below a folder, with their bytes.
#[allow(dead_code)] // Not every test compares folders.
pub fn files(root: &Path) -> BTreeMap<String, Vec<u8>> {
    let (mut all, mut folders) = (BTreeMap::new(), vec![root.to_owned()]);
    while let Some(folder) = folders.pop() {
        for e in std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()) {
            if e.is_dir() {
                folders.push(e);
            } else {
                all.insert(e.strip_prefix(root).unwrap().to_str().unwrap().to_owned(), std::fs::read(&e).unwrap());
            }
        }
    }
    all
}
