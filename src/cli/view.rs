//! `redline view`: the replay page of a session.

use super::{Context, CorpusArg};
use anyhow::bail;
use redline_schemas::{EditId, RequestId};
use redline_view::{Replay, What, serve};

#[derive(clap::Args)]
pub struct Args {
    /// A request's or an edit's id
    session: String,
    /// The port on this machine [default: a free one]
    #[arg(long, default_value_t = 0)]
    port: u16,
    #[command(flatten)]
    corpus: CorpusArg,
}

pub fn run(ctx: &Context, args: Args) -> anyhow::Result<()> {
    let corpus = args.corpus.open()?;
    let (request, edit) = (RequestId::new(&args.session)?, EditId::new(&args.session)?);
    let what = match (corpus.request_dir(&request).request_json().exists(), corpus.edit_dir(&edit).edit_json().exists()) {
        (true, false) => What::Request(request),
        (false, true) => What::Edit(edit),
        (true, true) => bail!("{}: there is a request and an edit of this id", args.session),
        (false, false) => {
            let message = format!("no request and no edit “{}” in it", args.session);
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
