//! Takes transcribed requests into the loop.

use crate::{Flow, Result};
use redline_schemas::{Modality, RequestManifest, SessionDir, Status, TranscriptKind};

/// Requests taken in by one write, so that a large corpus does not hold the writer up.
const BATCH: usize = 500;

/// Whether there is something to correct: words, or sound in which words may have gone unheard.
///
/// `redline transcribe` gives requests without sound an empty transcript: nobody can hear anything in them, and they
/// would count as heard without a mistake. A typed request's sound is what the microphone caught meanwhile: without
/// words in it, there is nothing either.
fn takes_part(m: &RequestManifest, dir: &SessionDir) -> Result<bool> {
    if m.modality != Modality::Text && m.session.streams.audio.as_ref().is_some_and(|a| a.clock.samples() > 0) {
        return Ok(true);
    }
    Ok(dir.transcript(TranscriptKind::Automatic)?.is_some_and(|t| t.segments.iter().any(|s| !s.text.trim().is_empty())))
}

impl Flow {
    /// Looks for requests that have a transcript and are not in the loop yet; how many came in.
    ///
    /// A request whose manifest cannot be read is left out and named on standard error.
    pub fn scan(&self) -> Result<usize> {
        let known = self.store.known()?;
        let mut found = Vec::new();
        let mut count = 0;
        for id in self.corpus.request_ids()? {
            if known.contains(id.as_str()) {
                continue;
            }
            let dir = self.corpus.request_dir(&id);
            if !dir.transcript_path(TranscriptKind::Automatic).is_file() {
                continue;
            }
            match self.corpus.request(&id) {
                Ok(m) if m.id != id => tracing::warn!("{}: names another request ({})", dir.request_json().display(), m.id),
                Ok(m) if m.status == Status::Recording => {}
                Ok(m) => match takes_part(&m, &dir) {
                    // An oracle transcript from elsewhere is a finished one.
                    Ok(true) => found.push((m, dir.transcript_path(TranscriptKind::Oracle).is_file())),
                    Ok(false) => {}
                    Err(e) => tracing::warn!("left out: {e}"),
                },
                Err(e) => tracing::warn!("left out: {e}"),
            }
            if found.len() == BATCH {
                count += found.len();
                self.store.add(std::mem::take(&mut found))?;
            }
        }
        count += found.len();
        if !found.is_empty() {
            self.store.add(found)?;
        }
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use crate::Flow;
    use crate::testing::{corpus_with_request, transcript};
    use redline_schemas::time::AudioClock;
    use redline_schemas::{AudioStream, FileRef, Modality, TranscriptKind, fsio};

    #[test]
    fn a_request_without_sound_and_words_takes_no_part_but_an_unheard_one_does() {
        let (_dir, corpus, id) = corpus_with_request("P01", "one");
        let session = corpus.request_dir(&id);
        let path = session.transcript_path(TranscriptKind::Automatic);
        fsio::write_json(&path, &transcript(id.as_str(), &[])).unwrap();
        let flow = Flow::open(corpus).unwrap();
        assert_eq!(flow.scan().unwrap(), 0, "nothing to hear");
        assert_eq!(flow.stats().unwrap().all.requests, 0);

        let mut m = flow.corpus.request(&id).unwrap();
        let file = FileRef { path: "audio.flac".into(), bytes: 1, sha256: "0".repeat(64) };
        let mut audio =
            AudioStream { file, codec: "flac".into(), channels: 1, clock: AudioClock::nominal(16_000, 0, 0), device: None, peak: None };
        m.session.streams.audio = Some(audio.clone());
        fsio::write_json(&session.request_json(), &m).unwrap();
        assert_eq!(flow.scan().unwrap(), 0, "a stream without a sample is no sound");
        audio.clock = AudioClock::nominal(16_000, 16_000, 0);
        m.session.streams.audio = Some(audio);
        m.modality = Modality::Text;
        fsio::write_json(&session.request_json(), &m).unwrap();
        assert_eq!(flow.scan().unwrap(), 0, "typed, and nothing was said meanwhile");
        m.modality = Modality::Interactive;
        fsio::write_json(&session.request_json(), &m).unwrap();
        assert_eq!(flow.scan().unwrap(), 1, "something may have been said that was not heard");
        assert_eq!(flow.stats().unwrap().all.requests, 1);
    }

    #[test]
    fn a_database_of_an_older_redline_loses_what_takes_no_part() {
        let (_dir, corpus, id) = corpus_with_request("P01", "one");
        let path = corpus.request_dir(&id).transcript_path(TranscriptKind::Automatic);
        {
            let flow = Flow::open(corpus.clone()).unwrap();
            assert_eq!(flow.scan().unwrap(), 1);
            // As an older Redline left it: taken in, and of its version.
            flow.store
                .write(|db| {
                    db.execute_batch("DROP TABLE rate_tasks; DROP TABLE rate_seed;")?;
                    Ok(db.pragma_update(None, "user_version", 1)?)
                })
                .unwrap();
        }
        fsio::write_json(&path, &transcript(id.as_str(), &[])).unwrap();
        let flow = Flow::open(corpus).unwrap();
        flow.scan().unwrap();
        assert!(flow.store.known().unwrap().is_empty());
    }
}
