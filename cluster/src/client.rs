//! The way to a scheduler: a session whose queries run on its workers.

use crate::{function, shares, stores};
use anyhow::{Context, Result};
use ballista::prelude::SessionContextExt as _;
use ballista_core::extension::SessionConfigExt as _;
use datafusion::execution::SessionStateBuilder;
use datafusion::prelude::{SessionConfig, SessionContext};
use std::net::SocketAddr;

/// What all processes agree on.
pub fn config() -> SessionConfig {
    SessionConfig::new_with_ballista()
        .with_ballista_logical_extension_codec(shares::logical())
        .with_ballista_physical_extension_codec(shares::physical())
}

/// A session at the scheduler that splits its work into so many pieces where the plan does not say it.
pub async fn connect(scheduler: SocketAddr, pieces: usize) -> Result<SessionContext> {
    let state = SessionStateBuilder::new()
        .with_config(config().with_target_partitions(pieces.max(1)))
        .with_runtime_env(stores::runtime()?)
        .with_default_features()
        .build();
    let url = format!("df://{scheduler}");
    let ctx = SessionContext::remote_with_state(&url, state).await.with_context(|| format!("no scheduler at {scheduler}"))?;
    ctx.register_udf(function::udf(None));
    Ok(ctx)
}
