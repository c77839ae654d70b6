//! `redline review`: serve the correction loop, invite people to it, look into its state, move it.

use super::{Context, CorpusArg};
use crate::exit::{Exit, WithExit};
use anyhow::Context as _;
use redline_review::flow::DEFAULT_CLAIM_MINUTES;
use redline_review::stats::{Figures, Stats};
use redline_review::store::INVITE_DAYS;
use redline_review::{Flow, Options, serve};
use redline_schemas::{ParticipantId, fsio};
use std::io::Write as _;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

/// The largest export that is read, bytes.
const MAX_EXPORT_BYTES: u64 = 4 << 30;

/// The port that `serve` and `invite` agree on when none is named.
const DEFAULT_PORT: u16 = 8040;

#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(clap::Subcommand)]
enum Verb {
    /// Serve the page until Ctrl-C; prints its address.
    Serve(ServeArgs),
    /// Print a participant's personal link; or end all links and sessions of one.
    Invite(InviteArgs),
    /// Progress, time, agreement and how much was corrected.
    Stats(CorpusArg),
    /// Write the whole state of the loop into a file.
    Export(FileArgs),
    /// Take a state that `export` wrote into a corpus whose loop was not worked in.
    Import(FileArgs),
}

#[derive(clap::Args)]
pub(super) struct ServeArgs {
    #[command(flatten)]
    corpus: CorpusArg,
    /// The address to listen on; others than loopback need --public-url
    #[arg(long, default_value = "127.0.0.1")]
    host: IpAddr,
    /// The port to listen on; 0 takes a free one
    #[arg(long, default_value_t = DEFAULT_PORT)]
    port: u16,
    /// The https address that people open, when a proxy with TLS stands in front
    #[arg(long, value_name = "URL")]
    public_url: Option<String>,
    /// Minutes that a claim holds without a sign of work
    #[arg(long, default_value_t = DEFAULT_CLAIM_MINUTES, value_parser = clap::value_parser!(u32).range(1..=1440))]
    claim_minutes: u32,
}

#[derive(clap::Args)]
struct InviteArgs {
    #[command(flatten)]
    corpus: CorpusArg,
    /// The participant, as in `redline participant list`
    participant: ParticipantId,
    /// The address that people open
    #[arg(long, value_name = "URL", default_value_t = format!("http://127.0.0.1:{DEFAULT_PORT}"))]
    url: String,
    /// Days that the link works
    #[arg(long, default_value_t = INVITE_DAYS, value_parser = clap::value_parser!(u32).range(1..=365))]
    days: u32,
    /// End all links and sessions of the participant instead
    #[arg(long)]
    revoke: bool,
}

#[derive(clap::Args)]
struct FileArgs {
    #[command(flatten)]
    corpus: CorpusArg,
    /// The file
    file: PathBuf,
}

pub fn run(ctx: &Context, args: Args) -> anyhow::Result<()> {
    match args.verb {
        Verb::Serve(a) => serve_page(ctx, a, "the correction loop"),
        Verb::Invite(a) => invite(ctx, &a),
        Verb::Stats(a) => stats(ctx, &a),
        Verb::Export(a) => export(ctx, &a),
        Verb::Import(a) => import(ctx, a),
    }
}

fn open(corpus: &CorpusArg) -> anyhow::Result<Flow> {
    Flow::open(corpus.open()?).exit(Exit::Input)
}

/// Aligns accepted texts with the sound. The models are loaded when the first text comes, so that the page is up
/// at once; that they are missing is an error of that text, which the page shows and the server tries again.
#[cfg(feature = "transcribe")]
fn realigner() -> Option<std::sync::Arc<dyn redline_review::Realigner>> {
    use redline_schemas::{RequestManifest, SessionDir, Transcript, TranscriptKind};
    use redline_transcribe::align::{AlignerFiles, PhoneAligner, realign};
    use std::sync::{Mutex, PoisonError};

    #[derive(Default)]
    struct Cached(Mutex<Option<PhoneAligner>>);

    impl redline_review::Realigner for Cached {
        fn realign(&self, dir: &SessionDir, manifest: &RequestManifest, text: &str) -> Result<Transcript, String> {
            let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let aligner = match kept.take() {
                Some(a) => a,
                None => AlignerFiles::cached().and_then(|f| PhoneAligner::load(&f)).map_err(|e| e.to_string())?,
            };
            let aligned = realign(&aligner, dir, manifest, TranscriptKind::Oracle, text).map_err(|e| e.to_string());
            *kept = Some(aligner);
            aligned
        }
    }

    Some(std::sync::Arc::new(Cached::default()))
}

#[cfg(not(feature = "transcribe"))]
fn realigner() -> Option<std::sync::Arc<dyn redline_review::Realigner>> {
    None
}

/// Draws models for raters with the CAD kernel, one file at a time; the kernel is looked for when the first is asked for.
#[cfg(feature = "cad")]
fn viewer() -> Option<std::sync::Arc<dyn redline_review::rate::Viewer>> {
    use redline_cad::Examiner;
    use std::collections::BTreeMap;
    use std::sync::{Mutex, PoisonError};

    #[derive(Default)]
    struct Kernel(Mutex<BTreeMap<PathBuf, BTreeMap<String, PathBuf>>>);

    impl redline_review::rate::Viewer for Kernel {
        fn views(&self, step: &Path) -> Result<BTreeMap<String, PathBuf>, String> {
            let mut drawn = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(v) = drawn.get(step).filter(|v| v.values().all(|p| p.is_file())) {
                return Ok(v.clone());
            }
            let m = Examiner::new(Examiner::default_cache()).and_then(|e| e.examine(step)).map_err(|e| e.to_string())?;
            if let Some(e) = m.error {
                return Err(e);
            }
            drawn.insert(step.to_owned(), m.views.clone());
            Ok(m.views)
        }
    }

    Some(std::sync::Arc::new(Kernel::default()))
}

