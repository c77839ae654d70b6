//! `redline run verify`, `score` and `labels`: what people say of a run. Nothing that was said is replaced.

use super::{ended, person};
use crate::cli::{Context, CorpusArg};
use crate::exit::{Exit, WithExit as _};
use anyhow::{Context as _, anyhow};
use redline_schemas::{
    CheckResult, DimensionScores, FORMAT_VERSION, MAX_RUN_SCORE, ParticipantId, RunId, RunScores, Tool, Verification, fsio,
};

#[derive(clap::Args)]
pub struct Verify {
    /// The run
    run: RunId,
    /// Who looked (a participant’s id)
    #[arg(long, value_name = "PARTICIPANT")]
    by: ParticipantId,
    /// What was seen of a check, NAME=pass or NAME=fail, with a remark as NAME=fail:REMARK (one for each check of the task)
    #[arg(long = "check", value_name = "NAME=RESULT", required = true, value_parser = result)]
    checks: Vec<CheckResult>,
    #[command(flatten)]
    corpus: CorpusArg,
}

fn result(s: &str) -> Result<CheckResult, String> {
    let bad = "write NAME=pass or NAME=fail, with a remark as NAME=fail:REMARK";
    let (name, rest) = s.split_once('=').ok_or(bad)?;
    let (verdict, note) = rest.split_once(':').map_or((rest, None), |(v, n)| (v, Some(n.trim())));
    let passed = match verdict {
        "pass" => true,
        "fail" => false,
        _ => return Err(bad.into()),
    };
    Ok(CheckResult { name: name.into(), passed, note: note.filter(|n| !n.is_empty()).map(Into::into) })
}

pub fn verify(ctx: &Context, a: Verify) -> anyhow::Result<()> {
    let corpus = a.corpus.open()?;
    person(&corpus, &a.by)?;
    let m = ended(&corpus, &a.run)?;
    let dir = corpus.run_dir(&a.run);
    if let Some(v) = dir.verification()? {
        return Err(anyhow!("run {} was verified by {} already: nothing that was judged is replaced", a.run, v.by)).exit(Exit::Input);
    }
    let task = super::task::find(&corpus, &m.task)?;
    let (mut wanted, mut given): (Vec<_>, Vec<_>) =
        (task.checks.iter().map(|c| c.name.as_str()).collect(), a.checks.iter().map(|c| c.name.as_str()).collect());
    wanted.sort_unstable();
    given.sort_unstable();
    if wanted != given {
        return Err(anyhow!("task {} has the checks {}; give each once with --check", task.id, wanted.join(", "))).exit(Exit::Input);
    }
    let v = Verification {
        format_version: FORMAT_VERSION,
        run: a.run,
        by: a.by,
        verified_utc: chrono::Utc::now(),
        checks: a.checks,
        tool: Tool::redline(),
    };
    fsio::write_json(&dir.verification_path(), &v)?;
    if m.claimed_success == Some(true) && !v.passed() {
        eprintln!("the agent said that it succeeded; the verification counts");
    }
    if ctx.json {
        println!("{}", serde_json::json!({ "run": v.run, "passed": v.passed(), "checks": v.checks }));
    } else {
        println!("{}", if v.passed() { "passed" } else { "failed" });
    }
    Ok(())
}

