//! `herma install`
//!
//! * [`plan`]: what will be done to which file; nothing is written before all of it is known
//! * [`state`]: what is installed now, also for `herma doctor`
//! * [`report`]: how it is told, and what is left for the user to do
//! * [`choice`]: without a name, which agents there are and which to connect
//! * [`codex_trust`]: approving our hooks at Codex, if the user wants that

mod choice;
mod codex_trust;
mod directories;
pub(crate) mod plan;
pub(crate) mod report;
pub(crate) mod state;

use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use herma_agents::Agent;
use herma_agents::install::{HookCommand, Places, Scope};

use self::choice::Choice;
use self::plan::Plan;
use self::report::Done;
use crate::command_env::{CommandEnv, CommandError, Outcome, Result};
use crate::environment::{agent_places, own_program};

/// Make agents call Herma, so that what they do can be undone
///
/// Without a name, shows which agents it found and which files would change, and asks which to connect. Keeps a copy
/// of each configuration it edits (`NAME.herma-backup`); `herma uninstall` restores it to the byte.
#[derive(Args, Debug)]
pub(crate) struct InstallArgs {
    /// The agents
    #[arg(value_name = "AGENT", value_parser = agent_parser())]
    agents: Vec<Agent>,
    /// Every agent found on this machine, without asking
    #[arg(long, conflicts_with = "agents")]
    all: bool,
    #[command(flatten)]
    pub(super) how: HowArgs,
    /// Also approve the hooks in Codex, which otherwise asks in `/hooks`
    #[arg(long)]
    trust: bool,
    /// The program the agents are to call [default: this one]
    #[arg(long, value_name = "PATH", hide = true)]
    binary: Option<PathBuf>,
}

/// What installing and uninstalling have in common.
#[derive(Args, Debug)]
pub(crate) struct HowArgs {
    /// For the project around this directory only
    #[arg(long)]
    project: bool,
    /// Only print what would change
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// Reads the name of an agent.
pub(crate) fn agent_parser() -> impl TypedValueParser<Value = Agent> {
    PossibleValuesParser::new(Agent::ALL.map(Agent::word))
        .try_map(|word| Agent::from_word(&word).ok_or("no such agent"))
}

pub(crate) fn cmd_install(env: &CommandEnv, args: &InstallArgs) -> Result<Outcome> {
    let places = places(env)?;
    let scope = args.how.scope(env)?;
    let is_named = args.all || !args.agents.is_empty();
    if env.ui.json && !is_named {
        return report::list(env, &places, &scope);
    }
    let command = command(env, args.binary.as_deref())?;
    let agents = match &args.agents[..] {
        [] if args.all => choice::found(&places, &scope)?,
        [] if args.how.dry_run => choice::unconnected(&places, &scope)?,
        [] => match choice::choose(env, &places, &scope, &command)? {
            Choice::Connect(agents) => agents,
            Choice::Nothing(outcome) => return Ok(outcome),
        },
        named => named.to_vec(),
    };
    connect(env, args, &places, &scope, &agents, &command)
}

/// Tells these agents to call Herma, or shows what that would change.
fn connect(
    env: &CommandEnv,
    args: &InstallArgs,
    places: &Places,
    scope: &Scope,
    agents: &[Agent],
    command: &HookCommand,
) -> Result<Outcome> {
    let one = |agent: Agent| -> Result<Done> {
        let plan = Plan::install(agent, places, scope, command)?;
        let mut done = plan.carry_out(env, args.how.dry_run)?;
        if args.trust && agent == Agent::Codex && !args.how.dry_run {
            codex_trust::approve(env, scope)?;
            done.approved = true;
        }
        Ok(done)
    };
    let outcome = report::each(env, "install", args.how.dry_run, agents, one)?;
    if !args.how.dry_run && !env.settings.saves_by_itself() {
        env.ui.warning("automatic saves are turned off in the settings; agents will not be saved.");
        env.ui.detail("`herma config set checkpoints.enabled true` turns them on.");
    }
    Ok(outcome)
}

impl HowArgs {
    pub(crate) fn scope(&self, env: &CommandEnv) -> Result<Scope> {
        if !self.project {
            return Ok(Scope::User);
        }
        let project = env.open_project_quietly()?;
        Ok(Scope::Project(project.root().to_owned()))
    }
}

pub(crate) fn places(env: &CommandEnv) -> Result<Places> {
    agent_places(env.environment.user_home.as_deref()).ok_or_else(|| {
        CommandError::usage("cannot tell where agents keep their settings: `HOME` is not set")
            .with_state("Nothing was changed.")
    })
}

/// The call that agents are told to make. It names the home if that is not the usual one, because an agent may
/// be started where the variable is not set.
fn command(env: &CommandEnv, binary: Option<&std::path::Path>) -> Result<HookCommand> {
    let program = match binary {
        Some(binary) => Some(env.absolute(binary)),
        None => own_program(),
    };
    let program = program.ok_or_else(|| {
        CommandError::usage("cannot tell where this program is; was it replaced meanwhile?")
            .with_state("Nothing was changed.")
    })?;
    let usual = env.environment.user_home.as_ref().map(|home| home.join(".hermes"));
    let home = (usual.as_deref() != Some(&*env.home)).then_some(&*env.home);
    HookCommand::new(&program, home)
        .map_err(|error| plan::explain(&error, None).with_state("Nothing was changed."))
}
