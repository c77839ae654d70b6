//! Numbers over runs, which cannot be had without their n, their runs and their breakdown.

use super::Run;
use redline_schemas::{Dimension, RunId, TaskFamily, TaskId};
use serde::Serialize;
use std::collections::BTreeMap;

/// The fewest runs of a task whose median is reported.
pub const MIN_RUNS: usize = 3;

/// How a run came out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Every check held.
    Passed,
    /// One did not.
    Failed,
    /// Nobody looked.
    Unverified,
}

impl Outcome {
    /// The name used in reports and tables.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::Unverified => "unverified",
        }
    }
}

/// Something that is counted over runs.
pub trait Measure: Sized {
    /// Which of its kind, such as a dimension.
    type What: Copy;
    /// Whether a run has what is counted.
    fn counts(what: Self::What, run: &Run) -> bool;
    /// Over runs that all count.
    fn of(what: Self::What, runs: &[&Run]) -> Self;
}

/// A measure over some runs, with their number and names. It is made by an [`Aggregate`] alone.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Cell<M> {
    #[serde(flatten)]
    measure: M,
    n: usize,
    runs: Vec<RunId>,
}

impl<M: Measure> Cell<M> {
    fn over(what: M::What, runs: &[&Run]) -> Self {
        let counted: Vec<&Run> = runs.iter().copied().filter(|r| M::counts(what, r)).collect();
        let ids = counted.iter().map(|r| r.manifest.id.clone()).collect();
        Self { measure: M::of(what, &counted), n: counted.len(), runs: ids }
    }
}

impl<M> Cell<M> {
    /// The measure.
    pub fn measure(&self) -> &M {
        &self.measure
    }

    /// How many runs it is of.
    pub fn n(&self) -> usize {
        self.n
    }

    /// Which.
    pub fn runs(&self) -> &[RunId] {
        &self.runs
    }
}

/// A measure over all runs, and beside it over the runs of each family and each task.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Aggregate<M> {
    overall: Cell<M>,
    by_family: BTreeMap<TaskFamily, Cell<M>>,
    by_task: BTreeMap<TaskId, Cell<M>>,
}

impl<M: Measure> Aggregate<M> {
    /// The only way to one.
    #[must_use]
    pub fn over(what: M::What, runs: &[&Run]) -> Self {
        let (mut families, mut tasks) = (BTreeMap::<_, Vec<&Run>>::new(), BTreeMap::<_, Vec<&Run>>::new());
        for r in runs {
            families.entry(r.manifest.family).or_default().push(r);
            tasks.entry(r.manifest.task.clone()).or_default().push(r);
        }
        Self {
            overall: Cell::over(what, runs),
            by_family: families.into_iter().map(|(f, r)| (f, Cell::over(what, &r))).collect(),
            by_task: tasks.into_iter().map(|(t, r)| (t, Cell::over(what, &r))).collect(),
        }
    }
}

impl<M> Aggregate<M> {
    /// Over all runs.
    pub fn overall(&self) -> &Cell<M> {
        &self.overall
    }

    /// Over the runs of each family.
    pub fn by_family(&self) -> &BTreeMap<TaskFamily, Cell<M>> {
        &self.by_family
    }

    /// Over the runs of each task.
    pub fn by_task(&self) -> &BTreeMap<TaskId, Cell<M>> {
        &self.by_task
    }
}

/// How many runs passed their verification. Runs that nobody verified are counted, and did not pass.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PassRate {
    passed: Vec<RunId>,
    failed: Vec<RunId>,
    unverified: Vec<RunId>,
    /// Absent without runs.
    rate: Option<f64>,
    /// Wilson's 95 % interval.
    interval: Option<(f64, f64)>,
}

impl PassRate {
    /// Runs that passed.
    #[must_use]
    pub fn passed(&self) -> &[RunId] {
        &self.passed
    }

    /// Runs that failed.
    #[must_use]
    pub fn failed(&self) -> &[RunId] {
        &self.failed
    }

    /// Runs that nobody verified.
    #[must_use]
    pub fn unverified(&self) -> &[RunId] {
        &self.unverified
    }

    /// The share that passed.
    #[must_use]
    pub fn rate(&self) -> Option<f64> {
        self.rate
    }

    /// Wilson's 95 % interval of the share.
    #[must_use]
    pub fn interval(&self) -> Option<(f64, f64)> {
        self.interval
    }
}

