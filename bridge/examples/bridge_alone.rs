//! The bridge without a recorder, for trying plug-ins: `bridge_alone DIR BRIDGE_FILE`; ends at end of input.

use redline_bridge::{Bridge, Wants};
use redline_schemas::SessionDir;
use std::time::Instant;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args_os().skip(1);
    let (Some(dir), Some(file)) = (args.next(), args.next()) else { return Err("usage: bridge_alone DIR BRIDGE_FILE".into()) };
    std::fs::create_dir_all(&dir)?;
    let origin = Instant::now();
    let bridge = Bridge::start(
        SessionDir::new(dir),
        file.into(),
        Wants::default(),
        move || origin.elapsed().as_nanos() as i64,
        |c| eprintln!("{c:?}"),
    )?;
    println!("{}", bridge.address().url);
    std::io::copy(&mut std::io::stdin(), &mut std::io::sink())?;
    println!("{:?}", bridge.client());
    Ok(bridge.stop()?)
}
