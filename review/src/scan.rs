//! Takes transcribed requests into the loop.

use crate::{Flow, Result};
use redline_schemas::{Status, TranscriptKind};

/// Requests taken in by one write, so that a large corpus does not hold the writer up.
const BATCH: usize = 500;

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
                Ok(m) => {
                    // An oracle transcript from elsewhere is a finished one.
                    found.push((m, dir.transcript_path(TranscriptKind::Oracle).is_file()));
                }
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
