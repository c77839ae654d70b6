//! Who makes how good edits, how fast and at what cost: people and programs in the same table.

mod axis;
mod csv;
mod page;
mod plot;
mod svg;

pub use csv::csv;
pub use page::html;
pub use plot::{Plot, plots};

use crate::csv as cells;
use crate::{Maker, Rated, Score, median, normalised};
use redline_schemas::{Corpus, Difficulty, Modality, Tool, Utc};
use serde::Serialize;
use std::collections::BTreeSet;

/// The leaderboard of a corpus.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Leaderboard {
    /// The corpus's name.
    pub corpus: String,
    /// When it was made.
    pub created_utc: Utc,
    /// Finished edits of finished requests.
    pub edits: usize,
    /// Those with a rating by a person.
    pub rated: usize,
    /// A row a maker: people first, then models, the best first.
    pub overall: Vec<Row>,
    /// The same makers in each modality in which they have an edit.
    pub by_modality: Vec<Row>,
    /// The same makers at each difficulty at which they have an edit.
    pub by_difficulty: Vec<Row>,
    /// Who wrote this.
    pub tool: Tool,
}

/// A maker's figures over some edits. A figure that can't be computed is absent.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// Who made the edits.
    pub maker: Maker,
    /// Only this modality; absent: any.
    pub modality: Option<Modality>,
    /// Only this difficulty; absent: any.
    pub difficulty: Option<Difficulty>,
    /// Edits.
    pub edits: usize,
    /// Those that ended without a model; they can't be rated.
    pub without_result: usize,
    /// Those with a rating by a person.
    pub rated: usize,
    /// Ratings by people.
    pub ratings: usize,
    /// Over the rated edits.
    pub instruction_following: Option<ScoreFigure>,
    /// Over the rated edits.
    pub quality: Option<ScoreFigure>,
    /// Rated edits whose medians are at least 5 on both scores.
    pub acceptance: Option<Share>,
    /// Measured edits that are valid solids.
    pub valid: Option<Share>,
    /// Mean overlap with the requestor's edit.
    pub iou: Option<Figure>,
    /// Mean distance from the requestor's edit, millimetres.
    pub chamfer_mm: Option<Figure>,
    /// Median time.
    pub seconds: Option<Figure>,
    /// Median tokens.
    pub tokens: Option<Figure>,
    /// Mean cost, US dollars.
    pub cost_usd: Option<Figure>,
}

/// Edits' medians of a score, 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ScoreFigure {
    /// Edits.
    pub n: usize,
    /// Their mean.
    pub mean: f64,
    /// Their median.
    pub median: f64,
    /// The lowest.
    pub lowest: f64,
    /// The highest.
    pub highest: f64,
}

/// A share with its interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Share {
    /// How many.
    pub k: usize,
    /// Of how many.
    pub n: usize,
    /// `k / n`.
    pub share: f64,
    /// Lower end of Wilson's 95 % interval.
    pub low: f64,
    /// Upper end of Wilson's 95 % interval.
    pub high: f64,
}

/// A value and the number of edits that it rests on.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Figure {
    /// Edits.
    pub n: usize,
    /// The value.
    pub value: f64,
}

impl Share {
    /// With Wilson's score interval (Wilson 1927); `None` of nothing.
    #[must_use]
    pub fn of(k: usize, n: usize) -> Option<Self> {
        const Z: f64 = 1.959_963_984_540_054;
        if n == 0 || k > n {
            return None;
        }
        let (size, p) = (n as f64, k as f64 / n as f64);
        let denominator = 1.0 + Z * Z / size;
        let middle = (p + Z * Z / (2.0 * size)) / denominator;
        let half = Z / denominator * (p * (1.0 - p) / size + Z * Z / (4.0 * size * size)).sqrt();
        Some(Self { k, n, share: p, low: (middle - half).max(0.0), high: (middle + half).min(1.0) })
    }
}

impl Figure {
    fn mean(values: &[f64]) -> Option<Self> {
        (!values.is_empty()).then(|| Self { n: values.len(), value: values.iter().sum::<f64>() / values.len() as f64 })
    }

