//! Records prompts and tool calls as they are told.
//!
//! A call that is held back begins in a state nobody has changed since. Of one that is only told of the tool may have run: it
//! begins in the state that was seen last, if nothing else was saved since, and its end says from when on changes are its own.
//! An agent whose hooks tell of its calls is left to them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use herma_agents::ToolUse;
use herma_core::engine::NoProgress;
use herma_core::steps::{CallEnd, Ran, Step, StepId, StepKind, StepStart};
use herma_core::types::checkpoint::Facts;
use herma_core::{Call, Error, Project, SaveOptions, WhichStep};
use herma_fs::process::{BootMoment, TempName, file_clock};

use super::traffic::{Happening, What};
use crate::command_env::{CommandEnv, Result};
use crate::tool_call::{MAX_HOOK_START, only_reads, start_of};

/// When something was told.
pub(super) struct Moment {
    boot: BootMoment,
    /// By the clock of file times.
    file: i64,
}

impl Moment {
    pub(super) fn now() -> Self {
        Self { boot: BootMoment::now(), file: file_clock() }
    }
}

/// A call that has begun.
struct OpenCall {
    session: String,
    handle: i64,
    tool: ToolUse,
    /// Its tool ran from this time on, by the clock of file times.
    since: i64,
}

/// What is under way.
pub(super) struct Recorder<'e> {
    env: &'e CommandEnv,
    agent: Option<String>,
    time_limit: Duration,
    /// The prompts that are worked on by their sessions: where, and since when.
    prompts: BTreeMap<String, (PathBuf, BootMoment)>,
    calls: Vec<OpenCall>,
}

impl<'e> Recorder<'e> {
    pub(super) fn new(env: &'e CommandEnv, agent: Option<String>, time_limit: Duration) -> Self {
        Self { env, agent, time_limit, prompts: BTreeMap::new(), calls: Vec::new() }
    }

    /// Notes what happens, and saves.
    pub(super) fn note(&mut self, happening: Happening, at: &Moment) -> Result<()> {
        let Happening { session, directory, what } = happening;
        let open = || open(self.env, &directory);
        match (what, session) {
            (What::TurnBegins { prompt }, session) => {
                let project = open()?;
                let mut facts = self.facts(session.clone());
                if let Some(session) = session {
                    let turn = project.begin_turn(&session, &facts, prompt.as_deref())?;
                    facts.turn = Some(turn.turn);
                    self.calls.retain(|call| call.session != session);
                    self.prompts.insert(session, (directory, at.boot.clone()));
                }
                self.save(&project, "before prompt".to_owned(), facts, at)
            }
            (What::TurnEnds, Some(session)) => self.end_turn(&session),
            (What::Change { tool, reason }, session) => {
                let project = open()?;
                let turn = session.as_deref().map(|session| project.turn(session)).transpose()?;
                let turn = turn.flatten().map(|turn| turn.turn);
                let facts = Facts { turn, tool: Some(tool.to_owned()), ..self.facts(session) };
                self.save(&project, reason, facts, at)
            }
            (What::CallBegins { tool, held }, Some(session)) => {
                self.begin_call(&open()?, session, (tool, &directory), held, at)
            }
            (What::CallAnswered { call }, Some(session)) => {
                let answered = self.calls.iter_mut().filter(|open| open.session == session);
                for open in answered.filter(|open| open.tool.call.as_ref() == Some(&call)) {
                    open.since = at.file;
                }
                Ok(())
            }
            (What::CallEnds { tool }, Some(session)) => {
                self.end_call(&open()?, &session, (&tool, &directory))
            }
            (_, None) => Ok(()),
        }
    }

    /// There is nothing more to come: what nobody ended is over.
    pub(super) fn end_all(&mut self) -> Result<()> {
        let sessions: Vec<String> = self.prompts.keys().cloned().collect();
        sessions.iter().map(|session| self.end_turn(session)).fold(Ok(()), Result::and)
    }

    fn end_turn(&mut self, session: &str) -> Result<()> {
        self.calls.retain(|call| call.session != session);
        if let Some((directory, _)) = self.prompts.remove(session) {
            open(self.env, &directory)?.end_turn(session)?;
        }
        Ok(())
    }

    fn facts(&self, session: Option<String>) -> Facts {
        Facts { agent: self.agent.clone(), session, ..Facts::default() }
    }

