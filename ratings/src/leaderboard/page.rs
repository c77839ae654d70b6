//! The leaderboard as a page: one file that needs no other.

use super::svg::escape;
use super::{Figure, Leaderboard, Row, ScoreFigure, Share, dollars, duration, grouped, plots};
use std::fmt::Write as _;

const STYLE: &str = include_str!("style.css");

/// The page.
#[must_use]
pub fn html(b: &Leaderboard) -> String {
    let mut h = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">\
         <title>Leaderboard · {0}</title>\n<style>\n{STYLE}</style></head>\n<body><main>\n<header><h1>Leaderboard</h1>\
         <p class=\"soft\">{0} · {1} edits, {2} rated by people · {3} · {4} {5}</p></header>\n",
        escape(&b.corpus),
        b.edits,
        b.rated,
        b.created_utc.format("%Y-%m-%d %H:%M UTC"),
        escape(&b.tool.name),
        escape(&b.tool.version)
    );
    if b.overall.is_empty() {
        h.push_str("<section><h2>No edits yet</h2><p>Record them with <code>redline edit</code>, or take in agents’ by <code>redline import harness</code>.</p></section>\n");
    } else {
        table(&mut h, "All edits", None, &b.overall);
        for p in plots(b) {
            let _ = writeln!(
                h,
                "<section><h2>{}</h2><p class=\"soft\">{}</p><div class=\"scroll\">{}</div></section>",
                p.title,
                caption(p.name),
                p.svg
            );
        }
        table(&mut h, "By modality", Some(("Modality", &|r| r.modality.map(|m| m.to_string()))), &b.by_modality);
        table(&mut h, "By difficulty", Some(("Difficulty", &|r| r.difficulty.map(|d| d.to_string()))), &b.by_difficulty);
        h.push_str(NOTES);
    }
    h.push_str("</main></body></html>\n");
    h
}

fn caption(plot: &str) -> &'static str {
    match plot {
        "score_by_modality" | "score_by_difficulty" => {
            "Mean of the edits’ medians, from 0 to 1; the line reaches from the lowest to the highest edit. Below: edits."
        }
        _ => "Mean of the edits’ medians, from 0 to 1; n: rated edits.",
    }
}

const NOTES: &str = "<section><h2>How to read it</h2><dl class=\"notes\">\
<dt>Scores</dt><dd>People rate from 1 to 7; an edit has the median of its ratings; shown as (score − 1) / 6, mean and median over edits.</dd>\
<dt>Accepted</dt><dd>Rated edits whose medians are at least 5 on both scores, with Wilson’s 95 % interval.</dd>\
<dt>No result</dt><dd>Edits that ended without a model. They can’t be rated and are in no other figure but time, tokens and cost.</dd>\
<dt>Valid, IoU, Chamfer</dt><dd>Measured by a CAD kernel; IoU and Chamfer distance against the requestor’s own edit.</dd>\
<dt>Time, tokens, cost</dt><dd>Median, median and mean; people have no tokens and no cost.</dd>\
<dt>n, –</dt><dd>Edits that a figure rests on; it can’t be computed.</dd></dl></section>\n";

type GroupOf<'a> = (&'a str, &'a dyn Fn(&Row) -> Option<String>);

