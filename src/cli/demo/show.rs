//! What came out of the demo.

use anyhow::Context as _;
use redline_schemas::time::seconds;
use redline_schemas::{Corpus, InputEvent, InputKind, RequestId, TranscriptKind, jsonl};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// What came out.
#[derive(Debug, Serialize)]
pub struct Shown {
    /// The request.
    request: RequestId,
    /// Its folder.
    folder: PathBuf,
    /// What was said.
    transcript: String,
    /// Every word, with the pointer while it was said.
    words: Vec<Row>,
    /// The Parquet files.
    tables: Vec<Table>,
    /// The contact sheet.
    contact_sheet: PathBuf,
}

#[derive(Debug, Serialize)]
struct Row {
    word: String,
    start_s: f64,
    end_s: f64,
    score: Option<f32>,
    /// Pointer in the middle of the word, video pixels.
    mouse: Option<(i64, i64)>,
    /// Buttons pressed during the word or up to the next one.
    clicks: usize,
}

#[derive(Debug, Serialize, serde::Deserialize)]
struct Table {
    table: String,
    rows: u64,
    /// Absent for a table without rows.
    path: Option<PathBuf>,
}

impl Shown {
    /// Reads it from the corpus and from what `redline pack --json` said.
    pub fn read(corpus: &Corpus, id: &RequestId, packed: &str, sheet: &Path) -> anyhow::Result<Self> {
        #[derive(serde::Deserialize)]
        struct Packed {
            tables: Vec<Table>,
        }
        let dir = corpus.request_dir(id);
        let transcript = dir.transcript(TranscriptKind::Automatic)?.context("the request was not transcribed")?;
        let input = match &corpus.request(id)?.session.streams.input {
            Some(s) => jsonl::read_all::<InputEvent>(&dir.path().join(&s.file.path))?.0,
            None => Vec::new(),
        };
        let all: Vec<_> = transcript.words().collect();
        let words = all.iter().enumerate().map(|(i, w)| {
            let middle = (w.start_ns + w.end_ns) / 2;
            let next = all.get(i + 1).map_or(i64::MAX, |n| n.start_ns);
            let before = &input[..input.partition_point(|e| e.t_ns <= middle)];
            let mouse = before.iter().rev().find_map(|e| e.vx.zip(e.vy)).map(|(x, y)| (x.round() as i64, y.round() as i64));
            let clicks = input.iter().filter(|e| e.kind == InputKind::Press && (w.start_ns..next).contains(&e.t_ns)).count();
            Row { word: w.text.clone(), start_s: seconds(w.start_ns), end_s: seconds(w.end_ns), score: w.score, mouse, clicks }
        });
        let words = words.collect();
        let Packed { tables } = serde_json::from_str(packed).context("could not read what `redline pack --json` said")?;
        Ok(Self {
            request: id.clone(),
            folder: dir.path().into(),
            transcript: transcript.text(),
            words,
            tables,
            contact_sheet: sheet.into(),
        })
    }

    /// For people.
    pub fn print(&self) {
        println!("\nThe request is in {}. It says:\n\n{}\n", self.folder.display(), self.transcript);
        let mut t = crate::cli::table(["word", "start s", "end s", "score", "mouse (video pixels)", "clicks"]);
        for r in &self.words {
            let mouse = r.mouse.map_or_else(|| "not known".to_owned(), |(x, y)| format!("{x}, {y}"));
            let clicks = if r.clicks > 0 { r.clicks.to_string() } else { String::new() };
            let score = r.score.map(|s| format!("{s:.2}")).unwrap_or_default();
            t.add_row([r.word.clone(), format!("{:.2}", r.start_s), format!("{:.2}", r.end_s), score, mouse, clicks]);
        }
        println!("{t}\n");
        let mut t = crate::cli::table(["table", "rows", "file"]);
        for (p, path) in self.tables.iter().filter_map(|p| Some((p, p.path.as_ref()?))) {
            t.add_row([p.table.clone(), p.rows.to_string(), path.display().to_string()]);
        }
        println!("{t}\n\nContact sheet: {}", self.contact_sheet.display());
    }
}
