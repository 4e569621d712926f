//! `herma blame`

use std::ops::RangeInclusive;
use std::path::PathBuf;

use clap::Args;
use herma_view::listing::counted;
use herma_view::past::lines::{blame_json, only, write_lines};

use crate::command_env::{CommandEnv, Outcome, Result};
use crate::render::authors::{explain_steps, no_such_file, warn_of_gaps};
use crate::render::project_json;

/// Show who wrote each line of a file
///
/// Shows the number of the change, agent, time, line number and line. `you` is a person, or a program no agent started
/// (`hand` in JSON); `earlier` is older than the oldest checkpoint with the file; `unattributed` was written while several
/// steps were under way.
/// What a restore or undo brought back keeps its author. The changes are explained on stderr.
#[derive(Args, Debug)]
pub(crate) struct BlameArgs {
    /// The file
    file: PathBuf,
    /// Only these lines: 5, 5-10, or 5,+3 (three lines from 5 on)
    #[arg(short = 'L', long = "lines", value_name = "LINES", value_parser = parse_lines)]
    lines: Option<Lines>,
    /// What an imported line says of it
    #[arg(long, value_name = "NAME")]
    line: Option<String>,
}

/// Some lines of a file, counted from 1.
type Lines = RangeInclusive<usize>;

/// Reads which lines are meant.
fn parse_lines(text: &str) -> std::result::Result<Lines, String> {
    let problem = || "it is written like 5, 5-10 or 5,+3".to_owned();
    let number = |digits: &str| digits.parse().ok().filter(|n: &usize| *n > 0).ok_or_else(problem);
    let (first, last) = match text.split_once([',', '-']) {
        None => (number(text)?, number(text)?),
        Some((first, last)) => match last.strip_prefix('+') {
            Some(count) => (number(first)?, number(first)?.saturating_add(number(count)? - 1)),
            None => (number(first)?, number(last)?),
        },
    };
    if first <= last { Ok(first..=last) } else { Err(problem()) }
}

pub(crate) fn cmd_blame(env: &CommandEnv, args: &BlameArgs) -> Result<Outcome> {
    let project = env.open_line(args.line.as_deref())?;
    let path = project.rel_path(&env.absolute(&args.file))?;
    let blame = env.ui.during(|progress| project.blame(&path, progress));
    let mut blame = blame.map_err(|error| no_such_file(&project, &path, error))?;
    let all = blame.lines.len();
    let first = args.lines.as_ref().map_or(1, |lines| *lines.start());
    if let Some(lines) = &args.lines {
        only(&mut blame, lines);
    }
    let outcome = warn_of_gaps(env, &project)?;
    let json = || blame_json(project_json(&project), &path, &blame, first);
    env.ui.answer(json, |out| write_lines(out, &env.ui, &blame, first))?;
    explain_steps(&env.ui, &project, &blame.steps)?;
    match all {
        0 => env.ui.status("The file is empty."),
        _ if blame.lines.is_empty() => {
            env.ui.status(format_args!("The file has {}.", counted(all, "line")));
        }
        _ => {}
    }
    Ok(outcome)
}
