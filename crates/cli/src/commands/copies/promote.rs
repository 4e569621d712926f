//! `herma promote`: what was changed in a copy comes into the project.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use herma_core::copies::{CopyRecord, KnownCopy, Promote, PromotePlan, Promoted};
use herma_core::restore::KeptWhy;
use herma_core::{Project, RelPath};
use herma_reversal::{Conflict, ConflictWhy, Conflicts, Decided, Outcome as Becomes};
use herma_view::here;
use herma_view::json::{PathJson, Serialize, checkpoint_json, list, object};
use herma_view::listing::counted;

use crate::command_env::{CommandEnv, CommandError, Outcome, Result};
use crate::commands::copies::known;
use crate::commands::going_back::restore::with_state_of_files;
use crate::render::patch_choice::write_preview;
use crate::render::project_json;
use crate::render::restore_report::print_files;
use crate::terminal::{Ui, quote, shown};

/// Bring in what was changed in a copy
///
/// COPY is a directory that `herma open` or `herma try` made, or the number of one of the last tries. What was changed there since it
/// was opened is merged with the present, as one change, which `herma undo` undoes. The present is saved first; the copy
/// stays. A file in which the same lines were changed here, too, is left as it is and named.
#[derive(Args, Debug)]
pub(crate) struct PromoteArgs {
    /// The copy: its directory, or the number of a try
    #[arg(value_name = "COPY")]
    copy: OsString,
    /// What to do where the same or adjacent lines were changed here, too
    #[arg(long, value_name = "HOW", value_enum, default_value = "leave")]
    conflicts: Conflicting,
    /// Only print what would be done
    #[arg(long)]
    dry_run: bool,
    /// Only these files and directories
    #[arg(value_name = "PATH", last = true)]
    paths: Vec<PathBuf>,
}

/// What to do about conflicts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Conflicting {
    /// Leave files with conflicts as they are
    Leave,
    /// Bring in what can be, keep the lines in conflict as they are now
    Ours,
    /// Bring in everything, over what was changed here
    Theirs,
    /// Bring in what can be, write both versions of the lines in conflict between markers
    Markers,
}

impl From<Conflicting> for Conflicts {
    fn from(conflicting: Conflicting) -> Self {
        match conflicting {
            Conflicting::Leave => Self::Leave,
            Conflicting::Ours => Self::Ours,
            Conflicting::Theirs => Self::Theirs,
            Conflicting::Markers => Self::Markers,
        }
    }
}

pub(crate) fn cmd_promote(env: &CommandEnv, args: &PromoteArgs) -> Result<Outcome> {
    let copies = env.engine.copies()?;
    let number = args.copy.to_str().and_then(|text| text.parse::<u32>().ok());
    let (project, copy) = if let Some(number) = number {
        let project = env.open_project()?;
        let copy = attempt(&copies, &project, number)?;
        (project, copy)
    } else {
        // A copy knows what it was made of, wherever somebody is.
        let copy = known::find(env, &copies, Path::new(&args.copy))?;
        (env.engine.project(&copy.of())?, copy)
    };
    let asked = Promote {
        copy: copy.clone(),
        paths: env.project_paths(&project, &args.paths)?,
        conflicts: args.conflicts.into(),
    };
    if args.dry_run {
        let plan = env.ui.during(|progress| project.plan_promote(&asked, progress));
        let plan = plan.map_err(|error| with_state_of_files(&project, error))?;
        return report(env, (&project, &asked), &plan, None);
    }
    let promoted = env.ui.during(|progress| project.promote(&asked, progress));
    let promoted = promoted.map_err(|error| with_state_of_files(&project, error))?;
    report(env, (&project, &asked), &promoted.plan, Some(&promoted))
}

/// The copy of that number among those of the project's last tries.
fn attempt<'c>(copies: &'c [KnownCopy], project: &Project, number: u32) -> Result<&'c CopyRecord> {
    let of_project = |copy: &&KnownCopy| copy.record.of() == project.root();
    let tries = || copies.iter().filter(of_project).filter_map(|c| Some((c, c.record.attempt?)));
    let batch = tries().map(|(_, attempt)| attempt.batch).max();
    let mut last = tries().filter(|(_, attempt)| Some(attempt.batch) == batch);
    let found = last.find(|(_, attempt)| attempt.index == number);
    found.map(|(copy, _)| &copy.record).ok_or_else(|| {
        CommandError::usage(format!("there is no try {number} of this project"))
            .with_state("Nothing was changed.")
            .with_hint("`herma open --list` lists the copies there are.")
    })
}

fn report(
    env: &CommandEnv,
    (project, asked): (&Project, &Promote),
    plan: &PromotePlan,
    promoted: Option<&Promoted>,
) -> Result<Outcome> {
    if env.ui.json {
        env.ui.write_json(&to_json(project, asked, plan, promoted))?;
        return Ok(outcome(plan, promoted));
    }
    let restored = promoted.and_then(|promoted| promoted.restored.as_deref());
    match (promoted, restored) {
        (None, _) => write_preview(&env.ui, &project.preview_promote(plan)?)?,
        (_, Some(restored)) => print_files(&env.ui, (&restored.plan, &restored.kept), false)?,
        _ => {}
    }
    tell(&env.ui, plan);
    let what = in_words(&asked.copy);
    let count = counted(plan.reversed.changes.len(), "path");
    match (promoted, restored) {
        _ if plan.reversed.changes.is_empty() => {
            let why =
                if plan.reversed.conflicts.is_empty() { "is here already" } else { "stays there" };
            env.ui.status(format_args!("Nothing was changed: what {what} changed {why}."));
        }
        (None, _) | (_, None) => {
            env.ui.status(format_args!(
                "Promoting {what} would change {count}. Nothing was changed."
            ));
        }
        (_, Some(restored)) => {
            let number = restored.number.map(|number| format!(" as change {number}"));
            env.ui.status(format_args!(
                "Promoted {what}{}: {} written, {} deleted.",
                number.unwrap_or_default(),
                counted(restored.written, "file"),
                restored.removed,
            ));
            env.ui.status("`herma undo` undoes it.");
        }
    }
    Ok(outcome(plan, promoted))
}

