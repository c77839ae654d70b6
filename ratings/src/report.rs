//! Figures over groups of edits.

use crate::icc::{Icc, one_way, two_way};
use crate::spearman::{Spearman, spearman};
use crate::{Maker, Rated, Score, normalised};
use redline_schemas::{Difficulty, Modality, ParticipantId};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// All figures.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// Edits that may be rated.
    pub edits: usize,
    /// Edits with a rating by a person.
    pub rated: usize,
    /// Ratings by people.
    pub ratings: usize,
    /// The whole first; then each modality, difficulty, both together, and maker.
    pub groups: Vec<Group>,
}

/// Edits with something in common.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Group {
    /// Only this modality; absent: any.
    pub modality: Option<Modality>,
    /// Only this difficulty; absent: any.
    pub difficulty: Option<Difficulty>,
    /// Only of this maker; absent: any.
    pub maker: Option<Maker>,
    /// Edits with a rating by a person.
    pub n: usize,
    /// Ratings by people.
    pub ratings: usize,
    /// Share of the `n` edits whose medians are at least 5 on both scores.
    pub acceptance: Option<f64>,
    /// Instruction following, then quality.
    pub scores: Vec<ScoreFigures>,
}

/// One score in a group.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ScoreFigures {
    /// Which.
    pub score: Score,
    /// Edits.
    pub n: usize,
    /// Mean of the edits' medians, 1 to 7.
    pub mean: Option<f64>,
    /// The same on the scale 0 to 1.
    pub normalised: Option<f64>,
    /// How far raters agree.
    pub agreement: Agreement,
    /// Every two raters with three or more edits in common.
    pub raters: Vec<PairOfRaters>,
    /// The medians against each automatic metric.
    pub metrics: Vec<Correlation>,
}

/// Agreement of raters.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Agreement {
    /// ICC(2,k) over the largest set of edits that the same raters all rated.
    pub icc2: Option<Icc>,
    /// Those raters.
    pub raters: Vec<ParticipantId>,
    /// Edits of the group that are not among them.
    pub left_out: usize,
    /// ICC(1,k) over the edits that have the commonest number of raters, whoever they are.
    pub icc1: Option<Icc>,
    /// Mean of Spearman's ρ over all pairs of raters in `raters` of the score.
    pub mean_rho: Option<f64>,
}

/// Two raters.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PairOfRaters {
    /// One.
    pub a: ParticipantId,
    /// The other.
    pub b: ParticipantId,
    /// Over the edits that both rated.
    #[serde(flatten)]
    pub correlation: Spearman,
}

/// A metric against people's medians.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Correlation {
    /// The metric's name.
    pub metric: String,
    /// Edits that have both; the correlation itself is absent for fewer than three.
    pub n: usize,
    /// Over these.
    pub correlation: Option<Spearman>,
}

impl Report {
    /// All figures of these edits.
    #[must_use]
    pub fn of(all: &[Rated]) -> Self {
        let rated: Vec<&Rated> = all.iter().filter(|r| !r.ratings.is_empty()).collect();
        let mut groups = vec![group(&rated, None, None, None)];
        let used = |g: &Group| g.n > 0;
        groups.extend(Modality::ALL.iter().map(|m| group(&rated, Some(*m), None, None)).filter(used));
        groups.extend(Difficulty::ALL.iter().map(|d| group(&rated, None, Some(*d), None)).filter(used));
        let cells = Modality::ALL.iter().flat_map(|m| Difficulty::ALL.iter().map(move |d| (*m, *d)));
        groups.extend(cells.map(|(m, d)| group(&rated, Some(m), Some(d), None)).filter(used));
        let makers: BTreeSet<&Maker> = rated.iter().map(|r| &r.maker).collect();
        groups.extend(makers.into_iter().map(|m| group(&rated, None, None, Some(m.clone()))));
        Self { edits: all.len(), rated: rated.len(), ratings: rated.iter().map(|r| r.ratings.len()).sum(), groups }
    }
}

