//! Values in groups, and what is said of a group.

use redline_schemas::{Difficulty, Modality};
use serde::Serialize;
use std::collections::BTreeMap;

/// What is said of a set of values.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Summary {
    /// Values.
    pub n: u64,
    /// Arithmetic mean.
    pub mean: f64,
    /// Standard deviation of the sample (divided by n − 1); 0 for one value.
    pub sd: f64,
    /// Smallest.
    pub min: f64,
    /// First quartile, interpolated between neighbours.
    pub q1: f64,
    /// Median.
    pub median: f64,
    /// Third quartile.
    pub q3: f64,
    /// Largest.
    pub max: f64,
}

impl Summary {
    /// `None` without values. Values that are no numbers are left out.
    #[must_use]
    pub fn of(mut values: Vec<f64>) -> Option<Self> {
        values.retain(|v| v.is_finite());
        values.sort_by(f64::total_cmp);
        let (min, max) = (*values.first()?, *values.last()?);
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let squares: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
        let sd = if values.len() > 1 { (squares / (n - 1.0)).sqrt() } else { 0.0 };
        let quantile = |q: f64| {
            let at = q * (n - 1.0);
            let low = values[at.floor() as usize];
            low + (values[at.ceil() as usize] - low) * at.fract()
        };
        Some(Self { n: values.len() as u64, mean, sd, min, q1: quantile(0.25), median: quantile(0.5), q3: quantile(0.75), max })
    }
}

/// Something measured, in groups.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Measure {
    /// Its name in JSON.
    pub name: &'static str,
    /// What it is, for people.
    pub title: &'static str,
    /// Its unit.
    pub unit: &'static str,
    /// All values, then by modality, by difficulty, and by both.
    pub groups: Vec<Group>,
}

/// The values of one group.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Group {
    /// Absent: any.
    pub modality: Option<Modality>,
    /// Absent: any.
    pub difficulty: Option<Difficulty>,
    /// What is said of them.
    #[serde(flatten)]
    pub summary: Summary,
}

/// Name, title and unit of what is measured.
const MEASURES: [(&str, &str, &str); 5] = [
    ("words_per_request", "Words in a request", "words"),
    ("request_seconds", "Time to produce a request", "s"),
    ("edit_seconds", "Duration of an edit", "s"),
    ("events_per_edit", "Events in an edit", "events"),
    ("commands_per_edit", "CAD commands in an edit", "events"),
];

/// Collects values.
#[derive(Default)]
pub(super) struct Values(BTreeMap<&'static str, Vec<(Modality, Difficulty, f64)>>);

impl Values {
    pub(super) fn put(&mut self, measure: &'static str, m: Modality, d: Difficulty, value: f64) {
        self.0.entry(measure).or_default().push((m, d, value));
    }

    pub(super) fn measures(&self) -> Vec<Measure> {
        MEASURES.iter().map(|&(name, title, unit)| Measure { name, title, unit, groups: self.groups(name) }).collect()
    }

    fn groups(&self, name: &str) -> Vec<Group> {
        let Some(values) = self.0.get(name) else { return Vec::new() };
        let group = |modality: Option<Modality>, difficulty: Option<Difficulty>| {
            let fits = |m: Modality, d: Difficulty| modality.is_none_or(|x| x == m) && difficulty.is_none_or(|x| x == d);
            let summary = Summary::of(values.iter().filter(|v| fits(v.0, v.1)).map(|v| v.2).collect())?;
            Some(Group { modality, difficulty, summary })
        };
        let modalities = || Modality::ALL.iter().copied();
        let difficulties = || Difficulty::ALL.iter().copied();
        std::iter::once(group(None, None))
            .chain(modalities().map(|m| group(Some(m), None)))
            .chain(difficulties().map(|d| group(None, Some(d))))
            .chain(modalities().flat_map(|m| difficulties().map(move |d| (m, d))).map(|(m, d)| group(Some(m), Some(d))))
            .flatten()
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_is_that_of_the_textbook() {
        let s = Summary::of(vec![4.0, 1.0, 3.0, 2.0, f64::NAN]).unwrap();
        assert_eq!((s.n, s.mean, s.min, s.q1, s.median, s.q3, s.max), (4, 2.5, 1.0, 1.75, 2.5, 3.25, 4.0));
        assert!((s.sd - (5.0_f64 / 3.0).sqrt()).abs() < 1e-12);
        assert_eq!(Summary::of(vec![7.0]).unwrap().sd, 0.0);
        assert!(Summary::of(vec![]).is_none());
    }

    #[test]
    fn groups_cover_any_each_and_both() {
        let mut v = Values::default();
        v.put("edit_seconds", Modality::Text, Difficulty::Easy, 1.0);
        v.put("edit_seconds", Modality::Text, Difficulty::Hard, 3.0);
        let all = v.measures();
        let edits = all.iter().find(|m| m.name == "edit_seconds").unwrap();
        let seen: Vec<_> = edits.groups.iter().map(|g| (g.modality, g.difficulty, g.summary.n)).collect();
        let (t, e, h) = (Some(Modality::Text), Some(Difficulty::Easy), Some(Difficulty::Hard));
        assert_eq!(seen, [(None, None, 2), (t, None, 2), (None, e, 1), (None, h, 1), (t, e, 1), (t, h, 1)]);
        assert!(all.iter().filter(|m| m.name != "edit_seconds").all(|m| m.groups.is_empty()));
    }
}
