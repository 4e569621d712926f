//! `herma checkpoints repair`

use herma_view::store::repair::{repair_json, write_done};
use herma_view::store::verify::write_findings;

use crate::command_env::{CommandEnv, Outcome, Result};

pub(super) fn cmd_repair(env: &CommandEnv) -> Result<Outcome> {
    let repaired = env.ui.during(|progress| env.engine.repair(progress))?;
    let is_whole = repaired.after.is_whole();
    let outcome = if is_whole { Outcome::Done } else { Outcome::Damaged };
    env.ui.answer(
        || repair_json(&repaired),
        |out| {
            write_done(out, &repaired)?;
            write_findings(out, &repaired.after)?;
            Ok(())
        },
    )?;
    if !is_whole {
        env.ui.hint("`herma drop` removes a checkpoint that stays damaged.");
    }
    Ok(outcome)
}
