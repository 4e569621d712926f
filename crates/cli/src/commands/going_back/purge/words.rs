//! What a purge found and did, in words.

use std::ffi::OsStr;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use herma_core::Project;
use herma_core::purge::{CopyFound, PurgePlan, Purged};
use herma_view::listing::counted;
use herma_view::{here, store};

use super::texts;
use crate::command_env::{CommandEnv, Result};
use crate::commands::checkpoints::damage::name_all;
use crate::terminal::{escape, quote, shown, size};

/// Lists what goes, and where else its contents are.
pub(super) fn describe(env: &CommandEnv, project: &Project, plan: &PurgePlan) -> Result<()> {
    let mut out = env.ui.data();
    for found in &plan.paths {
        let checkpoints = counted(found.checkpoints, "checkpoint");
        let versions = counted(found.contents, "version");
        match found.checkpoints {
            0 => writeln!(out, "{}: in no checkpoint", here::path(&found.path))?,
            _ => writeln!(out, "{}: in {checkpoints}, {versions}", here::path(&found.path))?,
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
fn place(project: &Project, copy: &CopyFound) -> String {
    if copy.project == *project.id() {
        return here::path(&copy.path);
    }
    let owner = store::place(copy.workdir.as_deref(), &copy.project);
    format!("{} of {owner}", copy.path)
}

/// What would happen, in one sentence without its end.
pub(super) fn would(plan: &PurgePlan) -> String {
    match (plan.checkpoints, plan.contents.len()) {
        (0, 0) => "nothing was found".to_owned(),
        (0, contents) => {
            let versions = counted(contents, "version");
            format!("{versions} left over from dropped checkpoints would be removed")
        }
        // An empty file, a link or a nested repository has no content to be rid of.
        (checkpoints, 0) => {
            let checkpoints = counted(checkpoints, "checkpoint");
            format!("entries without content would be removed from {checkpoints}")
        }
        (checkpoints, contents) => {
            let versions = counted(contents, "version");
            let checkpoints = counted(checkpoints, "checkpoint");
            format!("{versions} would be removed from {checkpoints}")
        }
    }
}

/// What the user has to know besides.
pub(super) fn warn(env: &CommandEnv, project: &Project, plan: &PurgePlan) {
    for path in &plan.still_present {
        env.ui.warning(format_args!(
            "{} is still in the project and will be saved again",
            here::path(path)
        ));
    }
    if !plan.still_present.is_empty() {
        env.ui.detail("Delete it, or name it in `.hermaignore`, before the next save.");
    }
    let elsewhere = plan.copies.iter().filter(|copy| copy.goes && copy.still_present);
    for copy in elsewhere {
        env.ui.warning(format_args!(
            "{} is still on disk, and the next save there may save it again",
            place(project, copy)
        ));
    }
    if !plan.unreadable.is_empty() {
        let count = counted(plan.unreadable.len(), "checkpoint");
        env.ui.warning(format_args!("{count} could not be looked into:"));
        let names = name_all(env, &plan.unreadable);
        env.ui.name_some(names.into_iter(), "herma checkpoints verify");
    }
    for path in &plan.not_searched {
        let path = shown(path);
        env.ui.warning(format_args!(
            "{path} beside the checkpoints was not searched, and stays as it is"
        ));
    }
}

/// What was done, and what could not be.
pub(super) fn done(env: &CommandEnv, project: &Project, purged: &Purged) {
    let plan = &purged.plan;
    if plan.checkpoints > 0 {
        let held = counted(plan.checkpoints, "checkpoint");
        let renamed = counted(purged.rewritten.len(), "checkpoint");
        env.ui.status(format_args!("Removed from {held}; {renamed} got a new id."));
    }
    if purged.gone > 0 && purged.left_over.is_empty() {
        let versions = counted(purged.gone, "version");
        // A store may well be no smaller: new checkpoints take some room, too.
        let freed = match purged.bytes_freed {
            0 => String::new(),
            bytes => format!("; {} freed", size(bytes)),
        };
        env.ui.status(format_args!(
            "Checked: {versions} cannot be read from the store any more{freed}."
        ));
    }
    texts::tell(env, project);
    if !purged.remaining.is_empty() {
        let versions = counted(purged.remaining.len(), "version");
        env.ui.warning(format_args!("still in the store: {versions}"));
    }
    if !purged.left_over.is_empty() {
        env.ui.warning("these files may hold it, and had to stay:");
        let files = purged.left_over.iter();
        let files = files.map(shown);
        env.ui.name_some(files, "herma purge --json");
    }
    why_not_all(env, project, purged);
}

/// Why something is left, and what to do about it.
fn why_not_all(env: &CommandEnv, project: &Project, purged: &Purged) {
    if !purged.damaged.is_empty() {
        env.ui.warning("what these checkpoints need cannot all be read:");
        let names = name_all(env, &purged.damaged);
        env.ui.name_some(names.into_iter(), "herma checkpoints verify");
        env.ui.detail(
            "Until that is mended nothing is taken away that may hold it: `herma checkpoints repair`, or drop it, then run this again.",
        );
        return;
    }
    if purged.remaining.is_empty() && purged.left_over.is_empty() {
        return;
    }
    if purged.postponed {
        env.ui.detail("The store was in use all the time: run this again.");
    } else if purged.no_room {
        env.ui.detail(
            "The disk has no room to write the packs again without it: free some space and run this again.",
        );
    } else if purged.remaining.is_empty() {
        env.ui.detail("Another program may be writing them: run this again in a minute.");
    } else if purged.needed_by.is_empty() {
        env.ui.detail("It is in a pack that is marked to be kept or cannot be read.");
    } else {
        let names = name_all(env, &purged.needed_by);
        env.ui.name_some(names.into_iter(), "herma purge --json");
        how_to_purge_copies(env, project, &purged.plan);
    }
}

/// What to type to be rid of the copies that stayed.
fn how_to_purge_copies(env: &CommandEnv, project: &Project, plan: &PurgePlan) {
    let staying: Vec<&CopyFound> = plan.copies.iter().filter(|copy| !copy.goes).collect();
    if staying.is_empty() {
        env.ui.detail(
            "An interrupted purge was to remove it: run that one again. Refs that Herma did not make are left alone.",
        );
        return;
    }
    let is_gone = |copy: &CopyFound| !copy.workdir.as_deref().is_some_and(Path::is_dir);
    let (gone, there): (Vec<_>, Vec<_>) = staying.into_iter().partition(|copy| is_gone(copy));
    if !there.is_empty() {
        env.ui.detail("To be rid of it:");
        let commands = there.iter().map(|copy| command_for(project, copy));
        env.ui.name_some(commands, "herma purge --json");
    }
    if !gone.is_empty() {
        env.ui.detail(
            "A project that has it is gone: save the file here once more, then `herma purge --everywhere` finds it.",
        );
    }
}

/// The command that purges a copy, wherever it is typed.
fn command_for(project: &Project, copy: &CopyFound) -> String {
    let root = copy.workdir.as_deref().unwrap_or(project.root());
    let file = root.join(OsStr::from_bytes(copy.path.as_bytes()));
    let typed = |path: &Path| escape(quote(&path.to_string_lossy()).as_bytes());
    format!("herma --root {} purge {}", typed(root), typed(&file))
}
