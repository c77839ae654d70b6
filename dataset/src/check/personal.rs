//! Personal data in texts: e-mail addresses, home folders, given names.

use super::embedded;
use super::files;
use super::finding::Findings;
use super::manifests::without_path;
use super::rule::{EMAIL, HOME, PERSON, UNREADABLE};
use crate::{Error, Result};
use redline_schemas::Error as SchemasError;
use regex::bytes::{Regex, RegexBuilder, RegexSet};
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

/// Longer lines are looked at in pieces of this size.
const MAX_PIECE: u64 = 1 << 20;

/// The longest name list.
const MAX_NAMES: usize = 10_000;

/// Files whose text is looked at.
const TEXTS: [&str; 10] = ["json", "jsonl", "txt", "md", "srt", "vtt", "textgrid", "csv", "step", "stp"];

/// Endings that only look like a domain: `icon@2x.png` is no address.
const NO_DOMAINS: [&str; 8] = ["png", "jpg", "jpeg", "svg", "gif", "webp", "step", "stp"];

/// Accounts that name nobody.
const NOBODY: [&str; 7] = ["shared", "public", "user", "username", "default", "runner", "guest"];

/// What to look for.
pub(super) struct Patterns {
    quick: RegexSet,
    email: Regex,
    home: Regex,
    names: Option<Regex>,
}

fn broken(e: &regex::Error) -> Error {
    Error::Refused(format!("a pattern for personal data could not be compiled: {e}"))
}

impl Patterns {
    /// `names` are looked for as whole words, in any case.
    pub(super) fn new(names: &[String]) -> Result<Self> {
        let email = r"([A-Za-z0-9._%+-]{1,64})@((?:[A-Za-z0-9-]{1,63}\.)+([A-Za-z]{2,24}))\b";
        // In JSON a backslash is doubled.
        let home = r"(?:^|[^A-Za-z0-9.])(?:/home/|/Users/|[A-Za-z]:(?:\\{1,4}|/)Users(?:\\{1,4}|/))([^/\\\s\x22'<>:|*?]{1,64})";
        let names: Vec<String> = names.iter().map(|n| n.trim()).filter(|n| !n.is_empty()).take(MAX_NAMES).map(regex::escape).collect();
        let names = if names.is_empty() {
            None
        } else {
            let all = format!(r"\b(?:{})\b", names.join("|"));
            Some(RegexBuilder::new(&all).case_insensitive(true).size_limit(64 << 20).build().map_err(|e| broken(&e))?)
        };
        Ok(Self {
            quick: RegexSet::new(["@", r"(?:/home/|Users)"]).map_err(|e| broken(&e))?,
            email: Regex::new(email).map_err(|e| broken(&e))?,
            home: Regex::new(home).map_err(|e| broken(&e))?,
            names,
        })
    }

    /// Looks at all files of a folder.
    pub(super) fn folder(&self, f: &mut Findings, dir: &Path) {
        if dir.symlink_metadata().is_ok_and(|m| !m.is_dir()) {
            return;
        }
        for path in files::walk(f, dir) {
            self.file(f, &path);
        }
    }

    /// Looks at one regular file.
    pub(super) fn file(&self, f: &mut Findings, path: &Path) {
        let ending = path.extension().and_then(|e| e.to_str()).unwrap_or_default().to_ascii_lowercase();
        let done = match ending.as_str() {
            e if TEXTS.contains(&e) => {
                let text = self.text_file(f, path);
                if matches!(e, "step" | "stp") { text.and_then(|()| embedded::step(f, path)) } else { text }
            }
            "png" | "jpg" | "jpeg" | "tif" | "tiff" | "webp" => embedded::picture(self, f, path),
            "mp4" | "mov" | "mkv" | "webm" | "flac" | "wav" | "ogg" | "mp3" | "m4a" => {
                embedded::media(self, f, path);
                Ok(())
            }
            _ => Ok(()),
        };
        if let Err(e) = done {
            f.add(UNREADABLE, path, without_path(&e.to_string(), path));
        }
    }

