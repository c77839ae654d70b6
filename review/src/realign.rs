//! Aligning accepted texts again, in the background, with attempts that are seen.

use crate::{Flow, Result, oracle};
use redline_schemas::{RequestId, RequestManifest, SessionDir, Transcript, TranscriptKind, fsio::write_json};

/// Gives a known text its times from the sound. The binary brings it; this crate knows no aligner.
pub trait Realigner: Send + Sync {
    /// Aligns `text` (segments one a line) with the session's sound; the words must be those of the text.
    /// An error is shown to people as it is.
    fn realign(&self, dir: &SessionDir, manifest: &RequestManifest, text: &str) -> Result<Transcript, String>;
}

/// Waits between attempts, milliseconds; after the last one the request counts as failed.
pub const RETRY_MS: [i64; 3] = [2_000, 15_000, 120_000];

impl Flow {
    /// Does the next re-alignment that is due; whether there was one.
    pub fn realign_next(&self, aligner: &dyn Realigner) -> Result<bool> {
        let Some(request) = self.store.next_realignment()? else { return Ok(false) };
        let result = self.realign(aligner, &request);
        let error = result.err();
        let attempts = self.store.realignment(&request)?.map_or(1, |r| r.attempts);
        let retry = RETRY_MS.get(attempts.saturating_sub(1) as usize).copied();
        if let Some(e) = &error {
            tracing::warn!("{request}: attempt {attempts} to align again failed: {e}");
            self.store.audit("-", "realign-failed", Some(request.as_str()), Some(e))?;
        }
        self.store.end_realignment(&request, error, retry)?;
        Ok(true)
    }

    fn realign(&self, aligner: &dyn Realigner, request: &RequestId) -> Result<(), String> {
        let text = |e: crate::Error| e.to_string();
        let round = self.accepted(request).map_err(text)?;
        let automatic = self.automatic(request).map_err(text)?;
        let accepted = oracle::transcript(&automatic, &round).map_err(text)?;
        let manifest = self.corpus.request(request).map_err(|e| e.to_string())?;
        let dir = self.corpus.request_dir(request);
        let new = aligner.realign(&dir, &manifest, &round.revision.text)?;
        let oracle = oracle::realigned(&accepted, &new).map_err(text)?;
        write_json(&dir.transcript_path(TranscriptKind::Oracle), &oracle).map_err(|e| e.to_string())?;
        self.store.set_exported(request, &round.revision.id).map_err(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::{Person, Text};
    use crate::store::RealignmentState;
    use crate::testing::{corpus_with_request, transcript, word};
    use redline_schemas::{ParticipantId, Role, Timing};
    use std::sync::atomic::{AtomicU32, Ordering};

    /// Fails as often as it is told, then aligns.
    struct Moody {
        failures: AtomicU32,
    }

    impl Realigner for Moody {
        fn realign(&self, _: &SessionDir, m: &RequestManifest, text: &str) -> Result<Transcript, String> {
            if self.failures.load(Ordering::Relaxed) > 0 {
                self.failures.fetch_sub(1, Ordering::Relaxed);
                return Err("the model file is missing".into());
            }
            let words: Vec<_> = text.split_whitespace().zip(0..).map(|(t, i)| word(t, i * 500 + 7, i * 500 + 450)).collect();
            Ok(transcript(m.id.as_str(), &[&words]))
        }
    }

    fn accepted() -> (tempfile::TempDir, Flow, RequestId) {
        let (dir, corpus, id) = corpus_with_request("P01", "make the fill it bigger");
        let flow = Flow::open(corpus).unwrap();
        flow.scan().unwrap();
        let person = |id: &str| Person { id: ParticipantId::new(id).unwrap(), roles: vec![Role::Reviewer] };
        let text = Text { base: None, seq: 0, text: "make the fillet bigger".into(), words: None, active_ms: 0 };
        let handed = flow.submit(&person("P01"), &id, text).unwrap();
        flow.decide(&person("P02"), &id, &handed.revision.unwrap(), true, None).unwrap();
        flow.export(&id).unwrap();
        (dir, flow, id)
    }

    fn due_now(flow: &Flow) {
        flow.store.write(|db| Ok(db.execute("UPDATE realignments SET next_ms = 0", [])?)).unwrap();
    }

    #[test]
    fn a_failure_is_shown_and_tried_again_until_it_works() {
        let (_dir, flow, id) = accepted();
        let guessed = flow.corpus.request_dir(&id).transcript(TranscriptKind::Oracle).unwrap().unwrap();
        assert_eq!(guessed.words().nth(2).unwrap().timing, Timing::Interpolated);
        let aligner = Moody { failures: AtomicU32::new(2) };
        for attempt in 1..=2 {
            assert!(flow.realign_next(&aligner).unwrap());
            let r = flow.store.realignment(&id).unwrap().unwrap();
            assert_eq!((r.state, r.attempts), (RealignmentState::Queued, attempt));
            assert_eq!(r.error.as_deref(), Some("the model file is missing"));
            assert!(!flow.realign_next(&aligner).unwrap(), "not before its time");
            due_now(&flow);
        }
        assert!(flow.realign_next(&aligner).unwrap());
        let r = flow.store.realignment(&id).unwrap().unwrap();
        assert_eq!((r.state, r.error), (RealignmentState::Done, None));
        let oracle = flow.corpus.request_dir(&id).transcript(TranscriptKind::Oracle).unwrap().unwrap();
        let fillet = oracle.words().nth(2).unwrap();
        assert_eq!((fillet.text.as_str(), fillet.start_ns, fillet.timing), ("fillet", 1_007, Timing::Aligned));
        assert_eq!(oracle.correction, guessed.correction, "the counts stay");
    }

    #[test]
    fn after_the_last_attempt_it_counts_as_failed_until_somebody_asks_again() {
        let (_dir, flow, id) = accepted();
        let aligner = Moody { failures: AtomicU32::new(4) };
        for _ in 0..=RETRY_MS.len() {
            due_now(&flow);
            assert!(flow.realign_next(&aligner).unwrap());
        }
        due_now(&flow);
        assert!(!flow.realign_next(&aligner).unwrap());
        assert_eq!(flow.store.realignment(&id).unwrap().unwrap().state, RealignmentState::Failed);
        let who = Person { id: ParticipantId::new("P02").unwrap(), roles: vec![Role::Reviewer] };
        flow.ask_realignment(&who, &id).unwrap();
        assert!(flow.realign_next(&aligner).unwrap());
        assert_eq!(flow.store.realignment(&id).unwrap().unwrap().state, RealignmentState::Done);
    }

    #[test]
    fn what_ran_when_the_process_ended_runs_again() {
        let (_dir, flow, id) = accepted();
        assert_eq!(flow.store.next_realignment().unwrap(), Some(id));
        assert_eq!(flow.store.next_realignment().unwrap(), None);
        flow.store.resume_realignments().unwrap();
        assert!(flow.store.next_realignment().unwrap().is_some());
    }
}