    fn median(values: &[f64]) -> Option<Self> {
        Some(Self { n: values.len(), value: median(values.iter().copied())? })
    }
}

impl ScoreFigure {
    fn of(edits: &[&Rated], score: Score) -> Option<Self> {
        let v: Vec<f64> = edits.iter().filter_map(|e| e.median(score)).map(normalised).collect();
        Some(Self {
            n: v.len(),
            mean: Figure::mean(&v)?.value,
            median: median(v.iter().copied())?,
            lowest: v.iter().copied().fold(f64::INFINITY, f64::min),
            highest: v.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        })
    }
}

impl Row {
    /// One of the two scores.
    #[must_use]
    pub fn score(&self, score: Score) -> Option<ScoreFigure> {
        match score {
            Score::InstructionFollowing => self.instruction_following,
            Score::Quality => self.quality,
        }
    }

    fn of(all: &[Rated], maker: &Maker, modality: Option<Modality>, difficulty: Option<Difficulty>) -> Option<Self> {
        let mine =
            |e: &&Rated| e.maker == *maker && modality.is_none_or(|m| m == e.modality) && difficulty.is_none_or(|d| d == e.difficulty);
        let edits: Vec<&Rated> = all.iter().filter(mine).collect();
        if edits.is_empty() {
            return None;
        }
        let judged: Vec<bool> = edits.iter().filter_map(|e| e.accepted()).collect();
        let metric = |name: &str| -> Vec<f64> { edits.iter().filter_map(|e| e.metrics.get(name).copied()).collect() };
        let valid = metric("valid");
        let known = |value: fn(&Rated) -> Option<f64>| -> Vec<f64> { edits.iter().filter_map(|e| value(e)).collect() };
        Some(Self {
            maker: maker.clone(),
            modality,
            difficulty,
            edits: edits.len(),
            without_result: edits.iter().filter(|e| !e.has_result).count(),
            rated: edits.iter().filter(|e| !e.ratings.is_empty()).count(),
            ratings: edits.iter().map(|e| e.ratings.len()).sum(),
            instruction_following: ScoreFigure::of(&edits, Score::InstructionFollowing),
            quality: ScoreFigure::of(&edits, Score::Quality),
            acceptance: Share::of(judged.iter().filter(|a| **a).count(), judged.len()),
            valid: Share::of(valid.iter().filter(|v| **v > 0.5).count(), valid.len()),
            iou: Figure::mean(&metric("iou")),
            chamfer_mm: Figure::mean(&metric("chamfer_mm")),
            seconds: Figure::median(&known(|e| e.seconds)),
            tokens: Figure::median(&known(|e| e.tokens.map(|t| t as f64))),
            cost_usd: Figure::mean(&known(|e| e.cost_usd)),
        })
    }

    /// Whether people made it.
    fn by_people(&self) -> bool {
        !matches!(self.maker, Maker::Program(_))
    }
}

impl Leaderboard {
    /// Of a corpus as it is now.
    pub fn of(corpus: &Corpus) -> crate::Result<Self> {
        Ok(Self::of_edits(corpus.manifest()?.name, &crate::gather(corpus)?))
    }

    /// Of given edits.
    #[must_use]
    pub fn of_edits(corpus: String, all: &[Rated]) -> Self {
        let makers: BTreeSet<&Maker> = all.iter().map(|e| &e.maker).collect();
        let mut overall: Vec<Row> = makers.into_iter().filter_map(|m| Row::of(all, m, None, None)).collect();
        let sum = |r: &Row| r.instruction_following.zip(r.quality).map_or(-1.0, |(i, q)| i.mean + q.mean);
        // People are what models are measured against; they keep their place.
        overall.sort_by(|a, b| match (a.by_people(), b.by_people()) {
            (false, false) => sum(b).total_cmp(&sum(a)).then_with(|| a.maker.cmp(&b.maker)),
            (a_people, b_people) => b_people.cmp(&a_people).then_with(|| a.maker.cmp(&b.maker)),
        });
        let makers: Vec<&Maker> = overall.iter().map(|r| &r.maker).collect();
        let modality = |m: &Modality| makers.iter().filter_map(|k| Row::of(all, k, Some(*m), None)).collect::<Vec<_>>();
        let difficulty = |d: &Difficulty| makers.iter().filter_map(|k| Row::of(all, k, None, Some(*d))).collect::<Vec<_>>();
        Self {
            corpus,
            created_utc: chrono::Utc::now(),
            edits: all.len(),
            rated: all.iter().filter(|e| !e.ratings.is_empty()).count(),
            by_modality: Modality::ALL.iter().flat_map(modality).collect(),
            by_difficulty: Difficulty::ALL.iter().flat_map(difficulty).collect(),
            overall,
            tool: Tool::redline(),
        }
    }
}