impl Measure for PassRate {
    type What = ();

    fn counts((): (), _: &Run) -> bool {
        true
    }

    fn of((): (), runs: &[&Run]) -> Self {
        let with = |o| runs.iter().filter(|r| r.outcome() == o).map(|r| r.manifest.id.clone()).collect();
        let passed: Vec<RunId> = with(Outcome::Passed);
        let (k, n) = (passed.len(), runs.len());
        Self {
            passed,
            failed: with(Outcome::Failed),
            unverified: with(Outcome::Unverified),
            rate: (n > 0).then(|| k as f64 / n as f64),
            interval: (n > 0).then(|| wilson(k, n)),
        }
    }
}

/// Wilson's score interval, 95 % (Wilson 1927).
fn wilson(passed: usize, n: usize) -> (f64, f64) {
    const Z: f64 = 1.959_963_984_540_054;
    let (n, p) = (n as f64, passed as f64 / n as f64);
    let middle = (p + Z * Z / (2.0 * n)) / (1.0 + Z * Z / n);
    let half = Z / (1.0 + Z * Z / n) * (p * (1.0 - p) / n + Z * Z / (4.0 * n * n)).sqrt();
    ((middle - half).max(0.0), (middle + half).min(1.0))
}

/// A median that may be reported: of three runs or more.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize)]
#[serde(transparent)]
pub struct Median(f64);

impl Median {
    /// Of values in any order; `None` for fewer than [`MIN_RUNS`].
    #[must_use]
    pub fn of(values: &[u8]) -> Option<Self> {
        if values.len() < MIN_RUNS {
            return None;
        }
        let mut v = values.to_vec();
        v.sort_unstable();
        let at = |i: usize| v.get(i).copied().map_or(0.0, f64::from);
        let half = v.len() / 2;
        Some(Self(if v.len() % 2 == 1 { at(half) } else { (at(half - 1) + at(half)) / 2.0 }))
    }

    /// The number.
    #[must_use]
    pub fn value(self) -> f64 {
        self.0
    }
}

/// The median of a dimension's scores, where there are enough of them.
///
/// Over several tasks it is reportable when it is so for each of them: a number whose breakdown cannot be shown is not shown.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DimensionMedian {
    /// Absent: not reportable.
    median: Option<Median>,
    /// Tasks with too few scored runs.
    too_few: Vec<TaskId>,
}

impl DimensionMedian {
    /// `None`: not reportable.
    #[must_use]
    pub fn median(&self) -> Option<Median> {
        self.median
    }

    /// The tasks that have too few scored runs.
    #[must_use]
    pub fn too_few(&self) -> &[TaskId] {
        &self.too_few
    }
}

impl Measure for DimensionMedian {
    type What = Dimension;

    fn counts(_: Dimension, run: &Run) -> bool {
        run.first_scores().is_some()
    }

