//! `redline import harness`.

use super::{Context, CorpusArg};
use crate::exit::{Exit, WithExit as _, code_of, told};
use redline_dataset::import::{HarnessImport, HarnessOutcome, harness_folders};
use serde_json::json;
use std::path::PathBuf;

#[derive(clap::Args)]
pub struct Args {
    /// Folders that a harness wrote (a STEP file, settings.json, views), or folders of such folders
    #[arg(required = true, value_name = "DIR")]
    dirs: Vec<PathBuf>,
    #[command(flatten)]
    corpus: CorpusArg,
}

pub fn run(ctx: &Context, a: Args) -> anyhow::Result<()> {
    let corpus = a.corpus.open()?;
    let mut import = HarnessImport::new(&corpus)?;
    let (mut imported, mut known, mut failed) = (Vec::new(), Vec::new(), Vec::new());
    for dir in &a.dirs {
        let folders = match harness_folders(dir) {
            Ok(f) => f,
            Err(e) => {
                failed.push((dir.clone(), e.into()));
                continue;
            }
        };
        for folder in folders {
            match import.folder(&folder) {
                Ok(HarnessOutcome::Imported(e)) => imported.push(*e),
                Ok(HarnessOutcome::Known(edit)) => known.push((folder, edit)),
                Err(e) => failed.push((folder, anyhow::Error::from(e))),
            }
        }
    }
    for e in imported.iter().filter(|e| e.result && !e.missing_views.is_empty()) {
        eprintln!("{}: no view {}", e.folder.display(), e.missing_views.join(", "));
    }
    for e in imported.iter().filter(|e| e.cut_off) {
        eprintln!(
            "{}: the STEP file has no end (END-ISO-10303-21); taken as the agent left it. Cut off on its way here? Then remove edits/{} and import it whole",
            e.folder.display(),
            e.edit
        );
    }
    for (folder, edit) in &known {
        eprintln!("{}: passed over, it is edit {edit} already", folder.display());
    }
    for (folder, e) in &failed {
        // What went wrong elsewhere, as on a full disk, names another place.
        let (folder, why) = (folder.display().to_string(), told(e));
        let name = if why.contains(&folder) { String::new() } else { format!("{folder}: ") };
        eprintln!("not imported: {name}{why}");
    }
    if ctx.json {
        let known: Vec<_> = known.iter().map(|(folder, edit)| json!({ "folder": folder, "edit": edit })).collect();
        let failures: Vec<_> = failed.iter().map(|(folder, e)| json!({ "folder": folder, "error": told(e) })).collect();
        println!("{}", serde_json::to_string_pretty(&json!({ "imported": imported, "known": known, "failed": failures }))?);
    } else {
        imported.iter().for_each(|e| println!("{}", e.edit));
    }
    let full = failed.iter().any(|(_, e)| code_of(e) == Exit::Storage);
    match failed.len() {
        0 => Ok(()),
        n => Err(anyhow::anyhow!("{n} of {} folders were not imported", n + imported.len() + known.len())).exit(if full {
            Exit::Storage
        } else {
            Exit::Input
        }),
    }
}
