//! `herma show 15-17`: a prompt with all its calls, and what they changed altogether.

use std::collections::BTreeSet;
use std::io;
use std::io::Write;

use herma_core::steps::{StepChoice, StepId, TurnChoice};
use herma_core::{ListedStep, Project};
use herma_view::detail::compare;
use herma_view::json::{checkpoint_json, lazy_object, list};
use herma_view::listing::{counted, ranges_to_type};
use herma_view::steps::{step_json, write_lines};

use super::write_change;
use crate::command_env::{CommandEnv, Outcome, Result};
use crate::render::project_json;
use crate::several::Several;
use crate::terminal::escape;

/// Shows these changes: the prompts, the calls, and the patch from before the first to after the last.
pub(super) fn show(env: &CommandEnv, project: &Project, several: &Several) -> Result<Outcome> {
    let [before, after] = several.ends(project)?;
    let choice = StepChoice { ids: several.ids(), ..StepChoice::default() };
    let mut steps = project.steps(&choice)?;
    steps.sort_by_key(|listed| listed.step.id());
    let change = if env.ui.json {
        None
    } else {
        Some(env.ui.during(|progress| compare(project, [&before, &after], progress))?)
    };
    let json = lazy_object! {
        schema: "herma.show-several/1",
        project: project_json(project),
        from: checkpoint_json(&before),
        to: checkpoint_json(&after),
        steps: list(steps.iter().map(step_json)),
    };
    env.ui.answer(json, |out| {
        write_prompts(out, &steps)?;
        write_lines(out, &env.ui, &steps, env.now())?;
        let others = others(several, &steps);
        if !others.is_empty() {
            writeln!(out, "The patch also has what changed in {}.", ranges_to_type(others))?;
        }
        writeln!(out)
    })?;
    change.map_or(Ok(()), |change| write_change(env, change))?;
    Ok(Outcome::Done)
}

/// What was done between the first and the last, and not by the steps that are named: by hand, or by others.
fn others(several: &Several, steps: &[ListedStep]) -> Vec<u64> {
    let named: BTreeSet<StepId> = steps.iter().map(|listed| listed.step.id()).collect();
    let all = several.first()..=several.last();
    all.filter(|number| !named.contains(&StepId::Number(*number))).collect()
}

/// What was asked, each prompt once, below the session it was asked in.
fn write_prompts(out: &mut dyn Write, steps: &[ListedStep]) -> io::Result<()> {
    let starts = steps.iter().map(|listed| &listed.step.start);
    let mut prompts: Vec<(Option<&str>, &str)> = starts
        .filter_map(|start| Some((start.facts.session.as_deref(), start.prompt.as_deref()?)))
        .collect();
    prompts.dedup();
    let mut told = None;
    for (session, prompt) in prompts {
        if let Some(session) = session.filter(|_| session != told) {
            writeln!(out, "Session:  {}", escape(session.as_bytes()))?;
            told = Some(session);
        }
        writeln!(out, "Prompt:")?;
        for line in prompt.lines() {
            writeln!(out, "    {}", escape(line.as_bytes()))?;
        }
        writeln!(out)?;
    }
    Ok(())
}

/// Of a call that is one of several of a prompt: which prompt that is.
pub(super) fn part_of(project: &Project, listed: &ListedStep) -> Result<Option<String>> {
    let facts = &listed.step.start.facts;
    let (Some(session), Some(turn)) = (&facts.session, &facts.turn) else { return Ok(None) };
    let choice = StepChoice {
        session: Some(session.clone()),
        turn: Some(TurnChoice::Named(turn.clone())),
        ..StepChoice::default()
    };
    let calls = project.steps(&choice)?.into_iter();
    let numbers = calls.filter(|call| !call.step.kind.is_move()).filter_map(|c| c.step.number);
    let numbers: BTreeSet<u64> = numbers.collect();
    Ok((numbers.len() > 1).then(|| {
        let (count, typed) = (counted(numbers.len(), "call"), ranges_to_type(numbers));
        format!("One of {count} of {typed}: `herma show {typed}` shows them together.")
    }))
}
