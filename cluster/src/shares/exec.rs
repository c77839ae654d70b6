//! The plan node that makes shares, wherever the engine runs it.
//!
//! Below it lies a table in memory with a share's number a partition: of all leaves of a plan, Ballista gives a task only its own
//! partitions of those that it knows, and of any other all.

use super::{Shares, work};
use datafusion::arrow::array::{AsArray as _, RecordBatch, UInt64Array};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef, UInt64Type};
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{DataFusionError, Result, internal_err};
use datafusion::datasource::memory::MemorySourceConfig;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::stream::RecordBatchReceiverStream;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PlanProperties};
use futures::StreamExt as _;
use std::fmt;
use std::sync::Arc;
use tokio::runtime::Handle;

/// Batches that may wait for the next node.
const AHEAD: usize = 2;

/// Makes a partition a share.
#[derive(Debug)]
pub struct SharesExec {
    pub(super) shares: Shares,
    pub(super) projection: Option<Vec<usize>>,
    numbers: Arc<dyn ExecutionPlan>,
    schema: SchemaRef,
    properties: Arc<PlanProperties>,
}

impl SharesExec {
    /// These columns of the rows of all shares, or all columns.
    pub fn all(shares: Shares, projection: Option<Vec<usize>>) -> Result<Self> {
        let schema = Arc::new(Schema::new(vec![Field::new("share", DataType::UInt64, false)]));
        let number = |i: u64| Ok(vec![RecordBatch::try_new(Arc::clone(&schema), vec![Arc::new(UInt64Array::from(vec![i]))])?]);
        let partitions = (0..shares.count as u64).map(number).collect::<Result<Vec<_>>>()?;
        let numbers = MemorySourceConfig::try_new_exec(&partitions, Arc::clone(&schema), None)?;
        Self::over(shares, projection, numbers)
    }

    /// The same of the shares whose numbers `numbers` gives.
    pub(super) fn over(shares: Shares, projection: Option<Vec<usize>>, numbers: Arc<dyn ExecutionPlan>) -> Result<Self> {
        let mut schema = shares.schema().map_err(|e| DataFusionError::Plan(format!("{e:#}")))?;
        if let Some(p) = &projection {
            schema = Arc::new(schema.project(p)?);
        }
        let properties = PlanProperties::new(
            EquivalenceProperties::new(Arc::clone(&schema)),
            Partitioning::UnknownPartitioning(numbers.properties().output_partitioning().partition_count()),
            EmissionType::Incremental,
            Boundedness::Bounded,
        );
        Ok(Self { shares, projection, numbers, schema, properties: Arc::new(properties) })
    }
}

impl DisplayAs for SharesExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SharesExec: {} of {}, form={:?}", self.shares.count, self.shares.job, self.shares.form)
    }
}

impl ExecutionPlan for SharesExec {
    fn name(&self) -> &str {
        "SharesExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.numbers]
    }

    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![false]
    }

    fn apply_expressions(&self, _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn with_new_children(self: Arc<Self>, mut children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        match (children.pop(), children.pop()) {
            (Some(numbers), None) => Ok(Arc::new(Self::over(self.shares.clone(), self.projection.clone(), numbers)?)),
            _ => internal_err!("SharesExec has one child"),
        }
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let mut numbers = self.numbers.execute(partition, context)?;
        let mut stream = RecordBatchReceiverStream::builder(Arc::clone(&self.schema), AHEAD);
        let (out, shares, projection) = (stream.tx(), self.shares.clone(), self.projection.clone());
        // Files are read and parsed for as long as it takes: no work for the engine's own threads.
        let runtime = Handle::current();
        stream.spawn_blocking(move || {
            let mut each = |batch: RecordBatch| {
                let batch = match &projection {
                    Some(p) => batch.project(p)?,
                    None => batch,
                };
                // The receiver is gone when somebody gave up.
                out.blocking_send(Ok(batch)).map_err(|_| anyhow::anyhow!("nobody wants the rows any more"))
            };
            while let Some(batch) = runtime.block_on(numbers.next()).transpose()? {
                for i in batch.column(0).as_primitive::<UInt64Type>().values() {
                    work::share(&shares, *i as usize, &mut each).map_err(|e| DataFusionError::Execution(format!("{e:#}")))?;
                }
            }
            Ok(())
        });
        Ok(stream.build())
    }
}
