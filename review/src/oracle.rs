//! The accepted text beside its request, `transcript.oracle.json`, and how it came about, `revisions.json`.

use crate::store::Round;
use crate::{Error, Flow, Result, carry};
use redline_schemas::{
    Correction, FORMAT_VERSION, RequestId, ReviewState, ReviewedRevision, RevisionHistory, Timing, Tool, Transcript, TranscriptKind, Word,
    fsio::write_json,
};

/// The oracle transcript of an accepted round.
pub(crate) fn transcript(automatic: &Transcript, round: &Round) -> Result<Transcript> {
    let r = &round.revision;
    let Some(d) = round.decision.as_ref().filter(|d| d.accepted) else {
        return Err(Error::State("this revision is not accepted".into()));
    };
    Ok(Transcript {
        format_version: FORMAT_VERSION,
        request: r.request.clone(),
        kind: TranscriptKind::Oracle,
        language: automatic.language.clone(),
        segments: carry::segments(&r.text, &r.words),
        model: automatic.model.clone(),
        aligner: automatic.aligner.clone(),
        parameters: automatic.parameters.clone(),
        guards: automatic.guards.clone(),
        correction: Some(Correction {
            revision: r.id.clone(),
            rounds: r.number,
            corrected_by: r.author.clone(),
            accepted_by: d.reviewer.clone(),
            accepted_utc: d.created_utc,
            changed: round.changed,
            char_edit_distance: round.char_edits,
            word_edit_distance: round.word_edits,
            automatic_chars: round.automatic_chars,
        }),
        audio_sha256: automatic.audio_sha256.clone(),
        created_utc: chrono::Utc::now(),
        tool: Tool::redline(),
    })
}

/// The oracle transcript with the times of a new alignment; times that a person set stay.
pub(crate) fn realigned(oracle: &Transcript, new: &Transcript) -> Result<Transcript> {
    let old: Vec<&Word> = oracle.words().collect();
    let mut words: Vec<Word> = new.words().cloned().collect();
    if !old.iter().map(|w| &w.text).eq(words.iter().map(|w| &w.text)) {
        return Err(Error::Invalid(format!("the alignment gave {} words back for the text's {}, or other ones", words.len(), old.len())));
    }
    for (w, o) in words.iter_mut().zip(&old) {
        if o.timing == Timing::Manual {
            *w = (*o).clone();
        }
    }
    // A word beside one with manual times makes room for it.
    for i in 1..words.len() {
        if let [a, b] = &mut words[i - 1..=i] {
            match (a.timing == Timing::Manual, b.timing == Timing::Manual) {
                (true, false) if b.start_ns < a.end_ns => {
                    b.start_ns = a.end_ns;
                    b.end_ns = b.end_ns.max(b.start_ns);
                }
                (false, true) if a.end_ns > b.start_ns => {
                    a.end_ns = b.start_ns;
                    a.start_ns = a.start_ns.min(a.end_ns);
                }
                _ => {}
            }
        }
    }
    if let Some(w) = words.windows(2).find_map(|p| (p[1].start_ns < p[0].start_ns).then_some(&p[1])) {
        return Err(Error::Invalid(format!("the alignment puts “{}” before the word in front of it", w.text)));
    }
    let mut t = oracle.clone();
    t.segments = carry::segments(&oracle.text(), &words);
    t.aligner = new.aligner.clone();
    t.guards.extend(new.guards.iter().filter(|g| !oracle.guards.contains(g)).cloned());
    t.created_utc = chrono::Utc::now();
    Ok(t)
}

impl Flow {
    /// The accepted round of a request.
    pub(crate) fn accepted(&self, request: &RequestId) -> Result<Round> {
        let item = self.store.item(request)?;
        match item.revision {
            Some(id) if item.state == ReviewState::Accepted => self.store.revision(&id),
            _ => Err(Error::State("this request has no accepted correction".into())),
        }
    }

    /// Writes the accepted text beside its request, atomically.
    ///
    /// The database knows what is still to be written, so a crash in between is made good on the next start.
    pub fn export(&self, request: &RequestId) -> Result<()> {
        let round = self.accepted(request)?;
        self.write_history(request)?;
        let t = transcript(&self.automatic(request)?, &round)?;
        write_json(&self.corpus.request_dir(request).transcript_path(TranscriptKind::Oracle), &t)?;
        self.store.set_exported(request, &round.revision.id)
    }

