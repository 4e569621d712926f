//! Checkpoints as a series of patches, one for each prompt, that `git am` takes.

use std::io::Write;

use herma_core::engine::NoProgress;
use herma_core::steps::{StepChoice, StepId};
use herma_core::{Checkpoint, ObjectId, Project, State};
use herma_diff::{PatchOptions, patch};

use crate::command_env::{CommandError, Result};
use crate::terminal::{escape, time};

/// What becomes one patch: the state before, and the checkpoints of one prompt.
struct Part<'c> {
    before: State,
    rows: Vec<&'c Checkpoint>,
}

/// Writes the series, and says how many patches it has. The checkpoints must follow each other.
pub(crate) fn write(
    project: &Project,
    chosen: &[Checkpoint],
    out: &mut dyn Write,
) -> Result<usize> {
    let parts = parts(project, chosen)?;
    for (number, part) in (1..).zip(&parts) {
        let Some(last) = part.rows.last() else { continue };
        let after = State::Checkpoint(Box::new((*last).clone()));
        let changes = project.changes(&part.before, &after, &[], true, &NoProgress)?;
        write_head(project, out, (number, parts.len()), part)?;
        let options = PatchOptions { binary: true, ..PatchOptions::default() };
        let (old, new) = (changes.old_side(), changes.new_side());
        out.write_all(&patch::to_bytes(&changes.changes, &*old, &*new, &options)?)?;
        writeln!(out, "-- \nherma\n")?;
    }
    Ok(parts.len())
}

fn parts<'c>(project: &Project, chosen: &'c [Checkpoint]) -> Result<Vec<Part<'c>>> {
    let all = project.timeline()?;
    let place = |one: &Checkpoint| all.iter().position(|other| other.id == one.id);
    let mut parts: Vec<Part<'c>> = Vec::new();
    for (index, one) in chosen.iter().enumerate() {
        // The timeline has the newest first.
        let before = place(one).and_then(|place| all.get(place + 1));
        let last = index.checked_sub(1).map(|last| &chosen[last]);
        if last.is_some() && before.map(|before| before.id) != last.map(|last| last.id) {
            let missing = before.map_or(0, |before| before.number);
            return Err(CommandError::usage(format!(
                "a series of patches has no gaps, and checkpoint {missing} is missing"
            ))
            .with_state("Nothing was written.")
            .with_hint("Name a range such as 13-15, or export one checkpoint at a time."));
        }
        let is_of_one_prompt = |last: &Checkpoint| {
            let (a, b) = (&last.facts, &one.facts);
            a.session.is_some()
                && a.turn.is_some()
                && (&a.session, &a.turn) == (&b.session, &b.turn)
        };
        match (parts.last_mut(), last) {
            (Some(part), Some(last)) if is_of_one_prompt(last) => part.rows.push(one),
            _ => {
                let before = before.cloned().unwrap_or_else(|| nothing(one));
                parts.push(Part { before: State::Checkpoint(Box::new(before)), rows: vec![one] });
            }
        }
    }
    Ok(parts)
}

/// What was before the first checkpoint.
fn nothing(first: &Checkpoint) -> Checkpoint {
    Checkpoint { tree: ObjectId::EMPTY_TREE, modes: None, extra: None, ..first.clone() }
}

fn write_head(
    project: &Project,
    out: &mut dyn Write,
    (number, count): (usize, usize),
    part: &Part<'_>,
) -> Result<()> {
    let (Some(first), Some(last)) = (part.rows.first(), part.rows.last()) else { return Ok(()) };
    let ids = part.rows.iter().map(|row| StepId::Number(row.number)).collect();
    let steps = project.steps(&StepChoice { ids, ..StepChoice::default() })?;
    let prompt = steps.iter().find_map(|listed| listed.step.start.prompt.clone());
    let agent = steps.iter().find_map(|listed| listed.step.start.facts.agent.clone());
    let subject = match &prompt {
        Some(prompt) => prompt.lines().next().unwrap_or_default().to_owned(),
        None => last.subject().to_string(),
    };
    // A header is one line, and what somebody wrote must not become another one.
    let line = |text: &str| escape(text.as_bytes()).replace(['\r', '\n', '<', '>', '"'], " ");
    let by = agent.map_or_else(|| "Herma".to_owned(), |agent| line(&agent));
    let subject: String = line(&subject).trim().chars().take(72).collect();
    let subject = if subject.is_empty() { "checkpoint".to_owned() } else { subject };
    writeln!(out, "From {} Mon Sep 17 00:00:00 2001", last.id)?;
    writeln!(out, "From: \"{by}\" <herma@local>")?;
    writeln!(out, "Date: {}", time::rfc2822(last.time))?;
    writeln!(out, "Subject: [PATCH {number}/{count}] {subject}")?;
    writeln!(out, "MIME-Version: 1.0\nContent-Type: text/plain; charset=UTF-8")?;
    writeln!(out, "Content-Transfer-Encoding: 8bit\n")?;
    // What is indented is never taken for a patch.
    for text in prompt.iter().flat_map(|prompt| prompt.lines()) {
        writeln!(out, "    {}", escape(text.as_bytes()))?;
    }
    let rows = if first.number == last.number {
        format!("checkpoint {}", last.number)
    } else {
        format!("checkpoints {} to {}", first.number, last.number)
    };
    writeln!(out, "\nHerma {rows}\n---\n")?;
    Ok(())
}
