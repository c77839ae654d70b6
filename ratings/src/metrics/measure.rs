use super::Outcome;
use super::references::{final_step, finished, references};
use crate::{Error, Result};
use redline_cad::compare::{NoIou, compare};
use redline_cad::features::{ImageFeatures, ViewFeatures, of_views, similarity};
use redline_cad::{Examiner, Mesh, ModelFacts};
use redline_schemas::{Corpus, EditId, EditMetrics, FORMAT_VERSION, ModelComparison, RequestId, Tool, fsio};
use std::collections::BTreeMap;

/// Measures the edits of a corpus.
pub struct Measurer<'a> {
    corpus: &'a Corpus,
    examiner: &'a Examiner,
    network: Option<&'a dyn ImageFeatures>,
    references: BTreeMap<RequestId, EditId>,
    /// Of the last reference: a request's edits mostly come one after the other, and a network takes its time.
    last_features: Option<(String, ViewFeatures)>,
}

/// The edit that another one is compared with.
struct Reference {
    edit: EditId,
    model: ModelFacts,
}

impl<'a> Measurer<'a> {
    /// Looks which edits there are to compare with. Without a network there is no likeness of pictures.
    pub fn new(corpus: &'a Corpus, examiner: &'a Examiner, network: Option<&'a dyn ImageFeatures>) -> Result<Self> {
        Ok(Self { corpus, examiner, network, references: references(corpus)?, last_features: None })
    }

    /// Measures an edit and writes its `metrics.json`. What is up to date is left alone, unless it is `forced`.
    pub fn measure(&mut self, id: &EditId, forced: bool) -> Result<Outcome> {
        let e = self.corpus.edit(id)?;
        let step = match final_step(self.corpus, &e) {
            Ok(step) => step,
            Err(why) => return Ok(Outcome::NotYet(why)),
        };
        let request = self.corpus.request(&e.request)?;
        if !finished(request.status) {
            return Ok(Outcome::NotYet("its request is not finished, or rejected"));
        }
        let model = self.examiner.examine(&step)?;
        let reference = match self.references.get(&e.request) {
            Some(r) if request.participant != e.participant => Some(self.reference(r)?),
            _ => None,
        };
        let dir = self.corpus.edit_dir(id);
        // One that can't be read is written anew.
        let old = dir.metrics().ok().flatten().filter(|m| !forced && self.is_current(m, id, &model, reference.as_ref()));
        if let Some(old) = old {
            return Ok(Outcome::UpToDate(Box::new(old)));
        }
        let m = self.metrics(id, &model, reference)?;
        fsio::write_json(&dir.metrics_path(), &m)?;
        Ok(Outcome::Measured(Box::new(m)))
    }

    fn reference(&self, edit: &EditId) -> Result<Reference> {
        let e = self.corpus.edit(edit)?;
        let path = self.corpus.edit_dir(edit).path().join("edit.json");
        let step = final_step(self.corpus, &e).map_err(|message| Error::Refused { path, message: message.into() })?;
        Ok(Reference { edit: edit.clone(), model: self.examiner.examine(&step)? })
    }

    fn is_current(&self, old: &EditMetrics, id: &EditId, model: &ModelFacts, reference: Option<&Reference>) -> bool {
        let same_network = || old.image_model_sha256.as_deref() == self.network.map(ImageFeatures::sha256);
        old.edit == *id
            && old.model_sha256 == model.sha256
            && old.kernel == model.kernel
            && old.tool == Tool::redline()
            && old.reference.as_ref() == reference.map(|r| &r.edit)
            && old.reference_sha256.as_ref() == reference.map(|r| &r.model.sha256)
            && (self.network.is_none() || old.comparison.is_none() || same_network())
    }

    fn metrics(&mut self, id: &EditId, model: &ModelFacts, reference: Option<Reference>) -> Result<EditMetrics> {
        let (valid, problems) = match (&model.facts, &model.error) {
            (Some(f), _) => (f.valid, f.problems.clone()),
            (None, e) => (false, vec![unreadable(e.as_deref())]),
        };
        let (mut comparison, mut not_compared) = (None, None);
        if let Some(r) = &reference {
            match self.comparison(model, r)? {
                Ok(c) => comparison = Some(c),
                Err(why) => not_compared = Some(why),
            }
        }
        let pictures_compared = comparison.as_ref().is_some_and(|c| c.image_similarity.is_some());
        let (reference, reference_sha256) = reference.map(|r| (r.edit, r.model.sha256)).unzip();
        Ok(EditMetrics {
            format_version: FORMAT_VERSION,
            edit: id.clone(),
            model_sha256: model.sha256.clone(),
            valid,
            problems,
            reference,
            reference_sha256,
            comparison,
            not_compared,
            kernel: model.kernel.clone(),
            image_model_sha256: self.network.filter(|_| pictures_compared).map(|n| n.sha256().to_owned()),
            measured_utc: chrono::Utc::now(),
            tool: Tool::redline(),
        })
    }

    /// The inner error is a reason for people.
    fn comparison(&mut self, model: &ModelFacts, r: &Reference) -> Result<Result<ModelComparison, String>> {
        let (own, other) = match (mesh(model)?, mesh(&r.model)?) {
            (Ok(own), Ok(other)) => (own, other),
            (Err(why), _) => return Ok(Err(format!("the model: {why}"))),
            (_, Err(why)) => return Ok(Err(format!("the reference, edit {}: {why}", r.edit))),
        };
        let c = match compare(&own, &other) {
            Ok(c) => c,
            Err(why) => return Ok(Err(why.to_string())),
        };
        // The kernel also knows of gaps that are too small for the grid.
        let closed = |m: &ModelFacts| m.facts.as_ref().is_some_and(|f| f.closed);
        let iou = match c.iou {
            _ if !closed(model) => Err(NoIou::OpenModel),
            _ if !closed(&r.model) => Err(NoIou::OpenReference),
            iou => iou,
        };
        Ok(Ok(ModelComparison {
            chamfer_mm: c.chamfer,
            chamfer_relative: c.chamfer / c.reference_diagonal,
            iou: iou.ok(),
            no_iou: iou.err().map(|e| e.to_string()),
            image_similarity: self.similarity(model, &r.model)?,
        }))
    }

    fn similarity(&mut self, model: &ModelFacts, reference: &ModelFacts) -> Result<Option<f64>> {
        let Some(network) = self.network else { return Ok(None) };
        if self.last_features.as_ref().is_none_or(|(sha256, _)| *sha256 != reference.sha256) {
            self.last_features = Some((reference.sha256.clone(), of_views(network, &reference.views)?));
        }
        let own = of_views(network, &model.views)?;
        Ok(self.last_features.as_ref().and_then(|(_, other)| similarity(&own, other)))
    }
}

fn unreadable(kernels_word: Option<&str>) -> String {
    format!("the CAD kernel can’t read it: {}", kernels_word.unwrap_or("it gives no reason"))
}

/// A model's triangles, or why there are none.
fn mesh(m: &ModelFacts) -> Result<Result<Mesh, String>> {
    if m.facts.is_none() {
        return Ok(Err(unreadable(m.error.as_deref())));
    }
    Ok(m.mesh()?.ok_or_else(|| "the CAD kernel makes no triangles of it".into()))
}
