//! Redline's work on one session as a function of the engine: `redline_session(job, id)`.

use crate::job::{Job, Outcome};
use datafusion::arrow::array::{Array, ArrayRef, AsArray, StringArray};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{Result, exec_err};
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

/// The function's name in plans.
pub const NAME: &str = "redline_session";
/// How often a session is tried.
const ATTEMPTS: u32 = 3;
/// Bytes of an error message that are kept.
const MESSAGE: usize = 2_000;

/// The function; without a program it can be planned with, not run.
pub fn udf(program: Option<PathBuf>) -> ScalarUDF {
    ScalarUDF::from(SessionFunction { program, signature: Signature::exact(vec![DataType::Utf8, DataType::Utf8], Volatility::Volatile) })
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct SessionFunction {
    program: Option<PathBuf>,
    signature: Signature,
}

impl ScalarUDFImpl for SessionFunction {
    fn name(&self) -> &str {
        NAME
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let Some(program) = &self.program else { return exec_err!("{NAME} runs in workers only") };
        let columns = ColumnarValue::values_to_arrays(&args.args)?;
        let [jobs, ids] = &columns[..] else { return exec_err!("{NAME} takes a job and a session") };
        let (jobs, ids) = (jobs.as_string::<i32>(), ids.as_string::<i32>());
        let mut out = Vec::with_capacity(ids.len());
        for i in 0..ids.len() {
            let Ok(job) = serde_json::from_str::<Job>(jobs.value(i)) else {
                return exec_err!("{NAME}: the job is not one of this version");
            };
            let outcome = work(program, &job, ids.value(i));
            out.push(serde_json::to_string(&outcome).ok());
        }
        let out: ArrayRef = Arc::new(StringArray::from(out));
        Ok(ColumnarValue::Array(out))
    }
}

/// Does a session's work; a failure is told, not raised, so that the others go on.
fn work(program: &Path, job: &Job, id: &str) -> Outcome {
    // A task that is given out again, since its worker was lost, need not repeat what was finished.
    if let Some(done) = job.outcome(id).filter(|o| o.error.is_none()) {
        return done;
    }
    let mut error = None;
    let mut attempts = 0;
    while attempts < ATTEMPTS {
        attempts += 1;
        match once(program, job, id) {
            Ok(()) => {
                error = None;
                break;
            }
            Err(e) => error = Some(e),
        }
    }
    let outcome = Outcome { id: id.to_owned(), attempts, error };
    if let Err(e) = job.keep(&outcome) {
        tracing::warn!("{id}: what became of it could not be noted: {e}");
    }
    outcome
}

fn once(program: &Path, job: &Job, id: &str) -> Result<(), String> {
    let mut c = Command::new(program);
    c.arg(job.verb.name()).arg(id).arg("--corpus").arg(&job.corpus).args(&job.options);
    let out = c.stdin(Stdio::null()).stdout(Stdio::null()).output().map_err(|e| format!("{}: {e}", program.display()))?;
    if out.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&out.stderr);
    let said = said.trim();
    let from = said.char_indices().rev().nth(MESSAGE).map_or(0, |(i, _)| i);
    Err(format!("{}: {}", out.status, &said[from..]))
}