fn group(rated: &[&Rated], modality: Option<Modality>, difficulty: Option<Difficulty>, maker: Option<Maker>) -> Group {
    let mine = |r: &&&Rated| {
        modality.is_none_or(|m| m == r.modality)
            && difficulty.is_none_or(|d| d == r.difficulty)
            && maker.as_ref().is_none_or(|m| *m == r.maker)
    };
    let edits: Vec<&Rated> = rated.iter().filter(mine).copied().collect();
    let accepted = edits.iter().filter(|e| e.accepted() == Some(true)).count();
    Group {
        n: edits.len(),
        ratings: edits.iter().map(|e| e.ratings.len()).sum(),
        acceptance: (!edits.is_empty()).then(|| accepted as f64 / edits.len() as f64),
        scores: Score::ALL.iter().map(|s| figures(&edits, *s)).collect(),
        modality,
        difficulty,
        maker,
    }
}

fn figures(edits: &[&Rated], score: Score) -> ScoreFigures {
    let medians: Vec<f64> = edits.iter().filter_map(|e| e.median(score)).collect();
    let mean = (!medians.is_empty()).then(|| medians.iter().sum::<f64>() / medians.len() as f64);
    let raters = pairs_of_raters(edits, score);
    let mean_rho = (!raters.is_empty()).then(|| raters.iter().map(|p| p.correlation.rho).sum::<f64>() / raters.len() as f64);
    let names: BTreeSet<&String> = edits.iter().flat_map(|e| e.metrics.keys()).collect();
    let metrics = names
        .into_iter()
        .map(|name| {
            let both: Vec<(f64, f64)> = edits.iter().filter_map(|e| Some((*e.metrics.get(name)?, e.median(score)?))).collect();
            Correlation { metric: name.clone(), n: both.len(), correlation: spearman(&both) }
        })
        .collect();
    ScoreFigures {
        score,
        n: medians.len(),
        mean,
        normalised: mean.map(normalised),
        agreement: agreement(edits, score, mean_rho),
        raters,
        metrics,
    }
}

fn pairs_of_raters(edits: &[&Rated], score: Score) -> Vec<PairOfRaters> {
    let mut pairs: BTreeMap<(&ParticipantId, &ParticipantId), Vec<(f64, f64)>> = BTreeMap::new();
    for e in edits {
        for a in &e.ratings {
            for b in e.ratings.iter().filter(|b| a.rater < b.rater) {
                pairs.entry((&a.rater, &b.rater)).or_default().push((score.of(a), score.of(b)));
            }
        }
    }
    let with = |((a, b), both): ((&ParticipantId, &ParticipantId), Vec<_>)| {
        Some(PairOfRaters { a: a.clone(), b: b.clone(), correlation: spearman(&both)? })
    };
    pairs.into_iter().filter_map(with).collect()
}

fn agreement(edits: &[&Rated], score: Score, mean_rho: Option<f64>) -> Agreement {
    let sets: Vec<BTreeSet<&ParticipantId>> = edits.iter().map(|e| e.ratings.iter().map(|r| &r.rater).collect()).collect();
    // Candidates: the raters of one edit, or those that two edits have in common.
    let mut candidates: BTreeSet<BTreeSet<&ParticipantId>> = sets.iter().cloned().collect();
    let distinct: Vec<_> = candidates.iter().cloned().collect();
    for (i, a) in distinct.iter().enumerate() {
        candidates.extend(distinct[..i].iter().map(|b| a.intersection(b).copied().collect()));
    }
    let covers = |raters: &BTreeSet<_>| sets.iter().filter(|s| s.is_superset(raters)).count();
    let usable = candidates.into_iter().map(|c| (covers(&c), c)).filter(|(n, c)| *n >= 2 && c.len() >= 2);
    let best = usable.max_by_key(|(n, c)| (n * c.len(), *n));
    let (mut icc2, mut raters, mut left_out) = (None, Vec::new(), edits.len());
    if let Some((n, block)) = best {
        let row = |e: &&&Rated| -> Option<Vec<f64>> {
            block.iter().map(|p| e.ratings.iter().find(|r| r.rater == **p).map(|r| score.of(r))).collect()
        };
        let table: Vec<Vec<f64>> = edits.iter().filter_map(|e| row(&e)).collect();
        icc2 = two_way(&table);
        left_out = edits.len() - n;
        raters = block.into_iter().cloned().collect();
    }
    let mut sizes: BTreeMap<usize, usize> = BTreeMap::new();
    edits.iter().for_each(|e| *sizes.entry(e.ratings.len()).or_default() += 1);
    let common = sizes.into_iter().filter(|(k, _)| *k >= 2).max_by_key(|(k, n)| (k * n, *n)).map(|(k, _)| k);
    let same: Vec<Vec<f64>> =
        edits.iter().filter(|e| Some(e.ratings.len()) == common).map(|e| e.ratings.iter().map(|r| score.of(r)).collect()).collect();
    Agreement { icc2, raters, left_out, icc1: one_way(&same), mean_rho }
}

