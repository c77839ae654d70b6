//! Packing against pyarrow, and the whole way of corpora of two sizes:
//! `cargo bench -p redline-dataset --bench pack -- --python PYTHON [--events N] [--rounds N] [--dir DIR] [--out FILE] [--only job,write,corpora]`.
//!
//! Every measurement runs in a process of its own, which times its own work and tells its peak memory; the two sides take turns.
//! - job: `input.jsonl` of all sessions to one sorted, zstd-compressed `events.parquet`;
//! - write: the same rows from memory to Parquet;
//! - corpora: check, pack and release of a corpus of the reference dataset's size, and of one with 100 times the events.

use arrow::array::RecordBatch;
use arrow::compute::cast;
use arrow::datatypes::DataType;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use redline_dataset::pack::{self, DEFAULT_ROW_GROUP_ROWS, Scope};
use redline_dataset::{check, release, tables};
use redline_samples::Size;
use redline_schemas::Corpus;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Instant;

type Result<T, E = Box<dyn std::error::Error>> = std::result::Result<T, E>;

/// Sessions that the events are spread over.
const SESSIONS: u32 = 96;

/// Share of a generated request's lines that are mouse events.
const INPUT_SHARE: f64 = 0.855;

struct Args {
    python: PathBuf,
    events: u64,
    rounds: usize,
    dir: Option<PathBuf>,
    out: Option<PathBuf>,
    only: Vec<String>,
}

fn main() -> Result<()> {
    let mut words = std::env::args().skip(1).peekable();
    if words.next_if(|w| w == "--child").is_some() {
        let words: Vec<String> = words.collect();
        let mut done = child(&words.iter().map(String::as_str).collect::<Vec<_>>())?;
        done["peak_mb"] = json!(peak_mb()?);
        println!("{done}");
        return Ok(());
    }
    let mut a = Args { python: "python3".into(), events: 10_000_000, rounds: 3, dir: None, out: None, only: Vec::new() };
    while let Some(w) = words.next() {
        // What cargo adds by itself.
        if w == "--bench" {
            continue;
        }
        let value = words.next().ok_or_else(|| format!("{w} needs a value"))?;
        match w.as_str() {
            "--python" => a.python = value.into(),
            "--events" => a.events = value.parse()?,
            "--rounds" => a.rounds = value.parse()?,
            "--dir" => a.dir = Some(value.into()),
            "--out" => a.out = Some(value.into()),
            "--only" => a.only = value.split(',').map(str::to_owned).collect(),
            _ => return Err(format!("unknown option {w}").into()),
        }
    }
    let temporary = tempfile::tempdir()?;
    let dir = a.dir.clone().unwrap_or_else(|| temporary.path().into());
    std::fs::create_dir_all(&dir)?;
    let wanted = |what: &str| a.only.is_empty() || a.only.iter().any(|o| o == what);
    let mut results = json!({ "cores": std::thread::available_parallelism()?.get(), "os": std::env::consts::OS });
    if wanted("job") || wanted("write") {
        let corpus = dir.join("events");
        if !corpus.exists() {
            eprintln!("making {} events", a.events);
            let events = (a.events as f64 / INPUT_SHARE) as u64;
            redline_samples::generate(&corpus, &Size { requests: SESSIONS, edits_per_request: 0, events, renders: 0 })?;
        }
        if wanted("job") {
            results["job"] = job(&a, &corpus, &dir)?;
        }
        if wanted("write") {
            results["write"] = write(&a, &corpus, &dir)?;
        }
    }
    if wanted("corpora") {
        results["corpora"] = json!([corpora(&dir, "paper", 1)?, corpora(&dir, "paper with 100 times the events", 100)?]);
    }
    let text = serde_json::to_string_pretty(&results)?;
    match &a.out {
        Some(out) => std::fs::write(out, text)?,
        None => println!("{text}"),
    }
    Ok(())
}

/// One measurement in a process of its own.
fn run(c: &mut Command) -> Result<Value> {
    let o = c.output()?;
    if !o.status.success() {
        return Err(format!("{c:?}: {}", String::from_utf8_lossy(&o.stderr)).into());
    }
    Ok(serde_json::from_slice(&o.stdout)?)
}

fn itself(what: &[&Path]) -> Result<Value> {
    run(Command::new(std::env::current_exe()?).arg("--child").args(what))
}

