//! Storage that plans name by `s3://…`, with the settings that `redline publish` takes from the environment.

use datafusion::common::{DataFusionError, Result};
use datafusion::execution::object_store::{DefaultObjectStoreRegistry, ObjectStoreRegistry};
use datafusion::execution::runtime_env::{RuntimeEnv, RuntimeEnvBuilder};
use datafusion::object_store::ObjectStore;
use std::sync::Arc;
use url::Url;

/// A runtime that finds files in folders and in storage.
pub fn runtime() -> Result<Arc<RuntimeEnv>> {
    RuntimeEnvBuilder::new().with_object_store_registry(Arc::new(Stores::default())).build_arc()
}

/// The same, with a folder for what does not fit into memory.
pub fn runtime_in(work_dir: Option<&str>) -> Result<Arc<RuntimeEnv>> {
    let b = RuntimeEnvBuilder::new().with_object_store_registry(Arc::new(Stores::default()));
    match work_dir {
        Some(d) => b.with_temp_file_path(d),
        None => b,
    }
    .build_arc()
}

#[derive(Debug, Default)]
struct Stores(DefaultObjectStoreRegistry);

impl ObjectStoreRegistry for Stores {
    fn register_store(&self, url: &Url, store: Arc<dyn ObjectStore>) -> Option<Arc<dyn ObjectStore>> {
        self.0.register_store(url, store)
    }

    fn deregister_store(&self, url: &Url) -> Result<Arc<dyn ObjectStore>> {
        self.0.deregister_store(url)
    }

    fn get_store(&self, url: &Url) -> Result<Arc<dyn ObjectStore>> {
        if url.scheme() != "s3" {
            return self.0.get_store(url);
        }
        self.0.get_store(url).or_else(|_| {
            let store = redline_publish::bucket(url.as_str()).map_err(|e| DataFusionError::External(Box::new(e)))?;
            self.0.register_store(url, Arc::clone(&store));
            Ok(store)
        })
    }
}
