//! What is saved and noted for each kind of event.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use herma_agents::{Agent, Event, EventKind, Reply, ToolClass, ToolUse};
use herma_core::engine::NoProgress;
use herma_core::steps::{CallEnd, Ran, Step, StepStart};
use herma_core::types::checkpoint::Facts;
use herma_core::{Call, Error, Project, SaveOptions, Saved, WhichStep};
use herma_fs::process::file_clock;
use herma_shell::Command;
use herma_view::notice::notice_text;

use super::log::HookLog;
use super::{Answer, HookCall, projects};
use crate::command_env::{CommandEnv, CommandError};
use crate::commands::agents::slash::{answer_prompt, failed_prompt};
use crate::terminal::{escape, shown};
use crate::tool_call::{MAX_HOOK_START, is_check, only_reads, start_of, wrote};
use crate::transcript;
use crate::transcript::refused::end_refused;

/// Agents that read each other's configuration tell the same thing twice within so many seconds.
const REPEATS_WITHIN: i64 = 2;

/// Does what a call asks for, in every project it is about, and notes what came of it. The error is what kept
/// the agent's work from being saved.
pub(crate) fn work(
    env: &CommandEnv,
    call: &HookCall,
    log: &HookLog,
    answer: &Answer<'_>,
) -> Result<(), String> {
    if let Some(problem) = &call.problem {
        log.came(call, None, &format!("{problem}; saving all the same"));
    }
    // What somebody types is done all the same: it is about what was saved before.
    if let Some(switch) = env.settings.switched_off_by().filter(|_| call.command().is_none()) {
        log.came(call, None, &format!("{switch}: not saved"));
        log.seen(call, "off");
        return Ok(());
    }
    let done = in_projects(env, call, log, answer);
    match &done {
        Ok(()) => log.seen(call, "done"),
        Err(why) => log.seen(call, &format!("failed {}", escape(why.as_bytes()))),
    }
    done
}

fn in_projects(
    env: &CommandEnv,
    call: &HookCall,
    log: &HookLog,
    answer: &Answer<'_>,
) -> Result<(), String> {
    // Nobody is there to mend them now. A save that leaves out less than it should is better than none.
    for problem in env.settings.problems.iter().filter(|p| p.concerns_saving()) {
        log.came(call, None, &format!("{problem}; saving with the default"));
    }
    let projects = projects::of(env, &call.event, log);
    for note in &projects.notes {
        log.came(call, None, &format!("not saved: {note}"));
    }
    if let Some(why) = projects.notes.first() {
        log.outside(call, why);
    }
    let mut done = Ok(());
    if projects.roots.is_empty() {
        let why = projects.notes.join("; ");
        tell_failure(call, &CommandError::usage(&*why), answer);
        done = Err(why);
    }
    for root in &projects.roots {
        let place = Some(root.as_os_str().as_bytes());
        match in_project(env, call, root, &projects.roots, answer) {
            Ok(came) => log.came(call, place, &came),
            Err(error) => {
                let error = CommandError::from(error);
                log.came(call, place, &format!("failed: {}", in_full(&error)));
                tell_failure(call, &error, answer);
                done = Err(error.message);
            }
        }
    }
    done
}

/// Tells who typed a command that it failed: without an answer it would go to the model.
pub(super) fn tell_failure(call: &HookCall, error: &CommandError, answer: &Answer<'_>) {
    if let Some(typed) = call.command() {
        answer(&Reply::Stop(failed_prompt(typed, error)));
    }
}

/// A failure with its causes, in one line.
fn in_full(error: &CommandError) -> String {
    let parts: Vec<&str> =
        std::iter::once(&error.message).chain(&error.causes).map(String::as_str).collect();
    parts.join(": ")
}

