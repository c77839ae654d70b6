//! A worker: a Ballista executor that knows Redline's function.

use crate::{client, function, redline, shares, stores};
use anyhow::{Context, Result};
use ballista_core::registry::BallistaFunctionRegistry;
use ballista_executor::executor_process::{ExecutorProcessConfig, start_executor_process};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a worker waits for its scheduler.
const WAIT: Duration = Duration::from_secs(30);

/// Options of `redline-cluster worker`.
#[derive(clap::Args)]
pub struct Args {
    /// Where the scheduler listens, HOST:PORT
    #[arg(long, default_value = "127.0.0.1:50050")]
    scheduler: SocketAddr,
    /// Address that this worker listens at; its port and the next one are used
    #[arg(long, default_value = "127.0.0.1:50051")]
    listen: SocketAddr,
    /// Sessions worked on at the same time
    #[arg(long, default_value_t = 1)]
    jobs: usize,
    /// The redline program (default: beside this one, else on the PATH)
    #[arg(long, env = "REDLINE_BIN")]
    redline: Option<PathBuf>,
    /// Folder for what is handed from worker to worker (default: a temporary one)
    #[arg(long)]
    work_dir: Option<PathBuf>,
}

/// Works until it is ended.
pub async fn run(args: Args) -> Result<()> {
    let program = redline(args.redline);
    let found = std::process::Command::new(&program).arg("--version").output();
    let found = found.with_context(|| format!("{}: could not be started; name it with --redline", program.display()))?;
    anyhow::ensure!(found.status.success(), "{}: is no redline program; name it with --redline", program.display());
    reachable(args.scheduler)?;
    let mut registry = BallistaFunctionRegistry::default();
    let udf = Arc::new(function::udf(Some(program)));
    registry.scalar_functions.insert(udf.name().to_owned(), udf);
    let spill = args.work_dir.as_ref().map(|d| d.display().to_string());
    let config = ExecutorProcessConfig {
        bind_host: args.listen.ip().to_string(),
        external_host: Some(args.listen.ip().to_string()),
        port: args.listen.port(),
        grpc_port: args.listen.port().checked_add(1).context("--listen: the port has no next one")?,
        scheduler_host: args.scheduler.ip().to_string(),
        scheduler_port: args.scheduler.port(),
        scheduler_connect_timeout_seconds: 30,
        vcores: args.jobs.max(1),
        work_dir: args.work_dir.map(|d| d.display().to_string()),
        executor_heartbeat_interval_seconds: 2,
        override_function_registry: Some(Arc::new(registry)),
        override_config_producer: Some(Arc::new(client::config)),
        override_runtime_producer: Some(Arc::new(move |_| stores::runtime_in(spill.as_deref()))),
        override_logical_codec: Some(shares::logical()),
        override_physical_codec: Some(shares::physical()),
        ..ExecutorProcessConfig::default()
    };
    start_executor_process(Arc::new(config)).await.with_context(|| format!("the worker at {} ended", args.listen))
}

/// Waits until something listens at the scheduler's address.
fn reachable(scheduler: SocketAddr) -> Result<()> {
    let began = Instant::now();
    while let Err(e) = TcpStream::connect_timeout(&scheduler, Duration::from_secs(2)) {
        let patience = began.elapsed() < WAIT;
        anyhow::ensure!(
            patience,
            "{scheduler}: no scheduler after {} s ({e}); start it first: redline-cluster scheduler --listen {scheduler}",
            WAIT.as_secs()
        );
        std::thread::sleep(Duration::from_millis(500));
    }
    Ok(())
}
