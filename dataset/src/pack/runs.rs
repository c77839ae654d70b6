//! Rows of the tables of runs.

use super::sessions::{People, SessionInfo};
use crate::Result;
use crate::runs::Run;
use crate::tables::{runs, scores, steps};
use redline_schemas::{Corpus, RunId};

fn load(corpus: &Corpus, s: &SessionInfo) -> Result<Run> {
    Run::load(s.dir(corpus), corpus.run(&RunId::new(&s.id)?)?)
}

pub(super) fn run_row(b: &mut runs::Builder, corpus: &Corpus, people: &People, s: &SessionInfo) -> Result<()> {
    let r = load(corpus, s)?;
    runs::append(b, &r, &people.published(&r.manifest.operator));
    Ok(())
}

pub(super) fn step_rows(b: &mut steps::Builder, corpus: &Corpus, _: &People, s: &SessionInfo) -> Result<()> {
    let r = load(corpus, s)?;
    r.steps.iter().for_each(|e| steps::append(b, &r.manifest, e));
    Ok(())
}

pub(super) fn score_rows(b: &mut scores::Builder, corpus: &Corpus, people: &People, s: &SessionInfo) -> Result<()> {
    let r = load(corpus, s)?;
    for (i, x) in r.scores.iter().enumerate().filter(|(_, x)| people.raters.as_ref().is_none_or(|w| w.contains(&x.scorer))) {
        scores::append(b, &r.manifest, &people.published(&x.scorer), i + 1, x);
    }
    Ok(())
}