fn table(h: &mut String, title: &str, group: Option<GroupOf<'_>>, rows: &[Row]) {
    let _ = write!(h, "<section><h2>{title}</h2><div class=\"scroll\"><table><thead><tr>");
    if let Some((name, _)) = group {
        let _ = write!(h, "<th>{name}</th>");
    }
    for name in ["Maker", "Edits", "Instruction following", "Quality", "Accepted", "Valid", "IoU", "Chamfer", "Time", "Tokens", "Cost"] {
        let _ = write!(h, "<th>{name}</th>");
    }
    h.push_str("</tr></thead><tbody>\n");
    let mut before = None;
    for r in rows {
        let name = group.and_then(|(_, of)| of(r));
        let first = name.is_some() && name != before;
        let _ = write!(h, "<tr{}>", if first && before.is_some() { " class=\"first\"" } else { "" });
        if let Some(n) = &name {
            let _ = write!(h, "<td>{}</td>", if first { escape(n) } else { String::new() });
        }
        before = name;
        let _ = write!(h, "<th scope=\"row\">{}</th><td>{}<small>{} rated", escape(&r.maker.to_string()), r.edits, r.rated);
        if r.without_result > 0 {
            let _ = write!(h, "<br>{} no result", r.without_result);
        }
        h.push_str("</small></td>");
        score(h, r.instruction_following);
        score(h, r.quality);
        accepted(h, r.acceptance);
        match r.valid {
            Some(s) => {
                let _ = write!(h, "<td>{:.0}&nbsp;%<small>{} of {}</small></td>", s.share * 100.0, s.k, s.n);
            }
            None => h.push_str("<td>–</td>"),
        }
        figure(h, r.iou, |v| format!("{v:.2}"));
        figure(h, r.chamfer_mm, |v| format!("{v:.2}&nbsp;mm"));
        figure(h, r.seconds, |v| duration(v).replace(' ', "&nbsp;"));
        figure(h, r.tokens, grouped);
        figure(h, r.cost_usd, dollars);
        h.push_str("</tr>\n");
    }
    h.push_str("</tbody></table></div></section>\n");
}

fn score(h: &mut String, s: Option<ScoreFigure>) {
    let _ = match s {
        Some(s) => write!(h, "<td>{:.2}<small>median {:.2}<br>n {}</small></td>", s.mean, s.median, s.n),
        None => write!(h, "<td>–</td>"),
    };
}

fn accepted(h: &mut String, s: Option<Share>) {
    let Some(s) = s else {
        h.push_str("<td>–</td>");
        return;
    };
    let (low, high) = (s.low * 100.0, s.high * 100.0);
    let _ = write!(
        h,
        "<td class=\"accepted\">{:.0}&nbsp;%<small>{} of {}, {low:.0} to {high:.0}&nbsp;%</small>\
         <span class=\"interval\" aria-hidden=\"true\"><i style=\"left:{low:.1}%;width:{:.1}%\"></i><b style=\"left:{:.1}%\"></b></span></td>",
        s.share * 100.0,
        s.k,
        s.n,
        high - low,
        s.share * 100.0
    );
}

fn figure(h: &mut String, f: Option<Figure>, told: impl Fn(f64) -> String) {
    let _ = match f {
        Some(f) => write!(h, "<td>{}<small>n {}</small></td>", told(f.value), f.n),
        None => write!(h, "<td>–</td>"),
    };
}

#[cfg(test)]
mod tests {
    use super::super::tests::{program, sample};
    use super::*;

    #[test]
    fn the_page_has_every_figure_with_its_n_and_needs_nothing_else() {
        let mut edits = sample();
        edits[7].maker = program("<img src=x onerror=alert(1)>");
        let page = html(&Leaderboard::of_edits("c & d".into(), &edits));
        assert!(page.contains("8 edits, 6 rated by people") && page.contains("c &amp; d"));
        assert!(page.contains("<td>0.54<small>median 0.54<br>n 2</small></td>"), "{page}");
        assert!(page.contains("50&nbsp;%<small>1 of 2, 9 to 91&nbsp;%</small>"), "{page}");
        assert!(page.contains("<td>3<small>2 rated<br>1 no result</small></td>"));
        assert!(page.contains("<td>$0.35<small>n 3</small></td>") && page.contains("1.00&nbsp;mm<small>n 2"));
        assert!(page.contains("<td>–</td>") && !page.contains("NaN") && !page.contains("inf"));
        assert!(!page.contains("<img") && !page.contains("<script"), "a model's name is text");
        let elsewhere = page.replace("http://www.w3.org/2000/svg", "");
        assert!(!elsewhere.contains("http://") && !elsewhere.contains("https://"));
        assert_eq!(page.matches("<svg").count(), 4);
        assert!(html(&Leaderboard::of_edits("c".into(), &[])).contains("No edits yet"));
    }
}