#[cfg(test)]
mod tests {
    use super::*;
    use redline_schemas::Rating;

    fn edit(id: &str, modality: Modality, scores: &[(&str, u8, u8)], iou: f64) -> Rated {
        let rating = |(rater, i, q): &(&str, u8, u8)| Rating {
            rater: ParticipantId::new(*rater).unwrap(),
            instruction_following: *i,
            quality: *q,
            comment: None,
            rated_utc: None,
        };
        let ratings = scores.iter().map(rating).collect();
        let metrics = BTreeMap::from([("iou".to_owned(), iou)]);
        Rated { ratings, metrics, ..crate::leaderboard::tests::edit(id, Maker::Editor, modality, Difficulty::Easy, &[]) }
    }

    #[test]
    fn groups_hold_medians_acceptance_and_their_n() {
        let all = [
            edit("a", Modality::Text, &[("R1", 5, 5), ("R2", 6, 5), ("R3", 7, 7)], 0.9),
            edit("b", Modality::Text, &[("R1", 5, 4), ("R2", 6, 4), ("R3", 7, 7)], 0.8),
            edit("c", Modality::DrawTemp, &[("R1", 1, 1), ("R2", 2, 1), ("R3", 2, 2)], 0.1),
            edit("d", Modality::DrawTemp, &[], 0.5),
        ];
        let r = Report::of(&all);
        assert_eq!((r.edits, r.rated, r.ratings), (4, 3, 9));
        let whole = &r.groups[0];
        assert_eq!((whole.n, whole.acceptance), (3, Some(1.0 / 3.0)));
        assert_eq!(whole.scores[0].mean, Some((6.0 + 6.0 + 2.0) / 3.0));
        assert_eq!(whole.scores[1].mean, Some((5.0 + 4.0 + 1.0) / 3.0));
        assert_eq!(whole.scores[1].metrics[0].correlation.unwrap().rho, 1.0);
        let agreement = &whole.scores[0].agreement;
        assert_eq!((agreement.icc2.unwrap().k, agreement.icc2.unwrap().n, agreement.left_out), (3, 3, 0));
        let text = r.groups.iter().find(|g| g.modality == Some(Modality::Text) && g.difficulty.is_none()).unwrap();
        assert_eq!((text.n, text.acceptance), (2, Some(0.5)));
        assert_eq!(text.scores[0].metrics[0].n, 2);
        assert!(text.scores[0].metrics[0].correlation.is_none(), "two pairs are too few");
        assert!(!r.groups.iter().any(|g| g.n == 0));
    }

    #[test]
    fn agreement_is_over_the_largest_full_block() {
        let all = [
            edit("a", Modality::Text, &[("R1", 1, 1), ("R2", 2, 2), ("R3", 1, 1)], 0.0),
            edit("b", Modality::Text, &[("R1", 4, 4), ("R2", 5, 5)], 0.0),
            edit("c", Modality::Text, &[("R1", 7, 7), ("R2", 6, 6), ("R4", 7, 7)], 0.0),
            edit("d", Modality::Text, &[("R3", 7, 7), ("R4", 1, 1)], 0.0),
        ];
        let refs: Vec<&Rated> = all.iter().collect();
        let a = agreement(&refs, Score::Quality, None);
        assert_eq!(a.raters.iter().map(ParticipantId::as_str).collect::<Vec<_>>(), ["R1", "R2"]);
        assert_eq!((a.icc2.unwrap().n, a.left_out), (3, 1));
        assert_eq!(agreement(&[], Score::Quality, None).icc2, None);
    }
}