#[derive(clap::Args)]
pub struct Score {
    /// The run
    run: RunId,
    /// Who scores (a participant’s id); a second person may score the same run
    #[arg(long, value_name = "PARTICIPANT")]
    by: ParticipantId,
    /// Visual perception: saw what was on the screen
    #[arg(long, value_name = "0-3", value_parser = clap::value_parser!(u8).range(0..=i64::from(MAX_RUN_SCORE)))]
    visual: u8,
    /// Spatial reasoning: understood where things are in space
    #[arg(long, value_name = "0-3", value_parser = clap::value_parser!(u8).range(0..=i64::from(MAX_RUN_SCORE)))]
    spatial: u8,
    /// Action execution: hit what it meant to hit
    #[arg(long, value_name = "0-3", value_parser = clap::value_parser!(u8).range(0..=i64::from(MAX_RUN_SCORE)))]
    action: u8,
    /// Error recovery: noticed what went wrong, and got out of it
    #[arg(long, value_name = "0-3", value_parser = clap::value_parser!(u8).range(0..=i64::from(MAX_RUN_SCORE)))]
    recovery: u8,
    /// Execution efficiency: took no more steps than were needed
    #[arg(long, value_name = "0-3", value_parser = clap::value_parser!(u8).range(0..=i64::from(MAX_RUN_SCORE)))]
    efficiency: u8,
    /// What went wrong, a label of the corpus’s list (several allowed); see run labels
    #[arg(long = "label", value_name = "LABEL")]
    labels: Vec<String>,
    /// A remark
    #[arg(long)]
    comment: Option<String>,
    #[command(flatten)]
    corpus: CorpusArg,
}

pub fn score(ctx: &Context, a: Score) -> anyhow::Result<()> {
    let corpus = a.corpus.open()?;
    person(&corpus, &a.by)?;
    ended(&corpus, &a.run)?;
    let known = corpus.manifest()?.failure_labels;
    if let Some(l) = a.labels.iter().find(|l| !known.contains(l)) {
        return Err(anyhow!(
            "{}: no failure label “{l}”; there are: {}; add one with: redline run labels --add",
            corpus.manifest_path().display(),
            if known.is_empty() { "none".into() } else { known.join(", ") }
        ))
        .exit(Exit::Input);
    }
    let dir = corpus.run_dir(&a.run);
    let path = dir.scores_path(a.by.as_str());
    if path.exists() {
        return Err(anyhow!("{}: {} has scored this run already: nothing that was judged is replaced", path.display(), a.by))
            .exit(Exit::Input);
    }
    let mut labels = a.labels;
    labels.sort();
    labels.dedup();
    let s = RunScores {
        format_version: FORMAT_VERSION,
        run: a.run,
        scorer: a.by,
        scores: DimensionScores {
            visual_perception: a.visual,
            spatial_reasoning: a.spatial,
            action_execution: a.action,
            error_recovery: a.recovery,
            execution_efficiency: a.efficiency,
        },
        labels,
        comment: a.comment,
        scored_utc: chrono::Utc::now(),
        tool: Tool::redline(),
    };
    let folder = dir.scores_dir();
    std::fs::create_dir_all(&folder).with_context(|| format!("{}: could not create the folder", folder.display()))?;
    fsio::write_json(&path, &s)?;
    if ctx.json {
        println!("{}", serde_json::to_string_pretty(&s)?);
    } else {
        println!("{}", s.run);
    }
    Ok(())
}

#[derive(clap::Args)]
pub struct Labels {
    /// Add this label (several allowed); labels are never taken away
    #[arg(long, value_name = "LABEL")]
    add: Vec<String>,
    #[command(flatten)]
    corpus: CorpusArg,
}

pub fn labels(ctx: &Context, a: Labels) -> anyhow::Result<()> {
    let corpus = a.corpus.open()?;
    let mut m = corpus.manifest()?;
    let before = m.failure_labels.len();
    for l in a.add {
        if l.is_empty() || l.len() > 64 || !l.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'_' | b'-')) {
            return Err(anyhow!("“{l}”: a label is up to 64 of a–z, 0–9, - and _")).exit(Exit::Input);
        }
        if !m.failure_labels.contains(&l) {
            m.failure_labels.push(l);
        }
    }
    if m.failure_labels.len() > before {
        fsio::write_json(&corpus.manifest_path(), &m)?;
    }
    if ctx.json {
        println!("{}", serde_json::to_string(&m.failure_labels)?);
    } else {
        m.failure_labels.iter().for_each(|l| println!("{l}"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::result;

    #[test]
    fn results_of_checks() {
        assert!(result("open=pass").unwrap().passed);
        let r = result("open=fail: the dialog is there").unwrap();
        assert_eq!((r.passed, r.note.as_deref()), (false, Some("the dialog is there")));
        assert!(result("open").is_err() && result("open=maybe").is_err());
    }
}
