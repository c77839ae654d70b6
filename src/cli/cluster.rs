//! `--cluster`: the same verb on many machines, by `redline-cluster`, which carries the distributed engine.

use crate::exit::{Exit, WithExit as _};
use anyhow::anyhow;
use std::ffi::{OsStr, OsString};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Command;

/// `--cluster HOST:PORT`.
#[derive(clap::Args)]
pub struct ClusterArg {
    /// Spread the work over the workers of the scheduler at this address (docs/scale.md)
    #[arg(long, value_name = "HOST:PORT")]
    cluster: Option<SocketAddr>,
}

/// How `redline-cluster` takes a verb.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// With the same options.
    #[cfg(feature = "dataset")]
    Tables,
    /// As work on one session at a time, whose options come last.
    #[cfg(feature = "transcribe")]
    Sessions,
}

impl ClusterArg {
    /// An error where the work would go to a cluster although single requests are named.
    #[cfg(feature = "transcribe")]
    pub fn whole_corpus_only(&self) -> anyhow::Result<()> {
        match self.cluster {
            None => Ok(()),
            Some(_) => Err(anyhow!("--cluster works on all requests of the corpus: leave their ids away, or leave --cluster away"))
                .exit(Exit::Input),
        }
    }

    /// Goes on as `redline-cluster`; returns only when the work stays here, or when there is no such program.
    pub fn hand_over(&self, verb: &str, kind: Kind) -> anyhow::Result<()> {
        let Some(scheduler) = self.cluster else { return Ok(()) };
        let program = program();
        let args = arguments(std::env::args_os().skip(1), verb, kind, scheduler);
        let mut c = Command::new(&program);
        c.args(args);
        let missing = |e: std::io::Error| {
            anyhow!(
                "{}: could not be started: {e}; build it with `make cluster` and put it beside redline or on the PATH",
                program.display()
            )
        };
        #[cfg(unix)]
        {
            use std::os::unix::process::CommandExt as _;
            Err(missing(c.exec())).exit(Exit::Device)
        }
        #[cfg(not(unix))]
        {
            let status = c.status().map_err(missing).exit(Exit::Device)?;
            std::process::exit(status.code().unwrap_or(1));
        }
    }
}

/// `$REDLINE_CLUSTER_BIN`, else beside this program, else on the PATH.
fn program() -> PathBuf {
    let named = std::env::var_os("REDLINE_CLUSTER_BIN").filter(|p| !p.is_empty()).map(PathBuf::from);
    let beside = || std::env::current_exe().ok().map(|p| p.with_file_name("redline-cluster")).filter(|p| p.is_file());
    named.or_else(beside).unwrap_or_else(|| "redline-cluster".into())
}

/// The command line for `redline-cluster` that means the same.
fn arguments(given: impl Iterator<Item = OsString>, verb: &str, kind: Kind, scheduler: SocketAddr) -> Vec<OsString> {
    let (mut rest, mut corpus, mut json, mut begun) = (Vec::new(), None, false, false);
    let mut given = given;
    while let Some(a) = given.next() {
        let text = a.to_string_lossy();
        let value_of = |option: &str| text.strip_prefix(option).and_then(|t| t.strip_prefix('=')).map(OsString::from);
        if !begun && text == verb {
            begun = true;
        } else if text == "--cluster" {
            given.next();
        } else if text == "--json" {
            json = true;
        } else if text == "--corpus" {
            corpus = given.next();
        } else if let Some(c) = value_of("--corpus") {
            corpus = Some(c);
        } else if value_of("--cluster").is_none()
            && text != "--verbose"
            && !(text.starts_with("-v") && text[1..].bytes().all(|b| b == b'v'))
        {
            rest.push(a);
        }
    }
    let os = |s: &str| OsStr::new(s).to_owned();
    let mut out = match kind {
        #[cfg(feature = "dataset")]
        Kind::Tables => vec![os(verb)],
        #[cfg(feature = "transcribe")]
        Kind::Sessions => vec![os("run"), os(verb)],
    };
    out.extend([os("--scheduler"), scheduler.to_string().into()]);
    if let Some(c) = corpus {
        out.extend([os("--corpus"), c]);
    }
    if json {
        out.push(os("--json"));
    }
    #[cfg(feature = "transcribe")]
    if kind == Kind::Sessions && !rest.is_empty() {
        out.push(os("--"));
    }
    out.extend(rest);
    out
}

#[cfg(all(test, feature = "dataset", feature = "transcribe"))]
mod tests {
    use super::*;

    #[test]
    fn options_reach_the_other_program_in_its_order() {
        let at = "127.0.0.1:50050".parse().unwrap();
        let of = |line: &str, kind| {
            let verb = if kind == Kind::Tables { "pack" } else { "transcribe" };
            let out = arguments(line.split(' ').map(OsString::from), verb, kind, at);
            out.iter().map(|a| a.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(
            of("--json pack --cluster 127.0.0.1:50050 -vv --out pack --corpus=s3://a/b", Kind::Tables),
            "pack --scheduler 127.0.0.1:50050 --corpus s3://a/b --json --out pack"
        );
        assert_eq!(
            of("transcribe --corpus c --threads 1 --cluster=127.0.0.1:50050", Kind::Sessions),
            "run transcribe --scheduler 127.0.0.1:50050 --corpus c -- --threads 1"
        );
        assert_eq!(of("transcribe --cluster 127.0.0.1:50050", Kind::Sessions), "run transcribe --scheduler 127.0.0.1:50050");
    }
}
