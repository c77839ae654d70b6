//! `redline-cluster check`, `pack`, `stats`, `release` and `query`: the same as `redline` does, with the rows made by workers.

use crate::client;
use crate::corpus::Place;
use crate::engine::Cluster;
use crate::shares::{Form, Shares, SharesTable};
use anyhow::{Context, Result};
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::json::writer::{JsonArray, WriterBuilder};
use datafusion::arrow::util::pretty::pretty_format_batches;
use datafusion::execution::context::SQLOptions;
use datafusion::prelude::{ParquetReadOptions, SessionContext};
use redline_dataset::check::{self, Severity};
use redline_dataset::pack::{self, Common, DEFAULT_ROW_GROUP_ROWS, Options, Scope, file_name};
use redline_dataset::release::{self, Copied, Manifest, Media};
use redline_dataset::stats::Stats;
use redline_dataset::tables;
use redline_publish::{InPlace, Need, Storage};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::runtime::Handle;

/// What all of these verbs take.
#[derive(clap::Args)]
pub struct Where {
    /// The corpus: a folder that all workers know by this path, or s3://BUCKET/PREFIX
    #[arg(long, env = "REDLINE_CORPUS", default_value = ".")]
    corpus: String,
    /// Where the scheduler listens, HOST:PORT
    #[arg(long, default_value = "127.0.0.1:50050")]
    scheduler: SocketAddr,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Where {
    fn engine(&self, place: &Place) -> Cluster {
        Cluster { scheduler: self.scheduler, place: place.address.clone(), handle: Handle::current() }
    }
}

/// Options of `redline-cluster pack`.
#[derive(clap::Args)]
pub struct PackArgs {
    #[command(flatten)]
    at: Where,
    /// The folder that the Parquet files go into
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Write these tables only
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    tables: Vec<String>,
    /// Rows of a row group
    #[arg(long, value_name = "N", default_value_t = DEFAULT_ROW_GROUP_ROWS)]
    row_group_rows: usize,
}

/// Options of `redline-cluster check`.
#[derive(clap::Args)]
pub struct CheckArgs {
    #[command(flatten)]
    at: Where,
    /// Decode all video and audio to the end
    #[arg(long)]
    decode: bool,
    /// Leave out the comparison of SHA-256 hashes
    #[arg(long)]
    no_hashes: bool,
    /// Text file with names of people, one a line, to look for in all texts
    #[arg(long, value_name = "FILE")]
    names: Option<PathBuf>,
    /// Leave out findings that are only good to know
    #[arg(long, short)]
    quiet: bool,
    /// Unfinished recordings are always left as they are here
    #[arg(long)]
    no_recover: bool,
}

/// Options of `redline-cluster stats`.
#[derive(clap::Args)]
pub struct StatsArgs {
    #[command(flatten)]
    at: Where,
}

/// Options of `redline-cluster release`.
#[derive(clap::Args)]
pub struct ReleaseArgs {
    /// The version: MAJOR.MINOR.PATCH, above all released ones
    version: semver::Version,
    #[command(flatten)]
    at: Where,
    /// What is new, for the changelog: a text file
    #[arg(long, value_name = "FILE")]
    notes: Option<PathBuf>,
}

/// Options of `redline-cluster query`.
#[derive(clap::Args)]
pub struct QueryArgs {
    /// The query
    sql: String,
    #[command(flatten)]
    at: Where,
    /// Ask this release, or folder of packed tables, instead of the corpus
    #[arg(long = "in", value_name = "DIR")]
    dir: Option<String>,
}

/// A line on standard error when a table is begun.
fn tell(table: &str, done: usize, of: usize) {
    if done == 0 {
        eprintln!("{table}: {of} tasks");
    }
}

/// Packs; blocks, so not for a thread of the runtime.
pub fn pack(args: &PackArgs) -> Result<usize> {
    let place = Place::open(&args.at.corpus, Need::Outline)?;
    let engine = Arc::new(args.at.engine(&place));
    let options = Options { row_group_rows: args.row_group_rows, tables: args.tables.clone(), engine };
    let mut done = pack::pack(&place.corpus, Scope::all(&place.corpus)?, &args.out, &options, &tell)?;
    for p in &mut done.torn {
        *p = place.told(p).into();
        eprintln!("warning: {}: the last line was torn (the recorder died while writing it) and is left out", p.display());
    }
    for id in &done.unfinished {
        eprintln!("warning: {id}: its recording has not ended, so it is left out (`redline recover` mends a dead one)");
    }
    if args.at.json {
        println!("{}", serde_json::to_string_pretty(&done)?);
    } else {
        for t in done.tables.iter().filter(|t| t.rows > 0) {
            println!("{}: {} rows, {} row groups, {} bytes", t.table, t.rows, t.row_groups, t.bytes);
        }
    }
    Ok(0)
}

/// Checks; blocks. How many errors there are.
pub fn check(args: &CheckArgs) -> Result<usize> {
    let place = Place::open(&args.at.corpus, Need::Skeleton)?;
    let names = match &args.names {
        Some(p) => {
            std::fs::read_to_string(p).with_context(|| format!("{}: could not be read", p.display()))?.lines().map(str::to_owned).collect()
        }
        None => Vec::new(),
    };
    let options = check::Options { hashes: !args.no_hashes, decode: args.decode, names };
    let mut report = check::check_by(&place.corpus, &options, &args.at.engine(&place), &|_, _| {})?;
    if args.quiet {
        report.findings.retain(|f| f.severity != Severity::Info);
    }
    if args.at.json {
        println!("{}", serde_json::to_string_pretty(&report)?);
    } else {
        for f in &report.findings {
            let line = f.line.map(|l| format!(":{l}")).unwrap_or_default();
            println!("{} {}: {}{line}: {}", f.severity.as_str(), f.rule.id, f.file, f.message);
        }
        println!("{} errors, {} warnings, {} notes", report.errors, report.warnings, report.infos);
    }
    Ok(usize::try_from(report.errors)?)
}

/// Prints the figures of a corpus as JSON; blocks.
pub fn stats(args: &StatsArgs) -> Result<usize> {
    let place = Place::open(&args.at.corpus, Need::Outline)?;
    let stats = Stats::of_by(&place.corpus, &args.at.engine(&place))?;
    println!("{}", serde_json::to_string_pretty(&stats)?);
    Ok(0)
}

/// Releases; blocks.
pub fn release(args: &ReleaseArgs) -> Result<usize> {
    let place = Place::open(&args.at.corpus, Need::Skeleton)?;
    let notes =
        args.notes.as_ref().map(|p| std::fs::read_to_string(p).with_context(|| format!("{}: could not read the notes", p.display())));
    let pack = Options { engine: Arc::new(args.at.engine(&place)), ..Options::default() };
    // In storage, media stay there.
    let stored = place.copy.as_ref().map(|(storage, _)| InPlace::new(storage, &args.version)).transpose()?.map(Arc::new);
    let media: Arc<dyn Media> = match &stored {
        Some(s) => Arc::clone(s) as Arc<dyn Media>,
        None => Arc::new(Copied),
    };
    let options = release::Options { notes: notes.transpose()?, pack, media, ..release::Options::default() };
    let mut done = release::release(&place.corpus, &args.version, &options, &tell)?;
    if let Some(s) = stored {
        redline_publish::publish_rest(&done.path, &done.elsewhere, s.release(), &|_, _| {})?;
        done.path = s.release().address().into();
    }
    for l in &done.left_out {
        eprintln!("left out: {} {}: {}", l.kind, l.id, l.reason);
    }
    if args.at.json {
        println!("{}", serde_json::to_string_pretty(&done)?);
    } else {
        let m = &done.manifest;
        println!("{}: {} requests, {} edits, {} models, {} files", done.path.display(), m.requests, m.edits, m.models, done.files);
    }
    Ok(0)
}

/// Answers a query; blocks.
pub fn query(args: &QueryArgs) -> Result<usize> {
    let place = args.dir.is_none().then(|| Place::open(&args.at.corpus, Need::Outline)).transpose()?;
    let handle = Handle::current();
    let (batches, empty) = handle.block_on(async {
        let ctx = client::connect(args.at.scheduler, std::thread::available_parallelism().map_or(2, usize::from) * 2).await?;
        let jobs = match (&place, &args.dir) {
            (Some(place), _) => corpus_tables(&ctx, place, &args.sql)?,
            (None, Some(dir)) => {
                packed_tables(&ctx, dir).await?;
                Vec::new()
            }
            (None, None) => Vec::new(),
        };
        for (name, sql) in redline_query::views::ALL {
            // A view can only be made where its tables are.
            if let Ok(view) = ctx.sql(sql).await {
                ctx.register_table(*name, view.into_view())?;
            }
        }
        let reading = SQLOptions::new().with_allow_ddl(false).with_allow_dml(false).with_allow_statements(false);
        let answer = async {
            let frame = ctx.sql_with_options(&args.sql, reading).await?;
            let empty = RecordBatch::new_empty(Arc::new(frame.schema().as_arrow().clone()));
            anyhow::Ok((frame.collect().await?, empty))
        };
        let answer = answer.await;
        for j in jobs {
            j.shelf()?.remove()?;
        }
        answer
    })?;
    if args.at.json {
        let mut out = Vec::new();
        let mut w = WriterBuilder::new().with_explicit_nulls(true).build::<_, JsonArray>(&mut out);
        w.write_batches(&batches.iter().collect::<Vec<_>>()).and_then(|()| w.finish())?;
        drop(w);
        println!("{}", String::from_utf8(out)?);
    } else {
        let shown = if batches.is_empty() { vec![empty] } else { batches };
        println!("{}", pretty_format_batches(&shown)?);
    }
    Ok(0)
}

/// The corpus's tables, made by workers when they are asked. Only those are planned that the query, or a view in it, may name.
fn corpus_tables(ctx: &SessionContext, place: &Place, sql: &str) -> Result<Vec<Shares>> {
    let scope = Scope::all(&place.corpus)?;
    let all_asked: String = std::iter::once(sql)
        .chain(redline_query::views::ALL.iter().filter(|(name, _)| sql.contains(name)).map(|(_, sql)| *sql))
        .collect::<Vec<_>>()
        .join(" ")
        .to_lowercase();
    let common = Common { people: Arc::clone(&scope.people), ..Common::default() };
    let mut jobs = Vec::new();
    for t in tables::ALL.iter().filter(|t| all_asked.contains(t.name)) {
        let tasks = pack::plan(&place.corpus, &scope, t.name)?;
        let shares = Shares::of_tasks(&place.address, Form::Rows(t.name.into()), &common, &tasks, 64)?;
        ctx.register_table(t.name, Arc::new(SharesTable::new(shares.clone())?))?;
        jobs.push(shares);
    }
    Ok(jobs)
}

/// The tables of a release, or of a folder of packed tables.
async fn packed_tables(ctx: &SessionContext, dir: &str) -> Result<()> {
    let dir = if dir.contains("://") {
        dir.trim_end_matches('/').to_owned()
    } else {
        let path = std::fs::canonicalize(dir).with_context(|| format!("{dir}: there is no such folder"))?;
        path.to_str().with_context(|| format!("{dir}: the path is not UTF-8"))?.to_owned()
    };
    let storage = if dir.contains("://") { Some(Storage::open(&dir)?) } else { None };
    let root = Path::new(&dir);
    let manifest = match &storage {
        Some(s) => s.get("release.json")?,
        None => std::fs::read(root.join("release.json")).ok(),
    };
    let folders = match manifest {
        Some(bytes) => {
            let m: Manifest = serde_json::from_slice(&bytes).with_context(|| format!("{dir}/release.json"))?;
            m.splits.iter().map(|s| format!("tables/{}/", s.name)).collect()
        }
        None => vec![String::new()],
    };
    let mut any = false;
    for t in tables::ALL {
        let mut files = Vec::new();
        for f in folders.iter().map(|f| format!("{f}{}", file_name(t.name))) {
            let there = match &storage {
                Some(s) => s.has(&f)?,
                None => root.join(&f).is_file(),
            };
            files.extend(there.then(|| format!("{dir}/{f}")));
        }
        if files.is_empty() {
            continue;
        }
        any = true;
        let frame = ctx.read_parquet(files, ParquetReadOptions::default()).await?;
        ctx.register_table(t.name, frame.into_view())?;
    }
    anyhow::ensure!(any, "{dir}: neither a release nor a folder of packed tables");
    Ok(())
}
