//! What the corpus's protocol still wants.

use redline_schemas::{Cell, Corpus, Difficulty, Modality, ModelId, ModelManifest, Protocol, RequestManifest, Status};
use std::collections::BTreeMap;

/// How many there are, and how many are wanted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Count {
    /// Recorded and kept.
    pub have: u32,
    /// Wanted.
    pub wanted: u32,
}

impl Count {
    /// How many are missing.
    #[must_use]
    pub fn missing(self) -> u32 {
        self.wanted.saturating_sub(self.have)
    }
}

/// What is there and what is missing, for one model.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct View {
    /// Requests about the model.
    pub model: Count,
    /// For each difficulty of the protocol, requests about the model.
    pub difficulties: Vec<(Difficulty, Count)>,
    /// For each modality of the protocol, requests about models of this kind in the whole corpus.
    pub modalities: Vec<(Modality, Count)>,
}

/// Requests that count, without what is not needed of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Known {
    /// The model.
    pub model: Option<ModelId>,
    /// The modality.
    pub modality: Modality,
    /// The difficulty.
    pub difficulty: Difficulty,
}

/// Reads what was recorded; damaged manifests are passed over, `redline check` reports them.
#[must_use]
pub fn known(corpus: &Corpus) -> Vec<Known> {
    let ids = corpus.request_ids().unwrap_or_default();
    ids.iter().filter_map(|id| corpus.request(id).ok()).filter_map(|r| counted(&r)).collect()
}

/// What a request counts as; `None` when it counts for nothing.
#[must_use]
pub fn counted(r: &RequestManifest) -> Option<Known> {
    matches!(r.status, Status::Complete | Status::Recovered).then(|| Known {
        model: r.model.clone(),
        modality: r.modality,
        difficulty: r.difficulty,
    })
}

/// The view for a model.
#[must_use]
pub fn view(p: &Protocol, models: &BTreeMap<ModelId, ModelManifest>, model: &ModelId, all: &[Known]) -> View {
    let about: Vec<&Known> = all.iter().filter(|k| k.model.as_ref() == Some(model)).collect();
    let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    // The wanted requests are shared out over the difficulties, the easier ones first.
    let kinds = count(p.difficulties.len()).max(1);
    let difficulties = p.difficulties.iter().enumerate().map(|(i, d)| {
        let wanted = p.requests_per_model / kinds + u32::from(count(i) < p.requests_per_model % kinds);
        (d.difficulty, Count { have: count(about.iter().filter(|k| k.difficulty == d.difficulty).count()), wanted })
    });
    let kind = models.get(model);
    let same_kind = |c: &Cell, m: Option<&ModelManifest>| {
        c.parametric.is_none_or(|x| m.is_some_and(|m| m.parametric == x)) && c.assembly.is_none_or(|x| m.is_some_and(|m| m.assembly == x))
    };
    let modalities = p.modalities.iter().map(|&modality| {
        let mut c = Count::default();
        for cell in p.cells.iter().filter(|c| c.modality == modality && same_kind(c, kind)) {
            c.wanted = c.wanted.saturating_add(cell.wanted);
            let fits = |k: &&Known| {
                let m = k.model.as_ref().and_then(|m| models.get(m));
                k.modality == modality && cell.difficulty.is_none_or(|d| d == k.difficulty) && same_kind(cell, m)
            };
            c.have = c.have.saturating_add(count(all.iter().filter(fits).count()));
        }
        if c.wanted == 0 {
            // No cell asks for it: what is there is shown all the same.
            c.have = count(all.iter().filter(|k| k.modality == modality).count());
        }
        (modality, c)
    });
    View {
        model: Count { have: count(about.len()), wanted: p.requests_per_model },
        difficulties: difficulties.collect(),
        modalities: modalities.collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use redline_schemas::FileRef;

    fn model(id: &str, parametric: bool, assembly: bool) -> (ModelId, ModelManifest) {
        let id = ModelId::new(id).unwrap();
        let m = ModelManifest {
            format_version: 1,
            id: id.clone(),
            name: id.to_string(),
            created_utc: chrono::Utc::now(),
            step: FileRef { path: "model.step".into(), bytes: 0, sha256: String::new() },
            native: None,
            parametric,
            assembly,
            counts: None,
            views: BTreeMap::new(),
            source: None,
        };
        (id, m)
    }

    fn request(model: &str, modality: Modality, difficulty: Difficulty) -> Known {
        Known { model: Some(ModelId::new(model).unwrap()), modality, difficulty }
    }

    #[test]
    fn it_counts_right() {
        use Difficulty::{Easy, Hard, Medium};
        use Modality::{DrawStatic, DrawTemp, Interactive, Text};
        let models: BTreeMap<_, _> = [model("a", true, false), model("b", false, true), model("c", true, false)].into();
        let cell = |modality, difficulty, parametric, wanted| Cell { modality, difficulty, parametric, assembly: None, wanted };
        let p = Protocol {
            cells: vec![
                cell(Text, Some(Easy), None, 2),
                cell(Text, Some(Hard), Some(true), 1),
                cell(Interactive, None, Some(false), 5),
                cell(DrawTemp, None, None, 4),
            ],
            ..Protocol::default()
        };
        let all = [
            request("a", Text, Easy),
            request("a", DrawTemp, Easy),
            request("b", Text, Hard),
            request("b", Interactive, Medium),
            request("c", Text, Hard),
            request("c", DrawStatic, Hard),
        ];
        let at = |id: &str| view(&p, &models, &ModelId::new(id).unwrap(), &all);
        let c = |have, wanted| Count { have, wanted };
        let a = at("a");
        assert_eq!(a.model, c(2, 3));
        assert_eq!(a.difficulties, [(Easy, c(2, 1)), (Medium, c(0, 1)), (Hard, c(0, 1))]);
        assert_eq!(a.difficulties.iter().map(|d| d.1.missing()).collect::<Vec<_>>(), [0, 1, 1]);
        // Text: one easy of any kind, one hard of a parametric model; the hard one of b is of another kind.
        assert_eq!(a.modalities, [(Text, c(2, 3)), (Interactive, c(0, 0).with(1)), (DrawTemp, c(1, 4)), (DrawStatic, c(1, 0))]);
        assert_eq!(at("b").modalities[1], (Interactive, c(1, 5)));
        assert_eq!(at("unknown").model, c(0, 3));
    }

    impl Count {
        fn with(self, have: u32) -> Self {
            Self { have, ..self }
        }
    }

    #[test]
    fn wanted_requests_are_shared_out() {
        let p = Protocol { requests_per_model: 5, ..Protocol::default() };
        let models: BTreeMap<_, _> = [model("a", true, false)].into();
        let v = view(&p, &models, &ModelId::new("a").unwrap(), &[]);
        assert_eq!(v.difficulties.iter().map(|d| d.1.wanted).collect::<Vec<_>>(), [2, 2, 1]);
    }
}