fn in_project(
    env: &CommandEnv,
    call: &HookCall,
    root: &Path,
    roots: &[PathBuf],
    answer: &Answer<'_>,
) -> Result<String, Error> {
    let project = env.engine.project(root)?;
    end_refused(env, &project, |step| says_more(&call.event, step));
    if let Some(typed) = call.command() {
        return answer_command(env, project, &call.event, typed, answer);
    }
    match (call.event.kind, &call.event.tool) {
        (EventKind::SessionStart, _) => save(env, &project, call, "a session begins".to_owned()),
        (EventKind::TurnStart, _) => begin_turn(env, &project, call, answer),
        (EventKind::TurnResumed, _) => resume_turn(env, &project, call),
        (EventKind::BeforeTool, Some(tool)) => begin_call(env, &project, call, tool, roots),
        (EventKind::AfterTool, Some(tool)) => end_call(env, &project, call, tool),
        (EventKind::BeforeTool | EventKind::AfterTool, None) => {
            save(env, &project, call, "a tool without a name".to_owned())
        }
        (EventKind::TurnEnd | EventKind::SessionEnd, _) => end_turn(&project, &call.event),
        (EventKind::Other, _) => Ok("nothing to do".to_owned()),
    }
}

/// Would an event tell of this open step that it is over, without saying how it went?
fn says_more(event: &Event, step: &Step) -> bool {
    match event.kind {
        EventKind::BeforeTool => is_over(event, step, true),
        EventKind::TurnStart
        | EventKind::TurnResumed
        | EventKind::TurnEnd
        | EventKind::SessionEnd => {
            event.session.is_some() && step.start.facts.session == event.session
        }
        EventKind::SessionStart | EventKind::AfterTool | EventKind::Other => false,
    }
}

/// Does what somebody typed as a prompt that is for us. It is no prompt: the model never hears of it.
fn answer_command(
    env: &CommandEnv,
    project: Project,
    event: &Event,
    typed: &str,
    answer: &Answer<'_>,
) -> Result<String, Error> {
    if let Some(session) = &event.session {
        // Who types is not at work: what was broken off is over.
        project.end_turn(session)?;
    }
    let said = answer_prompt(env, project, event.session.as_deref(), typed);
    let heard =
        if answer(&Reply::Stop(said)) { "answered" } else { "did, but nobody heard of it," };
    Ok(format!("{heard} what was typed as a prompt"))
}

fn end_turn(project: &Project, event: &Event) -> Result<String, Error> {
    let ended = match (&event.session, &event.sub_agent, event.kind) {
        (None, ..) => return Ok("no session was named".to_owned()),
        (Some(session), Some(sub_agent), _) => {
            project.end_sub_agent(session, sub_agent)?;
            return Ok("noted of an agent of the agent".to_owned());
        }
        (Some(session), None, EventKind::SessionEnd) => project.end_session(session)?,
        (Some(session), None, _) => project.end_turn(session)?,
    };
    Ok(match ended {
        Some(_) => "noted".to_owned(),
        None => "no turn was under way".to_owned(),
    })
}

/// Who is at work.
fn facts(env: &CommandEnv, event: &Event) -> Facts {
    // Only this one keeps its conversations where Herma can rewind them.
    let transcript = match event.agent {
        Agent::Hermes => transcript::mark(env, event.session.as_deref()),
        _ => None,
    };
    let agent = Some(event.agent.word().to_owned());
    let tool = event.tool.as_ref().map(|tool| tool.name.clone());
    let facts = Facts::of(agent, event.session.clone(), event.turn.clone(), tool);
    Facts { transcript, ..facts }
}

fn save(
    env: &CommandEnv,
    project: &Project,
    call: &HookCall,
    reason: String,
) -> Result<String, Error> {
    save_with(env, project, call, reason, facts(env, &call.event))
}

fn save_with(
    env: &CommandEnv,
    project: &Project,
    call: &HookCall,
    reason: String,
    facts: Facts,
) -> Result<String, Error> {
    let options = SaveOptions { reason: reason.into(), facts, ..SaveOptions::default() };
    let saved = project.save_since(&options, &call.received, &NoProgress)?;
    Ok(told(env, call, saved.as_ref()))
}

/// What a save came to, in words for the log; starts cleaning up if it is time to.
fn told(env: &CommandEnv, call: &HookCall, saved: Option<&Saved>) -> String {
    let Some(saved) = saved else { return "shared with another save".to_owned() };
    env.clean_if_due(saved);
    let mut text = if saved.is_new {
        format!("saved {}", &saved.checkpoint.id.to_hex()[..8])
    } else {
        "nothing had changed".to_owned()
    };
    if saved.receipt.summary.is_partial() {
        text.push_str(", but not everything: `herma show @` names what is missing");
    }
    // At the beginning of a session nobody waits.
    if call.is_late() && call.event.kind != EventKind::SessionStart {
        text.push_str(", later than the agent waited");
    }
    text
}

