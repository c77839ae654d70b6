//! `redline edit`.

use super::edit_protocol::{coverage, refusal};
use super::record::{What, coded, kept, parse_duration, say_what_was_recorded, stop_signal};
use super::record_progress::Shown;
use super::{Context, CorpusArg};
use crate::exit::{Exit, WithExit as _};
use anyhow::{Context as _, anyhow};
use redline_recorder::{Finished, RecordOptions, Recording, SessionManifest};
use redline_schemas::{
    Corpus, EditId, EditManifest, FORMAT_VERSION, Participant, ParticipantId, RequestId, RequestManifest, Session, SessionDir, Status,
    Tool, TranscriptKind, fsio,
};
use redline_view::{Replay, Server};
use std::io::{IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

#[derive(clap::Args)]
pub struct Args {
    /// The request to carry out
    #[arg(required_unless_present_any = ["list", "finish"])]
    request: Option<RequestId>,
    #[command(flatten)]
    corpus: CorpusArg,
    /// Who edits (a participant's id)
    #[arg(long, required_unless_present_any = ["list", "finish"])]
    participant: Option<ParticipantId>,
    /// The result, if the CAD program does not send it: a STEP or native file, read when the edit ends
    #[arg(long = "final", value_name = "FILE")]
    final_model: Option<PathBuf>,
    /// Begin at once, without waiting for Enter
    #[arg(long)]
    yes: bool,
    /// The port of the page that shows the request [default: a free one]
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// Stop after so many seconds (also 90s, 2m, 1h)
    #[arg(long, value_parser = parse_duration)]
    duration: Option<Duration>,
    /// Record no video
    #[arg(long)]
    no_video: bool,
    #[command(flatten)]
    what: What,
    #[command(flatten)]
    cad: super::cad_bridge::CadArgs,
    /// List which edits there are and which are missing; with --participant: what this person may edit
    #[arg(long, conflicts_with_all = ["request", "finish"])]
    list: bool,
    /// Give an edit that ended without a result its final model (with --final)
    #[arg(long, value_name = "EDIT", conflicts_with = "request", requires = "final_model")]
    finish: Option<EditId>,
}

pub fn run(ctx: &Context, args: Args) -> anyhow::Result<()> {
    let corpus = args.corpus.open()?;
    if args.list {
        return list(ctx, &corpus, args.participant.as_ref());
    }
    if let (Some(id), Some(file)) = (&args.finish, &args.final_model) {
        let m = attach(&corpus, id, file)?;
        if ctx.json {
            println!("{}", serde_json::to_string_pretty(&m)?);
        } else {
            println!("{id}");
        }
        return Ok(());
    }
    let (Some(request), Some(participant)) = (&args.request, &args.participant) else {
        return Err(anyhow!("an edit needs a request and --participant"));
    };
    record(ctx, &corpus, request, participant, &args)
}

/// The protocol's word on who may edit what.
struct Rules {
    edits: Vec<EditManifest>,
    people: Vec<Participant>,
    agents: Vec<ParticipantId>,
    wanted: u32,
}

impl Rules {
    fn read(corpus: &Corpus) -> anyhow::Result<Self> {
        let edits = corpus.edit_ids()?.iter().map(|id| corpus.edit(id)).collect::<Result<Vec<_>, _>>()?;
        let people = corpus.participants()?.participants;
        let agents = people.iter().filter(|p| p.agent.is_some()).map(|p| p.id.clone()).collect();
        Ok(Self { edits, people, agents, wanted: corpus.manifest()?.protocol.edits_per_request })
    }

    fn person(&self, corpus: &Corpus, id: &ParticipantId) -> anyhow::Result<&Participant> {
        let known = self.people.iter().find(|p| p.id == *id);
        known.ok_or_else(|| {
            anyhow!("{}: no participant “{id}”; add one with: redline participant add {id}", corpus.participants_path().display())
        })
    }

    fn refusal(&self, request: &RequestManifest, who: &Participant) -> Option<String> {
        refusal(request, &self.edits, &self.agents, who, self.wanted)
    }
}

fn list(ctx: &Context, corpus: &Corpus, only_for: Option<&ParticipantId>) -> anyhow::Result<()> {
    let rules = Rules::read(corpus)?;
    let only_for = only_for.map(|id| rules.person(corpus, id)).transpose().exit(Exit::Input)?;
    let mut rows = Vec::new();
    for id in corpus.request_ids()? {
        let r = corpus.request(&id)?;
        if only_for.is_none_or(|p| rules.refusal(&r, p).is_none()) {
            rows.push((coverage(&r, &rules.edits, &rules.agents, rules.wanted), r));
        }
    }
    if ctx.json {
        let all: Vec<_> = rows.iter().map(|(c, _)| c).collect();
        println!("{}", serde_json::to_string_pretty(&all)?);
        return Ok(());
    }
    let mut table = super::table(["request", "by", "modality", "difficulty", "requestor’s edit", "others’ edits", "missing"]);
    let done = |d: &super::edit_protocol::Done| format!("{} by {}", d.edit, d.participant);
    for (c, r) in &rows {
        table.add_row([
            c.request.to_string(),
            c.requestor.to_string(),
            r.modality.to_string(),
            r.difficulty.to_string(),
            c.by_requestor.as_ref().map_or_else(String::new, |d| d.edit.to_string()),
            c.by_others.iter().map(done).collect::<Vec<_>>().join("\n"),
            match (c.missing.is_empty(), r.status) {
                (true, Status::Complete | Status::Recovered) => "nothing".into(),
                (true, s) => format!("the request is {s}"),
                (false, _) => c.missing.join("\n"),
            },
        ]);
    }
    println!("{table}");
    Ok(())
}

fn record(ctx: &Context, corpus: &Corpus, request: &RequestId, participant: &ParticipantId, args: &Args) -> anyhow::Result<()> {
    let r = corpus.request(request).exit(Exit::Input)?;
    let rules = Rules::read(corpus)?;
    let who = rules.person(corpus, participant).exit(Exit::Input)?;
    if let Some(why) = rules.refusal(&r, who) {
        return Err(anyhow!(why)).exit(Exit::Input);
    }
    super::consent::need(corpus, who)?;
    let options = RecordOptions { video: !args.no_video, ..args.what.options()? };
    let id = EditId::generate();
    let model = working_copy(corpus, &r, &id)?;
    let page = show(corpus, &r, model.as_ref().and_then(|m| m.files.first()).map(|(_, to)| to.as_path()), args)?;

    let manifest = EditManifest {
        format_version: FORMAT_VERSION,
        id: id.clone(),
        request: request.clone(),
        participant: participant.clone(),
        status: Status::Recording,
        rejection: None,
        session: Session::begun(),
        started_ns: Some(0),
        stopped_ns: None,
        final_model: None,
        usage: None,
        imported_from: None,
        tool: Tool::redline(),
    };
    // After the wait for Enter, so that Ctrl-C still ends the process there.
    let stop = stop_signal()?;
    let dir = corpus.edit_dir(&id);
    let mut recording = Recording::start(corpus, dir.clone(), SessionManifest::Edit(Box::new(manifest)), &options, None).map_err(coded)?;
    let bridge = args.cad.start(&recording, args.final_model.is_none());
    recording.begin_edit().map_err(coded)?;
    // Scripts wait for this line.
    eprintln!("recording {id}");
    watch(&recording, args.duration, &stop);
    recording.end_edit();
    bridge.finish(&recording);
    let finished = finish(recording)?;
    drop(page);
    say_what_was_recorded(&finished, dir.path());
    let manifest = match &args.final_model {
        // The edit itself is safe by now.
        Some(file) => attach(corpus, &id, file)
            .with_context(|| format!("edit {id} is kept, but without its result; give it with: redline edit --finish {id} --final FILE"))?,
        None => corpus.edit(&id)?,
    };
    match &manifest.final_model {
        Some(f) => {
            look_at(&dir.path().join(&f.path));
            if let Some(m) = &model {
                put_away(m);
            }
        }
        None => eprintln!("no final model came from a CAD program; give it with: redline edit --finish {id} --final FILE"),
    }
    report(ctx, &manifest, &finished)
}

/// The request's model, where it may be changed without touching the corpus.
struct WorkingCopy {
    folder: PathBuf,
    /// From, to; the STEP file first.
    files: Vec<(PathBuf, PathBuf)>,
}

fn working_copy(corpus: &Corpus, r: &RequestManifest, edit: &EditId) -> anyhow::Result<Option<WorkingCopy>> {
    let Some(model) = &r.model else { return Ok(None) };
    let m = corpus.model(model)?;
    let folder = std::env::temp_dir().join(format!("redline-edit-{edit}"));
    std::fs::create_dir_all(&folder).with_context(|| format!("{}: could not create the folder", folder.display()))?;
    let mut files = Vec::new();
    for f in [Some(&m.step), m.native.as_ref()].into_iter().flatten() {
        let from = corpus.model_dir(model).join(&f.path);
        let ending = from.extension().map(|e| format!(".{}", e.to_string_lossy())).unwrap_or_default();
        let to = folder.join(format!("{model}{ending}"));
        std::fs::copy(&from, &to).with_context(|| format!("{}: could not copy to {}", from.display(), to.display()))?;
        files.push((from, to));
    }
    Ok(Some(WorkingCopy { folder, files }))
}

/// Removes the working copy's folder unless somebody saved into it.
fn put_away(copy: &WorkingCopy) {
    let untouched = || -> anyhow::Result<bool> {
        for entry in std::fs::read_dir(&copy.folder)? {
            let path = entry?.path();
            match copy.files.iter().find(|(_, to)| *to == path) {
                Some((from, to)) if fsio::sha256_file(from)? == fsio::sha256_file(to)? => {}
                _ => return Ok(false),
            }
        }
        Ok(true)
    };
    if untouched().unwrap_or(false) {
        let _ = std::fs::remove_dir_all(&copy.folder);
    }
}

/// Shows the request, and nothing of any edit of it, then waits until the editor wants to begin.
fn show(corpus: &Corpus, r: &RequestManifest, model: Option<&Path>, args: &Args) -> anyhow::Result<Server> {
    let page = Server::start(Replay::load(corpus, &redline_view::What::Request(r.id.clone()))?, args.port)?;
    eprintln!("request {} ({}, {}) by {}", r.id, r.modality, r.difficulty, r.participant);
    if let Some(text) = words(&corpus.request_dir(&r.id))? {
        eprintln!("\n{}\n", text.trim());
    }
    eprintln!("the request: {}", page.address());
    if let Some(m) = model {
        eprintln!("the model: {} (a copy, change it as you like)", m.display());
    }
    if !args.yes {
        eprint!("Press Enter to begin: ");
        let _ = std::io::stderr().flush();
        let mut line = String::new();
        std::io::stdin().read_line(&mut line).context("could not read from the keyboard")?;
        if !std::io::stdin().is_terminal() {
            eprintln!();
        }
    }
    Ok(page)
}

/// What was typed or said.
fn words(dir: &SessionDir) -> anyhow::Result<Option<String>> {
    if dir.text().exists() {
        let text = std::fs::read_to_string(dir.text()).with_context(|| format!("{}: could not read", dir.text().display()))?;
        return Ok(Some(text).filter(|t| !t.trim().is_empty()));
    }
    for kind in [TranscriptKind::Oracle, TranscriptKind::Automatic] {
        if let Some(t) = dir.transcript(kind)? {
            let said: Vec<&str> = t.segments.iter().map(|s| s.text.trim()).filter(|s| !s.is_empty()).collect();
            return Ok(Some(said.join("\n")).filter(|t| !t.is_empty()));
        }
    }
    Ok(None)
}

/// Copies a result into an edit that has none.
fn attach(corpus: &Corpus, id: &EditId, file: &Path) -> anyhow::Result<EditManifest> {
    let dir = corpus.edit_dir(id);
    let mut m = corpus.edit(id).exit(Exit::Input)?;
    if m.status == Status::Recording {
        return Err(anyhow!("edit {id} is not finished: stop its recorder, or mend it with redline recover")).exit(Exit::Input);
    }
    if let Some(f) = &m.final_model {
        return Err(anyhow!("edit {id} has its final model already ({}): nothing recorded is replaced", f.path)).exit(Exit::Input);
    }
    let ending = file.extension().and_then(|e| e.to_str()).filter(|e| e.len() <= 8 && e.bytes().all(|b| b.is_ascii_alphanumeric()));
    let Some(ending) = ending else {
        return Err(anyhow!("{}: its name has no ending that says what it is, such as .step", file.display())).exit(Exit::Input);
    };
    let ending = match ending.to_ascii_lowercase().as_str() {
        "stp" => "step".to_owned(),
        e => e.to_owned(),
    };
    let to = dir.path().join(format!("final.{ending}"));
    if to.exists() {
        return Err(redline_schemas::Error::Exists { path: to }.into());
    }
    let bytes = std::fs::read(file).with_context(|| format!("{}: could not read", file.display())).exit(Exit::Input)?;
    fsio::write_atomic(&to, &bytes)?;
    m.final_model = Some(dir.file_ref(&to)?);
    fsio::write_json(&dir.edit_json(), &m)?;
    look_at(&to);
    Ok(m)
}

/// Says what a result is made of; a broken one is said and kept.
fn look_at(file: &Path) {
    #[cfg(feature = "cad")]
    if file.extension().is_some_and(|e| e == "step") {
        match redline_cad::step::read_facts(file) {
            Ok(f) => eprintln!("final model: {} bodies, {} faces, {} edges", f.counts.bodies, f.counts.faces, f.counts.edges),
            Err(e) => eprintln!("warning: {e}"),
        }
        return;
    }
    eprintln!("final model: {}", file.display());
}

fn report(ctx: &Context, m: &EditManifest, f: &Finished) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    if ctx.json {
        let value = serde_json::json!({
            "edit": m.id,
            "request": m.request,
            "manifest": f.path,
            "duration_ns": m.session.duration_ns,
            "started_ns": m.started_ns,
            "stopped_ns": m.stopped_ns,
            "final_model": m.final_model,
            "streams": m.session.streams,
        });
        writeln!(out, "{}", serde_json::to_string_pretty(&value)?)?;
    } else {
        writeln!(out, "{}", m.id)?;
    }
    Ok(())
}

/// Shows progress until something ends the recording.
fn watch(recording: &Recording, duration: Option<Duration>, stop: &AtomicBool) {
    let mut shown = Shown::new(recording, duration);
    while shown.goes_on(recording, stop) && recording.wants_stop().is_none() {
        std::thread::sleep(shown.pause());
    }
}

/// Ends a recording; when the disk is full, says where what was recorded is kept.
fn finish(recording: Recording) -> anyhow::Result<Finished> {
    let path = recording.dir().path().to_path_buf();
    recording.stop().map_err(|e| kept(coded(e), &path))
}
