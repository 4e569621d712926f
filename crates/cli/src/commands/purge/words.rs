//! What a purge found and did, in words.

use std::io::Write;
use std::os::unix::ffi::OsStrExt;

use herma_core::engine::Project;
use herma_core::path::escape;
use herma_core::purge::CopyFound;
use herma_core::purge::PurgePlan;
use herma_core::purge::Purged;

use crate::command_env::CommandEnv;
use crate::command_error::CommandError;
use crate::listing::counted;
use crate::units::size;

/// Lists what goes, and where else its contents are.
pub(super) fn describe(
    env: &CommandEnv,
    project: &Project<'_>,
    plan: &PurgePlan,
) -> Result<(), CommandError> {
    let mut out = env.ui.data();
    for found in &plan.paths {
        let checkpoints = counted(found.checkpoints, "checkpoint");
        let versions = counted(found.contents, "version");
        match found.checkpoints {
            0 => writeln!(out, "{}: in no checkpoint", found.path)?,
            _ => writeln!(out, "{}: in {checkpoints}, {versions}", found.path)?,
        }
    }
    if plan.dropped > 0 {
        let versions = counted(plan.dropped, "version");
        writeln!(out, "{versions} left over from dropped checkpoints")?;
    }
    let is_own = |copy: &CopyFound| copy.project == *project.id();
    // A copy that goes, one that stays in this project, one that stays in another.
    let group_of = |copy: &CopyFound| match (copy.goes, is_own(copy)) {
        (true, _) => 0,
        (false, true) => 1,
        (false, false) => 2,
    };
    let headings = [
        "The same content, removed as well:",
        "The same content, which stays without `--copies`:",
        "The same content in other projects, which stays without `--everywhere`:",
    ];
    for (group, heading) in headings.into_iter().enumerate() {
        let belongs = |copy: &&CopyFound| group_of(copy) == group;
        let mut copies = plan.copies.iter().filter(belongs).peekable();
        if copies.peek().is_some() {
            writeln!(out, "{heading}")?;
        }
        for copy in copies {
            let checkpoints = counted(copy.checkpoints, "checkpoint");
            writeln!(out, "  {}: in {checkpoints}", place(project, copy))?;
        }
    }
    Ok(out.finish()?)
}

/// Where a copy is, as seen from this project.
fn place(project: &Project<'_>, copy: &CopyFound) -> String {
    if copy.project == *project.id() {
        return copy.path.to_string();
    }
    let owner = match &copy.workdir {
        Some(workdir) => escape(workdir.as_os_str().as_bytes()),
        None => format!("project {}", copy.project),
    };
    format!("{} of {owner}", copy.path)
}

/// What would happen, in one sentence without its end.
pub(super) fn would(plan: &PurgePlan) -> String {
    match (plan.checkpoints, plan.contents.len()) {
        (0, 0) => "nothing was found".to_owned(),
        (0, _) => "what dropped checkpoints left over would be removed".to_owned(),
        (checkpoints, _) => {
            let checkpoints = counted(checkpoints, "checkpoint");
            format!("something would be removed from {checkpoints}")
        }
    }
}

/// What the user has to know besides.
pub(super) fn warn(env: &CommandEnv, plan: &PurgePlan) {
    for path in &plan.still_present {
        env.ui.warning(format_args!(
            "{path} is still in the project and will be saved again"
        ));
    }
    if !plan.still_present.is_empty() {
        env.ui
            .detail("Delete it, or name it in `.hermaignore`, before the next save.");
    }
    if !plan.unreadable.is_empty() {
        let count = counted(plan.unreadable.len(), "checkpoint");
        env.ui
            .warning(format_args!("{count} could not be looked into:"));
        env.ui.name_some(
            plan.unreadable.iter().map(|name| escape(name.as_bytes())),
            "herma checkpoints verify",
        );
    }
    for path in &plan.not_searched {
        let path = escape(path.as_os_str().as_bytes());
        env.ui.warning(format_args!(
            "{path} beside the checkpoints was not searched, and stays as it is"
        ));
    }
}

/// What was done, and what could not be.
pub(super) fn done(env: &CommandEnv, purged: &Purged) {
    let plan = &purged.plan;
    if plan.is_empty() && purged.gone == 0 && purged.remaining.is_empty() {
        env.ui.status("Nothing was found. Nothing was changed.");
        return;
    }
    if plan.checkpoints > 0 {
        let held = counted(plan.checkpoints, "checkpoint");
        let renamed = counted(purged.rewritten.len(), "checkpoint");
        env.ui
            .status(format_args!("Removed from {held}; {renamed} got a new id."));
    }
    if purged.gone > 0 {
        let versions = counted(purged.gone, "version");
        let freed = size(purged.bytes_freed);
        env.ui.status(format_args!(
            "Checked: {versions} cannot be read from the store any more; {freed} freed."
        ));
    }
    if purged.remaining.is_empty() {
        return;
    }
    let versions = counted(purged.remaining.len(), "version");
    env.ui
        .warning(format_args!("still in the store: {versions}"));
    let why = if !purged.damaged.is_empty() {
        "Nothing is taken away while a checkpoint is damaged: `herma checkpoints repair`, or drop it, then run this again."
    } else if purged.postponed {
        "The store was in use all the time: run this again, or wait for the next cleaning."
    } else if purged.no_room {
        "The disk has no room to write the packs again without it: free some space and run this again."
    } else if purged.needed_by.is_empty() {
        "It is in a pack that is marked to be kept or cannot be read."
    } else {
        env.ui.name_some(
            purged.needed_by.iter().map(|name| escape(name.as_bytes())),
            "herma purge --json",
        );
        "Purge the other paths named above as well to be rid of it."
    };
    env.ui.detail(why);
}
