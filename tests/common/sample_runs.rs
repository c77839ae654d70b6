//! Runs of an agent with known contents, added to a corpus of `sample_corpus.rs`.

use super::sample;
use redline_schemas::*;

/// What the steps of every run were, with the times at which their screenshots were taken.
pub const STEPS: [(i64, Option<&str>, Option<&str>); 3] = [
    (500_000_000, Some("key Return"), Some("back to the first view")),
    (1_500_000_000, Some("drag 10 20 300 20"), None),
    (2_500_000_000, None, None),
];

/// A corpus with two people, a program that takes part, and a failure label.
pub fn corpus(root: &std::path::Path) -> Corpus {
    let manifest = CorpusManifest { failure_labels: vec!["missed_target".into()], ..sample::corpus_manifest() };
    let c = Corpus::create(root, &manifest).unwrap();
    sample::add_participants(&c);
    let mut people = c.participants().unwrap();
    let agent = Some(Agent { model: "scripted".into(), settings: None });
    people.participants.push(Participant { id: ParticipantId::new("bot").unwrap(), agent, ..people.participants[0].clone() });
    c.write_participants(&people).unwrap();
    c
}

pub fn add_task(c: &Corpus, id: &str, family: TaskFamily, checks: &[&str]) -> TaskManifest {
    let t = TaskManifest {
        format_version: FORMAT_VERSION,
        id: TaskId::new(id).unwrap(),
        family,
        prompt: format!("Do {id}."),
        start_state: "the viewer as it opens".into(),
        reference_steps: 2,
        checks: checks.iter().map(|c| TaskCheck { name: (*c).into(), expects: "it is seen".into() }).collect(),
        tool: Tool::redline(),
    };
    let path = c.task_path(&t.id);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    fsio::write_json(&path, &t).unwrap();
    t
}

/// A run of three seconds that ended, with a video, two steps and the end; nobody has judged it.
pub fn add_run(c: &Corpus, id: &str, task: &TaskManifest) -> SessionDir {
    let dir = c.run_dir(&RunId::new(id).unwrap());
    std::fs::create_dir_all(dir.path().join("screenshots")).unwrap();
    let mut steps = jsonl::Writer::create(&dir.steps()).unwrap();
    for (i, (t_ns, action, note)) in STEPS.into_iter().enumerate() {
        let screenshot = format!("screenshots/{:04}.png", i + 1);
        let shade = image::Luma([80 * i as u8 + 40]);
        image::GrayImage::from_pixel(64, 36, shade).save(dir.path().join(&screenshot)).unwrap();
        let sha256 = fsio::sha256_file(&dir.path().join(&screenshot)).unwrap();
        let (action, note) = (action.map(|a| a.parse().unwrap()), note.map(Into::into));
        steps.write(&StepEvent { t_ns, half_ns: 1_000_000, step: i as u32 + 1, screenshot, sha256, action, note }).unwrap();
    }
    steps.finish().unwrap();
    let m = RunManifest {
        format_version: FORMAT_VERSION,
        id: RunId::new(id).unwrap(),
        task: task.id.clone(),
        family: task.family,
        prompt: task.prompt.clone(),
        start_state: task.start_state.clone(),
        reference_steps: task.reference_steps,
        agent: RunAgent { name: "scripted".into(), version: "1.0".into() },
        operator: ParticipantId::new("P01").unwrap(),
        application: Application { name: "viewer".into(), version: "1".into() },
        environment: Environment { resolution: Some((1280, 720)), theme: "dark".into(), locale: "C".into() },
        status: Status::Complete,
        rejection: None,
        session: sample::session(Streams { video: Some(sample::video(&dir)), ..Streams::default() }),
        stop: Some(RunStop::Done),
        claimed_success: Some(true),
        tool: Tool::redline(),
    };
    fsio::write_json(&dir.run_json(), &m).unwrap();
    dir
}

pub fn verify(dir: &SessionDir, task: &TaskManifest, passed: bool) {
    let checks = task.checks.iter().map(|c| CheckResult { name: c.name.clone(), passed, note: None }).collect();
    let (run, by) = (RunId::new(id_of(dir)).unwrap(), ParticipantId::new("P01").unwrap());
    let v = Verification { format_version: FORMAT_VERSION, run, by, verified_utc: sample::start(), checks, tool: Tool::redline() };
    fsio::write_json(&dir.verification_path(), &v).unwrap();
}

/// Scores of one person, in the dimensions' order, so many seconds after the start.
pub fn score(dir: &SessionDir, by: &str, s: [u8; 5], after_s: u64) {
    let scores = RunScores {
        format_version: FORMAT_VERSION,
        run: RunId::new(id_of(dir)).unwrap(),
        scorer: ParticipantId::new(by).unwrap(),
        scores: DimensionScores {
            visual_perception: s[0],
            spatial_reasoning: s[1],
            action_execution: s[2],
            error_recovery: s[3],
            execution_efficiency: s[4],
        },
        labels: vec!["missed_target".into()],
        comment: None,
        scored_utc: sample::start() + std::time::Duration::from_secs(after_s),
        tool: Tool::redline(),
    };
    std::fs::create_dir_all(dir.scores_path(by).parent().unwrap()).unwrap();
    fsio::write_json(&dir.scores_path(by), &scores).unwrap();
}

fn id_of(dir: &SessionDir) -> String {
    dir.path().file_name().unwrap().to_string_lossy().into_owned()
}
