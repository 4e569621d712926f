//! Who wrote each line of a file.

use std::io;
use std::io::Write;
use std::ops::RangeInclusive;

use herma_core::steps::StepId;
use herma_core::{Blame, BlameLine, RelPath};

use crate::authors::columns;
use crate::changes::patch_lines::visible;
use crate::json::{PathJson, ProjectJson, Serialize, list, object};
use crate::listing::in_columns;
use crate::steps::named_step_json;
use crate::style::{Label, Style};
use crate::time::at;
use crate::{authors, json, time};

/// All lines, as programs read them; the first has this number.
pub fn blame_json(
    project: ProjectJson,
    path: &RelPath,
    blame: &Blame,
    first: usize,
) -> impl Serialize + use<> {
    object! {
        schema: "herma.blame/2",
        project,
        #[serde(flatten)]
        path: PathJson::new(path.as_bytes()),
        lines: list(blame.lines.iter().zip(first..).map(line_json)),
        steps: list(blame.steps.iter().map(named_step_json)),
    }
}

/// Leaves only these lines, and the steps they are from.
pub fn only(blame: &mut Blame, lines: &RangeInclusive<usize>) {
    let mut number = 0;
    blame.lines.retain(|_| {
        number += 1;
        lines.contains(&number)
    });
    let named =
        |step: StepId| blame.lines.iter().any(|line| line.origin.author.steps().contains(&step));
    blame.steps.retain(|step| named(step.id()));
}

fn line_json((line, number): (&BlameLine, usize)) -> impl Serialize + use<> {
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
pub fn write_lines(
    out: &mut dyn Write,
    style: &Style,
    blame: &Blame,
    first: usize,
) -> io::Result<()> {
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
    for ((line, who), number) in
        blame.lines.iter().zip(in_columns(style, labels, &rows)).zip(first..)
    {
        write!(out, "{who}{number:>digits$}")?;
        let text = line.text.strip_suffix(b"\n").unwrap_or(&line.text);
        if !text.is_empty() {
            out.write_all(b"  ")?;
        }
        if style.is_terminal {
            write!(out, "{}", visible(text))?;
        } else {
            out.write_all(text)?;
        }
        out.write_all(b"\n")?;
    }
    Ok(())
}
