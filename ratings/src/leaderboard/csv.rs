//! The leaderboard for spreadsheets and scripts: a row a maker, and one for each modality and difficulty.

use super::{Figure, Leaderboard, Row, ScoreFigure, Share, cells};
use crate::Maker;

const HEAD: &str = "modality,difficulty,kind,maker,edits,without_result,rated,ratings,\
    instruction_following_mean,instruction_following_median,instruction_following_n,quality_mean,quality_median,quality_n,\
    accepted,accepted_of,acceptance,acceptance_low,acceptance_high,valid,valid_of,validity,\
    iou_mean,iou_n,chamfer_mm_mean,chamfer_mm_n,seconds_median,seconds_n,tokens_median,tokens_n,cost_usd_mean,cost_usd_n";

/// The file's text. An empty modality or difficulty means any; another empty cell, that there is no such figure.
#[must_use]
pub fn csv(b: &Leaderboard) -> String {
    let mut out = format!("{HEAD}\n");
    for r in b.overall.iter().chain(&b.by_modality).chain(&b.by_difficulty) {
        out += &line(r);
        out.push('\n');
    }
    out
}

fn line(r: &Row) -> String {
    let kind = match r.maker {
        Maker::Requestor => "requestor",
        Maker::Editor => "editor",
        Maker::Program(_) => "program",
    };
    let mut c = vec![
        r.modality.map(|m| m.to_string()).unwrap_or_default(),
        r.difficulty.map(|d| d.to_string()).unwrap_or_default(),
        kind.to_owned(),
        cells::cell(&r.maker.to_string()),
    ];
    c.extend([r.edits, r.without_result, r.rated, r.ratings].map(|n| n.to_string()));
    for s in [r.instruction_following, r.quality] {
        let of = |value: fn(ScoreFigure) -> f64| s.map(|s| value(s).to_string()).unwrap_or_default();
        c.extend([of(|s| s.mean), of(|s| s.median), s.map_or(0, |s| s.n).to_string()]);
    }
    let share = |s: Option<Share>| [s.map_or_else(String::new, |s| s.k.to_string()), s.map_or(0, |s| s.n).to_string()];
    let part = |s: Option<Share>, value: fn(Share) -> f64| s.map(|s| value(s).to_string()).unwrap_or_default();
    c.extend(share(r.acceptance));
    c.extend([part(r.acceptance, |s| s.share), part(r.acceptance, |s| s.low), part(r.acceptance, |s| s.high)]);
    c.extend(share(r.valid));
    c.push(part(r.valid, |s| s.share));
    let figure = |f: Option<Figure>| [f.map(|f| f.value.to_string()).unwrap_or_default(), f.map_or(0, |f| f.n).to_string()];
    for f in [r.iou, r.chamfer_mm, r.seconds, r.tokens, r.cost_usd] {
        c.extend(figure(f));
    }
    c.join(",")
}

#[cfg(test)]
mod tests {
    use super::super::tests::{program, sample};
    use super::*;

    #[test]
    fn a_row_a_maker_and_cell_with_empty_figures() {
        let mut all = sample();
        all[7].maker = program("=cmd, \"x\"");
        let text = csv(&Leaderboard::of_edits("c".into(), &all));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 1 + 5 + 7 + 7, "{text}");
        let columns = lines[0].split(',').count();
        assert!(lines.iter().filter(|l| !l.contains("cmd")).all(|l| l.split(',').count() == columns), "{text}");
        assert!(lines[1].starts_with(",,requestor,requestor,1,0,1,3,1,1,1,1,1,1,1,1,1,0.20"), "{}", lines[1]);
        assert!(lines[5].starts_with(",,program,\"'=cmd, \"\"x\"\"\",1,0,0,0,,,0,,,0,,0,,,,,0,,,0,"), "{}", lines[5]);
        assert!(text.contains("text,,program,worse,") && text.contains(",hard,program,better,"));
    }
}