    fn of(d: Dimension, runs: &[&Run]) -> Self {
        let mut of_task: BTreeMap<&TaskId, usize> = BTreeMap::new();
        for r in runs {
            *of_task.entry(&r.manifest.task).or_default() += 1;
        }
        let too_few: Vec<TaskId> = of_task.into_iter().filter(|(_, n)| *n < MIN_RUNS).map(|(t, _)| t.clone()).collect();
        let scores: Vec<u8> = runs.iter().filter_map(|r| Some(r.first_scores()?.scores.get(d))).collect();
        Self { median: Median::of(&scores).filter(|_| too_few.is_empty()), too_few }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use redline_schemas::{
        Application, CheckResult, DimensionScores, Environment, FORMAT_VERSION, ParticipantId, RunAgent, RunManifest, RunScores, Session,
        SessionDir, Status, Tool, Verification,
    };

    pub fn run(id: &str, task: &str, family: TaskFamily, passed: Option<bool>, scores: &[(&str, [u8; 5])]) -> Run {
        let rid = RunId::new(id).unwrap();
        let person = |p: &str| ParticipantId::new(p).unwrap();
        let manifest = RunManifest {
            format_version: FORMAT_VERSION,
            id: rid.clone(),
            task: TaskId::new(task).unwrap(),
            family,
            prompt: "Do it.".into(),
            start_state: "open".into(),
            reference_steps: 2,
            agent: RunAgent { name: "a".into(), version: "1".into() },
            operator: person("P01"),
            application: Application { name: "x".into(), version: "1".into() },
            environment: Environment { resolution: Some((640, 480)), theme: "light".into(), locale: "C".into() },
            status: Status::Complete,
            rejection: None,
            session: Session::begun(),
            stop: None,
            claimed_success: Some(true),
            tool: Tool::redline(),
        };
        let verification = passed.map(|passed| Verification {
            format_version: FORMAT_VERSION,
            run: rid.clone(),
            by: person("P01"),
            verified_utc: chrono::Utc::now(),
            checks: vec![
                CheckResult { name: "one".into(), passed: true, note: None },
                CheckResult { name: "two".into(), passed, note: None },
            ],
            tool: Tool::redline(),
        });
        let scores = scores.iter().map(|(who, s)| RunScores {
            format_version: FORMAT_VERSION,
            run: rid.clone(),
            scorer: person(who),
            scores: DimensionScores {
                visual_perception: s[0],
                spatial_reasoning: s[1],
                action_execution: s[2],
                error_recovery: s[3],
                execution_efficiency: s[4],
            },
            labels: vec!["missed".into()],
            comment: None,
            scored_utc: chrono::Utc::now(),
            tool: Tool::redline(),
        });
        Run { scores: scores.collect(), manifest, dir: SessionDir::new("runs/x"), steps: vec![], verification }
    }

    use TaskFamily::{Navigation, Recovery};

    #[test]
    fn only_verifications_pass() {
        // All agents claim success.
        let all = [
            run("r1", "a", Navigation, Some(true), &[]),
            run("r2", "a", Navigation, Some(false), &[]),
            run("r3", "b", Recovery, None, &[]),
        ];
        let a = Aggregate::<PassRate>::over((), &all.iter().collect::<Vec<_>>());
        let p = a.overall().measure();
        assert_eq!((p.passed().len(), p.failed().len(), p.unverified().len(), a.overall().n()), (1, 1, 1, 3));
        assert!((p.rate().unwrap() - 1.0 / 3.0).abs() < 1e-12);
        assert_eq!(a.by_family()[&Recovery].measure().rate(), Some(0.0), "unverified is not passed");
        assert_eq!(a.by_task()[&TaskId::new("a").unwrap()].runs().len(), 2);
    }

    #[test]
    fn the_interval_is_wilsons() {
        // 8 of 10: 0.4902 to 0.9433 (published table values).
        let (low, high) = wilson(8, 10);
        assert!((low - 0.4902).abs() < 1e-4 && (high - 0.9433).abs() < 1e-4, "{low} {high}");
        let (low, high) = wilson(0, 3);
        assert!(low == 0.0 && (high - 0.5615).abs() < 1e-4, "{high}");
    }

    #[test]
    fn two_runs_are_no_median() {
        assert_eq!(Median::of(&[3, 3]), None);
        assert_eq!(Median::of(&[3, 0, 1]).unwrap().value(), 1.0);
        assert_eq!(Median::of(&[3, 0, 1, 2]).unwrap().value(), 1.5);
    }

    #[test]
    fn a_number_whose_breakdown_is_missing_is_missing() {
        let s = [("P01", [2, 2, 2, 2, 2])];
        let mut all: Vec<Run> = (0..3).map(|i| run(&format!("a{i}"), "a", Navigation, Some(true), &s)).collect();
        all.extend((0..2).map(|i| run(&format!("b{i}"), "b", Recovery, Some(true), &s)));
        // Not scored: it does not count here.
        all.push(run("b2", "b", Recovery, Some(true), &[]));
        let m = |all: &[Run]| Aggregate::<DimensionMedian>::over(Dimension::VisualPerception, &all.iter().collect::<Vec<_>>());
        let a = m(&all);
        assert_eq!(a.by_family()[&Navigation].measure().median().unwrap().value(), 2.0);
        assert_eq!((a.by_family()[&Recovery].measure().median(), a.by_family()[&Recovery].n()), (None, 2));
        assert_eq!((a.overall().measure().median(), a.overall().n()), (None, 5));
        assert_eq!(a.overall().measure().too_few(), [TaskId::new("b").unwrap()]);
        all.push(run("b3", "b", Recovery, Some(true), &s));
        assert_eq!(m(&all).overall().measure().median().unwrap().value(), 2.0);
    }
}