fn in_words(copy: &CopyRecord) -> String {
    match copy.attempt {
        Some(attempt) => format!("try {}", attempt.index),
        None => quote(&shown(copy.path())),
    }
}

/// Names what was merged, what stays, and why.
fn tell(ui: &Ui, plan: &PromotePlan) {
    let reversed = &plan.reversed;
    if !reversed.merged.is_empty() {
        let merged = reversed.merged.iter().map(here::path);
        ui.status_of("Merged with what was changed here:", merged, "--json");
    }
    if !reversed.kept.is_empty() {
        let kept = reversed.kept.iter();
        let kept = kept.map(|(path, reason)| format!("{} ({})", here::path(path), reason.word()));
        ui.status_of("Not touched, because checkpoints leave them out:", kept, "--json");
    }
    if !plan.unsaved.is_empty() {
        let only = plan.unsaved.iter();
        let only = only.map(|(path, reason)| format!("{} ({})", here::path(path), reason.word()));
        ui.status_of("Only in the copy, because no checkpoint holds them:", only, "--json");
    }
    let those = |left: bool| {
        let conflicts = reversed.conflicts.iter();
        conflicts.filter(move |conflict| (conflict.decided == Decided::Left) == left)
    };
    let decided = those(false);
    let decided: Vec<String> = decided
        .map(|c| format!("{} ({}): {}", here::path(&c.path), c.decided.word(), c.why.of_copy()))
        .collect();
    if !decided.is_empty() {
        ui.status_of("Conflicts that were decided:", decided.into_iter(), "--json");
    }
    let left: Vec<&Conflict> = those(true).collect();
    if left.is_empty() {
        return;
    }
    let are = if left.len() == 1 { "it is" } else { "they are" };
    ui.warning(format_args!("{} left as {are}:", counted(left.len(), "conflict")));
    let lines: Vec<String> =
        left.iter().map(|c| format!("{}: {}", here::path(&c.path), c.why.of_copy())).collect();
    ui.name_some(lines.into_iter(), "--json");
    if left.iter().any(|c| matches!(c.why, ConflictWhy::Text { .. })) {
        ui.hint("The same command with `--conflicts=markers` writes both versions of these lines; `=ours` keeps what is here; `=theirs` takes the copy's.");
    } else {
        ui.hint("The same command with `--conflicts=theirs` takes the copy's version.");
    }
}

/// What could not be brought in makes it a partial success.
fn outcome(plan: &PromotePlan, promoted: Option<&Promoted>) -> Outcome {
    let restored = promoted.and_then(|promoted| promoted.restored.as_ref());
    let mut kept = restored.iter().flat_map(|restored| &restored.kept);
    let is_kept = kept.any(|kept| kept.why != KeptWhy::Asked);
    let reversed = &plan.reversed;
    let is_left = reversed.conflicts.iter().any(|conflict| conflict.decided == Decided::Left);
    let is_whole = reversed.kept.is_empty() && plan.unsaved.is_empty();
    if is_kept || is_left || !is_whole { Outcome::LeftOut } else { Outcome::Done }
}

fn to_json(
    project: &Project,
    asked: &Promote,
    plan: &PromotePlan,
    promoted: Option<&Promoted>,
) -> impl Serialize + use<> {
    let path = |path: &RelPath| PathJson::new(path.as_bytes());
    let reversed = &plan.reversed;
    let restored = promoted.and_then(|promoted| promoted.restored.as_ref());
    object! {
        schema: "herma.promote/1",
        project: project_json(project),
        copy: object! {
            #[serde(flatten)]
            root: PathJson::of(asked.copy.path()),
        },
        #[serde(rename = "try")]
        attempt: asked.copy.attempt.map(|attempt| attempt.index),
        dry_run: promoted.is_none(),
        state: checkpoint_json(&plan.state),
        changes: list(reversed.changes.iter().map(|(at, becomes)| object! {
            becomes: match becomes {
                Becomes::Gone => "gone",
                Becomes::File { .. } => "file",
                Becomes::Directory { .. } => "directory",
            },
            merged: reversed.merged.contains(at),
            #[serde(flatten)]
            path: path(at),
        })),
        conflicts: list(reversed.conflicts.iter().map(|conflict| object! {
            why: conflict.why.word(),
            text: conflict.why.of_copy(),
            decided: conflict.decided.word(),
            #[serde(flatten)]
            path: path(&conflict.path),
        })),
        kept: list(reversed.kept.iter().map(|(at, reason)| object! {
            reason: reason.word(),
            #[serde(flatten)]
            path: path(at),
        })),
        only_in_copy: list(plan.unsaved.iter().map(|(at, reason)| object! {
            reason: reason.word(),
            #[serde(flatten)]
            path: path(at),
        })),
        number: restored.and_then(|restored| restored.number),
        target: restored.map(|restored| checkpoint_json(&restored.target)),
        safety: restored.and_then(|restored| restored.safety.as_ref().map(checkpoint_json)),
        safety_is_new: restored.map(|restored| restored.safety_is_new),
        written: restored.map(|restored| restored.written),
        removed: restored.map(|restored| restored.removed),
    }
}
