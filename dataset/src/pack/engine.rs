//! What makes the rows of tasks: the threads of this process, or a cluster.

use super::ordered::Ordered;
use super::sessions::People;
use super::task::{Part, Task};
use crate::Result;
use crate::check::Context;
use redline_schemas::Corpus;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Parts in the order of their tasks.
pub type Parts = Box<dyn Iterator<Item = Result<Part>>>;

/// What all tasks of a job have in common.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Common {
    /// For packing: the participants and their names.
    #[serde(default, with = "shared")]
    pub people: Arc<People>,
    /// For packing: the edits that are packed.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub edits: BTreeSet<String>,
    /// For checking: what sessions are checked against.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<Context>,
}

/// An [`Arc`] as what it holds.
mod shared {
    use super::{Arc, People};
    use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer};

    pub(super) fn serialize<S: Serializer>(people: &Arc<People>, s: S) -> Result<S::Ok, S::Error> {
        people.as_ref().serialize(s)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Arc<People>, D::Error> {
        People::deserialize(d).map(Arc::new)
    }
}

/// Makes the rows of tasks.
pub trait Engine: std::fmt::Debug + Send + Sync {
    /// The parts of all tasks, in the tasks' order.
    fn parts(&self, corpus: &Corpus, common: &Arc<Common>, tasks: Vec<Task>) -> Result<Parts>;
}

/// This process, with as many threads as there are cores.
#[derive(Debug, Clone, Copy, Default)]
pub struct Here;

impl Engine for Here {
    fn parts(&self, corpus: &Corpus, common: &Arc<Common>, tasks: Vec<Task>) -> Result<Parts> {
        let (corpus, common) = (corpus.clone(), Arc::clone(common));
        Ok(Self::each(tasks, move |t| t.work(&corpus, &common)))
    }
}

impl Here {
    /// The parts that `work` makes of tasks on this process's threads, in the tasks' order.
    pub fn each(tasks: Vec<Task>, work: impl Fn(Task) -> Result<Part> + Send + Sync + 'static) -> Parts {
        Box::new(Ordered::new(tasks, work))
    }

    /// How many tasks are worked on at a time.
    #[must_use]
    pub fn threads() -> usize {
        rayon::current_num_threads()
    }
}
