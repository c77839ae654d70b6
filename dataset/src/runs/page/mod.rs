//! The report as a page: one file, with pictures and videos linked from the corpus beside it.

mod numbers;
mod rows;

use super::Report;
use std::fmt::Write as _;

const STYLE: &str = include_str!("style.css");
const FILTER: &str = include_str!("filter.js");

/// The page; `to_corpus` is the way from its folder to the corpus's, such as `../..`.
#[must_use]
pub fn html(r: &Report, to_corpus: &str) -> String {
    let mut h = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">\
         <title>Agent runs · {0}</title>\n<style>\n{STYLE}</style></head>\n<body><main>\n<header><h1>Agent runs</h1>\
         <p class=\"soft\">{0} · {1} · {2} {3}</p></header>\n",
        escape(&r.corpus),
        r.created_utc.format("%Y-%m-%d %H:%M UTC"),
        escape(&r.tool.name),
        escape(&r.tool.version)
    );
    if r.runs.is_empty() {
        h.push_str("<section><h2>No runs yet</h2><p>Record one with <code>redline run start</code>.</p></section>\n");
    }
    for a in &r.agents {
        numbers::agent(&mut h, a, r);
    }
    numbers::agreement(&mut h, r);
    rows::runs(&mut h, r, to_corpus);
    if !r.left_out.is_empty() {
        h.push_str("<section><h2>Left out</h2><p class=\"soft\">Runs that no number above counts.</p><ul>\n");
        for l in &r.left_out {
            let _ = writeln!(h, "<li><a href=\"{}/runs/{1}/\"><code>{1}</code></a>: {2}</li>", escape(to_corpus), l.run, escape(l.reason));
        }
        h.push_str("</ul></section>\n");
    }
    let _ = write!(h, "</main>\n<script>\n{FILTER}</script></body></html>\n");
    h
}

fn escape(s: &str) -> String {
    s.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// A name of the format, as words.
fn words(name: &str) -> String {
    let mut s = name.replace('_', " ");
    if let Some(c) = s.get_mut(..1) {
        c.make_ascii_uppercase();
    }
    s
}

/// A score or the median of some: whole, or with its half.
fn score(v: f64) -> String {
    if v.fract() == 0.0 { format!("{v:.0}") } else { format!("{v:.1}") }
}

/// A number that leads to its runs.
fn link(text: &str, runs: &[redline_schemas::RunId]) -> String {
    if runs.is_empty() {
        return text.to_owned();
    }
    let ids: Vec<&str> = runs.iter().map(redline_schemas::RunId::as_str).collect();
    format!("<a class=\"num\" href=\"#rows\" data-runs=\"{}\">{text}</a>", ids.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runs::aggregate::tests::run;
    use redline_schemas::TaskFamily;

    #[test]
    fn what_the_rules_ask_is_on_the_page() {
        let s = [("P01", [1, 2, 3, 0, 1]), ("P02", [1, 2, 3, 1, 1])];
        let mut runs: Vec<_> = (0..3).map(|i| run(&format!("a{i}"), "find-it", TaskFamily::Navigation, Some(i > 0), &s)).collect();
        runs.push(run("b0", "get-out", TaskFamily::Recovery, None, &s[..1]));
        runs[3].manifest.prompt = "<script>alert(1)</script>".into();
        let page = html(&Report::of_runs("c & d".into(), &runs), "../..");
        assert!(page.contains("data-runs=\"a0,a1,a2,b0\">50&nbsp;%</a>"), "the headline leads to all its runs");
        assert!(page.contains("not reportable (n=1)") && page.contains("n=3"), "n is always there");
        assert!(page.contains("id=\"run-b0\"") && page.contains("href=\"../../runs/b0/\""), "a row leads to its folder");
        assert!(!page.contains("<script>alert") && page.contains("c &amp; d"));
        assert!(!page.contains("http://") && !page.contains("https://"), "it needs nothing else");
        assert!(page.contains("said success"), "what the agent said is beside the outcome");
    }
}
