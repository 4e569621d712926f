//! `herma checkpoints import-legacy`

use std::io::Write;

use clap::Args;
use herma_core::{ImportOptions, Imported};
use herma_store::path::escape;
use herma_view::json::{PathJson, Serialize, list, object};
use herma_view::listing::counted;
use herma_view::store::place;

use crate::command_env::{CommandEnv, Outcome, Result};
use crate::terminal::shown;

/// Import the history of repositories from before the single store
///
/// Only reads the repositories in legacy archives and beside the store. What the store has already is skipped.
#[derive(Args, Debug)]
pub(super) struct ImportLegacyArgs {
    /// Pin what is imported, so that no limit removes it
    #[arg(long)]
    pin: bool,
}

fn repository_json(imported: &Imported) -> impl Serialize {
    let archive = imported.archive.as_ref();
    object! {
        archive: archive.map(PathJson::of),
        project: imported.project.to_string(),
        workdir: imported.workdir.as_deref().map(PathJson::of),
        checkpoints: imported.checkpoints,
        skipped: imported.skipped,
        lost: imported.lost,
        problem: imported.problem.clone(),
    }
}

pub(super) fn cmd_import_legacy(env: &CommandEnv, args: &ImportLegacyArgs) -> Result<Outcome> {
    let options = ImportOptions { pin: args.pin };
    let all = env.ui.during(|progress| env.engine.import_legacy(&options, progress))?;
    let is_whole = all.iter().all(|one| one.problem.is_none() && one.lost == 0);
    let outcome = if is_whole { Outcome::Done } else { Outcome::LeftOut };
    if env.ui.json {
        env.ui.write_json(&object! {
            schema: "herma.checkpoints-import-legacy/1",
            repositories: list(all.iter().map(repository_json)),
        })?;
        return Ok(outcome);
    }
    let mut out = env.ui.data();
    if !all.iter().any(is_repository) {
        writeln!(out, "No repositories of version 1 to import.")?;
    }
    for one in all.iter().filter(|one| is_repository(one)) {
        let of = place(one.workdir.as_deref(), &one.project);
        let count = counted(one.checkpoints, "checkpoint");
        writeln!(out, "{of}: {count} imported, {} already there", one.skipped)?;
    }
    out.finish()?;
    for one in &all {
        if let Some(problem) = &one.problem {
            let of = place(one.workdir.as_deref(), &one.project);
            let problem = escape(problem.as_bytes());
            if is_repository(one) {
                let lost = counted(one.lost, "checkpoint");
                env.ui.warning(format_args!(
                    "{of}: at least {lost} could not be brought in: {problem}"
                ));
            } else {
                let archive = one.archive.as_deref().map(shown);
                let place = archive.unwrap_or_else(|| "beside the store".to_owned());
                env.ui.warning(format_args!("{of} ({place}) was skipped: {problem}"));
            }
        }
    }
    if all.iter().any(is_repository) && !args.pin {
        env.ui.hint("Cleaning treats them like any other; `--pin` keeps them for good.");
    }
    Ok(outcome)
}

/// Was there anything to bring in? What is a link, or no repository, is only named.
fn is_repository(one: &Imported) -> bool {
    one.problem.is_none() || one.checkpoints + one.skipped + one.lost > 0
}