#[cfg(not(feature = "cad"))]
fn viewer() -> Option<std::sync::Arc<dyn redline_review::rate::Viewer>> {
    None
}

/// Serves both the correction loop and rating: they share people and state.
pub(super) fn serve_page(ctx: &Context, a: ServeArgs, page: &'static str) -> anyhow::Result<()> {
    let mut flow = open(&a.corpus)?;
    flow.claim_minutes = a.claim_minutes;
    let options = Options { bind: (a.host, a.port).into(), public_url: a.public_url, realigner: realigner(), viewer: viewer() };
    let json = ctx.json;
    serve(flow, options, |url| {
        let line = if json { serde_json::json!({ "url": url }).to_string() } else { url.to_owned() };
        // Flushed: a script waits for this line.
        let mut out = std::io::stdout().lock();
        let _ = writeln!(out, "{line}").and_then(|()| out.flush());
        eprintln!("Serving {page}; Ctrl-C ends it.\n\nhint: `redline review invite PARTICIPANT --url {url}` prints a personal link");
    })?;
    Ok(())
}

fn invite(ctx: &Context, a: &InviteArgs) -> anyhow::Result<()> {
    let flow = open(&a.corpus)?;
    if a.revoke {
        let ended = flow.store.revoke(&a.participant)?;
        if ctx.json {
            println!("{}", serde_json::json!({ "participant": a.participant, "ended": ended }));
        } else {
            eprintln!("{ended} links and sessions of {} ended", a.participant);
        }
        return Ok(());
    }
    let person = flow.person(&a.participant)?;
    person
        .with_context(|| format!("{} is no person of this corpus; add one with `redline participant add`", a.participant))
        .exit(Exit::Input)?;
    let token = flow.store.invite(&a.participant, a.days)?;
    // The token stands behind `#`: browsers do not send that part, so it gets into no server's log.
    let link = format!("{}/#join={token}", a.url.trim_end_matches('/'));
    if ctx.json {
        println!("{}", serde_json::json!({ "participant": a.participant, "link": link, "days": a.days }));
    } else {
        println!("{link}");
        eprintln!("The link is {}'s own key for {} days: hand it over in private.", a.participant, a.days);
    }
    Ok(())
}

fn stats(ctx: &Context, corpus: &CorpusArg) -> anyhow::Result<()> {
    let flow = open(corpus)?;
    flow.scan()?;
    let s = flow.stats()?;
    if ctx.json {
        println!("{}", serde_json::to_string_pretty(&s)?);
    } else {
        println!("{}", table(&s));
    }
    Ok(())
}

fn table(s: &Stats) -> String {
    use comfy_table::{CellAlignment, Table, presets};
    let mut t = Table::new();
    t.load_preset(presets::UTF8_HORIZONTAL_ONLY);
    t.set_header(["", "requests", "accepted", "corrected", "chars", "words", "rounds", "at once", "minutes"]);
    let share = |v: Option<f64>| v.map_or("–".into(), |v| format!("{:.0} %", v * 100.0));
    let mean = |v: Option<f64>| v.map_or("–".into(), |v| format!("{v:.1}"));
    let mut row = |name: &str, f: &Figures| {
        t.add_row([
            name.to_owned(),
            f.requests.to_string(),
            f.accepted.to_string(),
            share(f.share_corrected),
            mean(f.mean_char_edits),
            mean(f.mean_word_edits),
            mean(f.mean_rounds),
            share(f.share_accepted_at_once),
            mean(f.mean_active_s.map(|v| v / 60.0)),
        ]);
    };
    row("all", &s.all);
    for (name, group) in [&s.by_modality, &s.by_difficulty, &s.by_participant].into_iter().flatten() {
        row(name, group);
    }
    t.column_iter_mut().skip(1).for_each(|c| c.set_cell_alignment(CellAlignment::Right));
    let states = s.states.iter().map(|(name, n)| format!("{name} {n}")).collect::<Vec<_>>().join(", ");
    format!("{t}\n{states}, rejected {}", s.rejected)
}

fn export(ctx: &Context, a: &FileArgs) -> anyhow::Result<()> {
    let flow = open(&a.corpus)?;
    flow.scan()?;
    let dump = flow.store.dump()?;
    let rows: usize = dump.tables.values().filter_map(|t| t.as_array()).map(Vec::len).sum();
    fsio::write_json(&a.file, &dump)?;
    report(ctx, "rows", rows, &a.file, "written");
    Ok(())
}

fn import(ctx: &Context, a: FileArgs) -> anyhow::Result<()> {
    let flow = open(&a.corpus)?;
    let bytes = fsio::read_limited(&a.file, MAX_EXPORT_BYTES)?;
    let dump = serde_json::from_slice(&bytes)
        .with_context(|| format!("{}: not a file that `redline review export` wrote", a.file.display()))
        .exit(Exit::Input)?;
    let rows = flow.import(dump).with_context(|| format!("{}: not imported", a.file.display())).exit(Exit::Input)?;
    let (written, failed) = flow.export_pending()?;
    for (id, e) in failed {
        eprintln!("warning: {id}: the accepted transcript could not be written yet: {e}");
    }
    tracing::info!("{written} accepted transcripts written");
    report(ctx, "rows", rows, &a.file, "taken in");
    Ok(())
}

fn report(ctx: &Context, what: &str, n: usize, file: &Path, done: &str) {
    if ctx.json {
        println!("{}", serde_json::json!({ what: n, "file": file }));
    } else {
        eprintln!("{}: {n} {what} {done}", file.display());
    }
}
