//! `herma import`

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use herma_core::{Line, Project};
use herma_view::json::{Serialize, lazy_object, list, object};
use herma_view::listing::counted;

use crate::command_env::{CommandEnv, CommandError, Outcome, Result};
use crate::render::project_json;
use crate::terminal::time;

/// Take in checkpoints from a file that `herma export` wrote
///
/// They become a line of their own, read-only and beside this project's checkpoints, which keep their numbers: `13@NAME` is
/// its row 13, for `show`, `diff` and `restore`. The file is checked whole first; one that is damaged or crafted changes
/// nothing. Cleaning never drops a line.
#[derive(Args, Debug)]
pub(crate) struct ImportArgs {
    /// The file
    #[arg(required_unless_present_any = ["list", "remove"])]
    file: Option<PathBuf>,
    /// What to call the line [default: made of the file's name]
    #[arg(long, value_name = "NAME", requires = "file")]
    name: Option<String>,
    /// List the lines of this project
    #[arg(long, conflicts_with_all = ["file", "remove"])]
    list: bool,
    /// Remove a line
    #[arg(long, value_name = "NAME", conflicts_with = "file")]
    remove: Option<String>,
}

pub(crate) fn cmd_import(env: &CommandEnv, args: &ImportArgs) -> Result<Outcome> {
    let project = env.open_project()?;
    match (&args.file, &args.remove) {
        (Some(file), _) => import(env, &project, &env.absolute(file), args.name.as_deref()),
        (None, Some(name)) => remove(env, &project, name),
        (None, None) => list_lines(env, &project),
    }
}

fn import(
    env: &CommandEnv,
    project: &Project,
    file: &std::path::Path,
    name: Option<&str>,
) -> Result<Outcome> {
    let imported = env.ui.during(|progress| project.import(file, name, progress));
    let imported =
        imported.map_err(|error| CommandError::from(error).with_state("Nothing was changed."))?;
    let line = &imported.line;
    env.ui.answer_json(lazy_object! {
        schema: "herma.import/1",
        project: project_json(project),
        was_there: imported.was_there,
        steps: imported.steps,
        lines: vec![line_json(line)],
    })?;
    let (name, rows) = (&line.name, counted(line.numbers.len(), "checkpoint"));
    if imported.was_there {
        env.ui.status(format_args!("The line `{name}` is here already: nothing was changed."));
    } else {
        env.ui.status(format_args!("{rows} came in as the line `{name}`: {}.", numbers(line)));
    }
    if let Some(newest) = line.numbers.last() {
        env.ui.hint(format_args!(
            "`herma show {newest}@{name}` shows one, `herma restore {newest}@{name}` brings it here."
        ));
    }
    Ok(Outcome::Done)
}

fn remove(env: &CommandEnv, project: &Project, name: &str) -> Result<Outcome> {
    let removed = project.remove_line(name);
    let removed =
        removed.map_err(|error| CommandError::from(error).with_state("Nothing was removed."))?;
    let left = project.lines()?;
    env.ui.answer_json(lazy_object! {
        schema: "herma.import/1",
        project: project_json(project),
        removed: line_json(&removed),
        lines: list(left.iter().map(line_json)),
    })?;
    let rows = counted(removed.numbers.len(), "checkpoint");
    env.ui.status(format_args!("The line `{}` with {rows} was removed.", removed.name));
    env.ui.hint("`herma checkpoints gc` frees what only it needed.");
    Ok(Outcome::Done)
}

fn list_lines(env: &CommandEnv, project: &Project) -> Result<Outcome> {
    let lines = project.lines()?;
    let json = lazy_object! {
        schema: "herma.import/1",
        project: project_json(project),
        lines: list(lines.iter().map(line_json)),
    };
    env.ui.answer(json, |out| {
        for line in &lines {
            let rows = counted(line.numbers.len(), "checkpoint");
            let when = time::age(line.imported, env.now());
            let state = if line.complete { "" } else { "; its import was interrupted" };
            writeln!(out, "{}  {rows} ({}), imported {when}{state}", line.name, numbers(line))?;
        }
        Ok(())
    })?;
    if lines.is_empty() {
        env.ui.status("Nothing was imported into this project.");
    }
    if lines.iter().any(|line| !line.complete) {
        env.ui.hint("Import the file again to finish it, or `herma import --remove NAME`.");
    }
    Ok(Outcome::Done)
}

/// From the lowest number to the highest.
fn numbers(line: &Line) -> String {
    match line.numbers[..] {
        [] => "none".to_owned(),
        [only] => format!("{only}@{}", line.name),
        [first, .., last] => format!("{first}@{0} to {last}@{0}", line.name),
    }
}

fn line_json(line: &Line) -> impl Serialize + use<> {
    object! {
        name: line.name.clone(),
        id: line.id.to_string(),
        numbers: line.numbers.clone(),
        imported: line.imported,
        complete: line.complete,
    }
}