    fn save(&self, project: &Project, reason: String, facts: Facts, at: &Moment) -> Result<()> {
        let options = SaveOptions { reason: reason.into(), facts, ..SaveOptions::default() };
        if let Some(saved) = project.save_since(&options, &at.boot, &NoProgress)? {
            self.env.clean_if_due(&saved);
        }
        Ok(())
    }

    fn begin_call(
        &mut self,
        project: &Project,
        session: String,
        (tool, directory): (ToolUse, &Path),
        held: bool,
        at: &Moment,
    ) -> Result<()> {
        let mut facts =
            Facts { tool: Some(tool.name.clone()), ..self.facts(Some(session.clone())) };
        facts.turn = project.turn(&session)?.map(|turn| turn.turn);
        let start = start_of(project, facts, &tool, Some(directory));
        let recorded = project.recent_steps()?;
        if recorded.iter().any(|step| is_told_by_hook(step, (i64::MAX, &start))) {
            let reason = format!("before {}", tool.name);
            return if held { self.save(project, reason, start.facts, at) } else { Ok(()) };
        }
        let prompt = self.prompts.get(&session).map(|(_, began)| began).filter(|_| !held);
        let call = Call {
            owner: Some(TempName::next()),
            ..Call::new(start, prompt.unwrap_or(&at.boot).clone())
        };
        let begun = project.begin_call(call, &NoProgress)?;
        let (handle, saved) = (begun.step.handle, begun.saved);
        if let Some(saved) = &saved {
            self.env.clean_if_due(saved);
        }
        // What was there already is what the last one saw.
        let is_late = if held {
            at.boot.elapsed() > self.time_limit
        } else {
            saved.is_some_and(|saved| saved.is_new)
        };
        if is_late {
            project.note_late(handle)?;
        }
        let margin = i64::try_from(MAX_HOOK_START.as_nanos()).unwrap_or(i64::MAX);
        self.calls.push(OpenCall { session, handle, tool, since: at.file.saturating_sub(margin) });
        Ok(())
    }

    fn end_call(
        &mut self,
        project: &Project,
        session: &str,
        (tool, directory): (&ToolUse, &Path),
    ) -> Result<()> {
        let is_it = |open: &OpenCall| open.session == session && open.tool.call == tool.call;
        let Some(place) = self.calls.iter().position(is_it) else { return Ok(()) };
        let OpenCall { handle, tool: begun, since, .. } = self.calls.swap_remove(place);
        let recorded = project.recent_steps()?;
        let Some(own) = recorded.iter().find(|step| step.handle == handle) else { return Ok(()) };
        if recorded.iter().any(|step| is_told_by_hook(step, (handle, &own.start))) {
            return Ok(project.forget_call(handle)?);
        }
        if tool.paths.len() > begun.paths.len() {
            let all = start_of(project, Facts::default(), tool, Some(directory));
            project.note_edits(handle, &all.edits.unwrap_or_default())?;
        }
        let answer = if tool.in_background {
            CallEnd::GoesOn
        } else if only_reads(tool) {
            CallEnd::OnlyRead
        } else {
            CallEnd::Ran(Ran { since: Some(since), ..Ran::default() })
        };
        match project.end_call(&WhichStep::Id(StepId::Handle(handle)), answer, &NoProgress) {
            Ok(ended) => ended.saved.iter().for_each(|saved| self.env.clean_if_due(saved)),
            // With its turn, or by whoever found that it took too long.
            Err(Error::NoSuchStep(_) | Error::StepIsOver(_)) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }
}

/// Did a hook tell of this call, or of another one for the same prompt?
fn is_told_by_hook(step: &Step, (handle, call): (i64, &StepStart)) -> bool {
    let owner = step.owner.as_ref().and_then(|owner| TempName::parse(owner.as_bytes()));
    let is_ours = owner.is_some_and(|owner| owner.pid() == std::process::id());
    let of_prompt = |start: &StepStart| (start.facts.session.clone(), start.facts.turn.clone());
    // An id without its session may come twice, but not at once.
    let is_at_once = step.is_open() || step.handle > handle;
    let is_same = step.start.call == call.call && is_at_once;
    step.kind == StepKind::Tool
        && !is_ours
        && (is_same || of_prompt(&step.start) == of_prompt(call))
}

fn open(env: &CommandEnv, directory: &Path) -> Result<Project> {
    let root = match &env.named_root {
        Some(root) => root.clone(),
        None => env.engine.find_root(directory)?,
    };
    Ok(env.engine.project(&root)?)
}