fn begin_turn(
    env: &CommandEnv,
    project: &Project,
    call: &HookCall,
    answer: &Answer<'_>,
) -> Result<String, Error> {
    let event = &call.event;
    let prompt = event.prompt.as_deref().filter(|text| !text.trim().is_empty());
    let first_line = prompt.and_then(|text| text.trim().lines().next());
    let reason = match first_line {
        Some(line) => format!("before turn: {line}"),
        None => "before a turn".to_owned(),
    };
    // What an agent tells another is nobody's prompt.
    let Some(session) = event.session.as_ref().filter(|_| event.sub_agent.is_none()) else {
        return save(env, project, call, reason);
    };
    if is_repeated(env, project, event, session)? {
        return Ok("was noted already".to_owned());
    }
    let turn = project.begin_turn(session, &facts(env, event), prompt)?;
    let facts = Facts { turn: Some(turn.turn), ..facts(env, event) };
    let saved = save_with(env, project, call, reason, facts)?;
    if !env.settings.tells_agents() {
        return Ok(saved);
    }
    Ok(match tell(project, session, answer) {
        Ok(true) => format!("{saved}, told what was undone"),
        Ok(false) => saved,
        Err(error) => format!("{saved}; what was undone could not be told: {error}"),
    })
}

/// Nobody typed anything: what follows belongs to the last prompt that somebody did.
fn resume_turn(env: &CommandEnv, project: &Project, call: &HookCall) -> Result<String, Error> {
    let event = &call.event;
    let session = event.session.as_ref().filter(|_| event.sub_agent.is_none());
    let resumed = match session {
        Some(session) => project.resume_turn(session, event.turn.as_deref())?,
        None => None,
    };
    let turn = resumed.map(|turn| turn.turn).or_else(|| event.turn.clone());
    let facts = Facts { turn, ..facts(env, event) };
    save_with(env, project, call, "a background task is over".to_owned(), facts)
}

/// Tells a session what was undone of its work. What nobody hears is told with the next prompt.
fn tell(project: &Project, session: &str, answer: &Answer<'_>) -> Result<bool, Error> {
    let Some(notice) = project.notice(session)? else { return Ok(false) };
    let has_news = !notice.is_empty();
    let is_heard = !has_news || answer(&Reply::Context(notice_text(&notice)));
    if is_heard {
        project.note_told(session, &notice)?;
    }
    Ok(has_news && is_heard)
}

/// One agent tells of its turn before every request to its model; and two hooks may tell of the same.
fn is_repeated(
    env: &CommandEnv,
    project: &Project,
    event: &Event,
    session: &str,
) -> Result<bool, Error> {
    let Some(under_way) = project.turn(session)?.filter(|turn| !turn.over) else {
        return Ok(false);
    };
    if let Some(turn) = &event.turn {
        return Ok(under_way.turn == *turn);
    }
    let age = env.now().seconds.saturating_sub(under_way.started);
    let beginning = under_way.prompt.as_deref().unwrap_or_default();
    let prompt = event.prompt.as_deref().unwrap_or_default();
    Ok((0..=REPEATS_WITHIN).contains(&age) && prompt.starts_with(beginning))
}

fn begin_call(
    env: &CommandEnv,
    project: &Project,
    call: &HookCall,
    tool: &ToolUse,
    roots: &[PathBuf],
) -> Result<String, Error> {
    let event = &call.event;
    if !event.agent.tells_ends() {
        end_open(project, event)?;
    }
    let is_outer = |step: &Step| lets_this_work(call, step);
    let others = roots.iter().filter(|root| **root != project.root());
    let also_in = others.map(shown).collect();
    let start = StepStart { also_in, ..start(env, project, event, tool) };
    let begins = Call {
        repeats_within: tool.call.is_none().then_some(REPEATS_WITHIN),
        is_outer: &is_outer,
        is_over: &|step, answered| is_over(event, step, answered),
        elsewhere: projects::named_elsewhere(env, event, roots),
        owner: call.caller.clone(),
        ..Call::new(start, call.received.clone())
    };
    let begun = project.begin_call(begins, &NoProgress)?;
    let (handle, number) = (begun.step.handle, begun.step.id());
    let saved = told(env, call, begun.saved.as_ref());
    if begun.repeated {
        return Ok(format!("{saved}, step {number} already"));
    }
    if call.is_late() {
        project.note_late(handle)?;
    }
    Ok(format!("{saved}, step {number}"))
}

