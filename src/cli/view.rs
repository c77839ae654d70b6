//! `redline view`: the replay page of a session.

use super::{Context, CorpusArg};
use anyhow::bail;
use redline_schemas::{EditId, RequestId, RunId};
use redline_view::{Replay, What, serve};

#[derive(clap::Args)]
pub struct Args {
    /// A request's, an edit's or a run's id
    session: String,
    /// The port on this machine [default: a free one]
    #[arg(long, default_value_t = 0)]
    port: u16,
    #[command(flatten)]
    corpus: CorpusArg,
}

pub fn run(ctx: &Context, args: Args) -> anyhow::Result<()> {
    let corpus = args.corpus.open()?;
    let (request, edit, run) = (RequestId::new(&args.session)?, EditId::new(&args.session)?, RunId::new(&args.session)?);
    let mut found = Vec::new();
    found.extend(corpus.request_dir(&request).request_json().exists().then_some(What::Request(request)));
    found.extend(corpus.edit_dir(&edit).edit_json().exists().then_some(What::Edit(edit)));
    found.extend(corpus.run_dir(&run).run_json().exists().then_some(What::Run(run)));
    let what = match (found.pop(), found.is_empty()) {
        (Some(what), true) => what,
        (Some(_), false) => bail!("{}: there are several sessions of this id, among requests, edits and runs", args.session),
        (None, _) => {
            let message = format!("no request, no edit and no run “{}” in it", args.session);
            return Err(redline_schemas::Error::Missing { path: corpus.root().into(), message }.into());
        }
    };
    let replay = Replay::load(&corpus, &what)?;
    let json = ctx.json;
    Ok(serve(replay, args.port, |address| {
        if json {
            println!("{}", serde_json::json!({ "address": address }));
        } else {
            eprintln!("Open this in a browser; Ctrl-C ends it.");
            println!("{address}");
        }
    })?)
}