fn python(a: &Args, what: &[&Path]) -> Result<Value> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/pack.py");
    run(Command::new(&a.python).arg(script).args(what))
}

/// Runs each side `rounds` times, turn about; every side's run of the median time.
fn turns(a: &Args, sides: &[(&str, &dyn Fn() -> Result<Value>)]) -> Result<Value> {
    let mut runs: Vec<Vec<Value>> = vec![Vec::new(); sides.len()];
    for round in 0..a.rounds.max(1) {
        for i in 0..sides.len() {
            let i = if round % 2 == 0 { i } else { sides.len() - 1 - i };
            let done = (sides[i].1)()?;
            eprintln!("round {}: {}: {done}", round + 1, sides[i].0);
            runs[i].push(done);
        }
    }
    let mut all = serde_json::Map::new();
    for ((name, _), mut runs) in sides.iter().zip(runs) {
        runs.sort_by(|x, y| seconds(x).total_cmp(&seconds(y)));
        let mut median = runs.swap_remove(runs.len() / 2);
        median["runs"] = json!(a.rounds);
        all.insert((*name).to_owned(), median);
    }
    let redline = all.get("redline").map_or(f64::NAN, seconds);
    let others = all.iter().filter(|(n, _)| *n != "redline").map(|(_, v)| seconds(v));
    let fastest = others.fold(f64::INFINITY, f64::min);
    all.insert("fastest_other_by_redline".into(), json!(fastest / redline));
    println!("{}", table(&all));
    Ok(Value::Object(all))
}

fn seconds(v: &Value) -> f64 {
    v["seconds"].as_f64().unwrap_or(f64::NAN)
}

fn table(all: &serde_json::Map<String, Value>) -> String {
    let mut s = String::from("| | seconds | MB written | rows | peak MB |\n|---|---|---|---|---|\n");
    for (name, v) in all.iter().filter(|(_, v)| v.is_object()) {
        let mb = v["bytes"].as_f64().unwrap_or(f64::NAN) / 1e6;
        s += &format!("| {name} | {:.2} | {mb:.1} | {} | {:.0} |\n", seconds(v), v["rows"], v["peak_mb"].as_f64().unwrap_or(f64::NAN));
    }
    s + &format!("the fastest other takes {:.2} times as long\n", all["fastest_other_by_redline"].as_f64().unwrap_or(f64::NAN))
}

fn job(a: &Args, corpus: &Path, dir: &Path) -> Result<Value> {
    println!("session JSON Lines to sorted Parquet");
    let (ours, theirs) = (dir.join("ours"), dir.join("theirs.parquet"));
    let sides: [(&str, &dyn Fn() -> Result<Value>); 3] = [
        ("redline", &|| itself(&["pack".as_ref(), corpus, &ours, "events".as_ref()])),
        ("pyarrow", &|| python(a, &["job".as_ref(), corpus, &theirs])),
        ("pyarrow, reading ahead", &|| python(a, &["job-ahead".as_ref(), corpus, &theirs])),
    ];
    let all = turns(a, &sides)?;
    let same = python(a, &["compare".as_ref(), &ours.join("events.parquet"), &theirs])?;
    if same["equal"] != json!(true) {
        return Err(format!("the two sides wrote different rows: {same}").into());
    }
    Ok(all)
}

fn write(a: &Args, corpus: &Path, dir: &Path) -> Result<Value> {
    println!("the same rows from memory to Parquet");
    let source = dir.join("ours/events.parquet");
    if !source.exists() {
        itself(&["pack".as_ref(), corpus, &dir.join("ours"), "events".as_ref()])?;
    }
    let (ours, theirs) = (dir.join("write-ours.parquet"), dir.join("write-theirs.parquet"));
    let sides: [(&str, &dyn Fn() -> Result<Value>); 3] = [
        ("redline", &|| itself(&["write".as_ref(), &source, &ours])),
        ("pyarrow, the same encodings", &|| python(a, &["write".as_ref(), &source, &theirs])),
        ("pyarrow, its own encodings", &|| python(a, &["write-plain".as_ref(), &source, &theirs])),
    ];
    turns(a, &sides)
}

