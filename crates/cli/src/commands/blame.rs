//! `herma blame`

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use herma_core::{Blame, BlameLine};

use crate::command_env::{CommandEnv, Outcome, Result};
use crate::render::authors::{columns, explain_steps, warn_of_gaps};
use crate::render::json::{PathJson, Serialize, lazy_object, list, object, project_json};
use crate::render::listing::in_columns;
use crate::render::patch_lines::visible;
use crate::render::step_report::named_step_json;
use crate::render::{authors, json};
use crate::terminal::{Label, Ui, time};

/// Show who wrote each line of a file
///
/// Shows the step that wrote it, its agent, turn and time, the line's number, and the line. `hand` is a person,
/// or a program no agent started; `earlier` is older than the oldest checkpoint with the file; `unattributed` was
/// written while several steps were under way. What a restore or undo brought back keeps its author. Explains the steps on
/// stderr, with the beginning of their prompts.
#[derive(Args, Debug)]
pub(crate) struct BlameArgs {
    /// The file
    file: PathBuf,
}

pub(crate) fn cmd_blame(env: &CommandEnv, args: &BlameArgs) -> Result<Outcome> {
    let project = env.open_project()?;
    let path = project.rel_path(&env.absolute(&args.file))?;
    let blame = env.ui.during(|progress| project.blame(&path, progress))?;
    let outcome = warn_of_gaps(env, &project)?;
    let json = lazy_object! {
        schema: "herma.blame/1",
        project: project_json(&project),
        #[serde(flatten)]
        path: PathJson::new(path.as_bytes()),
        lines: list(blame.lines.iter().zip(1..).map(line_json)),
        steps: list(blame.steps.iter().map(named_step_json)),
    };
    env.ui.answer(json, |out| write_lines(out, &env.ui, &blame))?;
    explain_steps(&env.ui, &blame.steps);
    if blame.lines.is_empty() {
        env.ui.status("The file is empty.");
    }
    Ok(outcome)
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
        time: origin.time.and_then(|seconds| time::rfc3339(authors::at(seconds))),
    }
}

/// Prints the lines behind what is known about them; columns that would be empty are left away.
fn write_lines(out: &mut dyn Write, ui: &Ui, blame: &Blame) -> std::io::Result<()> {
    let rows: Vec<[String; 4]> = blame
        .lines
        .iter()
        .map(|line| {
            let [who, agent, turn] = columns(&line.origin.author, &blame.steps);
            [who, agent, turn, authors::when(line.origin.time)]
        })
        .collect();
    let digits = rows.len().to_string().len();
    let labels = [Label::Number, Label::Name, Label::Faint, Label::Faint];
    for ((line, who), number) in blame.lines.iter().zip(in_columns(ui, labels, &rows)).zip(1..) {
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
