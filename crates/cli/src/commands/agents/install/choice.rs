//! `herma install` without a name: which agents this user has, and which of them to connect.

use std::io::Write;

use herma_agents::Agent;
use herma_agents::install::{HookCommand, Places, Scope};
use herma_view::listing::counted;

use super::plan::Plan;
use super::state::{AgentState, Installed};
use crate::command_env::{CommandEnv, CommandError, Kind, Outcome, Result};
use crate::terminal::{Label, Ui, shown};

/// What came of looking and asking.
pub(super) enum Choice {
    /// These are to be connected.
    Connect(Vec<Agent>),
    /// There is nothing to do, and it was said why.
    Nothing(Outcome),
}

/// An agent of this user.
struct Found {
    state: AgentState,
    /// What connecting it would do to which file, or why that is impossible; empty for one that is connected.
    would: Result<Vec<String>>,
}

/// Shows the agents of this user and what connecting them would change, and asks which to connect.
pub(super) fn choose(
    env: &CommandEnv,
    places: &Places,
    scope: &Scope,
    command: &HookCommand,
) -> Result<Choice> {
    let found = on_this_machine(places, scope)?.into_iter();
    let found: Vec<_> = found.map(|state| Found::new(state, places, scope, command)).collect();
    write_table(&env.ui, &found)?;
    let errors = || found.iter().filter_map(|found| found.would.as_ref().err());
    errors().for_each(|error| env.ui.error(error));
    let open = found.iter().filter(|found| found.can_be_connected());
    let open: Vec<Agent> = open.map(|found| found.state.agent).collect();
    if open.is_empty() && errors().next().is_some() {
        return Ok(Choice::Nothing(Outcome::Problems));
    }
    if open.is_empty() {
        env.ui.status("All of them are connected; there is nothing to do.");
        return Ok(Choice::Nothing(Outcome::Done));
    }
    if !env.ui.can_ask() {
        return Err(cannot_ask(&open, scope));
    }
    let chosen = ask(&env.ui, &open)?;
    if chosen.is_empty() {
        env.ui.status("Nothing was changed.");
        return Ok(Choice::Nothing(Outcome::Aborted));
    }
    Ok(Choice::Connect(chosen))
}

/// The agents of this user, for who does not want to be asked.
pub(super) fn found(places: &Places, scope: &Scope) -> Result<Vec<Agent>> {
    let states = on_this_machine(places, scope)?;
    Ok(states.iter().map(|state| state.agent).collect())
}

/// Those of them that are not connected.
pub(super) fn unconnected(places: &Places, scope: &Scope) -> Result<Vec<Agent>> {
    let mut states = on_this_machine(places, scope)?;
    states.retain(|state| state.installed != Installed::Yes);
    Ok(states.iter().map(|state| state.agent).collect())
}

fn on_this_machine(places: &Places, scope: &Scope) -> Result<Vec<AgentState>> {
    let has_level = |agent: &Agent| agent.targets(places, scope).is_ok();
    let agents = Agent::ALL.into_iter().filter(has_level);
    let states = agents.map(|agent| AgentState::look(agent, places, scope));
    let found: Vec<_> = states.filter(|state| state.used || !state.files.is_empty()).collect();
    if found.is_empty() { Err(nothing_found()) } else { Ok(found) }
}

impl Found {
    fn new(state: AgentState, places: &Places, scope: &Scope, command: &HookCommand) -> Self {
        let would = if state.installed == Installed::Yes {
            Ok(Vec::new())
        } else {
            Plan::install(state.agent, places, scope, command).map(|plan| plan.in_words())
        };
        Self { state, would }
    }

    fn is_connected(&self) -> bool {
        self.state.installed == Installed::Yes
    }

    fn can_be_connected(&self) -> bool {
        !self.is_connected() && self.would.is_ok()
    }

    /// Its lines in the table: one for each file.
    fn write(&self, out: &mut dyn Write, ui: &Ui) -> std::io::Result<()> {
        let (label, state) = match self.state.installed {
            Installed::Yes => (Label::Success, "connected"),
            Installed::Partly => (Label::Warning, "partly connected"),
            Installed::No => (Label::Warning, "not connected"),
        };
        let texts = match &self.would {
            Ok(_) if self.is_connected() => self.state.files.iter().map(shown).collect(),
            Ok(changes) => changes.clone(),
            Err(_) => vec!["cannot be connected, see below".to_owned()],
        };
        let title = format!("{:<12}", self.state.agent.title());
        let state = ui.theme.paint(label, &format!("{state:<16}"));
        let mut texts = texts.into_iter();
        let first = texts.next().unwrap_or_default();
        writeln!(out, "{title}  {state}  {first}")?;
        texts.try_for_each(|text| writeln!(out, "{:32}{text}", ""))
    }
}

fn write_table(ui: &Ui, found: &[Found]) -> Result<()> {
    let mut out = ui.data();
    for found in found {
        found.write(&mut out, ui)?;
    }
    Ok(out.finish()?)
}

fn nothing_found() -> CommandError {
    let all = Agent::ALL.map(Agent::word).join(", ");
    CommandError::new(Kind::Failed, "no agent was found on this machine")
        .with_state("Nothing was changed.")
        .with_hint(format!(
            "`herma install NAME` connects one that has not been started yet: {all}."
        ))
        .with_hint("`herma run -- COMMAND` saves around any other program.")
}

fn cannot_ask(open: &[Agent], scope: &Scope) -> CommandError {
    let names: Vec<&str> = open.iter().map(|agent| agent.word()).collect();
    let option = if *scope == Scope::User { "" } else { " --project" };
    CommandError::usage("say which agents to connect")
        .with_state("Nothing was changed: there is no terminal to ask on.")
        .with_hint(format!("`herma install {}{option}`", names.join(" ")))
}

/// Asks which of these to connect; the end of the input is a no.
fn ask(ui: &Ui, open: &[Agent]) -> Result<Vec<Agent>> {
    let question = match open {
        [only] => format!("Connect {}? [Y/n] ", only.title()),
        _ => format!("Connect these {}? [Y/n/choose] ", counted(open.len(), "agent")),
    };
    loop {
        match ui.ask_for_word(&question)?.as_deref() {
            Some("" | "y" | "yes") => return Ok(open.to_vec()),
            None | Some("n" | "no") => return Ok(Vec::new()),
            Some("c" | "choose") if open.len() > 1 => return one_by_one(ui, open),
            Some(_) => ui.status("Type y, n, or choose to be asked about each one."),
        }
    }
}

fn one_by_one(ui: &Ui, open: &[Agent]) -> Result<Vec<Agent>> {
    let mut chosen = Vec::new();
    for agent in open {
        chosen.extend(ask(ui, std::slice::from_ref(agent))?);
    }
    Ok(chosen)
}