fn corpora(dir: &Path, name: &str, times: u64) -> Result<Value> {
    let root = dir.join(format!("corpus-{times}"));
    let size = Size { events: Size::PAPER.events * times, ..Size::PAPER };
    let made = Instant::now();
    if !root.exists() {
        eprintln!("making the corpus: {name}");
        redline_samples::generate(&root, &size)?;
    }
    let made = made.elapsed().as_secs_f64();
    println!("{name}: {} requests, {} events, {} renders", size.requests, size.events, size.renders);
    println!("| | seconds | peak MB |\n|---|---|---|");
    let mut all = json!({ "name": name, "events": size.events, "renders": size.renders, "made_in_seconds": made });
    let tables = dir.join(format!("tables-{times}"));
    // A version of its own for each run on the same folder.
    let version = format!("1.0.{}", release::versions(&Corpus::open(&root)?)?.len());
    let steps: [(&str, Vec<&Path>); 3] = [
        ("check", vec!["check".as_ref(), root.as_path()]),
        ("pack", vec!["pack".as_ref(), root.as_path(), tables.as_path()]),
        ("release", vec!["release".as_ref(), root.as_path(), version.as_ref()]),
    ];
    for (what, words) in steps {
        let done = itself(&words)?;
        println!("| {what} | {:.1} | {:.0} |", seconds(&done), done["peak_mb"].as_f64().unwrap_or(f64::NAN));
        all[what] = done;
    }
    Ok(all)
}

/// What is measured.
fn child(words: &[&str]) -> Result<Value> {
    match words {
        ["pack", corpus, out, table @ ..] => {
            let start = Instant::now();
            let corpus = Corpus::open(corpus)?;
            let options = pack::Options { tables: table.iter().map(|t| (*t).to_owned()).collect(), ..pack::Options::default() };
            let done = pack::pack(&corpus, Scope::all(&corpus)?, out.as_ref(), &options, &|_, _, _| {})?;
            let seconds = start.elapsed().as_secs_f64();
            let (rows, bytes) = done.tables.iter().fold((0, 0), |(r, b), t| (r + t.rows, b + t.bytes));
            Ok(json!({ "seconds": seconds, "rows": rows, "bytes": bytes }))
        }
        ["write", source, out] => {
            let batches = load(source.as_ref())?;
            let start = Instant::now();
            let (rows, _) = pack::write_batches(&tables::events::TABLE, out.as_ref(), DEFAULT_ROW_GROUP_ROWS, batches)?;
            let seconds = start.elapsed().as_secs_f64();
            Ok(json!({ "seconds": seconds, "rows": rows, "bytes": std::fs::metadata(out)?.len() }))
        }
        ["check", corpus] => {
            let start = Instant::now();
            let report = check::check(&Corpus::open(corpus)?, &check::Options::default(), &|_, _| {})?;
            if !report.passed() {
                return Err(format!("{} errors, first: {:?}", report.errors, report.findings.first()).into());
            }
            Ok(json!({ "seconds": start.elapsed().as_secs_f64(), "requests": report.requests, "edits": report.edits }))
        }
        ["release", corpus, version] => {
            let start = Instant::now();
            let done = release::release(&Corpus::open(corpus)?, &version.parse()?, &release::Options::default(), &|_, _, _| {})?;
            Ok(json!({ "seconds": start.elapsed().as_secs_f64(), "files": done.files }))
        }
        _ => Err(format!("unknown measurement {words:?}").into()),
    }
}

/// The rows of a packed `events` as the packer has them in memory: ids as dictionaries, batches of 50,000.
fn load(source: &Path) -> Result<Vec<RecordBatch>> {
    let file = std::fs::File::open(source)?;
    let reader = ParquetRecordBatchReaderBuilder::try_new(file)?.with_batch_size(50_000).build()?;
    let id = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
    let mut all = Vec::new();
    for b in reader {
        let b = b?;
        let schema = b.schema();
        let mut fields: Vec<_> = schema.fields().iter().cloned().collect();
        let mut columns = b.columns().to_vec();
        columns[0] = cast(&columns[0], &id)?;
        fields[0] = Arc::new(fields[0].as_ref().clone().with_data_type(id.clone()));
        all.push(RecordBatch::try_new(Arc::new(arrow::datatypes::Schema::new(fields)), columns)?);
    }
    Ok(all)
}

/// The most memory that this process had, MB.
fn peak_mb() -> Result<f64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:")).ok_or("no VmHWM in /proc/self/status")?;
    Ok(line.trim().trim_end_matches(" kB").trim().parse::<f64>()? * 1024.0 / 1e6)
}