    /// Writes a request's revisions and the decisions on them beside it, atomically.
    pub fn write_history(&self, request: &RequestId) -> Result<()> {
        let revision = |r: Round| ReviewedRevision {
            changed: r.changed,
            char_edit_distance: r.char_edits,
            word_edit_distance: r.word_edits,
            decision: r.decision,
            revision: r.revision,
        };
        let history = RevisionHistory {
            format_version: FORMAT_VERSION,
            request: request.clone(),
            revisions: self.store.revisions(request)?.into_iter().map(revision).collect(),
            tool: Tool::redline(),
        };
        Ok(write_json(&self.corpus.request_dir(request).revisions_path(), &history)?)
    }

    /// Writes everything accepted that is not beside its request yet; how many, and what failed.
    pub fn export_pending(&self) -> Result<(usize, Vec<(RequestId, Error)>)> {
        let mut failed = Vec::new();
        // Requests accepted by an older Redline have no history beside them.
        for id in self.store.exported()? {
            if !self.corpus.request_dir(&id).revisions_path().exists()
                && let Err(e) = self.write_history(&id)
            {
                failed.push((id, e));
            }
        }
        let mut done = 0;
        for id in self.store.unexported()? {
            match self.export(&id) {
                Ok(()) => done += 1,
                Err(e) => failed.push((id, e)),
            }
        }
        Ok((done, failed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Person;
    use crate::flow::Text;
    use crate::testing::{corpus_with_request, transcript as make, word};
    use redline_schemas::{ParticipantId, Role};

    #[test]
    fn the_history_beside_a_request_holds_every_round_and_is_made_good() {
        let (_dir, corpus, id) = corpus_with_request("P01", "make the fill it bigger");
        let flow = Flow::open(corpus).unwrap();
        flow.scan().unwrap();
        let person = |id: &str| Person { id: ParticipantId::new(id).unwrap(), roles: vec![Role::Reviewer] };
        let mut base = None;
        for (text, comment) in [("make the fillet big", Some("it was “bigger”")), ("make the fillet bigger", None)] {
            let sent = Text { base: base.clone(), seq: 0, text: text.into(), words: None, active_ms: 0 };
            base = flow.submit(&person("P01"), &id, sent).unwrap().revision;
            flow.decide(&person("P02"), &id, base.as_ref().unwrap(), comment.is_none(), comment.map(Into::into)).unwrap();
        }
        flow.export(&id).unwrap();
        let dir = flow.corpus.request_dir(&id);
        let history = dir.revisions().unwrap().unwrap();
        let seen: Vec<_> = history
            .revisions
            .iter()
            .map(|r| (r.revision.number, r.revision.text.as_str(), r.word_edit_distance, r.decision.as_ref().unwrap().accepted))
            .collect();
        assert_eq!(seen, [(1, "make the fillet big", 3, false), (2, "make the fillet bigger", 2, true)]);
        assert_eq!(history.revisions[1].revision.base.as_ref(), Some(&history.revisions[0].revision.id));
        assert_eq!(history.revisions[0].decision.as_ref().unwrap().comment.as_deref(), Some("it was “bigger”"));
        let accepted = dir.transcript(TranscriptKind::Oracle).unwrap().unwrap().correction.unwrap();
        assert_eq!(accepted.revision, history.revisions[1].revision.id);

        std::fs::remove_file(dir.revisions_path()).unwrap();
        assert!(flow.export_pending().unwrap().1.is_empty());
        assert_eq!(dir.revisions().unwrap().unwrap(), history);
    }

    #[test]
    fn manual_times_stay_and_neighbours_make_room() {
        let mut old = make("R1", &[&[word("a", 0, 10), word("b", 20, 40), word("c", 50, 60)]]);
        old.segments[0].words[1].timing = Timing::Manual;
        let new = make("R1", &[&[word("a", 1, 25), word("b", 26, 35), word("c", 36, 70)]]);
        let t = realigned(&old, &new).unwrap();
        let times: Vec<_> = t.words().map(|w| (w.start_ns, w.end_ns)).collect();
        assert_eq!(times, [(1, 20), (20, 40), (40, 70)]);
    }

    #[test]
    fn other_words_or_backward_times_are_an_error() {
        let old = make("R1", &[&[word("a", 0, 10), word("b", 20, 40)]]);
        assert!(realigned(&old, &make("R1", &[&[word("a", 0, 10)]])).is_err());
        assert!(realigned(&old, &make("R1", &[&[word("a", 30, 40), word("b", 0, 10)]])).is_err());
    }
}
