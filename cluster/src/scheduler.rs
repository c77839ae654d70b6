//! The scheduler: splits plans into tasks and gives them to workers.

use crate::{client, function, shares, stores};
use anyhow::{Context, Result};
use ballista_scheduler::cluster::BallistaCluster;
use ballista_scheduler::config::SchedulerConfig;
use ballista_scheduler::scheduler_process::start_server;
use datafusion::execution::SessionStateBuilder;
use std::net::SocketAddr;
use std::sync::Arc;

/// Serves until it is ended.
pub async fn run(listen: SocketAddr, worker_timeout: u64) -> Result<()> {
    let mut config = SchedulerConfig::default()
        .with_hostname(listen.ip().to_string())
        .with_port(listen.port())
        .with_override_config_producer(Arc::new(client::config))
        .with_override_session_builder(Arc::new(|config| {
            Ok(SessionStateBuilder::new()
                .with_default_features()
                .with_config(config)
                .with_runtime_env(stores::runtime()?)
                .with_scalar_functions(
                    std::iter::once(function::udf(None))
                        .chain(datafusion::functions::all_default_functions().into_iter().map(|f| f.as_ref().clone()))
                        .map(Arc::new)
                        .collect(),
                )
                .build())
        }));
    config.override_logical_codec = Some(shares::logical());
    config.override_physical_codec = Some(shares::physical());
    config.bind_host = listen.ip().to_string();
    config.executor_timeout_seconds = worker_timeout;
    config.no_executors_grace_period_seconds = worker_timeout.max(60);
    config.expire_dead_executor_interval_seconds = 2;
    let cluster = BallistaCluster::new_from_config(&config).await.context("the scheduler could not be set up")?;
    eprintln!("Scheduler at {listen}. Next, on each machine: redline-cluster worker --scheduler {listen}");
    start_server(cluster, listen, Arc::new(config)).await.with_context(|| format!("the scheduler at {listen} ended"))
}
