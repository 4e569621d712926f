//! `herma checkpoints status`

use clap::Args;
use herma_core::types::settings::Keeping;
use herma_view::store::status::{status_json, write_status};

use crate::command_env::{CommandEnv, Outcome, Result};

/// How many projects are shown unless told otherwise.
const SHOWN: usize = 20;

/// Show what the store holds and what it costs
///
/// STATE is `live`, `orphan` (deleted), `away` (missing, but not proven deleted: its volume may not be mounted) or
/// `unknown` (nobody knows where it was). SIZE is what only that project's checkpoints hold.
#[derive(Args, Debug, Default)]
pub(super) struct StatusArgs {
    /// Show at most this many projects [default: 20]
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
}

pub(super) fn cmd_status(env: &CommandEnv, args: &StatusArgs) -> Result<Outcome> {
    let status = env.ui.during(|progress| env.engine.status(true, progress))?;
    let limit = args.limit.filter(|limit| *limit > 0).unwrap_or(SHOWN);
    let keeping =
        Keeping { max_total_size: Some(status.size_limit), ..env.engine.settings().keeping };
    env.ui.answer(
        || status_json(&status, &keeping),
        |out| {
            let now = env.now().as_float();
            write_status(out, (&status, &keeping), (limit, env.ui.width), now)
        },
    )?;
    Ok(Outcome::Done)
}
