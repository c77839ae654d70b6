//! The page's numbers: each beside its breakdown, with its n, leading to its runs.

use super::{escape, link, words};
use crate::runs::{AgentReport, Aggregate, Cell, DimensionMedian, MIN_RUNS, PassRate, Report};
use redline_schemas::{Dimension, RunId, TaskFamily, TaskId};
use std::fmt::Write as _;

/// A row of a breakdown: its class, its name.
type Named<'a, M> = (&'static str, String, &'a Cell<M>);

fn breakdown<'a, M>(a: &'a Aggregate<M>, family_of: impl Fn(&TaskId) -> Option<TaskFamily>) -> Vec<Named<'a, M>> {
    let mut rows = vec![("all", "All runs".to_owned(), a.overall())];
    for (f, c) in a.by_family() {
        rows.push(("family", words(f.as_str()), c));
        rows.extend(a.by_task().iter().filter(|(t, _)| family_of(t) == Some(*f)).map(|(t, c)| ("task", escape(t.as_str()), c)));
    }
    rows
}

/// Of all that one agent did.
pub(super) fn agent(h: &mut String, a: &AgentReport, r: &Report) {
    let family = |t: &TaskId| r.tasks.get(t).map(|t| t.family);
    pass_rate(h, a, family);
    dimensions(h, a, family);
    labels(h, a);
}

/// How many runs, leading to them.
fn count(runs: &[RunId]) -> String {
    link(&runs.len().to_string(), runs)
}

fn percent(v: f64) -> String {
    format!("{:.0}&nbsp;%", v * 100.0)
}

fn pass_rate(h: &mut String, a: &AgentReport, family: impl Fn(&TaskId) -> Option<TaskFamily>) {
    let all = a.pass_rate.overall();
    let p = all.measure();
    let rate = p.rate().map_or_else(|| "–".to_owned(), percent);
    let _ = write!(
        h,
        "<section><h2>{} <span class=\"soft\">{}</span></h2>\n<div class=\"hero\"><div><h3>Pass rate</h3><p class=\"big\">{}</p>\
         <p class=\"of\">{} of {} runs passed their verification<br><span class=\"soft\">{} failed, {} unverified</span></p>",
        escape(&a.agent.name),
        escape(&a.agent.version),
        link(&rate, all.runs()),
        count(p.passed()),
        link(&format!("n={}", all.n()), all.runs()),
        count(p.failed()),
        count(p.unverified())
    );
    if let (Some((low, high)), Some(rate)) = (p.interval(), p.rate()) {
        let _ = write!(
            h,
            "<div class=\"interval\" aria-hidden=\"true\"><i style=\"left:{:.1}%;width:{:.1}%\"></i><b style=\"left:{:.1}%\"></b></div>\
             <p class=\"soft\">95&nbsp;% interval {} to {}</p>",
            low * 100.0,
            (high - low) * 100.0,
            rate * 100.0,
            percent(low),
            percent(high)
        );
    }
    h.push_str("</div><div class=\"scroll\"><h3>By family and task</h3><table><thead><tr><th>Runs</th><th>Passed</th><th>n</th><th>Failed</th><th>Unverified</th><th></th></tr></thead><tbody>\n");
    for (class, name, c) in breakdown(&a.pass_rate, family).into_iter().skip(1) {
        pass_row(h, class, &name, c);
    }
    h.push_str("</tbody></table></div></div>\n<p class=\"soft\">A run passes when an operator saw every check of its task hold. What the agent says of itself counts for nothing.</p></section>\n");
}

fn pass_row(h: &mut String, class: &str, name: &str, c: &Cell<PassRate>) {
    let p = c.measure();
    let share = |k: usize| 100.0 * k as f64 / c.n().max(1) as f64;
    let _ = writeln!(
        h,
        "<tr class=\"{class}\"><th scope=\"row\">{name}</th><td>{}</td><td>{}</td><td>{}</td><td>{}</td>\
         <td><div class=\"bar\" aria-hidden=\"true\"><i style=\"width:{:.1}%\"></i><i class=\"f\" style=\"width:{:.1}%\"></i></div></td></tr>",
        link(&p.rate().map_or_else(|| "–".to_owned(), percent), c.runs()),
        link(&c.n().to_string(), c.runs()),
        count(p.failed()),
        count(p.unverified()),
        share(p.passed().len()),
        share(p.failed().len())
    );
}