/// Is this open step over, since the same agent begins another call? Also told: was one that began later answered?
fn is_over(event: &Event, step: &Step, answered: bool) -> bool {
    let facts = &step.start.facts;
    let is_same = facts.agent.as_deref() == Some(event.agent.word())
        && facts.session == event.session
        && step.start.sub_agent == event.sub_agent;
    let tool = facts.tool.as_deref().unwrap_or_default();
    let lets_work = event.agent.class_of(tool) == ToolClass::Agent;
    is_same && event.session.is_some() && !lets_work && (answered || event.agent.runs_in_turn(tool))
}

/// Is this open step the one in which an agent lets this one work?
fn lets_this_work(call: &HookCall, step: &Step) -> bool {
    let (event, facts) = (&call.event, &step.start.facts);
    let is_its = if facts.session == event.session {
        event.sub_agent.is_some()
    } else {
        event.agent.has_nameless_sub_agents()
            && facts.agent.as_deref() == Some(event.agent.word())
            && call.caller.as_ref().is_some_and(|caller| step.is_of(caller))
    };
    is_its && event.agent.class_of(facts.tool.as_deref().unwrap_or_default()) == ToolClass::Agent
}

fn start(env: &CommandEnv, project: &Project, event: &Event, tool: &ToolUse) -> StepStart {
    let base = tool.directory.as_deref().or(event.directory.as_deref());
    StepStart {
        call: event.call_key(),
        within: env.outer_step(project),
        sub_agent: event.sub_agent.clone(),
        ..start_of(project, facts(env, event), tool, base)
    }
}

/// The next call tells that the last one is over, where nothing else does.
fn end_open(project: &Project, event: &Event) -> Result<(), Error> {
    for step in project.open_steps()? {
        let facts = &step.start.facts;
        let is_its =
            facts.agent.as_deref() == Some(event.agent.word()) && facts.session == event.session;
        if is_its {
            match project.end_step(&WhichStep::Id(step.id()), &NoProgress) {
                Err(Error::NoSuchStep(_) | Error::StepIsOver(_)) | Ok(_) => {}
                Err(error) => return Err(error),
            }
        }
    }
    Ok(())
}

/// When a tool that took so long began at the earliest, by the clock of file times.
fn began(call: &HookCall, took: Duration) -> Option<i64> {
    let ago = call.received.elapsed() + took + MAX_HOOK_START;
    Some(file_clock().saturating_sub(i64::try_from(ago.as_nanos()).ok()?))
}

fn end_call(
    env: &CommandEnv,
    project: &Project,
    call: &HookCall,
    tool: &ToolUse,
) -> Result<String, Error> {
    let which = WhichStep::Call {
        id: call.event.call_key().unwrap_or_default(),
        session: call.event.session.clone(),
    };
    let answer = if tool.in_background {
        CallEnd::GoesOn
    } else if only_reads(tool) {
        CallEnd::OnlyRead
    } else {
        let since = tool.duration.and_then(|took| began(call, took));
        let base = tool.directory.as_deref().or(call.event.directory.as_deref());
        let text = tool.command.as_deref().map(|text| Command::Text(text.into()));
        let is_check = |text| is_check(env, &text);
        let passed = tool.exit_code == Some(0) && !tool.failed && text.is_some_and(is_check);
        CallEnd::Ran(Ran { since, failed: tool.failed, passed, wrote: wrote(project, tool, base) })
    };
    match project.end_call(&which, answer, &NoProgress) {
        Ok(ended) => {
            let how = ended.step.end.word();
            if let Some(saved) = &ended.saved {
                env.clean_if_due(saved);
            }
            Ok(format!("{how}, step {}", ended.step.id()))
        }
        // Nobody told of its beginning, or its end was told before. What it left behind is worth saving.
        Err(Error::NoSuchStep(_) | Error::StepIsOver(_)) => {
            let reason = format!("after {}, whose beginning was not told", tool.name);
            save(env, project, call, reason)
        }
        Err(error) => Err(error),
    }
}
