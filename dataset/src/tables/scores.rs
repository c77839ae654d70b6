//! `scores`.

use super::{Id, Int, Text, Utc, table};
use redline_schemas::{RunManifest, RunScores};

table! {
    /// One row one person's scores for a run.
    "scores", sorted by ["run_id", "position"] {
        /// The run.
        run_id: Id,
        /// Its task.
        task_id: Id,
        /// Who scored it.
        scorer_id: Id,
        /// Its place in the order in which the run was scored, from 1; reports count the first, agreement is of 1 and 2.
        position: Int,
        /// Saw what was on the screen.
        visual_perception: Int ["score, 0 to 3"],
        /// Understood where things are in space.
        spatial_reasoning: Int ["score, 0 to 3"],
        /// Hit what it meant to hit.
        action_execution: Int ["score, 0 to 3"],
        /// Noticed what went wrong, and got out of it.
        error_recovery: Int ["score, 0 to 3"],
        /// Took no more steps than were needed.
        execution_efficiency: Int ["score, 0 to 3"],
        /// Failure labels, joined by commas.
        labels: Text,
        /// The scorer's remark.
        comment: Option<Text>,
        /// When it was scored.
        scored_utc: Utc,
    }
}

/// Appends one person's scores under the published name.
pub(crate) fn append(b: &mut Builder, m: &RunManifest, scorer: &str, position: usize, s: &RunScores) {
    let v = &s.scores;
    b.append(Row {
        run_id: m.id.as_str(),
        task_id: m.task.as_str(),
        scorer_id: scorer,
        position: position as i64,
        visual_perception: i64::from(v.visual_perception),
        spatial_reasoning: i64::from(v.spatial_reasoning),
        action_execution: i64::from(v.action_execution),
        error_recovery: i64::from(v.error_recovery),
        execution_efficiency: i64::from(v.execution_efficiency),
        labels: &s.labels.join(","),
        comment: s.comment.as_deref(),
        scored_utc: s.scored_utc.timestamp_micros(),
    });
}
