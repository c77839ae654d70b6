//! `redline init`: makes a corpus.

use super::Context;
use anyhow::Context as _;
use redline_schemas::{ConsentText, Corpus, CorpusManifest, FORMAT_VERSION, Protocol, fsio};
use std::path::PathBuf;

#[derive(clap::Args)]
pub struct Args {
    /// The folder to make
    dir: PathBuf,
    /// The collection effort's name [default: the folder's name]
    #[arg(long)]
    name: Option<String>,
    /// SPDX identifier of the licence that releases get
    #[arg(long, default_value = "CC-BY-4.0")]
    licence: String,
    /// BCP 47 language of the requests, e.g. en [default: detected for each request]
    #[arg(long)]
    language: Option<String>,
    /// Text file with one word or phrase a line that transcription should expect
    #[arg(long, value_name = "FILE")]
    word_list: Option<PathBuf>,
    /// Text file with what participants agree to
    #[arg(long, value_name = "FILE")]
    consent: Option<PathBuf>,
    /// Version of the consent text
    #[arg(long, default_value = "1", requires = "consent")]
    consent_version: String,
}

/// The largest text file that is taken in.
const MAX_TEXT_BYTES: u64 = 1 << 20;

fn read_text(path: &std::path::Path) -> anyhow::Result<String> {
    let bytes = fsio::read_limited(path, MAX_TEXT_BYTES)?;
    String::from_utf8(bytes).with_context(|| format!("{}: not UTF-8 text", path.display()))
}

pub fn run(ctx: &Context, args: Args) -> anyhow::Result<()> {
    let name = match args.name {
        Some(n) => n,
        None => std::path::absolute(&args.dir)?.file_name().map_or_else(|| "corpus".to_owned(), |n| n.to_string_lossy().into_owned()),
    };
    let word_list = match &args.word_list {
        Some(p) => read_text(p)?.lines().map(str::trim).filter(|l| !l.is_empty()).map(str::to_owned).collect(),
        None => Vec::new(),
    };
    let consent = match &args.consent {
        Some(p) => Some(ConsentText { version: args.consent_version, text: read_text(p)? }),
        None => None,
    };
    let manifest = CorpusManifest {
        format_version: FORMAT_VERSION,
        name,
        licence: args.licence,
        created_utc: chrono::Utc::now(),
        language: args.language,
        word_list,
        protocol: Protocol::default(),
        consent,
        splits: Vec::new(),
        failure_labels: Vec::new(),
    };
    let corpus = Corpus::create(&args.dir, &manifest)?;
    if ctx.json {
        println!("{}", serde_json::json!({ "corpus": corpus.root(), "name": manifest.name }));
    } else {
        eprintln!("Made the corpus “{}”. Next: redline participant add P01 --corpus {}", manifest.name, args.dir.display());
        println!("{}", corpus.root().display());
    }
    Ok(())
}
