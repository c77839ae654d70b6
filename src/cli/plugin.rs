//! `redline plugin`: installs the plug-ins of CAD programs. Their files are part of this program.

use super::Context;
use crate::exit::{Exit, WithExit as _};
use anyhow::{Context as _, anyhow};
use clap::{Subcommand, ValueEnum};
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Install a plug-in, or bring it up to date
    Install {
        /// The CAD program
        program: Program,
        /// The folder of its add-ons [default: the program’s own, of this user]
        #[arg(long, value_name = "DIR")]
        to: Option<PathBuf>,
    },
    /// Remove an installed plug-in
    Remove {
        /// The CAD program
        program: Program,
        /// The folder of its add-ons [default: the program’s own, of this user]
        #[arg(long, value_name = "DIR")]
        to: Option<PathBuf>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Program {
    /// FreeCAD 0.20 or later
    Freecad,
    /// Autodesk Fusion (never tried)
    Fusion,
}

/// The name of a plug-in's folder.
const FOLDER: &str = "Redline";

const CLIENT: (&str, &str) = ("redline_client.py", include_str!("../../recorder/plugins/common/redline_client.py"));

impl Program {
    fn files(self) -> Vec<(&'static str, &'static str)> {
        match self {
            Self::Freecad => vec![
                CLIENT,
                ("Init.py", include_str!("../../recorder/plugins/freecad/Init.py")),
                ("InitGui.py", include_str!("../../recorder/plugins/freecad/InitGui.py")),
                ("redline_observers.py", include_str!("../../recorder/plugins/freecad/redline_observers.py")),
            ],
            Self::Fusion => vec![
                CLIENT,
                ("Redline.py", include_str!("../../recorder/plugins/fusion/Redline.py")),
                ("Redline.manifest", include_str!("../../recorder/plugins/fusion/Redline.manifest")),
                ("README.md", include_str!("../../recorder/plugins/fusion/README.md")),
            ],
        }
    }

    /// Where the program looks for its user's add-ons.
    fn folder(self) -> anyhow::Result<PathBuf> {
        let var = |v: &str| std::env::var_os(v).filter(|d| !d.is_empty()).map(PathBuf::from);
        let home = || var("HOME").ok_or_else(|| anyhow!("HOME is not set: give the folder of add-ons with --to"));
        match self {
            Self::Freecad => {
                if let Some(d) = var("FREECAD_USER_DATA") {
                    return Ok(d.join("Mod"));
                }
                let data = if cfg!(target_os = "windows") {
                    var("APPDATA").ok_or_else(|| anyhow!("APPDATA is not set: give the folder of add-ons with --to"))?
                } else if cfg!(target_os = "macos") {
                    home()?.join("Library/Application Support")
                } else if let Some(d) = var("XDG_DATA_HOME") {
                    d
                } else {
                    home()?.join(".local/share")
                };
                let data = data.join("FreeCAD");
                // FreeCAD 1.1 keeps a folder for each of its versions.
                let of_version = std::fs::read_dir(&data).into_iter().flatten().flatten();
                let newest =
                    of_version.map(|e| e.path()).filter(|p| p.file_name().is_some_and(|n| n.to_string_lossy().starts_with("v1-"))).max();
                Ok(newest.unwrap_or(data).join("Mod"))
            }
            Self::Fusion => {
                let below = "Autodesk/Autodesk Fusion 360/API/AddIns";
                if cfg!(target_os = "windows") {
                    Ok(var("APPDATA").ok_or_else(|| anyhow!("APPDATA is not set: give the folder of add-ins with --to"))?.join(below))
                } else if cfg!(target_os = "macos") {
                    Ok(home()?.join("Library/Application Support").join(below))
                } else {
                    Err(anyhow!("Fusion does not run on this system: give the folder of add-ins with --to"))
                }
            }
        }
    }

    fn after(self) -> &'static str {
        match self {
            Self::Freecad => "Start FreeCAD anew; it needs nothing else.",
            Self::Fusion => "In Fusion, run “Redline” once under Utilities > Add-Ins. This plug-in was never tried: see its README.md.",
        }
    }
}

pub fn run(ctx: &Context, args: Args) -> anyhow::Result<()> {
    let (program, to, remove) = match args.what {
        What::Install { program, to } => (program, to, false),
        What::Remove { program, to } => (program, to, true),
    };
    let folder = match to {
        Some(d) => d,
        None => program.folder().exit(Exit::Input)?,
    }
    .join(FOLDER);
    if remove {
        take_away(program, &folder)?
    } else {
        install(program, &folder)?
    }
    if ctx.json {
        println!("{}", serde_json::json!({ "folder": folder, "installed": !remove }));
    } else {
        println!("{}", folder.display());
        if !remove {
            eprintln!("{}", program.after());
        }
    }
    Ok(())
}

fn install(program: Program, folder: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(folder).with_context(|| format!("{}: could not create the folder", folder.display()))?;
    for (name, text) in program.files() {
        redline_schemas::fsio::write_atomic(&folder.join(name), text.as_bytes())?;
    }
    Ok(())
}

/// Removes our own files, and the folder when nothing else is in it.
fn take_away(program: Program, folder: &Path) -> anyhow::Result<()> {
    if !folder.is_dir() {
        return Err(anyhow!("{}: no plug-in is installed there", folder.display())).exit(Exit::Input);
    }
    for (name, _) in program.files() {
        let file = folder.join(name);
        match std::fs::remove_file(&file) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
                return Err(e).with_context(|| format!("{}: could not remove", file.display()));
            }
            _ => {}
        }
    }
    let _ = std::fs::remove_dir_all(folder.join("__pycache__"));
    let _ = std::fs::remove_dir(folder);
    Ok(())
}
