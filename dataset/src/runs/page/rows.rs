//! The page's rows: each run with its checks, scores and screenshots.

use super::{escape, words};
use crate::runs::{Outcome, Report, RunRow};
use redline_schemas::Dimension;
use std::fmt::Write as _;

pub(super) fn runs(h: &mut String, r: &Report, to_corpus: &str) {
    if r.runs.is_empty() {
        return;
    }
    h.push_str("<section id=\"rows\"><h2>Runs</h2><div id=\"filter\" role=\"status\" hidden><span></span><button type=\"button\">Show all</button></div>\n");
    for x in &r.runs {
        run(h, r, x, &escape(to_corpus));
    }
    h.push_str("</section>\n");
}

fn badge(o: Outcome) -> String {
    let sign = match o {
        Outcome::Passed => "✓",
        Outcome::Failed => "✗",
        Outcome::Unverified => "?",
    };
    format!("<span class=\"badge {0}\">{sign} {0}</span>", o.as_str())
}

fn run(h: &mut String, r: &Report, x: &RunRow, root: &str) {
    let claim = match (x.claimed_success, x.outcome) {
        (Some(true), _) => ", said success",
        (Some(false), _) => ", said failure",
        (None, _) => "",
    };
    let scores = x.scores.first().map_or_else(
        || "not scored".to_owned(),
        |s| Dimension::ALL.iter().map(|&d| s.scores.get(d).to_string()).collect::<Vec<_>>().join(" · "),
    );
    let _ = write!(
        h,
        "<details class=\"run\" id=\"run-{0}\" data-run=\"{0}\"><summary>{1}<span><b>{2}</b> <span class=\"soft\">run {3}</span></span>\
         <span>{4} steps <span class=\"soft\">of {5}</span></span><span>{6:.1} s</span><span class=\"soft\">{7}{claim}</span>\
         <span class=\"scores\" title=\"Scores, first scorer\">{8}</span></summary>\n<div class=\"inside\">",
        x.run,
        badge(x.outcome),
        escape(x.task.as_str()),
        x.repetition,
        x.steps,
        x.reference_steps,
        x.seconds,
        x.stop.map_or("no stop reason", |s| s.as_str()),
        scores
    );
    facts(h, r, x, root);
    checks(h, x);
    scorers(h, x);
    shots(h, x, root);
    h.push_str("</div></details>\n");
}

fn facts(h: &mut String, r: &Report, x: &RunRow, root: &str) {
    h.push_str("<dl class=\"facts\">");
    let mut fact = |name: &str, value: String| {
        let _ = write!(h, "<div><dt>{name}</dt><dd>{value}</dd></div>");
    };
    fact("Run folder", format!("<a href=\"{root}/{0}/\"><code>{0}</code></a>", escape(&x.folder)));
    if let Some(v) = &x.video {
        fact("Recording", format!("<a href=\"{root}/{}\">video</a>", escape(v)));
    }
    fact("Agent", format!("{} {}", escape(&x.agent.name), escape(&x.agent.version)));
    fact("Application", escape(&x.application));
    fact("Screen", escape(&x.environment));
    fact("Family", words(x.family.as_str()));
    if let Some(t) = r.tasks.get(&x.task) {
        fact("Start state", escape(&t.start_state));
        fact("Prompt", format!("<blockquote>{}</blockquote>", escape(&t.prompt)));
    }
    h.push_str("</dl>\n");
}

fn checks(h: &mut String, x: &RunRow) {
    h.push_str("<h3>Verification</h3>");
    if x.checks.is_empty() {
        h.push_str("<p class=\"soft\">Nobody has looked yet, so it does not count as passed.</p>\n");
        return;
    }
    h.push_str("<ul class=\"checks\">");
    for c in &x.checks {
        let note = c.note.as_ref().map(|n| format!(" <span class=\"soft\">{}</span>", escape(n))).unwrap_or_default();
        let _ = write!(h, "<li>{} {}{note}</li>", if c.passed { "✓" } else { "✗" }, escape(&c.name));
    }
    h.push_str("</ul>\n");
}

fn scorers(h: &mut String, x: &RunRow) {
    if x.scores.is_empty() {
        return;
    }
    h.push_str("<h3>Scores</h3><div class=\"scroll\"><table><thead><tr><th>Scorer</th>");
    for d in Dimension::ALL {
        let _ = write!(h, "<th>{}</th>", words(d.as_str()));
    }
    h.push_str("<th>Labels</th></tr></thead><tbody>");
    for s in &x.scores {
        let _ = write!(h, "<tr><th scope=\"row\">{}</th>", escape(s.scorer.as_str()));
        for &d in Dimension::ALL {
            let _ = write!(h, "<td>{}</td>", s.scores.get(d));
        }
        let comment = s.comment.as_ref().map(|c| format!("<br><span class=\"soft\">{}</span>", escape(c))).unwrap_or_default();
        let _ = write!(h, "<td>{}{comment}</td></tr>", escape(&s.labels.join(", ")));
    }
    h.push_str("</tbody></table></div><br>\n");
}

fn shots(h: &mut String, x: &RunRow, root: &str) {
    h.push_str("<h3>Steps</h3><div class=\"shots\">\n");
    for s in &x.screenshots {
        let action = s.action.as_ref().map_or_else(|| "the end".to_owned(), |a| format!("<code>{}</code>", escape(a)));
        let note = s.note.as_ref().map(|n| format!("<br>{}", escape(n))).unwrap_or_default();
        let _ = writeln!(
            h,
            "<figure><a href=\"{root}/{0}\"><img loading=\"lazy\" alt=\"What the agent saw at step {1}\" src=\"{root}/{0}\"></a>\
             <figcaption><b>{1}</b> <span class=\"soft\">{2:.2} s</span> {action}{note}</figcaption></figure>",
            escape(&s.path),
            s.step,
            s.seconds
        );
    }
    h.push_str("</div>\n");
}
