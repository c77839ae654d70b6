//! The sessions that a job is spread over, in partitions of about equal seconds of audio.

use anyhow::{Context, Result};
use redline_schemas::Corpus;
use std::cmp::Reverse;

/// A session and how much there is to do in it.
#[derive(Debug, Clone, PartialEq)]
pub struct Session {
    /// The request's id.
    pub id: String,
    /// Its audio's length, seconds; that of the session without audio.
    pub seconds: f64,
}

/// The corpus's requests. One whose manifest cannot be read takes part: the work on it says what is wrong.
pub fn of_corpus(corpus: &Corpus) -> Result<Vec<Session>> {
    let ids = corpus.request_ids().context("the requests could not be listed")?;
    Ok(ids
        .into_iter()
        .map(|id| Session { seconds: corpus.request(&id).map_or(0.0, |m| m.session.duration_ns as f64 / 1e9), id: id.to_string() })
        .collect())
}

/// Deals sessions out, longest first, each to the partition with least to do (Graham 1969: at most 4/3 of the best).
pub fn partitions(mut sessions: Vec<Session>, n: usize) -> Vec<Vec<Session>> {
    sessions.sort_by(|a, b| b.seconds.total_cmp(&a.seconds).then_with(|| a.id.cmp(&b.id)));
    let mut out: Vec<(f64, Vec<Session>)> = vec![(0.0, Vec::new()); n.clamp(1, sessions.len().max(1))];
    for s in sessions {
        if let Some((seconds, part)) = out.iter_mut().min_by(|a, b| a.0.total_cmp(&b.0).then(a.1.len().cmp(&b.1.len()))) {
            // Starting costs about as much as a few seconds of audio.
            *seconds += s.seconds + 3.0;
            part.push(s);
        }
    }
    out.sort_by_key(|(seconds, _)| Reverse((seconds * 1e3) as i64));
    out.into_iter().map(|(_, p)| p).filter(|p| !p.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partitions_have_about_the_same_to_do_and_every_session_once() {
        let sessions: Vec<_> =
            [100.0, 10.0, 60.0, 50.0, 40.0, 20.0].iter().enumerate().map(|(i, s)| Session { id: i.to_string(), seconds: *s }).collect();
        let parts = partitions(sessions, 2);
        let sums: Vec<f64> = parts.iter().map(|p| p.iter().map(|s| s.seconds).sum()).collect();
        assert_eq!(sums, [140.0, 140.0]);
        let mut ids: Vec<_> = parts.iter().flatten().map(|s| s.id.clone()).collect();
        ids.sort();
        assert_eq!(ids, ["0", "1", "2", "3", "4", "5"]);
        assert_eq!(partitions(Vec::new(), 4), Vec::<Vec<Session>>::new());
        assert_eq!(partitions(vec![Session { id: "a".into(), seconds: 1.0 }], 4).len(), 1);
    }
}