fn dimensions(h: &mut String, a: &AgentReport, family: impl Fn(&TaskId) -> Option<TaskFamily> + Copy) {
    let _ = write!(
        h,
        "<section><h2>Dimensions <span class=\"soft\">{}</span></h2><p class=\"soft\">Median of the scores 0 to 3 given first, over at least \
         {MIN_RUNS} runs of each task; fewer are not reportable.</p><div class=\"scroll\"><table><thead><tr><th>Runs</th>",
        escape(&a.agent.name)
    );
    for d in a.dimensions.keys() {
        let _ = write!(h, "<th>{}</th>", words(d.as_str()));
    }
    h.push_str("</tr></thead><tbody>\n");
    let columns: Vec<Vec<Named<'_, DimensionMedian>>> = a.dimensions.values().map(|x| breakdown(x, family)).collect();
    for (i, (class, name, _)) in columns.first().into_iter().flatten().enumerate() {
        let _ = write!(h, "<tr class=\"{class}\"><th scope=\"row\">{name}</th>");
        for (.., c) in columns.iter().filter_map(|c| c.get(i)) {
            median(h, c);
        }
        h.push_str("</tr>\n");
    }
    h.push_str("</tbody></table></div></section>\n");
}

fn median(h: &mut String, c: &Cell<DimensionMedian>) {
    let _ = match c.measure().median() {
        Some(m) => write!(h, "<td>{} <small>n={}</small></td>", link(&super::score(m.value()), c.runs()), c.n()),
        None => write!(h, "<td class=\"no\">{}</td>", link(&format!("not reportable (n={})", c.n()), c.runs())),
    };
}

fn labels(h: &mut String, a: &AgentReport) {
    if a.labels.is_empty() {
        return;
    }
    let _ = writeln!(
        h,
        "<section><h2>Failures <span class=\"soft\">{}</span></h2><p class=\"soft\">Runs that a scorer gave a label, of n={} runs.</p>\
         <div class=\"scroll\"><table><thead><tr><th>Label</th><th>Runs</th><th>By task</th></tr></thead><tbody>",
        escape(&a.agent.name),
        link(&a.pass_rate.overall().n().to_string(), a.pass_rate.overall().runs())
    );
    for l in &a.labels {
        let by: Vec<String> = l.by_task().iter().map(|(t, runs)| format!("{} {}", escape(t.as_str()), count(runs))).collect();
        let _ = writeln!(h, "<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td></tr>", escape(l.label()), count(l.runs()), by.join(", "));
    }
    h.push_str("</tbody></table></div></section>\n");
}

/// How far two scorers agree.
pub(super) fn agreement(h: &mut String, r: &Report) {
    if r.agreement.is_empty() {
        return;
    }
    h.push_str(
        "<section><h2>Agreement of scorers</h2><p class=\"soft\">Of the first and the second person who scored a run. Kappa is Cohen’s, with \
         quadratic weights: 1 is full agreement, 0 what chance would give.</p><div class=\"scroll\"><table><thead><tr><th>Dimension</th><th>n</th>\
         <th>Same score</th><th>Kappa</th></tr></thead><tbody>\n",
    );
    for (d, a) in &r.agreement {
        let d: &Dimension = d;
        let _ = writeln!(
            h,
            "<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td><td>{}</td></tr>",
            words(d.as_str()),
            count(a.runs()),
            percent(a.exact()),
            a.kappa().map_or_else(|| "<small>not defined: all scores are the same</small>".to_owned(), |k| format!("{k:.2}"))
        );
    }
    h.push_str("</tbody></table></div></section>\n");
}