/// Seconds for people.
#[must_use]
pub fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 10.0 => format!("{s:.1} s"),
        s if s < 120.0 => format!("{s:.0} s"),
        s if s < 7200.0 => format!("{:.1} min", s / 60.0),
        s => format!("{:.1} h", s / 3600.0),
    }
}

/// US dollars for people: cents, and of less than a cent two digits that say something.
#[must_use]
pub fn dollars(cost: f64) -> String {
    if cost == 0.0 || cost >= 0.01 {
        return format!("${cost:.2}");
    }
    let digits = (1.0 - cost.log10().floor()) as usize;
    format!("${cost:.digits$}")
}

/// A whole number in groups of three.
#[must_use]
pub fn grouped(n: f64) -> String {
    let digits = format!("{n:.0}");
    let mut out = String::new();
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i) % 3 == 0 {
            out.push('\u{202f}');
        }
        out.push(c);
    }
    out
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use redline_schemas::{EditId, ParticipantId, Rating, RequestId};
    use std::collections::BTreeMap;

    /// An edit with one rating for each pair of scores.
    pub(crate) fn edit(id: &str, maker: Maker, modality: Modality, difficulty: Difficulty, scores: &[(u8, u8)]) -> Rated {
        let rating = |(i, (instruction_following, quality)): (usize, &(u8, u8))| Rating {
            rater: ParticipantId::new(format!("R{i}")).unwrap(),
            instruction_following: *instruction_following,
            quality: *quality,
            comment: None,
            rated_utc: None,
        };
        Rated {
            edit: EditId::new(id).unwrap(),
            request: RequestId::new("r").unwrap(),
            modality,
            difficulty,
            maker,
            participant: ParticipantId::new("P01").unwrap(),
            has_result: true,
            seconds: Some(60.0),
            tokens: None,
            cost_usd: None,
            ratings: scores.iter().enumerate().map(rating).collect(),
            metrics: BTreeMap::new(),
        }
    }

    pub(crate) fn program(name: &str) -> Maker {
        Maker::Program(name.into())
    }

    pub(crate) fn sample() -> Vec<Rated> {
        use Difficulty::{Easy, Hard};
        use Modality::{DrawTemp, Text};
        let mut all = vec![
            edit("a", Maker::Requestor, Text, Easy, &[(7, 7), (6, 7), (7, 6)]),
            edit("b", Maker::Editor, Text, Easy, &[(6, 5), (6, 5)]),
            edit("c", Maker::Editor, DrawTemp, Hard, &[(4, 4)]),
            edit("d", program("worse"), Text, Easy, &[(2, 3)]),
            edit("e", program("better"), Text, Easy, &[(5, 5), (6, 6)]),
            edit("f", program("better"), DrawTemp, Hard, &[(3, 6)]),
            edit("g", program("better"), DrawTemp, Hard, &[]),
            edit("h", program("silent"), Text, Easy, &[]),
        ];
        for (i, seconds, tokens, cost) in [(3, 100.0, 1000, 0.5), (4, 10.0, 2000, 0.25), (5, 30.0, 8000, 0.75), (6, 20.0, 3000, 0.05)] {
            (all[i].seconds, all[i].tokens, all[i].cost_usd) = (Some(seconds), Some(tokens), Some(cost));
        }
        (all[6].has_result, all[7].seconds) = (false, None);
        for (i, valid, iou, chamfer) in [(3, 0.0, 0.2, 4.0), (4, 1.0, 0.9, 0.5), (5, 1.0, 0.7, 1.5)] {
            all[i].metrics = BTreeMap::from([("valid".into(), valid), ("iou".into(), iou), ("chamfer_mm".into(), chamfer)]);
        }
        all
    }

    #[test]
    fn rows_hold_what_was_counted_by_hand() {
        let board = Leaderboard::of_edits("c".into(), &sample());
        let makers: Vec<String> = board.overall.iter().map(|r| r.maker.to_string()).collect();
        assert_eq!(makers, ["requestor", "other people", "better", "worse", "silent"], "people, then models by score, unrated last");
        assert_eq!((board.edits, board.rated), (8, 6));
        let b = &board.overall[2];
        assert_eq!((b.edits, b.without_result, b.rated, b.ratings), (3, 1, 2, 3));
        // Medians 5.5 and 3 of instruction following: (0.75 + 1/3) / 2; of quality 5.5 and 6.
        let i = b.instruction_following.unwrap();
        assert!((i.mean - (0.75 + 1.0 / 3.0) / 2.0).abs() < 1e-12 && i.n == 2 && i.highest == 0.75, "{i:?}");
        assert!((b.quality.unwrap().median - (0.75 + 5.0 / 6.0) / 2.0).abs() < 1e-12);
        let a = b.acceptance.unwrap();
        assert_eq!((a.k, a.n, a.share), (1, 2, 0.5));
        assert_eq!((b.valid.unwrap().k, b.valid.unwrap().n), (2, 2));
        assert_eq!((b.iou.unwrap().value, b.chamfer_mm.unwrap().value, b.iou.unwrap().n), (0.8, 1.0, 2));
        assert_eq!((b.seconds.unwrap().value, b.tokens.unwrap().value), (20.0, 3000.0));
        assert!((b.cost_usd.unwrap().value - 0.35).abs() < 1e-12 && b.cost_usd.unwrap().n == 3);
        let silent = &board.overall[4];
        assert_eq!((silent.edits, silent.rated), (1, 0));
        assert!(silent.acceptance.is_none() && silent.quality.is_none() && silent.iou.is_none() && silent.seconds.is_none());
        assert!(board.overall[0].cost_usd.is_none() && board.overall[0].tokens.is_none());
    }

    #[test]
    fn breakdowns_have_the_makers_that_worked_there() {
        let board = Leaderboard::of_edits("c".into(), &sample());
        let drawn: Vec<(String, usize)> =
            board.by_modality.iter().filter(|r| r.modality == Some(Modality::DrawTemp)).map(|r| (r.maker.to_string(), r.edits)).collect();
        assert_eq!(drawn, [("other people".to_owned(), 1), ("better".to_owned(), 2)]);
        assert_eq!(board.by_modality.iter().map(|r| r.edits).sum::<usize>(), 8);
        assert_eq!(board.by_difficulty.iter().map(|r| r.edits).sum::<usize>(), 8);
        assert!(board.by_difficulty.iter().all(|r| r.modality.is_none() && r.difficulty != Some(Difficulty::Medium)));
        let nothing = Leaderboard::of_edits("c".into(), &[]);
        assert!(nothing.overall.is_empty() && nothing.by_modality.is_empty());
    }

    #[test]
    fn wilsons_interval_is_the_published_one() {
        // Newcombe (1998), Statistics in Medicine 17: 81 of 263, 15 of 148, 0 of 20, 1 of 29.
        for (k, n, low, high) in [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)] {
            let s = Share::of(k, n).unwrap();
            assert!((s.low - low).abs() < 5e-5 && (s.high - high).abs() < 5e-5, "{s:?}");
        }
        assert_eq!(Share::of(0, 0), None);
    }

    #[test]
    fn values_are_told_to_people() {
        assert_eq!([4.25, 83.0, 700.0, 9000.0].map(duration), ["4.2 s", "83 s", "11.7 min", "2.5 h"]);
        assert_eq!([0.0, 0.85504, 12.0, 0.0012].map(dollars), ["$0.00", "$0.86", "$12.00", "$0.0012"]);
        assert_eq!([7.0, 1234.0, 118_535.0].map(grouped), ["7", "1\u{202f}234", "118\u{202f}535"]);
    }
}
