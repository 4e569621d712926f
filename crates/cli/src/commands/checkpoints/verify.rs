//! `herma checkpoints verify`

use clap::Args;
use herma_core::VerifyOptions;
use herma_view::store::verify::{verify_json, write_findings};

use super::require_store;
use crate::command_env::{CommandEnv, Outcome, Result};

/// Check that every checkpoint can be brought back, and name what cannot
///
/// Reads every commit and directory and looks up every file. Exits 12 when something is damaged; what is not named is whole.
#[derive(Args, Debug)]
pub(super) struct VerifyArgs {
    /// Read every file and compare it with its hash
    #[arg(long)]
    read_data: bool,
}

pub(super) fn cmd_verify(env: &CommandEnv, args: &VerifyArgs) -> Result<Outcome> {
    require_store(env)?;
    let options = VerifyOptions { read_data: args.read_data, project: None };
    let verified = env.ui.during(|progress| env.engine.verify(&options, progress))?;
    env.warn_of_purge()?;
    let outcome = if verified.is_whole() { Outcome::Done } else { Outcome::Damaged };
    env.ui.answer(|| verify_json(&verified), |out| write_findings(out, &verified))?;
    if outcome == Outcome::Damaged {
        env.ui.hint("`herma checkpoints repair` mends what can be mended.");
    }
    Ok(outcome)
}
