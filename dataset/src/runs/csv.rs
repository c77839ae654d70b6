//! `scores.csv`: a row a run and scorer; a run that nobody scored has one row without scores.

use super::{Report, RunRow, ScorerRow};
use redline_schemas::Dimension;

/// The file's text, RFC 4180.
#[must_use]
pub fn csv(r: &Report) -> String {
    let mut head: Vec<&str> = vec![
        "run_id",
        "task",
        "family",
        "agent",
        "agent_version",
        "application",
        "environment",
        "repetition",
        "outcome",
        "claimed_success",
        "stop_reason",
        "steps",
        "reference_steps",
        "seconds",
        "scorer",
    ];
    head.extend(Dimension::ALL.iter().map(|d| d.as_str()));
    head.extend(["labels", "comment"]);
    let mut out = line(head.iter().map(ToString::to_string));
    for row in &r.runs {
        if row.scores.is_empty() {
            out += &cells(row, None);
        }
        for s in &row.scores {
            out += &cells(row, Some(s));
        }
    }
    out
}

fn cells(r: &RunRow, s: Option<&ScorerRow>) -> String {
    let mut c = vec![
        r.run.to_string(),
        r.task.to_string(),
        r.family.to_string(),
        r.agent.name.clone(),
        r.agent.version.clone(),
        r.application.clone(),
        r.environment.clone(),
        r.repetition.to_string(),
        r.outcome.as_str().to_owned(),
        r.claimed_success.map(|c| c.to_string()).unwrap_or_default(),
        r.stop.map(|s| s.to_string()).unwrap_or_default(),
        r.steps.to_string(),
        r.reference_steps.to_string(),
        format!("{:.3}", r.seconds),
        s.map(|s| s.scorer.to_string()).unwrap_or_default(),
    ];
    c.extend(Dimension::ALL.iter().map(|&d| s.map(|s| s.scores.get(d).to_string()).unwrap_or_default()));
    c.push(s.map(|s| s.labels.join(";")).unwrap_or_default());
    c.push(s.and_then(|s| s.comment.clone()).unwrap_or_default());
    line(c.into_iter())
}

fn line(cells: impl Iterator<Item = String>) -> String {
    // Never a cell that a spreadsheet would run.
    let plain = |c: String| if c.starts_with(['=', '+', '-', '@', '\t', '\r']) { format!("'{c}") } else { c };
    let quoted = |c: String| if c.contains(['"', ',', '\n', '\r']) { format!("\"{}\"", c.replace('"', "\"\"")) } else { c };
    cells.map(plain).map(quoted).collect::<Vec<_>>().join(",") + "\r\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runs::aggregate::tests::run;
    use redline_schemas::TaskFamily;

    #[test]
    fn a_row_a_run_and_scorer() {
        let mut two = run("r1", "a", TaskFamily::Workflow, Some(true), &[("P01", [0, 1, 2, 3, 0]), ("P02", [3; 5])]);
        two.scores[1].comment = Some("said \"no\", twice".into());
        two.scores[0].comment = Some("=1+1".into());
        let none = run("r2", "a", TaskFamily::Workflow, None, &[]);
        let text = csv(&Report::of_runs("c".into(), &[two, none]));
        let lines: Vec<&str> = text.trim_end().split("\r\n").collect();
        assert_eq!(lines.len(), 4, "{text}");
        assert!(lines[1].starts_with("r1,a,workflow,a,1,x 1,") && lines[1].contains(",P01,0,1,2,3,0,missed,'=1+1"), "{}", lines[1]);
        assert!(lines[2].ends_with("\"said \"\"no\"\", twice\""), "{}", lines[2]);
        assert!(lines[3].contains(",2,unverified,true,") && lines[3].ends_with(",,,,,,,,"), "{}", lines[3]);
    }
}
