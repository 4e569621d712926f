//! `herma blame`

use std::io::Write;
use std::ops::RangeInclusive;
use std::path::PathBuf;

use clap::Args;
use herma_core::steps::StepId;
use herma_core::{Blame, BlameLine};
use herma_view::authors::columns;
use herma_view::json::{PathJson, Serialize, lazy_object, list, object};
use herma_view::listing::{counted, in_columns};
use herma_view::patch_lines::visible;
use herma_view::steps::named_step_json;
use herma_view::time::at;
use herma_view::{authors, json};

use crate::command_env::{CommandEnv, Outcome, Result};
use crate::render::authors::{explain_steps, no_such_file, warn_of_gaps};
use crate::render::project_json;
use crate::terminal::{Label, Ui, time};

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
    let project = env.open_project()?;
    let path = project.rel_path(&env.absolute(&args.file))?;
    let blame = env.ui.during(|progress| project.blame(&path, progress));
    let mut blame = blame.map_err(|error| no_such_file(&project, &path, error))?;
    let all = blame.lines.len();
    let first = args.lines.as_ref().map_or(1, |lines| *lines.start());
    if let Some(lines) = &args.lines {
        only(&mut blame, lines);
    }
    let outcome = warn_of_gaps(env, &project)?;
    let json = lazy_object! {
        schema: "herma.blame/2",
        project: project_json(&project),
        #[serde(flatten)]
        path: PathJson::new(path.as_bytes()),
        lines: list(blame.lines.iter().zip(first..).map(line_json)),
        steps: list(blame.steps.iter().map(named_step_json)),
    };
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

/// Leaves only these lines, and the steps they are from.
fn only(blame: &mut Blame, lines: &Lines) {
    let mut number = 0;
    blame.lines.retain(|_| {
        number += 1;
        lines.contains(&number)
    });
    let named =
        |step: StepId| blame.lines.iter().any(|line| line.origin.author.steps().contains(&step));
    blame.steps.retain(|step| named(step.id()));
}

fn line_json((line, number): (&BlameLine, usize)) -> impl Serialize {
    let (text, text_bytes) = json::text(&line.text);
    let origin = &line.origin;
    object! {
        number,
        text,
        #[serde(flatten)]
        text_bytes: text_bytes.map(|text_bytes| object! { text_bytes }),
        author: origin.author.word(),
        steps: origin.author.steps().to_vec(),
        checkpoint: origin.checkpoint.map(|saved| saved.id.to_hex()),
        seconds: origin.time,
        time: origin.time.and_then(|seconds| time::rfc3339(at(seconds))),
    }
}

/// Prints the lines behind what is known about them; columns that would be empty are left away.
fn write_lines(out: &mut dyn Write, ui: &Ui, blame: &Blame, first: usize) -> std::io::Result<()> {
    let rows: Vec<[String; 3]> = blame
        .lines
        .iter()
        .map(|line| {
            let [who, agent] = columns(&line.origin.author, &blame.steps);
            [who, agent, authors::when(line.origin.time)]
        })
        .collect();
    let digits = (first + rows.len()).saturating_sub(1).to_string().len();
    let labels = [Label::Number, Label::Name, Label::Faint];
    for ((line, who), number) in blame.lines.iter().zip(in_columns(ui, labels, &rows)).zip(first..)
    {
        write!(out, "{who}{number:>digits$}")?;
        let text = line.text.strip_suffix(b"\n").unwrap_or(&line.text);
        if !text.is_empty() {
            out.write_all(b"  ")?;
        }
        if ui.is_terminal {
            write!(out, "{}", visible(text))?;
        } else {
            out.write_all(text)?;
        }
        out.write_all(b"\n")?;
    }
    Ok(())
}