    fn text_file(&self, f: &mut Findings, path: &Path) -> Result<(), SchemasError> {
        let io = |e| SchemasError::io(path, "could not read")(e);
        let mut input = BufReader::with_capacity(1 << 16, File::open(path).map_err(io)?);
        let (mut buf, mut line) = (Vec::new(), 1);
        loop {
            buf.clear();
            if (&mut input).take(MAX_PIECE).read_until(b'\n', &mut buf).map_err(io)? == 0 {
                return Ok(());
            }
            self.bytes(f, path, Some(line), &buf);
            line += u64::from(buf.ends_with(b"\n"));
        }
    }

    /// Looks at a text.
    pub(super) fn bytes(&self, f: &mut Findings, path: &Path, line: Option<u64>, text: &[u8]) {
        let mut add = |rule, message: String| match line {
            Some(l) => f.at(rule, path, l, message),
            None => f.add(rule, path, message),
        };
        let quick = self.quick.matches(text);
        if quick.matched(0) {
            for c in self.email.captures_iter(text) {
                let part = |i: usize| c.get(i).map(|m| String::from_utf8_lossy(m.as_bytes()).into_owned()).unwrap_or_default();
                if !NO_DOMAINS.contains(&part(3).to_ascii_lowercase().as_str()) {
                    add(EMAIL, format!("{}@{}", masked(&part(1)), part(2)));
                }
            }
        }
        if quick.matched(1) {
            for c in self.home.captures_iter(text) {
                let name = c.get(1).map(|m| String::from_utf8_lossy(m.as_bytes()).into_owned()).unwrap_or_default();
                if !NOBODY.contains(&name.to_lowercase().as_str()) {
                    add(HOME, format!("the home folder of “{}”", masked(&name)));
                }
            }
        }
        if let Some(m) = self.names.as_ref().and_then(|n| n.find(text)) {
            add(PERSON, format!("“{}”", masked(&String::from_utf8_lossy(m.as_bytes()))));
        }
    }
}

/// Reports get shared: enough to find it, not enough to know it.
pub(super) fn masked(name: &str) -> String {
    let mut c = name.chars();
    match c.next() {
        Some(first) => format!("{first}{}", "*".repeat(c.count().min(12))),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(names: &[&str], text: &str) -> Vec<(&'static str, String)> {
        let p = Patterns::new(&names.iter().map(|n| (*n).to_owned()).collect::<Vec<_>>()).unwrap();
        let mut f = Findings::new(Path::new("/c"));
        p.bytes(&mut f, Path::new("/c/x.txt"), None, text.as_bytes());
        f.into_list().into_iter().map(|f| (f.rule.id, f.message)).collect()
    }

    #[test]
    fn addresses_are_found_and_masked() {
        assert_eq!(found(&[], "write to some.body@mail.example.org."), [("RL701", "s********@mail.example.org".to_owned())]);
        for not in ["M6@45°", "icon@2x.png", "a @ b.c", "@handle.io x"] {
            assert!(found(&[], not).is_empty(), "{not}");
        }
    }

    #[test]
    fn home_folders_of_all_systems_are_found() {
        for text in ["/home/zq17/part.step", r#"{"p":"C:\\Users\\zq17\\x"}"#, r"D:\Users\zq17", "file:///Users/zq17/a"] {
            assert_eq!(found(&[], text), [("RL702", "the home folder of “z***”".to_owned())], "{text}");
        }
        for not in ["/Users/Shared/x", r"C:\Users\Public\x", "https://example.com/home/page", "at home/ or Users manual"] {
            assert!(found(&[], not).is_empty(), "{not}");
        }
    }

    #[test]
    fn given_names_are_whole_words_in_any_case() {
        assert_eq!(found(&["Zebulon"], "said zebulon, twice").len(), 1);
        assert!(found(&["Zebulon"], "zebulonite").is_empty());
        assert!(found(&["a.b"], "axb").is_empty(), "names are no patterns");
    }
}
