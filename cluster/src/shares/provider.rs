//! Shares as a table that queries can name.

use super::Shares;
use super::exec::SharesExec;
use async_trait::async_trait;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::{DataFusionError, Result};
use datafusion::logical_expr::{Expr, TableType};
use datafusion::physical_plan::ExecutionPlan;
use std::sync::Arc;

/// A table made of a job's shares.
#[derive(Debug)]
pub struct SharesTable {
    pub(super) shares: Shares,
    schema: SchemaRef,
}

impl SharesTable {
    /// The table of these shares.
    pub fn new(shares: Shares) -> Result<Self> {
        let schema = shares.schema().map_err(|e| DataFusionError::Plan(format!("{e:#}")))?;
        Ok(Self { shares, schema })
    }
}

#[async_trait]
impl TableProvider for SharesTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    async fn scan(&self, _: &dyn Session, projection: Option<&Vec<usize>>, _: &[Expr], _: Option<usize>) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(Arc::new(SharesExec::all(self.shares.clone(), projection.cloned())?))
    }
}
