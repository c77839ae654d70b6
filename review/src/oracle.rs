//! The accepted text beside its request: `transcript.oracle.json`.

use crate::store::Round;
use crate::{Error, Flow, Result, carry};
use redline_schemas::{
    Correction, FORMAT_VERSION, RequestId, ReviewState, Timing, Tool, Transcript, TranscriptKind, Word, fsio::write_json,
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
        let t = transcript(&self.automatic(request)?, &round)?;
        write_json(&self.corpus.request_dir(request).transcript_path(TranscriptKind::Oracle), &t)?;
        self.store.set_exported(request, &round.revision.id)
    }

    /// Writes everything accepted that is not beside its request yet; how many, and what failed.
    pub fn export_pending(&self) -> Result<(usize, Vec<(RequestId, Error)>)> {
        let mut failed = Vec::new();
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
    use crate::testing::{transcript as make, word};

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
