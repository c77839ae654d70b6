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
