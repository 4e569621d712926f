//! `herma checkpoints`: the store as a whole, what it costs, and keeping it in order.

mod clear;
mod clear_legacy;
pub(crate) mod damage;
mod gc;
mod import_legacy;
mod prune;
mod repair;
mod status;
mod verify;

use clap::{Args, Subcommand};
use herma_core::Error;

use crate::command_env::{CommandEnv, CommandError, Kind, Outcome, Result};

/// Look after the store: what it holds, what it costs, cleaning and checking
///
/// Without a command, shows the status.
#[derive(Args, Debug)]
pub(crate) struct CheckpointsArgs {
    #[command(subcommand)]
    command: Option<CheckpointsCommand>,
}

#[derive(Subcommand, Debug)]
enum CheckpointsCommand {
    #[command(visible_alias = "list")]
    Status(status::StatusArgs),
    Prune(prune::PruneArgs),
    Clear(clear::ClearArgs),
    ClearLegacy(clear_legacy::ClearLegacyArgs),
    ImportLegacy(import_legacy::ImportLegacyArgs),
    Gc(gc::GcArgs),
    Verify(verify::VerifyArgs),
    /// Repair what is damaged, as far as possible
    ///
    /// Rebuilds indexes, refs and records, saves what is whole in damaged packs, brings packs back from the trash,
    /// and stores again what was lost and projects on disk still have. What is replaced is set aside in the store.
    /// Exits 12 when something stays damaged, and names it.
    Repair,
}

impl CheckpointsArgs {
    /// Would a mistake in the settings cost checkpoints?
    pub(crate) fn drops_by_settings(&self) -> bool {
        matches!(self.command, Some(CheckpointsCommand::Prune(_)))
    }
}

pub(crate) fn cmd_checkpoints(env: &CommandEnv, args: &CheckpointsArgs) -> Result<Outcome> {
    use CheckpointsCommand as Command;
    match &args.command {
        None => status::cmd_status(env, &status::StatusArgs::default()),
        Some(Command::Status(args)) => status::cmd_status(env, args),
        Some(Command::Prune(args)) => prune::cmd_prune(env, args),
        Some(Command::Clear(args)) => clear::cmd_clear(env, args),
        Some(Command::ClearLegacy(args)) => clear_legacy::cmd_clear_legacy(env, args),
        Some(Command::ImportLegacy(args)) => import_legacy::cmd_import_legacy(env, args),
        Some(Command::Gc(args)) => gc::cmd_gc(env, args),
        Some(Command::Repair) => repair::cmd_repair(env),
        Some(Command::Verify(args)) => verify::cmd_verify(env, args),
    }
}

/// For commands that have nothing to do without a store.
fn require_store(env: &CommandEnv) -> Result<()> {
    if env.engine.has_store()? {
        return Ok(());
    }
    Err(Error::NoStore(env.engine.store_dir()).into())
}

/// What comes of showing first what will be done. Nobody reading it stops nothing that needs no answer; with a
/// question to come, nothing is done, and that is no success.
fn shown_first(written: Result<()>, needs_no_answer: bool) -> Result<()> {
    match written {
        Err(error) if error.kind != Kind::BrokenPipe => Err(error),
        Err(_) if !needs_no_answer => {
            let error = CommandError::new(Kind::Failed, "nobody reads what would be removed");
            Err(error.with_state("Nothing was removed."))
        }
        _ => Ok(()),
    }
}
