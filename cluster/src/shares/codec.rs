//! How plans with shares travel: everything else is left to Ballista.

use super::exec::SharesExec;
use super::{Shares, SharesTable};
use ballista_core::serde::{BallistaLogicalExtensionCodec, BallistaPhysicalExtensionCodec};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::TableProvider;
use datafusion::common::{DataFusionError, Result, TableReference, internal_err};
use datafusion::datasource::file_format::FileFormatFactory;
use datafusion::execution::TaskContext;
use datafusion::logical_expr::{Extension, LogicalPlan};
use datafusion::physical_plan::ExecutionPlan;
use datafusion_proto::logical_plan::LogicalExtensionCodec;
use datafusion_proto::physical_plan::{PhysicalExtensionCodec, PhysicalProtoConverterExtension};
use std::any::Any;
use std::sync::Arc;

/// What shares begin with; a protocol buffer of Ballista's cannot.
const MARK: &[u8] = b"\xff\xffredline-shares-1";

/// For the client and the scheduler.
pub fn logical() -> Arc<dyn LogicalExtensionCodec> {
    Arc::new(Logical(BallistaLogicalExtensionCodec::default()))
}

/// For the scheduler and the workers.
pub fn physical() -> Arc<dyn PhysicalExtensionCodec> {
    Arc::new(Physical(BallistaPhysicalExtensionCodec::default()))
}

fn encode(value: &impl serde::Serialize, buf: &mut Vec<u8>) -> Result<()> {
    buf.extend_from_slice(MARK);
    serde_json::to_writer(buf, value).map_err(|e| DataFusionError::External(e.into()))
}

fn decode<T: serde::de::DeserializeOwned>(buf: &[u8]) -> Result<Option<T>> {
    let Some(rest) = buf.strip_prefix(MARK) else { return Ok(None) };
    let value = serde_json::from_slice(rest);
    value.map(Some).map_err(|e| DataFusionError::Execution(format!("the shares of a plan are not of this version: {e}")))
}

#[derive(Debug)]
struct Logical(BallistaLogicalExtensionCodec);

impl LogicalExtensionCodec for Logical {
    fn try_decode(&self, buf: &[u8], inputs: &[LogicalPlan], ctx: &TaskContext) -> Result<Extension> {
        self.0.try_decode(buf, inputs, ctx)
    }

    fn try_encode(&self, node: &Extension, buf: &mut Vec<u8>) -> Result<()> {
        self.0.try_encode(node, buf)
    }

    fn try_decode_table_provider(
        &self,
        buf: &[u8],
        table: &TableReference,
        schema: SchemaRef,
        ctx: &TaskContext,
    ) -> Result<Arc<dyn TableProvider>> {
        match decode::<Shares>(buf)? {
            Some(shares) => Ok(Arc::new(SharesTable::new(shares)?)),
            None => self.0.try_decode_table_provider(buf, table, schema, ctx),
        }
    }

    fn try_encode_table_provider(&self, table: &TableReference, node: Arc<dyn TableProvider>, buf: &mut Vec<u8>) -> Result<()> {
        match (node.as_ref() as &dyn Any).downcast_ref::<SharesTable>() {
            Some(t) => encode(&t.shares, buf),
            None => self.0.try_encode_table_provider(table, node, buf),
        }
    }

    fn try_decode_file_format(&self, buf: &[u8], ctx: &TaskContext) -> Result<Arc<dyn FileFormatFactory>> {
        self.0.try_decode_file_format(buf, ctx)
    }

    fn try_encode_file_format(&self, buf: &mut Vec<u8>, node: Arc<dyn FileFormatFactory>) -> Result<()> {
        self.0.try_encode_file_format(buf, node)
    }
}

#[derive(Debug)]
struct Physical(BallistaPhysicalExtensionCodec);

impl PhysicalExtensionCodec for Physical {
    fn try_decode(
        &self,
        buf: &[u8],
        inputs: &[Arc<dyn ExecutionPlan>],
        ctx: &TaskContext,
        converter: &dyn PhysicalProtoConverterExtension,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        match decode::<(Shares, Option<Vec<usize>>)>(buf)? {
            Some((shares, projection)) => match inputs {
                [numbers] => Ok(Arc::new(SharesExec::over(shares, projection, Arc::clone(numbers))?)),
                _ => internal_err!("SharesExec has one child"),
            },
            None => self.0.try_decode(buf, inputs, ctx, converter),
        }
    }

    fn try_encode(&self, node: Arc<dyn ExecutionPlan>, buf: &mut Vec<u8>, converter: &dyn PhysicalProtoConverterExtension) -> Result<()> {
        match node.downcast_ref::<SharesExec>() {
            Some(s) => encode(&(&s.shares, &s.projection), buf),
            None => self.0.try_encode(node, buf, converter),
        }
    }
}
